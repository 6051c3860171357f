//! Settling a hunk where something else stands: the text at its spot gives way to another one.
//!
//! Invariant: nothing but the bytes at the spots that were named is replaced, and the change says exactly what stood
//! there; where the text has moved on, the change fits no more and nothing is done. Absent: whether a spot is known
//! exactly (`spot`, `spots`), and which side is wanted.

use super::accept::Conflict;
use super::model::{Entry, FileChange, Hunk, HunkKind};
use crate::domain::ids::ContentHash;
use crate::domain::problem::Replacement;
use crate::domain::text;
use std::ops::Range;

/// What was shown of a hunk: what stands, or would be replaced, and its new text.
pub fn shown(stands: &str, new: &str) -> ContentHash {
    ContentHash::of(format!("{stands}\0{new}"))
}

/// The change that puts these texts at these spots of `current`. Its hunks have the ids of those that they settle.
///
/// # Errors
/// The spots lie in each other, or a text would run together with what stands around it.
pub fn swap(
    change: &FileChange,
    current: &Entry,
    puts: &[(&Hunk, Range<usize>, String)],
) -> Result<FileChange, Conflict> {
    let mut puts: Vec<&(&Hunk, Range<usize>, String)> = puts.iter().collect();
    puts.sort_by_key(|(_, range, _)| (range.start, range.end));
    let unplaced = |hunk: &Hunk| Conflict::Unplaced { path: change.path.clone(), hunk: hunk.id.clone() };
    let first = puts.first().map(|put| put.0);
    let none = || match first {
        Some(hunk) => unplaced(hunk),
        None => Conflict::Unknown { path: change.path.clone(), hunk: crate::domain::ids::HunkId::new("") },
    };
    let Entry::File { text: here, mode } = current else { return Err(none()) };
    let mut edits = Vec::with_capacity(puts.len());
    let mut hunks = Vec::with_capacity(puts.len());
    let (mut behind, mut gone, mut grown) = (0, 0, 0);
    for (hunk, range, put) in puts {
        if range.start < behind || here.get(range.clone()).is_none() {
            return Err(unplaced(hunk));
        }
        let above_ends = here.get(..range.start).is_none_or(|above| above.is_empty() || above.ends_with('\n'));
        let put_ends = put.is_empty() || put.ends_with('\n') || range.end == here.len();
        if !put_ends || !(above_ends || put.is_empty()) {
            return Err(Conflict::RunTogether { path: change.path.clone(), hunk: hunk.id.clone() });
        }
        let start = (range.start + grown).saturating_sub(gone);
        hunks.push((*hunk, range.clone(), start..start + put.len()));
        edits.push(Replacement { range: range.clone(), text: put.clone() });
        (behind, gone, grown) = (range.end, gone + range.len(), grown + put.len());
    }
    let after = text::apply(here, &edits).map_err(|_| none())?;
    let line = |text: &str, at: usize| {
        let above = text.get(..at).map_or(0, |above| above.matches('\n').count());
        u32::try_from(above).unwrap_or(u32::MAX)
    };
    let hunks = hunks.into_iter().map(|(hunk, old, new)| {
        let (old_line, new_line) = (line(here, old.start), line(&after, new.start));
        Hunk { kind: HunkKind::Lines { old, new, old_line, new_line }, ..hunk.clone() }
    });
    let hunks = hunks.collect();
    let after = Entry::File { text: after.into(), mode: *mode };
    Ok(FileChange { path: change.path.clone(), before: current.clone(), after, hunks })
}
