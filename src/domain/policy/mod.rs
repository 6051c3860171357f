//! What is allowed, decided at the tool and never in the prompt: tools, paths, commands; and which checks a project has.
//!
//! Invariant: rights are data handed in from the approved plan; no text that a model, a file or a command wrote takes
//! part in a decision here. Absent: asking a person; a refusal only says that it can be asked.

pub mod commands;
pub mod cost;
pub mod detect;
pub mod measures;
pub mod paths;
pub mod tools;
