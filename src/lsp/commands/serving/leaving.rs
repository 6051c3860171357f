//! Leaving while the root is not open: what is waited for.
//!
//! Invariant: a goal is waited for, and nothing else. Absent: goals that are handed over, in `serving`.

use super::{PAGE, Scene, two};
use crate::lsp::commands::OPENING;
use serde_json::json;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn only_what_may_be_a_goal_holds_a_session_whose_root_does_not_open() {
    for (command, arguments, is_held) in [
        ("nextHunk", json!([]), false),
        ("resolve", json!(["mine"]), false),
        ("pause", json!(["k7f3"]), false),
        ("plan", json!(["make one two"]), true),
        ("ask", json!(["who calls send?"]), true),
        ("changeItem", json!(["src/a.rs:1", "faster"]), true),
        ("fixProblem", json!([{"path": "src/a.rs", "line": 1}]), true),
    ] {
        let scene = Scene::opened(two(), false).await;
        scene.editor.allow("window/showMessage");
        scene.editor.allow("window/logMessage");
        scene.give(command, arguments).await;
        assert_eq!(took(scene).await > OPENING / 2, is_held, "{command}");
    }
    let scene = Scene::opened(two(), false).await;
    scene.editor.open(PAGE, "markdown", "do: plan\n\nmake one two\n");
    scene.editor.save(PAGE);
    assert!(took(scene).await > OPENING / 2);
}

/// From hanging up to the end.
async fn took(scene: Scene) -> std::time::Duration {
    let Scene { folder: _folder, mut editor, .. } = scene;
    let begun = Instant::now();
    editor.hang_up();
    editor.code().await;
    begun.elapsed()
}
