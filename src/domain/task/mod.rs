//! A task's life: what happened (events), where it stands (state), what a person may do (actions), what comes next.
//!
//! Invariant: the state is a pure function of the journal; only `decide` makes events, only `evolve` changes state.
//! Absent: the contents of plans, proposals and payloads; the state names them by hash.

pub mod action;
pub mod budget;
pub mod cost;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod facts;
pub mod failure;
pub mod journal;
pub mod schedule;
pub mod standing;
pub mod state;

pub use action::{Action, Actor};
pub use event::{Event, Recorded};
pub use journal::Journal;
pub use state::{StepState, Task};

#[cfg(test)]
mod tests;
