//! What planwright *is*, as values and functions: plans, tasks, change sets, policy, the agent's loop.
//!
//! Invariant: everything here is a pure function of its arguments. Time and ids come in as arguments, text comes
//! in as text. Deliberately absent: tokio, files, clocks, randomness, SQLite, HTTP, LSP types, tracing. The lints
//! below make the compiler say so (`.clippy.toml` lists what is banned and why).
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod connect;
pub mod ids;
pub mod problem;
pub mod redact;
pub mod symbols;
pub mod text;

pub mod agent;
pub mod change;
pub mod context;
pub mod plan;
pub mod policy;
pub mod prompt;
pub mod task;
pub mod verify;
