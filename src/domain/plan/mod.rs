//! A plan: what will be done, in which order, with what, and how it will be judged.
//!
//! Invariant: the Markdown document is the source and parsing it never fails; the digest is taken over the normal
//! form, and nothing else of the plan reaches a model or the enforcement. Absent: anything about a running task.

pub mod model;

pub use model::*;
pub mod approve;
pub use approve::ApprovedPlan;
