//! How much changes: what budgets, `enforce` and status lines count.
//!
//! Invariant: a line counts as added or removed if the diff says so; lines that hunks carry along between two changes
//! do not. Absent: words and bytes.

use super::hunks::changes;
use super::model::{Entry, FileChange};
use crate::domain::text::{counted, lines};
use std::fmt;
use std::ops::AddAssign;

/// Counts over some changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Paths whose entry differs.
    pub files: usize,
    /// Lines that come.
    pub added: usize,
    /// Lines that go.
    pub removed: usize,
}

impl Stats {
    /// Of one path.
    pub fn of(before: &Entry, after: &Entry) -> Self {
        if before == after {
            return Self::default();
        }
        let changed = changes(&lines(before.text()), &lines(after.text()));
        Self {
            files: 1,
            added: changed.iter().map(|run| run.new.len()).sum(),
            removed: changed.iter().map(|run| run.old.len()).sum(),
        }
    }

    /// Of several.
    pub fn of_all<'a>(changes: impl IntoIterator<Item = &'a FileChange>) -> Self {
        let mut sum = Self::default();
        for change in changes {
            sum += Self::of(&change.before, &change.after);
        }
        sum
    }

    /// Added and removed together: what `lines at most N` bounds.
    pub fn lines(&self) -> usize {
        self.added + self.removed
    }
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.added += other.added;
        self.removed += other.removed;
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, +{} -{}", counted(self.files, "file"), self.added, self.removed)
    }
}
