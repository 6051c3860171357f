//! When a command was given: what the user saw then, and whether a document may still be shown.
//!
//! Invariant: what a person approves is what they saw, not what a text became behind their command. A document is
//! shown only directly after a command of the user: within a second, and if they have typed nothing since.
//! Later it would take the keys of somebody who went on working. Absent: what is shown.

use crate::domain::ids::WorkspacePath;
use crate::lsp::plan_doc::whose;
use crate::lsp::session::Session;
use crate::ports::Document;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower_lsp::lsp_types::{Range, Url};

/// So long a person waits for what they asked for, before their hands are elsewhere.
const SOON: Duration = Duration::from_secs(1);

/// The moment of a command.
#[derive(Clone, Debug)]
pub struct Issued {
    at: Instant,
    typed: u64,
    plans: HashMap<WorkspacePath, Seen>,
}

/// A plan document as it was open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// In this editor.
    pub here: Option<Arc<str>>,
    /// In the editor that changed it last.
    pub newest: Option<Arc<str>>,
}

impl Seen {
    /// As it is now.
    pub fn now(session: &Session, path: &WorkspacePath) -> Self {
        let documents = session.documents();
        let here = session.id().and_then(|id| documents.of(id, path));
        let text = |document: Document| document.text;
        Self { here: here.map(text), newest: documents.newest(path).map(text) }
    }
}

impl Issued {
    /// Now.
    pub fn now(session: &Session) -> Self {
        let open = session.documents().paths().into_iter().filter(|path| whose(path).is_some());
        let plans = open.map(|path| (path.clone(), Seen::now(session, &path))).collect();
        Self { at: Instant::now(), typed: session.typed(), plans }
    }

    /// A plan document as the user saw it; nothing where it was not open.
    pub fn plan(&self, path: &WorkspacePath) -> Seen {
        self.plans.get(path).cloned().unwrap_or_default()
    }

    /// What is shown now still answers the command.
    pub fn lasts(&self, session: &Session) -> bool {
        self.at.elapsed() <= SOON && session.typed() == self.typed
    }

    /// Shows a document, if that still answers the command; the log has it in any case.
    pub async fn show(&self, session: &Session, uri: Url, selection: Option<Range>) {
        session.client().log(format!("planwright: {uri}"));
        if !self.lasts(session) {
            return;
        }
        match session.client().show_document(uri.clone(), selection, true).await {
            Ok(shown) if shown.success => {}
            // Some clients show it and answer with an error; nothing is gained by saying it twice.
            Ok(_) => session.client().log(format!("planwright: the editor did not show {uri}; open it by hand")),
            Err(fault) => session.client().log(format!("planwright: {uri} may not be shown: {fault}")),
        }
    }

    /// The same for a file.
    pub async fn show_file(&self, session: &Session, file: &Path, selection: Option<Range>) {
        if let Some(uri) = session.uri_of_file(file) {
            self.show(session, uri, selection).await;
        }
    }
}
