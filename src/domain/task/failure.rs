//! What a failed step does to its task: the `on-failure` setting of its plan.
//!
//! Invariant: pure, and once for each failure; each answer leaves a trace (a gate, a skipped step, no proposal in
//! force) by which the next look finds nothing more to do. Absent: new attempts (`schedule`); this comes after the last.

use super::action::Actor;
use super::event::{Ask, Cause, Event, HandSet};
use super::schedule;
use super::state::*;
use crate::domain::ids::*;
use crate::domain::plan::{ApprovedPlan, OnFailure};

/// What follows from the first failure that has not been dealt with; nothing where there is none.
///
/// A guard that ends an attempt is a failure of the step. A block by policy, budget or a missing model is not: it waits
/// for a person whatever the plan says, since going on would leave out work that nobody has tried.
pub fn consequences(task: &Task, plan: &ApprovedPlan) -> Vec<Event> {
    task.steps.iter().find_map(|run| of_step(task, plan, run)).unwrap_or_default()
}

fn of_step(task: &Task, plan: &ApprovedPlan, run: &StepRun) -> Option<Vec<Event>> {
    let (cause, message) = match &run.state {
        StepState::Failed { cause, message, at } => {
            let tried_again = cause.can_pass() && schedule::retry_at(task, plan, run, *at).is_some();
            (!tried_again).then_some((*cause, message))?
        }
        StepState::Blocked { cause: Cause::Guard, message } => (Cause::Guard, message),
        StepState::Blocked { .. }
        | StepState::Waiting
        | StepState::Running { .. }
        | StepState::Repairing { .. }
        | StepState::AtGate(_)
        | StepState::Ambiguous(_)
        | StepState::Stale
        | StepState::TakenOver
        | StepState::Done(_)
        | StepState::Skipped => return None,
    };
    let step = run.id.clone();
    let why = |what: &str| format!("on-failure: {what} ({}: {message})", cause.words());
    match plan.on_failure(&run.id) {
        OnFailure::Stop => None,
        OnFailure::Ask => {
            let work = Work::Step(step);
            let asked = |gate: &Gate| {
                gate.work == work && gate.attempt == run.attempts && matches!(gate.ask, Ask::Failed { .. })
            };
            if task.gates.iter().any(asked) {
                return None;
            }
            let gate = GateId::new(format!("g{}", task.gates_opened.saturating_add(1)));
            let ask = Ask::Failed { cause, message: message.clone() };
            Some(vec![Event::GateOpened { gate, work, ask }])
        }
        OnFailure::Skip => {
            let actor = Actor { user: "planwright".to_owned(), client: "runtime".to_owned() };
            Some(vec![Event::StepSet { step, to: HandSet::Skipped, actor, reason: Some(why("skip")) }])
        }
        OnFailure::Undo => {
            let stands = task.proposals.iter().any(|standing| standing.step == step);
            stands.then(|| vec![Event::Withdrawn { step, reason: why("undo") }])
        }
    }
}
