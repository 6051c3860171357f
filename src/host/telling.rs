//! Documents of this process, told to the host that it is attached to.
//!
//! Invariant: the host is told what is open, then every event after that, in order: none is left out and none told
//! twice. This rests on [`Documents`] calling its listeners before a read can see the event. Absent: the end of a
//! session, which is the end of the connection.

use super::wire::ToHost;
use crate::domain::ids::WorkspacePath;
use crate::ports::{DocumentEvent, Documents, SessionId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// What is told to one host.
#[derive(Debug)]
pub(super) struct Telling {
    to: mpsc::UnboundedSender<ToHost>,
    /// Paths that had an event while what is open is still being told; `None` once all has been told.
    meanwhile: Mutex<Option<BTreeSet<WorkspacePath>>>,
}

impl Telling {
    /// Tells what is open, and goes on telling as long as the value lives.
    pub(super) fn start(documents: &Arc<dyn Documents>, to: mpsc::UnboundedSender<ToHost>) -> Arc<Self> {
        let telling = Arc::new(Self { to, meanwhile: Mutex::new(Some(BTreeSet::new())) });
        let weak = Arc::downgrade(&telling);
        documents.listen(Arc::new(move |session, event| {
            if let Some(telling) = weak.upgrade() {
                telling.hear(session, event);
            }
        }));
        let mut told = BTreeMap::new();
        let mut paths: BTreeSet<WorkspacePath> = documents.paths().into_iter().collect();
        loop {
            for path in paths {
                telling.tell_of(documents.as_ref(), path, &mut told);
            }
            let mut meanwhile = telling.meanwhile();
            match meanwhile.take() {
                Some(more) if !more.is_empty() => {
                    *meanwhile = Some(BTreeSet::new());
                    paths = more;
                }
                // The guard still stands: the next event finds that all has been told.
                Some(_) | None => break,
            }
        }
        telling
    }

    /// How a document stands now, whatever was told of it before.
    fn tell_of(
        &self,
        documents: &dyn Documents,
        path: WorkspacePath,
        told: &mut BTreeMap<WorkspacePath, SessionId>,
    ) {
        if let Some(session) = told.remove(&path) {
            self.send(session, DocumentEvent::Closed { path: path.clone() });
        }
        if let Some(open) = documents.newest(&path) {
            told.insert(path.clone(), open.session);
            self.send(open.session, DocumentEvent::Opened { path, version: open.version, text: open.text });
        }
    }

    fn hear(&self, session: SessionId, event: &DocumentEvent) {
        let mut meanwhile = self.meanwhile();
        match meanwhile.as_mut() {
            Some(paths) => drop(paths.insert(event.path().clone())),
            None => self.send(session, event.clone()),
        }
    }

    fn send(&self, session: SessionId, event: DocumentEvent) {
        // A host that has gone is told nothing; the next one is told everything.
        drop(self.to.send(ToHost::Tell { session, event }));
    }

    fn meanwhile(&self) -> MutexGuard<'_, Option<BTreeSet<WorkspacePath>>> {
        self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
