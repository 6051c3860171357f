//! `textDocument/documentSymbol`.
//!
//! Invariant: symbols lie inside one another as their ranges do. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{DocumentSymbolParams, DocumentSymbolResponse};

/// Answers it.
pub async fn handle(_session: &Arc<Session>, _params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
    Ok(None)
}
