//! Which file an errand is about: where what came of it is read if the client has no room for it.
//!
//! Invariant: a pure function of the errand and the desk; an errand about a task is about the task's page. Absent:
//! whether there is such a file; what is said of it is seen once it is opened.

use super::errand::Errand;
use crate::desk::Desk;
use crate::domain::ids::{HunkId, WorkspacePath};
use crate::domain::task::action::{Action, Place, Target, Which};
use crate::lsp::views::tasks::page_of;

/// The file; none where it is about none, or the task was not named.
pub fn about(errand: &Errand, desk: &Desk) -> Option<WorkspacePath> {
    match errand {
        Errand::Act(action) | Errand::Begin(action) => of_action(action, desk),
        Errand::Small { place, .. } => Some(place.path.clone()),
        Errand::Approve { task, .. } => of_task(task),
        Errand::Offered { task, .. } => page_of(task),
        Errand::Decide { place, task, .. } | Errand::Walk { place, task, .. } => {
            of_place(place.as_ref()).or_else(|| task.as_ref().and_then(page_of))
        }
        Errand::Words { place, .. } => of_place(place.as_ref()),
        Errand::Show(_) => None,
    }
}

fn of_place(place: Option<&Place>) -> Option<WorkspacePath> {
    place.map(|place| place.path.clone())
}

fn of_task(which: &Which) -> Option<WorkspacePath> {
    match which {
        Which::Task(task) => page_of(task),
        Which::TheOnlyOne => None,
    }
}

fn of_hunk(ids: &[HunkId], desk: &Desk) -> Option<WorkspacePath> {
    let mut all = desk.tasks.iter().flat_map(|dossier| dossier.hunks.iter());
    all.find(|hunk| ids.contains(&hunk.id)).map(|hunk| hunk.path.clone())
}

fn of_action(action: &Action, desk: &Desk) -> Option<WorkspacePath> {
    match action {
        Action::Plan { goal, .. } | Action::Small { goal, .. } | Action::AskQuestion { goal } => {
            of_place(goal.place.as_ref())
        }
        Action::Accept { task, target } | Action::Reject { task, target, .. } | Action::Undo { task, target } => {
            match target {
                Target::File(path) => Some(path.clone()),
                Target::Hunks(ids) => of_hunk(ids, desk),
                Target::Step(_) | Target::All => of_task(task),
            }
        }
        Action::Resolve { task, hunk, .. } => match hunk {
            Some(hunk) => of_hunk(std::slice::from_ref(hunk), desk),
            None => of_task(task),
        },
        Action::Approve { task, .. }
        | Action::Run { task }
        | Action::Resume { task }
        | Action::Pause { task }
        | Action::Cancel { task }
        | Action::Abandon { task }
        | Action::Retry { task, .. }
        | Action::Skip { task, .. }
        | Action::TakeOver { task, .. }
        | Action::MarkDone { task, .. }
        | Action::Say { task, .. }
        | Action::Revise { task, .. }
        | Action::Replan { task, .. }
        | Action::Gate { task, .. }
        | Action::Answer { task, .. }
        | Action::Offer { task, .. } => of_task(task),
    }
}
