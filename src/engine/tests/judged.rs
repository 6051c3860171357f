//! What the lane makes of checks: the order in which they run, and the hunks that their problems come from.

use super::hands::{Hands, at, file, plan, silent};
use crate::domain::ids::WorkspacePath;
use crate::domain::task::action::{Action, Which};
use crate::domain::task::event::{Event, Payload};
use crate::ports::Store;
use crate::testing::memory_arena::Answer;
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
    hands.run(None, super::hands::reviewable).await;
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
