//! Work under way, written as a plain sequence of effects that survives a crash.
//!
//! Every effect goes through [`Run::effect`]: intent, effect, result (invariant 3). When the work starts again, the
//! results that the journal already has are handed back in order and nothing is done twice; the sequence then goes on
//! where it was. So the code of a step must be deterministic between effects: what it asks next depends only on what
//! it was given and on earlier results.
//!
//! Invariant: waiting for a person ends the work (`Halt::AtGate`); it holds nothing while it waits. Absent: what the
//! effects are; that is `steps`, `planning`, `acceptance`, `review`.

use super::case::Case;
use super::input::{Input, Ticket};
use super::world::World;
use crate::domain::ids::*;
use crate::domain::plan::Command;
use crate::domain::policy::commands;
use crate::domain::task::Journal;
use crate::domain::task::action::GateAnswer;
use crate::domain::task::event::*;
use crate::domain::task::facts::Usage;
use crate::domain::task::state::{EffectRun, Gate, Said, Task};
use crate::ports::{Durability, StoreFault};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// Why work stops before its end. It can go on later from its journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Halt {
    /// A person must decide.
    AtGate(GateId),
    /// The task was paused, cancelled or ended, or this work was replaced.
    Stopped,
    /// The journal holds other requests than this work makes: it begins a new attempt.
    Diverged,
    /// A budget of the contract is used up; the message says which and what to do.
    OverBudget(String),
    /// The store failed; nothing more can be done in this process.
    Store(StoreFault),
}

/// Why an effect has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EffectFault {
    /// Named.
    pub cause: Cause,
    /// With the next step.
    pub message: String,
    /// Tokens used in vain, if known.
    pub usage: Option<Usage>,
}

/// How an effect came out, new or from the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Came<T> {
    /// With a result.
    Back(T),
    /// Without.
    Failed(EffectFault),
    /// A probe or a person said that it happened before a crash; its result is lost.
    Happened(String),
}

/// One stretch of work of one attempt.
pub struct Run {
    /// The ports and settings.
    pub world: Arc<World>,
    /// The task as it was when this run started.
    pub task: Arc<Task>,
    /// Which work.
    pub work: Work,
    /// Which attempt.
    pub attempt: u32,
    ticket: Ticket,
    inbox: mpsc::UnboundedSender<Input>,
    recorded: VecDeque<EffectRun>,
    facts: VecDeque<Event>,
    gates: Vec<Gate>,
    /// The gate whose permission the next command uses.
    permission: Option<GateId>,
    n: u32,
    /// What the person said so far, as it grows.
    words: watch::Receiver<Arc<Vec<Said>>>,
    /// The number of the last word that reached this work.
    heard: u64,
}

impl Run {
    /// Takes up some work where the task's journal leaves it.
    pub(super) fn new(world: Arc<World>, case: &Case, ticket: Ticket, inbox: mpsc::UnboundedSender<Input>) -> Self {
        let task = case.task.clone();
        let work = ticket.work.clone();
        let attempt = task.attempt(&work);
        let mine = |id: &EffectId| id.work == work && id.attempt == attempt;
        let recorded: VecDeque<EffectRun> = task.effects.iter().filter(|e| mine(&e.id)).cloned().collect();
        let gates =
            task.gates.iter().filter(|g| g.work == work && g.attempt == attempt && task.holds(g)).cloned().collect();
        let facts = facts_of(&case.journal, &work);
        // Decisions have no attempts: each is carried out once, and its effects are counted on from the journal.
        let n = if work == Work::Review { u32::try_from(task.seq).unwrap_or(u32::MAX) } else { 0 };
        let words = case.words.subscribe();
        Self { world, work, attempt, ticket, inbox, recorded, facts, gates, permission: None, n, words, heard: 0, task }
    }

    /// States a fact that follows from what this attempt did. Going through the attempt again states the same facts
    /// in the same order; those that the journal has are not appended twice.
    ///
    /// # Errors
    /// The work must stop.
    pub async fn state(&mut self, fact: Event) -> Result<(), Halt> {
        match self.facts.pop_front() {
            Some(known) if known == fact => Ok(()),
            Some(_) => Err(Halt::Diverged),
            None => self.append(vec![fact], Durability::Process).await.map(|_| ()),
        }
    }

    /// Appends facts.
    ///
    /// # Errors
    /// The work must stop.
    pub async fn append(&mut self, events: Vec<Event>, how: Durability) -> Result<Vec<Recorded>, Halt> {
        let (answer, reply) = oneshot::channel();
        let ticket = self.ticket.clone();
        self.inbox.send(Input::Append { ticket, events, how, answer }).map_err(|_| Halt::Stopped)?;
        reply.await.map_err(|_| Halt::Stopped)?
    }

    /// A line of progress.
    pub fn line(&self, line: impl Into<String>) {
        let _gone_engine_shows_nothing = self.inbox.send(Input::Line { task: self.task.id.clone(), line: line.into() });
    }

    /// Says lines of progress from elsewhere.
    pub fn sayer(&self) -> impl Fn(String) + Send + Sync + 'static {
        let (inbox, task) = (self.inbox.clone(), self.task.id.clone());
        move |line| {
            let _gone_engine_shows_nothing = inbox.send(Input::Line { task: task.clone(), line });
        }
    }

    /// Does something to the world once, or hands back what it gave when it was done before.
    ///
    /// `request` is everything that decides what is done; `reserve` is the tokens it may cost. The engine refuses the
    /// intent while the task is paused, so nothing new starts then.
    ///
    /// # Errors
    /// The work must stop.
    pub async fn effect<T, F>(
        &mut self,
        what: Intent,
        request: ContentHash,
        reserve: u64,
        doing: impl FnOnce(EffectId) -> F,
    ) -> Result<Came<T>, Halt>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<(T, Option<Usage>), EffectFault>>,
    {
        if let Some(known) = self.next_recorded() {
            if known.request != request {
                return Err(Halt::Diverged);
            }
            return self.came(&known).await;
        }
        self.n = self.n.saturating_add(1);
        let effect = EffectId { work: self.work.clone(), attempt: self.attempt, n: self.n };
        let how = durability(&what);
        let gate = self.permission.take();
        let intent = Event::Intended { effect: effect.clone(), what, request, reserve, gate };
        self.append(vec![intent], how).await?;
        let outcome = doing(effect.clone()).await;
        let (result, came) = match outcome {
            Ok((value, usage)) => {
                let text = serde_json::to_string(&value).map_err(|e| Halt::Store(StoreFault::Broken(e.to_string())))?;
                (Settlement::Returned { result: self.payload(text).await?, usage }, Came::Back(value))
            }
            Err(fault) => {
                let EffectFault { cause, message, usage } = fault.clone();
                (Settlement::Failed { cause, message, usage }, Came::Failed(fault))
            }
        };
        self.append(vec![Event::Settled { effect, result }], how).await?;
        Ok(came)
    }

    /// Whether the next effect is already in the journal with a result, so that it needs no permission.
    pub fn knows_next(&self, request: &ContentHash) -> bool {
        self.recorded.iter().find(|known| counts(known)).is_some_and(|known| &known.request == request)
    }

    /// Asks a person, or hands back what they said. Gates with the same question are taken in order.
    ///
    /// # Errors
    /// `Halt::AtGate` until the person has spoken.
    pub async fn gate(&mut self, ask: Ask) -> Result<(GateAnswer, Option<String>), Halt> {
        if let Some(at) = self.gates.iter().position(|gate| gate.ask == ask) {
            let gate = self.gates.remove(at);
            return match gate.decided {
                Some(decision) => Ok((decision.answer, decision.comment)),
                None => Err(Halt::AtGate(gate.id)),
            };
        }
        Err(self.open_gate(ask).await.unwrap_or(Halt::Stopped))
    }

    /// Sees to it that a person allowed this command: once, or for this plan, or by approving the plan where the rung
    /// makes that enough. The next effect must be the command: it uses up what was allowed once.
    ///
    /// # Errors
    /// The work must stop. `Ok(Err(words))`: a person said no, in these words. Their no to a command stands for this
    /// attempt, whatever it wants the command for next.
    pub async fn permit(&mut self, command: &Command, outside: bool) -> Result<Result<(), String>, Halt> {
        let fits = |gate: &Gate| gate.of_command() == Some(command) && !gate.spent;
        // What the person said after a crash is about this very run and goes before all else.
        let doubt = |gate: &Gate| matches!(gate.ask, Ask::Ambiguous { .. });
        let asked = self.gates.iter().position(|gate| fits(gate) && doubt(gate));
        let asked = asked.or_else(|| self.gates.iter().position(fits));
        let Some(gate) = asked.map(|at| self.gates.remove(at)) else {
            let rung = self.world.arena.rung();
            if !outside && !commands::asks(command, rung) {
                return Ok(Ok(()));
            }
            let halt = self.open_gate(Ask::Command { command: command.clone(), outside, rung }).await;
            return halt.map_or(Ok(Ok(())), Err);
        };
        let Some(decision) = &gate.decided else { return Err(Halt::AtGate(gate.id)) };
        match decision.answer {
            GateAnswer::Allow => {
                self.permission = Some(gate.id);
                Ok(Ok(()))
            }
            GateAnswer::AllowForPlan | GateAnswer::Happened => Ok(Ok(())),
            GateAnswer::Deny => {
                let comment = decision.comment.as_ref().map(|comment| format!(": {comment}")).unwrap_or_default();
                let words = format!("not allowed by {}{comment}", decision.by.user);
                if !doubt(&gate) {
                    self.gates.push(gate);
                }
                Ok(Err(words))
            }
        }
    }

    /// Words of the person that reach the next request: those that have not reached this attempt yet. What was said to
    /// all steps before the approval had its chance in the plan. Going through the attempt again, each word comes where
    /// it came before: ahead of the first effect that was started after it.
    pub fn said(&mut self) -> Vec<String> {
        let upto = self.recorded.iter().find(|known| counts(known)).map_or(u64::MAX, |known| known.seq);
        let approved = self.task.approval.as_ref().map_or(0, |approval| approval.seq);
        let mine = |said: &Said| match (&said.step, &self.work) {
            (None, _) => said.seq > approved,
            (Some(step), Work::Step(id)) => step == id,
            (Some(_), Work::Planning | Work::Baseline | Work::Acceptance | Work::Review) => false,
        };
        let words = self.words.borrow().clone();
        let new: Vec<&Said> =
            words.iter().filter(|said| said.seq > self.heard && said.seq < upto && mine(said)).collect();
        self.heard = new.last().map_or(self.heard, |last| last.seq);
        new.into_iter().map(|said| said.words.clone()).collect()
    }

    /// Stores what is too long for an event.
    ///
    /// # Errors
    /// The store failed.
    pub async fn payload(&self, text: String) -> Result<Payload, Halt> {
        if text.len() <= Payload::INLINE {
            return Ok(Payload::Inline(text));
        }
        let head: String = text.chars().take(200).collect();
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let hash = self.world.store.put_blob(text.into_bytes()).await.map_err(Halt::Store)?;
        Ok(Payload::Blob { hash, bytes, head })
    }

    /// None where the command was allowed for the plan meanwhile.
    async fn open_gate(&mut self, ask: Ask) -> Option<Halt> {
        let (answer, reply) = oneshot::channel();
        let ticket = self.ticket.clone();
        if self.inbox.send(Input::OpenGate { ticket, ask, answer }).is_err() {
            return Some(Halt::Stopped);
        }
        reply.await.unwrap_or(Some(Halt::Stopped))
    }

    /// Takes the next effect that counts; those that a crash or a person ended are passed over, and done again.
    fn next_recorded(&mut self) -> Option<EffectRun> {
        while let Some(known) = self.recorded.pop_front() {
            self.n = self.n.max(known.id.n);
            if counts(&known) {
                return Some(known);
            }
        }
        None
    }

    async fn came<T: DeserializeOwned>(&self, known: &EffectRun) -> Result<Came<T>, Halt> {
        match &known.result {
            Some(Settlement::Returned { result, .. }) => {
                let text = read(&self.world, result).await.map_err(Halt::Store)?;
                let value = serde_json::from_str(&text).map_err(|_| Halt::Diverged)?;
                Ok(Came::Back(value))
            }
            Some(Settlement::Failed { cause, message, usage }) => {
                Ok(Came::Failed(EffectFault { cause: *cause, message: message.clone(), usage: *usage }))
            }
            Some(Settlement::Happened { by }) => Ok(Came::Happened(by.clone())),
            Some(Settlement::Cancelled | Settlement::Lost | Settlement::DidNotHappen { .. }) | None => {
                Err(Halt::Diverged)
            }
        }
    }
}

/// The facts that the journal has of the present attempt at some work.
fn facts_of(journal: &Journal, work: &Work) -> VecDeque<Event> {
    let mut facts = VecDeque::new();
    for recorded in journal.iter() {
        match &recorded.event {
            Event::Began { work: begun, .. } if begun == work => facts.clear(),
            Event::Proposed { step, .. } | Event::Repairing { step, .. } if work == &Work::Step(step.clone()) => {
                facts.push_back(recorded.event.clone());
            }
            Event::Judged { work: judged, .. } if judged == work => facts.push_back(recorded.event.clone()),
            Event::BaselineRun { .. } if *work == Work::Baseline => facts.push_back(recorded.event.clone()),
            _ => {}
        }
    }
    facts
}

/// Whether an effect has an outcome that stands.
fn counts(known: &EffectRun) -> bool {
    match &known.result {
        Some(Settlement::Returned { .. } | Settlement::Failed { .. } | Settlement::Happened { .. }) => true,
        Some(Settlement::Cancelled | Settlement::Lost | Settlement::DidNotHappen { .. }) | None => false,
    }
}

/// Full sync only where the outside world or the user's files are touched (L4).
fn durability(what: &Intent) -> Durability {
    match what {
        Intent::Outside { .. } | Intent::Write { .. } => Durability::Disk,
        Intent::Model { .. }
        | Intent::Tool { .. }
        | Intent::Snapshot
        | Intent::Transform
        | Intent::Format
        | Intent::Command { .. } => Durability::Process,
    }
}

/// The text of a payload.
///
/// # Errors
/// The store does not have it.
pub async fn read(world: &World, payload: &Payload) -> Result<String, StoreFault> {
    match payload {
        Payload::Inline(text) => Ok(text.clone()),
        Payload::Blob { hash, .. } => {
            let bytes = world.store.blob(hash).await?;
            String::from_utf8(bytes).map_err(|_| StoreFault::Broken("a payload is not UTF-8".to_owned()))
        }
    }
}
