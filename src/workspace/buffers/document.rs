//! One open document of one session, and the spots of what is watched in it.
//!
//! **Invariant:** the text is what the session sent, as far as it could be followed. Absent: who has it open.

use crate::domain::change::{FileChange, HunkStanding, HunkState, Spots};
use crate::domain::problem::Replacement;
use crate::ports::{Document, DocumentChange, SessionId, Standings};
use std::ops::Range;
use std::sync::Arc;

pub(super) struct Open {
    /// Which opening or change of the process was its last.
    pub touch: u64,
    version: i32,
    text: Arc<str>,
    watched: Vec<(Arc<FileChange>, Spots)>,
    /// An edit did not fit: the client's text is another than this one.
    astray: bool,
}

impl Open {
    pub(super) fn new(version: i32, text: Arc<str>, touch: u64, watched: &[Arc<FileChange>]) -> Self {
        let watched = watched.iter().map(|change| (Arc::clone(change), Spots::find(change, &text))).collect();
        Self { touch, version, text, watched, astray: false }
    }

    pub(super) fn document(&self, session: SessionId) -> Document {
        Document { session, version: self.version, text: Arc::clone(&self.text) }
    }

    /// Follows the client. One edit costs one copy of the text and nothing that grows with the number of hunks times
    /// its length.
    pub(super) fn change(&mut self, version: i32, changes: &[DocumentChange], touch: u64) {
        let before = Arc::clone(&self.text);
        let mut text = String::with_capacity(before.len() + 256);
        text.push_str(&before);
        for change in changes {
            match change {
                DocumentChange::Edit(edit) => {
                    let (edit, fits) = fitted(&text, edit);
                    self.astray |= !fits;
                    for (change, spots) in &mut self.watched {
                        spots.carry(change, &text, &edit);
                    }
                    text.replace_range(edit.range.clone(), &edit.text);
                }
                DocumentChange::Whole(whole) => {
                    for (change, spots) in &mut self.watched {
                        if self.astray {
                            *spots = Spots::find(change, whole);
                        } else {
                            spots.gap(change, &text, whole);
                        }
                    }
                    text.clone_from(whole);
                    self.astray = false;
                }
            }
        }
        for (change, spots) in &mut self.watched {
            spots.settle(change, &before, &text);
        }
        self.text = text.into();
        self.version = version;
        self.touch = touch;
    }

    pub(super) fn watch(&mut self, changes: &[Arc<FileChange>]) {
        let mut known = std::mem::take(&mut self.watched);
        let mut keep = |change: &Arc<FileChange>| {
            let at = known.iter().position(|(other, _)| same(other, change))?;
            Some(known.swap_remove(at).1)
        };
        self.watched = changes
            .iter()
            .map(|change| {
                let spots = keep(change).unwrap_or_else(|| Spots::find(change, &self.text));
                (Arc::clone(change), spots)
            })
            .collect();
    }

    pub(super) fn standings(&self, session: SessionId, change: &FileChange) -> Standings {
        let watched = self.watched.iter().find(|(other, _)| same(other, change));
        let mut hunks = match watched {
            Some((change, spots)) => spots.standings(change, &self.text),
            None => Spots::find(change, &self.text).standings(change, &self.text),
        };
        if self.astray {
            hunks.iter_mut().for_each(|hunk| untrusted(hunk, &self.text));
        }
        Standings { document: self.document(session), hunks }
    }
}

fn same(one: &FileChange, other: &FileChange) -> bool {
    std::ptr::eq(one, other) || one == other
}

fn untrusted(hunk: &mut HunkStanding, text: &str) {
    hunk.state = HunkState::Touched;
    hunk.touching.get_or_insert_with(|| text.get(hunk.range.clone()).unwrap_or("").to_owned());
}

/// The edit, moved into the text if it does not fit it.
fn fitted(text: &str, edit: &Replacement) -> (Replacement, bool) {
    if text.get(edit.range.clone()).is_some() {
        return (edit.clone(), true);
    }
    let floor = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let Range { start, end } = edit.range;
    let start = floor(start);
    (Replacement { range: start..floor(end).max(start), text: edit.text.clone() }, false)
}
