//! The change set laid over the user's files as they are at this moment.
//!
//! Invariant: only hunks that are open and not rejected are laid over; what the user has at every other place stays.
//! Absent: writing.

use super::case::Merged;
use super::world::World;
use crate::domain::change::{Entry, HunkState, accept, spot};
use crate::domain::ids::*;
use crate::ports::ReadRefusal;
use std::collections::BTreeMap;

/// Entries that differ from what stands on disk, by path.
pub type Overlay = BTreeMap<WorkspacePath, Entry>;

/// Lays the change set over the files.
///
/// # Errors
/// A file of the change set can no longer be read.
pub async fn overlay(world: &World, merged: &Merged) -> Result<Overlay, ReadRefusal> {
    let mut over = Overlay::new();
    for (path, change) in &merged.changes() {
        let current = world.workspace.read(path).await?;
        let wanted: Vec<HunkId> = spot::derive(change, &current)
            .into_iter()
            .filter(|standing| standing.state == HunkState::Open && !merged.rejected.contains(&standing.id))
            .map(|standing| standing.id)
            .collect();
        // Hunks that are open can be written; a conflict here means that two of them overlap in the text of the
        // moment, and then the user's text stands.
        let laid = accept::plan_write(change, &current, &wanted).unwrap_or_else(|_| current.clone());
        if laid != current {
            over.insert(path.clone(), laid);
        }
    }
    Ok(over)
}
