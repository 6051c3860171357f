//! `textDocument/didOpen`.
//!
//! Invariant: taken in before anything is awaited, so in the order of the client. Absent: state of its own, and what
//! is shown of it; listeners of the documents do that.

use crate::lsp::session::Session;
use crate::ports::DocumentEvent;
use std::sync::Arc;
use tower_lsp::lsp_types::DidOpenTextDocumentParams;

/// Takes it in. Documents outside of the workspace are none of ours.
pub async fn handle(session: &Arc<Session>, params: DidOpenTextDocumentParams) {
    let document = params.text_document;
    if let Some(path) = session.opened(&document.uri) {
        session.tell(DocumentEvent::Opened { path, version: document.version, text: document.text.into() });
    }
}
