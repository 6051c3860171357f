//! Work beside the loop: begun under a ticket, watched over, ended.
//!
//! Invariant: each piece of work has one ticket, and comes back as one input, also after a panic (invariant 9); of work
//! that was ended nothing comes back. Absent: the work itself.

use super::baseline::Baselines;
use super::case::Live;
use super::input::{Input, Ticket};
use super::owner::Owner;
use super::work::{Halt, Run};
use super::{acceptance, baseline, carry, planning, review, steps};
use crate::domain::ids::*;
use crate::domain::task::action::RefusalKind;
use crate::domain::task::decide::refuse;
use crate::domain::task::event::*;
use tokio::sync::mpsc;

impl Owner {
    /// The next ticket.
    pub(super) fn ticket(&mut self, id: &TaskId, work: Work) -> Ticket {
        self.serial = self.serial.saturating_add(1);
        Ticket { task: id.clone(), work, serial: self.serial }
    }

    /// Spawns work where its journal leaves it.
    pub(super) fn spawn(&mut self, id: &TaskId, work: Work) {
        let ticket = self.ticket(id, work.clone());
        let serial = ticket.serial;
        let Some(case) = self.cases.get_mut(id) else { return };
        let run = Run::new(self.world.clone(), case, ticket.clone(), self.inbox.clone());
        let doing: std::pin::Pin<Box<dyn Future<Output = Result<Outcome, Halt>> + Send>> = match &work {
            Work::Planning => Box::pin(planning::run(run, case.page.clone())),
            Work::Baseline => {
                let known = Baselines::to_come(case, self.world.arena.rung());
                case.baselines = Some(known.subscribe());
                Box::pin(baseline::run(run, acceptance::Setting::of(case), known))
            }
            Work::Acceptance => Box::pin(acceptance::run(run, acceptance::Setting::of(case))),
            Work::Step(step) => Box::pin(steps::run(run, step.clone(), steps::Setting::of_step(case, step))),
            Work::Review => return,
        };
        let handle = watch_over(self.inbox.clone(), ticket, case.task.attempt(&work), doing);
        case.live.insert(work, Live { serial, handle });
    }

    /// Spawns a decision on hunks; it answers the person itself when the text is written.
    pub(super) fn spawn_review(&mut self, id: &TaskId, order: review::Order) {
        let ticket = self.ticket(id, Work::Review);
        let serial = ticket.serial;
        let Some(case) = self.cases.get_mut(id) else { return };
        let run = Run::new(self.world.clone(), case, ticket.clone(), self.inbox.clone());
        let inbox = self.inbox.clone();
        let review::Order { files, said, session, answer } = order;
        let writing = tokio::spawn(carry::run(run, files, said, session));
        let handle = writing.abort_handle();
        tokio::spawn(async move {
            let (result, halt) = match writing.await {
                Ok(done) => done,
                // The store failed under the task. An engine that ends takes no more inputs, and the answer is that it
                // has gone; whoever hears that asks the next one.
                Err(error) if error.is_cancelled() => {
                    let message = "the decision is noted, but the store failed before it was carried out";
                    (Err(refuse(RefusalKind::Broken, message, "planwright doctor; then decide again")), None)
                }
                // As with steps: a panic ends this one piece of work (invariant 9). What was in flight is settled by
                // its hashes when the workspace is opened again.
                Err(error) => {
                    let message =
                        format!("the decision is noted, but a fault of planwright ended its writing: {error}");
                    (Err(refuse(RefusalKind::Broken, message, "run the command again; please report this")), None)
                }
            };
            let _engine_gone = inbox.send(Input::Decided { ticket, halt, result, answer });
        });
        case.live.insert(Work::Review, Live { serial, handle });
    }

    /// Ends work of this process; what was in flight has been settled by the caller.
    pub(super) fn end_work(&mut self, id: &TaskId, which: impl Fn(&Work) -> bool) {
        let Some(case) = self.cases.get_mut(id) else { return };
        case.live.retain(|work, live| {
            if which(work) {
                live.handle.abort();
                return false;
            }
            true
        });
    }

    pub(super) fn end_all(&mut self) {
        for id in self.order.clone() {
            self.end_work(&id, |_| true);
        }
    }
}

/// Runs work to its end and tells the owner how it ended. A panic in it ends this one attempt (invariant 9).
fn watch_over(
    inbox: mpsc::UnboundedSender<Input>,
    ticket: Ticket,
    attempt: u32,
    doing: std::pin::Pin<Box<dyn Future<Output = Result<Outcome, Halt>> + Send>>,
) -> tokio::task::AbortHandle {
    let work = tokio::spawn(doing);
    let handle = work.abort_handle();
    tokio::spawn(async move {
        let outcome = match work.await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(Halt::OverBudget(message))) => Outcome::Blocked { cause: Cause::Budget, message },
            Ok(Err(halt)) => {
                let _engine_gone = inbox.send(Input::Returned { ticket, halt: Some(halt) });
                return;
            }
            Err(error) if error.is_cancelled() => return,
            Err(error) => Outcome::Blocked {
                cause: Cause::ToolFault,
                message: format!(
                    "a fault of planwright itself ended this attempt: {error}; please report it, then retry"
                ),
            },
        };
        let _engine_gone = inbox.send(Input::Finished { ticket, attempt, outcome });
    });
    handle
}
