//! Which hunk a decision is about that names none.
//!
//! Invariant: a pure function of the desk and the texts; a candidate is named with what is shown of it, so that nothing
//! else is decided. Absent: the decision; with several candidates there is none.

use super::errand::Decide;
use crate::desk::Desk;
use crate::domain::change::{Decision, HunkState, settle};
use crate::domain::ids::*;
use crate::domain::task::action::{Place, Refusal, RefusalKind};
use crate::domain::task::decide::refuse;
use crate::domain::text::{Encoding, counted};
use crate::lsp::views::Texts;
use crate::lsp::views::hunks::{Placed, placed};
use std::collections::BTreeSet;

/// Candidates that a refusal lists.
const LISTED: usize = 4;

/// A hunk that a decision could be about.
pub struct Candidate {
    /// Whose.
    pub task: TaskId,
    /// Which.
    pub hunk: HunkId,
    /// What stands at its place, and what it puts there.
    pub shown: ContentHash,
    at: String,
}

/// Every hunk that could be decided so: of this task, at this place.
pub fn candidates(
    desk: &Desk,
    texts: &dyn Texts,
    encoding: Encoding,
    decision: &Decide,
    task: Option<&TaskId>,
    place: Option<&Place>,
) -> Vec<Candidate> {
    let paths: BTreeSet<&WorkspacePath> = match place {
        Some(place) => BTreeSet::from([&place.path]),
        None => desk.tasks.iter().flat_map(|dossier| dossier.hunks.iter().map(|hunk| &hunk.path)).collect(),
    };
    let lines = place.and_then(|place| place.lines);
    let meant = |placed: &Placed<'_>| {
        let decidable = match decision {
            Decide::Accept | Decide::Reject(_) | Decide::RejectFor => placed.is_undecided(),
            Decide::Resolve(_) => placed.is_undecided() && placed.state == HunkState::Touched,
            Decide::Why => placed.is_pending() || (place.is_some() && placed.hunk.decision.is_some()),
            Decide::Undo => match (&placed.hunk.decision, placed.state) {
                (Some((Decision::Accept, _)), HunkState::Accepted) => true,
                (Some((Decision::Reject(_), _)), _) => true,
                (Some((Decision::Accept | Decision::Undo, _)) | None, _) => false,
            },
        };
        decidable
            && task.is_none_or(|task| *task == placed.dossier.task.id)
            && lines.is_none_or(|(first, last)| placed.meets(first.saturating_sub(1), last.saturating_sub(1)))
    };
    let here = paths.into_iter().flat_map(|path| placed(desk, path, texts, encoding));
    let candidate = |placed: Placed<'_>| Candidate {
        task: placed.dossier.task.id.clone(),
        hunk: placed.hunk.id.clone(),
        shown: settle::shown(placed.touching.as_deref().unwrap_or(&placed.hunk.old), &placed.hunk.new),
        at: format!("{}:{}", placed.hunk.path, placed.range.start.line.saturating_add(1)),
    };
    here.filter(|placed| meant(placed)).map(candidate).collect()
}

/// Why nothing is decided.
pub fn none_or_several(candidates: &[Candidate], decision: &Decide) -> Refusal {
    let word = match decision {
        Decide::Accept => "accept",
        Decide::Reject(_) | Decide::RejectFor => "reject",
        Decide::Resolve(_) => "resolve",
        Decide::Why => "explain",
        Decide::Undo => "undo",
    };
    if candidates.is_empty() {
        return refuse(RefusalKind::NotFound, format!("there is no hunk to {word} here"), "planwright.nextHunk");
    }
    let listed = candidates.iter().take(LISTED).map(|one| format!("{} ({})", one.hunk, one.at));
    let more = if candidates.len() > LISTED { ", …" } else { "" };
    let list = listed.collect::<Vec<_>>().join(", ");
    refuse(
        RefusalKind::SeveralCandidates,
        format!("{} could be meant: {list}{more}", counted(candidates.len(), "hunk")),
        format!("planwright.{} HUNK, or at one of them", if word == "explain" { "why" } else { word }),
    )
}
