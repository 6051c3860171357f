//! Edits of a text: apply, invert, and carry places through them.
//!
//! Invariant: `apply(apply(t, e), invert(t, e)) == t`, and bytes outside the ranges are identical. Absent: merging of
//! edits that overlap; they are refused, since nobody can say what was meant.

use crate::domain::problem::Replacement;
use std::ops::Range;

/// Why a list of edits cannot be applied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EditProblem {
    /// It starts before the former ends.
    #[error("the edit of bytes {}..{} overlaps the one before it or stands out of order", .0.start, .0.end)]
    Overlap(Range<usize>),
    /// Its range is backwards or leaves the text.
    #[error("the edit of bytes {}..{} lies outside the text", .0.start, .0.end)]
    OutOfRange(Range<usize>),
    /// Its range cuts a character in two.
    #[error("the edit of bytes {}..{} cuts a character in two", .0.start, .0.end)]
    InsideCharacter(Range<usize>),
}

/// The text with the edits made. They are in document order; two insertions at one place are made in list order.
pub fn apply(text: &str, edits: &[Replacement]) -> Result<String, EditProblem> {
    let added = edits.iter().map(|edit| edit.text.len()).sum::<usize>();
    let mut out = String::with_capacity(text.len().saturating_add(added));
    let mut at = 0;
    for edit in edits {
        let range = edit.range.clone();
        if range.start < at {
            return Err(EditProblem::Overlap(range));
        }
        if range.start > range.end || range.end > text.len() {
            return Err(EditProblem::OutOfRange(range));
        }
        match text.get(at..range.start) {
            Some(between) if text.is_char_boundary(range.end) => out.push_str(between),
            _ => return Err(EditProblem::InsideCharacter(range)),
        }
        out.push_str(&edit.text);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    Ok(out)
}

/// The edits that lead back from `apply(text, edits)` to `text`.
pub fn invert(text: &str, edits: &[Replacement]) -> Vec<Replacement> {
    let mut grown: usize = 0;
    let mut shrunk: usize = 0;
    edits
        .iter()
        .map(|edit| {
            let start = (edit.range.start + grown).saturating_sub(shrunk);
            grown += edit.text.len();
            shrunk += edit.range.len();
            Replacement {
                range: start..start + edit.text.len(),
                text: text.get(edit.range.clone()).unwrap_or("").to_owned(),
            }
        })
        .collect()
}

/// Where a place between two bytes is after the edits. Text put in exactly there, or replacing what lies around it,
/// ends up before the place if `after`, else behind it.
pub fn map_offset(offset: usize, edits: &[Replacement], after: bool) -> usize {
    map(offset, edits, after, after)
}

/// Where a range is after the edits: text put in exactly at its edges stays outside, what reaches into it becomes
/// part of it. An empty range stays before text put in at its place.
pub fn map_range(range: &Range<usize>, edits: &[Replacement]) -> Range<usize> {
    let start = map(range.start, edits, !range.is_empty(), false);
    start..map(range.end, edits, false, true).max(start)
}

/// `push`: an insertion at the place moves it on; `reach`: a replacement around the place moves it to its end.
fn map(offset: usize, edits: &[Replacement], push: bool, reach: bool) -> usize {
    let mut grown: usize = 0;
    let mut shrunk: usize = 0;
    for edit in edits {
        let Range { start, end } = edit.range;
        if start > offset || (start == offset && !(push && start == end)) {
            break;
        }
        if end > offset {
            let base = (start + grown).saturating_sub(shrunk);
            return if reach { base + edit.text.len() } else { base };
        }
        grown += edit.text.len();
        shrunk += end.saturating_sub(start);
    }
    (offset + grown).saturating_sub(shrunk)
}
