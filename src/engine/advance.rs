//! What starts next in a task that this process carries on.
//!
//! Invariant: one thing starts at a time, and what it appends is looked at before the next. Nothing starts on texts that
//! are about to be others. Absent: which steps may start (`domain::task::schedule`), and doing them (`spawn`).

use super::case::Drive;
use super::owner::Owner;
use super::{acceptance, failure, recover};
use crate::domain::ids::*;
use crate::domain::task::event::*;
use crate::domain::task::schedule::{self, Readiness};
use crate::domain::task::state::*;
use crate::ports::{Durability, StoreFault};

impl Owner {
    /// Starts whatever can start, as far as this process carries the task on.
    pub(super) async fn advance(&mut self, id: &TaskId) {
        // Each round starts at most one piece of work and looks again, because starting appends; the number of rounds
        // is bounded by the steps of a plan and the task's own four stretches of work.
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
        if recover::probe(self, id) {
            return Ok(true);
        }
        // Ahead of the steps, so that a check which fails knows what to wait for.
        if self.start_baseline(id).await? {
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
}
