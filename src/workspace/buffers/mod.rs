//! The open documents of all editor sessions: the user's text where an editor has a file open.
//!
//! **Invariant:** an event is taken in as a whole before the next, and listeners hear of events in that order. Spots of
//! watched changes are carried through every edit, in each session's text of its own. No event, however wrong, panics;
//! a document whose edits did not fit its text is *astray*, and every hunk in it is touched until it is sent anew.
//! **Absent:** disk, saving (a save changes no text), what a decision is, and anything that is stored.

mod document;

use crate::domain::change::FileChange;
use crate::domain::ids::WorkspacePath;
use crate::ports::{Document, DocumentEvent, Documents, Editor, EditorOrder, Listener, SessionId, Standings};
use document::Open;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The documents of one process.
#[derive(Default)]
pub struct Buffers {
    /// Held through taking in and telling, so that listeners hear in order. Taken before `inner`.
    order: Mutex<()>,
    inner: Mutex<Inner>,
    listeners: Mutex<Vec<Listener>>,
}

#[derive(Default)]
struct Inner {
    sessions: BTreeMap<SessionId, Session>,
    begun: u64,
    /// Counts openings and changes, to know the newest.
    touches: u64,
    open: HashMap<WorkspacePath, BTreeMap<SessionId, Open>>,
    watched: HashMap<WorkspacePath, Vec<Arc<FileChange>>>,
}

struct Session {
    editor: Arc<dyn Editor>,
}

/// A poisoned lock still holds whole values: every change of them is one assignment behind what can fail.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffers {
    /// None are open, nobody is there.
    pub fn new() -> Self {
        Self::default()
    }

    fn hear(&self, session: SessionId, event: &DocumentEvent) {
        let listeners = lock(&self.listeners).clone();
        for listener in listeners {
            listener(session, event);
        }
    }
}

impl Inner {
    /// False if it says nothing about an open document of a session that is there.
    fn take(&mut self, session: SessionId, event: &DocumentEvent) -> bool {
        if !self.sessions.contains_key(&session) {
            return false;
        }
        self.touches += 1;
        let touch = self.touches;
        let path = event.path();
        let watched = self.watched.get(path).map_or(&[][..], Vec::as_slice);
        match event {
            DocumentEvent::Opened { version, text, .. } => {
                let opened = Open::new(*version, Arc::clone(text), touch, watched);
                self.open.entry(path.clone()).or_default().insert(session, opened);
                true
            }
            DocumentEvent::Changed { version, changes, .. } => {
                let Some(open) = self.open.get_mut(path).and_then(|sessions| sessions.get_mut(&session)) else {
                    return false;
                };
                open.change(*version, changes, touch);
                true
            }
            DocumentEvent::Saved { .. } => self.find(path, session).is_some(),
            DocumentEvent::Closed { .. } => {
                let Some(sessions) = self.open.get_mut(path) else { return false };
                let was = sessions.remove(&session).is_some();
                if sessions.is_empty() {
                    self.open.remove(path);
                }
                was
            }
        }
    }

    fn find(&self, path: &WorkspacePath, session: SessionId) -> Option<&Open> {
        self.open.get(path)?.get(&session)
    }

    fn newest(&self, path: &WorkspacePath) -> Option<(SessionId, &Open)> {
        let sessions = self.open.get(path)?;
        sessions.iter().max_by_key(|(_, open)| open.touch).map(|(session, open)| (*session, open))
    }
}

impl Documents for Buffers {
    fn begin(&self, _client: &str, editor: Arc<dyn Editor>) -> SessionId {
        let mut inner = lock(&self.inner);
        inner.begun += 1;
        let session = SessionId(inner.begun);
        inner.sessions.insert(session, Session { editor });
        session
    }

    fn end(&self, session: SessionId) {
        let _order = lock(&self.order);
        let mut closed: Vec<WorkspacePath> = Vec::new();
        {
            let mut inner = lock(&self.inner);
            let paths = inner.open.iter().filter(|(_, sessions)| sessions.contains_key(&session));
            closed.extend(paths.map(|(path, _)| path.clone()));
            closed.sort();
            for path in &closed {
                inner.take(session, &DocumentEvent::Closed { path: path.clone() });
            }
            inner.sessions.remove(&session);
        }
        for path in closed {
            self.hear(session, &DocumentEvent::Closed { path });
        }
    }

    fn tell(&self, session: SessionId, event: DocumentEvent) {
        let _order = lock(&self.order);
        let taken = lock(&self.inner).take(session, &event);
        if taken {
            self.hear(session, &event);
        }
    }

    fn listen(&self, listener: Listener) {
        let _order = lock(&self.order);
        let mut open: Vec<(u64, SessionId, DocumentEvent)> = Vec::new();
        for (path, sessions) in &lock(&self.inner).open {
            open.extend(sessions.iter().map(|(session, open)| {
                let Document { version, text, .. } = open.document(*session);
                (open.touch, *session, DocumentEvent::Opened { path: path.clone(), version, text })
            }));
        }
        open.sort_by_key(|(touch, ..)| *touch);
        for (_, session, event) in &open {
            listener(*session, event);
        }
        lock(&self.listeners).push(listener);
    }

    fn of(&self, session: SessionId, path: &WorkspacePath) -> Option<Document> {
        lock(&self.inner).find(path, session).map(|open| open.document(session))
    }

    fn newest(&self, path: &WorkspacePath) -> Option<Document> {
        lock(&self.inner).newest(path).map(|(session, open)| open.document(session))
    }

    fn is_astray(&self, session: SessionId, path: &WorkspacePath) -> bool {
        lock(&self.inner).find(path, session).is_some_and(Open::is_astray)
    }

    fn paths(&self) -> Vec<WorkspacePath> {
        let mut paths: Vec<WorkspacePath> = lock(&self.inner).open.keys().cloned().collect();
        paths.sort();
        paths
    }

    fn watch(&self, path: &WorkspacePath, changes: &[Arc<FileChange>]) {
        let mut inner = lock(&self.inner);
        for open in inner.open.get_mut(path).into_iter().flat_map(BTreeMap::values_mut) {
            open.watch(changes);
        }
        if changes.is_empty() {
            inner.watched.remove(path);
        } else {
            inner.watched.insert(path.clone(), changes.to_vec());
        }
    }

    fn owes(&self, path: &WorkspacePath) -> bool {
        lock(&self.inner).open.get(path).is_some_and(|sessions| sessions.values().any(Open::owes))
    }

    fn seek(&self, path: &WorkspacePath) {
        let mut searches = Vec::new();
        for (session, open) in lock(&self.inner).open.get(path).into_iter().flatten() {
            searches.extend(open.owed().into_iter().map(|search| (*session, search)));
        }
        for (session, mut search) in searches {
            search.run();
            let mut inner = lock(&self.inner);
            if let Some(open) = inner.open.get_mut(path).and_then(|sessions| sessions.get_mut(&session)) {
                open.found(search);
            }
        }
    }

    fn announce(&self, session: SessionId, order: &EditorOrder) {
        let mut inner = lock(&self.inner);
        let open = inner.open.get_mut(&order.change.path).and_then(|sessions| sessions.get_mut(&session));
        if let Some(open) = open {
            open.announce(order);
        }
    }

    fn standings(&self, change: &FileChange) -> Option<Standings> {
        lock(&self.inner).newest(&change.path).map(|(session, open)| open.standings(session, change))
    }

    fn standings_of(&self, session: SessionId, change: &FileChange) -> Option<Standings> {
        lock(&self.inner).find(&change.path, session).map(|open| open.standings(session, change))
    }

    fn editor(&self, path: &WorkspacePath, own: Option<SessionId>) -> Option<(SessionId, Arc<dyn Editor>)> {
        let inner = lock(&self.inner);
        let sessions = inner.open.get(path)?;
        let (session, _) = sessions.iter().max_by_key(|(session, open)| (own == Some(**session), open.touch))?;
        Some((*session, Arc::clone(&inner.sessions.get(session)?.editor)))
    }
}

#[cfg(test)]
mod games;
#[cfg(test)]
mod tests;
