//! What a task wants to change, and what became of it in the user's text.
//!
//! Invariant: a proposal is written once and never changed; a hunk's state is derived from the text, its decision
//! from the journal. Absent: reading or writing files.

pub mod model;

pub mod matcher;

pub mod hunks;
pub mod subset;

pub mod accept;
mod align;
mod aside;
mod carry;
mod edit;
mod exact;
pub mod settle;
pub mod spot;
pub mod spots;

pub mod enforce;
pub mod formatting;
pub mod stats;
pub mod unified;

pub use accept::{Conflict, edits_at, plan_undo, plan_write};
pub use enforce::{ChangedFile, violations};
pub use hunks::file_change;
pub use model::*;
pub use spot::{HunkStanding, derive};
pub use spots::Spots;
pub use stats::Stats;
pub use subset::apply_subset;

#[cfg(test)]
pub(crate) mod tests;
