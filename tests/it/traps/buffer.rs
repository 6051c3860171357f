//! An editor has a file open that has nothing to do with the change, in the middle of a word.

use crate::support::server::Server;
use crate::support::{Project, until};
use serde_json::json;
use std::process::Command;

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
    let mut project = Project::new(&[
        ("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2024\"\n[workspace]\n"),
        (".gitignore", "/target\nCargo.lock\n"),
        ("src/lib.rs", "mod bill;\nmod tally;\npub use bill::bill;\n"),
        ("src/bill.rs", SAVED),
        ("src/tally.rs", "pub fn total() -> u32 {\n    1\n}\n"),
    ]);
    let copy = tempfile::tempdir().unwrap();
    super::cp(&project.root, &copy.path().join("copy"));
    let check = || Command::new("cargo").args(["check", "--offline"]).current_dir(copy.path().join("copy")).output();
    assert!(check().unwrap().status.success());
    std::fs::write(copy.path().join("copy/src/bill.rs"), TYPED).unwrap();
    assert!(!check().unwrap().status.success(), "a plain copy with the buffers was expected to fail");

    project.env.push(("PLANWRIGHT_ISOLATION".to_owned(), "on".to_owned()));
    let task = project.approved("Rename total", PLAN);
    let mut server = Server::ready(&project);
    let uri = format!("file://{}", project.path("src/bill.rs").display());
    let document = json!({"uri": uri, "languageId": "rust", "version": 1, "text": TYPED});
    server.notify("textDocument/didOpen", json!({"textDocument": document}));
    // A check without a command is judged on the same text; the task waits for a person when it is done.
    project.run(&["run", &task]).exits(3);
    until("the check has passed", || project.run(&["review", &task, "--all"]).out.contains("cargo check"));
    let said = project.run(&["review", &task, "--all"]);
    assert!(said.out.contains("passes"), "{said:?}");
    assert_eq!(project.read("src/bill.rs"), SAVED);
}
