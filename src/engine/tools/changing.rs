//! Tools that change the step's working set.
//!
//! Invariant: a change that is refused leaves everything as it was; no change brings a syntax error that was not there.
//! Absent: hunks and flags; they are made from the whole set at the step's end.

use super::reading::{named, one_symbol};
use super::{Bench, Tools, matching};
use crate::domain::agent::cut::one_line;
use crate::domain::agent::order::{Pair, Placement, ToolError, ToolResult};
use crate::domain::change::Entry;
use crate::domain::ids::WorkspacePath;
use crate::domain::symbols::{FileSymbols, Symbol, SymbolKind};
use crate::ports::Source;

/// Permission bits of a new file, before anything else is known.
const MODE: u32 = 0o644;
/// Lines up to which a file without known items may be written as a whole.
const SMALL: usize = 100;

impl Bench {
    pub(super) async fn edit(
        &mut self,
        path: &WorkspacePath,
        symbol: Option<&str>,
        place: Placement,
        code: &str,
        tools: &Tools<'_>,
    ) -> Result<ToolResult, ToolError> {
        let (text, mode) = self.writable(path, tools).await?;
        let before = Source { path: path.clone(), text: text.as_str().into() };
        let symbols = tools.syntax.outline(&before);
        let Some(name) = symbol else {
            if !symbols.symbols.is_empty() || text.lines().count() > SMALL {
                return Err(ToolError::new(
                    format!(
                        "`edit` of {path} needs a `symbol`: only small files without known items are written whole"
                    ),
                    "`outline` the file and name the item; or use `replace`",
                ));
            }
            let after = matching::replace_whole(&text, code);
            return self.put(path, &text, after, mode, tools);
        };
        let given = tools.syntax.outline(&Source { path: path.clone(), text: code.into() });
        let target = target(&symbols, name, place, &given, path, &text)?;
        let mut remark = None;
        let after = match place {
            Placement::Instead => {
                let (item, left_out) = alone(code, &given, target, &symbols)?;
                let after = matching::replace_item(&text, target.range.clone(), item)?;
                remark = left_out;
                match remark {
                    Some(_) => with_imports(after, &before, &symbols, code, tools),
                    None => after,
                }
            }
            Placement::Before | Placement::After => {
                // small models say `after` and mean `instead`; two items of one name are hardly ever meant
                if tops(&given).iter().any(|top| top.name == target.name) {
                    return Err(ToolError::new(
                        format!("the code is `{}` itself, and `place` would leave the old one beside it", target.path),
                        "to change it, call `edit` with `place` `instead`",
                    ));
                }
                matching::insert_item(&text, target.range.clone(), code, place)?
            }
        };
        let done = self.put(path, &text, after, mode, tools)?;
        Ok(match (done, remark) {
            (ToolResult::Ok { text, full }, Some(remark)) => ToolResult::Ok { text: format!("{text}{remark}\n"), full },
            (done, _) => done,
        })
    }

    pub(super) async fn replace(
        &mut self,
        path: &WorkspacePath,
        pairs: &[Pair],
        tools: &Tools<'_>,
    ) -> Result<ToolResult, ToolError> {
        let (text, mode) = self.writable(path, tools).await?;
        let after = matching::replace_pairs(&text, pairs)?;
        self.put(path, &text, after, mode, tools)
    }

    pub(super) async fn create(
        &mut self,
        path: &WorkspacePath,
        text: &str,
        tools: &Tools<'_>,
    ) -> Result<ToolResult, ToolError> {
        may_write(path, false, tools).await?;
        if self.entry(path, tools).await? != Entry::Absent {
            return Err(ToolError::new(format!("`{path}` exists"), "change it with `edit` or `replace`"));
        }
        let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
        self.put(path, "", text, MODE, tools)
    }

    pub(super) async fn rename(
        &mut self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        tools: &Tools<'_>,
    ) -> Result<ToolResult, ToolError> {
        may_write(to, false, tools).await?;
        let (text, mode) = self.writable(from, tools).await?;
        if self.entry(to, tools).await? != Entry::Absent {
            return Err(ToolError::new(format!("`{to}` exists"), "choose another name"));
        }
        self.now.insert(from.clone(), Entry::Absent);
        self.now.insert(to.clone(), Entry::File { text: text.into(), mode });
        Ok(ToolResult::text(format!("{from} is now {to}\n")))
    }

    pub(super) async fn delete(&mut self, path: &WorkspacePath, tools: &Tools<'_>) -> Result<ToolResult, ToolError> {
        self.writable(path, tools).await?;
        self.now.insert(path.clone(), Entry::Absent);
        Ok(ToolResult::text(format!("{path} is removed\n")))
    }

    /// Text and mode of an existing file that the step may write.
    async fn writable(&mut self, path: &WorkspacePath, tools: &Tools<'_>) -> Result<(String, u32), ToolError> {
        may_write(path, true, tools).await?;
        match self.entry(path, tools).await? {
            Entry::File { text, mode } => Ok((text.to_string(), mode)),
            Entry::Absent => {
                Err(ToolError::new(format!("there is no file `{path}`"), "`create` it, if the plan marks it `(new)`"))
            }
        }
    }

    /// The syntax gate, and then the change.
    fn put(
        &mut self,
        path: &WorkspacePath,
        before: &str,
        after: String,
        mode: u32,
        tools: &Tools<'_>,
    ) -> Result<ToolResult, ToolError> {
        if before == after {
            return Ok(ToolResult::text(format!("{path} is so already; nothing changed\n")));
        }
        let new = new_errors(path, before, &after, tools);
        if !new.is_empty() {
            return Err(ToolError::new(
                format!("the change would break the syntax of {path}\n{}", new.join("\n")),
                "write the whole item again, complete and with balanced brackets",
            ));
        }
        let (old, now) = (before.lines().count(), after.lines().count());
        self.now.insert(path.clone(), Entry::File { text: after.into(), mode });
        Ok(ToolResult::text(match old {
            0 => format!("{path} is written, {now} lines\n"),
            _ => format!("{path} is changed; it has {now} lines now, {old} before\n"),
        }))
    }
}

/// Whether the step may write a path, by its name and by where links lead it.
async fn may_write(path: &WorkspacePath, exists: bool, tools: &Tools<'_>) -> Result<(), ToolError> {
    tools.rights.may_write(path, exists)?;
    tools.rights.may_write(&tools.workspace.resolved(path).await, exists)?;
    Ok(())
}

/// Lines with syntax errors that the text before did not have.
fn new_errors(path: &WorkspacePath, before: &str, after: &str, tools: &Tools<'_>) -> Vec<String> {
    let errors = |text: &str| -> Vec<(String, String, u32)> {
        let found = tools.syntax.errors(&Source { path: path.clone(), text: text.into() });
        let line = |number: u32| text.lines().nth(usize::try_from(number).unwrap_or(0).saturating_sub(1)).unwrap_or("");
        found.into_iter().map(|error| (error.message, line(error.line).trim().to_owned(), error.line)).collect()
    };
    let mut known = errors(before);
    let mut new = Vec::new();
    for (message, line, number) in errors(after) {
        match known.iter().position(|(old, at, _)| *old == message && *at == line) {
            Some(at) => {
                known.swap_remove(at);
            }
            None => new.push(format!("line {number}: {message}: {line}")),
        }
    }
    new
}

/// The item that is meant. A type and its `impl` share a name; then the code itself says which of them it is.
fn target<'a>(
    symbols: &'a FileSymbols,
    name: &str,
    place: Placement,
    given: &FileSymbols,
    path: &WorkspacePath,
    text: &str,
) -> Result<&'a Symbol, ToolError> {
    let found = named(symbols, name);
    if found.len() > 1
        && place == Placement::Instead
        && let [first, ..] = tops(given).as_slice()
        && let [one] = found.iter().filter(|symbol| symbol.kind == first.kind).collect::<Vec<_>>().as_slice()
    {
        return Ok(one);
    }
    one_symbol(symbols, name, path, text)
}

/// Items that stand in no other.
fn tops(symbols: &FileSymbols) -> Vec<&Symbol> {
    let inner = |symbol: &Symbol| {
        symbols.symbols.iter().any(|outer| {
            outer.range.len() > symbol.range.len()
                && outer.range.start <= symbol.range.start
                && symbol.range.end <= outer.range.end
        })
    };
    symbols.symbols.iter().filter(|symbol| !inner(symbol)).collect()
}

/// The part of the code that is the item, with a remark where that is not all of it.
///
/// Models that were asked for a method write the imports, the type and the `impl` around it once more. Where all of
/// that stands in the file already, the item alone is taken. New items around it are no echo: beside the item they are
/// taken too, in a wrapper they are refused, since dropping them would lose what was meant.
fn alone<'a>(
    code: &'a str,
    given: &FileSymbols,
    target: &Symbol,
    file: &FileSymbols,
) -> Result<(&'a str, Option<String>), ToolError> {
    let tops = tops(given);
    let is_top = |symbol: &Symbol| tops.iter().any(|top| top.range == symbol.range);
    let same = |symbol: &&Symbol| {
        symbol.name == target.name
            && (symbol.kind == target.kind || callable(symbol) && callable(target))
            && (symbol.path == target.path || is_top(symbol))
    };
    let found: Vec<&Symbol> = given.symbols.iter().filter(same).collect();
    let [item] = found.as_slice() else {
        // renamed, or of a language without symbols; a wrapper or copies of other items are not the item
        let doubled = tops.iter().find(|top| tops.len() > 1 && known(file, top, target));
        let wrapped = tops.iter().find(|top| wrapper(top) && !wrapper(target));
        return match doubled.or(wrapped) {
            Some(extra) => Err(more(target, &extra.path)),
            None => Ok((code, None)),
        };
    };
    let inside = |symbol: &Symbol| item.range.start <= symbol.range.start && symbol.range.end <= item.range.end;
    let rest: Vec<&Symbol> = given.symbols.iter().filter(|symbol| !inside(symbol)).collect();
    let new = rest.iter().find(|symbol| !known(file, symbol, target));
    // with the indentation of its first line, by which the others are measured
    let head = code.get(..item.range.start).unwrap_or("");
    let start = head.trim_end_matches([' ', '\t']).len();
    match (new, code.get(start..item.range.end)) {
        // helpers beside the item, none of them a copy
        (Some(_), _) if is_top(item) && !rest.iter().any(|symbol| known(file, symbol, target)) => Ok((code, None)),
        (Some(new), _) => Err(more(target, &new.path)),
        (None, Some(part)) if part.trim() != code.trim() => {
            let remark = format!(
                "only `{}` was taken from the fence (and imports, where the file has its own); the rest was left out",
                target.path
            );
            Ok((part, Some(remark)))
        }
        (None, _) => Ok((code, None)),
    }
}

/// Imports that stood around an item and that the file lacks go below the file's own, where these come before its first
/// item. Without any of its own there is no sure place, and they are left out like the rest.
fn with_imports(after: String, before: &Source, symbols: &FileSymbols, code: &str, tools: &Tools<'_>) -> String {
    let imports = |source: &Source| -> Vec<(usize, String)> {
        let ranges = tools.syntax.imports(source).into_iter();
        ranges.filter_map(|range| Some((range.end, source.text.get(range)?.trim().to_owned()))).collect()
    };
    let own = imports(before);
    let first = symbols.symbols.iter().map(|symbol| symbol.range.start).min().unwrap_or(0);
    let Some((end, _)) = own.iter().filter(|(end, _)| *end <= first).max_by_key(|(end, _)| *end) else { return after };
    let given = imports(&Source { path: before.path.clone(), text: code.into() });
    let lacking: Vec<String> =
        given.into_iter().map(|(_, text)| text).filter(|text| own.iter().all(|(_, known)| known != text)).collect();
    // the item lies behind the imports, so that what is before them is the same in both texts
    match (after.get(..*end), after.get(*end..)) {
        (Some(head), Some(tail)) if !lacking.is_empty() => {
            let ending = if tail.starts_with("\r\n") { "\r\n" } else { "\n" };
            let added: String = lacking.iter().map(|text| format!("{ending}{text}")).collect();
            // a range may or may not take in the line's end
            let head = head.trim_end_matches(['\r', '\n']);
            let tail = after.get(head.len()..).unwrap_or(tail);
            format!("{head}{added}{tail}")
        }
        _ => after,
    }
}

fn callable(symbol: &Symbol) -> bool {
    matches!(symbol.kind, SymbolKind::Method | SymbolKind::Function)
}

fn wrapper(symbol: &Symbol) -> bool {
    matches!(symbol.kind, SymbolKind::Impl | SymbolKind::Trait | SymbolKind::Module)
}

/// Whether the file has this item already, outside of what is replaced.
fn known(file: &FileSymbols, symbol: &Symbol, target: &Symbol) -> bool {
    file.symbols.iter().any(|other| {
        other.path == symbol.path
            && other.kind == symbol.kind
            && !(target.range.start <= other.range.start && other.range.end <= target.range.end)
    })
}

fn more(target: &Symbol, extra: &str) -> ToolError {
    ToolError::new(
        format!("the code holds more than `{}`: also `{}`", target.path, one_line(extra, 60)),
        "put this one item into the fence, whole, and nothing around it",
    )
}
