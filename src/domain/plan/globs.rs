//! Paths as plans name them: `src/**`, `src/lib.rs`, a folder.
//!
//! **Invariant:** `*` and `?` stay inside a folder, `**` crosses folders; a path that is named exactly matches even
//! if it looks like a glob (`app/[id].ts`). **Absent:** the files; patterns are matched against what callers hand in.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A set of patterns. Equal when patterns and their reading are.
#[derive(Clone, Debug)]
pub struct Globs {
    patterns: Vec<String>,
    folders: bool,
    set: GlobSet,
}

impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns && self.folders == other.folders
    }
}

impl Eq for Globs {}

impl Globs {
    /// Patterns where a folder stands for all below it. A pattern that cannot be read matches only itself.
    pub fn folders(patterns: &[String]) -> Self {
        Self::build(patterns, true)
    }

    /// Patterns that mean files only.
    pub fn files(patterns: &[String]) -> Self {
        Self::build(patterns, false)
    }

    fn build(patterns: &[String], folders: bool) -> Self {
        let globs: Vec<&String> = patterns.iter().filter(|pattern| is_glob(pattern)).collect();
        let mut set = GlobSetBuilder::new();
        for pattern in &globs {
            if let Some(glob) = glob(pattern) {
                set.add(glob);
            }
            if folders && let Some(glob) = glob(&format!("{}/**", pattern.trim_end_matches('/'))) {
                set.add(glob);
            }
        }
        // Most rules are plain paths, and an empty set costs nothing.
        let set = if globs.is_empty() { GlobSet::empty() } else { set.build().unwrap_or_else(|_| GlobSet::empty()) };
        Self { patterns: patterns.to_vec(), folders, set }
    }

    /// As written.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// No pattern at all.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether one of them means this path.
    pub fn matches(&self, path: &str) -> bool {
        let below = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let named = |pattern: &String| {
            let plain = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
            plain == path || pattern == path || (self.folders && (below(plain) || plain == "."))
        };
        self.patterns.iter().any(named) || (!self.set.is_empty() && self.set.is_match(path))
    }
}

fn glob(pattern: &str) -> Option<globset::Glob> {
    GlobBuilder::new(pattern.strip_prefix("./").unwrap_or(pattern)).literal_separator(true).build().ok()
}

/// Why a pattern is none, in a few words.
pub fn fault(pattern: &str) -> Option<String> {
    if !is_glob(pattern) {
        return None;
    }
    GlobBuilder::new(pattern).literal_separator(true).build().err().map(|fault| fault.kind().to_string())
}

/// Whether it has a character of a glob.
pub fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{'])
}

/// What stands before the first character of a glob.
pub(super) fn literal(pattern: &str) -> &str {
    pattern.find(['*', '?', '[', '{']).and_then(|at| pattern.get(..at)).unwrap_or(pattern)
}
