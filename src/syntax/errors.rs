//! Where the grammar found no way to go on.
//!
//! Invariant: a node inside an error node is not reported again, so that one slip is one error. Absent: judging which
//! errors are new (`domain::symbols::new_errors`).

use super::languages::{self, Grammar};
use crate::domain::symbols::SyntaxError;

/// Longest excerpt in a message, in characters: enough to find the place, short enough for one line.
const EXCERPT: usize = 32;

/// Error and missing nodes in the order of the text.
pub(super) fn of(grammar: &Grammar, text: &str) -> Vec<SyntaxError> {
    let Some(tree) = grammar.parse(text) else { return Vec::new() };
    let mut found = Vec::new();
    languages::walk(tree.root_node(), |node, _| {
        if !node.is_error() && !node.is_missing() {
            return node.has_error();
        }
        let message = if node.is_missing() {
            format!("missing `{}`", node.kind())
        } else {
            match excerpt(text.get(node.byte_range()).unwrap_or_default()) {
                shown if shown.is_empty() => "something is missing here".to_owned(),
                shown => format!("unexpected `{shown}`"),
            }
        };
        let line = u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1);
        found.push(SyntaxError { range: node.byte_range(), line, message });
        false
    });
    found
}

/// The first line that is not blank, cut.
fn excerpt(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
        None => line.to_owned(),
    }
}
