//! `textDocument/didChange`.
//!
//! Invariant: taken in before anything is awaited, so in the order of the client. Absent: state of its own, and what
//! is shown of it; listeners of the documents do that.

use crate::lsp::commands::complain_of;
use crate::lsp::from_proto;
use crate::lsp::session::Session;
use crate::ports::DocumentEvent;
use std::sync::Arc;
use tower_lsp::lsp_types::DidChangeTextDocumentParams;

/// Takes it in. A change of what was never opened says nothing.
pub async fn handle(session: &Arc<Session>, params: DidChangeTextDocumentParams) {
    let (uri, version) = (params.text_document.uri, params.text_document.version);
    if session.changed_beside(&uri, version, &params.content_changes) {
        return;
    }
    let Some(path) = session.path_of(&uri) else { return };
    let Some(document) = session.id().and_then(|id| session.documents().of(id, &path)) else { return };
    let changes = from_proto::changes(&document.text, params.content_changes, session.encoding());
    let whose = document.session;
    drop(document);
    let was_astray = session.documents().is_astray(whose, &path);
    session.tell(DocumentEvent::Changed { path: path.clone(), version, changes });
    if !was_astray && session.documents().is_astray(whose, &path) {
        let message =
            format!("{path}: the editor changed lines that this text does not have; nothing is decided in it");
        complain_of(session, Some(&path), &message, "close it and open it again");
    }
}
