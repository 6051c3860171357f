//! The read side: an immutable snapshot of all that can be seen, and pure queries on it.
//!
//! Invariant: a query never waits and never changes anything. Absent: the engine; it makes the snapshots.

use serde::{Deserialize, Serialize};

/// (being written) An immutable snapshot.
#[derive(Clone, Debug, Default)]
pub struct Desk {}

/// (being written) A read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "read")]
pub enum Query {
    /// All tasks.
    Tasks,
}

/// (being written) What a query gives.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "view")]
pub enum View {
    /// All tasks.
    Tasks,
}

impl Desk {
    /// Answers a query.
    ///
    /// # Errors
    /// The refusal names what was not found.
    pub fn answer(&self, query: &Query) -> Result<View, crate::domain::task::action::Refusal> {
        match query {
            Query::Tasks => Ok(View::Tasks),
        }
    }
}
