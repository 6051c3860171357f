//! Symbols that the plan names: focus and rename.
//!
//! **Invariant:** a symbol that cannot be told apart is never guessed. **Absent:** the syntax tree; its table is a fact.

use super::{Findings, meant};
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::parse::scan::{Part, fix};
use crate::domain::plan::{Rule, StepKind};
use crate::domain::symbols::{FileSymbols, Symbol, SymbolKind};
use std::ops::Range;

pub(super) fn check(on: &mut Findings<'_>) {
    for (n, step, layout) in on.steps() {
        match &step.kind {
            StepKind::Edit(targets) => {
                for (m, target) in targets.iter().enumerate() {
                    if let (Some(focus), Some(part)) = (&target.focus, layout.part("edit", m)) {
                        self::focus(on, &target.path, target.new, focus, part);
                    }
                }
            }
            StepKind::Transform(Rule::Rename { symbol, to }) => {
                let at = |n| {
                    layout.part("transform", n).map_or_else(|| layout.key_range("transform"), |part| part.range.clone())
                };
                if !symbol.is_empty() {
                    rename(on, n, symbol, at(0));
                    new_name(on, to, at(1));
                }
            }
            StepKind::Transform(Rule::Rewrite { pattern, to }) => {
                for name in metavariables(to) {
                    if !metavariables(pattern).contains(&name) {
                        let range = layout
                            .part("transform", 1)
                            .map_or_else(|| layout.key_range("transform"), |part| part.range.clone());
                        let message =
                            format!("`{name}` is not in the first pattern, so nothing fills it; use one that is");
                        on.error("unknown-metavariable", range, message, None);
                    }
                }
            }
            StepKind::Transform(Rule::Template { .. })
            | StepKind::Run(_)
            | StepKind::Fetch(_)
            | StepKind::Explore(_)
            | StepKind::Check(_)
            | StepKind::Ask(_)
            | StepKind::Recipe(_) => {}
        }
    }
}

/// Symbols of a file that a name means. Where a type and its `impl` blocks have one name, the type is meant.
fn named<'a>(file: &'a FileSymbols, name: &'a str) -> Vec<&'a Symbol> {
    let all: Vec<_> = file.named(name).collect();
    let types: Vec<_> = all.iter().copied().filter(|symbol| symbol.kind != SymbolKind::Impl).collect();
    if types.is_empty() { all } else { types }
}

fn focus(on: &mut Findings<'_>, path: &str, new: bool, focus: &str, part: &Part) {
    let Some(file) = WorkspacePath::new(path).ok().and_then(|path| on.facts.symbols.files.get(&path)) else {
        if !new && on.exists(path) {
            let message = format!("`{path}` has no syntax tree here, so the focus `{focus}` cannot be checked");
            on.hint("unchecked-focus", part.range.clone(), message, None);
        }
        return;
    };
    let range = part.outer.clone();
    match named(file, focus).as_slice() {
        [_] => {}
        [] if file.symbols.is_empty() => {
            let message = format!("`{path}` has no symbols that can be told, so the focus `{focus}` cannot be checked");
            on.hint("unchecked-focus", range, message, None);
        }
        [] => {
            let near = meant(focus, file.symbols.iter().map(|symbol| symbol.path.as_str()));
            let near = near.map(|near| format!("; is `{near}` meant?")).unwrap_or_default();
            on.error("missing-symbol", range, format!("`{path}` has no symbol `{focus}`{near}"), None);
        }
        several => {
            let paths: Vec<_> = several.iter().map(|symbol| format!("`{}`", symbol.path)).take(5).collect();
            let message =
                format!("`{focus}` means several symbols of `{path}`: {}; write the longer path", paths.join(", "));
            on.warning("ambiguous-symbol", range, message, None);
        }
    }
}

/// What a rename's symbol says: perhaps a file, a path, and which of two items of one name. The same forms as the rule
/// itself takes: `send`, `net::Client::send`, `src/net.rs#send`, `Client::send()` for the method and `Client.send` for
/// the field.
fn rename(on: &mut Findings<'_>, n: usize, symbol: &str, range: Range<usize>) {
    let (within, path) = match symbol.split_once('#') {
        Some((file, path)) => (Some(file.trim_start_matches("./")), path),
        None => (None, symbol),
    };
    let path = path.trim().trim_start_matches("crate::");
    let (name, callable) = match (path.strip_suffix("()"), path.rsplit_once('.')) {
        (Some(function), _) => (function.to_owned(), Some(true)),
        (None, Some((owner, field))) => (format!("{owner}::{field}"), Some(false)),
        (None, None) => (path.to_owned(), None),
    };
    let name = name.as_str();
    let calls = |symbol: &Symbol| matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method);
    let mut found: Vec<(&WorkspacePath, &Symbol)> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for (path, file) in on.facts.symbols.files.iter() {
        if within.is_none_or(|within| within == path.as_str()) {
            let module = module_path(path);
            let means = |symbol: &&Symbol| {
                let whole = format!("{module}{}", symbol.path);
                let named = whole == name || whole.strip_suffix(name).is_some_and(|outer| outer.ends_with("::"));
                named && symbol.kind != SymbolKind::Impl && callable.is_none_or(|callable| callable == calls(symbol))
            };
            found.extend(file.symbols.iter().filter(means).map(|symbol| (path, symbol)));
            names.extend(file.symbols.iter().map(|symbol| symbol.path.as_str()));
        }
    }
    // Within a named file the whole path is enough: `a.rs#send` is not `a.rs#Client::send`.
    if within.is_some() && found.iter().any(|(_, symbol)| symbol.path == name) {
        found.retain(|(_, symbol)| symbol.path == name);
    }
    match found.as_slice() {
        [_] => {}
        [] => {
            let edits = on.plan.steps.iter().take(n).any(|step| matches!(step.kind, StepKind::Edit(_)));
            let message =
                format!("no symbol `{symbol}` was found; write its path as in `Client::send`, or `src/net.rs#send`");
            if edits {
                on.warning("unknown-symbol", range, format!("{message} (a step above may make it)"), None);
            } else {
                let mend = meant(name, names.into_iter())
                    .and_then(|meant| fix(format!("write `{meant}`"), range.clone(), meant));
                on.error("unknown-symbol", range, message, mend);
            }
        }
        several => {
            let spelled = |(path, symbol): &(&WorkspacePath, &Symbol)| {
                let twins = several.iter().filter(|(other, s)| other == path && s.path == symbol.path).count();
                match (twins, calls(symbol), symbol.path.rsplit_once("::")) {
                    (1, _, _) | (_, false, None) => format!("{path}#{}", symbol.path),
                    (_, true, _) => format!("{path}#{}()", symbol.path),
                    (_, false, Some((owner, name))) => format!("{path}#{owner}.{name}"),
                }
            };
            let mut places: Vec<String> = several.iter().map(spelled).collect();
            places.sort();
            places.dedup();
            // One spelling for all: `#[cfg]` twins, which the rule takes together or refuses with the reason.
            if places.len() > 1 {
                let listed: Vec<String> = places.iter().take(5).map(|place| format!("`{place}`")).collect();
                let message = format!("`{symbol}` is ambiguous; write one of {}", listed.join(", "));
                let other = places.into_iter().find(|place| place != symbol);
                let mend = other.and_then(|other| fix(format!("write `{other}`"), range.clone(), other));
                on.error("ambiguous-symbol", range, message, mend);
            }
        }
    }
}

/// The modules that a Rust file's place gives its items, as far as its path tells.
fn module_path(path: &WorkspacePath) -> String {
    let stem = path.as_str().strip_suffix(".rs").unwrap_or(path.as_str());
    let parts = stem.split('/').filter(|part| !matches!(*part, "src" | "crates" | "lib" | "main" | "mod"));
    parts.map(|part| format!("{}::", part.replace('-', "_"))).collect()
}

fn new_name(on: &mut Findings<'_>, to: &str, range: Range<usize>) {
    let plain = to.strip_prefix("r#").unwrap_or(to);
    let mut chars = plain.chars();
    let identifier =
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_');
    if !identifier {
        let message = format!("`{to}` is no identifier; a rename keeps the place, so give the last part alone");
        on.error("bad-name", range, message, None);
    }
}

fn metavariables(pattern: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for (at, _) in pattern.match_indices('$') {
        let tail = pattern.get(at..).unwrap_or("");
        if pattern.get(..at).is_some_and(|before| before.ends_with('$')) {
            continue;
        }
        let marks = tail.len() - tail.trim_start_matches('$').len();
        let name = tail.get(marks..).unwrap_or("");
        let length = name.bytes().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_').count();
        if length > 0 {
            out.extend(tail.get(..marks + length));
        }
    }
    out
}
