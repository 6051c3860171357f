//! The change set laid over the user's files as they are at this moment.
//!
//! Invariant: only hunks that are open and not rejected are laid over; what the user has at every other place stays,
//! and what should have been laid over and could not be is named. Each file is read once, so that what is laid and
//! what the user has belong together. Absent: writing.

use super::case::Merged;
use super::world::World;
use crate::domain::change::{Entry, HunkState, accept, spot};
use crate::domain::ids::*;
use crate::ports::ReadRefusal;
use std::collections::BTreeMap;

/// Entries that differ from what stands on disk, by path.
pub type Overlay = BTreeMap<WorkspacePath, Entry>;

/// What came of laying a change set over the files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Laid {
    /// What differs from the user's files.
    pub over: Overlay,
    /// What the user has at each path of the change set, as it was read for `over`.
    pub user: BTreeMap<WorkspacePath, Entry>,
    /// Hunks with their authors that nobody rejected, and that the text has no place for any more.
    pub left_out: Vec<(HunkId, StepId)>,
}

impl Laid {
    /// What the view has at a path of the change set.
    pub fn at(&self, path: &WorkspacePath) -> Option<&Entry> {
        self.over.get(path).or_else(|| self.user.get(path))
    }

    /// Why nothing can be said of this step's work by this view, or of the whole change set's without a step.
    pub fn unfit(&self, step: Option<&StepId>) -> Option<String> {
        let own = |(_, author): &&(HunkId, StepId)| step.is_none_or(|step| author == step);
        let left: Vec<&str> = self.left_out.iter().filter(own).map(|(hunk, _)| hunk.as_str()).collect();
        match left.as_slice() {
            [] => None,
            [hunk] => Some(format!("{hunk} no longer fits the text; settle it first")),
            [hunk, more @ ..] => {
                Some(format!("{hunk} and {} more no longer fit the text; settle them first", more.len()))
            }
        }
    }
}

/// Lays the change set over the files.
///
/// # Errors
/// A file of the change set can no longer be read.
pub async fn overlay(world: &World, merged: &Merged) -> Result<Laid, ReadRefusal> {
    let mut all = Laid::default();
    for (path, change) in merged.changes() {
        let current = world.workspace.read(&path).await?;
        let (mut wanted, mut left_out) = (Vec::new(), Vec::new());
        for standing in spot::derive(&change, &current) {
            match standing.state {
                HunkState::Open | HunkState::Touched if merged.rejected.contains(&standing.id) => {}
                HunkState::Open => wanted.push(standing.id),
                HunkState::Touched => left_out.push(standing.id),
                HunkState::Accepted => {}
            }
        }
        // Hunks that are open can be written; a conflict here means that two of them overlap in the text of the
        // moment, and then the user's text stands.
        let laid = accept::plan_write(&change, &current, &wanted).unwrap_or_else(|_| {
            left_out.append(&mut wanted);
            current.clone()
        });
        let authors = change.hunks.iter().filter(|hunk| left_out.contains(&hunk.id));
        all.left_out.extend(authors.map(|hunk| (hunk.id.clone(), hunk.author.clone())));
        if laid != current {
            all.over.insert(path.clone(), laid);
        }
        all.user.insert(path, current);
    }
    Ok(all)
}
