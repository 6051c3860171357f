//! The scoped context: what of the workspace a model should see for a goal at a place.
//!
//! Invariant: a pure function of goal, place, texts and tables, never over its budget; what was relevant and did not
//! fit is listed, not silently dropped. Absent: reading files, and relevance by meaning; names and nearness rank.

mod around;
mod goal;
pub mod tokens;

pub use tokens::estimate_tokens;

use crate::domain::ids::WorkspacePath;
use crate::domain::symbols::{Symbol, SymbolKind, SymbolTable};
use crate::domain::task::action::Place;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::ops::Range;
use std::sync::Arc;

/// Parts that did not fit are listed up to here; more are counted by nobody and would only be noise.
const OMITTED: usize = 20;
/// A type longer than this is shown by its signature.
const WHOLE_TYPE: u64 = 400;

/// The text of a file; `None` when it cannot be read.
pub type Texts<'a> = dyn Fn(&WorkspacePath) -> Option<Arc<str>> + 'a;
/// Byte ranges of the imports of a text.
pub type Imports<'a> = dyn Fn(&WorkspacePath, &str) -> Vec<Range<usize>> + 'a;

/// What a context is made from.
pub struct Scope<'a> {
    /// In the user's words.
    pub goal: &'a str,
    /// Where the goal points, if anywhere.
    pub place: Option<&'a Place>,
    /// The workspace's symbols.
    pub table: &'a SymbolTable,
    /// The workspace's texts.
    pub texts: &'a Texts<'a>,
    /// What a text imports.
    pub imports: &'a Imports<'a>,
    /// Tokens, as `estimate_tokens` counts them.
    pub budget: u64,
}

/// Why a part is there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// The goal points at it.
    Place,
    /// It holds what the goal points at; the item's path.
    Around(String),
    /// The imports of the file.
    Imports,
    /// The place names it; the definition's path.
    Definition(String),
    /// It uses the item at the place; the user's path.
    Use(String),
    /// Its name has words of the goal; its path.
    Goal(String),
    /// Nothing nearer was found: what the file defines.
    Outline,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Place => f.write_str("the place"),
            Why::Around(path) => write!(f, "`{path}`, around the place"),
            Why::Imports => f.write_str("imports of the file"),
            Why::Definition(path) => write!(f, "`{path}`, named at the place"),
            Why::Use(path) if path.is_empty() => f.write_str("a use of it"),
            Why::Use(path) => write!(f, "a use of it in `{path}`"),
            Why::Goal(path) => write!(f, "`{path}`, by words of the goal"),
            Why::Outline => f.write_str("what the file defines"),
        }
    }
}

/// A piece of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Which file.
    pub path: WorkspacePath,
    /// 1-based, first and last.
    pub lines: (u32, u32),
    /// Why it is there.
    pub why: Why,
    /// What is shown: the lines, or documentation and signature of an item.
    pub text: String,
    /// Estimated, with its heading.
    pub tokens: u64,
}

/// A piece that did not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Omitted {
    /// Which file.
    pub path: WorkspacePath,
    /// 1-based, first and last.
    pub lines: (u32, u32),
    /// Why it would have been there.
    pub why: Why,
    /// What it would have cost.
    pub tokens: u64,
}

/// What a model sees of the code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// Most relevant first.
    pub parts: Vec<Part>,
    /// The next ones, most relevant first.
    pub omitted: Vec<Omitted>,
    /// Of all parts.
    pub tokens: u64,
}

/// The context of a goal.
pub fn scope(scope: &Scope<'_>) -> Context {
    let mut context = Context::default();
    let candidates = match scope.place.and_then(|place| around::candidates(scope, place)) {
        Some(candidates) => candidates,
        None => goal::candidates(scope),
    };
    let mut seen: BTreeSet<(WorkspacePath, (u32, u32), String)> = BTreeSet::new();
    for part in candidates {
        if !seen.insert((part.path.clone(), part.lines, part.text.clone())) {
            continue;
        }
        if context.tokens.saturating_add(part.tokens) <= scope.budget {
            context.tokens += part.tokens;
            context.parts.push(part);
        } else if context.omitted.len() < OMITTED {
            let Part { path, lines, why, tokens, text: _ } = part;
            context.omitted.push(Omitted { path, lines, why, tokens });
        }
    }
    context
}

impl Context {
    /// For a prompt: each part under its place, fenced.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            out.push_str(&heading(part));
            let fence = fence(&part.text);
            let language = part.path.extension().unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = write!(out, "{fence}{language}\n{}\n{fence}\n\n", part.text.trim_end_matches(['\n', '\r']));
        }
        out
    }

    /// For a person: the same, and what was left out.
    pub fn preview(&self) -> String {
        let mut out = self.render();
        if !self.omitted.is_empty() {
            out.push_str("Left out, over the budget:\n");
            for part in &self.omitted {
                let (first, last) = part.lines;
                let _ = writeln!(out, "- {}:{first}-{last} ({}; {} tokens)", part.path, part.why, part.tokens);
            }
        }
        out
    }
}

fn heading(part: &Part) -> String {
    let (first, last) = part.lines;
    format!("{}:{first}-{last} ({})\n", part.path, part.why)
}

/// Longer than any run of backticks in the text, so that the text cannot end it.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// A part with its costs.
fn part(path: &WorkspacePath, lines: (u32, u32), why: Why, text: String) -> Part {
    let mut part = Part { path: path.clone(), lines, why, text, tokens: 0 };
    // Fences, language and the line ends around them.
    part.tokens = estimate_tokens(&heading(&part)) + estimate_tokens(&part.text) + 4;
    part
}

/// A definition as others see it: a type whole if it is short, else documentation and signature.
fn shown(path: &WorkspacePath, text: &str, symbol: &Symbol, why: Why) -> Part {
    let lines = lines_of(text, &symbol.range);
    let whole = text.get(symbol.range.clone()).unwrap_or_default();
    let is_type = match symbol.kind {
        SymbolKind::Struct
        | SymbolKind::Enum
        | SymbolKind::Trait
        | SymbolKind::Const
        | SymbolKind::Static
        | SymbolKind::Type => true,
        SymbolKind::Function
        | SymbolKind::Method
        | SymbolKind::Variant
        | SymbolKind::Field
        | SymbolKind::Impl
        | SymbolKind::Module
        | SymbolKind::Macro => false,
    };
    if is_type && estimate_tokens(whole) <= WHOLE_TYPE {
        return part(path, lines, why, whole.to_owned());
    }
    let above = text.get(symbol.range.start..line_start(text, symbol.name_range.start)).unwrap_or_default();
    part(path, lines, why, format!("{above}{}", symbol.signature))
}

/// 1-based first and last line of a range; a line end at its end does not begin another.
fn lines_of(text: &str, range: &Range<usize>) -> (u32, u32) {
    let count =
        |end: usize| text.as_bytes().get(..end).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
    let first = count(range.start);
    let body = text.get(range.clone()).unwrap_or_default().trim_end();
    let last = first + body.matches('\n').count();
    let number = |line: usize| u32::try_from(line + 1).unwrap_or(u32::MAX);
    (number(first), number(last))
}

fn line_start(text: &str, byte: usize) -> usize {
    text.get(..byte).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// The words that could be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// How far another file is: 0 the same, 1 the same folder, 2 the same top folder, 3 elsewhere.
fn distance(from: &WorkspacePath, to: &WorkspacePath) -> u32 {
    let folder = |path: &WorkspacePath| path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let top = |path: &WorkspacePath| path.as_str().split('/').next().unwrap_or_default().to_owned();
    match () {
        () if from == to => 0,
        () if folder(from) == folder(to) => 1,
        () if top(from) == top(to) => 2,
        () => 3,
    }
}

#[cfg(test)]
mod tests;
