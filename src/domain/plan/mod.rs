//! A plan: what will be done, in which order, with what, and how it will be judged.
//!
//! Invariant: the Markdown document is the source and parsing it never fails; the digest is taken over the normal
//! form, and nothing else of the plan reaches a model or the enforcement. Absent: anything about a running task.

pub mod approve;
pub mod check;
pub mod compare;
pub mod edit;
pub mod globs;
mod graph;
pub mod json;
pub mod keys;
pub mod model;
pub mod normal;
pub mod outlook;
pub mod parse;
pub mod render;
pub mod runtime;
pub mod small;

pub use approve::{ApprovalRefusal, ApprovedPlan, approve};
pub use check::{Facts, compile};
pub use globs::Globs;
pub use model::*;
pub use normal::{
    ContractRules, Enforcement, Normal, PlanPrompt, StepRules, Versions, WriteRule, normal, step_digests,
};
pub use parse::{Layout, Parsed, StepLayout, parse};
pub use render::render;

#[cfg(test)]
mod tests;
