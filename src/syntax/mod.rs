//! Syntax trees, and what can be said and done with nothing else: outlines, errors, references, renames, rewrites.
//!
//! Invariant: the only module that knows tree-sitter and ast-grep; it hands out plain tables and edits. Everything
//! works on texts it is given, whatever they hold, and an unknown language is plain text: no symbols, no errors.
//! Absent: types. Where a syntax tree cannot tell, an edit carries its doubt.

mod errors;
mod index;
mod languages;
mod outline;
mod references;
mod rename;
mod rewrite;

pub use index::{Index, Refreshed, Stamped};

use crate::domain::plan::Rule;
use crate::domain::symbols::{FileSymbols, Reference, SymbolTable, SyntaxError};
use crate::ports::{FileEdits, RuleRefusal, Source, Syntax};

/// The syntax port, on tree-sitter. Any number of threads may ask at once; each has its own parsers.
pub struct TreeSitter {
    index: Index,
}

impl TreeSitter {
    /// With the workspace's index, which the caller keeps fresh through [`TreeSitter::index`].
    pub fn with_index(index: Index) -> Self {
        Self { index }
    }

    /// The index behind `table`.
    pub fn index(&self) -> &Index {
        &self.index
    }
}

impl Syntax for TreeSitter {
    fn outline(&self, source: &Source) -> FileSymbols {
        index::of(&source.path, &source.text)
    }

    fn errors(&self, source: &Source) -> Vec<SyntaxError> {
        languages::of(&source.path).map(|grammar| errors::of(grammar, &source.text)).unwrap_or_default()
    }

    fn table(&self) -> SymbolTable {
        self.index.table()
    }

    fn references(&self, sources: &[Source], name: &str) -> Vec<Reference> {
        references::of(sources, name)
    }

    fn transform(&self, sources: &[Source], rule: &Rule) -> Result<Vec<FileEdits>, RuleRefusal> {
        match rule {
            Rule::Rename { symbol, to } => rename::of(sources, symbol, to),
            Rule::Rewrite { pattern, to } => rewrite::of(sources, pattern, to),
            Rule::Template { .. } => Err(RuleRefusal {
                message: "a template is copied, not parsed; it needs no syntax tree".to_owned(),
                candidates: Vec::new(),
            }),
        }
    }

    fn imports(&self, source: &Source) -> Vec<std::ops::Range<usize>> {
        languages::of(&source.path).map(|grammar| references::imports(grammar, &source.text)).unwrap_or_default()
    }

    fn version(&self) -> String {
        index::version()
    }
}

#[cfg(test)]
mod tests;
