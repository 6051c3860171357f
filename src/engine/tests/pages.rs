//! Pages of a task folder that a person writes into, and processes that come after each other.

use super::hands::{Hands, RAISE, plan, silent};
use crate::domain::ids::ContentHash;
use crate::domain::task::action::*;
use crate::ports::Workspace;
use std::sync::Arc;

const PAGE: &str = "task.md";

impl Hands {
    fn page_of_task(&self) -> String {
        self.workspace.page(&self.seen().task.id, PAGE).unwrap()
    }

    /// What was kept beside the page because somebody saved it there.
    fn kept(&self, text: &str) -> Option<String> {
        let name = format!("log/typed-{}.{PAGE}", ContentHash::of(text).short());
        self.workspace.page(&self.seen().task.id, &name)
    }

    /// Pauses, and comes back when the process that did has written its last page.
    async fn pauses_and_ends(&mut self) {
        self.act(Action::Pause { task: Which::TheOnlyOne }).await;
        self.restart().await;
    }
}

#[tokio::test]
async fn what_somebody_saves_in_a_page_is_kept_beside_the_next() {
    let mut hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
    let typed = format!("{}\nMy own words.\n", hands.page_of_task());
    let task = hands.seen().task.id.clone();
    hands.workspace.write_page(&task, PAGE, &typed).await.unwrap();
    hands.pauses_and_ends().await;
    assert!(hands.page_of_task().contains("paused") && !hands.page_of_task().contains("My own words"));
    assert_eq!(hands.kept(&typed), Some(typed));
}

#[tokio::test]
async fn the_next_process_knows_the_page_of_the_one_before() {
    let mut hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
    hands.restart().await;
    let former = hands.page_of_task();
    hands.pauses_and_ends().await;
    assert_ne!(hands.page_of_task(), former);
    assert_eq!(hands.kept(&former), None);
}

#[tokio::test]
async fn a_task_that_says_the_same_is_the_same_value() {
    let hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
    let former = hands.seen();
    let goal = Goal { words: "Another".to_owned(), place: None, references: Vec::new(), comment: None };
    hands.act(Action::Plan { goal, document: Some(plan(&[("lower", RAISE)])) }).await;
    assert!(Arc::ptr_eq(&former, &hands.seen()));
}

#[tokio::test]
async fn what_a_page_does_not_show_does_not_have_it_made_again() {
    let mut hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
    hands.replaces("raise", "one", "1", None);
    hands.arena.hold("tools/raise");
    hands.run(None, |seen| seen.task.in_flight().next().is_some()).await;
    let task = hands.seen().task.id.clone();
    while !hands.page_of_task().contains("## Now") {
        tokio::task::yield_now().await;
    }
    let made = hands.workspace.page_reads(&task, PAGE);
    let words = "mind the gap".to_owned();
    hands.act(Action::Say { task: Which::TheOnlyOne, words, step: None }).await;
    assert_eq!(hands.seen().task.said.len(), 1);
    hands.stop().await;
    assert_eq!(hands.workspace.page_reads(&task, PAGE), made);
}
