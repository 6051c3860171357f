//! Lines with their endings, and byte offsets as line and column.
//!
//! Invariant: the lines of a text put together are the text. Absent: Unicode line breaks (U+2028, VT, NEL); editors
//! that count them are outnumbered, and a mirror that counts them drifts from those that do not.

use std::ops::Range;

/// The lines of a text, each with its ending; an empty text has none, and a final LF opens no further line.
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A line without its ending (LF or CRLF).
pub fn body(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |rest| rest.strip_suffix('\r').unwrap_or(rest))
}

/// In what a client counts columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// 16-bit code units, the protocol's default.
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

impl Encoding {
    fn units(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// A place as clients name it, both 0-based.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// Lines above.
    pub line: u32,
    /// Units of the encoding to the left.
    pub column: u32,
}

/// Where the lines of one text start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineIndex {
    /// First bytes of the lines; the first is 0, and a final ending opens one more, empty line (as editors count).
    starts: Vec<usize>,
    len: usize,
}

impl LineIndex {
    /// Reads the text once.
    pub fn new(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Self { starts, len: text.len() }
    }

    /// How many lines an editor shows: at least one.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Bytes of a line with its ending; `None` below the last.
    pub fn range(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.starts.get(line)?;
        Some(start..self.starts.get(line + 1).copied().unwrap_or(self.len))
    }

    /// The 0-based line a byte stands in; bytes behind the end stand in the last.
    pub fn line_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// A byte offset as a client counts it. An offset inside a character means the character's start.
    pub fn position(&self, text: &str, byte: usize, encoding: Encoding) -> Position {
        let line = self.line_of(byte);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let end = floor_boundary(text, byte.min(self.len));
        let column = text.get(start..end).unwrap_or("").chars().map(|c| encoding.units(c)).sum::<usize>();
        Position { line: clamp(line), column: clamp(column) }
    }

    /// The byte a client means. A column behind the line's end means its end (before the ending), a line below the
    /// last means the end of the text, and a column inside a character means the character's start.
    pub fn offset(&self, text: &str, position: Position, encoding: Encoding) -> usize {
        let Some(range) = usize::try_from(position.line).ok().and_then(|line| self.range(line)) else {
            return self.len;
        };
        let line = body(text.get(range.clone()).unwrap_or(""));
        let mut left = usize::try_from(position.column).unwrap_or(usize::MAX);
        let mut at = range.start;
        for c in line.chars() {
            let units = encoding.units(c);
            if left < units {
                break;
            }
            left -= units;
            at += c.len_utf8();
        }
        at
    }
}

/// The byte a client means, without an index of all lines: for one place in a text that is about to change. As
/// [`LineIndex::offset`], but for one place that it has no name for: one column behind a line that ends in CRLF is
/// between the two. An editor that shows the CR of a mixed file as a character means that.
pub fn seek(text: &str, position: Position, encoding: Encoding) -> usize {
    let Some(start) = line_start(text.as_bytes(), position.line) else { return text.len() };
    let rest = text.get(start..).unwrap_or("");
    let mut left = usize::try_from(position.column).unwrap_or(usize::MAX);
    let mut at = start;
    for c in rest.chars() {
        let units = encoding.units(c);
        let ending = c == '\n' || (c == '\r' && left != 1 && text.as_bytes().get(at + 1) == Some(&b'\n'));
        if left < units || ending {
            break;
        }
        left -= units;
        at += c.len_utf8();
    }
    at
}

/// Where a line starts. Most of the text is only counted, a block at a time.
fn line_start(bytes: &[u8], line: u32) -> Option<usize> {
    const BLOCK: usize = 1 << 12;
    let mut left = usize::try_from(line).ok()?;
    let mut at = 0;
    if left == 0 {
        return Some(0);
    }
    while let Some(block) = bytes.get(at..at + BLOCK) {
        let ended = block.iter().fold(0_usize, |sum, byte| sum + usize::from(*byte == b'\n'));
        if ended >= left {
            break;
        }
        left -= ended;
        at += BLOCK;
    }
    for (near, byte) in bytes.iter().enumerate().skip(at) {
        left -= usize::from(*byte == b'\n');
        if left == 0 {
            return Some(near + 1);
        }
    }
    None
}

fn clamp(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The nearest character boundary at or before a byte.
fn floor_boundary(text: &str, byte: usize) -> usize {
    (0..=byte.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
