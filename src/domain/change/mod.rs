//! What a task wants to change, and what became of it in the user's text.
//!
//! Invariant: a proposal is written once and never changed; a hunk's state is derived from the text, its decision
//! from the journal. Absent: reading or writing files.

pub mod model;

pub use model::*;
