//! What the syntax tree says about files, as plain tables that are handed to the domain as data.
//!
//! Invariant: ranges are byte ranges of the text whose hash the table carries. Absent: tree-sitter; it lives in
//! `syntax`, which makes these tables.

use super::ids::{ContentHash, WorkspacePath};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What kind of item a symbol is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SymbolKind {
    /// A free function.
    Function,
    /// A function in an `impl` or `trait`.
    Method,
    /// A struct or union.
    Struct,
    /// An enum.
    Enum,
    /// A variant of an enum.
    Variant,
    /// A field.
    Field,
    /// A trait.
    Trait,
    /// An `impl` block; its path is the type's name, or `Trait for Type`.
    Impl,
    /// A module.
    Module,
    /// A constant.
    Const,
    /// A static.
    Static,
    /// A type alias or associated type.
    Type,
    /// A macro.
    Macro,
}

/// One definition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Symbol {
    /// Within its file: `Client::send`, `tests::works`, `send`.
    pub path: String,
    /// The last part of the path.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The whole item with its doc comments and attributes.
    pub range: Range<usize>,
    /// The identifier alone.
    pub name_range: Range<usize>,
    /// The item up to its body, blanks collapsed.
    pub signature: String,
    /// Seen outside its crate, as far as syntax tells (`pub`, and every enclosing inline module `pub`).
    pub public: bool,
    /// Hash of the item's text without its documentation.
    pub body: ContentHash,
}

/// The definitions of one file in the order of the text, outer before inner.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileSymbols {
    /// The text these ranges belong to.
    pub content: ContentHash,
    /// Outer before inner.
    pub symbols: Vec<Symbol>,
    /// Identifiers used in the file, each once, sorted: a cheap first sieve for references.
    pub mentions: Vec<String>,
}

impl FileSymbols {
    /// Every symbol that `path` names: equal, or ending in `::path`.
    pub fn named<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Symbol> {
        self.symbols.iter().filter(move |symbol| {
            symbol.path == path || symbol.path.strip_suffix(path).is_some_and(|outer| outer.ends_with("::"))
        })
    }

    /// The innermost item around a byte.
    pub fn enclosing(&self, byte: usize) -> Option<&Symbol> {
        self.symbols.iter().filter(|symbol| symbol.range.contains(&byte)).min_by_key(|symbol| symbol.range.len())
    }
}

/// The files of the workspace, each with its symbols. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SymbolTable {
    /// By path; files of unknown languages stand in it with no symbols.
    pub files: Arc<BTreeMap<WorkspacePath, Arc<FileSymbols>>>,
}

/// One use of a name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reference {
    /// Where.
    pub path: WorkspacePath,
    /// The identifier.
    pub range: Range<usize>,
    /// 1-based.
    pub line: u32,
    /// The line's text, trimmed.
    pub text: String,
}

/// A place where the grammar found no way to go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SyntaxError {
    /// The node that is an error or is missing.
    pub range: Range<usize>,
    /// 1-based.
    pub line: u32,
    /// What the parser saw, in a few words.
    pub message: String,
}

/// The errors of `after` that `before` did not have. They are compared by message and number, not by place, so that an
/// old error elsewhere in a file does not forbid an edit.
pub fn new_errors<'a>(before: &[SyntaxError], after: &'a [SyntaxError]) -> Vec<&'a SyntaxError> {
    let mut old: BTreeMap<&str, usize> = BTreeMap::new();
    for error in before {
        *old.entry(error.message.as_str()).or_default() += 1;
    }
    let is_new = |error: &&'a SyntaxError| match old.get_mut(error.message.as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Some(_) | None => true,
    };
    after.iter().filter(is_new).collect()
}
