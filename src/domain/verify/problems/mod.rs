//! Reading what compilers, linters and test runners print.
//!
//! Invariant: a place is reported only if the text names it; nothing is guessed. Time is linear in the output, memory
//! is bounded by `MOST`, and no text, cut or hostile, does more than yield fewer problems. Absent: whether the check
//! holds; a program says that by how it ends, and a text without a known form has no problems.

mod native;
mod python;
mod rust;
mod script;
#[cfg(test)]
mod tests;

use super::one_line;
use crate::domain::ids::WorkspacePath;
use crate::domain::problem::Severity;
use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::LazyLock;

/// What a program complained about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReadProblem {
    /// Where; none if the program named no file of the workspace.
    pub site: Option<Site>,
    /// `Error` fails the check; `Warning` does not.
    pub severity: Severity,
    /// The tool's own name for it: `E0308`, `clippy::needless_return`, `TS2304`, `no-undef`.
    pub code: Option<String>,
    /// In the program's words, one line.
    pub message: String,
    /// The test that failed, as its runner calls it.
    pub test: Option<String>,
}

/// A place as a program names it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Site {
    /// Which file.
    pub path: WorkspacePath,
    /// 1-based, where it was told.
    pub line: Option<u32>,
    /// 1-based and in the program's units, where it was told.
    pub column: Option<u32>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.path),
            None => write!(f, "{}", self.path),
        }
    }
}

/// One line for a person: `src/a.rs:3: error[E0308]: mismatched types`, `tests/net.rs:9: works: left is 1`.
impl fmt::Display for ReadProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(site) = &self.site {
            write!(f, "{site}: ")?;
        }
        let word = if self.is_error() { "error" } else { "warning" };
        match (&self.test, &self.code) {
            (Some(test), _) => write!(f, "{test}: {}", self.message),
            (None, Some(code)) => write!(f, "{word}[{code}]: {}", self.message),
            (None, None) => write!(f, "{word}: {}", self.message),
        }
    }
}

impl ReadProblem {
    /// Whether a check fails by it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// What makes a path in the output one of the workspace.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The absolute path at which the program saw the workspace; empty = not known, then no absolute path is read.
    pub root: &'a str,
    /// The folder it ran in, relative to the root; empty = the root.
    pub dir: &'a str,
    /// The workspace's files with those of the change set; empty = not known, then a relative path is taken as told.
    pub files: &'a BTreeSet<WorkspacePath>,
}

static NO_FILES: BTreeSet<WorkspacePath> = BTreeSet::new();

impl Default for Ground<'_> {
    fn default() -> Self {
        Self { root: "", dir: "", files: &NO_FILES }
    }
}

impl Ground<'_> {
    /// A path as the program wrote it. Some programs count from where they run, some from the root whatever they do:
    /// where the files are known, they decide.
    fn resolve(&self, told: &str) -> Option<WorkspacePath> {
        let told = told.trim().strip_prefix("file://").unwrap_or(told.trim());
        let below = |root: &str| {
            let rest = told.strip_prefix(root.trim_end_matches('/'))?;
            rest.strip_prefix('/').map(str::to_owned)
        };
        // `node:internal/x.js`, `webpack://x`
        if told.contains(':') {
            return None;
        }
        if told.starts_with('/') {
            return if self.root.is_empty() { None } else { WorkspacePath::new(&below(self.root)?).ok() };
        }
        let joined =
            WorkspacePath::new(&format!("{}/{told}", self.dir).trim_start_matches('/').replace("//", "/")).ok();
        let plain = WorkspacePath::new(told).ok();
        let known = |path: &Option<WorkspacePath>| path.as_ref().is_some_and(|path| self.files.contains(path));
        if !known(&joined) && known(&plain) { plain } else { joined }
    }

    /// A bare file name from a package whose import path is known (Go).
    fn in_package(&self, name: &str, package: &str) -> Option<WorkspacePath> {
        if self.files.is_empty() || name.contains('/') {
            return self.resolve(name);
        }
        let folder = |path: &WorkspacePath| path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let named: Vec<&WorkspacePath> = self.files.iter().filter(|path| path.file_name() == name).collect();
        let ends = |folder: &str| package == folder || package.ends_with(&format!("/{folder}"));
        let fits = named.iter().filter(|path| {
            let folder = folder(path);
            folder.is_empty() || ends(&folder)
        });
        fits.max_by_key(|path| folder(path).len())
            .copied()
            .or(if let [one] = named[..] { Some(one) } else { None })
            .cloned()
    }
}

/// More are not read: nobody reads them, and a program that prints more repeats itself.
pub(super) const MOST: usize = 500;
/// Bytes of a line that are looked at; longer ones are data.
const LONGEST: usize = 2_000;
/// Lines after a head within which its place or its message stands.
const NEAR: usize = 30;

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| {
            #[allow(clippy::expect_used, reason = "a literal; the tests of this module compile it")]
            Regex::new($text).expect("a valid pattern")
        });
    };
}
pub(super) use pattern;

/// One tool's or one family's form. Readers stand in an order; the first that takes a line has it alone.
trait Reader {
    /// True if the line is one of its form.
    fn line(&mut self, line: &str, sink: &mut Sink<'_>) -> bool;
    /// The output is over.
    fn end(&mut self, sink: &mut Sink<'_>);
}

/// Every problem in the output, in its order, each once. Where no files and no root are known, see `Ground::default`.
pub fn read(output: &str, ground: Ground<'_>) -> Vec<ReadProblem> {
    let clean = clean(output);
    let mut sink = Sink { ground, out: Vec::new(), seen: HashSet::new() };
    let mut readers: [Box<dyn Reader>; 7] = [
        Box::new(rust::Json),
        Box::new(rust::Compiler::default()),
        Box::new(rust::Tests::default()),
        Box::new(python::Python::default()),
        Box::new(native::Go::default()),
        Box::new(script::Script::default()),
        Box::new(native::Places::default()),
    ];
    for line in clean.lines() {
        if sink.out.len() >= MOST {
            break;
        }
        let _ = readers.iter_mut().any(|reader| reader.line(line, &mut sink));
    }
    for reader in &mut readers {
        reader.end(&mut sink);
    }
    sink.out
}

/// The same of an output about which nothing else is known.
pub fn problems(output: &str) -> Vec<ReadProblem> {
    read(output, Ground::default())
}

/// Where readers put what they read.
struct Sink<'a> {
    ground: Ground<'a>,
    out: Vec<ReadProblem>,
    seen: HashSet<(Option<Site>, String, Option<String>)>,
}

impl Sink<'_> {
    fn site(&self, path: &str, line: &str, column: &str) -> Option<Site> {
        let path = self.ground.resolve(path)?;
        Some(Site { path, line: line.parse().ok(), column: column.parse().ok() })
    }

    /// True if it was not said before.
    fn put(&mut self, problem: ReadProblem) -> bool {
        let message = one_line(&problem.message);
        let fresh =
            self.out.len() < MOST && self.seen.insert((problem.site.clone(), message.clone(), problem.test.clone()));
        if fresh {
            self.out.push(ReadProblem { message, ..problem });
        }
        fresh
    }

    fn error(&mut self, site: Site, code: Option<&str>, message: &str) -> bool {
        let code = code.map(str::to_owned);
        let severity = Severity::Error;
        self.put(ReadProblem { site: Some(site), severity, code, message: message.to_owned(), test: None })
    }

    fn test(&mut self, site: Option<Site>, message: &str, test: Option<&str>) {
        let (message, test) = (message.to_owned(), test.map(str::to_owned));
        self.put(ReadProblem { site, severity: Severity::Error, code: None, message, test });
    }
}

/// A group's text; empty where it took no part.
fn group<'h>(captures: &Captures<'h>, name: &str) -> &'h str {
    captures.name(name).map_or("", |found| found.as_str())
}

/// What a runner says about a test that tells no more.
const FAILED: &str = "failed";

pattern!(ESCAPES, r"\x1b\[[0-9;?:]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-Z\\-~]");

/// Without escape sequences and control characters other than line ends and tabs; what a carriage return overwrites
/// on a terminal is a line of its own. Lines are cut where they stop being lines.
pub(super) fn clean(output: &str) -> String {
    let plain = ESCAPES.replace_all(output, "");
    let plain: Cow<'_, str> =
        if plain.contains('\r') { plain.replace("\r\n", "\n").replace('\r', "\n").into() } else { plain };
    plain.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

/// The head of a line that forms are looked for in.
fn head(line: &str) -> &str {
    line.get(..line.floor_char_boundary(LONGEST)).unwrap_or(line)
}
