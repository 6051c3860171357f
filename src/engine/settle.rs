//! Hunks at whose place something else stands: which one is meant, and the text that gives way (E3).
//!
//! Invariant: what gives way is exactly what was shown, from its first byte to its last; where that is not known, or is
//! something else by now, nothing is done. It is kept, so that taking the decision back brings it back. Absent: the
//! writing (`carry`).

use super::actions::broken;
use super::review::Writes;
use super::sight::{self, Seen};
use super::world::World;
use crate::desk::ReviewHunk;
use crate::domain::change::{Conflict, Decision, Entry, FileChange, Hunk, HunkStanding, HunkState, settle};
use crate::domain::ids::*;
use crate::domain::task::action::{Refusal, RefusalKind, Side};
use crate::domain::task::decide::refuse;
use crate::domain::text::counted;
use crate::ports::StoreFault;
use std::collections::BTreeMap;
use std::ops::Range;

/// Hunks that a refusal names.
const NAMED: usize = 4;

/// The hunk that is to be settled, if it can be.
///
/// # Errors
/// It is not there, fits as it is, cannot be settled so, or is not as it was shown.
pub(super) fn touched<'a>(
    hunks: &'a [ReviewHunk],
    named: Option<&HunkId>,
    side: Side,
    shown: Option<&ContentHash>,
    id: &TaskId,
) -> Result<&'a ReviewHunk, Refusal> {
    let review = || format!("planwright review {id} --all");
    let hunk = match named {
        Some(named) => hunks.iter().find(|hunk| hunk.id == *named).ok_or_else(|| {
            refuse(RefusalKind::NotFound, format!("there is no hunk `{named}` in this task"), review())
        })?,
        None => {
            let waits = |hunk: &&ReviewHunk| hunk.state == HunkState::Touched && hunk.pending;
            let all: Vec<&ReviewHunk> = hunks.iter().filter(waits).collect();
            match all.as_slice() {
                [only] => *only,
                [] => {
                    let message = "no hunk waits to be settled: each fits, or is decided";
                    return Err(refuse(RefusalKind::WrongState, message, review()));
                }
                several => {
                    let names = several.iter().take(NAMED).map(|hunk| format!("{} ({})", hunk.id, hunk.path));
                    let names = names.collect::<Vec<_>>().join(", ");
                    let more = if several.len() > NAMED { ", …" } else { "" };
                    let message = format!("{} could be meant: {names}{more}", counted(several.len(), "hunk"));
                    let next = format!("planwright resolve {id} HUNK mine|theirs");
                    return Err(refuse(RefusalKind::SeveralCandidates, message, next));
                }
            }
        }
    };
    let name = &hunk.id;
    let decided = hunk.decision.as_ref().map(|(decision, _)| decision);
    match (hunk.state, side, decided) {
        (HunkState::Touched, ..) => {}
        // Asked again for what is done.
        (HunkState::Accepted, Side::Theirs, Some(Decision::Accept)) => return Ok(hunk),
        (HunkState::Open | HunkState::Accepted, ..) => {
            let message = format!("{name} fits: nothing else stands at its place in {}", hunk.path);
            let next = format!("planwright accept {id} {name}, or planwright reject {id} {name}");
            return Err(refuse(RefusalKind::WrongState, message, next));
        }
    }
    if shown.is_some_and(|shown| *shown != hunk.shown) {
        let message = format!("what stands at the place of {name} in {} is no longer what was shown", hunk.path);
        return Err(refuse(RefusalKind::WrongState, message, format!("planwright why {id} {name}, then decide again")));
    }
    if side == Side::Theirs && !hunk.exact {
        return Err(unplaced(id, &Conflict::Unplaced { path: hunk.path.clone(), hunk: name.clone() }, name));
    }
    Ok(hunk)
}

fn unplaced(id: &TaskId, why: &Conflict, name: &HunkId) -> Refusal {
    let next = format!("edit that place as you want it, then planwright resolve {id} {name} mine");
    refuse(RefusalKind::WrongState, why.to_string(), next)
}

fn moved(path: &WorkspacePath) -> Refusal {
    refuse(RefusalKind::WrongState, format!("the text of {path} changed in this moment"), "decide again")
}

/// Why a hunk that was listed is not settled, by what stands there now.
pub(super) fn misfit(id: &TaskId, listed: &ReviewHunk, standing: &HunkStanding, state: HunkState) -> Option<Refusal> {
    if !standing.exact {
        let why = Conflict::Unplaced { path: listed.path.clone(), hunk: listed.id.clone() };
        return Some(unplaced(id, &why, &listed.id));
    }
    let as_shown = standing.state == state && standing.touching == listed.touching;
    (!as_shown).then(|| moved(&listed.path))
}

/// One text for another in files.
#[derive(Default)]
pub(super) struct Swaps(BTreeMap<(WorkspacePath, StepId), InFile>);

struct InFile {
    change: FileChange,
    current: Entry,
    puts: Vec<(Hunk, Range<usize>, String)>,
}

impl Swaps {
    /// The hunk's new text in the place of what stands there; gives what gives way.
    pub(super) async fn theirs(
        &mut self,
        world: (&World, &TaskId),
        step: &StepId,
        change: &FileChange,
        hunk: &ReviewHunk,
    ) -> Result<String, Refusal> {
        self.add(world, step, change, hunk, HunkState::Touched, hunk.new.clone()).await?;
        Ok(hunk.touching.clone().unwrap_or_default())
    }

    /// What gave way, in the place of the hunk's new text.
    pub(super) async fn back(
        &mut self,
        world: (&World, &TaskId),
        step: &StepId,
        change: &FileChange,
        hunk: &ReviewHunk,
        stood: &ContentHash,
    ) -> Result<(), Refusal> {
        let bytes = world.0.store.blob(stood).await.map_err(broken)?;
        let text = String::from_utf8(bytes).map_err(|fault| broken(StoreFault::Broken(fault.to_string())))?;
        self.add(world, step, change, hunk, HunkState::Accepted, text).await
    }

    async fn add(
        &mut self,
        (world, id): (&World, &TaskId),
        step: &StepId,
        change: &FileChange,
        listed: &ReviewHunk,
        state: HunkState,
        text: String,
    ) -> Result<(), Refusal> {
        let moved = || moved(&listed.path);
        let sight = sight::see(world, change).await.map_err(|_| moved())?;
        let is_it = |seen: &&Seen| seen.standing.id == listed.id;
        let standing = sight.hunks.iter().find(is_it).map(|seen| seen.standing.clone()).ok_or_else(moved)?;
        if let Some(refusal) = misfit(id, listed, &standing, state) {
            return Err(refusal);
        }
        let hunk = change.hunk(&listed.id).ok_or_else(moved)?.clone();
        let file = self.0.entry((listed.path.clone(), step.clone()));
        let file = file.or_insert_with(|| InFile { change: change.clone(), current: sight.current, puts: Vec::new() });
        file.puts.push((hunk, standing.range, text));
        Ok(())
    }

    /// What is to be written.
    ///
    /// # Errors
    /// A text would run together with what stands around it.
    pub(super) fn writes(self, id: &TaskId) -> Result<Writes, Refusal> {
        let mut writes = Writes::new();
        for ((path, step), InFile { change, current, puts }) in self.0 {
            let named: Vec<(&Hunk, Range<usize>, String)> =
                puts.iter().map(|(hunk, range, text)| (hunk, range.clone(), text.clone())).collect();
            let swap = settle::swap(&change, &current, &named);
            let swap = swap.map_err(|why| match puts.first() {
                Some((hunk, ..)) => unplaced(id, &why, &hunk.id),
                None => refuse(RefusalKind::WrongState, why.to_string(), "decide again"),
            })?;
            let put = swap.hunks.iter().map(|hunk| hunk.id.clone()).collect();
            writes.insert((path, step, true), (swap, put, Vec::new()));
        }
        Ok(writes)
    }
}
