//! Budgets: reserved before a call, settled after, shared by parallel steps, kept over restarts (B9).
//!
//! Invariant: a call whose reservation would pass a bound does not start. Absent: prices; money is "not enforced"
//! until a price is configured.

use super::event::{Event, Intent};
use super::state::Task;
use crate::domain::ids::Time;
use crate::domain::plan::Budget;

/// Why these events would pass a bound of the contract, if they would.
pub fn exceeded(task: &Task, budget: &Budget, events: &[Event], now: Time) -> Option<String> {
    let wants: u64 =
        events.iter().map(|event| if let Event::Intended { reserve, .. } = event { *reserve } else { 0 }).sum();
    let is_turn = |event: &Event| matches!(event, Event::Intended { what: Intent::Model { .. }, .. });
    let starts = events.iter().any(|event| matches!(event, Event::Intended { .. }));
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
    let began = task.approval.as_ref().map(|approval| approval.at)?;
    if let Some(most) = budget.seconds
        && now.since(began) > most.saturating_mul(1_000)
    {
        return Some(format!("the budget is {most} s of wall time since the approval, and they are over"));
    }
    None
}
