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

use super::edit::Edit;
use super::exact::exact;
use super::model::{FileChange, Hunk, HunkKind, HunkState};
use super::spot::{HunkStanding, derive_text, standing};
use crate::domain::ids::ContentHash;
use crate::domain::problem::Replacement;
use std::collections::VecDeque;
use std::ops::Range;

/// Texts remembered of one document: as many as a person undoes and redoes between two looks.
const REMEMBERED: usize = 16;

/// Where the hunks of lines of one change stand in one document.
#[derive(Clone, Debug)]
pub struct Spots {
    held: Vec<Held>,
    remembered: VecDeque<Remembered>,
    moving: Option<Moving>,
}

/// One hunk's spot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Held {
    /// Its place in `change.hunks`.
    pub hunk: usize,
    pub range: Range<usize>,
    pub state: HunkState,
    /// An edit reached over an edge, or it was never found.
    pub loose: bool,
}

impl Held {
    fn clean(&self) -> bool {
        self.state != HunkState::Touched
    }
}

/// A text in which hunks were clean before an edit broke them.
#[derive(Clone, Debug)]
struct Remembered {
    len: usize,
    hash: ContentHash,
    held: Vec<Held>,
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
        Self { held: found(change, text), remembered: VecDeque::new(), moving: None }
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
        if self.broken() == 0 {
            return;
        }
        if moving.start.iter().zip(&self.held).any(|(was, is)| was.clean() && !is.clean()) {
            self.remember(before, moving.start);
        }
        self.recall(after);
        if self.broken() > 0
            && let Some(found) = exact(change, after, &self.held)
        {
            self.held = found;
        }
        if moving.seek && self.held.iter().any(|held| held.loose) {
            merge(&mut self.held, found(change, after));
        }
    }

    /// What the text says of every hunk of the change, in its order. A mode is no matter of a document: it is open.
    pub fn standings(&self, change: &FileChange, text: &str) -> Vec<HunkStanding> {
        let mut held = self.held.iter();
        let mut of = |hunk: &Hunk| match &hunk.kind {
            HunkKind::Lines { .. } => {
                held.next().map_or((HunkState::Touched, 0..0), |held| (held.state, held.range.clone()))
            }
            HunkKind::Create if text == change.after.text() => (HunkState::Accepted, 0..text.len()),
            HunkKind::Create if text.is_empty() => (HunkState::Open, 0..0),
            HunkKind::Delete if text == change.before.text() => (HunkState::Open, 0..text.len()),
            HunkKind::Create | HunkKind::Delete => (HunkState::Touched, 0..text.len()),
            HunkKind::Mode => (HunkState::Open, 0..0),
        };
        change
            .hunks
            .iter()
            .map(|hunk| {
                let (state, range) = of(hunk);
                standing(hunk, state, range, text)
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

    /// The spots as they were, if this very text was there before and was clearer then.
    fn recall(&mut self, text: &str) {
        if !self.remembered.iter().any(|other| other.len == text.len()) {
            return;
        }
        let hash = ContentHash::of(text);
        let known = self.remembered.iter().find(|other| other.len == text.len() && other.hash == hash);
        if let Some(known) = known.filter(|known| broken(&known.held) < broken(&self.held)) {
            self.held = known.held.clone();
        }
    }
}

fn broken(held: &[Held]) -> usize {
    held.iter().filter(|held| !held.clean()).count()
}

/// Old and new lines of a spot's hunk.
pub(super) fn sides<'c>(change: &'c FileChange, held: &Held) -> (&'c str, &'c str) {
    change.hunks.get(held.hunk).map_or(("", ""), |hunk| (change.old_text(hunk), change.new_text(hunk)))
}

/// All hunks of lines, by the text alone.
fn found(change: &FileChange, text: &str) -> Vec<Held> {
    derive_text(change, text)
        .into_iter()
        .enumerate()
        .filter(|(at, _)| change.hunks.get(*at).is_some_and(|hunk| matches!(hunk.kind, HunkKind::Lines { .. })))
        .map(|(hunk, standing)| Held {
            hunk,
            loose: standing.state == HunkState::Touched,
            state: standing.state,
            range: standing.range,
        })
        .collect()
}

/// Loose spots move to where the text alone shows them, if that lies between their neighbours.
fn merge(held: &mut [Held], found: Vec<Held>) {
    for (at, new) in found.into_iter().enumerate() {
        let above = held.iter().take(at).rev().find(|held| held.clean()).map_or(0, |held| held.range.end);
        let below = held.iter().skip(at + 1).find(|held| held.clean()).map(|held| held.range.start);
        if let Some(old) = held.get_mut(at)
            && old.loose
            && new.clean()
            && new.range.start >= above
            && below.is_none_or(|below| new.range.end <= below)
        {
            *old = new;
        }
    }
}

/// The whole difference of two texts as one edit.
fn between(before: &str, after: &str) -> Replacement {
    Replacement { range: 0..before.len(), text: after.to_owned() }
}

/// Takes spots through one edit. True if a lost hunk may be found in what it leads to.
fn carry(change: &FileChange, held: &mut [Held], text: &str, sent: &Replacement) -> bool {
    let Some(edit) = Edit::narrowed(text, sent) else { return false };
    let (len, gone) = (edit.put.len(), edit.range.len());
    if edit.is_insertion() && claimed(change, held, text, &edit) {
        return false;
    }
    let mut unsure = doubted(held, text, &sent.range, &edit.range);
    let crosses = |held: &Held, place: usize| {
        let Range { start, end } = held.range;
        if edit.is_insertion() { start < place && place < end } else { start < place + gone && place < end }
    };
    let slide = if gone > 0 && len > 0 { edit.range.start..=edit.range.start } else { edit.slide(text) };
    let owner = held.iter().find(|held| {
        let (old, new) = sides(change, held);
        edit.is_deletion()
            && held.range.len() == gone
            && slide.contains(&held.range.start)
            && (old.is_empty() || new.is_empty())
    });
    let lines = if gone > 0 && len > 0 {
        None
    } else {
        match owner {
            Some(owner) => Some(owner.range.start),
            None => edit.whole_lines(text, slide.clone(), &|place| held.iter().any(|held| crosses(held, place))),
        }
    };
    match lines {
        Some(_) if owner.is_some() => {}
        Some(_) => {
            // which of equal lines went or came is not known
            let places: Vec<usize> = edit.line_places(text, slide.clone()).collect();
            for held in held.iter_mut().filter(|held| !held.loose && held.range.is_empty()) {
                let at = held.range.start;
                let in_doubt = if edit.is_deletion() {
                    places.iter().any(|place| *place < at && at < place + gone)
                } else {
                    slide.contains(&at) && brings(edit.put, sides(change, held))
                };
                if in_doubt {
                    loosen(held);
                    unsure = true;
                }
            }
        }
        // more than one line is made anew, and who stands at its edges may be what came or went
        None if edit.spans_lines(text) => {
            let above = whole_lines(text, &(edit.range.start.saturating_sub(1)..edit.range.start)).start;
            let lines = above..line_end(text, edit.range.end);
            let contains = |held: &Held| held.range.start <= edit.range.start && edit.range.end <= held.range.end;
            for held in held.iter_mut().filter(|held| !held.loose && (held.range.is_empty() || !contains(held))) {
                if held.range.start <= lines.end && lines.start <= held.range.end {
                    loosen(held);
                    unsure = true;
                }
            }
        }
        None => {}
    }
    let place = lines.unwrap_or(edit.range.start);
    for held in held.iter_mut() {
        let firm = !held.loose;
        if edit.is_insertion() {
            inserted(held, place, len);
        } else {
            replaced(held, &(place..place + gone), len);
        }
        unsure |= firm && held.loose;
    }
    unsure || (edit.put.contains('\n') && !edit.put.trim().is_empty())
}

/// What is put in holds one of the sides of a hunk, among other lines.
fn brings(put: &str, (old, new): (&str, &str)) -> bool {
    let blank = || put.split_inclusive('\n').any(|line| line.trim().is_empty());
    [old, new]
        .iter()
        .any(|side| !side.is_empty() && if side.trim().is_empty() { blank() } else { put.contains(side.trim()) })
}

/// An insertion that is exactly what a hunk without lines of its own waits for, at one of the places where it can have
/// been made, makes that hunk. Of two at one place the other stays where order puts it.
fn claimed(change: &FileChange, held: &mut [Held], text: &str, edit: &Edit<'_>) -> bool {
    let (slide, len) = (edit.slide(text), edit.put.len());
    let claims = |held: &Held| {
        let (old, new) = sides(change, held);
        let place = held.range.start;
        let waits = !held.loose && held.range.is_empty() && slide.contains(&place);
        waits && [old, new].iter().any(|side| side.len() == len && edit.puts(text, place, side))
    };
    let Some(claimed) = held.iter().position(claims) else { return false };
    let place = held.get(claimed).map_or(0, |held| held.range.start);
    for (at, held) in held.iter_mut().enumerate() {
        if at == claimed {
            held.range.end = place + len;
        } else if at > claimed && held.range.start >= place {
            held.range = held.range.start + len..held.range.end + len;
        }
    }
    true
}

/// Loosens spots inside of what the client sent anew where nothing but braces and blank lines says that they are the
/// same: what both texts share at the end may be another function's. True if there are such.
fn doubted(held: &mut [Held], text: &str, sent: &Range<usize>, narrow: &Range<usize>) -> bool {
    let mut any = false;
    for held in held.iter_mut().filter(|held| !held.loose) {
        let Range { start, end } = held.range;
        let within =
            if start == end { sent.start < start && start < sent.end } else { start < sent.end && sent.start < end };
        let between = if end <= narrow.start {
            end..narrow.start
        } else if start >= narrow.end {
            narrow.end..start
        } else {
            continue;
        };
        let own = text.get(start..end).is_some_and(tells);
        let whole = text.get(between).unwrap_or("").split_inclusive('\n').skip(usize::from(start >= narrow.end));
        if within && !own && !whole.filter(|line| line.ends_with('\n')).any(tells) {
            loosen(held);
            any = true;
        }
    }
    any
}

fn loosen(held: &mut Held) {
    held.loose = true;
    held.state = HunkState::Touched;
}

/// Text put in at a spot's edge stays outside; an empty spot stays before it.
fn inserted(held: &mut Held, place: usize, len: usize) {
    let Range { start, end } = held.range;
    if place < start || (place == start && start < end) {
        held.range = start + len..end + len;
    } else if place < end {
        held.range.end += len;
    }
}

fn replaced(held: &mut Held, range: &Range<usize>, len: usize) {
    let Range { start, end } = held.range;
    let (gone, moved) = (range.len(), |at: usize| (at + len).saturating_sub(range.len()));
    if range.end <= start {
        held.range = moved(start)..moved(end);
    } else if range.start >= end {
        // below the spot
    } else if start <= range.start && range.end <= end {
        held.range.end = (end + len).saturating_sub(gone);
    } else {
        let from = start.min(range.start);
        held.range = if start <= range.start { start } else { from }..if end >= range.end {
            moved(end)
        } else {
            range.start + len
        };
        loosen(held);
    }
}

/// Compares every spot with the text. A spot that an edit left in the middle of a line is tried as the whole lines it
/// stands in: a client puts `a` before `b` where the hunk replaces `b` by `ab`.
fn read(change: &FileChange, held: &mut [Held], text: &str) {
    let mut above = 0;
    for at in 0..held.len() {
        let below = held.get(at + 1).map_or(text.len(), |next| next.range.start);
        let Some(spot) = held.get_mut(at) else { break };
        let (old, new) = sides(change, spot);
        let compare = |range: &Range<usize>| {
            let here = text.get(range.clone());
            let state = if here == Some(new) {
                HunkState::Accepted
            } else if here == Some(old) {
                HunkState::Open
            } else {
                HunkState::Touched
            };
            let certain = !spot.loose || here.is_some_and(tells);
            if certain { state } else { HunkState::Touched }
        };
        let lines = whole_lines(text, &spot.range);
        spot.state = if lines == spot.range {
            compare(&lines)
        } else if lines.start >= above && lines.end <= below.max(spot.range.end) {
            compare(&lines)
        } else {
            HunkState::Touched
        };
        if spot.clean() {
            spot.range = lines;
            spot.loose = false;
        }
        above = spot.range.end.max(above);
    }
}

/// The lines that a range stands in. An empty range at a line's start stands in none.
fn whole_lines(text: &str, range: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let starts = |at: usize| at == 0 || at.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'\n');
    let start = match bytes.get(..range.start) {
        Some(_) if starts(range.start) => range.start,
        Some(above) => above.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1),
        None => range.start,
    };
    let end = match bytes.get(range.end..) {
        Some(_) if starts(range.end) && (start < range.end || range.is_empty()) => range.end,
        Some(below) => below.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| range.end + at + 1),
        None => range.end,
    };
    start..end
}

/// Behind the line that a byte stands in.
fn line_end(text: &str, at: usize) -> usize {
    let below = text.as_bytes().get(at..).unwrap_or(&[]);
    below.iter().position(|byte| *byte == b'\n').map_or(text.len(), |found| at + found + 1)
}

/// Enough letters to be about something: no brace, no blank line.
fn tells(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphanumeric()).take(3).count() == 3
}
