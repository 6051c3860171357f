//! `workspace/symbol`.
//!
//! Invariant: a symbol is a task or a step of one. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{SymbolInformation, WorkspaceSymbolParams};

/// Answers it.
pub async fn handle(_session: &Arc<Session>, _params: WorkspaceSymbolParams) -> Result<Option<Vec<SymbolInformation>>> {
    Ok(None)
}
