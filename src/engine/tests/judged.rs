//! What the lane makes of checks: the order in which they run, and the hunks that their problems come from.

use super::hands::{Hands, at, plan, raising_after, silent};
use crate::domain::task::event::{Event, Payload};
use crate::ports::Store;
use crate::testing::memory_arena::Answer;
use crate::testing::script::Turn;
use serde_json::json;
use std::sync::{Arc, Mutex};

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
