//! The removal of the comment that asked for a task stays a hunk of its own.
//!
//! Invariant: it is never joined with another hunk, whatever stands between them, and the hunks still make the same text,
//! decided in any order. Only where a step changes the very line that the comment ended are the two one, as a line is.
//! Absent: proposing it.

use super::hunks::{Changed, GOAL, changes, joined};
use super::model::{FileChange, HunkKind};
use crate::domain::text::lines;
use std::ops::Range;

/// The comment in a file.
pub(super) struct Aside {
    /// Its lines in the text before.
    old: Range<usize>,
    /// What is left of them: nothing, or the code that it stood behind.
    left: Vec<String>,
}

impl Aside {
    /// The comment whose removal `earlier` has, in the user's text of now.
    pub(super) fn find(earlier: &FileChange, before: &str) -> Option<Self> {
        let hunk = earlier.hunks.iter().find(|hunk| hunk.author.as_str() == GOAL)?;
        let HunkKind::Lines { old_line, .. } = hunk.kind else { return None };
        let (was, now) = (lines(earlier.before.text()), lines(before));
        let count = lines(earlier.old_text(hunk)).len();
        let first = usize::try_from(old_line).ok()?;
        let mut start = first;
        for run in changes(&was, &now) {
            if run.old.end <= first {
                start = (start + run.new.len()).saturating_sub(run.old.len());
            } else if run.old.start < first + count {
                return None;
            }
        }
        let old = start..start + count;
        let stands = now.get(old.clone()).is_some_and(|lines| lines.concat() == earlier.old_text(hunk));
        let left = lines(earlier.new_text(hunk)).into_iter().map(str::to_owned).collect();
        stands.then_some(Self { old, left })
    }

    /// The runs that differ, with this one apart from all others. `None` where it is no longer removed, or its line is
    /// changed besides.
    pub(super) fn runs(&self, before: &[&str], after: &[&str]) -> Option<Vec<Changed>> {
        let (at, kept) = (self.old.start, self.left.len());
        let comment = before.get(self.old.clone())?;
        let mut base: Vec<&str> = before.get(..at)?.to_vec();
        base.extend(self.left.iter().map(String::as_str));
        base.extend(before.get(self.old.end..)?);
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for run in changes(&base, after) {
            let touches = run.old.start <= at + kept && at <= run.old.end;
            let put = after.get(run.new.clone())?;
            if touches && put.windows(comment.len().max(1)).any(|window| window == comment) {
                return None;
            }
            if run.old.start < at + kept && at < run.old.end {
                if kept > 0 {
                    return None;
                }
                let cut = run.new.start + (at - run.old.start).min(run.new.len());
                above.push(Changed { old: run.old.start..at, new: run.new.start..cut });
                below.push(Changed { old: at..run.old.end, new: cut..run.new.end });
            } else if run.old.end <= at && (kept > 0 || run.old.start < at) {
                above.push(run);
            } else {
                below.push(run);
            }
        }
        let moved = |line: usize| {
            let grown: usize = above.iter().map(|run| run.new.len()).sum();
            let gone: usize = above.iter().map(|run| run.old.len()).sum();
            (line + grown).saturating_sub(gone)
        };
        let new = moved(at)..moved(at) + kept;
        // From lines of the text without the comment to lines of the text with it.
        let shift = |line: usize| (line + self.old.len()).saturating_sub(kept);
        let below =
            below.into_iter().map(|run| Changed { old: shift(run.old.start)..shift(run.old.end), new: run.new });
        let mut runs = joined(above);
        runs.push(Changed { old: self.old.clone(), new });
        runs.extend(joined(below.collect()));
        Some(runs)
    }
}
