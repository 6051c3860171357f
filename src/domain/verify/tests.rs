//! Verdicts from evidence: nothing that could not be judged is a pass.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is the test's finding"
)]

use super::*;
use crate::domain::plan::Search;
use crate::domain::task::facts::Rung;
use proptest::prelude::*;

fn outcome(ended: Ended, output: &str) -> RunOutcome {
    RunOutcome {
        ended,
        output: output.to_owned(),
        bytes: 17,
        cut: false,
        millis: 61_234,
        rung: Rung::Copy,
        view: ContentHash::of("view"),
        wrote: Vec::new(),
    }
}

fn cargo_test() -> Check {
    let argv = ["cargo", "test", "-p", "a b"].map(str::to_owned).to_vec();
    Check::Command(Command { argv, dir: None, env: Vec::new() })
}

fn render(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Passed => "passed".to_owned(),
        Verdict::Failed { why } => format!("failed: {why}"),
        Verdict::NotJudged { why } => format!("not judged: {why}"),
    }
}

#[track_caller]
fn check(asked: &Check, evidence: Evidence<'_>, expect: &str) {
    assert_eq!(render(&judge(asked, evidence)), expect);
}

#[test]
fn a_command_is_judged_by_how_it_ended() {
    let output = "   Compiling x\nerror[E0425]: cannot find value `y`\n --> src/lib.rs:3:5\n  |\n";
    for (ended, expect) in [
        (Ended::Exit(0), "passed"),
        (
            Ended::Exit(101),
            "failed: `cargo test -p 'a b'` exited with 101: src/lib.rs:3: error[E0425]: cannot find value `y`",
        ),
        (
            Ended::Exit(127),
            "not judged: `cargo test -p 'a b'` could not start a program (127): src/lib.rs:3: error[E0425]: cannot find value `y`",
        ),
        (
            Ended::Signal(11),
            "failed: `cargo test -p 'a b'` died by SIGSEGV: src/lib.rs:3: error[E0425]: cannot find value `y`",
        ),
        (
            Ended::Signal(9),
            "not judged: `cargo test -p 'a b'` was killed by signal 9: src/lib.rs:3: error[E0425]: cannot find value `y`",
        ),
        (
            Ended::Timeout,
            "not judged: `cargo test -p 'a b'` was stopped at its time limit after 61 s; raise `timeout`, or narrow it",
        ),
        (Ended::OutputLimit, "not judged: `cargo test -p 'a b'` was stopped after 17 bytes of output; make it quieter"),
        (Ended::Cancelled, "not judged: `cargo test -p 'a b'` was cancelled"),
        (Ended::MemoryLimit, "not judged: `cargo test -p 'a b'` was stopped at its limit of memory; narrow it"),
        (Ended::ProcessLimit, "not judged: `cargo test -p 'a b'` was stopped at its limit of processes; narrow it"),
        (Ended::DiskLimit, "not judged: `cargo test -p 'a b'` was stopped at its limit of bytes on disk; narrow it"),
        (Ended::CpuLimit, "not judged: `cargo test -p 'a b'` was stopped at its limit of processor time; narrow it"),
    ] {
        check(&cargo_test(), Evidence::Ran(&outcome(ended, output)), expect);
    }
    let missing = "the program `cargo` was not found on PATH\nmore";
    check(&cargo_test(), Evidence::Unavailable(missing), "not judged: the program `cargo` was not found on PATH");
    check(&cargo_test(), Evidence::Syntax(&[]), "not judged: the evidence is of another kind than the check");
}

#[test]
fn only_new_syntax_errors_count() {
    let path = WorkspacePath::new("src/a.rs").unwrap();
    let errors = |rows: &[(u32, &str)]| -> Vec<SyntaxError> {
        rows.iter()
            .map(|(line, message)| SyntaxError { range: 0..1, line: *line, message: (*message).into() })
            .collect()
    };
    let file =
        |before: &[_], after: &[_]| FileErrors { path: path.clone(), before: errors(before), after: errors(after) };
    let judged = |file| render(&judge(&Check::Syntax, Evidence::Syntax(&[file])));
    assert_eq!(judged(file(&[], &[])), "passed");
    assert_eq!(judged(file(&[(3, "missing `;`")], &[(9, "missing `;`")])), "passed");
    assert_eq!(judged(file(&[(3, "missing `;`")], &[])), "passed");
    let two = file(&[(9, "missing `;`")], &[(2, "missing `;`"), (9, "missing `;`"), (9, "unexpected `}`")]);
    assert_eq!(judged(two), "failed: src/a.rs:2: missing `;`, and 1 more");
    assert_eq!(render(&judge(&Check::Syntax, Evidence::Syntax(&[]))), "not judged: no changed file was looked at");
}

#[test]
fn a_search_looks_where_it_is_told() {
    let texts: Vec<(WorkspacePath, Arc<str>)> =
        [("src/a.rs", "fn old() {}\nold(); old()\n"), ("src/net/b.rs", "  old()\n"), ("doc.md", "old")]
            .map(|(path, text)| (WorkspacePath::new(path).unwrap(), text.into()))
            .to_vec();
    let unread = [(WorkspacePath::new("raw/c.rs").unwrap(), "raw/c.rs is not UTF-8".to_owned())];
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let judged = |present, regex: &str, within, except| {
        let search = Search { present, regex: regex.to_owned(), within: words(within), except: words(except) };
        render(&judge(&Check::Search(search), Evidence::Texts { read: &texts, unread: &unread }))
    };
    let all = [
        judged(false, "old", "", ""),
        judged(false, "gone", "", ""),
        judged(false, "gone", "", "raw"),
        judged(true, "gone", "raw", ""),
        judged(false, "old", "src/*.rs", ""),
        judged(false, r"^\s+old", "src", "src/net/**"),
        judged(false, "gone", "src", ""),
        judged(false, "gone", "tests", ""),
        judged(true, "fn old", "src", ""),
        judged(true, "fn old", "./src/net/", ""),
        judged(true, "(", "", ""),
        judged(true, "x", "a{", ""),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    failed: `old` is still at src/a.rs:1: fn old() {}, and 3 more
    not judged: `gone` was not found, but not every file could be read: raw/c.rs is not UTF-8
    passed
    not judged: `gone` was not found, but not every file could be read: raw/c.rs is not UTF-8
    failed: `old` is still at src/a.rs:1: fn old() {}, and 1 more
    passed
    passed
    not judged: no file lies where `gone` must be absent: tests
    passed
    failed: `fn old` matches nothing in 1 file
    not judged: `(` is no regular expression: unclosed group
    not judged: `a{` is no glob: error parsing glob 'a{': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
    ");
}

#[test]
fn files_are_judged_by_their_hashes() {
    let (one, two) = (ContentHash::of("1"), ContentHash::of("2"));
    let at = |before, now| Evidence::Standing(Standing { before, now });
    let path = || "a.txt".to_owned();
    check(&Check::Exists(path()), at(None, Some(&one)), "passed");
    check(&Check::Exists(path()), at(Some(&one), None), "failed: `a.txt` does not exist");
    check(&Check::Missing(path()), at(Some(&one), None), "passed");
    check(&Check::Missing(path()), at(None, Some(&one)), "failed: `a.txt` still exists");
    check(&Check::Changed(path()), at(Some(&one), Some(&two)), "passed");
    check(&Check::Changed(path()), at(Some(&one), Some(&one)), "failed: `a.txt` has not changed");
    check(&Check::Unchanged(path()), at(None, None), "passed");
    check(&Check::Unchanged(path()), at(Some(&one), None), "failed: `a.txt` has changed");
}

fn places(output: &str) -> String {
    problems(output).iter().filter(|found| found.is_error()).map(|found| format!("{found}\n")).collect()
}

#[test]
fn places_are_read_from_the_tools_output() {
    let rust = "\u{1b}[1mwarning\u{1b}[0m: unused\n --> src/w.rs:1:1\n\nerror: expected `;`\n  --> src/a.rs:7:12\n   |\n\n\
        error[E0308]: mismatched types\n   --> crates/net/src/b.rs:21:9\n    |\n\nerror: could not compile `x`\n\n\
        thread 'tests::works' (4711) panicked at src/lib.rs:30:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\
        note: run with RUST_BACKTRACE\nthread 'old' panicked at 'boom', tests/it.rs:4:1\n\
        thread 'outside' panicked at /rustc/abc/library/core/src/x.rs:1:1:\nx\n";
    insta::assert_snapshot!(places(rust), @r"
    src/a.rs:7: error: expected `;`
    crates/net/src/b.rs:21: error[E0308]: mismatched types
    src/lib.rs:30: tests::works: assertion `left == right` failed, left: 1, right: 2
    tests/it.rs:4: old: boom
    ");
    let others = "main.c:3:5: error: 'x' undeclared\nmain.c:4:1: warning: unused\nmain.c:4:1: note: here\n./cmd/a.go:12:2: undefined: y\n\
        src/a.ts(4,7): error TS2304: Cannot find name 'z'.\nTraceback (most recent call last):\n  File \"t/a.py\", line 1, in <module>\n    f()\n\
        \x20 File \"t/b.py\", line 9, in f\n    g\nNameError: name 'g' is not defined\n12:30:45: a clock\n127.0.0.1:80: refused\n    a_test.go:9: got 1\n";
    insta::assert_snapshot!(places(others), @r"
    main.c:3: error: 'x' undeclared
    cmd/a.go:12: error: undefined: y
    src/a.ts:4: error[TS2304]: Cannot find name 'z'.
    t/b.py:9: error: NameError: name 'g' is not defined
    a_test.go:9: error: got 1
    ");
}

#[test]
fn the_line_that_tells_most_is_chosen() {
    let line = |output| digest::first_error(output).unwrap_or_default();
    assert_eq!(line("hello\nfatal: not a repository\nbye\n"), "fatal: not a repository");
    assert_eq!(line("hello\n\nbye\n\n[planwright: dropped: x]"), "bye");
    assert_eq!(line(" \n"), "");
}

#[test]
fn a_digest_gives_errors_first_and_stays_bounded() {
    assert_eq!(digest_for_agent(&outcome(Ended::Exit(1), "a\u{1b}[31mb\u{7}\n")), "It exited with 1.\nab");
    let noise = "   Compiling some-crate v0.1.0\n".repeat(900);
    let error = "error[E0425]: cannot find value `y`\n --> src/lib.rs:3:5\n  |\n3 | y\n  | ^\n\n";
    let output = format!("{noise}{error}{noise}test net::works ... FAILED\n{}", "last\n".repeat(3));
    let digest = digest_for_agent(&outcome(Ended::Exit(101), &output));
    insta::assert_snapshot!(digest.lines().take(10).collect::<Vec<_>>().join("\n"), @r"
    It exited with 101.

    Failed tests: net::works

    error[E0425]: cannot find value `y`
     --> src/lib.rs:3:5
      |
    3 | y
      | ^
    ");
    assert!(digest.ends_with("test net::works ... FAILED\nlast\nlast\nlast"));
    assert!(digest.len() < 2_000);
}

#[test]
fn a_digest_with_room_for_a_gap_only_ends_there() {
    let line = |length: usize| format!("error: {}\n\n", "x".repeat(length - "error: ".len()));
    for left in 0..5 {
        // "It exited with 1." and the gap before the block take 19 characters.
        let output = format!("{}{}", line(6_000 - 19 - left), line(200));
        let digest = digest_for_agent(&outcome(Ended::Exit(1), &output));
        assert!(digest.chars().count() <= 6_000, "{left} left: {}", digest.chars().count());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_output_breaks_the_reader(lines in proptest::collection::vec("(error: |thread 'a' panicked at |é|src/a.rs:1:|\u{1b}\\[|.){0,40}", 0..80)) {
        let long = lines.join("\n").repeat(8);
        let digest = digest_for_agent(&outcome(Ended::Exit(1), &long));
        prop_assert!(digest.chars().count() <= 6_000);
        prop_assert!(!digest.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')));
        let _ = digest::first_error(&long);
    }
}
