//! What command lines come to.

use crate::actions::ACTIONS;
use crate::cli::act::{Errand, errand};
use crate::cli::{Here, NotAnAction, parse};
use crate::domain::ids::TaskId;
use std::ffi::OsString;

/// The action, query or conversation that a line comes to, as JSON where it is one that travels.
pub fn read(line: &str) -> String {
    let words = shell_words::split(&format!("planwright {line}")).unwrap();
    let parsed = match parse(words.into_iter().map(OsString::from)) {
        Ok(parsed) => parsed,
        Err(NotAnAction::Asked(text) | NotAnAction::Nothing(text)) => return text,
        Err(NotAnAction::Wrong { message, next, .. }) => return format!("! {message}\nnext: {next}"),
    };
    let here = Here { cwd: "/w/src".into(), root: "/w".into() };
    match errand(&parsed, &[TaskId::new("k3xf"), TaskId::new("g123")], &here) {
        Ok(Errand::Act { action, timeout }) => {
            let timeout = timeout.map(|timeout| format!(" for {timeout:?}")).unwrap_or_default();
            format!("{}{timeout}", serde_json::to_string(&action).unwrap())
        }
        Ok(Errand::Read(query)) => serde_json::to_string(&query).unwrap(),
        Ok(other) => format!("{other:?}"),
        Err(misuse) => format!("! {}\nnext: {}", misuse.message, misuse.next),
    }
}

#[track_caller]
fn check(line: &str, expect: &str) {
    assert_eq!(read(line), expect, "planwright {line}");
}

#[test]
fn the_task_may_be_left_out() {
    check("run", r#"{"do":"run","task":"the_only_one"}"#);
    check("run k3xf --timeout 15m", r#"{"do":"run","task":{"task":"k3xf"}} for 900s"#);
    check("run zzzz", r#"{"do":"run","task":{"task":"zzzz"}}"#);
    check("skip policy", r#"{"do":"skip","task":"the_only_one","step":"policy"}"#);
    check("skip k3xf policy", r#"{"do":"skip","task":{"task":"k3xf"},"step":"policy"}"#);
    check("skip zzzz policy", r#"{"do":"skip","task":{"task":"zzzz"},"step":"policy"}"#);
    check("retry", r#"{"do":"retry","task":"the_only_one","step":null}"#);
    check("retry policy", r#"{"do":"retry","task":"the_only_one","step":"policy"}"#);
    check("retry k3xf", r#"{"do":"retry","task":{"task":"k3xf"},"step":null}"#);
    check("say 'keep it short'", r#"{"do":"say","task":"the_only_one","words":"keep it short","step":null}"#);
    check("replan k3xf 'leave the tests'", r#"{"do":"replan","task":{"task":"k3xf"},"words":"leave the tests"}"#);
    check("preview policy", r#"{"read":"preview","task":"the_only_one","work":"policy"}"#);
}

#[test]
fn gates_are_told_by_their_shape() {
    let gate = |task: &str, gate: &str, answer: &str| {
        format!(r#"{{"do":"gate","task":{task},"gate":{gate},"answer":"{answer}","comment":null}}"#)
    };
    check("gate allow", &gate("\"the_only_one\"", "null", "allow"));
    check("gate g1 allow", &gate("\"the_only_one\"", "\"g1\"", "allow"));
    check("gate k3xf g1 allow --for-plan", &gate("{\"task\":\"k3xf\"}", "\"g1\"", "allow_for_plan"));
    check("gate k3xf happened", &gate("{\"task\":\"k3xf\"}", "null", "happened"));
    // A task whose id looks like a gate is still that task.
    check("gate g123 g1 deny", &gate("{\"task\":\"g123\"}", "\"g1\"", "deny"));
    check(
        "gate g1 deny --comment 'not on a Friday'",
        r#"{"do":"gate","task":"the_only_one","gate":"g1","answer":"deny","comment":"not on a Friday"}"#,
    );
}

#[test]
fn hunks_revisions_and_numbers_too() {
    check("accept h1a2b3c4d", r#"{"do":"accept","task":"the_only_one","target":{"hunks":["h1a2b3c4d"]}}"#);
    check("accept k3xf --file net.rs", r#"{"do":"accept","task":{"task":"k3xf"},"target":{"file":"src/net.rs"}}"#);
    check(
        "reject h1a2b3c4d h00000002 --reason no",
        r#"{"do":"reject","task":"the_only_one","target":{"hunks":["h1a2b3c4d","h00000002"]},"reason":"no"}"#,
    );
    check(
        "resolve k3xf h1a2b3c4d theirs",
        r#"{"do":"resolve","task":{"task":"k3xf"},"hunk":"h1a2b3c4d","side":"theirs"}"#,
    );
    check("resolve mine", r#"{"do":"resolve","task":"the_only_one","hunk":null,"side":"mine"}"#);
    let usage = "next: planwright resolve [TASK] [HUNK…] mine|theirs";
    check("resolve h1a2b3c4d", &format!("! mine or theirs is missing\n{usage}"));
    check("resolve h1a2b3c4d h00000002 mine", &format!("! one hunk at a time\n{usage}"));
    check("why h1a2b3c4d", r#"{"read":"why","task":"the_only_one","hunk":"h1a2b3c4d"}"#);
    check("undo", r#"{"do":"undo","task":"the_only_one","target":"all"}"#);
    check("accept", "DecideTheOnlyOne { task: TheOnlyOne, accept: true, reason: None }");
    check("compare r1 r3-9f2c81d04a7e", r#"{"read":"compare","task":"the_only_one","from":1,"to":3}"#);
    check("answer 2 'no jitter'", r#"{"do":"answer","task":"the_only_one","question":2,"words":"no jitter"}"#);
    check("answer k3xf 'three'", r#"{"do":"answer","task":{"task":"k3xf"},"question":null,"words":"three"}"#);
    check("answer zzzz 1 'three'", r#"{"do":"answer","task":{"task":"zzzz"},"question":1,"words":"three"}"#);
    check("answer 3", r#"{"do":"answer","task":"the_only_one","question":null,"words":"3"}"#);
}

#[test]
fn places_are_taken_from_the_working_directory() {
    check(
        "plan 'do it' --at net.rs:4-9 --with ../README.md --with a.csv",
        "Plan { goal: Goal { words: \"do it\", place: Some(Place { path: WorkspacePath(\"src/net.rs\"), lines: \
         Some((4, 9)) }), references: [WorkspacePath(\"README.md\"), WorkspacePath(\"src/a.csv\")], comment: \
         None }, document: None, run: false, timeout: None }",
    );
    let usage = "next: planwright plan \"WORDS\" [--at FILE[:LINE[-LINE]]] [--with FILE…] [--document FILE] [--run] [--timeout T]";
    check("plan x --at ../../etc/passwd", &format!("! `../../etc/passwd` is not in the workspace /w\n{usage}"));
    check("plan x --at net.rs:9-4", &format!("! `net.rs:9-4`: lines count from 1, and the first comes first\n{usage}"));
    check("plan x --timeout soon", &format!("! `soon` is no time; one looks like 90s, 15m or 2h\n{usage}"));
    check("plan", &format!("! the goal is missing\n{usage}"));
}

#[test]
fn an_approval_names_its_revision() {
    check(
        "approve --revision r1-9f2c81d04a7e --upto policy",
        r#"{"do":"approve","task":"the_only_one","revision":{"number":1,"digest":"9f2c81d04a7e"},"upto":"policy"}"#,
    );
    check("approve k3xf", "Approve { task: Task(TaskId(\"k3xf\")), upto: None, yes: false }");
    check(
        "approve --revision r1",
        "! `r1` is no revision; one looks like r1-9f2c81d04a7e\n\
         next: planwright approve [TASK] [--revision REVISION] [--upto STEP] [--yes]",
    );
}

#[test]
fn what_is_wrong_is_said() {
    check(
        "gate g1",
        "! allow, deny or happened is missing\nnext: planwright gate [TASK] [GATE] allow|deny|happened [--comment WORDS] [--for-plan]",
    );
    check("skip", "! the step is missing\nnext: planwright skip [TASK] STEP");
    check(
        "say keep it short",
        "! `short` is one word too many; words that belong together are put in quotes\n\
         next: planwright say [TASK] \"WORDS\" [--step STEP]",
    );
    check(
        "timeline --states --tools",
        "! --states and --tools exclude each other\nnext: planwright timeline [TASK] [--states] [--tools]",
    );
    insta::assert_snapshot!(read("approve --revison r1"), @"
    ! unexpected argument '--revison' found

      tip: a similar argument exists: '--revision'

    Usage: planwright approve [TASK] [--revision REVISION] [--upto STEP] [--yes] [--json]
    next: planwright approve --help
    ");
    insta::assert_snapshot!(read("aprove"), @"
    ! unrecognized subcommand 'aprove'

      tip: some similar subcommands exist: 'mark-done', 'resolve', 'preview', 'approve'

    Usage: planwright [OPTIONS] <COMMAND>
    next: planwright --help
    ");
    insta::assert_snapshot!(read("tasks extra"), @"
    ! unexpected argument 'extra' found

    Usage: planwright tasks [--json]
    next: planwright tasks --help
    ");
}

#[test]
fn help_comes_from_the_table() {
    insta::assert_snapshot!(read("gate --help"), @r#"
    decide a gate

    Usage: planwright gate [TASK] [GATE] allow|deny|happened [--comment WORDS] [--for-plan] [--json]

    Options:
          --comment <WORDS>  a remark that reaches the next request
          --json             answer in JSON
          --for-plan         with allow: do not ask again for this command under this revision
      -h, --help             Print help

    Examples:
      planwright gate allow
      planwright gate g2 deny --comment "not on a Friday"
      planwright gate k3xf g1 allow --for-plan
    "#);
}

proptest::proptest! {
    /// Whatever is typed comes to something or is refused with a next step.
    #[test]
    fn no_line_is_too_odd(row in 0..ACTIONS.len(), words in proptest::collection::vec("[a-z0-9:é-]{0,9}|--?[a-z]{1,6}|g1|allow|h1a2b3c4d|r2|k3xf", 0..5)) {
        let quoted = shell_words::join(&words);
        let said = read(&format!("{} {quoted}", ACTIONS[row].terminal.unwrap_or("next-hunk")));
        proptest::prop_assert!(!said.starts_with('!') || said.contains("\nnext: planwright "), "{said}");
    }
}
