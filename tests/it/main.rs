//! Tests of the whole program: the real binary, the real wire, the real file system.
//!
//! One binary with one module a concern (a file that is no module here is found by `tidy`). Invariant: no test waits
//! for a time; each waits for the thing itself, with a deadline. Absent: tests of single functions; they stand beside
//! what they test.
#![allow(clippy::print_stdout, reason = "what was counted is part of what a test shows")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

mod agent;
mod bytes;
mod edges;
mod edit;
mod editors;
#[cfg(target_os = "linux")]
mod escape;
mod failure;
mod faults;
mod input;
mod isolated;
mod kills;
mod lsp;
mod neovim;
mod opened;
mod oracle;
mod planner;
mod processes;
mod readme;
mod rights;
mod small;
mod takeover;
mod terminal;
mod tidy;
mod tour;
mod traps;
