//! `textDocument/hover`.
//!
//! Invariant: what is shown of a plan is said of the text of the moment; code is asked of the engine's reads. Absent:
//! state of its own.

use crate::lsp::plan_doc::hover::{Hovered, code, wanted};
use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: HoverParams) -> Result<Option<Hover>> {
    let at = params.text_document_position_params;
    let Some(path) = session.path_of(&at.text_document.uri) else { return Ok(None) };
    let Some(reading) = session.plans().read(session, &path).await else { return Ok(None) };
    let Some(ruler) = reading.ruler(session) else { return Ok(None) };
    let (range, value) = match wanted(&reading.moment(), ruler.offset(at.position)) {
        None => return Ok(None),
        Some(Hovered::Said { range, markdown }) => (range, markdown),
        Some(Hovered::Code { range, path, symbol }) => match super::code_at(session, path, symbol).await {
            Some(found) => (range, code(&found)),
            None => return Ok(None),
        },
    };
    let markdown = session.facts().is_none_or(|facts| facts.markdown);
    let kind = if markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
    let contents = HoverContents::Markup(MarkupContent { kind, value });
    Ok(Some(Hover { contents, range: Some(ruler.range(&range)) }))
}
