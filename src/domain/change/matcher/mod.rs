//! The edit matcher: from what a model asks for to the new text of a file, or a refusal that says what to do.
//!
//! Invariant: nothing is fuzzy. A search matches byte for byte (line endings apart) and once, or nothing happens;
//! lines that the request leaves equal keep their bytes, a new line gets the ending of the lines around it, and BOM
//! and final newline stay. An edit that is already there is a success without a change.
//! Absent: the syntax gate and the rights to the file (the caller's), and tolerant tiers, which come later.

mod elided;
mod pairs;
mod symbol;
mod weave;

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a model asks for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditRequest {
    /// The whole item anew.
    Symbol {
        /// Bytes of the item as it stands, documentation and attributes included.
        range: Range<usize>,
        /// The new item, at any indentation. Documentation stays as it is if the new item brings none, and so do
        /// attributes.
        item: String,
    },
    /// Replacements, all meant on the text as it stands.
    Pairs(Vec<Pair>),
}

/// One replacement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// Text that stands in the file exactly once.
    pub search: String,
    /// What stands there afterwards.
    pub replace: String,
}

/// What became of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Edited {
    /// The file already says so.
    AlreadyThere,
    /// The whole new text.
    Text(String),
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The search stands nowhere.
    NotFound,
    /// It stands in several places.
    Ambiguous,
    /// Two pairs want the same text.
    Overlap,
    /// Nothing to search for, or an item without text.
    Empty,
    /// A comment stands for code that was left out.
    Elided,
    /// The indentation cannot be carried over.
    Indentation,
    /// The item's range does not fit the text.
    Stale,
}

/// A refusal as a tool error tells it. Lines are 1-based.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct EditRefusal {
    /// What kind.
    pub kind: RefusalKind,
    /// What is wrong and what to do.
    pub message: String,
    /// Which pair, counted from 1.
    pub pair: Option<usize>,
    /// The region most like the search.
    pub nearest: Option<Box<Nearest>>,
    /// Lines where the search starts, if in several places.
    pub candidates: Vec<usize>,
}

/// A region that is nearly the one searched for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Nearest {
    /// Where it starts.
    pub line: usize,
    /// The first line that differs.
    pub differs_at: usize,
    /// That line as the search has it.
    pub wanted: String,
    /// That line as the file has it.
    pub found: String,
}

impl EditRefusal {
    fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), pair: None, nearest: None, candidates: Vec::new() }
    }
}

/// Carries a request out on a text.
pub fn edit(text: &str, request: &EditRequest) -> Result<Edited, EditRefusal> {
    match request {
        EditRequest::Symbol { range, item } => symbol::replace(text, range.clone(), item),
        EditRequest::Pairs(list) => pairs::replace(text, list),
    }
}

/// Model text with LF endings and without a byte order mark.
fn with_lf(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

#[cfg(test)]
mod tests;
