//! `textDocument/inlayHint`.
//!
//! Invariant: hints are text only. Absent: state of its own.

use crate::lsp::plan_doc;
use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InlayHint, InlayHintParams};

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
    let Some(path) = session.path_of(&params.text_document.uri) else { return Ok(None) };
    Ok(Some(plan_doc::hints(session, &path, params.range).await))
}
