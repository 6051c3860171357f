//! `textDocument/inlayHint`.
//!
//! Invariant: hints are text only. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InlayHint, InlayHintParams};

/// Answers it.
pub async fn handle(_session: &Arc<Session>, _params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
    Ok(None)
}
