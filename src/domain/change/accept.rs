//! Making and taking back hunks in the text of the moment.
//!
//! Invariant: the new entry differs from the current one only at the spots of the hunks named; a hunk that is
//! touched stops the whole act, so that a decision is done as a whole or not at all. A hunk that already stands as
//! wanted is left as it is, so that repeating an act is free.
//! Absent: writing (the workspace's) and recording (the journal's).

use super::model::{Entry, FileChange, Hunk, HunkKind, HunkState};
use super::spot::{HunkStanding, derive};
use crate::domain::ids::{HunkId, WorkspacePath};
use crate::domain::problem::Replacement;
use crate::domain::text;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Why an act on hunks cannot be carried out. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// Neither the old nor the new text stands there.
    #[error("{path}: the text where {hunk} belongs has changed; look at both sides and decide again")]
    Touched {
        /// Which file.
        path: WorkspacePath,
        /// Which hunk.
        hunk: HunkId,
        /// What stands there.
        found: String,
    },
    /// The file's last line has no ending and the hunk would run together with it.
    #[error("{path}: {hunk} would run into a line without an ending; end that line and decide again")]
    RunTogether {
        /// Which file.
        path: WorkspacePath,
        /// Which hunk.
        hunk: HunkId,
    },
    /// Something else stands there, and nobody can say from where to where.
    #[error("it is not known exactly where {hunk} belongs in {path} now, and nothing is guessed")]
    Unplaced {
        /// Which file.
        path: WorkspacePath,
        /// Which hunk.
        hunk: HunkId,
    },
    /// The change has no such hunk.
    #[error("{path} has no hunk {hunk}; a newer proposal may have replaced it")]
    Unknown {
        /// Which file.
        path: WorkspacePath,
        /// The id given.
        hunk: HunkId,
    },
}

/// The entry with these open hunks made.
pub fn plan_write(change: &FileChange, current: &Entry, accept: &[HunkId]) -> Result<Entry, Conflict> {
    plan(change, current, accept, HunkState::Open)
}

/// The entry with these accepted hunks taken back.
pub fn plan_undo(change: &FileChange, current: &Entry, undo: &[HunkId]) -> Result<Entry, Conflict> {
    plan(change, current, undo, HunkState::Accepted)
}

/// The entry with these hunks made and those taken back, by where they are known to stand in it.
pub fn plan_at_spots(
    change: &FileChange,
    current: &Entry,
    standings: &[HunkStanding],
    put: &[HunkId],
    take: &[HunkId],
) -> Result<Entry, Conflict> {
    match (put.is_empty(), take.is_empty()) {
        (_, true) => plan_at(change, current, standings.to_vec(), put, HunkState::Open),
        (true, false) => plan_at(change, current, standings.to_vec(), take, HunkState::Accepted),
        // Spots move with the first edit; the text alone says where the others are then.
        (false, false) => plan_undo(change, &plan_at(change, current, standings.to_vec(), put, HunkState::Open)?, take),
    }
}

/// Puts the other side at each named hunk that is in the state `from`.
fn plan(change: &FileChange, current: &Entry, ids: &[HunkId], from: HunkState) -> Result<Entry, Conflict> {
    plan_at(change, current, derive(change, current), ids, from)
}

fn plan_at(
    change: &FileChange,
    current: &Entry,
    standings: Vec<HunkStanding>,
    ids: &[HunkId],
    from: HunkState,
) -> Result<Entry, Conflict> {
    let path = || change.path.clone();
    if let Some(id) = ids.iter().find(|id| change.hunk(id).is_none()) {
        return Err(Conflict::Unknown { path: path(), hunk: id.clone() });
    }
    let mut edits = Vec::new();
    let mut mode = None;
    for (hunk, HunkStanding { id, state, range, touching, .. }) in change.hunks.iter().zip(standings) {
        if !ids.contains(&id) {
            continue;
        }
        if state == HunkState::Touched {
            return Err(Conflict::Touched { path: path(), hunk: id, found: touching.unwrap_or_default() });
        }
        if state != from {
            continue;
        }
        let accepting = from == HunkState::Open;
        let goal = if accepting { &change.after } else { &change.before };
        match hunk.kind {
            HunkKind::Create | HunkKind::Delete => return Ok(goal.clone()),
            HunkKind::Mode => {
                if let Entry::File { mode: wanted, .. } = goal {
                    mode = Some(*wanted);
                }
            }
            HunkKind::Lines { .. } => {
                edits.push(lines_edit(change, hunk, current.text(), range, accepting)?);
            }
        }
    }
    let Entry::File { text, mode: standing } = current else { return Ok(current.clone()) };
    let text = match text::apply(text, &edits) {
        Ok(_) if edits.is_empty() => text.clone(),
        Ok(made) => made.into(),
        Err(_) => {
            // two hunks found at one place: the file is not what either was made for
            let hunk = ids.first().cloned().unwrap_or_else(|| HunkId::new(""));
            return Err(Conflict::Touched { path: path(), hunk, found: String::new() });
        }
    };
    Ok(Entry::File { text, mode: mode.unwrap_or(*standing) })
}

/// The other side's lines at a hunk's place, if they would not run together with what stands around them.
fn lines_edit(
    change: &FileChange,
    hunk: &Hunk,
    here: &str,
    range: Range<usize>,
    accepting: bool,
) -> Result<Replacement, Conflict> {
    let put = if accepting { change.new_text(hunk) } else { change.old_text(hunk) };
    let above_ends = here.get(..range.start).is_none_or(|above| above.is_empty() || above.ends_with('\n'));
    let put_ends = put.is_empty() || put.ends_with('\n') || range.end == here.len();
    if !put_ends || !(above_ends || put.is_empty()) {
        return Err(Conflict::RunTogether { path: change.path.clone(), hunk: hunk.id.clone() });
    }
    Ok(Replacement { range, text: put.to_owned() })
}

/// The edits of an open document that put hunks in and take others out, by where they stand in it: in the order of the
/// text, all meant on it. A removed file and a mode are no matter of a document and give no edit.
pub fn edits_at(
    change: &FileChange,
    text: &str,
    standings: &[HunkStanding],
    put: &[HunkId],
    take: &[HunkId],
) -> Result<Vec<Replacement>, Conflict> {
    if let Some(id) = put.iter().chain(take).find(|id| change.hunk(id).is_none()) {
        return Err(Conflict::Unknown { path: change.path.clone(), hunk: id.clone() });
    }
    let mut edits = Vec::new();
    for (hunk, HunkStanding { id, state, range, touching, .. }) in change.hunks.iter().zip(standings) {
        let from = match (put.contains(id), take.contains(id)) {
            (true, _) => HunkState::Open,
            (false, true) => HunkState::Accepted,
            (false, false) => continue,
        };
        if *state == HunkState::Touched {
            let found = touching.clone().unwrap_or_default();
            return Err(Conflict::Touched { path: change.path.clone(), hunk: id.clone(), found });
        }
        if *state != from {
            continue;
        }
        let accepting = from == HunkState::Open;
        match hunk.kind {
            HunkKind::Lines { .. } => edits.push(lines_edit(change, hunk, text, range.clone(), accepting)?),
            HunkKind::Create => {
                let goal = if accepting { change.after.text() } else { change.before.text() };
                edits.push(Replacement { range: 0..text.len(), text: goal.to_owned() });
            }
            HunkKind::Delete | HunkKind::Mode => {}
        }
    }
    Ok(edits)
}
