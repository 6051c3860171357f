//! What the documents of one session have become since an edit was sent.
//!
//! **Invariant:** every event of the session wakes whoever waits, and none is lost between a look and the wait for the
//! next. Absent: what an event means for an edit.

use crate::domain::ids::WorkspacePath;
use crate::ports::{DocumentChange, DocumentEvent, Documents, SessionId};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Listens to one session.
pub(super) struct Heard {
    pub session: SessionId,
    events: watch::Sender<u64>,
    record: Mutex<Record>,
}

/// What was put into one document since the record began.
#[derive(Default)]
struct Record {
    path: Option<WorkspacePath>,
    put: Vec<String>,
    changes: usize,
}

impl Heard {
    /// From now on, and as long as the documents are there.
    pub(super) fn listen(documents: &Arc<dyn Documents>, session: SessionId) -> Arc<Self> {
        let heard = Arc::new(Self { session, events: watch::Sender::new(0), record: Mutex::default() });
        let weak = Arc::downgrade(&heard);
        documents.listen(Arc::new(move |of, event| {
            if let Some(heard) = weak.upgrade().filter(|_| of == session) {
                heard.hear(event);
            }
        }));
        heard
    }

    fn hear(&self, event: &DocumentEvent) {
        if let DocumentEvent::Changed { path, changes, .. } = event {
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            if record.path.as_ref() == Some(path) {
                record.changes += 1;
                record.put.extend(changes.iter().map(|change| match change {
                    DocumentChange::Edit(edit) => edit.text.clone(),
                    // a whole text says nothing of what was put into it
                    DocumentChange::Whole(_) => String::new(),
                }));
            }
        }
        self.events.send_modify(|count| *count += 1);
    }

    /// Begins a record of one document.
    pub(super) fn begin(&self, path: &WorkspacePath) -> watch::Receiver<u64> {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        *record = Record { path: Some(path.clone()), put: Vec::new(), changes: 0 };
        self.events.subscribe()
    }

    /// Changes told of since then, and the texts put in by them.
    pub(super) fn since(&self) -> (usize, Vec<String>) {
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        (record.changes, record.put.clone())
    }

    /// Texts put in since then.
    pub(super) fn put(&self) -> Vec<String> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).put.clone()
    }
}
