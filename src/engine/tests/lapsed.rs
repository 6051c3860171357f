//! A release that reads plans differently: what was approved waits for a new approval, and nothing vanishes.

use super::scene::{End, PLAN, Scene};
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::Document;

#[tokio::test]
async fn an_approved_task_is_shown_and_waits_for_a_new_approval() {
    let mut scene = Scene::new(Some(PLAN));
    assert_eq!(scene.live(Some(6), true).await, End::Died);
    scene.grammar = Some("another");
    let desk = scene.look().await;
    let seen = desk.tasks.first().expect("the task is listed");
    assert!(seen.task.approval.is_some());
    assert_eq!((&seen.state, seen.steps.len()), (&TaskState::AwaitingApproval, 0));
    assert!(matches!(seen.task.document, Document::Strayed { .. }), "no new step starts");
    let page = seen.page.as_ref().unwrap();
    assert_eq!(page.revision.number, 2, "there is a revision that can be approved");
    let remark = desk.place.remarks.join("\n");
    assert!(remark.contains("has lapsed") && remark.contains(seen.task.id.as_str()), "{remark}");
}

#[tokio::test]
async fn a_finished_task_stays_as_it_is() {
    let mut scene = Scene::new(Some(PLAN));
    assert_eq!(scene.live(None, true).await, End::Finished);
    let before = scene.look().await;
    scene.grammar = Some("another");
    let after = scene.look().await;
    let (before, after) = (before.tasks.first().unwrap(), after.tasks.first().unwrap());
    assert_eq!((&after.state, &after.task.seq), (&before.state, &before.task.seq));
    assert!(after.page.is_some() && after.task.is_over());
}
