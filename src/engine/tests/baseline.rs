//! Checks before any change, and what a check on the change is worth beside them.

use super::hands::{Hands, LIST, at, plan, reviewable, silent};
use crate::desk::{Desk, Dossier, PageKind, Query, View, page};
use crate::domain::ids::Work;
use crate::domain::plan::Check;
use crate::domain::task::action::*;
use crate::domain::task::event::{Event, Intent, Verdict};
use crate::ports::Store;
use crate::testing::memory_arena::Answer;
use std::sync::{Arc, Mutex};

const STEP: &str = "- run: `tools/raise`\n- write: `src/**`\n- effect: repeatable\n- check: `cargo test`\n";
const OLD: &str = "test old ... FAILED\nerror: 1 target failed:\n";
const BOTH: &str = "test old ... FAILED\ntest new ... FAILED\nerror: 1 target failed:\n";

/// A task whose step raises the list; `cargo test` answers by whether it finds it raised.
async fn raising(steps: &[(&str, &str)], before: (i32, &'static str), after: (i32, &'static str)) -> Hands {
    let hands = Hands::new(plan(steps), silent()).await;
    hands.arena.isolates();
    hands.replaces("raise", "two", "2", None);
    hands.arena.on("cargo test", move |_, tree| {
        let (code, output) = if tree[&at()].text() == LIST { before } else { after };
        Ok(Answer::exit(code, output))
    });
    hands
}

async fn journal(hands: &Hands) -> Vec<Event> {
    let task = hands.seen().task.id.clone();
    hands.store.events(&task, 0).await.unwrap().into_iter().map(|recorded| recorded.event).collect()
}

/// What runs before any change found, and how the step's command check was judged.
async fn told(hands: &Hands) -> (Vec<Option<String>>, String) {
    let (mut found, mut judged) = (Vec::new(), String::new());
    for event in journal(hands).await {
        match event {
            Event::BaselineRun { found: said, .. } => found.push(said),
            Event::Judged { check: Check::Command(command), verdict, remark, .. } if command.argv[0] == "cargo" => {
                let verdict = match verdict {
                    Verdict::Passed => "passed".to_owned(),
                    Verdict::Failed { why } => format!("failed: {why}"),
                    Verdict::NotJudged { why } => format!("not judged: {why}"),
                };
                judged = format!("{verdict}{}", remark.map(|remark| format!(" ({remark})")).unwrap_or_default());
            }
            _ => {}
        }
    }
    (found, judged)
}

async fn check(before: (i32, &'static str), after: (i32, &'static str), found: Option<&str>, expect: &str) {
    let hands = raising(&[("raise", STEP)], before, after).await;
    let ended = |words: &str| words.starts_with("failed") || words.starts_with("done");
    hands.run(None, |seen| seen.steps.iter().all(|(_, words)| ended(words))).await;
    let (runs, judged) = told(&hands).await;
    assert_eq!(runs, [found.map(str::to_owned)]);
    assert_eq!(judged, expect);
    let already: Vec<String> = found.iter().map(|found| format!("`cargo test` {found}")).collect();
    let desk = Desk { tasks: vec![hands.seen()], ..Desk::default() };
    let Ok(View::Status(seen)) = desk.answer(&Query::Status { task: Which::TheOnlyOne }) else { panic!("no status") };
    assert_eq!(seen.already, already);
    let page = page::view(&hands.seen(), &PageKind::Task).unwrap().text;
    assert!(already.iter().all(|line| page.contains(&format!("- {line}\n"))), "{page}");
}

#[tokio::test]
async fn only_what_is_new_counts() {
    let already = Some("already fails before any change (1 test)");
    check((101, OLD), (101, OLD), already, "passed (already fails before any change (1 test); nothing is new)").await;
    let new = "failed: `cargo test` exited with 101: new: failed (already fails before any change (1 test))";
    check((101, OLD), (101, BOTH), already, new).await;
    check((101, OLD), (0, "fine\n"), already, "passed").await;
    let alone = "failed: `cargo test` exited with 101: error: 1 target failed:";
    check((0, "fine\n"), (101, OLD), None, alone).await;
}

#[tokio::test]
async fn where_each_command_is_asked_for_nothing_runs_before_the_steps() {
    let hands = Hands::new(plan(&[("raise", STEP)]), silent()).await;
    hands.replaces("raise", "two", "2", None);
    hands.arena.answers("cargo test", Answer::exit(0, "fine\n"));
    hands.run(None, reviewable).await;
    assert_eq!(hands.arena.runs("cargo test"), 1);
    assert_eq!(told(&hands).await, (vec![], "passed".to_owned()));
}

#[tokio::test]
async fn the_same_text_is_looked_at_once_however_often_it_is_approved() {
    let lower = "- run: `tools/lower`\n- write: `src/**`\n- effect: repeatable\n";
    let hands = raising(&[("raise", STEP), ("lower", lower)], (101, OLD), (101, OLD)).await;
    hands.replaces("lower", "three", "3", None);
    hands.run(Some("raise"), |seen| seen.hunks.len() == 1).await;
    hands.run(None, reviewable).await;
    assert_eq!(told(&hands).await.0.len(), 1);
    assert_eq!(hands.arena.runs("cargo test"), 2);
}

#[tokio::test]
async fn nothing_is_said_of_the_time_before_once_a_hunk_stands_in_the_text() {
    let lower = STEP.replace("raise", "lower").replace("cargo test", "cargo check");
    let hands = raising(&[("raise", STEP), ("lower", &lower)], (101, OLD), (101, OLD)).await;
    hands.replaces("lower", "three", "3", None);
    hands.arena.answers("cargo check", Answer::exit(0, "fine\n"));
    hands.run(Some("raise"), |seen| seen.hunks.iter().any(|hunk| hunk.pending)).await;
    let known = told(&hands).await.0.len();
    hands.act(Action::Accept { task: Which::TheOnlyOne, target: Target::All }).await;
    hands.run(None, |seen| reviewable(seen) && seen.hunks.iter().any(|hunk| hunk.pending)).await;
    assert_eq!(told(&hands).await.0.len(), known);
}

#[tokio::test]
async fn a_check_that_fails_waits_for_its_baseline() {
    let steps = [
        ("raise", "- edit: `src/list.txt`\n- check: `cargo test`\n"),
        ("lower", "- run: `tools/lower`\n- check: `cargo check`\n"),
    ];
    let hands = Hands::new(plan(&steps), super::hands::raising()).await;
    hands.arena.isolates();
    let ran = Arc::<Mutex<Vec<bool>>>::default();
    let kept = ran.clone();
    hands.arena.on("cargo test", move |_, tree| {
        kept.lock().unwrap().push(tree[&at()].text() != LIST);
        Ok(Answer::exit(101, OLD))
    });
    hands.arena.answers("cargo check", Answer::exit(0, "fine\n"));
    // That is cheaper and comes first in the lane; the step's own check comes before the next.
    hands.arena.hold("cargo check");
    let checks = |seen: &Dossier| {
        let mut commands = seen.task.in_flight().filter(|effect| matches!(effect.what, Intent::Command { .. }));
        commands.any(|effect| matches!(effect.id.work, Work::Step(_)))
    };
    hands.run(Some("raise"), checks).await;
    hands.arena.release();
    hands.until(|seen| seen.steps.iter().any(|(_, words)| words.starts_with("done"))).await;
    assert_eq!(*ran.lock().unwrap(), [true, false]);
    assert_eq!(told(&hands).await.1, "passed (already fails before any change (1 test); nothing is new)");
}

#[tokio::test]
async fn a_person_who_cancels_ends_it_and_it_goes_on_later() {
    let hands = raising(&[("raise", STEP)], (101, OLD), (101, OLD)).await;
    hands.arena.hold("cargo test");
    let under_way = |seen: &Dossier| {
        let mut commands = seen.task.in_flight().filter(|effect| matches!(effect.what, Intent::Command { .. }));
        commands.any(|effect| effect.id.work == Work::Baseline)
    };
    hands.run(None, under_way).await;
    hands.act(Action::Cancel { task: Which::TheOnlyOne }).await;
    hands.until(|seen| seen.task.in_flight().next().is_none()).await;
    hands.arena.release();
    hands.act(Action::Resume { task: Which::TheOnlyOne }).await;
    hands.until(reviewable).await;
    assert_eq!(told(&hands).await.1, "passed (already fails before any change (1 test); nothing is new)");
}
