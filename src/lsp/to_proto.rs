//! Bytes as lines and columns, in what the client counts.
//!
//! **Invariant:** a position said here and read back by `from_proto` is the same byte, but for a byte between CR and LF.
//! Absent: URIs (the session's).

use crate::domain::problem::Replacement;
use crate::domain::text::{Encoding, LineIndex};
use std::ops;
use tower_lsp::lsp_types::{Position, Range, TextEdit};

/// Where a byte is.
pub fn position(index: &LineIndex, text: &str, byte: usize, encoding: Encoding) -> Position {
    let found = index.position(text, byte, encoding);
    Position::new(found.line, found.column)
}

/// Where bytes are.
pub fn range(index: &LineIndex, text: &str, range: &ops::Range<usize>, encoding: Encoding) -> Range {
    Range::new(position(index, text, range.start, encoding), position(index, text, range.end, encoding))
}

/// Edits in the order of the text, all meant on it, as a client takes them.
pub fn text_edits(text: &str, edits: &[Replacement], encoding: Encoding) -> Vec<TextEdit> {
    let index = LineIndex::new(text);
    edits
        .iter()
        .map(|edit| TextEdit { range: range(&index, text, &edit.range, encoding), new_text: edit.text.clone() })
        .collect()
}
