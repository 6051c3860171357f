//! A step that failed for good does to its task what its plan says (`domain::task::failure`).
//!
//! Invariant: only an approved plan decides it, and only while somebody carries the task on. Absent: the rule itself.

use super::owner::Owner;
use crate::domain::ids::TaskId;
use crate::domain::task::failure;
use crate::ports::{Durability, StoreFault};

/// Appends what follows from a failure. True when something was appended.
pub(super) async fn settle(owner: &mut Owner, id: &TaskId) -> Result<bool, StoreFault> {
    let Some(case) = owner.cases.get(id) else { return Ok(false) };
    let Some(plan) = &case.plan else { return Ok(false) };
    let events = failure::consequences(&case.task, plan);
    let any = !events.is_empty();
    owner.append(id, events, Durability::Process).await?;
    Ok(any)
}
