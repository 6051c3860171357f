//! Text as bytes, lines and positions: what every other part means by "line 12", "column 4" and "this edit".
//!
//! Invariant: nothing here changes a byte that it was not told to change, and no offset or position that a client
//! sends can make it panic; what does not fit is clamped (positions) or refused (edits).
//! Absent: documents, versions and URIs. They belong to whoever owns the text.
//!
//! A line ends with LF; a CR directly before it belongs to the ending. A *lone* CR is no line break: git, compilers and
//! diff tools see none, and a hunk must be what `git apply` would see. The language server protocol does count it, and
//! its clients do not: Neovim and Helix show it as a character, VS Code sends no text that has one.

mod edits;
mod lines;
pub mod sanitize;
mod style;

pub use edits::{EditProblem, apply, invert, map_offset, map_range};
pub use lines::{Encoding, LineIndex, Position, body, lines, seek};
pub use style::{Ending, Indent, Style};

/// A number of things in words: `1 hunk`, `2 hunks`.
pub fn counted<N: std::fmt::Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    format!("{number} {what}{}", if number == N::from(1) { "" } else { "s" })
}

#[cfg(test)]
mod tests;
