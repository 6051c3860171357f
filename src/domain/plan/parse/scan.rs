//! Reading the value of one setting from left to right.
//!
//! **Invariant:** every byte of a value is either taken into the plan or named by a problem. **Absent:** the keys.

use super::prose::Line;
use crate::domain::problem::{Fix, Problem, Replacement, Severity};
use std::ops::Range;

/// A value with the bytes of the document where it stands, delimiters left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// As meant.
    pub text: String,
    /// In the document.
    pub range: Range<usize>,
    /// With its delimiters.
    pub outer: Range<usize>,
}

/// A cursor over a setting's value.
pub(crate) struct Scan<'a> {
    line: &'a Line,
    at: usize,
    /// Values in the order in which they were taken, for later findings.
    pub parts: Vec<Part>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// A reader gave up.
    pub bad: bool,
    start: usize,
}

impl<'a> Scan<'a> {
    /// Starts behind the key.
    pub(crate) fn new(line: &'a Line, at: usize) -> Self {
        let mut scan = Self { line, at, parts: vec![], problems: vec![], bad: false, start: at };
        scan.blanks();
        scan.start = scan.at;
        scan
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a str {
        self.line.text.get(self.at..).unwrap_or("")
    }

    /// The document's bytes of what is left.
    pub(crate) fn here(&self) -> Range<usize> {
        self.line.source(self.at..self.line.text.len())
    }

    /// The document's bytes from an earlier place to this one.
    pub(crate) fn since(&self, start: usize) -> Range<usize> {
        let cut = self.line.text.get(start..self.at).unwrap_or("");
        let blanks = cut.len() - cut.trim_start().len();
        self.line.source(start + blanks..start + cut.trim_end().len().max(blanks))
    }

    /// Where it stands, in the line.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    /// Nothing is left.
    pub(crate) fn done(&self) -> bool {
        self.rest().is_empty()
    }

    /// Takes these characters and the blanks behind them.
    pub(crate) fn eat(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
            self.blanks();
        }
        found
    }

    /// Takes a whole word.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '`', ',', ';', ')', '(']);
        let found = self.rest().strip_prefix(word).is_some_and(ends);
        found && self.eat(word)
    }

    /// Takes a separator and the word behind it (`, in`), or nothing; the separator may be missing.
    pub(crate) fn eat_clause(&mut self, word: &str) -> bool {
        let start = self.at;
        self.eat(",");
        if self.eat_word(word) && !self.done() {
            return true;
        }
        self.at = start;
        false
    }

    /// Takes a `,` or `;` between two values.
    pub(crate) fn separator(&mut self) -> bool {
        self.eat(",") || self.eat(";")
    }

    /// Takes a value: what stands between backticks, else what goes up to `, `, `; `, the end or one of `stops`.
    pub(crate) fn value(&mut self, stops: &[&str]) -> Option<Part> {
        self.take(stops).inspect(|part| self.parts.push(part.clone()))
    }

    /// The same, without noting it among the parts.
    pub(crate) fn take(&mut self, stops: &[&str]) -> Option<Part> {
        if let Some((inner, end)) = quoted(self.rest()) {
            let part = Part {
                text: self.rest().get(inner.clone())?.to_owned(),
                range: self.line.source(self.at + inner.start..self.at + inner.end),
                outer: self.line.source(self.at..self.at + end),
            };
            self.at += end;
            self.blanks();
            return Some(part);
        }
        let rest = self.rest();
        let seps = [", ", "; "].iter().chain(stops).filter_map(|stop| rest.find(stop)).min().unwrap_or(rest.len());
        let text = rest.get(..seps)?.trim_end_matches([' ', '\t', ',', ';']);
        if text.is_empty() {
            return None;
        }
        let part = self.plain(text);
        self.at += text.len();
        self.blanks();
        Some(part)
    }

    /// A part without delimiters that begins here.
    fn plain(&self, text: &str) -> Part {
        let range = self.line.source(self.at..self.at + text.len());
        Part { text: text.to_owned(), outer: range.clone(), range }
    }

    /// Takes free text up to `; ` outside inline code.
    pub(crate) fn words(&mut self) -> Part {
        let rest = self.rest();
        let mut end = 0;
        while let Some(tail) = rest.get(end..).filter(|tail| !tail.is_empty()) {
            if tail.starts_with("; ") || tail == ";" {
                break;
            }
            end += match quoted(tail) {
                Some((_, length)) => length,
                None => {
                    let run = tail.len() - tail.trim_start_matches('`').len();
                    run.max(tail.chars().next().map_or(1, char::len_utf8))
                }
            };
        }
        let text = rest.get(..end).unwrap_or(rest).trim_end();
        let part = self.plain(text);
        self.at += end;
        self.eat(";");
        self.parts.push(part.clone());
        part
    }

    /// Takes all that is left.
    pub(crate) fn all(&mut self) -> Part {
        let part = self.plain(self.rest());
        self.at = self.line.text.len();
        self.parts.push(part.clone());
        part
    }

    /// Takes a whole number.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest().get(..digits)?.parse().ok()?;
        self.at += digits;
        self.blanks();
        Some(number)
    }

    /// Notes an error.
    pub(crate) fn error(&mut self, code: &str, range: Range<usize>, message: impl Into<String>) {
        self.problem(code, Severity::Error, range, message, None);
    }

    /// Notes a finding.
    pub(crate) fn problem(
        &mut self,
        code: &str,
        severity: Severity,
        range: Range<usize>,
        message: impl Into<String>,
        fix: Option<Fix>,
    ) {
        self.problems.push(Problem { code: code.to_owned(), range, severity, message: message.into(), fix });
    }

    /// What is left was not understood.
    pub(crate) fn finish(&mut self, key: &str, grammar: &str) {
        // That there is no value at all has been said.
        let empty = self.start >= self.line.text.len();
        if (self.bad || !self.done()) && self.problems.is_empty() && !empty {
            if self.done() {
                self.at = self.start;
            }
            let rest: String = self.rest().chars().take(60).collect();
            let message = format!("`{rest}` cannot be read here; `{key}` takes {grammar}");
            self.error("unreadable-value", self.here(), message);
        }
        self.at = self.line.text.len();
    }
}

/// A fix of one replacement.
pub(crate) fn fix(title: impl Into<String>, range: Range<usize>, text: impl Into<String>) -> Option<Fix> {
    Some(Fix { title: title.into(), edits: vec![Replacement { range, text: text.into() }] })
}

/// Inline code at the start of a text: the range of its content, and its whole length. As CommonMark has it, one
/// blank at both ends is part of the delimiters.
fn quoted(text: &str) -> Option<(Range<usize>, usize)> {
    let run = text.len() - text.trim_start_matches('`').len();
    if run == 0 {
        return None;
    }
    let mut at = run;
    loop {
        let open = at + text.get(at..)?.find('`')?;
        let length = text.get(open..)?.len() - text.get(open..)?.trim_start_matches('`').len();
        if length == run {
            let content = text.get(run..open)?;
            let padded = content.len() > 2 && content.starts_with(' ') && content.ends_with(' ');
            let inner = if padded && !content.trim().is_empty() { run + 1..open - 1 } else { run..open };
            return Some((inner, open + run));
        }
        at = open + length;
    }
}

/// A value that is one plain word as it stands, any other between backticks.
pub(crate) fn worded(value: &str) -> String {
    let plain =
        !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if plain { value.to_owned() } else { ticked(value) }
}

/// Puts a value between backticks so that `quoted` gives it back. No value is nothing at all.
pub(crate) fn ticked(value: &str) -> String {
    if value.is_empty() {
        return String::new();
    }
    let longest = value.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let edges = value.starts_with('`') || value.ends_with('`');
    let blanks = value.starts_with(' ') && value.ends_with(' ') && !value.trim().is_empty();
    let pad = if edges || blanks { " " } else { "" };
    format!("{ticks}{pad}{value}{pad}{ticks}")
}
