//! `textDocument/hover`.
//!
//! Invariant: what is shown is read from the desk. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Hover, HoverParams};

/// Answers it.
pub async fn handle(_session: &Arc<Session>, _params: HoverParams) -> Result<Option<Hover>> {
    Ok(None)
}
