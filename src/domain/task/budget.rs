//! Budgets: reserved before a call, settled after, shared by parallel steps, kept over restarts (B9).
//!
//! Invariant: a call whose reservation would pass a bound does not start. Wall time runs only while an effect is under
//! way: not while the task is paused, waits for a person, or no process is at it. Absent: prices; money is "not enforced"
//! until a price is configured.

use super::event::{Event, Intent};
use super::state::Task;
use crate::domain::ids::{Time, Work};
use crate::domain::plan::Budget;

/// Why these events would pass a bound of the contract, if they would.
pub fn exceeded(task: &Task, budget: &Budget, events: &[Event], now: Time) -> Option<String> {
    let wants: u64 =
        events.iter().map(|event| if let Event::Intended { reserve, .. } = event { *reserve } else { 0 }).sum();
    let is_turn = |event: &Event| matches!(event, Event::Intended { what: Intent::Model { .. }, .. });
    let starts = events.iter().any(|event| matches!(event, Event::Intended { effect, .. } if is_bound(&effect.work)));
    if !starts {
        return None;
    }
    if let Some(most) = budget.tokens
        && wants > 0
        && task.spend.tokens().saturating_add(task.spend.reserved).saturating_add(wants) > most
    {
        return Some(format!(
            "the budget is {most} tokens; {} are used, {} are held for calls under way and the next call may need {wants}",
            task.spend.tokens(),
            task.spend.reserved
        ));
    }
    if let Some(most) = budget.turns
        && events.iter().any(is_turn)
        && task.spend.turns >= most
    {
        return Some(format!("the budget is {most} turns, and all are used"));
    }
    if let Some(most) = budget.seconds
        && task.busy(now) > most.saturating_mul(1_000)
    {
        return Some(format!("the budget is {most} s of wall time with work under way, and they are over"));
    }
    None
}

/// What a person decided on hunks is written, and what was there before and what was kept is judged, whatever is used up:
/// none of it makes more work.
pub(super) fn is_bound(work: &Work) -> bool {
    match work {
        Work::Planning | Work::Step(_) => true,
        Work::Baseline | Work::Acceptance | Work::Review => false,
    }
}
