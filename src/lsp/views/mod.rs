//! What the user sees without asking: diagnostics, progress, and what glue is told; and what can be done at a place.
//!
//! Invariant: a view is a pure function of a desk, of open texts and of what the client can show; it can be thrown away
//! and made again. What stays from one time to the next is the bookkeeping of what was sent ([`sheets`], [`progress`],
//! [`glue`]), so that only differences go out. Absent: decisions, and the findings in plan documents; whoever has them
//! hands them in as a section.

mod board;
pub mod comment;
pub mod glue;
pub mod hunks;
pub mod items;
pub mod menu;
pub mod offers;
pub mod progress;
mod run;
pub mod sheets;
pub mod tasks;
pub mod walk;
pub mod words;

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire;

pub use run::run;
pub use sheets::Section;

use crate::domain::change::FileChange;
use crate::domain::ids::{TaskId, WorkspacePath};
use crate::ports::{Document, Documents, SessionId, Standings};
use sheets::Sheets;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tower_lsp::lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, Range};

/// The name that every diagnostic of ours carries.
pub const SOURCE: &str = "planwright";

/// What the views of a session share with its handlers.
#[derive(Default)]
pub struct Views {
    sheets: Mutex<Sheets>,
    tokens: Mutex<HashMap<NumberOrString, TaskId>>,
    wake: Notify,
    stale: Notify,
    items: items::Items,
}

impl Views {
    /// What this source has to say of a file from now on; nothing, to take it back. It is sent with what others have to
    /// say of the file, and only if it is something else than before.
    pub fn put(&self, path: &WorkspacePath, section: Section, diagnostics: Vec<Diagnostic>) {
        self.lock_sheets().put(path, section, diagnostics);
        self.wake.notify_one();
    }

    /// Lenses and hints that the client has are no longer what it would be given.
    pub fn outdated(&self) {
        self.stale.notify_one();
    }

    /// Whose progress a token is.
    pub fn task_of(&self, token: &NumberOrString) -> Option<TaskId> {
        self.lock_tokens().get(token).cloned()
    }

    fn lock_sheets(&self) -> MutexGuard<'_, Sheets> {
        self.sheets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_tokens(&self) -> MutexGuard<'_, HashMap<NumberOrString, TaskId>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Open texts as one session has them.
pub trait Texts {
    /// The document, if it is open there.
    fn of(&self, path: &WorkspacePath) -> Option<Document>;
    /// Where the hunks of a change stand in it.
    fn standings(&self, change: &FileChange) -> Option<Standings>;
}

/// The open documents of one session.
pub struct OfSession<'a> {
    /// All of this process.
    pub documents: &'a dyn Documents,
    /// Whose; nobody's before `initialize`.
    pub session: Option<SessionId>,
}

impl Texts for OfSession<'_> {
    fn of(&self, path: &WorkspacePath) -> Option<Document> {
        self.documents.of(self.session?, path)
    }

    fn standings(&self, change: &FileChange) -> Option<Standings> {
        self.documents.standings_of(self.session?, change)
    }
}

/// A diagnostic of ours.
pub fn diagnostic(range: Range, severity: DiagnosticSeverity, message: String) -> Diagnostic {
    Diagnostic { range, severity: Some(severity), source: Some(SOURCE.to_owned()), message, ..Diagnostic::default() }
}
