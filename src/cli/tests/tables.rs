//! The table against the interface: a list of its own, so that neither follows the other unseen.

use crate::actions::{ACTIONS, documentation, row};
use crate::cli::{parse, parse::command};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The actions of this release as the interface names them: terminal word, command id.
const INTERFACE: &[(&str, Option<&str>)] = &[
    ("plan", Some("planwright.plan")),
    ("show", Some("planwright.openPlan")),
    ("approve", Some("planwright.approve")),
    ("run", Some("planwright.run")),
    ("pause", Some("planwright.pause")),
    ("resume", Some("planwright.resume")),
    ("cancel", Some("planwright.cancel")),
    ("abandon", Some("planwright.abandon")),
    ("retry", Some("planwright.retry")),
    ("skip", Some("planwright.skip")),
    ("take-over", Some("planwright.takeOver")),
    ("mark-done", Some("planwright.markDone")),
    ("say", Some("planwright.say")),
    ("revise", Some("planwright.revise")),
    ("replan", Some("planwright.replan")),
    ("gate", Some("planwright.gate")),
    ("answer", Some("planwright.answer")),
    ("accept", Some("planwright.accept")),
    ("reject", Some("planwright.reject")),
    ("undo", Some("planwright.undo")),
    ("review", Some("planwright.openReview")),
    ("tasks", Some("planwright.tasks")),
    ("status", Some("planwright.status")),
    ("timeline", Some("planwright.openTimeline")),
    ("preview", Some("planwright.preview")),
    ("compare", Some("planwright.compare")),
    ("schema", Some("planwright.schema")),
    ("doctor", Some("planwright.doctor")),
    ("clean", Some("planwright.clean")),
    ("tour", None),
];

#[test]
fn the_table_is_the_interface() {
    let table: Vec<(&str, Option<String>)> = ACTIONS.iter().map(|row| (row.terminal, row.command_id())).collect();
    let interface: Vec<(&str, Option<String>)> =
        INTERFACE.iter().map(|(word, id)| (*word, id.map(str::to_owned))).collect();
    assert_eq!(table, interface);
}

#[test]
fn no_name_is_given_twice_and_each_verb_has_its_row() {
    let words: BTreeSet<_> = ACTIONS.iter().map(|row| row.terminal).collect();
    let ids: BTreeSet<_> = ACTIONS.iter().filter_map(|row| row.lsp).collect();
    assert_eq!((words.len(), ids.len()), (ACTIONS.len(), ACTIONS.len() - 1));
    for action in ACTIONS {
        assert_eq!(row(action.verb), Some(action));
    }
}

#[test]
fn the_commands_are_well_formed() {
    command().debug_assert();
}

#[test]
fn every_example_is_accepted() {
    for action in ACTIONS {
        assert!(!action.examples.is_empty(), "{} has no example", action.terminal);
        for example in action.examples {
            let line = shell_words::split(&format!("planwright {} {example}", action.terminal)).unwrap();
            let parsed = parse(line.into_iter().map(OsString::from));
            assert_eq!(parsed.map(|parsed| parsed.verb), Ok(action.verb));
        }
    }
}

#[test]
fn the_documentation_has_a_row_for_each_action() {
    let page = documentation();
    for (word, id) in INTERFACE {
        let id = id.map_or("| terminal only |".to_owned(), |id| format!("| `{id}` |"));
        assert!(page.lines().any(|line| line.starts_with(&format!("| `{word}")) && line.contains(&id)), "{word}");
    }
    insta::assert_snapshot!(page.lines().find(|line| line.contains("gate")).unwrap(), @r"| `gate [TASK] [GATE] allow\|deny\|happened [--comment WORDS] [--for-plan]` | `planwright.gate` | decide a gate |");
}
