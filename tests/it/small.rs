//! A change of one item, a fix and a question from the terminal: one act, no planner.

use crate::support::model::{Modelled, edit, finish};
use planwright::testing::script::{Script, Turn};
use serde_json::json;

const LIB: &str = "/// Reads a port.\npub fn port(text: &str) -> u16 {\n    text.parse().unwrap()\n}\n";
const NEW: &str = "/// Reads a port.\npub fn port(text: &str) -> Option<u16> {\n    text.parse().ok()\n}";
const FILES: [(&str, &str); 1] = [("src/lib.rs", LIB)];

fn script() -> Script {
    Script::when("who reads", [Turn::call("finish", json!({ "summary": "`port` reads it, in src/lib.rs." }))])
        .or_when("", [edit("src/lib.rs", "port", NEW), finish("It returns an option.")])
}

#[test]
fn a_change_is_seen_in_a_line_confirmed_and_run() {
    let work = Modelled::new(&FILES, script());
    let change = ["change", "src/lib.rs:3", "Return an option"];
    work.run(&change)
        .exits(2)
        .says(&["change `port` in src/lib.rs (writes only that file; check: syntax only)", "--yes"]);
    assert!(work.model.calls().is_empty(), "nothing runs before it is confirmed");
    work.run(&[change[0], change[1], change[2], "--yes"]).exits(3).says(&["awaiting review", "task.md"]);
    work.run(&["accept", "--all"]).exits(0);
    assert_eq!(work.read("src/lib.rs"), format!("{NEW}\n"));
}

#[test]
fn a_fix_needs_to_know_what_is_wrong() {
    let work = Modelled::new(&FILES, script());
    work.run(&["fix", "src/lib.rs:3", "--yes"]).exits(2).says(&["no check", "WHAT IS WRONG"]);
    work.run(&["fix", "src/lib.rs:3", "it panics", "--yes"]).exits(3).says(&["Fix this problem at src/lib.rs:3"]);
    work.run(&["fix", "src/lib.rs", "it panics", "--yes"]).exits(2).says(&["the line is missing"]);
}

#[test]
fn a_question_is_answered_and_nothing_changes() {
    let work = Modelled::new(&FILES, script());
    work.run(&["ask", "who reads the port?"]).exits(0).says(&["`port` reads it, in src/lib.rs."]);
    assert_eq!(work.read("src/lib.rs"), LIB);
}
