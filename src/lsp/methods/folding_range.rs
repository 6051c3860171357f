//! `textDocument/foldingRange`.
//!
//! Invariant: ranges lie in the text of the moment. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{FoldingRange, FoldingRangeParams};

/// Answers it.
pub async fn handle(_session: &Arc<Session>, _params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
    Ok(None)
}
