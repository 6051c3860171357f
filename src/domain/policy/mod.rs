//! What may be done: commands, and which checks a project has.
//!
//! Invariant: a pure function of its arguments decides; no word of a model widens anything. Absent: asking a person.

pub mod commands;
pub mod detect;
