//! `textDocument/codeLens`.
//!
//! Invariant: a lens names a command of the table. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CodeLens, CodeLensParams};

/// Answers it.
pub async fn handle(_session: &Arc<Session>, _params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
    Ok(None)
}
