//! Hunks from texts, and states from texts.

use super::samples::*;
use super::*;
use crate::domain::problem::Replacement;
use crate::domain::text::apply;
use proptest::prelude::*;

/// State and text of every hunk, in order.
fn standings(change: &FileChange, current: &str) -> String {
    let rows = derive(change, &file(current)).into_iter().map(|standing| {
        let text = &current[standing.range.clone()];
        format!("{:?}@{} {text:?}", standing.state, standing.range.start)
    });
    rows.collect::<Vec<_>>().join(" | ")
}

const BEFORE: &str = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n\nfn c() {\n    six();\n}\n";
const AFTER: &str = "fn a() {\n    uno();\n}\n\nfn b() {\n    two();\n    log();\n}\n\nfn c() {\n}\n";

#[track_caller]
fn check_state(current: &str, expect: &str) {
    let change = change(&file(BEFORE), &file(AFTER));
    assert_eq!(standings(&change, current), expect);
}

#[test]
fn a_state_is_read_off_the_text() {
    check_state(BEFORE, r#"Open@9 "    one();\n" | Open@43 "" | Open@55 "    six();\n""#);
    check_state(AFTER, r#"Accepted@9 "    uno();\n" | Accepted@43 "    log();\n" | Accepted@66 """#);
    // a line of the user directly above or below a hunk
    check_state(
        &BEFORE.replace("    one();\n", "    mine();\n    one();\n    mine();\n"),
        r#"Open@21 "    one();\n" | Open@67 "" | Open@79 "    six();\n""#,
    );
    // the line is another now
    check_state(
        &BEFORE.replace("one()", "other()"),
        r#"Touched@9 "    other();\n" | Open@45 "" | Open@57 "    six();\n""#,
    );
    // a function moved away with its hunk, the rest as it was
    check_state(
        "fn c() {\n    six();\n}\n\nfn b() {\n    two();\n}\n",
        r#"Touched@0 "fn c() {\n    six();\n" | Open@43 "" | Touched@45 """#,
    );
    check_state("", r#"Touched@0 "" | Touched@0 "" | Touched@0 """#);
}

#[test]
fn file_operations_are_read_off_the_entry() {
    let state = |change: &FileChange, current: &Entry| format!("{:?}", derive(change, current)[0].state);
    let create = change(&Entry::Absent, &file("x\n"));
    let all = [Entry::Absent, file("x\n"), program("x\n"), file("y\n")];
    assert_eq!(all.each_ref().map(|entry| state(&create, entry)), ["Open", "Accepted", "Accepted", "Touched"]);
    let delete = change(&file("x\n"), &Entry::Absent);
    assert_eq!(all.each_ref().map(|entry| state(&delete, entry)), ["Accepted", "Open", "Open", "Touched"]);
    let mode = change(&file("x\n"), &program("x\n"));
    assert_eq!(all.each_ref().map(|entry| state(&mode, entry)), ["Touched", "Open", "Accepted", "Open"]);
}

#[test]
fn equal_braces_and_blank_lines_do_not_draw_a_hunk_away() {
    // the hunk takes out a blank line; the user took out the same kind of line elsewhere and everything around
    let change = change(&file("a one\n}\n\n\nb two\n}\n\nc three\n"), &file("a one\n}\n\nb two\n}\n\nc three\n"));
    assert_eq!(standings(&change, "new\n\nwords\n\n\n"), r#"Touched@5 "words\n\n""#);
}

#[test]
fn a_spot_is_carried_through_edits() {
    let change = change(&file(BEFORE), &file(AFTER));
    let mut spots = Spots::find(&change, BEFORE);
    let mut text = BEFORE.to_owned();
    let mut edit = |find: &str, put: &str| {
        let at = text.find(find).unwrap();
        let edit = Replacement { range: at..at + find.len(), text: put.to_owned() };
        let before = text.clone();
        spots.carry(&change, &text, &edit);
        text = apply(&text, &[edit]).unwrap();
        spots.settle(&change, &before, &text);
        let states: Vec<String> = spots
            .standings(&change, &text)
            .iter()
            .map(|s| format!("{:?} {:?}", s.state, &text[s.range.clone()]))
            .collect();
        states.join(" | ")
    };
    assert_eq!(edit("fn a", "// mine\nfn a"), r#"Open "    one();\n" | Open "" | Open "    six();\n""#);
    // accepted by an edit larger than the hunk, as clients undo and redo
    assert_eq!(
        edit("    two();\n}\n", "    two();\n    log();\n}\n"),
        r#"Open "    one();\n" | Accepted "    log();\n" | Open "    six();\n""#
    );
    assert_eq!(edit("one", "uno"), r#"Accepted "    uno();\n" | Accepted "    log();\n" | Open "    six();\n""#);
    assert_eq!(edit("log();", "log(1);"), r#"Accepted "    uno();\n" | Touched "    log(1);\n" | Open "    six();\n""#);
    assert_eq!(edit("    log(1);\n", ""), r#"Accepted "    uno();\n" | Open "" | Open "    six();\n""#);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_hunks_give_after_and_none_give_before(change in changes()) {
        prop_assert_eq!(apply_subset(&change, |_| true), change.after.clone());
        prop_assert_eq!(apply_subset(&change, |_| false), change.before.clone());
        let mut ids: Vec<_> = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
        prop_assert_eq!(plan_write(&change, &change.before, &ids), Ok(change.after.clone()));
        prop_assert_eq!(plan_undo(&change, &change.after, &ids), Ok(change.before.clone()));
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), change.hunks.len());
    }

    #[test]
    fn a_subset_is_read_exactly(change in changes(), bits in any::<u32>()) {
        let kept = chosen(&change, bits);
        let current = subset(&change, &kept);
        let standings = derive(&change, &current);
        let read: Vec<_> = standings.iter().filter(|s| s.state == HunkState::Accepted).map(|s| s.id.clone()).collect();
        prop_assert!(standings.iter().all(|s| s.state != HunkState::Touched), "{:?}", standings);
        prop_assert_eq!(read, kept);
    }

    /// Lines of the user are put between hunks or taken away there; what is called open or accepted stands there.
    #[test]
    fn what_is_open_or_accepted_stands_where_it_is_said(change in changes(), bits in any::<u32>(), user in script(5)) {
        let current = subset(&change, &chosen(&change, bits));
        let lines: Vec<String> = crate::domain::text::lines(current.text()).into_iter().map(str::to_owned).collect();
        let text = edited(&lines, &user).concat();
        let mut end = 0;
        for standing in derive(&change, &file(&text)) {
            let hunk = change.hunk(&standing.id).unwrap();
            if hunk.kind == HunkKind::Mode { continue; }
            match standing.state {
                HunkState::Open => prop_assert_eq!(&text[standing.range.clone()], change.old_text(hunk)),
                HunkState::Accepted => prop_assert_eq!(&text[standing.range.clone()], change.new_text(hunk)),
                HunkState::Touched => prop_assert_eq!(standing.touching.as_deref(), Some(&text[standing.range.clone()])),
            }
            if standing.state != HunkState::Touched {
                prop_assert!(standing.range.start >= end);
                end = standing.range.end;
            }
        }
    }
}
