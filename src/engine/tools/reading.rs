//! Tools that read: small first, with how to ask for more (C15).
//!
//! Invariant: no secret and nothing outside the step's read rights is shown or counted. Absent: the marks around what
//! is shown; the agent's transcript sets them.

use super::{Bench, Tools};
use crate::domain::agent::calls::path_of;
use crate::domain::agent::cut::{self, Limit};
use crate::domain::agent::order::*;
use crate::domain::change::Entry;
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::Globs;
use crate::domain::symbols::{FileSymbols, Symbol, SymbolKind};
use crate::ports::Source;
use regex::RegexBuilder;
use std::collections::BTreeMap;

/// Files up to which `list` shows names; beyond, folders with counts.
const NAMES: usize = 200;
/// Lines that `search` and `references` show unless asked for more.
const SHOWN: usize = 20;
/// Lines they show at most.
const MOST: usize = 200;
/// Bytes of a compiled regular expression; the crate's default of 10 MB is more than a model's pattern needs.
const REGEX: usize = 1 << 20;

impl Bench {
    pub(super) async fn list(&mut self, arguments: &ListArguments, tools: &Tools<'_>) -> Result<ToolResult, ToolError> {
        let within = arguments.within.as_deref();
        let mut files = self.listed(tools).await;
        let inside = inside(within);
        files.retain(|path, _| inside(path));
        let mut text = format!("{} files\n", files.len());
        if files.len() <= NAMES {
            text.extend(files.iter().map(|(path, size)| format!("{path} ({size} bytes)\n")));
            return Ok(ToolResult::text(text));
        }
        let mut folders: BTreeMap<&str, u32> = BTreeMap::new();
        for path in files.keys() {
            *folders.entry(folder(path, within)).or_default() += 1;
        }
        text.extend(folders.iter().map(|(folder, count)| format!("{folder}: {count}\n")));
        text.push_str("Name a folder or a glob in `within` for the files themselves.\n");
        Ok(whole_or_cut(text, "`list` with `within` for more"))
    }

    pub(super) async fn search(
        &mut self,
        arguments: &SearchArguments,
        tools: &Tools<'_>,
    ) -> Result<ToolResult, ToolError> {
        let regex = RegexBuilder::new(&arguments.regex).size_limit(REGEX).build().map_err(|fault| {
            ToolError::new(
                format!("`{}` is no regular expression: {fault}", arguments.regex),
                "escape what is meant literally",
            )
        })?;
        let mut hits = Hits::default();
        for path in self.within(arguments.within.as_deref(), tools).await {
            let entry = self.glance(&path, tools).await;
            for (n, line) in entry.text().lines().enumerate().filter(|(_, line)| regex.is_match(line)) {
                hits.add(&path, n + 1, line);
            }
        }
        let limit = arguments.limit.map_or(SHOWN, |limit| usize::try_from(limit).unwrap_or(MOST)).min(MOST);
        Ok(hits.result(limit, "`search` with `within` or a higher `limit` for more"))
    }

    pub(super) async fn outline(
        &mut self,
        arguments: &OutlineArguments,
        tools: &Tools<'_>,
    ) -> Result<ToolResult, ToolError> {
        let path = path_of(&arguments.path)?;
        let entry = self.readable(&path, tools).await?;
        let symbols = tools.syntax.outline(&source(&path, &entry));
        let lines = entry.text().lines().count();
        if symbols.symbols.is_empty() {
            return Ok(ToolResult::text(format!("{path}: {lines} lines, no items known; `read` it by lines\n")));
        }
        let mut text = format!("{path}: {lines} lines, {} items\n", symbols.symbols.len());
        text.extend(symbols.symbols.iter().map(|symbol| format!("{}\n", line_of(symbol, entry.text()))));
        Ok(whole_or_cut(text, "`read` an item by its name"))
    }

    pub(super) async fn read(&mut self, arguments: &ReadArguments, tools: &Tools<'_>) -> Result<ToolResult, ToolError> {
        let path = path_of(&arguments.path)?;
        let entry = self.readable(&path, tools).await?;
        let text = entry.text();
        if let Some(name) = &arguments.symbol {
            let symbols = tools.syntax.outline(&source(&path, &entry));
            let symbol = one_symbol(&symbols, name, &path, text)?;
            // with the indentation of its first line, which a model copies
            let head = text.get(..symbol.range.start).unwrap_or("");
            let indent = head.len() - head.trim_end_matches([' ', '\t']).len();
            let item = text.get(symbol.range.start - indent..symbol.range.end).unwrap_or("");
            return Ok(whole_or_cut(
                format!("{path}, {}\n{item}\n", line_of(symbol, text)),
                "`read` by `from` and `to`",
            ));
        }
        let total = text.lines().count();
        let number = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
        let from = arguments.from.map_or(1, number).max(1);
        let to = arguments.to.map_or(total, number).min(total);
        if from > to {
            return Err(ToolError::new(
                format!("{path} has {total} lines; {from} to {to} is none of them"),
                "ask for a range inside the file",
            ));
        }
        let part: String = text.split_inclusive('\n').skip(from - 1).take(to + 1 - from).collect();
        Ok(whole_or_cut(
            format!("{path}, lines {from}-{to} of {total}\n{part}"),
            "`read` with `from` and `to`, or with `symbol`, for more",
        ))
    }

    pub(super) async fn references(
        &mut self,
        arguments: &ReferencesArguments,
        tools: &Tools<'_>,
    ) -> Result<ToolResult, ToolError> {
        let name = arguments.name.rsplit("::").next().unwrap_or(&arguments.name);
        let table = tools.syntax.table();
        let mut sources = Vec::new();
        for path in self.within(None, tools).await {
            // the sieve knows the disk; what the step has seen or changed is looked at in any case
            let mentioned = table
                .files
                .get(&path)
                .is_some_and(|file| file.mentions.binary_search_by(|mention| mention.as_str().cmp(name)).is_ok());
            if mentioned || self.known(&path).is_some() {
                let entry = self.glance(&path, tools).await;
                sources.push(source(&path, &entry));
            }
        }
        let mut hits = Hits::default();
        for found in tools.syntax.references(&sources, name) {
            hits.add(&found.path, usize::try_from(found.line).unwrap_or(0), &found.text);
        }
        Ok(hits.result(MOST, "`search` with `within` for the rest"))
    }
}

/// Matching lines, counted by file.
#[derive(Default)]
struct Hits {
    counts: BTreeMap<WorkspacePath, u32>,
    lines: Vec<String>,
    all: usize,
}

impl Hits {
    fn add(&mut self, path: &WorkspacePath, line: usize, text: &str) {
        self.all += 1;
        *self.counts.entry(path.clone()).or_default() += 1;
        if self.lines.len() < MOST {
            self.lines.push(format!("{path}:{line}: {}\n", cut::one_line(text, 160)));
        }
    }

    fn result(self, limit: usize, more: &str) -> ToolResult {
        let mut text = format!("{} matches in {} files\n", self.all, self.counts.len());
        if self.counts.len() > 1 {
            text.extend(self.counts.iter().take(MOST).map(|(path, count)| format!("{path}: {count}\n")));
        }
        text.extend(self.lines.iter().take(limit).map(String::as_str));
        if self.all > limit {
            text.push_str(&format!("… {} more; {more}\n", self.all - limit));
        }
        whole_or_cut(text, more)
    }
}

/// A file as the syntax port takes it.
pub(super) fn source(path: &WorkspacePath, entry: &Entry) -> Source {
    let text = match entry {
        Entry::Absent => "".into(),
        Entry::File { text, .. } => text.clone(),
    };
    Source { path: path.clone(), text }
}

/// The one item that a name means; where several share it (a type and its `impl`), all of them are in the error.
pub(super) fn one_symbol<'a>(
    symbols: &'a FileSymbols,
    name: &str,
    path: &WorkspacePath,
    text: &str,
) -> Result<&'a Symbol, ToolError> {
    let found = named(symbols, name);
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let last = name.rsplit("::").next().unwrap_or(name).to_lowercase();
            let near = |symbol: &&Symbol| {
                symbol.name.to_lowercase().contains(&last) || last.contains(&symbol.name.to_lowercase())
            };
            let mut close: Vec<&Symbol> = symbols.symbols.iter().filter(near).collect();
            if close.is_empty() {
                close = symbols.symbols.iter().collect();
            }
            Err(ToolError::new(
                format!("there is no item `{name}` in {path}; there is\n{}", candidates(&close, text)),
                "name one of these as it stands there",
            ))
        }
        several => Err(ToolError::new(
            format!("`{name}` names several items of {path}\n{}", candidates(several, text)),
            "put the kind before the name (`struct Store`, `impl Store`), or name an item inside",
        )),
    }
}

/// Items of exactly this path, else those whose path ends in it. `impl Store` and `struct Store` tell a type from its
/// `impl`.
pub(super) fn named<'a>(symbols: &'a FileSymbols, name: &str) -> Vec<&'a Symbol> {
    let (kind, name) = match name.split_once(' ') {
        Some((word, rest)) if kind_of(word).is_some() => (kind_of(word), rest.trim()),
        Some(_) | None => (None, name),
    };
    let fits = |symbol: &&Symbol| kind.is_none_or(|kind| symbol.kind == kind);
    let exact: Vec<&Symbol> = symbols.symbols.iter().filter(fits).filter(|symbol| symbol.path == name).collect();
    if !exact.is_empty() {
        return exact;
    }
    let tail = format!("::{name}");
    symbols.symbols.iter().filter(fits).filter(|symbol| symbol.path.ends_with(&tail)).collect()
}

fn kind_of(word: &str) -> Option<SymbolKind> {
    match word {
        "struct" => Some(SymbolKind::Struct),
        "enum" => Some(SymbolKind::Enum),
        "trait" => Some(SymbolKind::Trait),
        "impl" => Some(SymbolKind::Impl),
        "mod" => Some(SymbolKind::Module),
        "const" => Some(SymbolKind::Const),
        "static" => Some(SymbolKind::Static),
        "type" => Some(SymbolKind::Type),
        _ => None,
    }
}

fn candidates(symbols: &[&Symbol], text: &str) -> String {
    symbols.iter().take(SHOWN).map(|symbol| line_of(symbol, text)).collect::<Vec<_>>().join("\n")
}

fn line_of(symbol: &Symbol, text: &str) -> String {
    let line = |byte: usize| text.get(..byte).map_or(0, |head| head.matches('\n').count()) + 1;
    let (first, last) = (line(symbol.range.start), line(symbol.range.end.saturating_sub(1).max(symbol.range.start)));
    format!("`{}` lines {first}-{last}: {}", symbol.path, cut::one_line(&symbol.signature, 160))
}

/// A test whether a path lies in a folder or matches a glob, as models write them.
pub(super) fn inside(within: Option<&str>) -> impl Fn(&WorkspacePath) -> bool {
    let within = within.filter(|within| !within.is_empty()).map(|within| Globs::folders(&[within.to_owned()]));
    move |path| within.as_ref().is_none_or(|within| within.matches(path.as_str()))
}

/// The folder under which a file is counted: one level below what was asked for.
fn folder<'a>(path: &'a WorkspacePath, within: Option<&str>) -> &'a str {
    let text = path.as_str();
    let skip = within.map_or(0, |within| if text.starts_with(within) { within.len() } else { 0 });
    let rest = text.get(skip..).unwrap_or("");
    let head = rest.len() - rest.trim_start_matches('/').len();
    match rest.trim_start_matches('/').find('/') {
        Some(slash) => text.get(..skip + head + slash + 1).unwrap_or(text),
        None => text.rfind('/').and_then(|slash| text.get(..=slash)).unwrap_or("."),
    }
}

fn whole_or_cut(text: String, more: &str) -> ToolResult {
    let limit: Limit = cut::RESULT;
    match cut::cut(&text, limit, more) {
        Some(short) => ToolResult::Ok { text: short, full: Some(text) },
        None => ToolResult::text(text),
    }
}
