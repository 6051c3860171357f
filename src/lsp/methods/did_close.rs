//! `textDocument/didClose`.
//!
//! Invariant: taken in before anything is awaited, so in the order of the client. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::lsp_types::DidCloseTextDocumentParams;

/// Takes it in.
pub async fn handle(session: &Arc<Session>, params: DidCloseTextDocumentParams) {
    session.closed(&params.text_document.uri);
}
