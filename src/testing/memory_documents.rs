//! Open documents in memory, with an editor that may lie.
//!
//! Invariant: the texts are what the test, or a decision carried out, made of them; listeners hear of each change after
//! it was made. An editor that lies still answers as the port has it: by what its text shows. While a search is owed
//! every hunk is touched. Absent: spots of its own; standings come from the text alone.

use crate::domain::change::{Entry, FileChange, HunkState, accept, spot};
use crate::domain::ids::WorkspacePath;
use crate::ports::{
    Document, DocumentChange, DocumentEvent, Documents, Editor, EditorFault, EditorOrder, Fut, Listener, SessionId,
    Standings,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How the editor deals with one order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// It does as it is told.
    Honest,
    /// It says yes and does nothing.
    SaysSo,
    /// It says no.
    Refuses,
    /// It changes something else.
    Misapplies,
    /// The user closes the document meanwhile.
    Closes,
    /// It never answers, and does nothing.
    Silent,
    /// It does as it is told and never answers.
    SilentlyDone,
}

/// One session with its documents. Clones share it.
#[derive(Clone, Default)]
pub struct MemoryDocuments(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    open: BTreeMap<WorkspacePath, (i32, Arc<str>)>,
    watched: BTreeMap<WorkspacePath, Vec<Arc<FileChange>>>,
    listeners: Vec<Listener>,
    manners: VecDeque<Manner>,
    orders: Vec<EditorOrder>,
    search: Option<Search>,
    lost: bool,
}

type Search = Box<dyn FnOnce() + Send>;

const SESSION: SessionId = SessionId(1);

impl MemoryDocuments {
    /// Nothing is open.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // a test that panicked elsewhere leaves texts that are still texts
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a document, or gives it another text.
    pub fn show(&self, path: &WorkspacePath, text: &str) {
        let version = self.lock().open.get(path).map(|(version, _)| *version);
        let (path, text) = (path.clone(), Arc::from(text));
        self.tell(
            SESSION,
            match version {
                None => DocumentEvent::Opened { path, version: 0, text },
                Some(version) => DocumentEvent::Changed {
                    path,
                    version: version + 1,
                    changes: vec![DocumentChange::Whole(text.to_string())],
                },
            },
        );
    }

    /// Closes it, saved or not.
    pub fn close(&self, path: &WorkspacePath) {
        self.tell(SESSION, DocumentEvent::Closed { path: path.clone() });
    }

    /// Says that it was saved.
    pub fn saved(&self, path: &WorkspacePath) {
        self.tell(SESSION, DocumentEvent::Saved { path: path.clone() });
    }

    /// The text of an open document.
    pub fn text(&self, path: &WorkspacePath) -> Option<String> {
        self.lock().open.get(path).map(|(_, text)| text.to_string())
    }

    /// How the next orders are dealt with, one each; afterwards honestly.
    pub fn behave(&self, manners: impl IntoIterator<Item = Manner>) {
        self.lock().manners.extend(manners);
    }

    /// From now on all hunks are lost, until they are looked for: that takes as long as this does.
    pub fn lose(&self, search: impl FnOnce() + Send + 'static) {
        let mut inner = self.lock();
        inner.lost = true;
        inner.search = Some(Box::new(search));
    }

    /// Every order that came.
    pub fn orders(&self) -> Vec<EditorOrder> {
        self.lock().orders.clone()
    }

    /// What is watched at a path.
    pub fn watched(&self, path: &WorkspacePath) -> Vec<Arc<FileChange>> {
        self.lock().watched.get(path).cloned().unwrap_or_default()
    }

    fn apply(&self, order: &EditorOrder) -> Result<(), EditorFault> {
        let path = &order.change.path;
        let text = self.text(path).ok_or_else(|| EditorFault::NotOpen(path.clone()))?;
        let current = match (text.is_empty(), &order.change.before) {
            (true, Entry::Absent) => Entry::Absent,
            _ => Entry::File { text: Arc::from(text), mode: 0o644 },
        };
        let made = accept::plan_write(&order.change, &current, &order.put)
            .and_then(|entry| accept::plan_undo(&order.change, &entry, &order.take))
            .map_err(EditorFault::Conflict)?;
        self.show(path, made.text());
        Ok(())
    }
}

impl Documents for MemoryDocuments {
    fn begin(&self, _: &str, _: Arc<dyn Editor>) -> SessionId {
        SESSION
    }

    fn end(&self, _: SessionId) {
        for path in self.paths() {
            self.close(&path);
        }
    }

    fn tell(&self, session: SessionId, event: DocumentEvent) {
        let listeners = {
            let mut inner = self.lock();
            match &event {
                DocumentEvent::Opened { path, version, text } => {
                    inner.open.insert(path.clone(), (*version, text.clone()));
                }
                DocumentEvent::Changed { path, version, changes } => {
                    for change in changes {
                        if let DocumentChange::Whole(text) = change {
                            inner.open.insert(path.clone(), (*version, Arc::from(text.as_str())));
                        }
                    }
                }
                DocumentEvent::Saved { .. } => {}
                DocumentEvent::Closed { path } => {
                    inner.open.remove(path);
                }
            }
            inner.listeners.clone()
        };
        for listener in listeners {
            listener(session, &event);
        }
    }

    fn listen(&self, listener: Listener) {
        self.lock().listeners.push(listener);
    }

    fn of(&self, _: SessionId, path: &WorkspacePath) -> Option<Document> {
        self.newest(path)
    }

    fn newest(&self, path: &WorkspacePath) -> Option<Document> {
        let (version, text) = self.lock().open.get(path).cloned()?;
        Some(Document { session: SESSION, version, text })
    }

    fn paths(&self) -> Vec<WorkspacePath> {
        self.lock().open.keys().cloned().collect()
    }

    fn watch(&self, path: &WorkspacePath, changes: &[Arc<FileChange>]) {
        self.lock().watched.insert(path.clone(), changes.to_vec());
    }

    fn owes(&self, _: &WorkspacePath) -> bool {
        self.lock().search.is_some()
    }

    fn seek(&self, _: &WorkspacePath) {
        let search = self.lock().search.take();
        if let Some(search) = search {
            search();
            self.lock().lost = false;
        }
    }

    fn standings(&self, change: &FileChange) -> Option<Standings> {
        let document = self.newest(&change.path)?;
        let entry = Entry::File { text: document.text.clone(), mode: 0o644 };
        let mut hunks = spot::derive(change, &entry);
        if self.lock().lost {
            hunks.iter_mut().for_each(|hunk| hunk.state = HunkState::Touched);
        }
        Some(Standings { hunks, document })
    }

    fn standings_of(&self, _: SessionId, change: &FileChange) -> Option<Standings> {
        self.standings(change)
    }

    fn editor(&self, path: &WorkspacePath, _: Option<SessionId>) -> Option<(SessionId, Arc<dyn Editor>)> {
        self.newest(path)?;
        Some((SESSION, Arc::new(self.clone())))
    }
}

impl Editor for MemoryDocuments {
    fn carry_out(&self, order: EditorOrder) -> Fut<'_, Result<(), EditorFault>> {
        let manner = {
            let mut inner = self.lock();
            inner.orders.push(order.clone());
            inner.manners.pop_front().unwrap_or(Manner::Honest)
        };
        let path = order.change.path.clone();
        let result = match manner {
            Manner::Honest => self.apply(&order),
            Manner::SaysSo => Err(EditorFault::NotSeen { path }),
            Manner::Refuses => Err(EditorFault::Refused { path, reason: "not now".to_owned() }),
            Manner::Misapplies => {
                let text = self.text(&path).unwrap_or_default();
                self.show(&path, &format!("{text}oops\n"));
                Err(EditorFault::Misapplied { path })
            }
            Manner::Closes => {
                self.close(&path);
                Err(EditorFault::NotOpen(path))
            }
            Manner::Silent => return Box::pin(std::future::pending()),
            Manner::SilentlyDone => {
                let _nobody_hears = self.apply(&order);
                return Box::pin(std::future::pending());
            }
        };
        Box::pin(std::future::ready(result))
    }
}
