//! When a document may be shown.
//!
//! Invariant: shown only directly after a command of the user: within a second, and if they have typed nothing since.
//! Later it would take the keys of somebody who went on working. Absent: what is shown.

use crate::lsp::session::Session;
use std::path::Path;
use std::time::{Duration, Instant};
use tower_lsp::lsp_types::{Range, Url};

/// So long a person waits for what they asked for, before their hands are elsewhere.
const SOON: Duration = Duration::from_secs(1);

/// The moment of a command.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    at: Instant,
    typed: u64,
}

impl Moment {
    /// Now.
    pub fn now(session: &Session) -> Self {
        Self { at: Instant::now(), typed: session.typed() }
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
