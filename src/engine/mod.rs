//! The shell around the domain: one owner of decisions, one inbox.
//!
//! Invariant: an event is committed before its effect starts, and only this module appends. Absent: any decision
//! about what a task may do; that is `domain::task`.

pub mod handle;
pub mod tools;
pub use handle::{EngineHandle, Update};
