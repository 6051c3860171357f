//! The hunks that a person decides on.
//!
//! Invariant: a rejected hunk is not listed until asked for, and is always counted. Absent: deciding.

use super::view::{Choice, HunkCounts, ReviewView, WhyView};
use super::{Dossier, ReviewHunk, timeline};
use crate::domain::change::{Decision, HunkState};
use crate::domain::ids::HunkId;
use crate::domain::task::action::{Refusal, RefusalKind};
use crate::domain::task::decide::refuse;

/// The list, and how all of them stand.
pub fn view(dossier: &Dossier, all: bool) -> ReviewView {
    let listed: Vec<ReviewHunk> = dossier.hunks.iter().filter(|hunk| all || !is_set_aside(hunk)).cloned().collect();
    ReviewView {
        task: dossier.task.id.clone(),
        words: super::status::words_of(dossier),
        hidden: dossier.hunks.len() - listed.len(),
        hunks: listed,
        counts: counts(dossier),
    }
}

/// How the hunks stand.
pub fn counts(dossier: &Dossier) -> HunkCounts {
    let mut counts = HunkCounts::default();
    for hunk in dossier.hunks.iter() {
        match hunk.state {
            HunkState::Accepted if hunk.on_disk => counts.accepted += 1,
            HunkState::Accepted => counts.unsaved += 1,
            HunkState::Touched => counts.touched += 1,
            HunkState::Open if is_set_aside(hunk) && hunk.on_disk => counts.rejected += 1,
            HunkState::Open if is_set_aside(hunk) => counts.unsaved += 1,
            HunkState::Open => {}
        }
        if hunk.pending {
            counts.pending += 1;
        }
    }
    counts
}

impl HunkCounts {
    /// In one line.
    pub fn words(&self) -> String {
        let of_pending = [(self.touched, "touched"), (self.unsaved, "accepted, not saved")];
        let of_pending: Vec<String> =
            of_pending.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let of_pending = if of_pending.is_empty() { String::new() } else { format!(" ({})", of_pending.join("; ")) };
        format!("{} pending{of_pending}, {} accepted, {} rejected", self.pending, self.accepted, self.rejected)
    }
}

/// The one word for where a hunk stands. `saved`: what stands there stands on disk too.
pub fn word(state: HunkState, decision: Option<&Decision>, saved: bool) -> &'static str {
    match (state, decision) {
        (HunkState::Open, Some(Decision::Reject(_))) => "rejected",
        (HunkState::Open, None | Some(Decision::Accept | Decision::Undo)) => "open",
        (HunkState::Accepted, _) if saved => "accepted",
        (HunkState::Accepted, _) => "accepted, not saved",
        (HunkState::Touched, _) => "touched",
    }
}

/// Rejected, and the old text stands there (invariant 6).
fn is_set_aside(hunk: &ReviewHunk) -> bool {
    hunk.state == HunkState::Open && matches!(hunk.decision, Some((Decision::Reject(_), _)))
}

impl ReviewHunk {
    /// Its state in words.
    pub fn words(&self) -> &'static str {
        word(self.state, self.decision.as_ref().map(|(decision, _)| decision), self.on_disk)
    }

    /// What can be done with it, as commands of a terminal.
    fn choices(&self, dossier: &Dossier) -> Vec<Choice> {
        let (task, hunk) = (&dossier.task.id, &self.id);
        if dossier.task.is_over() {
            return Vec::new();
        }
        let choice = |command: String, means: &str| Choice { command, means: means.to_owned() };
        let undo = || choice(format!("planwright undo {task} {hunk}"), "take the decision back");
        let reject = || choice(format!("planwright reject {task} {hunk} --reason \"…\""), "leave it out");
        match (self.words(), &self.decision) {
            ("open", _) => vec![choice(format!("planwright accept {task} {hunk}"), "put it into the file"), reject()],
            ("touched", Some((Decision::Reject(_), _))) => vec![undo()],
            ("touched", _) => {
                let mine = choice(format!("planwright resolve {task} {hunk} mine"), "keep what stands there");
                let theirs = "put the hunk in the place of exactly what stands there";
                let theirs = self.exact.then(|| choice(format!("planwright resolve {task} {hunk} theirs"), theirs));
                [mine].into_iter().chain(theirs).collect()
            }
            (_, Some((Decision::Accept | Decision::Reject(_), _))) => vec![undo()],
            (_, _) => Vec::new(),
        }
    }
}

/// One hunk and its story: the named one, else the only one that waits.
///
/// # Errors
/// There is none, or there are several.
pub fn why(dossier: &Dossier, named: Option<&HunkId>) -> Result<WhyView, Refusal> {
    let task = &dossier.task.id;
    let next = format!("planwright review {task} --all");
    let found = match named {
        Some(named) => {
            dossier.hunks.iter().find(|hunk| hunk.id == *named).ok_or_else(|| {
                refuse(RefusalKind::NotFound, format!("there is no hunk `{named}` in this task"), next)
            })?
        }
        None => {
            let pending: Vec<&ReviewHunk> = dossier.hunks.iter().filter(|hunk| hunk.pending).collect();
            match pending.as_slice() {
                [only] => *only,
                [] => return Err(refuse(RefusalKind::NotFound, "no hunk waits for a decision", next)),
                several => {
                    let lines: Vec<String> =
                        several.iter().map(|hunk| format!("  {}  {}:{}", hunk.id, hunk.path, hunk.line)).collect();
                    let message = format!("{} hunks wait for a decision:\n{}", several.len(), lines.join("\n"));
                    return Err(refuse(RefusalKind::SeveralCandidates, message, format!("planwright why {task} HUNK")));
                }
            }
        }
    };
    let plan = dossier.page.as_ref().map(|page| &page.plan);
    let step = plan.and_then(|plan| plan.steps.iter().find(|step| step.id == found.step));
    Ok(WhyView {
        task: task.clone(),
        hunk: found.clone(),
        reason: step.map(|step| step.title.clone()).unwrap_or_default(),
        decisions: timeline::decisions(dossier, &found.id),
        choices: found.choices(dossier),
    })
}
