//! `textDocument/definition`.
//!
//! Invariant: a target is a file of the workspace. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{GotoDefinitionParams, GotoDefinitionResponse};

/// Answers it.
pub async fn handle(_session: &Arc<Session>, _params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
    Ok(None)
}
