//! Which steps can start now, and what the others wait for.
//!
//! Invariant: a pure function of state, plan and time; nothing starts that is not `Ready`. Absent: starting.

use super::state::*;
use crate::domain::ids::*;
use crate::domain::plan::ApprovedPlan;

/// Whether a step can start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Readiness {
    /// It can start now.
    Ready,
    /// These must be over first.
    Waits(Vec<StepId>),
    /// The last decision on a hunk must be made first.
    WaitsForReview,
    /// It failed in a way that can pass, and is tried again then.
    Delayed(Time),
    /// The approval does not reach it.
    BeyondApproval,
    /// It is under way, over, or needs a person.
    NotNow,
}

impl Readiness {
    /// When a delayed step is due.
    pub fn delayed_until(&self) -> Option<Time> {
        match self {
            Readiness::Delayed(until) => Some(*until),
            Readiness::Ready
            | Readiness::Waits(_)
            | Readiness::WaitsForReview
            | Readiness::BeyondApproval
            | Readiness::NotNow => None,
        }
    }
}

/// Every step with its readiness, in document order.
pub fn board(task: &Task, plan: &ApprovedPlan, pending: usize, now: Time) -> Vec<(StepId, Readiness)> {
    task.steps.iter().map(|run| (run.id.clone(), readiness(task, plan, run, pending, now))).collect()
}

fn readiness(task: &Task, plan: &ApprovedPlan, run: &StepRun, pending: usize, now: Time) -> Readiness {
    match &run.state {
        StepState::Waiting | StepState::Stale => {}
        StepState::Failed { cause, at, .. } => {
            return match retry_at(task, plan, run, *at) {
                Some(due) if cause.can_pass() && due <= now => Readiness::Ready,
                Some(due) if cause.can_pass() => Readiness::Delayed(due),
                Some(_) | None => Readiness::NotNow,
            };
        }
        StepState::Running { .. }
        | StepState::Repairing { .. }
        | StepState::AtGate(_)
        | StepState::Ambiguous(_)
        | StepState::Blocked { .. }
        | StepState::TakenOver
        | StepState::Done(_)
        | StepState::Skipped => return Readiness::NotNow,
    }
    if !plan.included(&run.id) {
        return Readiness::BeyondApproval;
    }
    let open: Vec<StepId> = plan
        .predecessors(&run.id)
        .iter()
        .filter(|id| !task.step(id).is_some_and(|before| before.state.is_over()))
        .cloned()
        .collect();
    if !open.is_empty() {
        return Readiness::Waits(open);
    }
    if plan.waits_for_review(&run.id) && pending > 0 {
        return Readiness::WaitsForReview;
    }
    Readiness::Ready
}

/// When a failed step is tried again by itself: backoff doubling from two seconds up to the ten minutes of B5, with a
/// jitter of up to a quarter that is made from the ids, so that a replay gives the same time.
pub fn retry_at(task: &Task, plan: &ApprovedPlan, run: &StepRun, failed: Time) -> Option<Time> {
    let retry = plan.retry(&run.id);
    if run.failures > retry.times {
        return None;
    }
    let base: u64 = match retry.every {
        Some(seconds) => seconds.saturating_mul(1_000),
        None => 2_000u64.saturating_mul(1 << run.failures.saturating_sub(1).min(8)).min(600_000),
    };
    let seed = ContentHash::of(format!("{} {} {}", task.id, run.id, run.attempts));
    let spread = u64::from_str_radix(seed.short().get(..4).unwrap_or("0"), 16).unwrap_or(0);
    let jitter = base / 4 * spread / 0xffff;
    Some(Time(failed.0.saturating_add(i64::try_from(base.saturating_add(jitter)).unwrap_or(i64::MAX))))
}
