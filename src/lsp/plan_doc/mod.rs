//! Everything inside a plan document in an editor: findings while it is typed, completion, hover, jumps, outline,
//! actions, the approval that is written into it, and a revision that the agent offers for it.
//!
//! Invariant: pure functions of a [`moment::Moment`], the document as it stands; they answer in bytes of that text and `say`
//! alone says it in the client's columns. Nothing here edits the document by itself: a mend, an insertion or an offered
//! change is made when the person chose it, so that closing the document never asks to save what they did not write.
//! Absent: rules of plans (`domain::plan`) and their compiling (the engine); what a decision does.

pub mod acts;
pub mod complete;
pub mod cursor;
pub mod find;
pub mod findings;
pub mod hover;
pub mod jump;
pub mod menu;
pub mod moment;
pub mod offer;
pub mod outline;
pub mod plans;
pub mod say;
pub mod signature;
pub mod taking;
pub mod token;

#[cfg(test)]
mod tests;

pub use menu::{actions, hints, lenses};
pub use plans::{Heard, Plans, Reading, listen, run};
pub use taking::{accept_offered, decline_offered};

use crate::domain::ids::{TaskId, WorkspacePath};

/// The end of a plan document's name.
const ENDING: &str = ".plan.md";
/// Where the folders of tasks are.
const TASKS: &str = ".planwright/tasks/";

/// A document that holds a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Whose {
    /// That of a task.
    Task(TaskId),
    /// Nobody's: a draft, a document kept beside the code.
    Nobody,
}

/// Whose plan a document is; `None` where it is no plan document.
pub fn whose(path: &WorkspacePath) -> Option<Whose> {
    path.as_str().strip_suffix(ENDING)?;
    let folder = path.as_str().strip_prefix(TASKS).and_then(|rest| rest.split_once('/'));
    Some(match folder {
        Some((task, name)) if !name.contains('/') => Whose::Task(TaskId::new(task)),
        Some(_) | None => Whose::Nobody,
    })
}

/// The task whose page for people (`task.md`, `review.md`, `timeline.md`) this is.
pub fn task_of_page(path: &WorkspacePath) -> Option<TaskId> {
    let (task, name) = path.as_str().strip_prefix(TASKS)?.split_once('/')?;
    matches!(name, "task.md" | "review.md" | "timeline.md").then(|| TaskId::new(task))
}
