//! What the documents of one session have become since an edit was sent.
//!
//! **Invariant:** every event of the session wakes whoever waits, and none is lost between a look and the wait for the
//! next. A document is recorded only while an order for it is carried out. Absent: what an event means for an edit.

use crate::domain::ids::WorkspacePath;
use crate::ports::{DocumentChange, DocumentEvent, Documents, SessionId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Listens to one session.
pub(super) struct Heard {
    pub session: SessionId,
    events: watch::Sender<u64>,
    records: Mutex<HashMap<WorkspacePath, Vec<Notified>>>,
}

/// One notification of changes.
#[derive(Clone)]
pub(super) struct Notified {
    /// The client's number for the text that they left.
    pub version: i32,
    pub changes: Vec<DocumentChange>,
}

/// A record, until this is dropped.
pub(super) struct Recorded<'a> {
    heard: &'a Heard,
    path: &'a WorkspacePath,
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        self.heard.records().remove(self.path);
    }
}

impl Heard {
    /// From now on, and as long as the documents are there.
    pub(super) fn listen(documents: &Arc<dyn Documents>, session: SessionId) -> Arc<Self> {
        let heard = Arc::new(Self { session, events: watch::Sender::new(0), records: Mutex::default() });
        let weak = Arc::downgrade(&heard);
        documents.listen(Arc::new(move |of, event| {
            if let Some(heard) = weak.upgrade().filter(|_| of == session) {
                heard.hear(event);
            }
        }));
        heard
    }

    fn hear(&self, event: &DocumentEvent) {
        if let DocumentEvent::Changed { path, version, changes } = event
            && let Some(record) = self.records().get_mut(path)
        {
            record.push(Notified { version: *version, changes: changes.clone() });
        }
        self.events.send_modify(|count| *count += 1);
    }

    fn records(&self) -> MutexGuard<'_, HashMap<WorkspacePath, Vec<Notified>>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a document as long as what this gives is kept.
    pub(super) fn record<'a>(&'a self, path: &'a WorkspacePath) -> Recorded<'a> {
        self.records().insert(path.clone(), Vec::new());
        Recorded { heard: self, path }
    }

    /// The record of a document begins anew.
    pub(super) fn begin(&self, path: &WorkspacePath) -> watch::Receiver<u64> {
        self.records().insert(path.clone(), Vec::new());
        self.events.subscribe()
    }

    /// Changes told of since then.
    pub(super) fn since(&self, path: &WorkspacePath) -> Vec<Notified> {
        self.records().get(path).cloned().unwrap_or_default()
    }

    /// Texts put in since then.
    pub(super) fn put(&self, path: &WorkspacePath) -> Vec<String> {
        let put = |change: DocumentChange| match change {
            DocumentChange::Edit(edit) => edit.text,
            // a whole text says nothing of what was put into it
            DocumentChange::Whole(_) => String::new(),
        };
        self.since(path).into_iter().flat_map(|told| told.changes).map(put).collect()
    }
}
