//! `textDocument/documentSymbol`.
//!
//! Invariant: parts are given inside each other where the client takes that, else as a list. Absent: state of its own.

use crate::lsp::plan_doc::outline::outline;
use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{DocumentSymbolParams, DocumentSymbolResponse};

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
    let Some(path) = session.path_of(&params.text_document.uri) else { return Ok(None) };
    let Some(reading) = session.plans().read(session, &path).await else { return Ok(None) };
    let Some(ruler) = reading.ruler(session) else { return Ok(None) };
    let parts = outline(&reading.moment());
    if session.facts().is_some_and(|facts| facts.hierarchical_symbols) {
        return Ok(Some(DocumentSymbolResponse::Nested(ruler.symbols(&parts))));
    }
    let mut list = Vec::new();
    ruler.flat(&parts, None, &mut list);
    Ok(Some(DocumentSymbolResponse::Flat(list)))
}
