//! What a task wants to change, and what became of it in the user's text.
//!
//! Invariant: a proposal is written once and never changed; a hunk's state is derived from the text, its decision
//! from the journal. Absent: reading or writing files.

pub mod model;

pub mod hunks;
pub mod subset;

pub mod accept;
mod align;
pub mod spot;

pub use accept::{Conflict, plan_undo, plan_write};
pub use hunks::file_change;
pub use model::*;
pub use spot::{HunkStanding, Spot, derive};
pub use subset::apply_subset;

#[cfg(test)]
mod tests;
