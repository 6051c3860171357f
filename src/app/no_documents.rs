//! No open documents: what the language server stands on until the buffers are there.
//!
//! Invariant: nothing is ever open. Absent: everything else.

use crate::domain::change::FileChange;
use crate::domain::ids::WorkspacePath;
use crate::ports::{Document, DocumentEvent, Documents, Editor, Listener, SessionId, Standings};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts sessions and forgets the rest.
#[derive(Default)]
pub(super) struct NoDocuments(AtomicU64);

impl Documents for NoDocuments {
    fn begin(&self, _: &str, _: Arc<dyn Editor>) -> SessionId {
        SessionId(self.0.fetch_add(1, Ordering::Relaxed) + 1)
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
