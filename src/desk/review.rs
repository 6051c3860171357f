//! The hunks that a person decides on.
//!
//! Invariant: a rejected hunk is not listed until asked for, and is always counted. Absent: deciding.

use super::view::{HunkCounts, ReviewView};
use super::{Dossier, ReviewHunk};
use crate::domain::change::{Decision, HunkState};

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
