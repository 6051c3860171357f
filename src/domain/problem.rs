//! A finding about text that a person may edit. Data, never an error: broken text is still text.
//!
//! Invariant: a range is a byte range of the text the problem was found in. Absent: how any client shows it.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How much a problem matters. Only an `Error` keeps a plan from being approved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing can be approved while it stands.
    Error,
    /// Probably not what was meant.
    Warning,
    /// Worth knowing.
    Hint,
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// Stable and short, `unknown-after`; documentation and tests refer to it.
    pub code: String,
    /// Bytes of the document.
    pub range: Range<usize>,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong and what to do, one sentence.
    pub message: String,
    /// A mend, where one is obvious.
    pub fix: Option<Fix>,
}

/// A mend of a problem: edits of the same document that touch no byte outside their ranges.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fix {
    /// What the action is called.
    pub title: String,
    /// In document order, not overlapping.
    pub edits: Vec<Replacement>,
}

/// Bytes to replace and what with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Replacement {
    /// Bytes of the text as it is.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub text: String,
}
