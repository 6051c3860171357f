//! Documents of an attached process, as the host has them: a session of the host's own for each of that process's.
//!
//! Invariant: a session lives as long as its connection; an order is answered by the client, by the end of the
//! connection, or after fifteen seconds, and by then its client sends nothing more for it. Absent: what an order does; the client's own process carries it out.

use super::serve::Outgoing;
use crate::ports::{DocumentEvent, Documents, Editor, EditorFault, EditorOrder, Fut, SENDING, SessionId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::{mpsc, oneshot};

/// How long a client may take over an order: it may send its last edit at the end of [`SENDING`], and then waits some
/// four seconds for what its editor shows. Whoever decides otherwise after that decides on a text that comes to rest.
const ORDER: Duration = Duration::from_secs(15);

type Edited = Result<(), EditorFault>;

/// The sessions of one connection.
pub(super) struct Sessions {
    documents: Option<Arc<dyn Documents>>,
    client: String,
    editor: Arc<Remote>,
    /// The client's number and ours.
    begun: HashMap<SessionId, SessionId>,
}

impl Sessions {
    pub(super) fn new(documents: Option<Arc<dyn Documents>>, client: String, queue: mpsc::Sender<Outgoing>) -> Self {
        let editor = Arc::new(Remote::new(queue, ORDER));
        Self { documents, client, editor, begun: HashMap::new() }
    }

    /// Takes an event in; a session begins with its first.
    pub(super) fn tell(&mut self, session: SessionId, event: DocumentEvent) {
        let Some(documents) = &self.documents else { return };
        let begin = || documents.begin(&self.client, self.editor.clone());
        let own = *self.begun.entry(session).or_insert_with(begin);
        documents.tell(own, event);
    }

    /// A session of the client's, as the host counts it.
    pub(super) fn own(&self, session: Option<SessionId>) -> Option<SessionId> {
        self.begun.get(&session?).copied()
    }

    /// The client's answer to an order.
    pub(super) fn edited(&self, id: u64, result: Edited) {
        // None: it came too late, and whoever waited has been told so.
        if let Some(asker) = self.editor.orders().as_mut().and_then(|orders| orders.remove(&id)) {
            drop(asker.send(result));
        }
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        // Dropping the askers' channels answers each of them.
        self.editor.orders().take();
        if let Some(documents) = &self.documents {
            for own in self.begun.values() {
                documents.end(*own);
            }
        }
    }
}

/// The editor at the other end.
pub(super) struct Remote {
    queue: mpsc::Sender<Outgoing>,
    patience: Duration,
    /// Orders on their way; `None` once the connection has ended.
    orders: Mutex<Option<HashMap<u64, oneshot::Sender<Edited>>>>,
    next: AtomicU64,
}

impl Remote {
    /// `patience` is [`ORDER`], but for tests.
    pub(super) fn new(queue: mpsc::Sender<Outgoing>, patience: Duration) -> Self {
        Self { queue, patience, orders: Mutex::new(Some(HashMap::new())), next: AtomicU64::new(1) }
    }

    /// How many orders are on their way.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.orders().as_ref().map_or(0, HashMap::len)
    }

    fn orders(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Edited>>>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An order that is waited for.
struct TakenOff<'a> {
    remote: &'a Remote,
    id: u64,
}

impl Drop for TakenOff<'_> {
    fn drop(&mut self) {
        self.remote.orders().as_mut().and_then(|orders| orders.remove(&self.id));
    }
}

impl Editor for Remote {
    fn carry_out(&self, order: EditorOrder) -> Fut<'_, Edited> {
        Box::pin(async move {
            let path = order.change.path.clone();
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            let (asker, answer) = oneshot::channel();
            match self.orders().as_mut() {
                Some(orders) => drop(orders.insert(id, asker)),
                None => return Err(EditorFault::NotOpen(path)),
            }
            // Also where nobody waits to the end: an abandoned decision drops this future.
            let _taken_off = TakenOff { remote: self, id };
            let order = EditorOrder { until: SystemTime::now().checked_add(SENDING), ..order };
            let sent = self.queue.try_send(Outgoing::Edit { id, order: Box::new(order) }).is_ok();
            let answer = if sent { tokio::time::timeout(self.patience, answer).await.ok() } else { None };
            match answer {
                Some(Ok(result)) => result,
                // It does not read, did not answer in time, or has gone: what it did of it shows in the text.
                Some(Err(_)) | None => Err(EditorFault::NotSeen { path }),
            }
        })
    }
}
