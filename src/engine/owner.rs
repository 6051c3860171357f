//! The one owner: takes inputs one at a time, appends, starts what can start, publishes.
//!
//! Invariant: nothing but this loop changes a case, and a case changes only by events that the store has taken.
//! Absent: waiting for a person, a model or a process; those are work, spawned beside the loop (`spawn`). What follows
//! from an input is in rooms of its own: `reports`, `advance`, `refresh`, `actions`.

use super::case::{Case, Drive};
use super::handle::{Asked, Update};
use super::input::Input;
use super::pages::Published;
use super::refresh::Meanwhile;
use super::world::World;
use super::{publish, recover, review};
use crate::domain::change::FileChange;
use crate::domain::ids::*;
use crate::domain::task::event::*;
use crate::ports::{Durability, StoreFault};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, watch};

/// The owner's state.
pub(super) struct Owner {
    pub(super) world: Arc<World>,
    pub(super) cases: BTreeMap<TaskId, Case>,
    /// In the order of opening.
    pub(super) order: Vec<TaskId>,
    pub(super) inbox: mpsc::UnboundedSender<Input>,
    pub(super) desk: watch::Sender<Published>,
    pub(super) updates: broadcast::Sender<Update>,
    pub(super) serial: u64,
    /// The earliest tick that is under way.
    pub(super) due: Option<Time>,
    /// What a person should know of this start.
    pub(super) remarks: Vec<String>,
    /// Those of the remarks that do not wait until somebody asks for them.
    pub(super) urgent: Vec<String>,
    /// What open documents carry the spots of.
    pub(super) watched: BTreeMap<WorkspacePath, Vec<Arc<FileChange>>>,
    /// Open documents that are searched for lost hunks.
    pub(super) searching: BTreeMap<WorkspacePath, Meanwhile>,
    /// Decisions that wait for the one that is being carried out.
    pub(super) waiting: BTreeMap<TaskId, VecDeque<review::Waiting>>,
}

impl Owner {
    pub(super) async fn run(
        mut self,
        mut inputs: mpsc::UnboundedReceiver<Input>,
        mut asks: mpsc::UnboundedReceiver<Asked>,
    ) {
        loop {
            let input = tokio::select! {
                input = inputs.recv() => input,
                asked = asks.recv() => asked.map(Input::Asked),
            };
            // What ended is followed by its `Returned`. In between nothing is under way and what comes next has not
            // begun; whoever saw that would take the task to wait for them.
            let ends = |event: &Event| matches!(event, Event::Ended { .. });
            let between = matches!(&input, Some(Input::Append { events, .. }) if events.iter().any(ends));
            match input {
                None => break,
                Some(Input::Stop(done)) => {
                    self.end_all();
                    let _asker_gone = done.send(());
                    break;
                }
                // A line changes nothing that a desk shows.
                Some(Input::Line { task, line }) => {
                    self.line(&task, line);
                    continue;
                }
                // Nor does typing in a file that nobody proposes to change.
                Some(Input::Changed(paths)) if !self.concern_anybody(&paths) => continue,
                Some(Input::Saved(paths)) if !self.saves_anything(&paths) => continue,
                Some(input) => self.take(input).await,
            }
            if !between {
                self.publish().await;
            }
        }
    }

    async fn take(&mut self, input: Input) {
        match input {
            Input::Asked(asked) => self.act(asked).await,
            Input::Append { ticket, events, how, answer } => {
                let ends = events.iter().any(|event| matches!(event, Event::Ended { .. }));
                let result = self.append_for(&ticket, events, how).await;
                let ended = ends && result.is_ok();
                let _work_gone = answer.send(result);
                if ended {
                    // What follows starts in the same turn: in between, a task at work would look like one at rest.
                    self.returned(ticket, None).await;
                }
            }
            Input::OpenGate { ticket, ask, answer } => {
                let halt = self.open_gate(&ticket, ask).await;
                let _work_gone = answer.send(halt);
            }
            Input::Finished { ticket, attempt, outcome } => {
                let end = Event::Ended { work: ticket.work.clone(), attempt, outcome };
                let halt = self.append_for(&ticket, vec![end], Durability::Process).await.err();
                self.returned(ticket, halt).await;
            }
            Input::Returned { ticket, halt } => self.returned(ticket, halt).await,
            Input::Decided { ticket, halt, result, answer } => {
                let task = ticket.task.clone();
                self.returned(ticket, halt).await;
                // Whoever is answered sees what came of it, and what it started.
                self.publish().await;
                let _asker_gone = answer.send(result);
                self.next_decision(&task).await;
                // What waited for the decisions and not for their writing: they may have been refused.
                self.advance(&task).await;
            }
            Input::Rewritten { task, result, then, answer } => self.rewritten(&task, result, then, answer).await,
            Input::Probed { ticket, effect, command, result } => {
                recover::probed(self, ticket, effect, &command, result).await;
            }
            Input::Searched(path) => self.searched(path).await,
            Input::Changed(paths) => self.changed(&paths).await,
            Input::Overlooked => {
                let changes = self.cases.values().flat_map(|case| case.changes.iter());
                let paths: BTreeSet<WorkspacePath> = changes.map(|change| change.path.clone()).collect();
                self.changed(&Vec::from_iter(paths)).await;
            }
            Input::Saved(paths) => self.saved(&paths).await,
            Input::Tick => {
                self.due = None;
                for id in self.order.clone() {
                    self.advance(&id).await;
                }
            }
            Input::Stop(_) | Input::Line { .. } => {}
        }
    }

    /// A remark that whoever started this process is told at once, and whoever watches when it started long ago.
    pub(super) fn announce(&mut self, task: &TaskId, said: String) {
        tracing::warn!(said, "a write that was cut short is at its end");
        self.line(task, said.clone());
        self.remarks.push(said.clone());
        self.urgent.push(said);
    }

    /// A line for whoever watches.
    pub(super) fn line(&self, task: &TaskId, line: impl Into<String>) {
        let _nobody_watches = self.updates.send(Update { task: task.clone(), line: line.into() });
    }

    /// Appends facts to a task's journal and folds them in.
    pub(super) async fn append(
        &mut self,
        id: &TaskId,
        events: Vec<Event>,
        how: Durability,
    ) -> Result<Vec<Recorded>, StoreFault> {
        let world = self.world.clone();
        let Some(case) = self.cases.get_mut(id) else {
            return Err(StoreFault::Missing(id.to_string()));
        };
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let at = world.clock.now();
        let after = case.task.seq;
        world.store.append(id, after, at, &events, how).await?;
        let recorded: Vec<Recorded> =
            (after.saturating_add(1)..).zip(events).map(|(seq, event)| Recorded { seq, at, event }).collect();
        case.take(&world, &recorded).await?;
        for one in &recorded {
            if let Some(line) = publish::line(&one.event) {
                self.line(id, line);
            }
        }
        Ok(recorded)
    }

    /// The store failed under a task: this process goes no further with it; the journal has all there is.
    pub(super) fn stuck(&mut self, id: &TaskId, fault: &StoreFault) {
        tracing::error!(task = %id, %fault, "the store failed; the task stands still until it is resumed");
        self.line(id, format!("the store failed ({fault}); the task stands still until it is resumed"));
        if let Some(case) = self.cases.get_mut(id) {
            case.drive = Drive::Shown;
            case.stuck = Some(fault.clone());
            for live in std::mem::take(&mut case.live).into_values() {
                live.handle.abort();
            }
        }
        for waiting in self.waiting.remove(id).unwrap_or_default() {
            waiting.refuse(super::actions::broken(fault.clone()));
        }
    }

    /// Sees to it that the loop looks again then.
    pub(super) fn wake_at(&mut self, due: Time) {
        if self.due.is_some_and(|sooner| sooner <= due) {
            return;
        }
        self.due = Some(due);
        let span = Duration::from_millis(due.since(self.world.clock.now()));
        let sleep = self.world.clock.sleep(span);
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            sleep.await;
            let _engine_gone = inbox.send(Input::Tick);
        });
    }

    /// Shows the world as it now is.
    pub(super) async fn publish(&mut self) {
        for id in self.order.clone() {
            self.refresh_hunks(&id).await;
        }
        self.watch_documents();
        let goes_on = self.cases.values().any(|case| !case.task.is_over());
        self.world.sound.want(self.world.documents.as_ref(), goes_on);
        let former = self.desk.borrow().clone();
        let desk = publish::desk(&self.world, &self.remarks, &self.order, &self.cases, &former.desk);
        self.desk.send_replace(Published { serial: former.serial.saturating_add(1), desk: Arc::new(desk) });
    }
}
