//! `textDocument/completion`.
//!
//! Invariant: outside a plan document nothing is offered. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CompletionParams, CompletionResponse};

/// Answers it.
pub async fn handle(_session: &Arc<Session>, _params: CompletionParams) -> Result<Option<CompletionResponse>> {
    Ok(None)
}
