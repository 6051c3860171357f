//! How a text is written: line endings, indentation, byte order mark, final newline.
//!
//! Invariant: read from the text alone, by majority; a tie goes to the first seen. Absent: `.editorconfig`; the
//! bytes that stand there outweigh what a file says should stand there.

use super::lines::{body, lines};

/// What ends a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// LF.
    Lf,
    /// CR LF.
    CrLf,
}

impl Ending {
    /// Its bytes.
    pub fn as_str(self) -> &'static str {
        match self {
            Ending::Lf => "\n",
            Ending::CrLf => "\r\n",
        }
    }

    /// Of one line; `None` for a last line without one.
    pub fn of(line: &str) -> Option<Self> {
        if line.ends_with("\r\n") {
            Some(Ending::CrLf)
        } else if line.ends_with('\n') {
            Some(Ending::Lf)
        } else {
            None
        }
    }
}

/// What one level of indentation is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indent {
    /// A tab.
    Tabs,
    /// So many spaces.
    Spaces(usize),
}

/// How a text is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Of most lines; LF where there is none.
    pub ending: Ending,
    /// Both endings occur.
    pub mixed: bool,
    /// Of most indented lines; `None` where none is indented.
    pub indent: Option<Indent>,
    /// The text starts with U+FEFF.
    pub bom: bool,
    /// The last line has an ending (or the text is empty).
    pub final_newline: bool,
}

impl Style {
    /// Reads it off a text.
    pub fn of(text: &str) -> Self {
        let all = lines(text);
        let crlf = all.iter().filter(|line| Ending::of(line) == Some(Ending::CrLf)).count();
        let lf = all.iter().filter(|line| Ending::of(line) == Some(Ending::Lf)).count();
        let first = all.first().and_then(|line| Ending::of(line)).unwrap_or(Ending::Lf);
        let ending = match crlf.cmp(&lf) {
            std::cmp::Ordering::Greater => Ending::CrLf,
            std::cmp::Ordering::Less => Ending::Lf,
            std::cmp::Ordering::Equal => first,
        };
        Self {
            ending,
            mixed: crlf > 0 && lf > 0,
            indent: indent_of(&all),
            bom: text.starts_with('\u{feff}'),
            final_newline: text.is_empty() || text.ends_with('\n'),
        }
    }
}

/// The step between a line and the one above it where it goes in: the commonest of 2, 4, 8 and other widths.
fn indent_of(all: &[&str]) -> Option<Indent> {
    let mut tabs = 0;
    let mut widths = [0_usize; 9];
    let mut above = 0;
    let mut spaced = 0;
    for line in all.iter().map(|line| body(line)).filter(|line| !line.trim().is_empty()) {
        if line.starts_with('\t') {
            tabs += 1;
            continue;
        }
        let width = line.len() - line.trim_start_matches(' ').len();
        spaced += usize::from(width > 0);
        if let Some(count) = width.checked_sub(above).filter(|step| *step >= 2).and_then(|step| widths.get_mut(step)) {
            *count += 1;
        }
        above = width;
    }
    if tabs > spaced {
        return Some(Indent::Tabs);
    }
    let best = (2..widths.len()).rev().max_by_key(|width| widths.get(*width).copied().unwrap_or(0))?;
    let seen = widths.get(best).copied().unwrap_or(0) > 0;
    if seen { Some(Indent::Spaces(best)) } else { (tabs > 0).then_some(Indent::Tabs) }
}
