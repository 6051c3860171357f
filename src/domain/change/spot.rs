//! Where hunks stand in the text of the moment, and what that says about them.
//!
//! Invariant: a state is a function of change and text alone (invariant 6 of the architecture). A text that is
//! `before` with some hunks made is read exactly. Where nothing certain can be said the answer is *touched*, never a
//! guess: a hunk that is called open or accepted can be made or undone without touching a byte around it.
//! Absent: decisions, and whose buffer or file the text is.
//!
//! Two ways lead to a standing. [`derive`] needs only the text (a closed file, a restart). [`carry`] takes known
//! spots through the edits a client sends, which also tells equal lines apart.
//! One case no text can tell: a line that a person puts exactly where an insertion belongs leaves the insertion open,
//! whether they typed it anew or rewrote the accepted line.

use super::align::{Graph, Placed, Side, align};
use super::model::{Entry, FileChange, Hunk, HunkKind, HunkState};
use crate::domain::ids::HunkId;
use crate::domain::problem::Replacement;
use crate::domain::text::{lines, map_range};
use std::ops::Range;

/// What the text says about one hunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HunkStanding {
    /// Which.
    pub id: HunkId,
    /// Its state.
    pub state: HunkState,
    /// Bytes of the text: the old or new lines, or for a touched hunk what stands where it belongs.
    pub range: Range<usize>,
    /// What stands there instead, if it is touched.
    pub touching: Option<String>,
}

/// Where a hunk belongs in one version of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spot {
    /// Which hunk.
    pub id: HunkId,
    /// Bytes of that version.
    pub range: Range<usize>,
}

/// Finds every hunk of the change in what stands there now; in the order of `change.hunks`.
pub fn derive(change: &FileChange, current: &Entry) -> Vec<HunkStanding> {
    let mut line_hunks = place_lines(change, current).into_iter();
    let here = current.text();
    change
        .hunks
        .iter()
        .map(|hunk| {
            let (state, range) = match &hunk.kind {
                HunkKind::Lines { .. } => line_hunks.next().unwrap_or((HunkState::Touched, 0..0)),
                HunkKind::Create | HunkKind::Delete => (whole(current, &change.after, &change.before), 0..here.len()),
                HunkKind::Mode => (mode_state(change, current), 0..0),
            };
            standing(hunk, state, range, here)
        })
        .collect()
}

fn standing(hunk: &Hunk, state: HunkState, range: Range<usize>, here: &str) -> HunkStanding {
    let touching = match state {
        HunkState::Touched => Some(here.get(range.clone()).unwrap_or("").to_owned()),
        HunkState::Open | HunkState::Accepted => None,
    };
    HunkStanding { id: hunk.id.clone(), state, range, touching }
}

/// A file operation: the text decides; a mode that a umask has altered does not.
fn whole(current: &Entry, after: &Entry, before: &Entry) -> HunkState {
    let same = |entry: &Entry| match (current, entry) {
        (Entry::Absent, Entry::Absent) => true,
        (Entry::File { text, .. }, Entry::File { text: other, .. }) => text == other,
        (Entry::Absent, Entry::File { .. }) | (Entry::File { .. }, Entry::Absent) => false,
    };
    if same(after) {
        HunkState::Accepted
    } else if same(before) {
        HunkState::Open
    } else {
        HunkState::Touched
    }
}

fn mode_state(change: &FileChange, current: &Entry) -> HunkState {
    match (current, &change.before, &change.after) {
        (Entry::File { mode, .. }, _, Entry::File { mode: new, .. }) if mode == new => HunkState::Accepted,
        (Entry::File { mode, .. }, Entry::File { mode: old, .. }, _) if mode == old => HunkState::Open,
        _ => HunkState::Touched,
    }
}

/// State and bytes of each hunk of lines, in order.
fn place_lines(change: &FileChange, current: &Entry) -> Vec<(HunkState, Range<usize>)> {
    let ranges: Vec<(Range<usize>, Range<usize>)> = change
        .hunks
        .iter()
        .filter_map(|hunk| match &hunk.kind {
            HunkKind::Lines { old, new, .. } => Some((old.clone(), new.clone())),
            HunkKind::Create | HunkKind::Delete | HunkKind::Mode => None,
        })
        .collect();
    if ranges.is_empty() || matches!(current, Entry::Absent) {
        return vec![(HunkState::Touched, 0..0); ranges.len()];
    }
    let (before, after, here) = (change.before.text(), change.after.text(), current.text());
    if here == before {
        return ranges.into_iter().map(|(old, _)| (HunkState::Open, old)).collect();
    }
    if here == after {
        return ranges.into_iter().map(|(_, new)| (HunkState::Accepted, new)).collect();
    }
    let mut gaps = Vec::with_capacity(ranges.len() + 1);
    let mut at = 0;
    for (old, _) in &ranges {
        gaps.push(lines(before.get(at..old.start).unwrap_or("")));
        at = old.end;
    }
    gaps.push(lines(before.get(at..).unwrap_or("")));
    let sides: Vec<(Vec<&str>, Vec<&str>)> = ranges
        .iter()
        .map(|(old, new)| (lines(before.get(old.clone()).unwrap_or("")), lines(after.get(new.clone()).unwrap_or(""))))
        .collect();
    let graph = Graph {
        gaps: gaps.iter().map(Vec::as_slice).collect(),
        hunks: sides.iter().map(|(old, new)| (old.as_slice(), new.as_slice())).collect(),
    };
    let text = lines(here);
    let mut starts = vec![0];
    let mut sum = 0;
    for line in &text {
        sum += line.len();
        starts.push(sum);
    }
    let byte = |line: usize| starts.get(line).copied().unwrap_or(here.len());
    align(&graph, &text)
        .into_iter()
        .map(|Placed { clean, lines }| {
            let state = match clean {
                Some(Side::Old) => HunkState::Open,
                Some(Side::New) => HunkState::Accepted,
                None => HunkState::Touched,
            };
            (state, byte(lines.start)..byte(lines.end))
        })
        .collect()
}

/// Takes spots through edits of `text`, in document order and all meant on it, as one didChange states them.
///
/// Clients undo with larger edits than they did with, so what an edit leaves equal at both its ends is no part of it.
pub fn carry(change: &FileChange, spots: &mut [Spot], text: &str, edits: &[Replacement]) {
    let edits: Vec<Replacement> = edits.iter().map(|edit| narrowed(text, edit)).collect();
    for spot in spots {
        let put = edits.iter().find(|edit| edit.range == spot.range && edit.range.is_empty() && !edit.text.is_empty());
        let made = put.filter(|put| change.hunk(&spot.id).is_some_and(|hunk| change.new_text(hunk) == put.text));
        let mut range = map_range(&spot.range, &edits);
        if let Some(made) = made {
            range.end = range.start + made.text.len();
        }
        spot.range = range;
    }
}

/// What the text says at known spots; a spot of a file operation or of an unknown hunk says nothing and is left out.
pub fn at_spots(change: &FileChange, spots: &[Spot], text: &str) -> Vec<HunkStanding> {
    spots
        .iter()
        .filter_map(|spot| {
            let hunk = change.hunk(&spot.id).filter(|hunk| matches!(hunk.kind, HunkKind::Lines { .. }))?;
            let here = text.get(spot.range.clone());
            let state = if here == Some(change.new_text(hunk)) {
                HunkState::Accepted
            } else if here == Some(change.old_text(hunk)) {
                HunkState::Open
            } else {
                HunkState::Touched
            };
            Some(standing(hunk, state, spot.range.clone(), text))
        })
        .collect()
}

fn narrowed(text: &str, edit: &Replacement) -> Replacement {
    let replaced = text.get(edit.range.clone()).unwrap_or("");
    let head: usize =
        replaced.chars().zip(edit.text.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let rest = (replaced.get(head..).unwrap_or(""), edit.text.get(head..).unwrap_or(""));
    let tail: usize =
        rest.0.chars().rev().zip(rest.1.chars().rev()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    Replacement {
        range: edit.range.start + head..edit.range.end.saturating_sub(tail).max(edit.range.start + head),
        text: rest.1.get(..rest.1.len() - tail).unwrap_or("").to_owned(),
    }
}
