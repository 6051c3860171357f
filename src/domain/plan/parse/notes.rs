//! `> note:`, `> question:` and `> answer:`: lines for people and for the next revision, never part of the plan.
//!
//! Read line by line, not as CommonMark's quotes: prose right below a note, without `>`, belongs to CommonMark's
//! quote, but the person who wrote it meant an instruction.
//!
//! **Invariant:** a line without `>` is never part of a note. **Absent:** quotes that hold no such line; they are
//! prose.

use super::blocks::Block;
use super::prose::{self, Headings};
use std::ops::Range;

/// What a remark is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemarkKind {
    /// A person's feedback for the next revision.
    Note,
    /// The planner asks.
    Question,
    /// A person's answer to the question above.
    Answer,
}

impl RemarkKind {
    /// With the key as written in the document.
    pub const ALL: [(&'static str, RemarkKind); 3] =
        [("note", RemarkKind::Note), ("question", RemarkKind::Question), ("answer", RemarkKind::Answer)];
}

/// One remark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// What it is.
    pub kind: RemarkKind,
    /// Whole lines, with the last one's ending.
    pub range: Range<usize>,
    /// Its words on one line.
    pub words: String,
}

/// A quote that holds remarks.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    /// In order.
    pub remarks: Vec<Remark>,
    /// Quote lines before the first remark.
    before: Range<usize>,
    /// Lines without `>`.
    lazy: Vec<Range<usize>>,
}

impl Split {
    /// What of the quote is instruction, as normal lines.
    pub(crate) fn prose(&self, text: &str, headings: Headings) -> Vec<String> {
        let before = prose::settled(text.get(self.before.clone()).unwrap_or(""), headings);
        let mut out: Vec<String> = before.lines().map(str::to_owned).collect();
        let lazy: Vec<&str> = self.lazy.iter().filter_map(|range| text.get(range.clone())).map(str::trim).collect();
        if !lazy.is_empty() {
            if !out.is_empty() {
                out.push(String::new());
            }
            out.push(prose::guarded(&prose::settled(&lazy.join("\n"), headings).replace('\n', " ")));
        }
        out
    }
}

/// Splits a top-level quote into its remarks and the rest; `None` when it holds no remark.
pub(crate) fn split(text: &str, quote: &Block) -> Option<Split> {
    let end = text.len().min(quote.range.end);
    let mut split = Split { remarks: vec![], before: quote.range.start..quote.range.start, lazy: vec![] };
    let mut at = quote.range.start;
    while at < end {
        let rest = text.get(at..)?;
        let length = rest.find('\n').map_or(rest.len(), |found| found + 1);
        let range = at..at + length;
        at = range.end;
        let row = rest.get(..length)?.trim();
        let Some(words) = row.strip_prefix('>').map(str::trim) else {
            if split.remarks.is_empty() {
                split.before.end = range.end;
            } else if !row.is_empty() {
                split.lazy.push(range);
            }
            continue;
        };
        let kind = RemarkKind::ALL.iter().find_map(|(key, kind)| {
            let said = words.get(..key.len()).filter(|said| said.eq_ignore_ascii_case(key))?;
            words.get(said.len()..)?.strip_prefix(':').map(|words| (*kind, words.trim()))
        });
        match (kind, split.remarks.last_mut()) {
            (Some((kind, words)), _) => split.remarks.push(Remark { kind, range, words: words.to_owned() }),
            // A line below a lazy one begins anew for CommonMark's reader too, but a person sees one note.
            (None, Some(last)) if last.range.end == range.start => {
                last.range.end = range.end;
                if !words.is_empty() {
                    last.words.push(' ');
                    last.words.push_str(words);
                }
            }
            (None, Some(_)) => split.lazy.push(range),
            (None, None) => split.before.end = range.end,
        }
    }
    (!split.remarks.is_empty()).then_some(split)
}
