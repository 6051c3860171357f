//! The one owner: takes inputs one at a time, appends, starts what can start, publishes.
//!
//! Invariant: nothing but this loop changes a case, and a case changes only by events that the store has taken.
//! Absent: waiting for a person, a model or a process; those are work, spawned beside the loop.

use super::carry;
use super::case::{Case, Drive, Live};
use super::handle::{Asked, EngineHandle, Update};
use super::input::{Input, Ticket};
use super::pages::{self, Pages, Published, Shown};
use super::reads::Reads;
use super::refresh::{self, Stale};
use super::work::{Halt, Run};
use super::world::World;
use super::{acceptance, failure, planning, publish, recover, review, sound, steps};
use crate::domain::change::FileChange;
use crate::domain::ids::*;
use crate::domain::task::action::RefusalKind;
use crate::domain::task::budget;
use crate::domain::task::decide::refuse;
use crate::domain::task::event::*;
use crate::domain::task::schedule::{self, Readiness};
use crate::domain::task::state::*;
use crate::ports::{Clock, Durability, StoreFault};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

/// The engine's task, to be waited for at the end.
pub struct Running {
    /// What the rest of the program holds.
    pub handle: EngineHandle,
    reads: Arc<Reads>,
    keeper: tokio::task::JoinHandle<()>,
    clock: Arc<dyn Clock>,
    inbox: mpsc::UnboundedSender<Input>,
    owner: tokio::task::JoinHandle<()>,
}

impl Running {
    /// Drops what is in flight and ends. Everything can be resumed from the journal.
    pub async fn stop(self) {
        let (done, ended) = oneshot::channel();
        if self.inbox.send(Input::Stop(done)).is_ok() {
            let _ended_or_gone = ended.await;
        }
        let _panicked_or_not = self.owner.await;
        // It writes what the last desk says, and then has no more to wait for. A page is not worth a process that does
        // not end: the journal has all there is, and the next process writes it.
        let mut keeper = self.keeper;
        tokio::select! {
            biased;
            _panicked_or_not = &mut keeper => {}
            () = self.clock.sleep(LAST_PAGE) => keeper.abort(),
        }
    }

    /// Tells that files changed; for the watcher.
    pub fn changed(&self) -> impl Fn(Vec<WorkspacePath>) + Send + Sync + 'static {
        let (inbox, reads) = (self.inbox.clone(), self.reads.clone());
        move |paths| {
            reads.changed(&paths);
            let _gone_engine_needs_nothing = inbox.send(Input::Changed(paths));
        }
    }
}

/// The owner's state.
pub(super) struct Owner {
    pub(super) world: Arc<World>,
    pub(super) cases: BTreeMap<TaskId, Case>,
    /// In the order of opening.
    pub(super) order: Vec<TaskId>,
    pub(super) inbox: mpsc::UnboundedSender<Input>,
    desk: watch::Sender<Published>,
    updates: broadcast::Sender<Update>,
    serial: u64,
    /// The earliest tick that is under way.
    due: Option<Time>,
    /// What a person should know of this start.
    remarks: Vec<String>,
    /// What open documents carry the spots of.
    pub(super) watched: BTreeMap<WorkspacePath, Vec<Arc<FileChange>>>,
    /// Decisions that wait for the one that is being carried out.
    pub(super) waiting: BTreeMap<TaskId, VecDeque<review::Waiting>>,
}

/// How long the last page may take to be written.
const LAST_PAGE: Duration = Duration::from_secs(2);

/// Lines of progress that wait for a slow reader before the oldest are dropped.
const UPDATES_KEPT: usize = 1_024;

/// Opens every task of the store and starts the loop.
///
/// # Errors
/// The store cannot be read.
pub async fn start(world: Arc<World>) -> Result<Running, StoreFault> {
    let (inbox, inputs) = mpsc::unbounded_channel();
    let (asked, asks) = mpsc::unbounded_channel::<Asked>();
    let (updates, _) = broadcast::channel(UPDATES_KEPT);
    let mut owner = Owner {
        world,
        cases: BTreeMap::new(),
        order: Vec::new(),
        inbox: inbox.clone(),
        desk: watch::Sender::default(),
        updates: updates.clone(),
        serial: 0,
        due: None,
        remarks: Vec::new(),
        watched: BTreeMap::new(),
        waiting: BTreeMap::new(),
    };
    let changed = inbox.clone();
    refresh::follow(owner.world.documents.as_ref(), owner.world.clock.clone(), move |told| changed.send(told).is_ok());
    sound::follow(&owner.world);
    owner.remarks.clone_from(&owner.world.remarks);
    for id in owner.world.store.tasks().await? {
        let case = match Case::load(&owner.world, &id).await {
            Ok(case) => case,
            // One journal that cannot be read does not take the others with it. Its events stay as they are.
            Err(fault) => {
                tracing::error!(task = %id, %fault, "a task cannot be read");
                owner.remarks.push(format!("task {id} cannot be read and is left as it is: {fault}"));
                continue;
            }
        };
        if let (Some(why), false) = (&case.lapsed, case.task.is_over()) {
            owner.remarks.push(format!(
                "the approval of task {id} has lapsed, because this release reads plans differently ({why}); nothing of it runs until it is approved again: planwright show {id}"
            ));
        }
        owner.order.push(id.clone());
        owner.cases.insert(id.clone(), case);
        if let Err(fault) = recover::recover(&mut owner, &id).await {
            tracing::warn!(task = %id, %fault, "what was in flight could not be settled; the task can only be read");
            if let Some(case) = owner.cases.get_mut(&id) {
                case.stuck = Some(fault);
            }
        }
        owner.read_page(&id).await;
    }
    owner.publish().await;
    let clock = owner.world.clock.clone();
    let reads = Arc::new(Reads::new(owner.world.clone(), Arc::new(Pages::new(owner.world.clone()))));
    let published = owner.desk.subscribe();
    let first = published.borrow().clone();
    let (desk, seen) = watch::channel(first.desk);
    let (serial, shown) = watch::channel(first.serial);
    let keeper = tokio::spawn(pages::keep(reads.clone(), published.clone(), Shown { desk, serial }));
    let handle = EngineHandle::new(asked, seen, updates).with_reads(reads.clone()).after(published, shown);
    let task = tokio::spawn(owner.run(inputs, asks));
    Ok(Running { handle, reads, keeper, clock, inbox, owner: task })
}

impl Owner {
    async fn run(mut self, mut inputs: mpsc::UnboundedReceiver<Input>, mut asks: mpsc::UnboundedReceiver<Asked>) {
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
            Input::Changed(paths) => self.changed(&paths).await,
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

    /// Appends for work under way, if it is still the present one and the task goes on.
    async fn append_for(
        &mut self,
        ticket: &Ticket,
        mut events: Vec<Event>,
        how: Durability,
    ) -> Result<Vec<Recorded>, Halt> {
        let starts = events.iter().any(|event| matches!(event, Event::Intended { .. } | Event::Began { .. }));
        if events.iter().any(|event| matches!(event, Event::Ended { work: Work::Planning, .. })) {
            // Whoever sees that the plan stands sees its document, too.
            self.read_page(&ticket.task).await;
        }
        let Some(case) = self.cases.get(&ticket.task) else { return Err(Halt::Stopped) };
        if case.live.get(&ticket.work).is_none_or(|live| live.serial != ticket.serial) {
            return Err(Halt::Stopped);
        }
        let stands_still = match case.task.course {
            Course::Going => false,
            // A decision on a hunk is carried out also while the task is paused, and when it was given up meanwhile:
            // the person asked for it before, and was not refused.
            Course::Paused { .. } | Course::Over(_) => ticket.work != Work::Review,
        };
        // A permission that a new approval has ended meanwhile: the work starts again from its journal, and asks.
        let lapsed = events
            .iter()
            .any(|event| matches!(event, Event::Intended { gate: Some(gate), .. } if !case.task.permits(gate)));
        if starts && (stands_still || lapsed) {
            return Err(Halt::Stopped);
        }
        if let Some(plan) = &case.plan
            && let Some(why) =
                budget::exceeded(&case.task, &plan.plan().contract.budget, &events, self.world.clock.now())
        {
            return Err(Halt::OverBudget(why));
        }
        // Work knows the task as it was when it began; a number that a person's edit took since is not given twice.
        let mut number = case.task.newest().map_or(0, |newest| newest.name.number);
        for event in &mut events {
            if let Event::Revised { revision, .. } = event {
                number = number.saturating_add(1);
                revision.number = number;
            }
        }
        self.append(&ticket.task, events, how).await.map_err(Halt::Store)
    }

    /// Opens a gate, unless the command was allowed for the plan: by the state as it is, since another step's gate may
    /// have been answered after this work had begun.
    async fn open_gate(&mut self, ticket: &Ticket, ask: Ask) -> Option<Halt> {
        let Some(case) = self.cases.get(&ticket.task) else { return Some(Halt::Stopped) };
        if let Ask::Command { command, outside: false, .. } = &ask
            && case.task.allowed_for_plan(command)
        {
            return None;
        }
        let gate = GateId::new(format!("g{}", case.task.gates_opened.saturating_add(1)));
        let event = Event::GateOpened { gate: gate.clone(), work: ticket.work.clone(), ask };
        match self.append_for(ticket, vec![event], Durability::Process).await {
            Ok(_) => Some(Halt::AtGate(gate)),
            Err(halt) => Some(halt),
        }
    }

    async fn returned(&mut self, ticket: Ticket, halt: Option<Halt>) {
        let Some(case) = self.cases.get_mut(&ticket.task) else { return };
        if case.live.get(&ticket.work).is_none_or(|live| live.serial != ticket.serial) {
            return;
        }
        case.live.remove(&ticket.work);
        if ticket.work != Work::Review {
            case.stale.add(Stale::all());
        }
        let attempt = case.task.attempt(&ticket.work);
        match halt {
            Some(Halt::Diverged) => {
                let end = Event::Ended { work: ticket.work.clone(), attempt, outcome: Outcome::Interrupted };
                if let Err(fault) = self.append(&ticket.task, vec![end], Durability::Process).await {
                    self.stuck(&ticket.task, &fault);
                    return;
                }
            }
            Some(Halt::Store(fault)) => {
                self.stuck(&ticket.task, &fault);
                return;
            }
            Some(Halt::AtGate(_) | Halt::Stopped | Halt::OverBudget(_)) | None => {}
        }
        if ticket.work == Work::Planning {
            // The desk shows the plan that was just made, also to those who attached to this host.
            self.read_page(&ticket.task).await;
        }
        self.advance(&ticket.task).await;
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

    /// Starts whatever can start, as far as this process carries the task on.
    pub(super) async fn advance(&mut self, id: &TaskId) {
        // Each round starts at most one piece of work and looks again, because starting appends; the number of rounds
        // is bounded by the steps of a plan and the task's own three stretches of work.
        for _ in 0..1_000 {
            match self.advance_once(id).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(fault) => {
                    self.stuck(id, &fault);
                    return;
                }
            }
        }
    }

    async fn advance_once(&mut self, id: &TaskId) -> Result<bool, StoreFault> {
        let Some(case) = self.cases.get(id) else { return Ok(false) };
        let task = case.task.clone();
        if task.is_over() || matches!(task.course, Course::Paused { .. }) || case.drive == Drive::Shown {
            return Ok(false);
        }
        if self.starts_planning(id) {
            return self.begin_or_go_on(id, Work::Planning, &task.planning.state, task.planning.attempts).await;
        }
        match self.cases.get(id).map(|case| case.drive) {
            Some(Drive::Run) => {}
            Some(Drive::Judged) => {
                if !self.refresh_hunks(id).await {
                    return Ok(false);
                }
                return acceptance::advance(self, id).await;
            }
            Some(Drive::Shown | Drive::Planned) | None => return Ok(false),
        }
        if recover::probe(self, id).await? {
            return Ok(true);
        }
        if let Some(work) = self.interrupted(id) {
            self.spawn(id, work);
            return Ok(true);
        }
        if failure::settle(self, id).await? {
            return Ok(true);
        }
        self.read_page(id).await;
        // Looked at again in a moment: nothing starts on texts in between, and nothing ends as if they were there.
        if !self.refresh_hunks(id).await {
            return Ok(false);
        }
        if self.start_step(id).await? {
            return Ok(true);
        }
        acceptance::advance(self, id).await
    }

    fn starts_planning(&self, id: &TaskId) -> bool {
        let Some(case) = self.cases.get(id) else { return false };
        !case.live.contains_key(&Work::Planning)
            && match case.task.planning.state {
                ProgressState::Idle => case.task.asked.is_some(),
                ProgressState::Running => true,
                ProgressState::AtGate(_) | ProgressState::Done { .. } | ProgressState::Failed { .. } => false,
            }
    }

    /// Begins an attempt, or takes up one that was begun by a process that is gone.
    pub(super) async fn begin_or_go_on(
        &mut self,
        id: &TaskId,
        work: Work,
        state: &ProgressState,
        attempts: u32,
    ) -> Result<bool, StoreFault> {
        if *state != ProgressState::Running {
            let attempt = attempts.saturating_add(1);
            self.append(id, vec![Event::Began { work: work.clone(), attempt, because: None }], Durability::Process)
                .await?;
        }
        self.spawn(id, work);
        Ok(true)
    }

    /// A step that is under way by its journal, waits for nobody, and has no work in this process.
    fn interrupted(&self, id: &TaskId) -> Option<Work> {
        let case = self.cases.get(id)?;
        // Without a plan it has nothing to go on by.
        case.plan.as_ref()?;
        case.task.steps.iter().find_map(|run| {
            let work = Work::Step(run.id.clone());
            let doubtful = case.task.in_flight().any(|effect| effect.id.work == work);
            (run.state.is_at_work() && !doubtful && !case.live.contains_key(&work)).then_some(work)
        })
    }

    /// Starts the first step that can start, if a place is free.
    async fn start_step(&mut self, id: &TaskId) -> Result<bool, StoreFault> {
        let now = self.world.clock.now();
        let Some(case) = self.cases.get(id) else { return Ok(false) };
        let Some(plan) = case.plan.clone() else { return Ok(false) };
        if case.task.document != Document::Same {
            return Ok(false);
        }
        let board = schedule::board(&case.task, &plan, case.pending(), now);
        if let Some(until) = board.iter().filter_map(|(_, readiness)| readiness.delayed_until()).min() {
            self.wake_at(until);
        }
        let Some(case) = self.cases.get(id) else { return Ok(false) };
        let busy = case.live.keys().filter(|work| matches!(work, Work::Step(_))).count();
        if busy >= self.world.limits.parallel {
            return Ok(false);
        }
        let ready = board.into_iter().find(|(_, readiness)| *readiness == Readiness::Ready);
        let Some((step, _)) = ready else { return Ok(false) };
        let Some(run) = case.task.step(&step) else { return Ok(false) };
        let because = match &run.state {
            StepState::Failed { cause, message, .. } => Some(format!("{}: {message}", cause.words())),
            StepState::Waiting
            | StepState::Stale
            | StepState::Running { .. }
            | StepState::Repairing { .. }
            | StepState::AtGate(_)
            | StepState::Ambiguous(_)
            | StepState::Blocked { .. }
            | StepState::TakenOver
            | StepState::Done(_)
            | StepState::Skipped => None,
        };
        let began = Event::Began { work: Work::Step(step.clone()), attempt: run.attempts.saturating_add(1), because };
        self.append(id, vec![began], Durability::Process).await?;
        self.spawn(id, Work::Step(step));
        Ok(true)
    }

    /// Spawns work where its journal leaves it.
    pub(super) fn spawn(&mut self, id: &TaskId, work: Work) {
        self.serial = self.serial.saturating_add(1);
        let ticket = Ticket { task: id.clone(), work: work.clone(), serial: self.serial };
        let Some(case) = self.cases.get_mut(id) else { return };
        let run = Run::new(self.world.clone(), case, ticket.clone(), self.inbox.clone());
        let doing: std::pin::Pin<Box<dyn Future<Output = Result<Outcome, Halt>> + Send>> = match &work {
            Work::Planning => Box::pin(planning::run(run, case.page.clone())),
            Work::Acceptance => Box::pin(acceptance::run(run, acceptance::Setting::of(case))),
            Work::Step(step) => Box::pin(steps::run(run, step.clone(), steps::Setting::of_step(case, step))),
            Work::Review => return,
        };
        let handle = watch_over(self.inbox.clone(), ticket, case.task.attempt(&work), doing);
        case.live.insert(work, Live { serial: self.serial, handle });
    }

    /// Spawns a decision on hunks; it answers the person itself when the text is written.
    pub(super) fn spawn_review(&mut self, id: &TaskId, order: review::Order) {
        self.serial = self.serial.saturating_add(1);
        let ticket = Ticket { task: id.clone(), work: Work::Review, serial: self.serial };
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
        case.live.insert(Work::Review, Live { serial: self.serial, handle });
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

    fn end_all(&mut self) {
        for id in self.order.clone() {
            self.end_work(&id, |_| true);
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
        let former = self.desk.borrow().clone();
        let desk = publish::desk(&self.world, &self.remarks, &self.order, &self.cases, &former.desk);
        self.desk.send_replace(Published { serial: former.serial.saturating_add(1), desk: Arc::new(desk) });
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
