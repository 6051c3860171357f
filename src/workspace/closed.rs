//! The documents of a process that has no editor: none.
//!
//! Invariant: nothing is ever open. Absent: everything else.

use crate::domain::change::FileChange;
use crate::domain::ids::WorkspacePath;
use crate::ports::{Document, DocumentEvent, Documents, Editor, Listener, SessionId, Standings};
use std::sync::Arc;

/// No documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDocuments;

impl Documents for NoDocuments {
    fn begin(&self, _: &str, _: Arc<dyn Editor>) -> SessionId {
        SessionId(0)
    }

    fn end(&self, _: SessionId) {}

    fn tell(&self, _: SessionId, _: DocumentEvent) {}

    fn listen(&self, _: Listener) {}

    fn of(&self, _: SessionId, _: &WorkspacePath) -> Option<Document> {
        None
    }

    fn newest(&self, _: &WorkspacePath) -> Option<Document> {
        None
    }

    fn paths(&self) -> Vec<WorkspacePath> {
        Vec::new()
    }

    fn watch(&self, _: &WorkspacePath, _: &[Arc<FileChange>]) {}

    fn standings(&self, _: &FileChange) -> Option<Standings> {
        None
    }

    fn standings_of(&self, _: SessionId, _: &FileChange) -> Option<Standings> {
        None
    }

    fn editor(&self, _: &WorkspacePath, _: Option<&str>) -> Option<(SessionId, Arc<dyn Editor>)> {
        None
    }
}
