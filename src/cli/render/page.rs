//! Pages, and what editors ask for, as text for a terminal.
//!
//! Invariant: as in `show`, nothing is hidden in a text that a person decides by. Absent: Markdown as anything but text.

use super::{Paper, Tone};
use crate::desk::{CodeView, CompiledView, ItemView, PageView};

/// A page: where it is, and what it says.
pub fn page(paper: &mut Paper, view: &PageView) {
    paper.block("", Tone::Plain, &view.text);
    paper.field("page", Tone::Faint, &view.path.display().to_string());
}

/// What the compiler says.
pub fn compiled(paper: &mut Paper, view: &CompiledView) {
    paper.put(Tone::Strong, &view.revision.to_string()).end();
    for problem in &view.problems {
        paper.put(Tone::Plain, "  ").put_visibly(Tone::Plain, &format!("{}: {}", problem.code, problem.message)).end();
    }
    for line in &view.contract {
        paper.put(Tone::Plain, "  ").put_visibly(Tone::Plain, line).end();
    }
}

/// What could stand there.
pub fn candidates(paper: &mut Paper, found: &[String]) {
    for one in found {
        paper.put(Tone::Plain, one).end();
    }
}

/// A piece of code.
pub fn code(paper: &mut Paper, found: Option<&CodeView>) {
    match found {
        None => {
            paper.put(Tone::Warn, "there is no such definition").end();
        }
        Some(code) => {
            paper.put(Tone::Strong, &format!("{}:{}", code.path, code.line.saturating_add(1))).end();
            paper.block("  ", Tone::Plain, &code.text);
        }
    }
}

/// The item around a place.
pub fn item(paper: &mut Paper, view: &ItemView) {
    let (first, last) = view.lines;
    paper.field("item", Tone::Plain, view.symbol.as_deref().unwrap_or("none"));
    paper.field("lines", Tone::Plain, &format!("{first} to {last}"));
    paper.field("check", Tone::Plain, view.check.as_deref().unwrap_or("none"));
}
