//! Which module may know which, and which may know which crate. The lists here are the picture in `src/architecture.md`.
//!
//! The source is parsed, so a path counts wherever it stands: in a nested import, in a type, in a macro's tokens, and
//! by `super::` out of its module. Absent: what types flow through an allowed module.

use crate::support::source::{Crate, Mention, Source, mentions};

/// A module of the crate's root and the others that it may use. `app`, `main` and `testing` may use all.
const EDGES: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("ports", &["domain"]),
    ("desk", &["domain", "ports", "actions"]),
    ("engine", &["domain", "ports", "desk"]),
    ("arena", &["domain", "ports"]),
    ("clock", &["domain", "ports"]),
    ("model", &["domain", "ports"]),
    ("store", &["domain", "ports"]),
    ("syntax", &["domain", "ports"]),
    ("workspace", &["domain", "ports"]),
    ("config", &["domain"]),
    ("actions", &["domain"]),
    ("host", &["domain", "ports", "desk", "engine"]),
    ("cli", &["domain", "ports", "actions", "desk", "host"]),
    ("lsp", &["domain", "ports", "actions", "desk", "host"]),
];

/// What tests may use besides: the terminal's stand-in for a host is an engine's handle that a script answers; the
/// engine's tests parse with the real grammars, and all have the real buffers: neither does anything to the world that
/// could be replaced.
const IN_TESTS: &[(&str, &str)] =
    &[("cli", "engine"), ("engine", "syntax"), ("engine", "workspace"), ("host", "workspace"), ("lsp", "workspace")];

const ALL: &[&str] = &["app", "main", "testing"];

/// Crates with one owner.
const OWNED: &[(&str, &str)] = &[
    ("tree_sitter", "syntax"),
    ("tree_sitter_rust", "syntax"),
    ("ast_grep_core", "syntax"),
    ("tower_lsp", "lsp"),
    ("tower_service", "lsp"),
    ("lsp_types", "lsp"),
    ("rusqlite", "store"),
    ("reqwest", "model"),
    ("rustls", "model"),
    ("notify", "workspace"),
    ("clap", "cli"),
];

/// What is not pure.
const IMPURE: &[&[&str]] = &[
    &["tokio"],
    &["rusqlite"],
    &["reqwest"],
    &["tracing"],
    &["tempfile"],
    &["rustix"],
    &["ignore"],
    &["notify"],
    &["std", "fs"],
    &["std", "env"],
    &["std", "io"],
    &["std", "net"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
];

fn offences(file: &Source, test: bool) -> Vec<String> {
    let module = file.module();
    let home = module.first().map_or("main", String::as_str);
    if home == "main" || ALL.contains(&home) {
        return Vec::new();
    }
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == home) else {
        return vec![format!("{}: `{home}` has no row in the list of edges", file.path)];
    };
    let mut found: Vec<String> = mentions(file, test)
        .iter()
        .filter_map(|mention| {
            let why = if mention.inside { edge(home, allowed, mention) } else { foreign(home, mention) }?;
            let all = if mention.all { "::*" } else { "" };
            Some(format!("{}:{}: {} — {why}", file.path, mention.line, mention.path.join("::") + all))
        })
        .collect();
    found.dedup();
    found
}

fn edge(home: &str, allowed: &[&str], mention: &Mention) -> Option<String> {
    let Some(top) = mention.path.first() else {
        return Some("the crate's root is no module to use".to_owned());
    };
    let may = top == home
        || allowed.contains(&top.as_str())
        || (mention.test && (top == "testing" || IN_TESTS.contains(&(home, top.as_str()))));
    (!may).then(|| format!("`{home}` may not use `{top}`"))
}

fn foreign(home: &str, mention: &Mention) -> Option<String> {
    let first = mention.path.first()?;
    if let Some((_, owner)) = OWNED.iter().find(|(name, _)| name == first)
        && *owner != home
    {
        return Some(format!("`{owner}` alone may use it"));
    }
    let impure = |banned: &&&[&str]| {
        let through = mention.path.iter().map(String::as_str).take(banned.len()).eq(banned.iter().copied());
        let above = mention.all && banned.iter().copied().take(mention.path.len()).eq(mention.path.iter());
        through || above
    };
    (home == "domain" && !mention.test && IMPURE.iter().any(|banned| impure(&banned)))
        .then(|| "`domain` is pure".to_owned())
}

#[test]
fn the_source_keeps_to_the_edges() {
    let source = Crate::load();
    let found: Vec<String> = source.each().flat_map(|(file, test)| offences(file, test)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    let used = source.each().map(|(file, test)| mentions(file, test).len()).sum::<usize>();
    assert!(used > 5_000, "only {used} paths were seen in the whole source: the reader is blind");
}

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_eq!(offences(&Source::new(path, text), false), expected, "{text}");
}

#[test]
fn an_edge_is_seen_wherever_it_is_written() {
    let not_store = |line: u32, path: &str| format!("src/domain/a/b.rs:{line}: {path} — `domain` may not use `store`");
    for (text, path) in [
        ("use crate::store::Sqlite;", "store::Sqlite"),
        ("pub(crate) use crate::{domain::ids, store::{open::{Opened as O, self}}};", "store::open::Opened"),
        ("use crate::store::*;", "store::*"),
        ("use super::super::super::store::Sqlite;", "store::Sqlite"),
        ("fn f() { crate::store::open(); }", "store::open"),
        ("fn f(x: &crate::store::Sqlite) {}", "store::Sqlite"),
        ("fn f() { let x = Vec::<crate::store::Sqlite>::new(); }", "store::Sqlite"),
        ("fn f() { <crate::store::Sqlite as Clone>::clone(x) }", "store::Sqlite"),
        ("fn f() { println!(\"{}\", g(crate::store::VERSION)); }", "store::VERSION"),
        ("macro_rules! m { () => { use $crate::store::{Sqlite}; } }", "store"),
        ("impl crate::store::Sqlite {}", "store::Sqlite"),
        ("#[serde(with = \"crate::store::codec\")] struct S;", "store::codec"),
        ("mod inner { use super::super::super::super::store::Sqlite; }", "store::Sqlite"),
        ("use crate as root; fn f() { root::store::open(); }", "store::open"),
    ] {
        let found = offences(&Source::new("src/domain/a/b.rs", text), false);
        assert!(found.contains(&not_store(1, path)), "{text}\n{found:?}");
    }
    check(
        "src/domain/a/b.rs",
        "use super::super::ids::TaskId; use self::c::D; use super::super::super::domain::x;",
        &[],
    );
    check("src/domain/a/b.rs", "// crate::store\nconst A: &str = \"crate::store::b\";", &[]);
    check("src/domain/a.rs", "use crate::*;", &["src/domain/a.rs:1: ::* — the crate's root is no module to use"]);
    check("src/new/a.rs", "", &["src/new/a.rs: `new` has no row in the list of edges"]);
    check("src/app.rs", "use crate::store::Sqlite; use crate::cli;", &[]);
}

#[test]
fn adapters_do_not_know_each_other_and_testing_is_for_tests() {
    check(
        "src/store/a.rs",
        "use crate::{model::Key, ports::Store};",
        &["src/store/a.rs:1: model::Key — `store` may not use `model`"],
    );
    check("src/cli/a.rs", "use crate::engine::World;", &["src/cli/a.rs:1: engine::World — `cli` may not use `engine`"]);
    check(
        "src/store/a.rs",
        "use crate::testing::clock;\n#[cfg(test)]\nmod tests { use crate::testing::clock; use crate::model::Key; }",
        &[
            "src/store/a.rs:1: testing::clock — `store` may not use `testing`",
            "src/store/a.rs:3: model::Key — `store` may not use `model`",
        ],
    );
}

#[test]
fn an_owned_crate_has_one_owner() {
    let owner = |krate: &str, owner: &str| format!("src/engine/a.rs:1: {krate} — `{owner}` alone may use it");
    for (text, krate, only) in [
        ("use tree_sitter::Node;", "tree_sitter::Node", "syntax"),
        ("fn f(n: ::tree_sitter::Node) {}", "tree_sitter::Node", "syntax"),
        ("use ast_grep_core::{Pattern};", "ast_grep_core::Pattern", "syntax"),
        ("use tower_lsp::Client;", "tower_lsp::Client", "lsp"),
        ("extern crate rusqlite;", "rusqlite", "store"),
        ("fn f() { reqwest::get(x); }", "reqwest::get", "model"),
    ] {
        assert_eq!(offences(&Source::new("src/engine/a.rs", text), false), [owner(krate, only)], "{text}");
    }
    check("src/syntax/a.rs", "use tree_sitter::Node;", &[]);
}

#[test]
fn impurity_of_the_domain_is_seen() {
    for text in [
        "use tokio::sync::mpsc;",
        "use std::{collections::BTreeMap, fs::File};",
        "use std::time::{Duration, Instant};",
        "use std::time::*;",
        "use std::*;",
        "use std::time; fn f() { time::SystemTime::now(); }",
        "use std as s; fn f() { s::env::var(x); }",
        "fn f() { tracing::info!(x); }",
        "fn f() { g!(std::env::var(x)); }",
        "fn f() -> Result<(), rusqlite::Error> {}",
        "fn f() { reqwest::get(x); }",
        "#[tokio::main] async fn f() {}",
    ] {
        let found = offences(&Source::new("src/domain/a.rs", text), false);
        assert!(!found.is_empty(), "{text}");
    }
    check(
        "src/domain/a.rs",
        "use std::time::Duration; use std::fmt::*; #[cfg(test)] fn f() { std::env::var(x); }",
        &[],
    );
}
