//! `textDocument/didSave`.
//!
//! Invariant: taken in before anything is awaited, so in the order of the client. Absent: the disk; what was saved is
//! read there by whoever needs it.

use crate::lsp::commands;
use crate::lsp::session::Session;
use crate::ports::DocumentEvent;
use std::sync::Arc;
use tower_lsp::lsp_types::DidSaveTextDocumentParams;

/// Takes it in. What another name's text became on disk is no save of the text that is followed.
pub async fn handle(session: &Arc<Session>, params: DidSaveTextDocumentParams) {
    if session.is_beside(&params.text_document.uri) {
        return;
    }
    if let Some(path) = session.path_of(&params.text_document.uri) {
        session.tell(DocumentEvent::Saved { path: path.clone() });
        commands::saved(session, &path);
    }
}
