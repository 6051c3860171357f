//! The context of a goal without a place: definitions whose names have words of the goal.
//!
//! Invariant: the order depends on the words and the table alone. Absent: meaning; a synonym finds nothing.

use super::{Part, Scope, Why, part, shown, words};
use crate::domain::ids::WorkspacePath;
use crate::domain::symbols::{Symbol, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

/// Definitions considered; the budget usually ends earlier.
const MOST: usize = 60;
/// Words shorter than this are in too many names.
const SHORTEST: usize = 3;
/// A word counts as another's form (`retry`, `retries`, `configured`) if their first letters agree, this many.
const STEM: usize = 4;
/// Words of goals that say nothing about where.
const EMPTY: [&str; 46] = [
    "about", "add", "all", "and", "any", "are", "can", "change", "code", "does", "each", "every", "file", "for",
    "from", "function", "have", "here", "how", "instead", "into", "its", "make", "more", "must", "need", "new", "not",
    "one", "only", "our", "should", "some", "that", "the", "them", "then", "there", "this", "use", "when", "where",
    "which", "with", "without", "you",
];

/// Most relevant first.
pub(super) fn candidates(scope: &Scope<'_>) -> Vec<Part> {
    let goal: BTreeSet<String> = words(scope.goal)
        .flat_map(pieces)
        .filter(|word| word.chars().count() >= SHORTEST && !EMPTY.contains(&word.as_str()))
        .collect();
    let exact: BTreeSet<&str> = words(scope.goal).collect();
    let mut symbols: Vec<(&WorkspacePath, &Symbol, BTreeSet<&str>)> = Vec::new();
    let mut frequency: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, file) in scope.table.files.iter() {
        let folder: Vec<String> = words(path.as_str()).flat_map(pieces).collect();
        for symbol in file.symbols.iter().filter(|symbol| symbol.kind != SymbolKind::Impl) {
            let mut own: Vec<String> = words(&symbol.path).flat_map(pieces).collect();
            own.extend(folder.iter().cloned());
            let hits: BTreeSet<&str> =
                goal.iter().map(String::as_str).filter(|word| own.iter().any(|part| alike(part, word))).collect();
            for hit in &hits {
                *frequency.entry(hit).or_default() += 1;
            }
            if !hits.is_empty() {
                symbols.push((path, symbol, hits));
            }
        }
    }
    let total = symbols.len().max(1);
    let mut ranked: Vec<_> = symbols
        .iter()
        .map(|(path, symbol, hits)| {
            // A word in few names says more than one in many; the name in the goal itself says most.
            let rare: usize = hits.iter().map(|word| 1 + total / frequency.get(word).copied().unwrap_or(1)).sum();
            let named = if exact.contains(symbol.name.as_str()) { total * 4 } else { 0 };
            let minor = matches!(symbol.kind, SymbolKind::Field | SymbolKind::Variant);
            let test = symbol.path.starts_with("tests::") || path.as_str().starts_with("tests/");
            let score = (rare * 4 + named + usize::from(symbol.public)) / (1 + usize::from(minor) + usize::from(test));
            ((std::cmp::Reverse(score), path.as_str(), symbol.range.start), *path, *symbol)
        })
        .collect();
    ranked.sort_by(|one, other| one.0.cmp(&other.0));
    let found: Vec<Part> = ranked
        .into_iter()
        .take(MOST)
        .filter_map(|(_, path, symbol)| {
            let text = (scope.texts)(path)?;
            Some(shown(path, &text, symbol, Why::Goal(symbol.path.clone())))
        })
        .collect();
    if found.is_empty() { outlines(scope) } else { found }
}

/// What each file shows to others, for a goal whose words are in no name.
fn outlines(scope: &Scope<'_>) -> Vec<Part> {
    let files = scope.table.files.iter().filter_map(|(path, file)| {
        let shown: Vec<&str> = file
            .symbols
            .iter()
            .filter(|symbol| symbol.public && !matches!(symbol.kind, SymbolKind::Field | SymbolKind::Variant))
            .map(|symbol| symbol.signature.as_str())
            .collect();
        let lines = u32::try_from((scope.texts)(path)?.lines().count()).unwrap_or(u32::MAX);
        (!shown.is_empty()).then(|| part(path, (1, lines.max(1)), Why::Outline, shown.join("\n")))
    });
    files.collect()
}

/// `RetryPolicy`, `retry_policy`: `retry`, `policy`.
fn pieces(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut lower = false;
    for c in word.chars() {
        if c == '_' || (c.is_uppercase() && lower) {
            found.push(std::mem::take(&mut current));
        }
        lower = c.is_lowercase() || c.is_numeric();
        if c != '_' {
            current.extend(c.to_lowercase());
        }
    }
    found.push(current);
    found.retain(|piece| !piece.is_empty());
    found
}

/// Equal, or forms of one word.
fn alike(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let (one, other) = (one.chars().count(), other.chars().count());
    // All but an ending of up to three letters: `retries` and `retry`, not `content` and `context`.
    shared >= STEM && one.max(other) - shared <= 3 && one.min(other) - shared <= 1
}
