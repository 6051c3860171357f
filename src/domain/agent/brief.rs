//! What an agent is told when its step starts, once and for all of the step.
//!
//! Invariant: everything the frozen start is made from stands here, so that a restart makes the same bytes. Absent:
//! how any of it was gathered.

use super::forms::CallForm;
use crate::domain::ids::StepId;
use crate::domain::policy::paths::Rights;
use serde::{Deserialize, Serialize};

/// The brief of one attempt at one step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Brief {
    /// The task's goal in the user's words.
    pub goal: String,
    /// Prompt text of the contract, from the plan's normal form.
    pub contract: String,
    /// Prompt text of the step: heading, settings, instruction.
    pub step: String,
    /// Which step.
    pub step_id: StepId,
    /// What is expected of it.
    pub kind: AgentKind,
    /// One line for each artifact, reference and log (C14).
    pub index: String,
    /// Scoped code.
    pub context: String,
    /// Where the task stood when the step began.
    pub progress: String,
    /// Of finished steps, in order.
    pub summaries: Vec<String>,
    /// Held by the runtime; said to the model only so that it does not try in vain.
    pub rights: Rights,
    /// When the loop stops.
    pub limits: Limits,
    /// How this model writes calls, as far as known.
    pub form: CallForm,
    /// Instructions of the person, before the step began.
    pub said: Vec<String>,
    /// What failed in the former attempt.
    pub learnt: Option<String>,
}

/// Kinds of steps that a model does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// It changes files.
    Edit,
    /// It reads and reports.
    Explore,
}

/// Bounds of one attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Exchanges with the model.
    pub turns: u32,
    /// Rounds after a failed check.
    pub repairs: u32,
    /// Upper bound of one answer, tokens.
    pub max_tokens: u32,
    /// Input and output tokens that the task may still use; absent means not bounded.
    pub tokens_left: Option<u64>,
}

impl Default for Limits {
    /// B5 and F4.
    fn default() -> Self {
        Self { turns: 15, repairs: 2, max_tokens: 4_096, tokens_left: None }
    }
}
