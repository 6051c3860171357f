//! Prose and settings lines in their normal form.
//!
//! Normal prose is Markdown again: a paragraph is one line, bullets are `*` and numbers count up, code stands in
//! fences byte for byte, comments and notes are gone. What differs only in layout becomes equal, and normal prose is
//! its own normal form. Bullets of instructions are `*` so that they never run together with a step's settings,
//! which are written with `-`.
//!
//! **Invariant:** `prose(prose(x)) == prose(x)` for every text; what would not come to rest is kept literally, in a
//! fence. **Absent:** emphasis, links, HTML, hard line breaks: they are characters like others.

use super::blocks::{Block, Kind, blocks};
use super::notes;
use std::ops::Range;

/// Text on one line with where each byte of it came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Without line breaks, comments, and blanks at its ends.
    pub text: String,
    /// For each byte of `text` its place in the source.
    pub map: Vec<usize>,
    /// Where the source ends.
    pub end: usize,
}

impl Line {
    /// The source range of a range of `text`.
    pub(crate) fn source(&self, range: Range<usize>) -> Range<usize> {
        let last = range.end.checked_sub(1).and_then(|last| self.map.get(last)).map(|last| last + 1);
        let start = self.map.get(range.start).copied().unwrap_or(self.end);
        if range.is_empty() { start..start } else { start..last.unwrap_or(self.end).max(start) }
    }
}

/// A run of inline source as one line: breaks become one blank, comments go, inline code stays byte for byte.
pub(crate) fn line(text: &str, range: Range<usize>, block: &Block) -> Line {
    // By bisection: a hostile line may hold a hundred thousand of them.
    let around = |ranges: &[Range<usize>], at: usize| {
        let next = ranges.partition_point(|range| range.start <= at);
        next.checked_sub(1).and_then(|found| ranges.get(found)).filter(|range| at < range.end).cloned()
    };
    let mut out = Line { end: range.end, ..Line::default() };
    let mut chars = text.get(range.clone()).unwrap_or("").char_indices().peekable();
    let blank = |c: char| matches!(c, ' ' | '\t');
    let mut after_comment = false;
    while let Some((offset, c)) = chars.next() {
        let at = range.start + offset;
        if let Some(comment) = around(&block.comments, at) {
            while chars.next_if(|(offset, _)| range.start + offset < comment.end).is_some() {}
            // A blank takes its place, so that what stood around it does not become another comment or one word.
            if !out.text.is_empty() && !out.text.ends_with(blank) {
                out.text.push(' ');
                out.map.push(at);
            }
            after_comment = true;
            continue;
        }
        let in_code = around(&block.code, at).is_some_and(|code| code.start < at);
        if matches!(c, '\r' | '\n') {
            if !in_code {
                let broken =
                    out.text.ends_with('\\') && out.text.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1;
                let kept = out.text.strip_suffix('\\').filter(|_| broken).unwrap_or(&out.text);
                let kept = kept.trim_end_matches(blank).len();
                out.text.truncate(kept);
                out.map.truncate(kept);
            }
            while chars.next_if(|(_, c)| matches!(c, '\r' | '\n') || blank(*c)).is_some() {}
            for _ in 0..block.quotes {
                if chars.next_if(|(_, c)| *c == '>').is_some() {
                    while chars.next_if(|(_, c)| blank(*c)).is_some() {}
                }
            }
            if !out.text.is_empty() {
                out.text.push(' ');
                out.map.push(at);
            }
            continue;
        }
        if blank(c) && !in_code && (out.text.is_empty() || (after_comment && out.text.ends_with(blank))) {
            continue;
        }
        after_comment = false;
        out.text.push(c);
        out.map.extend(at..at + c.len_utf8());
    }
    let kept = out.text.trim_end_matches(blank).len();
    out.text.truncate(kept);
    out.map.truncate(kept);
    out
}

/// A paragraph's line.
pub(crate) fn paragraph(text: &str, block: &Block) -> Line {
    line(text, block.range.clone(), block)
}

/// A `#` heading's words, without the marks.
pub(crate) fn heading(text: &str, block: &Block) -> Line {
    let cut = text.get(block.range.clone()).unwrap_or("");
    let marks = cut.len() - cut.trim_start_matches('#').len();
    let body = cut.trim_end();
    let open = body.trim_end_matches('#');
    let closed = open.len() < body.len() && (open.ends_with([' ', '\t']) || open.is_empty()) && open.len() >= marks;
    let end = if closed { open.trim_end().len() } else { body.len() };
    line(text, block.range.start + marks..block.range.start + end.max(marks), block)
}

/// Puts a backslash where text that is to be a paragraph would begin another block.
pub(crate) fn guarded(text: &str) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && text.get(digits..).is_some_and(|rest| rest.starts_with(['.', ')'])) {
        let (number, rest) = text.split_at(digits);
        return format!("{number}\\{rest}");
    }
    if text.starts_with(['#', '-', '+', '*', '>', '`', '~', '=', '_', '<']) {
        format!("\\{text}")
    } else {
        text.to_owned()
    }
}

/// Which headings prose may hold at its top level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Headings {
    /// None: any heading ends the goal.
    None,
    /// The fourth level and below: those above end a step.
    Fourth,
}

/// The normal form of the words of a goal.
pub fn goal_prose(markdown: &str) -> String {
    settled(markdown, Headings::None)
}

/// The normal form of a step's instruction.
pub fn prose(markdown: &str) -> String {
    settled(markdown, Headings::Fourth)
}

pub(crate) fn settled(markdown: &str, headings: Headings) -> String {
    let mut now = once(markdown, headings);
    for _ in 0..4 {
        let next = once(&now, headings);
        if next == now {
            return now;
        }
        now = next;
    }
    fenced("", &format!("{}\n", markdown.trim_end().replace("\r\n", "\n"))).join("\n")
}

fn once(markdown: &str, headings: Headings) -> String {
    write(markdown, &blocks(markdown), headings)
}

/// Top-level blocks of a text as normal prose. Notes, questions and comments are left out.
pub(crate) fn write(text: &str, blocks: &[Block], headings: Headings) -> String {
    let mut parts = Vec::new();
    for block in blocks {
        let lines = match &block.kind {
            Kind::Quote => match notes::split(text, block) {
                Some(split) => split.prose(text, headings),
                None => lines(text, block),
            },
            Kind::Heading { level, atx: true } if *level < 4 || headings == Headings::None => {
                let words = text.get(block.range.clone()).unwrap_or("");
                vec![guarded(&line(words, 0..words.len(), block).text)]
            }
            Kind::Heading { .. }
            | Kind::Paragraph
            | Kind::Code { .. }
            | Kind::List { .. }
            | Kind::Item
            | Kind::Html
            | Kind::Rule => lines(text, block),
        };
        parts.push((block, lines));
    }
    joined(parts, false).join("\n")
}

/// Lines of sibling blocks, a blank line between them. Neighbouring lists of one sort are one list.
fn joined(parts: Vec<(&Block, Vec<String>)>, tight: bool) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut before: Option<&Block> = None;
    for (block, lines) in parts {
        if lines.is_empty() {
            continue;
        }
        let close = match (before.map(|before| &before.kind), &block.kind) {
            (Some(Kind::List { start: a }), Kind::List { start: b }) => a.is_some() == b.is_some(),
            // Only a bullet with text may stand right under a paragraph without becoming part of it.
            (Some(Kind::Paragraph), Kind::List { start: None }) => {
                tight && lines.first().is_some_and(|first| first.len() > 2)
            }
            _ => false,
        };
        if !out.is_empty() && !close {
            out.push(String::new());
        }
        out.extend(lines);
        before = Some(block);
    }
    out
}

fn lines(text: &str, block: &Block) -> Vec<String> {
    let children = || joined(block.children.iter().map(|child| (child, lines(text, child))).collect(), true);
    match &block.kind {
        Kind::Paragraph => Some(paragraph(text, block).text).filter(|line| !line.is_empty()).into_iter().collect(),
        Kind::Heading { level, atx: true } => {
            vec![format!("{} {}", "#".repeat(usize::from(*level)), heading(text, block).text).trim_end().to_owned()]
        }
        Kind::Heading { .. } => underlined(text, block),
        Kind::Code { info, text } => fenced(info, text),
        Kind::List { start } => {
            let mut out = Vec::new();
            for (n, item) in (start.unwrap_or(0)..).zip(&block.children) {
                let mark = if start.is_some() { format!("{}. ", n.min(999_999_999)) } else { "* ".to_owned() };
                out.extend(indented(lines(text, item), &mark));
            }
            out
        }
        Kind::Item => children(),
        Kind::Quote => {
            let quoted = |line: String| if line.is_empty() { ">".to_owned() } else { format!("> {line}") };
            children().into_iter().map(quoted).collect()
        }
        Kind::Html => residue(text, block),
        Kind::Rule => vec!["---".to_owned()],
    }
}

fn indented(lines: Vec<String>, mark: &str) -> Vec<String> {
    let indent = " ".repeat(mark.len());
    if lines.is_empty() {
        return vec![mark.trim_end().to_owned()];
    }
    let put = |(n, line): (usize, String)| match (n, line.is_empty()) {
        (0, _) => format!("{mark}{line}"),
        (_, true) => line,
        (_, false) => format!("{indent}{line}"),
    };
    lines.into_iter().enumerate().map(put).collect()
}

/// Text above `---` or `===`: a paragraph and, for the dashes, the rule that was meant.
fn underlined(text: &str, block: &Block) -> Vec<String> {
    let cut = text.get(block.range.clone()).unwrap_or("");
    let words = cut.rfind('\n').unwrap_or(0);
    let mut out = vec![line(text, block.range.start..block.range.start + words, block).text];
    out.push(String::new());
    out.push(if cut.ends_with('-') { "---".to_owned() } else { "===".to_owned() });
    out
}

/// A fence that the text cannot close.
fn fenced(info: &str, text: &str) -> Vec<String> {
    let mark = if info.contains('`') { '~' } else { '`' };
    let longest = text.split(|c| c != mark).map(str::len).max().unwrap_or(0);
    let fence = mark.to_string().repeat(3.max(longest + 1));
    let mut out = vec![format!("{fence}{info}")];
    out.extend(text.strip_suffix('\n').map(|text| text.split('\n').map(str::to_owned)).into_iter().flatten());
    out.push(fence);
    out
}

/// Where the comments of a block that begins with one are. An unclosed one reaches to the block's end.
pub(crate) fn comments(text: &str, block: &Block) -> Vec<Range<usize>> {
    let cut = text.get(block.range.clone()).unwrap_or("");
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(start) = cut.get(at..).and_then(|rest| rest.find("<!--")).map(|found| at + found) {
        // `<!-->` is a whole comment.
        let close = cut.get(start + 2..).and_then(|rest| rest.find("-->")).map(|found| start + 2 + found + 3);
        let end = close.unwrap_or(cut.len());
        out.push(block.range.start + start..block.range.start + end);
        at = end;
    }
    out
}

fn residue(text: &str, block: &Block) -> Vec<String> {
    let plain = Block { comments: comments(text, block), ..block.clone() };
    let rest = paragraph(text, &plain).text;
    if rest.is_empty() { vec![] } else { vec![guarded(&rest)] }
}
