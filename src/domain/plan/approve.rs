//! (being written)

use super::model::Retry;
use crate::domain::ids::StepId;

/// (being written)
#[derive(Clone, PartialEq, Debug)]
pub struct ApprovedPlan {}

impl ApprovedPlan {
    /// (being written)
    pub fn included(&self, _step: &StepId) -> bool {
        true
    }
    /// (being written)
    pub fn predecessors(&self, _step: &StepId) -> Vec<StepId> {
        Vec::new()
    }
    /// (being written)
    pub fn waits_for_review(&self, _step: &StepId) -> bool {
        false
    }
    /// (being written)
    pub fn retry(&self, _step: &StepId) -> Retry {
        Retry { times: 2, every: None }
    }
}
