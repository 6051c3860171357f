//! Which documents the client has open, by their URIs.
//!
//! Invariant: a file is one document, however many URIs lead to it. The first that was opened is followed; what the
//! others show is kept here, so that a decision is refused while they differ, and one of them is followed once the first
//! is closed. Absent: the text that is followed; `ports::Documents` has it.

use super::from_proto;
use crate::domain::ids::WorkspacePath;
use crate::domain::text::{Encoding, apply};
use crate::ports::{DocumentChange, DocumentEvent};
use std::collections::HashMap;
use std::sync::Arc;
use tower_lsp::lsp_types::{TextDocumentContentChangeEvent, Url};

/// All of one session.
#[derive(Default)]
pub(super) struct OpenUris {
    paths: HashMap<Url, WorkspacePath>,
    uris: HashMap<WorkspacePath, Names>,
}

/// The names under which a file is open.
struct Names {
    followed: Url,
    /// In the order in which they were opened.
    others: Vec<Other>,
}

/// The same file under another name.
struct Other {
    uri: Url,
    version: i32,
    text: Arc<str>,
}

impl OpenUris {
    /// Which file it is, if it is open.
    pub fn path(&self, uri: &Url) -> Option<&WorkspacePath> {
        self.paths.get(uri)
    }

    /// What the client calls the document that is followed.
    pub fn followed(&self, path: &WorkspacePath) -> Option<&Url> {
        self.uris.get(path).map(|names| &names.followed)
    }

    /// A document is opened: what the documents are to be told.
    pub fn open(&mut self, uri: Url, path: WorkspacePath, version: i32, text: Arc<str>) -> Option<DocumentEvent> {
        self.paths.insert(uri.clone(), path.clone());
        let opened = |text| DocumentEvent::Opened { path: path.clone(), version, text };
        match self.uris.get_mut(&path) {
            None => {
                self.uris.insert(path.clone(), Names { followed: uri, others: Vec::new() });
                Some(opened(text))
            }
            Some(names) if names.followed == uri => Some(opened(text)),
            Some(names) => {
                names.others.retain(|other| other.uri != uri);
                names.others.push(Other { uri, version, text });
                None
            }
        }
    }

    /// Takes in what was changed under a name that is not followed. False under the one that is.
    pub fn change(
        &mut self,
        uri: &Url,
        version: i32,
        changes: &[TextDocumentContentChangeEvent],
        encoding: Encoding,
    ) -> bool {
        let names = self.paths.get(uri).and_then(|path| self.uris.get_mut(path));
        let Some(other) = names.and_then(|names| names.others.iter_mut().find(|other| other.uri == *uri)) else {
            return false;
        };
        other.version = version;
        for change in from_proto::changes(&other.text, changes.to_vec(), encoding) {
            other.text = match change {
                DocumentChange::Whole(text) => text.into(),
                // what does not fit differs from what is followed, and that is all that counts here
                DocumentChange::Edit(edit) => apply(&other.text, &[edit]).map_or_else(|_| Arc::from(""), Arc::from),
            };
        }
        true
    }

    /// It is not the name that is followed.
    pub fn is_other(&self, uri: &Url) -> bool {
        let names = self.paths.get(uri).and_then(|path| self.uris.get(path));
        names.is_some_and(|names| names.followed != *uri)
    }

    /// A document is closed: what the documents are to be told.
    pub fn close(&mut self, uri: &Url) -> Option<DocumentEvent> {
        let path = self.paths.remove(uri)?;
        let names = self.uris.get_mut(&path)?;
        if names.followed != *uri {
            names.others.retain(|other| other.uri != *uri);
            return None;
        }
        if names.others.is_empty() {
            self.uris.remove(&path);
            return Some(DocumentEvent::Closed { path });
        }
        let Other { uri, version, text } = names.others.remove(0);
        names.followed = uri;
        Some(DocumentEvent::Opened { path, version, text })
    }

    /// Another name under which the file is open with a text other than this.
    pub fn differs(&self, path: &WorkspacePath, text: &str) -> Option<&Url> {
        self.uris.get(path)?.others.iter().find(|other| *other.text != *text).map(|other| &other.uri)
    }
}
