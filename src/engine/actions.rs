//! Actions at the inbox: which task is meant, what the domain decides, what follows.
//!
//! Invariant: an action is answered at once, after its events are on disk; what it starts goes on beside. Absent: the
//! rules themselves (`domain::task::decide`) and the reading that some actions need (`opening`, `approval`, `review`).

use super::case::{Case, Drive};
use super::handle::Asked;
use super::offer::Rewrite;
use super::owner::Owner;
use super::{approval, opening, recover, review, small};
use crate::domain::ids::*;
use crate::domain::task::action::*;
use crate::domain::task::decide::{decide, refuse};
use crate::domain::task::event::Event;
use crate::ports::{Durability, StoreFault};

impl Owner {
    /// Answers an action.
    pub(super) async fn act(&mut self, asked: Asked) {
        let Asked { actor, session, action, answer } = asked;
        self.take_up_again().await;
        let result = match &action {
            Action::Accept { task, target } => {
                let order = self.which(task, "accept").map(|id| (id, review::Wish::Accept(target.clone())));
                self.review(order, actor, session, answer).await;
                return;
            }
            Action::Reject { task, target, reason } => {
                let wish = review::Wish::Reject(target.clone(), reason.clone());
                let order = self.which(task, "reject").map(|id| (id, wish));
                self.review(order, actor, session, answer).await;
                return;
            }
            Action::Resolve { task, hunk, side, shown } => {
                let wish = review::Wish::Resolve(hunk.clone(), *side, shown.clone());
                let order = self.which(task, "resolve").map(|id| (id, wish));
                self.review(order, actor, session, answer).await;
                return;
            }
            Action::Undo { task, target } => {
                let order = self.which(task, "undo").map(|id| (id, review::Wish::Undo(target.clone())));
                self.review(order, actor, session, answer).await;
                return;
            }
            Action::Small { goal, focus } => small::change(self, actor, goal.clone(), focus.as_deref()).await,
            Action::AskQuestion { goal } => small::ask(self, actor, goal.clone()).await,
            Action::Plan { goal, document } => opening::open(self, actor, goal.clone(), document.clone()).await,
            Action::Approve { task, revision, upto } => match self.which(task, "approve") {
                Ok(id) => approval::approve(self, &id, actor, revision, upto.clone()).await,
                Err(refusal) => Err(refusal),
            },
            Action::Answer { task, question, words } => match self.which(task, "answer") {
                Ok(id) => match opening::answer(self, &id, actor, *question, words).await {
                    Ok((rewrite, then)) => {
                        return self.rewrite(&id, Rewrite { session, ..rewrite }, then, answer).await;
                    }
                    Err(refusal) => Err(refusal),
                },
                Err(refusal) => Err(refusal),
            },
            Action::Offer { task, take } => match self.which(task, "show") {
                Ok(id) => return self.decide_offer(&id, actor, session, *take, answer).await,
                Err(refusal) => Err(refusal),
            },
            Action::Run { task }
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
            | Action::Gate { task, .. } => match self.which(task, "status") {
                Ok(id) => self.simple(&id, actor, &action).await,
                Err(refusal) => Err(refusal),
            },
        };
        // Whoever was answered and looks at once sees what the action changed.
        self.publish().await;
        let _asker_gone = answer.send(result);
    }

    /// An action that the domain decides from the state alone.
    pub(super) async fn simple(&mut self, id: &TaskId, actor: Actor, action: &Action) -> Result<Reply, Refusal> {
        self.read_page(id).await;
        let Some(case) = self.cases.get(id) else { return Err(missing(id)) };
        let events = decide(&case.task, case.plan.as_deref(), &actor, action)?;
        if let Action::Run { .. } | Action::Resume { .. } = action {
            // Before anything is noted: what is refused has no effect.
            self.runnable(id)?;
        }
        let decided = events.iter().any(|event| matches!(event, Event::GateDecided { .. }));
        let how = if decided { Durability::Disk } else { Durability::Process };
        self.append(id, events, how).await.map_err(broken)?;
        let message = match action {
            Action::Run { .. } | Action::Resume { .. } => {
                self.drive(id, Drive::Run);
                "it goes on".to_owned()
            }
            Action::Retry { .. } => {
                self.drive(id, Drive::Run);
                "it is tried again".to_owned()
            }
            Action::Pause { .. } => "it starts nothing new; what runs is finished. `resume` goes on".to_owned(),
            Action::Cancel { .. } => {
                self.end_work(id, |work| *work != Work::Review);
                "what was in flight is ended; `resume` goes on".to_owned()
            }
            Action::Abandon { .. } => {
                self.end_work(id, |work| *work != Work::Review);
                "it is given up; accepted hunks stay, nothing more is started".to_owned()
            }
            Action::Skip { step, .. } | Action::MarkDone { step, .. } | Action::TakeOver { step, .. } => {
                self.end_work(id, |work| *work == Work::Step(step.clone()));
                match action {
                    Action::Skip { .. } => format!("step {step} is skipped"),
                    Action::MarkDone { .. } => format!("step {step} is done by hand, not verified"),
                    _ => format!("step {step} is yours; say `planwright mark-done {id} {step}` when it is done"),
                }
            }
            Action::Say { .. } => "it reaches the next request".to_owned(),
            Action::Revise { .. } | Action::Replan { .. } => {
                self.drive(id, Drive::Planned);
                "the plan is being made".to_owned()
            }
            Action::Gate { .. } => "noted".to_owned(),
            Action::Plan { .. }
            | Action::Small { .. }
            | Action::AskQuestion { .. }
            | Action::Approve { .. }
            | Action::Answer { .. }
            | Action::Offer { .. }
            | Action::Accept { .. }
            | Action::Reject { .. }
            | Action::Resolve { .. }
            | Action::Undo { .. } => String::new(),
        };
        self.advance(id).await;
        match self.cases.get(id).and_then(|case| case.stuck.clone()) {
            Some(fault) => Err(broken(fault)),
            None => Ok(Reply { task: id.clone(), message }),
        }
    }

    /// Going on needs an approval, and the plan document as it was approved.
    fn runnable(&self, id: &TaskId) -> Result<(), Refusal> {
        use crate::domain::task::state::Document;
        let Some(case) = self.cases.get(id) else { return Err(missing(id)) };
        if case.task.approval.is_none() && case.task.asked.is_none() {
            return Err(refuse(
                RefusalKind::WrongState,
                format!("nothing of task {id} is approved yet"),
                format!("planwright show {id}, then planwright approve {id}"),
            ));
        }
        if case.lapsed.is_some() {
            return Err(refuse(
                RefusalKind::Plan,
                format!("the approval of task {id} has lapsed: this release reads plans differently"),
                format!("planwright show {id}, then approve it again (planwright approve {id})"),
            ));
        }
        match case.task.document {
            Document::Strayed { .. } if !case.task.steps.iter().any(|step| step.state.is_under_way()) => Err(refuse(
                RefusalKind::Plan,
                "the plan document says something else than what was approved, so no new step starts",
                format!(
                    "planwright compare {id}, then approve it (planwright approve {id}) or restore the approved text"
                ),
            )),
            Document::Strayed { .. } | Document::Same => Ok(()),
        }
    }

    /// This process carries a task on from now on, at least this far, unless the store has it stand still.
    pub(super) fn drive(&mut self, id: &TaskId, how: Drive) {
        if let Some(case) = self.cases.get_mut(id)
            && case.stuck.is_none()
        {
            case.drive = case.drive.max(how);
        }
    }

    /// Takes tasks up again that the store has stand still, as a new process would: from the journal, and with what was
    /// in flight settled. One that the store still cannot serve goes on standing still.
    async fn take_up_again(&mut self) {
        let stuck = self.cases.iter().filter(|(_, case)| case.stuck.is_some());
        for id in stuck.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            let again = match Case::load(&self.world, &id).await {
                Ok(case) => {
                    self.cases.insert(id.clone(), case);
                    recover::recover(self, &id).await
                }
                Err(fault) => Err(fault),
            };
            match again {
                Ok(()) => self.read_page(&id).await,
                Err(fault) => self.stuck(&id, &fault),
            }
        }
    }

    /// The task that is meant. With several candidates nothing is done and they are listed.
    pub(super) fn which(&self, which: &Which, word: &str) -> Result<TaskId, Refusal> {
        match which {
            Which::Task(id) if self.cases.contains_key(id) => Ok(id.clone()),
            Which::Task(id) => Err(missing(id)),
            Which::TheOnlyOne => {
                let open: Vec<&TaskId> = self
                    .order
                    .iter()
                    .filter(|id| self.cases.get(*id).is_some_and(|case| !case.task.is_over()))
                    .collect();
                match (open.as_slice(), self.order.as_slice()) {
                    ([only], _) => Ok((*only).clone()),
                    ([], [only]) => Ok(only.clone()),
                    ([], []) => Err(refuse(
                        RefusalKind::NotFound,
                        "there is no task in this workspace",
                        "planwright plan \"GOAL\"",
                    )),
                    ([], _) => {
                        Err(refuse(RefusalKind::NotFound, "no task is open in this workspace", "planwright tasks"))
                    }
                    (several, _) => Err(refuse(
                        RefusalKind::SeveralCandidates,
                        format!(
                            "several tasks are open:\n{}",
                            several
                                .iter()
                                .filter_map(|id| self.cases.get(*id))
                                .map(|case| format!("{}  {}", case.task.id, case.task.goal.words))
                                .collect::<Vec<_>>()
                                .join("\n")
                        ),
                        format!("name one: planwright {word} TASK"),
                    )),
                }
            }
        }
    }
}

/// No such task.
pub(super) fn missing(id: &TaskId) -> Refusal {
    refuse(RefusalKind::NotFound, format!("there is no task `{id}` in this workspace"), "planwright tasks")
}

/// The store failed under an action.
pub(super) fn broken(fault: StoreFault) -> Refusal {
    let next = match &fault {
        StoreFault::Newer { .. } => "use the newer planwright, or another state directory (PLANWRIGHT_STATE_DIR)",
        StoreFault::Moved { .. } | StoreFault::Missing(_) | StoreFault::Broken(_) => {
            "planwright doctor; the workspace's files were not touched"
        }
    };
    refuse(RefusalKind::Broken, fault.to_string(), next)
}
