//! The approval that a person writes into the document: `approved: r3-9f2c81d04a7e`.
//!
//! It counts as a transition of this session only: the line was not there, the person's edit brought it and changed
//! nothing that the plan says, and the document was saved with it. So a file that came with the line approves nothing,
//! neither does one that undo, a reload from disk or a paste of a whole plan brings; and a line approves once.
//!
//! Invariant: a pure machine of what the session's client told, in its order. An approval names the revision that is
//! written; the engine compares it with what the text says. Absent: the answer to it.

use crate::domain::ids::RevisionRef;
use crate::domain::plan::parse;
use std::collections::HashSet;
use std::sync::Arc;

/// What was seen of one document in one session.
#[derive(Clone, Debug)]
pub struct Signature {
    text: Arc<str>,
    written: Option<RevisionRef>,
    /// Approves when the document is saved.
    armed: bool,
    /// Stood there before anybody wrote it here, or has approved already.
    spent: HashSet<RevisionRef>,
}

impl Signature {
    /// The document was opened with this text.
    pub fn opened(text: Arc<str>) -> Self {
        let written = written(&text);
        Self { spent: written.iter().cloned().collect(), written, armed: false, text }
    }

    /// This text holds an approval that the text before did not.
    pub fn is_new_in(&self, text: &str) -> bool {
        let now = written(text);
        now.is_some() && now != self.written
    }

    /// It changed. `on_disk` is what stood in the file when the change was told: a line that stands there already was not
    /// written here.
    pub fn changed(&mut self, text: Arc<str>, on_disk: Option<&str>) {
        let now = written(&text);
        if now != self.written {
            if let Some(now) = now.as_ref().filter(|_| on_disk.and_then(written).as_ref() == now.as_ref()) {
                self.spent.insert(now.clone());
            }
            let fresh = now.as_ref().is_some_and(|now| !self.spent.contains(now));
            self.armed = fresh && parse(&self.text).plan == parse(&text).plan;
            self.written = now;
        }
        self.text = text;
    }

    /// It was saved: the revision that this approves, if it approves one.
    pub fn saved(&mut self) -> Option<RevisionRef> {
        if !std::mem::take(&mut self.armed) {
            return None;
        }
        let revision = self.written.clone()?;
        self.spent.insert(revision.clone());
        Some(revision)
    }
}

/// The approval that a text holds.
pub fn written(text: &str) -> Option<RevisionRef> {
    // Most documents hold none, and reading a large one takes its time.
    text.contains("approved:").then(|| parse(text).layout.approved).flatten().map(|(revision, _)| revision)
}
