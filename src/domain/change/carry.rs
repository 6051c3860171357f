//! Spots through one edit, and against the text that edits led to.
//!
//! **Invariant:** an edit that reaches over a spot's edge makes the spot loose; so does one that brings lines to a spot
//! without lines whose neighbours have gone, because on which side of it they belong nobody knows.
//! **Absent:** texts seen before, and what the text alone says (`spots`).

use super::edit::Edit;
use super::model::{FileChange, HunkState};
use crate::domain::problem::Replacement;
use std::ops::Range;

/// One hunk's spot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Held {
    /// Its place in `change.hunks`.
    pub hunk: usize,
    pub range: Range<usize>,
    pub state: HunkState,
    /// An edit reached over an edge, or it was never found.
    pub loose: bool,
    /// A line that the change knows beside it has gone.
    pub bare: bool,
    /// What it was when it was clean last.
    pub last: Option<HunkState>,
}

impl Held {
    pub fn clean(&self) -> bool {
        self.state != HunkState::Touched
    }
}

/// Old and new lines of a spot's hunk.
pub(super) fn sides<'c>(change: &'c FileChange, held: &Held) -> (&'c str, &'c str) {
    change.hunks.get(held.hunk).map_or(("", ""), |hunk| (change.old_text(hunk), change.new_text(hunk)))
}

/// Takes spots through one edit. True if a lost hunk may be found in what it leads to.
pub(super) fn carry(change: &FileChange, held: &mut [Held], text: &str, sent: &Replacement) -> bool {
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
    let mut highest = None;
    match lines {
        Some(_) if owner.is_some() => {}
        Some(_) => {
            // which of equal lines went or came is not known
            let places: Vec<usize> = edit.line_places(text, slide.clone()).collect();
            highest = places.first().copied();
            for held in held.iter_mut().filter(|held| !held.loose) {
                let Range { start, end } = held.range;
                held.bare |= gone > 0 && places.iter().any(|place| place + gone == start || *place == end);
                let any = |is: &dyn Fn(usize) -> bool| places.iter().any(|place| is(*place));
                let (over, under) = (any(&|place| place < start), any(&|place| place > end));
                let in_doubt = match (edit.is_deletion(), start < end) {
                    (true, true) => {
                        let inside = |place: usize| place < end && start < place + gone;
                        any(&inside) && any(&|place| !inside(place))
                    }
                    (true, false) => {
                        let above = any(&|place| place + gone <= start);
                        any(&|place| place < start && start < place + gone) || (above && any(&|place| place >= start))
                    }
                    // equal lines on both sides of the spot's own
                    (false, true) => (over || under) && any(&|place| place <= start) && any(&|place| place >= end),
                    (false, false) => {
                        let here = slide.contains(&start);
                        here && ((over && under) || held.bare || brings(edit.put, sides(change, held)))
                    }
                };
                if in_doubt {
                    held.bare = true;
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
            // below all lines that are equal to the one above it
            let above =
                highest.filter(|above| held.range.is_empty() && *above < place && slide.contains(&held.range.start));
            inserted(held, above.unwrap_or(place), len);
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
        let waits = !held.loose && !held.bare && held.range.is_empty() && slide.contains(&place);
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
pub(super) fn read(change: &FileChange, held: &mut [Held], text: &str) {
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
            let certain =
                !spot.loose || !spot.bare && here.is_some_and(|here| tells(here) && once(text, above..below, here));
            if certain { state } else { HunkState::Touched }
        };
        let lines = whole_lines(text, &spot.range);
        let whole = lines == spot.range || (lines.start >= above && lines.end <= below.max(spot.range.end));
        spot.state = if whole { compare(&lines) } else { HunkState::Touched };
        if spot.clean() {
            spot.range = lines;
            spot.loose = false;
            spot.last = Some(spot.state);
        }
        above = spot.range.end.max(above);
    }
}

/// Between these places the lines stand nowhere else.
fn once(text: &str, between: Range<usize>, lines: &str) -> bool {
    let Some(between) = text.get(between) else { return false };
    let again = |at: usize| between.get(at + 1..).is_some_and(|rest| rest.contains(lines));
    between.find(lines).is_none_or(|at| !again(at))
}

/// The lines that a range stands in. An empty range at a line's start stands in none.
pub(super) fn whole_lines(text: &str, range: &Range<usize>) -> Range<usize> {
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
pub(super) fn tells(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphanumeric()).take(3).count() == 3
}
