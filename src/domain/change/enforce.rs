//! The constraints of a plan that code checks at each step's end.
//!
//! Invariant: judged from entries and symbol tables alone, so that the same change always gets the same answer; what
//! cannot be read counts against the change. Absent: what is done about a violation.

use super::model::Entry;
use super::stats::Stats;
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::Enforce;
use crate::domain::symbols::FileSymbols;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A path before and after a step, with what the syntax tree says about both.
#[derive(Clone, Copy, Debug)]
pub struct ChangedFile<'a> {
    /// Where.
    pub path: &'a WorkspacePath,
    /// The entry before.
    pub before: &'a Entry,
    /// The entry after.
    pub after: &'a Entry,
    /// Definitions before; `None` for a language that is not known.
    pub symbols_before: Option<&'a FileSymbols>,
    /// Definitions after.
    pub symbols_after: Option<&'a FileSymbols>,
}

/// Every way in which the changes break the rule, a sentence each; empty = kept.
pub fn violations(rule: &Enforce, changes: &[ChangedFile<'_>]) -> Vec<String> {
    match rule {
        Enforce::PublicApiUnchanged => changes.iter().flat_map(public_api).collect(),
        Enforce::NoNewDependencies => changes.iter().flat_map(dependencies).collect(),
        Enforce::TestsNotDeleted => tests(changes),
        Enforce::FilesAtMost(most) => too_many(total(changes).files, *most, "files change"),
        Enforce::LinesAtMost(most) => too_many(total(changes).lines(), *most, "lines change (added and removed)"),
    }
}

fn total(changes: &[ChangedFile<'_>]) -> Stats {
    let mut sum = Stats::default();
    for change in changes {
        sum += Stats::of(change.before, change.after);
    }
    sum
}

fn too_many(found: usize, most: u32, what: &str) -> Vec<String> {
    let within = u32::try_from(found).is_ok_and(|found| found <= most);
    if within { Vec::new() } else { vec![format!("{found} {what}; the plan allows {most}")] }
}

/// Signatures of public items by path; two items can share a path (`cfg`).
fn signatures(symbols: Option<&FileSymbols>) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut table: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for symbol in symbols.iter().flat_map(|symbols| &symbols.symbols).filter(|symbol| symbol.public) {
        table.entry(&symbol.path).or_default().insert(&symbol.signature);
    }
    table
}

fn public_api(change: &ChangedFile<'_>) -> Vec<String> {
    let (old, new) = (signatures(change.symbols_before), signatures(change.symbols_after));
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let show = |set: &BTreeSet<&str>| set.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(" and ");
    names
        .into_iter()
        .filter_map(|name| match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) if old != new => {
                Some(format!("{}: public `{name}` was {} and is now {}", change.path, show(old), show(new)))
            }
            (Some(_), None) => Some(format!("{}: public `{name}` is gone", change.path)),
            (None, Some(_)) => Some(format!("{}: public `{name}` is new", change.path)),
            (Some(_), Some(_)) | (None, None) => None,
        })
        .collect()
}

/// Table and name of each dependency; a renamed package counts by both names.
type Dependencies = BTreeSet<(String, String)>;

fn dependencies(change: &ChangedFile<'_>) -> Vec<String> {
    let read: fn(&str) -> Result<Dependencies, String> = match change.path.file_name() {
        "Cargo.toml" => cargo,
        "package.json" => package_json,
        _ => return Vec::new(),
    };
    let old = match change.before {
        Entry::Absent => Dependencies::new(),
        // a manifest that was broken before has no list to compare with: all that stands there now is new
        Entry::File { text, .. } => read(text).unwrap_or_default(),
    };
    match change.after {
        Entry::Absent => Vec::new(),
        Entry::File { text, .. } => match read(text) {
            Ok(new) => new
                .difference(&old)
                .map(|(table, name)| format!("{}: `{name}` is new in `{table}`", change.path))
                .collect(),
            Err(problem) => vec![format!("{}: its dependencies cannot be read: {problem}", change.path)],
        },
    }
}

fn cargo(text: &str) -> Result<Dependencies, String> {
    const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let manifest: toml::Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let mut found = Dependencies::new();
    let mut take = |place: &str, table: &toml::Table| {
        for kind in TABLES {
            // the older spelling with an underscore still works
            for spelt in [kind.to_owned(), kind.replace('-', "_")] {
                let Some(list) = table.get(&spelt).and_then(toml::Value::as_table) else { continue };
                for (name, value) in list {
                    let package = value.get("package").and_then(toml::Value::as_str);
                    let name = package.map_or_else(|| name.clone(), |package| format!("{name} ({package})"));
                    found.insert((format!("{place}{kind}"), name));
                }
            }
        }
    };
    take("", &manifest);
    if let Some(workspace) = manifest.get("workspace").and_then(toml::Value::as_table) {
        take("workspace.", workspace);
    }
    for (target, table) in manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten() {
        if let Some(table) = table.as_table() {
            take(&format!("target.{target}."), table);
        }
    }
    Ok(found)
}

fn package_json(text: &str) -> Result<Dependencies, String> {
    const TABLES: [&str; 4] = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
    let manifest: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let tables = TABLES.iter().filter_map(|table| Some((table, manifest.get(table)?.as_object()?)));
    Ok(tables.flat_map(|(table, list)| list.keys().map(|name| ((*table).to_owned(), name.clone()))).collect())
}

/// `#[test]`, `#[tokio::test(…)]`, `#[rstest]`, `#[test_case(…)]` and their kin.
static TEST_ATTRIBUTE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^#\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b").ok()
});
/// The name of a test function in Rust, Python or Go.
static FUNCTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*(?:(?:pub(?:\([^)]*\))?|async|const|unsafe)\s+)*fn\s+(\w+)").ok());
static NAMED_TEST: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*(?:(?:async\s+)?def\s+(test_\w*)|func\s+(Test\w*))\s*\(").ok());

/// How often a test of this name is defined, and how often switched off: modules of one file may repeat a name.
type Tests = BTreeMap<String, (usize, usize)>;

/// The tests a text defines, by name, read line by line: a test that is commented out is none.
fn tests_of(path: &WorkspacePath, entry: &Entry) -> Tests {
    let (Some(attribute), Some(function), Some(named)) = (&*TEST_ATTRIBUTE, &*FUNCTION, &*NAMED_TEST) else {
        return Tests::new();
    };
    let mut found = Tests::new();
    let (mut test, mut ignored) = (false, false);
    for line in entry.text().lines() {
        if path.extension() != Some("rs") {
            let name = named.captures(line).and_then(|groups| groups.get(1).or_else(|| groups.get(2)));
            if let Some(name) = name {
                found.entry(name.as_str().to_owned()).or_default().0 += 1;
            }
            continue;
        }
        let line = line.trim_start();
        test |= attribute.is_match(line);
        ignored |= line.starts_with("#[ignore");
        // attribute and function may share a line
        let rest = line.rsplit_once(']').map_or(line, |(_, rest)| rest);
        if let Some(name) = function.captures(rest).or_else(|| function.captures(line)).and_then(|found| found.get(1)) {
            if test {
                let (all, off) = found.entry(name.as_str().to_owned()).or_default();
                *all += 1;
                *off += usize::from(ignored);
            }
            (test, ignored) = (false, false);
        }
    }
    found
}

fn is_test_file(path: &WorkspacePath) -> bool {
    let name = path.file_name();
    let stem = name.split('.').next().unwrap_or(name);
    path.as_str().split('/').any(|part| matches!(part, "tests" | "test" | "__tests__" | "spec"))
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem == "tests"
        || name.contains(".test.")
        || name.contains(".spec.")
}

fn tests(changes: &[ChangedFile<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    let after: Vec<Tests> = changes.iter().map(|change| tests_of(change.path, change.after)).collect();
    let before: Vec<Tests> = changes.iter().map(|change| tests_of(change.path, change.before)).collect();
    let count = |all: &[Tests], name: &str| -> usize {
        all.iter().filter_map(|tests| tests.get(name)).map(|(all, _)| all).sum()
    };
    for ((change, old), new) in changes.iter().zip(&before).zip(&after) {
        for (name, (was, was_off)) in old {
            let (is, is_off) = new.get(name).copied().unwrap_or_default();
            // a test may move to another file of the same change
            if is < *was && count(&after, name) < count(&before, name) {
                out.push(format!("{}: test `{name}` is gone", change.path));
            } else if is_off > *was_off {
                out.push(format!("{}: test `{name}` is now ignored", change.path));
            }
        }
        let gone = matches!((change.before, change.after), (Entry::File { .. }, Entry::Absent));
        if gone && old.is_empty() && is_test_file(change.path) {
            out.push(format!("{}: the test file is removed", change.path));
        }
    }
    out
}
