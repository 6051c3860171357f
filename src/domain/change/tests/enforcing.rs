//! The constraints that code checks.

use super::*;
use crate::domain::ids::ContentHash;
use crate::domain::plan::Enforce;
use crate::domain::symbols::{FileSymbols, Symbol, SymbolKind};

#[track_caller]
fn check(rule: &Enforce, files: &[(&str, Entry, Entry)], expect: &[&str]) {
    let paths: Vec<WorkspacePath> = files.iter().map(|(name, ..)| path(name)).collect();
    let changes: Vec<ChangedFile<'_>> = files
        .iter()
        .zip(&paths)
        .map(|((_, before, after), path)| ChangedFile {
            path,
            before,
            after,
            symbols_before: None,
            symbols_after: None,
        })
        .collect();
    assert_eq!(violations(rule, &changes), expect);
}

fn symbols(signatures: &[(&str, &str, bool)]) -> FileSymbols {
    let symbols = signatures.iter().map(|(path, signature, public)| Symbol {
        path: (*path).to_owned(),
        name: (*path).to_owned(),
        kind: SymbolKind::Function,
        range: 0..0,
        name_range: 0..0,
        signature: (*signature).to_owned(),
        public: *public,
        body: ContentHash::of(""),
    });
    FileSymbols { content: ContentHash::of(""), symbols: symbols.collect(), mentions: Vec::new() }
}

#[test]
fn public_signatures_stay() {
    let before = symbols(&[("a", "pub fn a()", true), ("b", "pub fn b()", true), ("c", "fn c()", false)]);
    let after = symbols(&[("a", "pub fn a(x: u8)", true), ("c", "fn c(x: u8)", false), ("d", "pub fn d()", true)]);
    let (path, entry) = (path("src/a.rs"), file(""));
    let change = ChangedFile {
        path: &path,
        before: &entry,
        after: &entry,
        symbols_before: Some(&before),
        symbols_after: Some(&after),
    };
    assert_eq!(
        violations(&Enforce::PublicApiUnchanged, &[change]),
        [
            "src/a.rs: public `a` was `pub fn a()` and is now `pub fn a(x: u8)`",
            "src/a.rs: public `b` is gone",
            "src/a.rs: public `d` is new"
        ]
    );
}

#[test]
fn no_dependency_appears() {
    let rule = Enforce::NoNewDependencies;
    let cargo = |text: &str| ("Cargo.toml", file("[dependencies]\nserde = \"1\"\n"), file(text));
    check(&rule, &[cargo("[dependencies]\nserde = \"2\"\n")], &[]);
    check(
        &rule,
        &[cargo(
            "[dependencies]\nserde = \"1\"\nx.git = \"u\"\n[dev-dependencies]\ny = \"1\"\n[target.'cfg(unix)'.dependencies]\nz = { version = \"1\", package = \"zed\" }\n",
        )],
        &[
            "Cargo.toml: `x` is new in `dependencies`",
            "Cargo.toml: `y` is new in `dev-dependencies`",
            "Cargo.toml: `z (zed)` is new in `target.cfg(unix).dependencies`",
        ],
    );
    let package = ("web/package.json", file("{}"), file(r#"{"devDependencies": {"left-pad": "1"}}"#));
    check(&rule, &[package], &["web/package.json: `left-pad` is new in `devDependencies`"]);
    let broken = ("web/package.json", file("{}"), file("{"));
    check(
        &rule,
        &[broken],
        &["web/package.json: its dependencies cannot be read: EOF while parsing an object at line 1 column 1"],
    );
}

#[test]
fn tests_stay_and_stay_switched_on() {
    let rule = Enforce::TestsNotDeleted;
    let old =
        "#[test]\nfn a() {}\n\n    #[tokio::test(flavor = \"x\")]\n    async fn b() {}\n#[test] fn c() {}\nfn d() {}\n";
    let new = "#[test]\n#[ignore = \"slow\"]\nfn a() {}\n// #[test]\n// fn c() {}\n#[test]\nfn e() {}\n";
    check(
        &rule,
        &[("src/a.rs", file(old), file(new))],
        &["src/a.rs: test `a` is now ignored", "src/a.rs: test `b` is gone", "src/a.rs: test `c` is gone"],
    );
    let moved = "#[test]\nfn a() {}\n";
    check(&rule, &[("src/a.rs", file(moved), file("")), ("src/b.rs", Entry::Absent, file(moved))], &[]);
    check(
        &rule,
        &[("src/a.rs", file("mod a { #[test] fn x() {} }\n#[test]\nfn a() {}\n#[test]\nfn a() {}\n"), file(moved))],
        &["src/a.rs: test `a` is gone"],
    );
    check(
        &rule,
        &[("t/test_a.py", file("def test_x():\n  pass\n"), file(""))],
        &["t/test_a.py: test `test_x` is gone"],
    );
    check(&rule, &[("tests/snap.txt", file("x"), Entry::Absent)], &["tests/snap.txt: the test file is removed"]);
}

#[test]
fn files_and_lines_are_counted() {
    let files = [("a", file("1\n2\n"), file("1\nx\n")), ("b", Entry::Absent, file("1\n")), ("c", file("1"), file("1"))];
    check(&Enforce::FilesAtMost(2), &files, &[]);
    check(&Enforce::FilesAtMost(1), &files, &["2 files change; the plan allows 1"]);
    check(&Enforce::LinesAtMost(3), &files, &[]);
    check(&Enforce::LinesAtMost(2), &files, &["3 lines change (added and removed); the plan allows 2"]);
    let change = change(&file("1\n2\n"), &file("1\nx\ny\n"));
    assert_eq!(Stats::of_all([&change]).to_string(), "1 file, +2 -1");
}
