//! One open document of one session, and the spots of what is watched in it.
//!
//! **Invariant:** the text is what the session sent, as far as it could be followed. Absent: who has it open.

use crate::domain::change::{FileChange, HunkStanding, HunkState, Spots, edits_at};
use crate::domain::problem::Replacement;
use crate::domain::text;
use crate::ports::{Document, DocumentChange, EditorOrder, SessionId, Standings};
use std::ops::Range;
use std::sync::Arc;

/// Changes carried on after nobody watches them any more.
const PARKED: usize = 4;

pub(super) struct Open {
    /// Which opening or change of the process was its last.
    pub touch: u64,
    version: i32,
    text: Arc<str>,
    watched: Vec<Watched>,
    /// No longer watched, and still carried: two that watch may disagree for a moment.
    parked: Vec<Watched>,
    /// An edit did not fit: the client's text is another than this one.
    astray: bool,
}

/// A search for lost hunks, away from the document.
pub(super) struct Search {
    watched: Watched,
    text: Arc<str>,
    touch: u64,
}

impl Search {
    pub(super) fn run(&mut self) {
        self.watched.spots.seek(&self.watched.shown, &self.text);
    }
}

/// A change whose hunks are carried.
#[derive(Clone)]
struct Watched {
    /// As it was given.
    told: Arc<FileChange>,
    /// As the editor shows it, without the mark at a file's head.
    shown: Arc<FileChange>,
    spots: Spots,
}

impl Watched {
    fn find(told: &Arc<FileChange>, text: &str) -> Self {
        let shown = told.as_shown(text).map_or_else(|| Arc::clone(told), Arc::new);
        Self { told: Arc::clone(told), spots: Spots::find(&shown, text), shown }
    }
}

impl Open {
    pub(super) fn new(version: i32, text: Arc<str>, touch: u64, watched: &[Arc<FileChange>]) -> Self {
        let watched = watched.iter().map(|change| Watched::find(change, &text)).collect();
        Self { touch, version, text, watched, parked: Vec::new(), astray: false }
    }

    pub(super) fn document(&self, session: SessionId) -> Document {
        Document { session, version: self.version, text: Arc::clone(&self.text) }
    }

    pub(super) fn is_astray(&self) -> bool {
        self.astray
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
                    for Watched { shown, spots, .. } in self.watched.iter_mut().chain(&mut self.parked) {
                        spots.carry(shown, &text, &edit);
                    }
                    text.replace_range(edit.range.clone(), &edit.text);
                }
                DocumentChange::Whole(whole) => {
                    for watched in self.watched.iter_mut().chain(&mut self.parked) {
                        if self.astray {
                            *watched = Watched::find(&watched.told, whole);
                        } else {
                            watched.spots.gap(&watched.shown, &text, whole);
                        }
                    }
                    text.clone_from(whole);
                    self.astray = false;
                }
            }
        }
        for Watched { shown, spots, .. } in self.watched.iter_mut().chain(&mut self.parked) {
            spots.settle(shown, &before, &text);
        }
        self.text = text.into();
        self.version = version;
        self.touch = touch;
    }

    pub(super) fn watch(&mut self, changes: &[Arc<FileChange>]) {
        let mut known = std::mem::take(&mut self.watched);
        known.append(&mut self.parked);
        for change in changes {
            let watched = match known.iter().position(|other| same(&other.told, change)) {
                Some(at) => known.remove(at),
                None => Watched::find(change, &self.text),
            };
            self.watched.push(watched);
        }
        known.truncate(PARKED);
        self.parked = known;
    }

    /// Something is to be searched for.
    pub(super) fn owes(&self) -> bool {
        self.watched.iter().any(|watched| watched.spots.is_owed())
    }

    /// What, and in which text.
    pub(super) fn owed(&self) -> Vec<Search> {
        let owed = self.watched.iter().filter(|watched| watched.spots.is_owed());
        let search =
            |watched: &Watched| Search { watched: watched.clone(), text: Arc::clone(&self.text), touch: self.touch };
        owed.map(search).collect()
    }

    /// Takes what was found, if the text is still the one that was searched.
    pub(super) fn found(&mut self, search: Search) {
        let own = self.watched.iter_mut().find(|watched| Arc::ptr_eq(&watched.told, &search.watched.told));
        if let Some(own) = own.filter(|_| self.touch == search.touch) {
            own.spots.adopt(&own.shown, &self.text, search.watched.spots);
        }
    }

    /// Of a change that is not watched no spots are carried; what it makes of the text is expected by those that are.
    pub(super) fn announce(&mut self, order: &EditorOrder) {
        if self.astray {
            return;
        }
        let mut all: Vec<&mut Watched> = self.watched.iter_mut().chain(&mut self.parked).collect();
        let Some(own) = all.iter().position(|other| same(&other.told, &order.change)) else {
            if let Some(expected) = self::expected(order, &self.text) {
                all.into_iter()
                    .for_each(|Watched { shown, spots, .. }| spots.expect_beside(shown, &self.text, &expected));
            }
            return;
        };
        let Watched { shown, spots, .. } = all.remove(own);
        if let Some(expected) = spots.announce(shown, &self.text, &order.put, &order.take) {
            for Watched { shown, spots, .. } in all {
                spots.expect_beside(shown, &self.text, &expected);
            }
        }
    }

    pub(super) fn standings(&self, session: SessionId, change: &FileChange) -> Standings {
        let watched = self.watched.iter().chain(&self.parked).find(|other| same(&other.told, change));
        let mut hunks = match watched {
            Some(watched) => watched.spots.standings(&watched.shown, &self.text),
            None => {
                let shown = change.as_shown(&self.text);
                let change = shown.as_ref().unwrap_or(change);
                Spots::find(change, &self.text).standings(change, &self.text)
            }
        };
        if self.astray {
            hunks.iter_mut().for_each(|hunk| untrusted(hunk, &self.text));
        }
        Standings { document: self.document(session), hunks }
    }
}

/// The text that an order leads to, by the text alone.
fn expected(order: &EditorOrder, text: &str) -> Option<Arc<str>> {
    let shown = order.change.as_shown(text);
    let change = shown.as_ref().unwrap_or(&order.change);
    let standings = Spots::find(change, text).standings(change, text);
    let edits = edits_at(change, text, &standings, &order.put, &order.take).ok()?;
    Some(text::apply(text, &edits).ok()?.into())
}

fn same(one: &FileChange, other: &FileChange) -> bool {
    std::ptr::eq(one, other) || one == other
}

fn untrusted(hunk: &mut HunkStanding, text: &str) {
    hunk.state = HunkState::Touched;
    hunk.exact = false;
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
