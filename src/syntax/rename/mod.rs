//! Rename a symbol across the workspace, by Rust's rules for names and without types.
//!
//! Invariant: an edit without a doubt is right as far as the given texts are the whole program; a local variable of
//! the same name is never touched. What syntax cannot decide (a method of an unknown receiver, a macro's tokens, a
//! comment) becomes an edit with its doubt, which "accept all" leaves out. Absent: moving files (a module is not
//! renamed), names made by macros, and other languages.

mod judge;
mod known;
mod names;
mod program;
mod scopes;
mod target;
mod tokens;
mod types;

use super::languages::{self, Role};
use super::references::{LineStarts, words};
use crate::domain::problem::Replacement;
use crate::ports::{FileEdits, MarkedEdit, RuleRefusal, Source};
use judge::{Judge, Target, Verdict};
use program::Program;
use tree_sitter::Node;

/// The edits of a rename, file by file in the order given.
///
/// # Errors
/// A symbol that no text or more than one defines, a name that is no identifier, and a new name that is taken where
/// the old one is used.
pub(super) fn of(sources: &[Source], symbol: &str, to: &str) -> Result<Vec<FileEdits>, RuleRefusal> {
    let program = Program::new(sources);
    check_name(to)?;
    let target = target::find(&program, symbol)?;
    if target.name == to {
        return Err(refusal(format!("`{}` is called `{to}` already; name another", target.label)));
    }
    let judge = Judge { program: &program, target: &target, to };
    let mut found = Vec::new();
    let mut touched = Vec::new();
    for file in 0..program.files.len() {
        let edits = edits(&judge, file);
        if edits.is_empty() {
            continue;
        }
        if edits.iter().any(|edit| edit.doubt.is_none()) {
            touched.push(file);
        }
        if let Some(file) = program.files.get(file) {
            found.push(FileEdits { path: file.source.path.clone(), edits });
        }
    }
    check_free(&program, &target, &touched, to)?;
    Ok(found)
}

fn refusal(message: String) -> RuleRefusal {
    RuleRefusal { message, candidates: Vec::new() }
}

fn check_name(to: &str) -> Result<(), RuleRefusal> {
    let plain = to.strip_prefix("r#").unwrap_or(to);
    let first = plain.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    if !first || !plain.chars().all(|c| c.is_alphanumeric() || c == '_') || plain != to {
        return Err(refusal(format!(
            "`{to}` is no identifier; use letters, digits and `_`, not beginning with a digit"
        )));
    }
    if languages::all().any(|grammar| grammar.keywords().contains(&to)) {
        return Err(refusal(format!("`{to}` is a keyword; choose another name")));
    }
    Ok(())
}

/// All occurrences in one file that are the target or may be.
fn edits(judge: &Judge<'_, '_>, file: usize) -> Vec<MarkedEdit> {
    let text = judge.program.source(file);
    let places = words(text, &judge.target.name);
    let (Some(grammar), false) = (judge.program.grammar(file), places.is_empty()) else { return Vec::new() };
    let Some(root) = judge.program.root(file) else { return Vec::new() };
    let mut edits = Vec::new();
    for range in places {
        let Some(node) = root.named_descendant_for_byte_range(range.start, range.end) else { continue };
        let verdict = if grammar.role(node) == Role::Name {
            // A raw identifier is longer than the word in it; whether `r#` must stay is not known here.
            if node.byte_range() == range { judge.of(file, node) } else { Verdict::Not }
        } else {
            match quoted(grammar, node) {
                Some(place) if as_code(text, &range, &judge.target.name) => {
                    Verdict::Doubt(judge.to.to_owned(), format!("it stands in a {place}"))
                }
                Some(_) | None => Verdict::Not,
            }
        };
        let (new, doubt) = match verdict {
            Verdict::Certain(new) => (new, None),
            Verdict::Doubt(new, why) => (new, Some(why)),
            Verdict::Not => continue,
        };
        edits.push(MarkedEdit { edit: Replacement { range, text: new }, doubt });
    }
    edits
}

/// Whether a node lies in a comment or a string.
fn quoted(grammar: &languages::Grammar, node: Node<'_>) -> Option<&'static str> {
    let mut at = Some(node);
    while let Some(node) = at {
        match grammar.role(node) {
            Role::Comment => return Some("comment"),
            Role::Text => return Some("string"),
            Role::Other | Role::Item(_) | Role::Name | Role::Attribute | Role::Import => at = node.parent(),
        }
    }
    None
}

/// Whether a word in prose is meant as code: a word like `send` is mostly just a word.
fn as_code(text: &str, range: &std::ops::Range<usize>, name: &str) -> bool {
    if name.contains('_') || name.chars().skip(1).any(|c| c.is_uppercase() || c.is_numeric()) {
        return true;
    }
    let before = text.get(..range.start).and_then(|text| text.chars().next_back());
    let after = text.get(range.end..).and_then(|text| text.chars().next());
    matches!(before, Some('`' | ':' | '.' | '{' | '"' | '#'))
        || matches!(after, Some('`' | ':' | '(' | '}' | '"' | '!'))
}

/// Refuses a new name that already means something where the old one is used.
fn check_free(program: &Program<'_>, target: &Target<'_>, touched: &[usize], to: &str) -> Result<(), RuleRefusal> {
    let member = !target.owners.is_empty();
    let taken = target::members(program, to)
        .into_iter()
        .filter(|place| place.owner.is_some_and(|owner| target.owners.contains(&owner)))
        .map(|place| place.item)
        .chain(target.owners.iter().filter_map(|owner| program.variant(*owner, to)))
        .next();
    if let Some(item) = taken.filter(|_| member) {
        let text = program.source(item.file);
        let (line, _) = LineStarts::of(text).line(text, item.node.start_byte());
        return Err(refusal(format!(
            "`{to}` stands beside `{}` already, at {}:{line}; choose another name",
            target.label,
            program.path(item.file)
        )));
    }
    if member {
        return Ok(());
    }
    for file in touched {
        let (Some(grammar), Some(root)) = (program.grammar(*file), program.root(*file)) else { continue };
        let text = program.source(*file);
        for range in words(text, to) {
            let Some(node) = root.named_descendant_for_byte_range(range.start, range.end) else { continue };
            let apart = matches!(node.kind(), "field_identifier" | "shorthand_field_identifier")
                || node.parent().is_some_and(|parent| matches!(parent.kind(), "lifetime" | "label"));
            if grammar.role(node) != Role::Name || apart {
                continue;
            }
            let (line, shown) = LineStarts::of(text).line(text, range.start);
            return Err(refusal(format!(
                "`{to}` is used already at {}:{line} (`{}`), where `{}` is used too; choose another name",
                program.path(*file),
                shown.trim(),
                target.label
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
