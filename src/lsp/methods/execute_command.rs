//! `workspace/executeCommand`.
//!
//! Invariant: answered with null at once; what comes of it is seen in the views. Absent: what a command does.

use crate::lsp::commands;
use crate::lsp::session::Session;
use serde_json::Value;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::ExecuteCommandParams;

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: ExecuteCommandParams) -> Result<Option<Value>> {
    commands::run(session, &params.command, &params.arguments);
    Ok(None)
}
