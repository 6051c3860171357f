//! `textDocument/codeAction`.
//!
//! Invariant: nothing is listed that does not apply. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CodeActionParams, CodeActionResponse};

/// Answers it.
pub async fn handle(_session: &Arc<Session>, _params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
    Ok(None)
}
