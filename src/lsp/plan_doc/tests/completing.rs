//! What can be written where.

use super::super::complete::{Completed, Sort, wanted};
use super::*;
use insta::assert_snapshot;

/// Labels, with what the first one does to the text; for what is asked of the workspace, what is asked and what the
/// answer `src/a.rs`, `src/net/b.rs` would do.
fn check(text: &str) -> String {
    let (text, at) = cursor(text);
    let scene = Scene::new(&text);
    let (asked, proposals) = match wanted(&scene.moment(), at) {
        Completed::Ready(proposals) => (String::new(), proposals),
        Completed::Ask { of, prefix, slot } => {
            let answer = ["src/a.rs".to_owned(), "src/net/b.rs".to_owned()];
            (format!("ask {of:?} {prefix:?}\n"), slot.fill(&answer))
        }
    };
    let labels: Vec<&str> = proposals.iter().map(|proposal| proposal.label.as_str()).collect();
    let last = proposals.last().map(|last| shown(&text, std::slice::from_ref(&last.edit))).unwrap_or_default();
    format!("{asked}{}\n{last}", labels.join(", "))
}

/// The plan with a line put in below its Contract's advice, or below the first step's check.
fn with(below: &str, line: &str) -> String {
    PLAN.replacen(below, &format!("{below}\n{line}"), 1)
}

#[test]
fn keys_of_the_contract() {
    assert_snapshot!(check(&with("- advice: keep it small", "- en$0")), @r#"
    scope, accept, budget, enforce, advice, assume, stop, allow, approved
    [en]→"approved: "
    "#);
    assert_snapshot!(check(&with("- advice: keep it small", "-$0")), @r#"
    scope, accept, budget, enforce, advice, assume, stop, allow, approved
    []→" approved: "
    "#);
}

#[test]
fn keys_of_a_step_know_what_stands_there() {
    assert_snapshot!(check(&with("- check: `cargo check`", "- $0")), @r#"
    check, after, write, read, allow, tools, in, out, repair, retry, timeout, on-failure, effect, probe
    []→"probe: "
    "#);
    assert_snapshot!(check("# T\n\n## Contract\n\n## Steps\n\n### a: A\n\n$0\n"), @r#"
    edit, explore, transform, run, ask, check, after, write, read, allow, tools, in, out, repair, retry, timeout, on-failure, effect, probe
    []→"- probe: "
    "#);
    assert_snapshot!(check(&PLAN.replacen("- after: none", "- af$0ter: none", 1)), @r#"
    check, after, write, read, allow, tools, in, out, repair, retry, timeout, on-failure, effect, probe
    [after]→"probe"
    "#);
}

#[test]
fn no_key_in_prose() {
    assert_snapshot!(check(&PLAN.replacen("Put it beside", "Put $0it beside", 1)), @"");
    assert_snapshot!(check(&PLAN.replacen("beside the client.", "beside the client.\n\n- $0", 1)), @"");
    assert_snapshot!(check(&PLAN.replacen("Why: anything.", "- $0", 1)), @"");
    assert_snapshot!(check(&PLAN.replacen("Callers choose", "$0Callers choose", 1)), @"");
}

#[test]
fn ids_after_after() {
    assert_snapshot!(check(&PLAN.replacen("- after: policy", "- after: $0", 1)), @r#"
    policy, docs, none, review
    []→"review"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- after: policy", "- after: policy, d$0", 1)), @r#"
    docs, review
    [d]→"review"
    "#);
}

#[test]
fn files_with_and_without_backticks() {
    assert_snapshot!(check(&PLAN.replacen("- edit: `src/lib.rs`", "- edit: $0", 1)), @r#"
    ask Files ""
    src/a.rs, src/net/b.rs
    []→"`src/net/b.rs`"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- edit: `src/lib.rs`", "- edit: src/l$0", 1)), @r#"
    ask Files "src/l"
    src/a.rs, src/net/b.rs
    [src/l]→"`src/net/b.rs`"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- edit: `src/lib.rs`", "- edit: `src/l$0", 1)), @r#"
    ask Files "src/l"
    src/a.rs, src/net/b.rs
    [src/l]→"src/net/b.rs`"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- edit: `src/lib.rs`", "- edit: `src/l$0ib.rs`", 1)), @r#"
    ask Files "src/l"
    src/a.rs, src/net/b.rs
    [src/lib.rs]→"src/net/b.rs"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- edit: `src/lib.rs`", "- edit: `src/l$0, `tests/net.rs`", 1)), @r#"
    ask Files "src/l"
    src/a.rs, src/net/b.rs
    [src/l]→"src/net/b.rs`"
    "#);
    assert_snapshot!(check(&PLAN.replacen("`tests/**`", "`te$0`", 1)), @r#"
    ask Files "te"
    src/**, src/a.rs, src/net/b.rs
    [te]→"src/net/b.rs"
    "#);
}

#[test]
fn symbols_of_the_file_that_is_named() {
    assert_snapshot!(check(&PLAN.replacen("(focus `Client::send`)", "(focus `Cl$0`)", 1)), @r#"
    ask Symbols { path: Some(WorkspacePath("src/client.rs")) } "Cl"
    src/a.rs, src/net/b.rs
    [Cl]→"src/net/b.rs"
    "#);
    assert_snapshot!(check(&PLAN.replacen("(focus `Client::send`)", "(focus $0)", 1)), @r#"
    ask Symbols { path: Some(WorkspacePath("src/client.rs")) } ""
    src/a.rs, src/net/b.rs
    []→"`src/net/b.rs`"
    "#);
    assert_snapshot!(check(&PLAN.replacen("(focus `Client::send`)", "($0)", 1)), @r#"
    new, focus
    []→"focus "
    "#);
    assert_snapshot!(check(&PLAN.replacen("- edit: `src/lib.rs`", "- transform: rename `Cli$0", 1)), @r#"
    ask Symbols { path: None } "Cli"
    src/a.rs, src/net/b.rs
    [Cli]→"src/net/b.rs`"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- edit: `src/lib.rs`", "- transform: rename `src/a.rs#C$0`", 1)), @r#"
    ask Symbols { path: Some(WorkspacePath("src/a.rs")) } "C"
    src/a.rs, src/net/b.rs
    [C]→"src/net/b.rs"
    "#);
}

#[test]
fn commands_and_words() {
    assert_snapshot!(check(&PLAN.replacen("- check: `cargo check`", "- check: `cargo ch$0eck`", 1)), @r#"
    ask Commands "cargo ch"
    src/a.rs, src/net/b.rs
    [cargo check]→"src/net/b.rs"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- check: `cargo check`", "- check: $0", 1)), @r#"
    ask Commands ""
    syntax, exists, missing, changed, unchanged, absent:, present:, src/a.rs, src/net/b.rs
    []→"`src/net/b.rs`"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- check: `cargo check`", "- check: exists $0", 1)), @r#"
    ask Files ""
    src/a.rs, src/net/b.rs
    []→"`src/net/b.rs`"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- check: `cargo check`", "- check: absent: `x`, in `s$0", 1)), @r#"
    ask Files "s"
    src/**, src/a.rs, src/net/b.rs
    [s]→"src/net/b.rs`"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- check: `cargo check`", "- on-failure: s$0", 1)), @r#"
    stop, ask, skip, undo
    [s]→"undo"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- check: `cargo check`", "- effect: $0", 1)), @r#"
    repeatable, outside
    []→"outside"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- advice: keep it small", "- enforce: public-api unchanged; no n$0", 1)), @r#"
    public-api unchanged, no new dependencies, tests not deleted, files at most 8, lines at most 200
    [no n]→"lines at most 200"
    "#);
    assert_snapshot!(check(&PLAN.replacen("- advice: keep it small", "- approved: $0", 1)), @r#"
    r1-9f2c81d04a7e
    []→"r1-9f2c81d04a7e"
    "#);
}

/// At every place of the document, with any of a few things typed there: no panic, and the edit holds the cursor.
#[test]
fn a_proposal_replaces_what_holds_the_cursor() {
    for typed in ["", "`", "- ", "é", ", ", "(focus ", ": `", "- edit: `ü"] {
        for at in (0..=PLAN.len()).filter(|at| PLAN.is_char_boundary(*at)) {
            let mut text = PLAN.to_owned();
            text.insert_str(at, typed);
            let at = at + typed.len();
            let scene =
                Scene { compiled: None, dossier: None, parsed: parse(&text), text, place: Surroundings::default() };
            let proposals = match wanted(&scene.moment(), at) {
                Completed::Ready(proposals) => proposals,
                Completed::Ask { slot, .. } => slot.fill(&["src/a.rs".to_owned()]),
            };
            for proposal in proposals {
                let range = proposal.edit.range;
                let cut = scene.text.get(range.clone()).expect("whole characters");
                assert!(range.start <= at && at <= range.end && !cut.contains('\n'), "{typed:?} at {at}: {cut:?}");
                assert!(proposal.sort != Sort::Step || !proposal.label.is_empty());
            }
        }
    }
}
