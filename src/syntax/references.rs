//! Where a name is used, by name alone; and where a text imports.
//!
//! Invariant: strings and comments hold no references. Absent: telling two things of one name apart (`rename` does).

use super::languages::{self, Grammar, Role};
use crate::domain::symbols::Reference;
use crate::ports::Source;
use std::ops::Range;
use tree_sitter::Node;

/// Uses in all texts, in the order given. A text that does not hold the name at all is not parsed.
pub(super) fn of(sources: &[Source], name: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    for source in sources {
        let Some(grammar) = languages::of(&source.path) else { continue };
        let places = words(&source.text, name);
        if places.is_empty() {
            continue;
        }
        let Some(tree) = grammar.parse(&source.text) else { continue };
        let lines = LineStarts::of(&source.text);
        for range in places {
            if name_at(grammar, tree.root_node(), &range).is_none() {
                continue;
            }
            let (line, text) = lines.line(&source.text, range.start);
            found.push(Reference { path: source.path.clone(), range, line, text: text.trim().to_owned() });
        }
    }
    found
}

/// Import declarations, outer and inner, in the order of the text.
pub(super) fn imports(grammar: &Grammar, text: &str) -> Vec<Range<usize>> {
    let Some(tree) = grammar.parse(text) else { return Vec::new() };
    let mut found = Vec::new();
    languages::walk(tree.root_node(), |node, _| {
        let import = grammar.role(node) == Role::Import;
        if import {
            found.push(node.byte_range());
        }
        !import
    });
    found
}

/// The identifier that covers exactly this range.
pub(super) fn name_at<'t>(grammar: &Grammar, root: Node<'t>, range: &Range<usize>) -> Option<Node<'t>> {
    let node = root.named_descendant_for_byte_range(range.start, range.end)?;
    (node.byte_range() == *range && grammar.role(node) == Role::Name).then_some(node)
}

/// Where `name` stands as a whole word.
pub(super) fn words(text: &str, name: &str) -> Vec<Range<usize>> {
    if name.is_empty() {
        return Vec::new();
    }
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .filter(|(start, _)| {
            let before = text.get(..*start).and_then(|t| t.chars().next_back());
            let after = text.get(start + name.len()..).and_then(|t| t.chars().next());
            !before.is_some_and(word) && !after.is_some_and(word)
        })
        .map(|(start, _)| start..start + name.len())
        .collect()
}

/// Byte offsets of the lines of a text.
pub(super) struct LineStarts(Vec<usize>);

impl LineStarts {
    pub(super) fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The 1-based number and the text of the line around a byte.
    pub(super) fn line<'a>(&self, text: &'a str, byte: usize) -> (u32, &'a str) {
        let number = self.0.partition_point(|start| *start <= byte).max(1);
        let start = self.0.get(number - 1).copied().unwrap_or(0);
        let end = self.0.get(number).copied().unwrap_or(text.len());
        (u32::try_from(number).unwrap_or(u32::MAX), text.get(start..end).unwrap_or_default())
    }
}
