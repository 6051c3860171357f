//! Where hunks stand in the text of the moment, and what that says about them.
//!
//! Invariant: a state is a function of change and text alone (invariant 6 of the architecture). A text that is
//! `before` with some hunks made is read exactly. Where nothing certain can be said the answer is *touched*, never a
//! guess: a hunk that is called open or accepted can be made or undone without touching a byte around it.
//! Absent: decisions, and whose buffer or file the text is.
//!
//! Two ways lead to a standing. [`derive`] needs only the text (a closed file, a restart). [`super::Spots`] takes known
//! spots through the edits a client sends, which also tells equal lines apart.
//! One case no text can tell: a line that a person puts exactly where an insertion belongs leaves the insertion open,
//! whether they typed it anew or rewrote the accepted line.

use super::align::{Graph, Placed, Side, align};
use super::carry::tells;
use super::model::{Entry, FileChange, Hunk, HunkKind, HunkState};
use crate::domain::ids::HunkId;
use crate::domain::text::lines;
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
    /// The range is known exactly. Always so where it is open or accepted; what stands at a touched one may be replaced
    /// as a whole only then.
    pub exact: bool,
}

/// Finds every hunk of the change in what stands there now; in the order of `change.hunks`.
pub fn derive(change: &FileChange, current: &Entry) -> Vec<HunkStanding> {
    let (here, stands) = (current.text(), matches!(current, Entry::File { .. }));
    let mut line_hunks = place_lines(change, stands.then_some(here)).into_iter();
    change
        .hunks
        .iter()
        .map(|hunk| {
            let (state, range, exact) = match &hunk.kind {
                HunkKind::Lines { .. } => line_hunks.next().unwrap_or(NOWHERE),
                HunkKind::Create => (whole(current, &change.after, &change.before), 0..here.len(), stands),
                HunkKind::Delete => (whole(current, &change.after, &change.before), 0..here.len(), false),
                HunkKind::Mode => (mode_state(change, current), 0..0, false),
            };
            standing(hunk, state, range, here, exact)
        })
        .collect()
}

/// The hunks of lines in a text; file operations count as touched.
pub(super) fn derive_text(change: &FileChange, text: &str) -> Vec<HunkStanding> {
    let mut line_hunks = place_lines(change, Some(text)).into_iter();
    let mut of = |hunk: &Hunk| matches!(hunk.kind, HunkKind::Lines { .. }).then(|| line_hunks.next()).flatten();
    change
        .hunks
        .iter()
        .map(|hunk| {
            let (state, range, exact) = of(hunk).unwrap_or(NOWHERE);
            standing(hunk, state, range, text, exact)
        })
        .collect()
}

/// State, bytes, and whether they are known exactly.
type Found = (HunkState, Range<usize>, bool);

const NOWHERE: Found = (HunkState::Touched, 0..0, false);

/// Lines beside a spot that must stand there, and nowhere else, for it to be known exactly.
const BESIDE: usize = 3;

pub(super) fn standing(hunk: &Hunk, state: HunkState, range: Range<usize>, here: &str, exact: bool) -> HunkStanding {
    let touching = match state {
        HunkState::Touched => Some(here.get(range.clone()).unwrap_or("").to_owned()),
        HunkState::Open | HunkState::Accepted => None,
    };
    HunkStanding { id: hunk.id.clone(), exact: exact || touching.is_none(), state, range, touching }
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

/// Each hunk of lines, in order.
fn place_lines(change: &FileChange, here: Option<&str>) -> Vec<Found> {
    let ranges: Vec<(Range<usize>, Range<usize>)> = change
        .hunks
        .iter()
        .filter_map(|hunk| match &hunk.kind {
            HunkKind::Lines { old, new, .. } => Some((old.clone(), new.clone())),
            HunkKind::Create | HunkKind::Delete | HunkKind::Mode => None,
        })
        .collect();
    let Some(here) = here.filter(|_| !ranges.is_empty()) else {
        return vec![NOWHERE; ranges.len()];
    };
    let (before, after) = (change.before.text(), change.after.text());
    if here == before {
        return ranges.into_iter().map(|(old, _)| (HunkState::Open, old, true)).collect();
    }
    if here == after {
        return ranges.into_iter().map(|(_, new)| (HunkState::Accepted, new, true)).collect();
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
        .enumerate()
        .map(|(at, Placed { clean, lines })| {
            let state = match clean {
                Some(Side::Old) => HunkState::Open,
                Some(Side::New) => HunkState::Accepted,
                None => HunkState::Touched,
            };
            let between =
                (gaps.get(at).map_or(&[][..], Vec::as_slice), gaps.get(at + 1).map_or(&[][..], Vec::as_slice));
            let exact = clean.is_some() || is_between(&text, &lines, between, (at == 0, at + 1 == ranges.len()));
            (state, byte(lines.start)..byte(lines.end), exact)
        })
        .collect()
}

/// The lines that the change knows above and below a spot stand there, and nowhere else: what is between them is what
/// stands at it. A file's head and its end count as such lines.
fn is_between(
    text: &[&str],
    spot: &Range<usize>,
    (above, below): (&[&str], &[&str]),
    (first, last): (bool, bool),
) -> bool {
    let alone = |lines: &[&str], at: Option<usize>| {
        let Some(at) = at.filter(|_| tells(&lines.concat())) else { return false };
        let mut places = text.windows(lines.len().max(1)).enumerate().filter(|(_, window)| *window == lines);
        places.next().is_some_and(|(place, _)| place == at) && places.next().is_none()
    };
    // A line at its edge that stands inside once more may be the edge.
    let inside = text.get(spot.clone()).unwrap_or(&[]);
    if [above.last(), below.first()].into_iter().flatten().any(|edge| inside.contains(edge)) {
        return false;
    }
    let head = above.get(above.len().saturating_sub(BESIDE)..).unwrap_or(above);
    let tail = below.get(..BESIDE.min(below.len())).unwrap_or(below);
    let from_head =
        first && above.len() <= BESIDE && spot.start == above.len() && text.get(..spot.start) == Some(above);
    let to_end =
        last && below.len() <= BESIDE && spot.end + below.len() == text.len() && text.get(spot.end..) == Some(below);
    (from_head || alone(head, spot.start.checked_sub(head.len()))) && (to_end || alone(tail, Some(spot.end)))
}
