//! `textDocument/didOpen`.
//!
//! Invariant: taken in before anything is awaited, so in the order of the client. Absent: state of its own, and what
//! is shown of it; listeners of the documents do that.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::lsp_types::DidOpenTextDocumentParams;

/// Takes it in.
pub async fn handle(session: &Arc<Session>, params: DidOpenTextDocumentParams) {
    session.opened(params.text_document);
}
