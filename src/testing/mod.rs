//! In-memory ports and fixtures, for tests and benches only.
//!
//! Invariant: an in-memory port keeps the promises of its trait, so that what passes on it holds on the real one.
//! Absent: anything the shipped binary uses.

pub mod memory_arena;
pub mod memory_store;

pub use memory_store::MemoryStore;
pub mod clock;
pub mod editor;
#[cfg(feature = "testing")]
pub mod failpoint;
pub mod memory_documents;
pub mod memory_model;
pub mod memory_workspace;
pub mod projection;
pub mod script;
pub mod scripted_model;

#[cfg(test)]
mod git_oracle;

/// Says that a test, or a part of it, was left out and why. Straight to standard error: the printing macros are held
/// back from a test that passes, and then nobody would know.
pub fn skipped(why: &str) {
    use std::io::Write as _;
    let _closed_stream_hears_nothing = writeln!(std::io::stderr(), "\nSKIPPED: {why}");
}
