//! What commands remember of a session.
//!
//! Invariant: a goal page that was acted on is acted on once, also by the next process: the desk has the goals of all
//! tasks. A page that a command handed out blank holds new words, whatever they are. A session does not end before the
//! goals that were given in it are handed to the engine, as long as that can be waited for. Absent: anything on disk.

use super::errand::Wanted;
use super::paper::Asked;
use super::{OPENING, Order};
use crate::desk::{Desk, Dossier};
use crate::domain::change::Decision;
use crate::domain::ids::{ContentHash, TaskId, WorkspacePath};
use crate::domain::plan::small;
use crate::domain::task::action::Refusal;
use crate::domain::task::state::Said;
use crate::lsp::session::Session;
use crate::lsp::views::{Section, diagnostic};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tower_lsp::lsp_types::{DiagnosticSeverity, Range};

/// What commands remember of a session.
#[derive(Default)]
pub struct Memory {
    remembered: Mutex<Remembered>,
    orders: OnceLock<UnboundedSender<Order>>,
    /// Goals that may come of what was given, and are not with the engine yet.
    goals: watch::Sender<usize>,
}

/// A goal may come of this. Until it has, or this is dropped, the session is held.
pub(super) struct Goal {
    goals: watch::Sender<usize>,
    over: AtomicBool,
}

impl Goal {
    /// The engine has it, or it is none.
    pub(super) fn over(&self) {
        if !self.over.swap(true, Ordering::Relaxed) {
            self.goals.send_modify(|goals| *goals = goals.saturating_sub(1));
        }
    }
}

impl Drop for Goal {
    fn drop(&mut self) {
        self.over();
    }
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
    /// What the first lines of files show since the last command.
    told: BTreeMap<WorkspacePath, Vec<String>>,
    /// Other roots of which it was said that they are not served.
    left_alone: HashSet<PathBuf>,
}

impl Memory {
    pub(super) fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to whoever takes orders, who is called once.
    pub(super) fn orders(&self, call: impl FnOnce() -> UnboundedSender<Order>) -> &UnboundedSender<Order> {
        self.orders.get_or_init(call)
    }

    /// It was not said yet of this root that it is not served.
    pub fn is_left_alone_first(&self, root: &Path) -> bool {
        self.lock().left_alone.insert(root.to_path_buf())
    }

    /// Something was given that a goal may come of.
    pub(super) fn goal(&self) -> Goal {
        self.goals.send_modify(|goals| *goals += 1);
        Goal { goals: self.goals.clone(), over: AtomicBool::new(false) }
    }

    /// Waits until every goal that was given is with the engine. An editor that saves a goal and quits in one breath
    /// has nobody any more who could give it again.
    pub async fn settled(&self) {
        let mut goals = self.goals.subscribe();
        // The sender is held by `self`.
        let settled = goals.wait_for(|goals| *goals == 0);
        if tokio::time::timeout(OPENING, settled).await.is_err() {
            tracing::warn!("a goal was not taken in before the session ended; its page holds it");
        }
    }

    /// The root is open, or it is not and why.
    pub fn root(&self, shut: Option<Refusal>) {
        self.lock().shut = shut;
    }

    /// The first line of a file shows this too.
    pub(super) fn told(&self, session: &Session, path: &WorkspacePath, line: String) {
        let mut remembered = self.lock();
        let lines = remembered.told.entry(path.clone()).or_default();
        if !lines.contains(&line) {
            lines.push(line);
        }
        let one = |line: &String| diagnostic(Range::default(), DiagnosticSeverity::WARNING, line.clone());
        session.views().put(path, Section::Refusal, lines.iter().map(one).collect());
    }

    /// No file shows any of this any more.
    pub(super) fn forget_told(&self, session: &Session) {
        let mut remembered = self.lock();
        for path in std::mem::take(&mut remembered.told).into_keys() {
            session.views().put(&path, Section::Refusal, Vec::new());
        }
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
