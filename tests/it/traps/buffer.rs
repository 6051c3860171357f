//! An editor has a file open that has nothing to do with the change, in the middle of a word.

use crate::support::server::Server;
use crate::support::{Project, until};
use serde_json::{Value, json};

const PLAN: &str = "# Rename total

A better name.

## Contract

- scope: `src/tally.rs`
- accept: absent: `\\btotal\\b`, in `src/tally.rs`

## Steps

### rename: Rename total

- transform: rename `total` to `sum_of`
- write: `src/tally.rs`
- check: `cargo check --offline`
";

const SAVED: &str = "pub fn bill() -> u32 {\n    7\n}\n";
const TYPED: &str = "pub fn bill() -> u32 {\n    if 7 == \n}\n";

#[test]
fn a_buffer_in_the_middle_of_a_word_fails_nobodys_check() {
    if super::Trap::new(&[]).is_none() {
        return;
    }
    let mut project = Project::new(&[
        ("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2024\"\n[workspace]\n"),
        (".gitignore", "/target\nCargo.lock\n"),
        ("src/lib.rs", "mod bill;\nmod more;\nmod tally;\npub use bill::bill;\npub use more::more;\n"),
        ("src/more.rs", "// nothing yet\n"),
        ("src/bill.rs", SAVED),
        ("src/tally.rs", "pub fn total() -> u32 {\n    1\n}\n"),
    ]);
    // What is open and whole is needed: without it nothing compiles.
    let more = "pub fn more() {}\n";
    let copy = tempfile::tempdir().unwrap();
    super::cp(&project.root, &copy.path().join("copy"));
    let check = || super::bare(&copy.path().join("copy"), &["cargo", "check", "--offline"]).0;
    std::fs::write(copy.path().join("copy/src/more.rs"), more).unwrap();
    assert!(check());
    std::fs::write(copy.path().join("copy/src/bill.rs"), TYPED).unwrap();
    assert!(!check(), "a plain copy with the buffers was expected to fail");

    project.env.push(("PLANWRIGHT_ISOLATION".to_owned(), "on".to_owned()));
    let task = project.approved("Rename total", PLAN);
    let mut server = Server::ready(&project);
    let note = || -> Value {
        let text = std::fs::read_to_string(project.database().with_file_name("host.lock")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    until("the editor's server is the host", || note()["pid"] == server.child.id());
    for (path, text) in [("src/bill.rs", TYPED), ("src/more.rs", more)] {
        let uri = format!("file://{}", project.path(path).display());
        let document = json!({"uri": uri, "languageId": "rust", "version": 1, "text": text});
        server.notify("textDocument/didOpen", json!({"textDocument": document}));
    }
    // Whoever is answered after that was heard after that.
    let nowhere = json!({"line": 0, "character": 0});
    let asked = json!({"textDocument": {"uri": format!("file://{}", project.path("src/more.rs").display())},
        "range": {"start": nowhere, "end": nowhere}, "context": {"diagnostics": []}});
    server.request(2, "textDocument/codeAction", asked);
    server.answer(2);
    project.run(&["run", &task]).exits(3);
    until("the check has passed", || project.run(&["review", &task, "--all"]).out.contains("cargo check"));
    let said = project.run(&["review", &task, "--all"]);
    assert!(said.out.contains("passes"), "{said:?}");
    assert_eq!(project.read("src/bill.rs"), SAVED);
}
