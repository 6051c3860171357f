//! What may be done: commands, and which checks a project has.
//!
//! Invariant: a pure function of its arguments decides; no word of a model widens anything. Absent: asking a person.

pub mod commands;
pub mod detect;
//! What is allowed, decided at the tool and never in the prompt: tools, paths, commands.
//! Invariant: rights are data handed in from the approved plan; no text that a model, a file or a command wrote takes
//! part in a decision here. Absent: asking a person; a refusal only says that it can be asked.
pub mod paths;
pub mod tools;
