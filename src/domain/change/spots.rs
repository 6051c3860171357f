//! The hunks of a change in a document that is being edited: their spots are carried through every edit.
//!
//! A text alone cannot tell equal lines apart; the edits can. What they leave open is asked of the text: is it one
//! that was seen before (undo, redo, a branch switched back), is it `before` with some hunks made, and only then what
//! [`derive`] can say. So larger edits than the hunk's, in which clients undo, format and reload, lose nothing.
//!
//! **Invariant:** a hunk called open or accepted has its old or new lines, whole lines, at its range; clean ranges
//! stand in order and do not overlap. An edit that reaches over a spot's edge makes the spot *loose*: it is touched
//! until it is found again with certainty.
//! **Absent:** versions, sessions, and the text itself, which its owner keeps.

use super::accept::edits_at;
use super::carry::{Held, carry, read, sides, tells, whole_lines};
use super::edit::Edit;
use super::exact::exact;
use super::model::{FileChange, Hunk, HunkKind, HunkState};
use super::spot::{HunkStanding, derive_text, standing};
use crate::domain::ids::{ContentHash, HunkId};
use crate::domain::problem::Replacement;
use crate::domain::text;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Texts remembered of one document: as many as a person undoes and redoes between two looks.
const REMEMBERED: usize = 16;

/// Bytes of a text that is searched while its client waits: a few milliseconds.
const AT_ONCE: usize = 256 * 1024;

/// Messages after which a text that was asked for is not waited for any longer.
const WAITED: usize = 32;

/// Where the hunks of lines of one change stand in one document.
#[derive(Clone, Debug)]
pub struct Spots {
    held: Vec<Held>,
    remembered: VecDeque<Remembered>,
    moving: Option<Moving>,
    expected: Option<Expected>,
    /// Hunks may be found again in a text too long to search between two keystrokes.
    owed: bool,
}

/// A text in which hunks were clean before an edit broke them.
#[derive(Clone, Debug)]
struct Remembered {
    len: usize,
    hash: ContentHash,
    held: Vec<Held>,
}

/// A text that was asked for: clients bring it in parts, as one large edit, or together with what was typed.
#[derive(Clone, Debug)]
struct Expected {
    text: Arc<str>,
    held: Vec<Held>,
    /// Messages since.
    age: usize,
}

/// Edits of one message, not yet compared with the text they lead to.
#[derive(Clone, Debug)]
struct Moving {
    start: Vec<Held>,
    edits: usize,
    /// Text came in that may hold what was lost.
    seek: bool,
}

impl Spots {
    /// Finds the hunks in a text about which nothing else is known.
    pub fn find(change: &FileChange, text: &str) -> Self {
        Self { held: found(change, text), remembered: VecDeque::new(), moving: None, expected: None, owed: false }
    }

    /// Takes the spots through one edit of `text`. Several may follow each other, each meant on what the one before it
    /// left; [`Spots::settle`] ends them.
    pub fn carry(&mut self, change: &FileChange, text: &str, edit: &Replacement) {
        let moving = self.moving.get_or_insert_with(|| Moving { start: self.held.clone(), edits: 0, seek: false });
        moving.edits += 1;
        let brings = carry(change, &mut self.held, text, edit);
        moving.seek |= brings && self.held.iter().any(|held| held.loose);
    }

    /// The whole text is another now, nobody says by which edits: hunks in what differs are found by the text alone.
    pub fn gap(&mut self, change: &FileChange, text: &str, whole: &str) {
        self.carry(change, text, &between(text, whole));
        if let Some(moving) = &mut self.moving {
            moving.seek = true;
        }
    }

    /// Reads the hunks off the text that the edits led to. `before` is the text before the first of them.
    pub fn settle(&mut self, change: &FileChange, before: &str, after: &str) {
        let Some(moving) = self.moving.take() else { return };
        if self.arrived(change, before, after) {
            self.remember(before, moving.start);
            return;
        }
        read(change, &mut self.held, after);
        if moving.edits > 1 && self.broken() > 0 {
            // a client may make one change in parts, in any order; seen as one it can be plain
            let mut whole = moving.start.clone();
            carry(change, &mut whole, before, &between(before, after));
            read(change, &mut whole, after);
            if broken(&whole) < self.broken() {
                self.held = whole;
            }
        }
        // the whole text decides, whatever the edits seemed to be
        for (side, state) in [(&change.after, HunkState::Accepted), (&change.before, HunkState::Open)] {
            if side.text() == after && self.held.iter().any(|held| held.state != state) {
                self.held = found(change, after);
            }
        }
        let lost = |(was, is): (&Held, &Held)| (was.clean() && !is.clean()) || (!was.bare && is.bare);
        if moving.start.iter().zip(&self.held).any(lost) {
            self.remember(before, moving.start);
        }
        self.recall(after);
        if self.broken() == 0 {
            return;
        }
        if self.broken() > 0
            && let Some(found) = exact(change, after, &self.held)
        {
            self.held = found;
        }
        self.owed |= moving.seek && self.held.iter().any(|held| held.loose);
        if after.len() <= AT_ONCE {
            self.seek(change, after);
        }
    }

    /// Lost hunks may be found in the text, and nobody has looked.
    pub fn is_owed(&self) -> bool {
        self.owed
    }

    /// Looks for lost hunks in the whole text. Until then they are touched.
    pub fn seek(&mut self, change: &FileChange, after: &str) {
        if std::mem::take(&mut self.owed) && self.held.iter().any(|held| held.loose) {
            merge(change, &mut self.held, found(change, after), after);
        }
    }

    /// Takes what a search of this text has found. What was asked for meanwhile is still waited for, and what was found
    /// is expected in it, too.
    pub fn adopt(&mut self, change: &FileChange, text: &str, searched: Spots) {
        self.held = searched.held;
        self.owed = searched.owed;
        let Some(expected) = &mut self.expected else { return };
        let mut held = self.held.clone();
        carry(change, &mut held, text, &between(text, &expected.text));
        read(change, &mut held, &expected.text);
        for (lost, found) in expected.held.iter_mut().zip(held) {
            if lost.loose && found.clean() {
                *lost = found;
            }
        }
    }

    /// These hunks were asked to be put in and taken out of `text`, and here is how: what comes of it is known before
    /// it is there. The text that is waited for.
    pub fn announce(&mut self, change: &FileChange, text: &str, put: &[HunkId], take: &[HunkId]) -> Option<Arc<str>> {
        let edits = edits_at(change, text, &self.standings(change, text), put, take).ok()?;
        let expected: Arc<str> = text::apply(text, &edits).ok()?.into();
        let mut edits = edits.iter().peekable();
        let (mut held, mut grown, mut gone) = (self.held.clone(), 0, 0);
        for held in &mut held {
            let wanted = change.hunks.get(held.hunk).and_then(|hunk| {
                let out = take.contains(&hunk.id).then_some(HunkState::Open);
                if put.contains(&hunk.id) { Some(HunkState::Accepted) } else { out }
            });
            let start = (held.range.start + grown).saturating_sub(gone);
            let mut len = held.range.len();
            if let Some(wanted) = wanted.filter(|wanted| *wanted != held.state)
                && let Some(edit) = edits.next_if(|edit| edit.range == held.range)
            {
                (grown, gone, len) = (grown + edit.text.len(), gone + len, edit.text.len());
                (held.state, held.last) = (wanted, Some(wanted));
            }
            held.range = start..start + len;
        }
        self.expected = Some(Expected { text: expected.clone(), held, age: 0 });
        Some(expected)
    }

    /// Another change's hunks are asked for in the same text.
    pub fn expect_beside(&mut self, change: &FileChange, text: &str, expected: &Arc<str>) {
        let mut held = self.held.clone();
        carry(change, &mut held, text, &between(text, expected));
        read(change, &mut held, expected);
        self.expected = Some(Expected { text: expected.clone(), held, age: 0 });
    }

    /// The text that was asked for is here, alone or with what was typed: then the way from it is the shorter one.
    fn arrived(&mut self, change: &FileChange, before: &str, after: &str) -> bool {
        let Some(mut expected) = self.expected.take() else { return false };
        if *expected.text == *after {
            self.held = expected.held;
            self.remember(after, self.held.clone());
            return true;
        }
        let way = |from: &str| {
            Edit::narrowed(from, &between(from, after)).map_or(0, |edit| edit.range.len() + edit.put.len())
        };
        if way(&expected.text) < way(before) {
            carry(change, &mut expected.held, &expected.text, &between(&expected.text, after));
            read(change, &mut expected.held, after);
            if broken(&expected.held) == 0 {
                self.held = expected.held;
                return true;
            }
            return false;
        }
        expected.age += 1;
        if expected.age < WAITED {
            self.expected = Some(expected);
        }
        false
    }

    /// What the text says of every hunk of the change, in its order. A mode is no matter of a document: it is open.
    pub fn standings(&self, change: &FileChange, text: &str) -> Vec<HunkStanding> {
        let mut held = self.held.iter();
        let mut of = |hunk: &Hunk| match &hunk.kind {
            HunkKind::Lines { .. } => held.next().map_or((HunkState::Touched, 0..0, false), |held| {
                // carried through every edit, none of which reached over its edges
                let exact = !held.loose && whole_lines(text, &held.range) == held.range;
                (held.state, held.range.clone(), exact)
            }),
            HunkKind::Create if text == change.after.text() => (HunkState::Accepted, 0..text.len(), true),
            HunkKind::Create if text.is_empty() => (HunkState::Open, 0..0, true),
            HunkKind::Delete if text == change.before.text() => (HunkState::Open, 0..text.len(), false),
            HunkKind::Create => (HunkState::Touched, 0..text.len(), true),
            HunkKind::Delete => (HunkState::Touched, 0..text.len(), false),
            HunkKind::Mode => (HunkState::Open, 0..0, false),
        };
        change
            .hunks
            .iter()
            .map(|hunk| {
                let (state, range, exact) = of(hunk);
                standing(hunk, state, range, text, exact)
            })
            .collect()
    }

    fn broken(&self) -> usize {
        broken(&self.held)
    }

    fn remember(&mut self, text: &str, held: Vec<Held>) {
        let hash = ContentHash::of(text);
        self.remembered.retain(|other| other.len != text.len() || other.hash != hash);
        self.remembered.push_back(Remembered { len: text.len(), hash, held });
        if self.remembered.len() > REMEMBERED {
            self.remembered.pop_front();
        }
    }

    /// The spots as they were, if this very text was there before and was no less clear then.
    fn recall(&mut self, text: &str) {
        if !self.remembered.iter().any(|other| other.len == text.len()) {
            return;
        }
        let hash = ContentHash::of(text);
        let known = self.remembered.iter().find(|other| other.len == text.len() && other.hash == hash);
        if let Some(known) = known.filter(|known| broken(&known.held) <= broken(&self.held)) {
            self.held = known.held.clone();
        }
    }
}

fn broken(held: &[Held]) -> usize {
    held.iter().filter(|held| !held.clean()).count()
}

/// All hunks of lines, by the text alone.
fn found(change: &FileChange, text: &str) -> Vec<Held> {
    derive_text(change, text)
        .into_iter()
        .enumerate()
        .filter(|(at, _)| change.hunks.get(*at).is_some_and(|hunk| matches!(hunk.kind, HunkKind::Lines { .. })))
        .map(|(hunk, standing)| {
            let clean = standing.state != HunkState::Touched;
            Held {
                hunk,
                loose: !clean,
                bare: !beside(change, hunk, text, &standing.range),
                last: clean.then_some(standing.state),
                state: standing.state,
                range: standing.range,
            }
        })
        .collect()
}

/// Both lines that the change knows beside a hunk are beside it here.
fn beside(change: &FileChange, hunk: usize, text: &str, here: &Range<usize>) -> bool {
    let Some(HunkKind::Lines { old, .. }) = change.hunks.get(hunk).map(|hunk| &hunk.kind) else { return true };
    let before = change.before.text();
    above(before, old.start) == above(text, here.start) && below(before, old.end) == below(text, here.end)
}

fn above(text: &str, at: usize) -> Option<&str> {
    text.get(..at)?.split_inclusive('\n').next_back()
}

fn below(text: &str, at: usize) -> Option<&str> {
    text.get(at..)?.split_inclusive('\n').next()
}

/// Loose spots move to where the text alone shows them, if that lies between their neighbours. One that is now
/// said to be in the other state is found only if the lines that it had have gone from the text.
fn merge(change: &FileChange, held: &mut [Held], found: Vec<Held>, text: &str) {
    for (at, new) in found.into_iter().enumerate() {
        let above = held.iter().take(at).rev().find(|held| held.clean()).map_or(0, |held| held.range.end);
        let below = held.iter().skip(at + 1).find(|held| held.clean()).map(|held| held.range.start);
        if let Some(old) = held.get_mut(at)
            && old.loose
            && new.clean()
            && new.range.start >= above
            && below.is_none_or(|below| new.range.end <= below)
            && !hides(change, old, &new, text)
        {
            *old = new;
        }
    }
}

/// The lines that a spot had may be here still, written otherwise.
fn hides(change: &FileChange, was: &Held, is: &Held, text: &str) -> bool {
    if was.last.is_none_or(|last| last == is.state) {
        return false;
    }
    let (old, new) = sides(change, was);
    let lines = if was.last == Some(HunkState::Accepted) { new } else { old };
    !tells(lines) || lines.lines().map(str::trim).filter(|line| tells(line)).any(|line| text.contains(line))
}

/// The whole difference of two texts as one edit.
fn between(before: &str, after: &str) -> Replacement {
    Replacement { range: 0..before.len(), text: after.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a broken fixture is to fail its test")]
    use super::*;
    use crate::domain::change::{Entry, file_change};
    use crate::domain::ids::{StepId, WorkspacePath};

    #[test]
    fn what_is_asked_for_during_a_search_is_still_waited_for() {
        let file = |text: &str| Entry::File { text: text.into(), mode: 0o644 };
        let path = WorkspacePath::new("a.txt").unwrap();
        let (before, after) = ("one\na\nb\nc\ntwo\nd\n", "1\na\nb\nc\n2\nd\n");
        let change = file_change(path, &file(before), &file(after), &StepId::new("it"), None);
        let mut spots = Spots::find(&change, before);
        let searched = spots.clone();
        // The second hunk is lost as far as this one knows, and the search finds it.
        spots.held.iter_mut().skip(1).for_each(|held| (held.loose, held.state) = (true, HunkState::Touched));
        spots.owed = true;
        let expected = spots.announce(&change, before, &[change.hunks[0].id.clone()], &[]).unwrap();
        spots.adopt(&change, before, searched);
        assert!(!spots.is_owed());
        assert_eq!(spots.expected.as_ref().map(|expected| expected.text.clone()), Some(expected.clone()));
        spots.gap(&change, before, &expected);
        spots.settle(&change, before, &expected);
        let states: Vec<HunkState> = spots.standings(&change, &expected).iter().map(|one| one.state).collect();
        assert_eq!(states, [HunkState::Accepted, HunkState::Open]);
    }
}
