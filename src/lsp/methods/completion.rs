//! `textDocument/completion`.
//!
//! Invariant: outside a plan document nothing is offered. What the workspace has is asked of the engine's reads, never
//! of its inbox. Absent: state of its own.

use crate::desk::{Query, View};
use crate::lsp::plan_doc::complete::{Completed, wanted};
use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CompletionList, CompletionParams, CompletionResponse};

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: CompletionParams) -> Result<Option<CompletionResponse>> {
    let at = params.text_document_position;
    let Some(path) = session.path_of(&at.text_document.uri) else { return Ok(None) };
    let Some(reading) = session.plans().read(session, &path).await else { return Ok(None) };
    let Some(ruler) = reading.ruler(session) else { return Ok(None) };
    let offset = ruler.offset(at.position);
    let (proposals, is_incomplete) = match wanted(&reading.moment(), offset) {
        Completed::Ready(proposals) => (proposals, false),
        Completed::Ask { of, prefix, slot } => {
            let candidates = match super::ask(session, Query::Candidates { of, prefix }).await {
                Some(View::Candidates(candidates)) => candidates,
                Some(_) | None => vec![],
            };
            (slot.fill(&candidates), true)
        }
    };
    let items = proposals.iter().enumerate().map(|(n, proposal)| ruler.proposal(proposal, n)).collect();
    Ok(Some(CompletionResponse::List(CompletionList { is_incomplete, items })))
}
