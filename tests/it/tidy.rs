//! The habits of this repository, as rules that a machine can hold it to. Each has a test that feeds it a bad source,
//! so that no rule passes because it is blind.
//!
//! Absent: formatting and everything else that rustfmt and clippy say (`tests/all` runs both).

use crate::support::source::{Crate, Source, repository, rust_files};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Command;

/// A file that is longer wants to be two.
const LINES: usize = 800;
const MEDIAN: usize = 250;

/// Where a literal is compiled behind an `expect`, with its reason written there.
const MAY_EXPECT: &[&str] = &["src/domain/verify/problems/mod.rs"];

/// The head of a module says what always holds in it.
fn head(file: &Source, test: bool) -> Option<String> {
    let head: Vec<&str> = file.text.lines().take_while(|line| line.starts_with("//!")).collect();
    // The crate's documentation is a page of its own.
    let page = file.text.starts_with("#![doc = include_str!(");
    let told = head.iter().any(|line| line.contains("Invariant"));
    match (page || test, head.is_empty(), told) {
        (true, _, _) | (false, false, true) => None,
        (false, true, _) => Some(format!("{}: does not open with `//!`", file.path)),
        (false, false, false) => Some(format!("{}: its head names no Invariant", file.path)),
    }
}

fn length(file: &Source) -> Option<String> {
    let lines = file.text.lines().count();
    (lines > LINES).then(|| format!("{}: {lines} lines, more than {LINES}", file.path))
}

fn median(files: &[Source]) -> usize {
    let mut lines: Vec<usize> = files.iter().map(|file| file.text.lines().count()).collect();
    lines.sort_unstable();
    lines[lines.len() / 2]
}

/// What ends the process outside of a test.
fn panics(file: &Source, test: bool) -> Vec<String> {
    const MACROS: [&str; 4] = ["panic", "todo", "unimplemented", "unreachable"];
    const METHODS: [&str; 2] = ["unwrap", "expect"];
    let mut found = BTreeSet::new();
    file.visit(test, &mut |spot| {
        let text = file.of(spot.node);
        let word = text.split('!').next().unwrap_or_default().rsplit("::").next().unwrap_or_default();
        let before = || spot.node.prev_sibling().map(|node| file.of(node));
        let after = || spot.node.next_sibling().map(|node| file.of(node));
        let ends = match spot.node.kind() {
            "macro_invocation" => {
                let name = spot.node.child_by_field_name("macro").map_or("", |name| file.of(name));
                name.rsplit("::").next().is_some_and(|name| MACROS.contains(&name))
            }
            "field_identifier" => METHODS.contains(&text) && spot.node.parent().is_some_and(|p| is_called(p)),
            // A macro's tokens have no structure; `Option::unwrap` as a function has.
            "identifier" => {
                let method = METHODS.contains(&text) && matches!(before(), Some("." | "::"));
                method || MACROS.contains(&text) && after() == Some("!")
            }
            _ => false,
        };
        if ends && !spot.test && !(text == "expect" && MAY_EXPECT.contains(&file.path.as_str())) {
            found.insert(format!("{}:{}: {word}", file.path, spot.node.start_position().row + 1));
        }
        true
    });
    found.into_iter().collect()
}

fn is_called(field: tree_sitter::Node<'_>) -> bool {
    let field = field.parent().filter(|parent| parent.kind() == "generic_function").unwrap_or(field);
    field.parent().is_some_and(|parent| parent.kind() == "call_expression")
}

/// Work that was put off.
fn put_off(file: &Source) -> Vec<String> {
    let mut found = Vec::new();
    file.visit(false, &mut |spot| {
        if matches!(spot.node.kind(), "line_comment" | "block_comment") {
            let words = file.of(spot.node).split(|c: char| !c.is_alphanumeric());
            let mark = words.into_iter().find(|word| matches!(*word, "TODO" | "FIXME" | "XXX" | "HACK"));
            found.extend(mark.map(|mark| format!("{}:{}: {mark}", file.path, spot.node.start_position().row + 1)));
        }
        true
    });
    found
}

/// What a test says when it skips something and passes: a printing macro's words are held back from the person.
fn unheard(file: &Source) -> Vec<String> {
    let mut found = Vec::new();
    file.visit(false, &mut |spot| {
        let text = file.of(spot.node);
        let prints = text.starts_with("eprintln!") || text.starts_with("println!");
        if spot.node.kind() == "macro_invocation" && prints && text.contains("SKIPPED") {
            let line = spot.node.start_position().row + 1;
            found.push(format!("{}:{line}: nobody hears it; call `testing::skipped`", file.path));
        }
        true
    });
    found
}

/// Names of the migrations are numbered from 1 without a gap, and the program knows each.
fn migrations(names: &[String], program: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (n, name) in (1..).zip(names) {
        if !name.starts_with(&format!("{n:04}_")) || !name.ends_with(".sql") {
            found.push(format!("{name}: {n:04}_….sql is expected here"));
        }
        if !program.contains(&format!("include_str!(\"migrations/{name}\")")) {
            found.push(format!("{name}: the program does not include it"));
        }
    }
    found
}

/// What the top of the repository may hold.
fn strangers(names: &[&str]) -> Vec<String> {
    const MUST: [&str; 6] = ["Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "src", "tests"];
    let stray = names.iter().filter(|name| !MUST.contains(name) && !name.starts_with('.') && **name != "editors");
    let missing = MUST.iter().filter(|name| !names.contains(name));
    stray.map(|name| format!("{name} has no place here")).chain(missing.map(|name| format!("no {name}"))).collect()
}

/// What git keeps, from the top; none where this is no repository (a release's archive).
fn tracked() -> Option<Vec<String>> {
    let said = Command::new("git").args(["ls-files", "-z"]).current_dir(repository()).output().ok()?;
    let names = String::from_utf8(said.stdout).ok()?;
    said.status.success().then(|| names.split_terminator('\0').map(str::to_owned).collect())
}

#[track_caller]
fn none(found: impl IntoIterator<Item = String>) {
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_module_says_what_holds_in_it() {
    none(Crate::load().each().filter_map(|(file, test)| head(file, test)));
    none(rust_files("tests").iter().filter(|file| !file.text.starts_with("//!")).map(|file| file.path.clone()));
    let page = std::fs::read_to_string(repository().join("src/architecture.md")).unwrap();
    assert!(page.contains("## Invariants"));
}

#[test]
fn files_stay_short() {
    let (source, tests) = (Crate::load(), rust_files("tests"));
    none(source.files.iter().chain(&tests).filter_map(length));
    let median = median(&source.files);
    writeln!(std::io::stdout(), "{} files in src, median {median} lines", source.files.len()).unwrap();
    assert!(median <= MEDIAN, "the median of src is {median} lines, more than {MEDIAN}");
}

#[test]
fn nothing_panics_outside_of_tests() {
    none(Crate::load().each().flat_map(|(file, test)| panics(file, test)));
}

#[test]
fn nothing_is_put_off() {
    none(rust_files("src").iter().chain(&rust_files("tests")).flat_map(put_off));
}

#[test]
fn what_is_skipped_is_heard() {
    none(rust_files("src").iter().chain(&rust_files("tests")).flat_map(unheard));
}

#[test]
fn no_file_is_forgotten() {
    none(Crate::load().forgotten.clone());
    for tests in ["tests/it", "tests/bench"] {
        none(Crate::of(rust_files(tests), tests).forgotten);
    }
}

#[test]
fn migrations_are_numbered_without_a_gap() {
    let folder = repository().join("src/store/migrations");
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(!names.is_empty());
    none(migrations(&names, &std::fs::read_to_string(repository().join("src/store/schema.rs")).unwrap()));
}

#[test]
fn the_top_of_the_repository_is_what_a_visitor_expects() {
    let Some(files) = tracked() else {
        planwright::testing::skipped("no git repository here, so nothing says which files belong to it");
        return;
    };
    let top: BTreeSet<&str> = files.iter().filter_map(|path| path.split('/').next()).collect();
    none(strangers(&top.into_iter().collect::<Vec<_>>()));
}

#[test]
fn each_rule_sees_what_it_is_for() {
    let source = |text: &str| Source::new("src/a.rs", text);
    for (text, expected) in [
        ("//! What.\n//!\n//! Invariant: x.\n", None),
        ("//! What.\nfn f() {} // Invariant\n", Some("src/a.rs: its head names no Invariant")),
        ("// Invariant\n", Some("src/a.rs: does not open with `//!`")),
    ] {
        assert_eq!(head(&source(text), false).as_deref(), expected);
        assert_eq!(head(&source(text), true), None);
    }

    assert_eq!(length(&source(&"\n".repeat(800))), None);
    assert_eq!(length(&source(&"\n".repeat(801))).as_deref(), Some("src/a.rs: 801 lines, more than 800"));
    assert_eq!(median(&[1, 900, 300].map(|lines| source(&"\n".repeat(lines)))), 300);

    for (line, text) in [
        ("unwrap", "fn f() { x.unwrap(); }"),
        ("expect", "fn f() { x.expect(\"y\"); }"),
        ("unwrap", "fn f() { g(x\n.unwrap()\n.y); }"),
        ("unwrap", "fn f() { y.map(Option::unwrap); }"),
        ("unwrap", "fn f() { println!(\"{}\", x.unwrap()); }"),
        ("panic", "fn f() { panic!(\"x\"); }"),
        ("panic", "fn f() { std::panic!(\"x\"); }"),
        ("panic", "macro_rules! m { () => { panic!() } }"),
        ("todo", "fn f() { todo!() }"),
        ("unimplemented", "fn f() { unimplemented!() }"),
        ("unreachable", "fn f() { unreachable!() }"),
    ] {
        let found = panics(&source(text), false);
        assert!(found.len() == 1 && found[0].ends_with(&format!(": {line}")), "{text}\n{found:?}");
        assert_eq!(panics(&source(text), true), Vec::<String>::new());
    }
    let harmless = "/// x.unwrap() panic!\nfn f() { x.unwrap_or(1); s(\"y.unwrap()\"); self.expect; }\n\
                    #[cfg(test)]\nmod tests { fn g() { x.unwrap(); } }\n#[expect(dead_code)] fn h() {}";
    assert_eq!(panics(&source(harmless), false), Vec::<String>::new());

    assert_eq!(put_off(&source("fn f() {} // TODO: more")), ["src/a.rs:1: TODO"]);
    assert_eq!(put_off(&source("/* a FIXME */")), ["src/a.rs:1: FIXME"]);
    assert_eq!(put_off(&source("fn f() { g(\"TODO\") } // TODOS")), Vec::<String>::new());

    let silent = "fn f() { eprintln!(\"SKIPPED: no git\"); eprintln!(\"more\"); skipped(\"no git\"); }";
    assert_eq!(unheard(&source(silent)), ["src/a.rs:1: nobody hears it; call `testing::skipped`"]);

    let file = |path: &str, text: &str| Source::new(path, text);
    let lost = Crate::of(
        vec![
            file("src/lib.rs", "mod a;\n#[cfg(test)] mod t;"),
            file("src/a/mod.rs", "mod inner { mod c; }"),
            file("src/a/inner/c.rs", ""),
            file("src/a/b.rs", ""),
            file("src/t.rs", "mod u;"),
            file("src/t/u.rs", ""),
        ],
        "src",
    );
    assert_eq!(lost.forgotten.into_iter().collect::<Vec<_>>(), ["src/a/b.rs"]);
    assert_eq!(lost.tests.into_iter().collect::<Vec<_>>(), ["src/t.rs", "src/t/u.rs"]);

    let program = "include_str!(\"migrations/0001_a.sql\") include_str!(\"migrations/0003_b.sql\")";
    assert_eq!(migrations(&["0001_a.sql".to_owned()], program), Vec::<String>::new());
    let gap = migrations(&["0001_a.sql".to_owned(), "0003_b.sql".to_owned()], program);
    assert_eq!(gap, ["0003_b.sql: 0002_….sql is expected here"]);
    let unknown = migrations(&["0001_z.sql".to_owned()], program);
    assert_eq!(unknown, ["0001_z.sql: the program does not include it"]);

    let right = ["Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "src", "tests", ".ci", ".gitignore", "editors"];
    assert_eq!(strangers(&right), Vec::<String>::new());
    assert_eq!(strangers(&[&right[1..], &["docs"]].concat()), ["docs has no place here", "no Cargo.lock"]);
}
