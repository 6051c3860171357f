#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

mod acting;
mod aside;
mod enforcing;
mod patching;
mod placing;
pub(crate) mod samples;
mod settling;

use super::*;
use crate::domain::ids::{HunkId, StepId, WorkspacePath};
use std::sync::Arc;

pub(crate) fn file(text: &str) -> Entry {
    Entry::File { text: Arc::from(text), mode: 0o644 }
}

pub(crate) fn program(text: &str) -> Entry {
    Entry::File { text: Arc::from(text), mode: 0o755 }
}

fn change(before: &Entry, after: &Entry) -> FileChange {
    file_change(path("src/a.rs"), before, after, &StepId::new("one"), None)
}

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).unwrap()
}

/// One line a hunk: kind, lines, texts.
fn render(change: &FileChange) -> String {
    let hunks = change.hunks.iter().map(|hunk| {
        let kind = match &hunk.kind {
            HunkKind::Lines { old_line, new_line, .. } => format!("{old_line}->{new_line}"),
            HunkKind::Create => "create".to_owned(),
            HunkKind::Delete => "delete".to_owned(),
            HunkKind::Mode => "mode".to_owned(),
        };
        format!("{kind} {:?} => {:?} by {}", change.old_text(hunk), change.new_text(hunk), hunk.author)
    });
    hunks.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check_hunks(before: &str, after: &str, expect: &str) {
    assert_eq!(render(&change(&file(before), &file(after))), expect);
}

#[test]
fn changed_runs_become_hunks() {
    check_hunks("a\nb\nc\n", "a\nb\nc\n", "");
    check_hunks("a\nb\nc\n", "a\nB\nc\n", r#"1->1 "b\n" => "B\n" by one"#);
    check_hunks("", "a\n", r#"0->0 "" => "a\n" by one"#);
    check_hunks("a", "a\n", r#"0->0 "a" => "a\n" by one"#);
    check_hunks("a\r\nb\r\n", "a\r\nb\n", r#"1->1 "b\r\n" => "b\n" by one"#);
    check_hunks("a\rb\n", "a\rc\n", r#"0->0 "a\rb\n" => "a\rc\n" by one"#);
}

#[test]
fn hunks_two_lines_apart_are_one_and_three_lines_apart_are_two() {
    check_hunks("a\n1\n2\nb\n", "A\n1\n2\nB\n", r#"0->0 "a\n1\n2\nb\n" => "A\n1\n2\nB\n" by one"#);
    check_hunks(
        "a\n1\n2\n3\nb\n",
        "A\n1\n2\n3\nB\n",
        "0->0 \"a\\n\" => \"A\\n\" by one\n4->4 \"b\\n\" => \"B\\n\" by one",
    );
}

#[test]
fn files_come_and_go_and_become_programs() {
    assert_eq!(render(&change(&Entry::Absent, &file("x"))), r#"create "" => "x" by one"#);
    assert_eq!(render(&change(&Entry::Absent, &file(""))), r#"create "" => "" by one"#);
    assert_eq!(render(&change(&file("x"), &Entry::Absent)), r#"delete "x" => "" by one"#);
    assert_eq!(render(&change(&file("x"), &program("x"))), r#"mode "" => "" by one"#);
    assert_eq!(render(&change(&Entry::Absent, &Entry::Absent)), "");
}

#[test]
fn an_untouched_hunk_keeps_author_and_flags_and_equal_hunks_have_ids_of_their_own() {
    let before = file("a\n1\n2\n3\na\n4\n5\n6\nz\n");
    let mut first = change(&before, &file("b\n1\n2\n3\nb\n4\n5\n6\nz\n"));
    assert_ne!(first.hunks[0].id, first.hunks[1].id);
    first.hunks[0].flags.push(Flag::Measure("tests".to_owned()));
    let after = file("b\n1\n2\n3\nb\n4\n5\n6\nZ\n");
    let second = file_change(path("src/a.rs"), &before, &after, &StepId::new("two"), Some(&first));
    assert_eq!(second.hunks[..2], first.hunks[..]);
    assert_eq!(second.hunks[2].author.as_str(), "two");
    let elsewhere = file_change(path("src/b.rs"), &before, &after, &StepId::new("two"), None);
    assert_ne!(second.hunks[0].id, elsewhere.hunks[0].id);
}

#[test]
fn a_doubt_stays_with_its_line_when_a_later_step_changes_what_is_around_it() {
    use hunks::file_change_apart;
    let before = file("let a = \"size here\";\nassert(size(v), 2);\nx\ny\nz\nlast.unwrap_or(0);\n");
    let renamed = file("let a = \"count here\";\nassert(count(v), 2);\nx\ny\nz\nlast.unwrap_or(0);\n");
    let doubts = vec![(0, "it stands in a string".to_owned())];
    let one = file_change_apart(path("src/a.rs"), &before, &renamed, &StepId::new("one"), None, &doubts);
    let rewritten =
        file("first\nlet a = \"count here\";\nassert(count(v), 2).or_default();\nx\ny\nz\nlast.or_default();\n");
    let two = file_change(path("src/a.rs"), &before, &rewritten, &StepId::new("two"), Some(&one));
    let doubtful: Vec<(&str, bool)> = two
        .hunks
        .iter()
        .map(|hunk| (two.new_text(hunk), hunk.flags.iter().any(|flag| matches!(flag, Flag::Uncertain(_)))))
        .collect();
    // An insertion right above makes the run one that does not replace line by line: it is doubtful as a whole.
    assert_eq!(
        doubtful,
        [
            ("first\nlet a = \"count here\";\nassert(count(v), 2).or_default();\n", true),
            ("last.or_default();\n", false)
        ]
    );
    let plain = file("let a = \"count here\";\nassert(count(v), 2).or_default();\nx\ny\nz\nlast.or_default();\n");
    let three = file_change(path("src/a.rs"), &before, &plain, &StepId::new("two"), Some(&one));
    let texts: Vec<(&str, bool)> = three
        .hunks
        .iter()
        .map(|hunk| (three.new_text(hunk), hunk.flags.iter().any(|flag| matches!(flag, Flag::Uncertain(_)))))
        .collect();
    assert_eq!(
        texts,
        [
            ("let a = \"count here\";\n", true),
            ("assert(count(v), 2).or_default();\n", false),
            ("last.or_default();\n", false)
        ]
    );
    for kept in [[true, false, false], [false, true, false], [true, true, false], [false, false, true]] {
        let chosen: Vec<HunkId> =
            three.hunks.iter().zip(kept).filter(|(_, kept)| *kept).map(|(hunk, _)| hunk.id.clone()).collect();
        let wanted = apply_subset(&three, |id| chosen.contains(id));
        assert_eq!(plan_write(&three, &before, &chosen), Ok(wanted.clone()), "hunks side by side are told apart");
        let standing: Vec<HunkState> = derive(&three, &wanted).into_iter().map(|standing| standing.state).collect();
        let states = kept.map(|kept| if kept { HunkState::Accepted } else { HunkState::Open });
        assert_eq!(standing, states);
    }
}
