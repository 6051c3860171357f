//! The context of a goal with a place: the item there, what it names, who uses it.
//!
//! Invariant: the place itself comes first, and no part is more than the file's own lines. Absent: types; a name that
//! several items share leads to none of them or to all.

use super::{Part, Scope, Why, distance, line_start, lines_of, part, shown, words};
use crate::domain::ids::WorkspacePath;
use crate::domain::symbols::{FileSymbols, Symbol, SymbolKind};
use crate::domain::task::action::Place;
use std::collections::BTreeSet;
use std::ops::Range;

/// A name defined more often than this (`new`, `fmt`) says little about which one is meant.
const COMMON: usize = 8;
/// Places that use the item: enough to see how it is called.
const USES: usize = 12;
/// Lines shown before and after a use.
const NEAR: usize = 2;
/// Lines kept before and after the place, where its item is too long to show whole.
const WINDOW: usize = 30;

/// Most relevant first; `None` when the file cannot be read.
pub(super) fn candidates(scope: &Scope<'_>, place: &Place) -> Option<Vec<Part>> {
    let text = (scope.texts)(&place.path)?;
    let place_range = bytes(&text, place.lines);
    let empty =
        FileSymbols { content: crate::domain::ids::ContentHash::of(""), symbols: Vec::new(), mentions: Vec::new() };
    let file = scope.table.files.get(&place.path).map_or(&empty, |file| file.as_ref());
    let item = place.lines.and_then(|_| enclosing(file, &place_range));
    let mut found = vec![center(scope, &place.path, &text, item, &place_range, place.lines.is_none())];
    let center = item.map_or(place_range, |item| item.range.clone());
    if let Some(item) = item {
        found.extend(outer(&place.path, &text, file, item));
    }
    let inside = text.get(center.clone()).unwrap_or_default();
    let names: BTreeSet<&str> = words(inside).collect();
    found.extend(imports(scope, &place.path, &text, &center, &names));
    found.extend(definitions(scope, &place.path, &center, &names));
    if let Some(item) = item {
        found.extend(uses(scope, &place.path, item));
    }
    Some(found)
}

/// Bytes of the lines, without the blanks around them; the whole text without lines.
fn bytes(text: &str, lines: Option<(u32, u32)>) -> Range<usize> {
    let Some((first, last)) = lines else { return 0..text.len() };
    let start_of = |line: usize| match line {
        0 => 0,
        line => text.match_indices('\n').nth(line - 1).map_or(text.len(), |(end, _)| end + 1),
    };
    let index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let start = start_of(index(first.saturating_sub(1)));
    let end = start_of(index(last.max(first))).max(start);
    let lines = text.get(start..end).unwrap_or_default();
    let blank = lines.len() - lines.trim_start().len();
    let shown = lines.trim();
    start + blank.min(lines.len())..start + blank.min(lines.len()) + shown.len()
}

/// The smallest item with a body of its own around the place: not a field, but its struct.
fn enclosing<'t>(file: &'t FileSymbols, place: &Range<usize>) -> Option<&'t Symbol> {
    let whole = |symbol: &&Symbol| match symbol.kind {
        SymbolKind::Field | SymbolKind::Variant | SymbolKind::Module => false,
        SymbolKind::Function
        | SymbolKind::Method
        | SymbolKind::Struct
        | SymbolKind::Enum
        | SymbolKind::Trait
        | SymbolKind::Impl
        | SymbolKind::Const
        | SymbolKind::Static
        | SymbolKind::Type
        | SymbolKind::Macro => true,
    };
    file.symbols
        .iter()
        .filter(whole)
        .filter(|symbol| symbol.range.start <= place.start && place.end <= symbol.range.end)
        .min_by_key(|symbol| symbol.range.len())
}

/// The item at the place, or the lines around it where that is over half of the budget.
fn center(
    scope: &Scope<'_>,
    path: &WorkspacePath,
    text: &str,
    item: Option<&Symbol>,
    place: &Range<usize>,
    whole_file: bool,
) -> Part {
    let full = item.map_or_else(|| place.clone(), |item| line_start(text, item.range.start)..item.range.end);
    let shown = part(path, lines_of(text, &full), Why::Place, text.get(full.clone()).unwrap_or_default().to_owned());
    if shown.tokens <= scope.budget / 2 {
        return shown;
    }
    if whole_file && let Some(file) = scope.table.files.get(path) {
        let outline: Vec<&str> = file.symbols.iter().map(|symbol| symbol.signature.as_str()).collect();
        return fitted(scope, path, lines_of(text, &full), Why::Outline, &outline.join("\n"));
    }
    let first = lines_of(text, place).0.saturating_sub(1) as usize;
    let count = text.get(place.clone()).unwrap_or_default().lines().count();
    let start = first.saturating_sub(WINDOW);
    let lines: Vec<&str> = text.lines().skip(start).take(first - start + count + WINDOW).collect();
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    fitted(scope, path, (number(start + 1), number(start + lines.len())), Why::Place, &lines.join("\n"))
}

/// A part cut to half of the budget, at a line's end.
fn fitted(scope: &Scope<'_>, path: &WorkspacePath, lines: (u32, u32), why: Why, text: &str) -> Part {
    let mut kept = String::new();
    let mut count = 0_u32;
    for line in text.lines() {
        let longer = format!("{kept}{line}\n");
        if part(path, lines, why.clone(), longer.clone()).tokens > scope.budget / 2 {
            break;
        }
        kept = longer;
        count += 1;
    }
    // An outline has no lines of its own; it stands for the whole.
    let cut = lines.0.saturating_add(count.saturating_sub(1)).min(lines.1);
    let last = if why == Why::Outline { lines.1 } else { cut };
    part(path, (lines.0, last), why, kept)
}

/// The `impl`, trait or module around the item, by signature.
fn outer(path: &WorkspacePath, text: &str, file: &FileSymbols, item: &Symbol) -> Vec<Part> {
    let around = |symbol: &&Symbol| {
        symbol.range.start <= item.range.start && item.range.end <= symbol.range.end && symbol.range != item.range
    };
    let mut found: Vec<&Symbol> = file.symbols.iter().filter(around).collect();
    found.sort_by_key(|symbol| symbol.range.len());
    found.iter().map(|symbol| shown(path, text, symbol, Why::Around(symbol.path.clone()))).collect()
}

/// The imports that name something used at the place, in one part.
fn imports(
    scope: &Scope<'_>,
    path: &WorkspacePath,
    text: &str,
    center: &Range<usize>,
    names: &BTreeSet<&str>,
) -> Option<Part> {
    let used = |range: &Range<usize>| {
        let import = text.get(range.clone()).unwrap_or_default();
        !center.contains(&range.start) && (import.contains('*') || words(import).any(|word| names.contains(word)))
    };
    let found: Vec<Range<usize>> = (scope.imports)(path, text).into_iter().filter(used).collect();
    let (first, last) = (found.first()?, found.last()?);
    let lines = lines_of(text, &(first.start..last.end));
    let shown: Vec<&str> = found.iter().filter_map(|range| text.get(range.clone())).collect();
    Some(part(path, lines, Why::Imports, shown.join("\n")))
}

/// What the place names, nearest first.
fn definitions(scope: &Scope<'_>, at: &WorkspacePath, center: &Range<usize>, names: &BTreeSet<&str>) -> Vec<Part> {
    let mut found: Vec<(&WorkspacePath, &Symbol)> = Vec::new();
    for (path, file) in scope.table.files.iter() {
        let named = |symbol: &&Symbol| {
            let inside = path == at && symbol.range.start < center.end && center.start < symbol.range.end;
            let kind = match symbol.kind {
                SymbolKind::Impl | SymbolKind::Module | SymbolKind::Field | SymbolKind::Variant => false,
                SymbolKind::Function
                | SymbolKind::Method
                | SymbolKind::Struct
                | SymbolKind::Enum
                | SymbolKind::Trait
                | SymbolKind::Const
                | SymbolKind::Static
                | SymbolKind::Type
                | SymbolKind::Macro => true,
            };
            kind && !inside && names.contains(symbol.name.as_str())
        };
        found.extend(file.symbols.iter().filter(named).map(|symbol| (path, symbol)));
    }
    let count = |name: &str| found.iter().filter(|(_, symbol)| symbol.name == name).count();
    let mut ranked: Vec<_> = found
        .iter()
        .filter(|(_, symbol)| count(&symbol.name) <= COMMON)
        .map(|(path, symbol)| {
            // A method is meant only if its type is named too, or is the place's own.
            let owner = symbol.path.rsplit("::").nth(1).unwrap_or_default();
            let stray = symbol.kind == SymbolKind::Method && !names.contains(owner);
            // What another folder keeps to itself cannot be meant.
            let hidden = !symbol.public && distance(at, path) > 1;
            (
                (stray, distance(at, path), hidden, count(&symbol.name), path.as_str(), symbol.range.start),
                *path,
                *symbol,
            )
        })
        .collect();
    ranked.sort_by(|one, other| one.0.cmp(&other.0));
    ranked
        .into_iter()
        .filter_map(|(_, path, symbol)| {
            let text = (scope.texts)(path)?;
            Some(shown(path, &text, symbol, Why::Definition(symbol.path.clone())))
        })
        .collect()
}

/// Who uses the item, nearest first.
fn uses(scope: &Scope<'_>, at: &WorkspacePath, item: &Symbol) -> Vec<Part> {
    // An `impl` is used through its type, the last word of its path.
    let name = if item.kind == SymbolKind::Impl {
        item.path.rsplit([' ', ':']).next().unwrap_or(&item.name)
    } else {
        item.name.as_str()
    };
    let mut files: Vec<_> = scope
        .table
        .files
        .iter()
        .filter(|(_, file)| file.mentions.binary_search_by(|word| word.as_str().cmp(name)).is_ok())
        .map(|(path, file)| (distance(at, path), path, file))
        .collect();
    files.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)));
    let mut found = Vec::new();
    for (_, path, file) in files {
        let Some(text) = (scope.texts)(path) else { continue };
        let mut after = 0;
        for place in places(&text, name) {
            let own = path == at && item.range.contains(&place);
            let definition = file.symbols.iter().any(|symbol| symbol.name_range.start == place);
            if own || definition || place < after {
                continue;
            }
            if found.len() >= USES {
                return found;
            }
            let user = file.enclosing(place).map(|symbol| symbol.path.clone()).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let line = lines_of(&text, &(place..place + name.len())).0 as usize - 1;
            let (first, last) = (line.saturating_sub(NEAR), (line + NEAR + 1).min(lines.len()));
            let shown = lines.get(first..last).unwrap_or_default();
            // A second use within the lines shown needs no part of its own.
            after = text.match_indices('\n').nth(last.saturating_sub(1)).map_or(text.len(), |(end, _)| end);
            let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
            found.push(part(path, (number(first + 1), number(last)), Why::Use(user), shown.join("\n")));
        }
    }
    found
}

/// Where a name stands as a whole word.
fn places<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).map(|(start, _)| start).filter(move |start| {
        let before = text.get(..*start).and_then(|text| text.chars().next_back());
        let after = text.get(start + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(word) && !after.is_some_and(word)
    })
}
