//! Open documents that only remember what they were told.
//!
//! Invariant: events are kept in their order. Absent: texts and spots; the real buffers have them.

use crate::domain::change::FileChange;
use crate::domain::ids::WorkspacePath;
use crate::ports::{Document, DocumentEvent, Documents, Editor, Listener, SessionId, Standings};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sessions and events, as they came.
#[derive(Default)]
pub struct Told(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    begun: Vec<String>,
    ended: Vec<SessionId>,
    events: Vec<DocumentEvent>,
}

impl Told {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clients that began a session.
    pub fn begun(&self) -> Vec<String> {
        self.inner().begun.clone()
    }

    /// The sessions that ended.
    pub fn ended(&self) -> Vec<SessionId> {
        self.inner().ended.clone()
    }

    /// What was told.
    pub fn events(&self) -> Vec<DocumentEvent> {
        self.inner().events.clone()
    }
}

impl Documents for Told {
    fn begin(&self, client: &str, _: Arc<dyn Editor>) -> SessionId {
        let mut inner = self.inner();
        inner.begun.push(client.to_owned());
        SessionId(u64::try_from(inner.begun.len()).unwrap_or(u64::MAX))
    }

    fn end(&self, session: SessionId) {
        self.inner().ended.push(session);
    }

    fn tell(&self, _: SessionId, event: DocumentEvent) {
        self.inner().events.push(event);
    }

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

    fn editor(&self, _: &WorkspacePath, _: Option<SessionId>) -> Option<(SessionId, Arc<dyn Editor>)> {
        None
    }
}
