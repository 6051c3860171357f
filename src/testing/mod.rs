//! In-memory ports and fixtures, for tests and benches only.
//!
//! Invariant: an in-memory port keeps the promises of its trait, so that what passes on it holds on the real one.
//! Absent: anything the shipped binary uses.

pub mod memory_arena;
pub mod memory_store;

pub use memory_store::MemoryStore;
pub mod clock;
pub mod memory_model;
pub mod memory_workspace;
pub mod projection;
pub mod script;
pub mod scripted_model;

#[cfg(test)]
mod git_oracle;
