//! What is new against a baseline, from outputs and change sets that are written out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is the test's finding"
)]

use super::super::problems::{Ground, problems, read};
use super::*;
use crate::domain::change::hunks;
use crate::domain::ids::{ContentHash, StepId, WorkspacePath};
use crate::domain::task::facts::Rung;
use proptest::prelude::*;

pub(in crate::domain::verify) fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    let entry = |text: Option<&str>| match text {
        Some(text) => Entry::File { text: text.into(), mode: 0o644 },
        None => Entry::Absent,
    };
    let path = WorkspacePath::new(path).unwrap();
    hunks::file_change(path, &entry(before), &entry(after), &StepId::new("a"), None)
}

pub(in crate::domain::verify) fn errors(output: &str) -> Vec<ReadProblem> {
    read(output, Ground::default())
}

fn told(problems: &[&ReadProblem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

const OLD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

#[track_caller]
fn check(before: &str, now: &str, changes: &[FileChange], expect: &str) {
    let (before, now) = (errors(before), errors(now));
    assert_eq!(told(&fresh(&before, &now, changes)).trim_end(), expect);
}

#[test]
fn lines_are_carried_through_the_hunks() {
    let grown = [change("a.c", Some(OLD), Some(&OLD.replace("2\n", "2\nx\ny\n")))];
    check("a.c:2: x\na.c:8: x", "a.c:2: x\na.c:10: x", &grown, "");
    check("a.c:8: x", "a.c:8: x", &grown, "a.c:8: error: x");
    check("a.c:8: x", "a.c:10: y", &grown, "a.c:10: error: y");
    check("b.c:8: x", "b.c:8: x", &grown, "");
    let shrunk = [change("a.c", Some(OLD), Some(&OLD.replace("2\n3\n4\n", "")))];
    check("a.c:1: x\na.c:3: x\na.c:8: x", "a.c:1: x\na.c:5: x", &shrunk, "");
    let twice = [change("a.c", Some(OLD), Some(&OLD.replace("2\n", "x\ny\n").replace("9\n", "")))];
    check("a.c:5: x\na.c:10: x", "a.c:6: x\na.c:10: x", &twice, "");
}

#[test]
fn a_replaced_line_is_looked_for_in_its_hunk() {
    let rewritten = [change("a.c", Some(OLD), Some(&OLD.replace("4\n5\n6\n", "a\nb\nc\nd\n")))];
    check("a.c:5: x", "a.c:7: x", &rewritten, "");
    check("a.c:5: x", "a.c:9: x", &rewritten, "a.c:9: error: x");
    check("a.c:5: x", "a.c:4: x\na.c:5: x", &rewritten, "a.c:5: error: x");
}

#[test]
fn readings_are_counted() {
    check("a.c:1: x\na.c:1:2: x", "a.c:1: x", &[], "");
    check("a.c:1: x", "a.c:1: x\na.c:1:7: x", &[], "a.c:1: error: x");
    check("a.c:1: warning: x", "a.c:1: error: x\na.c:2: warning: y", &[], "a.c:1: error: x");
}

#[test]
fn tests_are_known_by_name_and_moved_files_by_their_words() {
    let failed = "test a::b ... FAILED\n";
    check(failed, "thread 'a::b' panicked at a.rs:9:1:\nother words\n", &[], "");
    check(failed, "test a::c ... FAILED\n", &[], "a::c: failed");
    let moved = [change("old.c", Some("x\n"), None), change("new.c", None, Some("x\n"))];
    check("old.c:1: x", "new.c:1: x", &moved, "");
    check("old.c:1: x", "other.c:1: x", &moved, "other.c:1: error: x");
}

fn outcome(code: i32, output: &str) -> RunOutcome {
    RunOutcome {
        ended: Ended::Exit(code),
        output: output.to_owned(),
        // Paths are shortened in it, so that the text is shorter than what was printed.
        bytes: output.len() as u64 + 10,
        cut: output.contains("bytes left out"),
        millis: 1,
        rung: Rung::Copy,
        view: ContentHash::of(""),
        wrote: vec![],
    }
}

#[track_caller]
fn weighed(line: &str, before: (i32, &str), now: (i32, &str), expect: &str) {
    let command = Command { argv: line.split(' ').map(str::to_owned).collect(), dir: None, env: vec![] };
    let (was, is) = (outcome(before.0, before.1), outcome(now.0, now.1));
    let (old, new) = (problems(before.1), problems(now.1));
    let alone = if now.0 == 0 { Verdict::Passed } else { Verdict::Failed { why: "exit".to_owned() } };
    let reading = |outcome, problems| Reading { outcome, problems };
    let it = weigh(&command, alone, reading(&is, &new), reading(&was, &old), &[]);
    let verdict = match it.verdict {
        Verdict::Passed => "passed".to_owned(),
        Verdict::Failed { .. } => format!("failed, {} new", it.fresh.len()),
        Verdict::NotJudged { why } => format!("not judged: {why}"),
    };
    assert_eq!(format!("{verdict}{}", it.remark.map(|said| format!(" ({said})")).unwrap_or_default()), expect);
}

#[test]
fn a_verdict_is_about_the_change() {
    let one = "test a ... FAILED\ntest b ... FAILED\nerror: 1 target failed:\n";
    let two = "test a ... FAILED\ntest c ... FAILED\nerror: 1 target failed:\n";
    let fast = "test a ... FAILED\nerror: test failed, to rerun pass `--lib`\n";
    let before = "already fails before any change";
    weighed("cargo test --no-fail-fast", (101, one), (0, ""), "passed");
    weighed(
        "cargo test --no-fail-fast",
        (101, one),
        (101, one),
        &format!("passed ({before} (2 tests); nothing is new)"),
    );
    weighed("cargo test --no-fail-fast", (101, one), (101, two), &format!("failed, 1 new ({before} (2 tests))"));
    weighed("cargo test --no-fail-fast", (0, ""), (101, one), "failed, 2 new");
    let stops = format!("not judged: it {before} (1 test), and stops there: it says nothing about the change");
    weighed("cargo test", (101, fast), (101, fast), &stops);
    let types = "error[E1]: x\n --> a.rs:1:1\n\n";
    let stops = format!("not judged: it {before} (1 error), and stops there: it says nothing about the change");
    weighed("cargo check", (101, types), (101, types), &stops);
    weighed(
        "timeout 600 cargo test --no-fail-fast",
        (101, one),
        (101, one),
        &format!("passed ({before} (2 tests); nothing is new)"),
    );
    // A script may have run one tool only because the one before it failed.
    weighed("npm run lint", (1, "✖ 1 problem\na.js:1:1: x\n"), (1, "✖ 1 problem\na.js:1:1: x\n"), &stops);
    weighed(
        "mypy .",
        (1, "a.py:1: error: x\n(checked 2 source files)"),
        (1, "a.py:1: error: x\n(checked 2 source files)"),
        &format!("passed ({before} (1 error); nothing is new)"),
    );
    let cut = format!("{one}\n[… 7 bytes left out …]\n");
    let part = "not judged: it already fails before any change (2 tests), and not all that it prints is read: whether anything is new cannot be told";
    weighed("cargo test --no-fail-fast", (101, one), (101, &cut), part);
    weighed("cargo test --no-fail-fast", (101, &cut), (101, one), part);
    weighed("cargo test --no-fail-fast", (101, &cut), (101, two), part);
    // What is read of a cut output and was not there before is new.
    weighed(
        "cargo test --no-fail-fast",
        (101, "test b ... FAILED\nerror: 1 target failed:\n"),
        (101, &cut),
        "failed, 1 new (already fails before any change (1 test))",
    );
    weighed("./odd", (3, "?"), (3, "?"), &format!("failed, 0 new ({before} (exit 3))"));
}

/// The reader stops at its limit: what comes behind it is seen on neither side, and a new problem may be among it.
#[test]
fn more_problems_than_are_read_give_no_verdict() {
    let printed = |extra: &str| {
        let tests: String = (0..MOST).map(|n| format!("test t{n} ... FAILED\n")).collect();
        format!("{tests}{extra}error: 1 target failed:\n")
    };
    let many = printed("");
    let part = format!(
        "not judged: it already fails before any change ({MOST} tests), and not all that it prints is read: whether anything is new cannot be told"
    );
    weighed("cargo test --no-fail-fast", (101, &many), (101, &printed("test new ... FAILED\n")), &part);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A line that both texts share keeps its problem, wherever the change moves it; nothing else is excused by it.
    #[test]
    fn a_problem_follows_its_line(
        before in proptest::collection::vec("[a-z]{3}", 1..30),
        edits in proptest::collection::vec((0usize..30, proptest::option::of("[A-Z]{2}")), 0..6),
    ) {
        let unique: Vec<String> = before.iter().enumerate().map(|(n, word)| format!("{word}{n}")).collect();
        let mut after = unique.clone();
        for (at, put) in edits {
            match put {
                Some(word) => after.insert(at.min(after.len()), word),
                None if at < after.len() => drop(after.remove(at)),
                None => {}
            }
        }
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let changes = [change("a.c", Some(&text(&unique)), Some(&text(&after)))];
        let told = |lines: &[String]| errors(&lines.iter().enumerate().map(|(n, line)| format!("a.c:{}: on {line}\n", n + 1)).collect::<String>());
        let new = fresh(&told(&unique), &told(&after), &changes).len();
        prop_assert_eq!(new, after.iter().filter(|line| !unique.contains(line)).count());
        prop_assert_eq!(fresh(&[], &told(&after), &changes).len(), after.len());
    }
}
