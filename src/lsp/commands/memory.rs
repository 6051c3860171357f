//! What commands remember of a session.
//!
//! Invariant: a goal page that was acted on is acted on once, also by the next process: the desk has the goals of all
//! tasks. A page that a command handed out blank holds new words, whatever they are. Absent: anything on disk.

use super::Order;
use super::errand::Wanted;
use super::paper::Asked;
use crate::desk::{Desk, Dossier};
use crate::domain::change::Decision;
use crate::domain::ids::{ContentHash, TaskId, WorkspacePath};
use crate::domain::plan::small;
use crate::domain::task::action::Refusal;
use crate::domain::task::state::Said;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// What commands remember of a session.
#[derive(Default)]
pub struct Memory {
    remembered: Mutex<Remembered>,
    orders: OnceLock<UnboundedSender<Order>>,
}

#[derive(Default)]
pub(super) struct Remembered {
    /// Pages that were acted on since the last blank one of their name.
    pub asked: HashSet<(&'static str, ContentHash)>,
    /// Of these a blank one was handed out, and nothing came of it yet.
    pub blank: HashSet<&'static str>,
    /// The hunk that was gone to last: file and 0-based line.
    pub stop: Option<(WorkspacePath, u32)>,
    /// Why the root is not open.
    pub shut: Option<Refusal>,
}

impl Memory {
    pub(super) fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to whoever takes orders, who is called once.
    pub(super) fn orders(&self, call: impl FnOnce() -> UnboundedSender<Order>) -> &UnboundedSender<Order> {
        self.orders.get_or_init(call)
    }

    /// The root is open, or it is not and why.
    pub fn root(&self, shut: Option<Refusal>) {
        self.lock().shut = shut;
    }

    /// A blank page was handed out.
    pub(super) fn handed_out(&self, page: &'static str) {
        let mut remembered = self.lock();
        remembered.asked.retain(|(of, _)| *of != page);
        remembered.blank.insert(page);
    }

    /// A page was saved: the task that it was made into before, unless it was blank meanwhile.
    pub(super) fn sent(&self, asked: &Asked, desk: &Desk) -> Option<TaskId> {
        if self.lock().blank.remove(asked.wanted.page()) {
            return None;
        }
        task_of(asked, desk)
    }

    /// Nothing came of the words of this page yet.
    pub(super) fn is_unsent(&self, asked: &Asked, desk: &Desk) -> bool {
        !self.lock().asked.contains(&asked.key()) && task_of(asked, desk).is_none()
    }
}

/// The task that has these words: as its goal, at this place; as what was said to it; as the reason of a decision.
fn task_of(asked: &Asked, desk: &Desk) -> Option<TaskId> {
    let of = |id: &TaskId| desk.tasks.iter().find(|dossier| dossier.task.id == *id);
    match &asked.wanted {
        Wanted::Reject { task, hunk } => {
            let reason = Decision::Reject(Some(asked.words.clone()));
            let decided = of(task)?.task.decisions.get(hunk)?;
            return (decided.decision == reason).then(|| task.clone());
        }
        Wanted::Say { task, step } => {
            let said = |said: &Said| said.words == asked.words && said.step == *step;
            return of(task)?.task.said.iter().any(said).then(|| task.clone());
        }
        Wanted::Plan | Wanted::Change | Wanted::Ask => {}
    }
    let asks = |dossier: &Dossier| dossier.page.as_ref().is_some_and(|page| small::is_question(&page.plan));
    let same = desk.tasks.iter().find(|dossier| {
        let goal = &dossier.task.goal;
        let as_asked = goal.words == asked.words && goal.place == asked.place;
        as_asked && asks(dossier) == (asked.wanted == Wanted::Ask)
    });
    same.map(|dossier| dossier.task.id.clone())
}
