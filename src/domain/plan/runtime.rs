//! What the runtime asks of an approved plan: the enforcement tables by step, in the words of the engine.
//!
//! Invariant: every answer comes from the normal form's tables; nothing is read from the plan a second way. Absent:
//! what becomes of a step.

use super::approve::ApprovedPlan;
use super::model::{Check, OnFailure, Retry};
use super::normal::step_digests;
use crate::domain::ids::{ContentHash, StepId};
use crate::domain::policy::paths::{Rights, WriteRight};
use std::time::Duration;

impl ApprovedPlan {
    /// Each step with the digest of its definition and inputs.
    pub fn step_digests(&self) -> Vec<(StepId, ContentHash)> {
        step_digests(self.normal())
    }

    /// How a step's result is judged.
    pub fn checks(&self, id: &StepId) -> Vec<Check> {
        self.enforcement(id).map(|rules| rules.checks.clone()).unwrap_or_default()
    }

    /// Rounds inside an attempt after a failed check.
    pub fn repairs(&self, id: &StepId) -> u32 {
        self.enforcement(id).map_or(0, |rules| rules.repair)
    }

    /// Wall time of a command of the step; `most` where the plan says nothing of its own.
    pub fn timeout(&self, id: &StepId, most: Duration) -> Duration {
        let said = self.enforcement(id).and_then(|rules| rules.timeout);
        said.map_or(most, Duration::from_secs)
    }

    /// New attempts after a failure.
    pub fn retry(&self, id: &StepId) -> Retry {
        self.enforcement(id).map_or(Retry { times: 0, every: None }, |rules| rules.retry.clone())
    }

    /// What a failure does to the task.
    pub fn on_failure(&self, id: &StepId) -> OnFailure {
        self.enforcement(id).map(|rules| rules.on_failure).unwrap_or_default()
    }

    /// It waits for the last decision on a hunk.
    pub fn waits_for_review(&self, id: &StepId) -> bool {
        self.enforcement(id).is_some_and(|rules| rules.waits_review)
    }

    /// Whether a step may write this path: by its own rules, and within the contract's scope.
    pub fn may_write(&self, id: &StepId, path: &str) -> bool {
        let own = self.enforcement(id).is_some_and(|rules| rules.write_rule(path).is_some());
        own && self.normal().tables.contract.scope.matches(path)
    }

    /// The rights of a step's model; `tools` where the plan names none.
    pub fn rights(&self, id: &StepId, tools: Vec<String>) -> Rights {
        let Some(rules) = self.enforcement(id) else { return Rights::default() };
        let write = rules.write.iter();
        let write = write
            .map(|rule| WriteRight { glob: rule.pattern.clone(), new: rule.new, focus: rule.focus.clone() })
            .collect();
        let read = rules.read.patterns().to_vec();
        let tools = if rules.tools.is_empty() { tools } else { rules.tools.clone() };
        Rights { write, read, allow: rules.commands.clone(), tools, checks: rules.checks.clone() }
    }
}
