//! The table against the interface: a list of its own, so that neither follows the other unseen.

use crate::actions::{ACTIONS, documentation, row};
use crate::cli::{parse, parse::command};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The actions of this release as the interface names them: terminal word, command id.
const INTERFACE: &[(Option<&str>, Option<&str>)] = &[
    (Some("plan"), Some("planwright.plan")),
    (Some("change"), Some("planwright.changeItem")),
    (Some("fix"), Some("planwright.fixProblem")),
    (Some("ask"), Some("planwright.ask")),
    (Some("show"), Some("planwright.openPlan")),
    (Some("approve"), Some("planwright.approve")),
    (Some("run"), Some("planwright.run")),
    (Some("pause"), Some("planwright.pause")),
    (Some("resume"), Some("planwright.resume")),
    (Some("cancel"), Some("planwright.cancel")),
    (Some("abandon"), Some("planwright.abandon")),
    (Some("retry"), Some("planwright.retry")),
    (Some("skip"), Some("planwright.skip")),
    (Some("take-over"), Some("planwright.takeOver")),
    (Some("mark-done"), Some("planwright.markDone")),
    (Some("say"), Some("planwright.say")),
    (Some("revise"), Some("planwright.revise")),
    (Some("replan"), Some("planwright.replan")),
    (Some("take-revision"), Some("planwright.takeRevision")),
    (Some("gate"), Some("planwright.gate")),
    (Some("answer"), Some("planwright.answer")),
    (Some("accept"), Some("planwright.accept")),
    (Some("reject"), Some("planwright.reject")),
    (Some("resolve"), Some("planwright.resolve")),
    (Some("undo"), Some("planwright.undo")),
    (Some("review"), Some("planwright.openReview")),
    (Some("why"), Some("planwright.why")),
    (None, Some("planwright.nextHunk")),
    (None, Some("planwright.previousHunk")),
    (Some("tasks"), Some("planwright.tasks")),
    (Some("status"), Some("planwright.status")),
    (Some("timeline"), Some("planwright.openTimeline")),
    (Some("preview"), Some("planwright.preview")),
    (Some("compare"), Some("planwright.compare")),
    (Some("schema"), Some("planwright.schema")),
    (Some("doctor"), Some("planwright.doctor")),
    (Some("clean"), Some("planwright.clean")),
    (Some("tour"), None),
    (Some("lsp"), None),
];

#[test]
fn the_table_is_the_interface() {
    let table: Vec<(Option<&str>, Option<String>)> =
        ACTIONS.iter().map(|row| (row.terminal, row.command_id())).collect();
    let interface: Vec<(Option<&str>, Option<String>)> =
        INTERFACE.iter().map(|(word, id)| (*word, id.map(str::to_owned))).collect();
    assert_eq!(table, interface);
}

#[test]
fn no_name_is_given_twice_and_each_verb_has_its_row() {
    let words: BTreeSet<_> = ACTIONS.iter().filter_map(|row| row.terminal).collect();
    let ids: BTreeSet<_> = ACTIONS.iter().filter_map(|row| row.lsp).collect();
    // Two need an editor's cursor, one needs no editor, one is what an editor starts.
    assert_eq!((words.len(), ids.len()), (ACTIONS.len() - 2, ACTIONS.len() - 2));
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
    for (action, word) in ACTIONS.iter().filter_map(|row| Some((row, row.terminal?))) {
        assert!(!action.examples.is_empty(), "{word} has no example");
        for example in action.examples {
            let line = shell_words::split(&format!("planwright {word} {example}")).unwrap();
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
        let head = word.map_or("| editor only |".to_owned(), |word| format!("| `{word}"));
        assert!(page.lines().any(|line| line.starts_with(&head) && line.contains(&id)), "{head} {id}");
    }
    insta::assert_snapshot!(page.lines().find(|line| line.contains("gate")).unwrap(), @r"| `gate [TASK] [GATE] allow\|deny\|happened [--comment WORDS] [--for-plan]` | `planwright.gate` | decide a gate |");
}
