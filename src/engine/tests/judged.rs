//! What the lane makes of checks: the order in which they run, and the hunks that their problems come from.

use super::hands::{Hands, LIST, at, file, hunks, plan, raising_after, reviewable, silent};
use crate::domain::change::HunkState;
use crate::domain::ids::{Work, WorkspacePath};
use crate::domain::task::action::{Action, Target, Which};
use crate::domain::task::event::{Event, Outcome, Payload};
use crate::ports::{Arena, Store};
use crate::testing::memory_arena::Answer;
use crate::testing::script::Turn;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

async fn evidence(hands: &Hands) -> Vec<String> {
    let task = hands.seen().task.id.clone();
    let events = hands.store.events(&task, 0).await.unwrap();
    let said = events.into_iter().filter_map(|recorded| match recorded.event {
        Event::Judged { evidence: Payload::Inline(text), .. } => Some(text),
        _ => None,
    });
    said.collect()
}

async fn summaries(hands: &Hands) -> Vec<String> {
    let task = hands.seen().task.id.clone();
    let events = hands.store.events(&task, 0).await.unwrap();
    let said = events.into_iter().filter_map(|recorded| match recorded.event {
        Event::Ended { work: Work::Step(_), outcome: Outcome::Done { summary: Payload::Inline(text), .. }, .. } => {
            Some(text)
        }
        _ => None,
    });
    said.collect()
}

#[tokio::test]
async fn a_problem_is_laid_at_its_hunk() {
    let step = "- run: `tools/raise`\n- write: `src/**`\n- effect: repeatable\n- check: `tools/check`\n";
    let hands = Hands::new(plan(&[("raise", step)]), silent()).await;
    hands.replaces("raise", "two", "2", None);
    let output = "src/list.txt:5:1: error: no number\nsrc/list.txt:9:1: error: not of the change\n";
    hands.arena.answers("tools/check", Answer::exit(1, output));
    hands.run(None, |seen| seen.steps.iter().any(|(_, words)| words.starts_with("failed"))).await;
    let hunk = hands.seen().hunks[0].id.clone();
    let said = evidence(&hands).await;
    assert_eq!(said, [format!("By hunk: {hunk}: no number ({}:5)\nIt exited with 1.\n{}", at(), output.trim_end())]);
}

#[tokio::test]
async fn types_are_checked_before_tests_whatever_the_plan_says_first() {
    let step = "- run: `tools/raise`\n- write: `src/**`\n- effect: repeatable\n- check: `cargo test`\n- check: `cargo check`\n";
    let hands = Hands::new(plan(&[("raise", step)]), silent()).await;
    hands.replaces("raise", "two", "2", None);
    let ran = Arc::<Mutex<Vec<String>>>::default();
    let kept = ran.clone();
    hands.arena.on("cargo", move |order, _| {
        kept.lock().unwrap().push(order.command.argv.join(" "));
        Ok(Answer::exit(0, "fine\n"))
    });
    hands.run(None, reviewable).await;
    assert_eq!(*ran.lock().unwrap(), ["cargo check", "cargo test"]);
}

/// Comes back when a document was looked at; whatever was told of before it has been by then.
async fn until_sound(hands: &Hands, path: &WorkspacePath, text: &str) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while hands.sound(path) != Some(file(text)) {
        assert!(Instant::now() < deadline, "nobody looked at {path}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn documents_are_parsed_while_a_task_goes_on_and_pages_never() {
    let hands = Hands::new(plan(&[("raise", super::hands::RAISE)]), silent()).await;
    let paths = [".planwright/tasks.md", "src/a.rs", "src/b.rs"].map(|path| WorkspacePath::new(path).unwrap());
    let [page, first, second] = &paths;
    for path in [page, first] {
        hands.documents.show(path, "fn a() {}\n");
    }
    until_sound(&hands, first, "fn a() {}\n").await;
    assert_eq!(hands.sound(page), None);
    hands.act(Action::Abandon { task: Which::TheOnlyOne }).await;
    hands.until(|seen| seen.task.is_over()).await;
    assert_eq!(hands.sound(first), None, "nobody asks for it any more");
    hands.documents.show(second, "fn b() {}\n");
    hands.answers().await;
    // What is open is looked at when the next task begins.
    until_sound(&hands, first, "fn a() {}\n").await;
    until_sound(&hands, second, "fn b() {}\n").await;
}

/// A snapshot that a command renews is what its own `cargo test` then passes by.
#[tokio::test]
async fn what_the_steps_own_check_measures_by_is_dropped_of_what_a_command_wrote() {
    let step = "- run: `tools/raise`\n- write: `src/**`\n- effect: repeatable\n- check: `cargo test`\n";
    let hands = Hands::new(plan(&[("raise", step)]), silent()).await;
    let snapshot = WorkspacePath::new("src/snapshots/list.snap").unwrap();
    hands.arena.on("tools/raise", move |_, _| {
        let raised = Answer::exit(0, "done\n").writes(at(), &LIST.replace("one", "1"));
        Ok(raised.writes(snapshot.clone(), "1\n"))
    });
    hands.arena.answers("cargo test", Answer::exit(0, "fine\n"));
    let seen = hands.run(None, reviewable).await;
    assert_eq!(hunks(&seen), [("one→1".to_owned(), HunkState::Open)]);
    let told = summaries(&hands).await;
    let why = "dropped, because the step's check measures by them and the plan does not name them";
    assert_eq!(told, [format!("done; {why}: src/snapshots/list.snap")]);
}

#[tokio::test]
async fn what_the_plan_names_is_written_also_where_the_check_measures_by_it() {
    let step =
        "- run: `tools/raise`\n- write: `src/**`, `src/**/*.snap`\n- effect: repeatable\n- check: `cargo test`\n";
    let hands = Hands::new(plan(&[("raise", step)]), silent()).await;
    hands.makes("raise", vec![WorkspacePath::new("src/snapshots/list.snap").unwrap()]);
    hands.arena.answers("cargo test", Answer::exit(0, "fine\n"));
    let seen = hands.run(None, reviewable).await;
    assert_eq!(hunks(&seen), [("→made".to_owned(), HunkState::Open)]);
}

/// A library and its tests, both of which a rule fits.
async fn ruled(rule: &str) -> Hands {
    let step = format!("- transform: {rule}\n- write: `src/**`\n- check: `cargo test`\n");
    let hands = Hands::new(plan(&[("raise", &step)]), silent()).await;
    for name in ["src/lib.rs", "src/tests.rs"] {
        let text = file("fn first(x: Option<u8>) -> u8 {\n    x.unwrap_or(0)\n}\n");
        hands.workspace.change_behind(&WorkspacePath::new(name).unwrap(), text);
    }
    hands.arena.answers("cargo test", Answer::exit(0, "fine\n"));
    hands
}

#[tokio::test]
async fn what_the_steps_own_check_measures_by_is_left_by_a_rule() {
    let hands = ruled("rewrite `$V.unwrap_or(0)` to `$V.unwrap_or_default()`").await;
    let seen = hands.run(None, reviewable).await;
    assert_eq!(hunks(&seen), [("x.unwrap_or(0)→x.unwrap_or_default()".to_owned(), HunkState::Open)]);
    let why = "dropped, because the step's check measures by them and the plan does not name them";
    assert_eq!(summaries(&hands).await, [format!("1 hunk in 1 file; {why}: src/tests.rs")]);
}

/// What waits for its turn sees the change set as it is when the turn comes.
#[tokio::test]
async fn a_command_that_waited_sees_what_was_rejected_meanwhile() {
    let raise = "- run: `tools/raise`\n- write: `src/**`\n- effect: repeatable\n";
    let beside = |command: &str| format!("- run: `{command}`\n- after: raise\n- effect: repeatable\n");
    let (left, right) = (beside("tools/left"), beside("tools/right"));
    let hands = Hands::new(plan(&[("raise", raise), ("left", &left), ("right", &right)]), silent()).await;
    hands.replaces("raise", "one", "1", None);
    let seen = [hands.sees("tools/left"), hands.sees("tools/right")];
    hands.arena.hold("tools/left").hold("tools/right");
    hands.run(None, |seen| seen.task.in_flight().count() == 2).await;
    hands.arena.started(2).await;
    hands.act(Action::Reject { task: Which::TheOnlyOne, target: Target::All, reason: None }).await;
    hands.arena.release();
    hands.until(|_| seen.iter().all(|seen| !seen.lock().unwrap().is_empty())).await;
    let mut texts: Vec<String> = seen.iter().flat_map(|seen| seen.lock().unwrap().clone()).collect();
    texts.sort();
    assert_eq!(texts, [LIST.replace("one", "1"), LIST.to_owned()]);
}

/// Whoever saves while files are looked at gets a verdict on what was saved, or on what was there: never on both.
#[tokio::test]
async fn a_look_is_at_the_view_that_it_names() {
    let hands = Hands::new(plan(&[("look", "- check: present: `one`, in `src`\n")]), silent()).await;
    let disk = hands.workspace.clone();
    hands.arena.behind_view(move || disk.change_behind(&at(), file("ein\n")));
    hands.run(None, |seen| seen.steps.iter().any(|(_, words)| words.starts_with("failed"))).await;
    let task = hands.seen().task.id.clone();
    let events = hands.store.events(&task, 0).await.unwrap();
    let views = events.into_iter().filter_map(|recorded| match recorded.event {
        Event::Judged { view, .. } => Some(view),
        _ => None,
    });
    assert_eq!(views.collect::<Vec<_>>(), [hands.arena.view(Vec::new()).await.unwrap()]);
}

#[tokio::test]
async fn a_check_that_a_person_denies_is_no_failure_for_the_model_to_repair() {
    // Whether the step's work is to be judged by it, or the model wanted to see it first.
    for first in [None, Some(Turn::call("check", json!({})))] {
        let turns = if first.is_some() { 3 } else { 2 };
        let step = "- edit: `src/list.txt`\n- check: `tools/check`\n";
        let mut hands = Hands::new(plan(&[("raise", step)]), raising_after(first)).await;
        hands.denies = Some("tools/check");
        let seen = hands.run(None, |seen| seen.steps[0].1.starts_with("blocked")).await;
        assert_eq!(
            seen.steps[0].1,
            "blocked (policy): `tools/check`: not allowed by ada: it takes too long; `retry` asks again, or take the check out of the plan and approve that"
        );
        assert_eq!(
            (seen.task.gates_opened, hands.model.requests().len(), hands.arena.runs("tools/check")),
            (1, turns, 0)
        );
        assert_eq!(seen.hunks.len(), 1);
    }
}
