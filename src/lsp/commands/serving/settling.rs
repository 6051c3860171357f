//! Settling a hunk where something else stands: only as it was shown.
//!
//! Invariant: the shown is what the editor has there as the command comes. Absent: what the engine does with it.

use super::{Scene, hunks, two};
use crate::domain::change::settle::shown;
use crate::domain::task::action::{Action, Side, Which};
use serde_json::json;

#[tokio::test]
async fn at_a_place_the_decision_is_about_what_stands_there() {
    let desk = two();
    let scene = Scene::new(desk.clone()).await;
    scene.editor.open("src/a.rs", "rust", "mine\n");
    scene.give("resolve", json!([["src/a.rs", 1, 1, 1], "mine"])).await;
    let expected = Action::Resolve {
        task: Which::Task(desk.tasks[0].task.id.clone()),
        hunk: Some(hunks(&desk)[0].clone()),
        side: Side::Mine,
        shown: Some(shown("mine\n", "A\n")),
    };
    assert_eq!(scene.acts(1).await, [expected]);
}
