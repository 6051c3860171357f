//! What a task waits for, where it waits for a person: in a few words, after "waits for".
//!
//! Invariant: none where it waits for nobody; one phrase for all front ends. Absent: what can be done about it (`status`).

use super::review::counts;
use super::{Dossier, show, status, told};
use crate::domain::problem::Severity;
use crate::domain::task::standing::TaskState;
use crate::domain::text::counted;

/// What this task waits for a person to do.
pub fn waits_for(dossier: &Dossier) -> Option<String> {
    match &dossier.state {
        TaskState::Planning | TaskState::Running | TaskState::Verifying if !dossier.carried => {
            Some("`resume`: the process that was at it ended".to_owned())
        }
        TaskState::AwaitingApproval => Some(approval(dossier)),
        TaskState::Paused => Some("`resume`: it was paused".to_owned()),
        TaskState::Blocked { why, .. } => {
            Some(match (dossier.task.open_gates().next(), told::failed(&dossier.task).next()) {
                (Some(gate), _) => format!("an answer at gate {}: {why}", gate.id),
                (None, Some(work)) => format!("a decision: {work} failed"),
                (None, None) => format!("you: {why}"),
            })
        }
        TaskState::AwaitingReview => {
            let counts = counts(dossier);
            match (counts.pending, counts.unsaved) {
                (0, _) => None,
                (pending, unsaved) if pending == unsaved => {
                    Some(format!("files to be saved: {} accepted, not saved", counted(unsaved, "hunk")))
                }
                (pending, unsaved) => {
                    Some(format!("a decision on {}", counted(pending.saturating_sub(unsaved), "hunk")))
                }
            }
        }
        TaskState::Planning
        | TaskState::Running
        | TaskState::Verifying
        | TaskState::Delayed { .. }
        | TaskState::Done { .. }
        | TaskState::Failed { .. }
        | TaskState::Abandoned => None,
    }
}

fn approval(dossier: &Dossier) -> String {
    let Some(page) = &dossier.page else { return "a plan".to_owned() };
    if status::connect(dossier).is_some() {
        return "a model, or steps by hand".to_owned();
    }
    let errors = page.problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    if errors > 0 {
        return format!("its plan to be mended: {}", counted(errors, "error"));
    }
    match show::questions(dossier.task.id.as_str(), &page.text).len() {
        0 => format!("approval of {}", page.revision),
        open => format!("an answer to {}", counted(open, "question")),
    }
}
