//! Who takes part in a root, as the note of the lock tells whoever takes over.
//!
//! Invariant: the note names every attached process that has told of documents; a new host waits for those that its
//! predecessor named, and for nobody longer than a second: until then it does not know what editors show, and would
//! write below it. Absent: waiting for one that has died.

use super::lock::{Editor, Holder, Lock};
use super::process;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// How long the editors of a former host may take to come back. They join again at once; a stopped one does not.
const GATHERING: Duration = Duration::from_secs(1);

/// Between two looks at whether those who are waited for live.
const LOOK: Duration = Duration::from_millis(50);

/// The lock with its note.
#[derive(Debug)]
pub(super) struct Roll {
    noted: Mutex<(Lock, Holder)>,
    /// Named by the former host and not back yet.
    missing: watch::Sender<Vec<Editor>>,
    closed: AtomicBool,
}

impl Roll {
    /// Writes the note. Whom it names as editors are those of the former host, to be waited for.
    ///
    /// # Errors
    /// The note cannot be written.
    pub(super) fn call(mut lock: Lock, own: Holder) -> io::Result<Self> {
        lock.note(&own)?;
        let missing = own.editors.iter().copied().filter(|(pid, _)| *pid != std::process::id()).collect();
        Ok(Self {
            noted: Mutex::new((lock, Holder { editors: Vec::new(), ..own })),
            missing: watch::Sender::new(missing),
            closed: AtomicBool::new(false),
        })
    }

    fn noted(&self) -> MutexGuard<'_, (Lock, Holder)> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the note. One that cannot be written is an older truth; the lock is what counts.
    pub(super) fn note(&self, change: impl FnOnce(&mut Holder)) {
        let mut noted = self.noted();
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        let (lock, own) = &mut *noted;
        change(own);
        // Until it has come back, or never will: the next host has to know of it, too.
        let missing = self.missing.borrow().clone();
        let editors = own.editors.iter().copied().chain(missing).collect();
        if let Err(error) = lock.note(&Holder { editors, ..own.clone() }) {
            tracing::warn!(%error, "the note of the lock is not up to date");
        }
    }

    /// The note stays as it is: whoever leaves because the host does belongs to what the next one must know.
    pub(super) fn close(&self) {
        let _between_notes = self.noted();
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Completes when everybody is back who lives, at most after [`GATHERING`].
    pub(super) async fn complete(&self) {
        let mut missing = self.missing.subscribe();
        let gathered = async {
            loop {
                self.missing.send_if_modified(|missing| {
                    let before = missing.len();
                    missing.retain(|(pid, started)| process::started(*pid) == *started);
                    missing.len() != before
                });
                // The sender is here.
                let back = tokio::time::timeout(LOOK, missing.wait_for(Vec::is_empty)).await.is_ok();
                if back {
                    return;
                }
            }
        };
        if tokio::time::timeout(GATHERING, gathered).await.is_err() {
            tracing::warn!(missing = ?self.missing.borrow(), "editors of the former host did not come back in time");
            self.missing.send_replace(Vec::new());
        }
    }

    /// A process has told what it has open, or that it has nothing.
    fn is_back(&self, editor: Editor) {
        self.missing.send_if_modified(|missing| {
            let at = missing.iter().position(|one| *one == editor);
            at.map(|at| missing.swap_remove(at)).is_some()
        });
    }
}

/// One connection, on the roll as long as it lives.
pub(super) struct Entry {
    roll: Weak<Roll>,
    editor: Option<Editor>,
    noted: bool,
}

impl Entry {
    /// Of this process, where the system tells which.
    pub(super) fn new(roll: Weak<Roll>, pid: Option<u32>) -> Self {
        Self { roll, editor: pid.map(|pid| (pid, process::started(pid))), noted: false }
    }

    /// It tells of a document.
    pub(super) fn has_documents(&mut self) {
        if let (false, Some(editor), Some(roll)) = (self.noted, self.editor, self.roll.upgrade()) {
            self.noted = true;
            roll.note(|own| own.editors.push(editor));
        }
    }

    /// Whatever it has open it has told by now.
    pub(super) fn has_told(&self) {
        if let (Some(editor), Some(roll)) = (self.editor, self.roll.upgrade()) {
            roll.is_back(editor);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let (true, Some(editor), Some(roll)) = (self.noted, self.editor, self.roll.upgrade()) {
            roll.note(|own| {
                if let Some(at) = own.editors.iter().position(|one| *one == editor) {
                    own.editors.swap_remove(at);
                }
            });
        }
    }
}
