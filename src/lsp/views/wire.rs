//! The views on the wire: an editor in memory, the real open documents, and a desk that the test sets.
//!
//! Invariant: what is not expected fails. Absent: an engine.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a broken expectation is to fail its test")]

use super::fixture::{change, desk, file, path, review, task};
use crate::desk::{Desk, Dossier, fixture};
use crate::domain::problem::Replacement;
use crate::domain::task::action::{Action, Which};
use crate::domain::task::event::{Event, Intent, Settlement};
use crate::domain::task::standing::TaskState;
use crate::ports::{DocumentChange, DocumentEvent, Documents, SessionId};
use crate::testing::editor::{Editor, Profile, Shared, TestGround, TestPort, buffers};
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;
use tempfile::TempDir;

const BEFORE: &str = "use a;\n\nfn send() {\n    retry(3);\n}\n";
const AFTER: &str = "use a;\n\nfn send() {\n    retry(policy);\n}\n";

struct Scene {
    _folder: TempDir,
    documents: Arc<dyn Documents>,
    port: Arc<TestPort>,
    editor: Editor,
}

impl Scene {
    async fn new(profile: Profile, first: Vec<Dossier>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = Arc::new(TestPort::default());
        let documents: Arc<dyn Documents> = buffers();
        let ground = TestGround::with_port(folder.path(), documents.clone(), port.clone());
        port.show(desk(first));
        let editor = Editor::start(profile, folder.path(), Arc::new(Shared(ground))).await;
        editor.allow("window/logMessage");
        editor.allow("workspace/codeLens/refresh");
        editor.allow("workspace/inlayHint/refresh");
        Self { _folder: folder, documents, port, editor }
    }

    /// The next diagnostics of a file: version, then line and severity of each.
    async fn published(&self, path: &str) -> String {
        let uri = self.editor.uri(path);
        let said =
            self.editor.expect_where("textDocument/publishDiagnostics", |said| said["uri"] == uri.as_str()).await;
        let each = said["diagnostics"].as_array().unwrap().iter();
        let each: Vec<String> =
            each.map(|one| format!("{}@{}", one["range"]["start"]["line"], one["severity"])).collect();
        format!("v{} {}", said["version"], each.join(" "))
    }

    /// What the editor says of its documents, as its handlers hand it on.
    fn tell(&self, event: DocumentEvent) {
        self.documents.tell(SessionId(1), event);
    }

    fn edit(&self, version: i32, range: Range<usize>, text: &str) {
        let change = DocumentChange::Edit(Replacement { range, text: text.to_owned() });
        self.tell(DocumentEvent::Changed { path: path("src/net.rs"), version, changes: vec![change] });
    }

    fn show(&self, dossiers: Vec<Dossier>) {
        self.port.show(desk(dossiers));
    }
}

fn net() -> Dossier {
    task("k3xf", vec![change("src/net.rs", &file(BEFORE), &file(AFTER))])
}

#[tokio::test]
async fn hunks_follow_the_text_and_go_when_they_are_settled() {
    let scene = Scene::new(Profile::vscode_1_100(), vec![net()]).await;
    scene.editor.allow("textDocument/publishDiagnostics");
    assert_eq!(scene.published("src/net.rs").await, "vnull 3@3");
    let text = Arc::from(BEFORE);
    scene.tell(DocumentEvent::Opened { path: path("src/net.rs"), version: 1, text });
    assert_eq!(scene.published("src/net.rs").await, "v1 3@3");
    scene.edit(2, 0..0, "// one more\n");
    assert_eq!(scene.published("src/net.rs").await, "v2 4@3");
    let at = "// one more\n".len() + BEFORE.find('3').unwrap();
    scene.edit(3, at..at + 1, "policy");
    assert_eq!(scene.published("src/net.rs").await, "v3 4@4");
    scene.edit(4, at..at + 6, "5");
    assert_eq!(scene.published("src/net.rs").await, "v4 4@2");
    scene.edit(5, at..at + 1, "policy");
    assert_eq!(scene.published("src/net.rs").await, "v5 4@4");
    let mut settled = net();
    settled.hunks = Arc::new(review(&settled.changes[0], &file(AFTER), &[]));
    scene.show(vec![settled]);
    assert_eq!(scene.published("src/net.rs").await, "v5 ");
}

#[tokio::test]
async fn the_first_action_at_a_hunk_accepts_it_and_a_light_is_shown_for_little() {
    let scene = Scene::new(Profile::helix_25_07(), vec![net()]).await;
    scene.editor.allow("textDocument/publishDiagnostics");
    scene.editor.open("src/net.rs", "rust", BEFORE);
    scene.published("src/net.rs").await;
    let ask = |kind: u8| {
        json!({
            "textDocument": {"uri": scene.editor.uri("src/net.rs")},
            "range": scene.editor.range("src/net.rs", "retry"),
            "context": {"diagnostics": [], "triggerKind": kind},
        })
    };
    let menu = scene.editor.request("textDocument/codeAction", ask(1)).await.unwrap();
    assert_eq!(menu[0]["command"]["command"], "planwright.accept");
    assert_eq!(menu[0]["isPreferred"], true);
    let light = scene.editor.request("textDocument/codeAction", ask(2)).await.unwrap();
    assert_eq!(light.as_array().unwrap().len(), 2);
}

/// A task whose step asks a model right now.
fn at_work() -> Dossier {
    let mut events = fixture::story();
    let lost = |event: &Event| matches!(event, Event::Settled { result: Settlement::Lost, .. });
    let until = events.iter().position(|(_, event)| lost(event)).unwrap();
    events.truncate(until);
    fixture::dossier("k3xf", events, TaskState::Running)
}

/// The same a moment before, as it reads a file.
fn reading() -> Dossier {
    let mut events = fixture::story();
    let reads = |event: &Event| matches!(event, Event::Intended { what: Intent::Tool { .. }, .. });
    let at = events.iter().position(|(_, event)| reads(event)).unwrap();
    events.truncate(at + 1);
    fixture::dossier("k3xf", events, TaskState::Running)
}

#[tokio::test]
async fn a_task_at_work_has_a_bar_that_can_be_cancelled_and_ends_when_it_waits() {
    let scene = Scene::new(Profile::vscode_1_100(), vec![reading()]).await;
    scene.editor.allow("textDocument/publishDiagnostics");
    let token = scene.editor.expect("window/workDoneProgress/create").await["token"].clone();
    let begin = scene.editor.expect("$/progress").await;
    assert_eq!((&begin["token"], &begin["value"]["kind"]), (&token, &json!("begin")));
    assert_eq!(begin["value"]["cancellable"], true);
    assert_eq!(begin["value"]["title"], "Agent: make retries configurable");
    scene.show(vec![at_work()]);
    let report = scene.editor.expect("$/progress").await;
    assert_eq!((&report["token"], &report["value"]["kind"]), (&token, &json!("report")));
    assert_ne!(report["value"]["message"], begin["value"]["message"]);
    scene.editor.notify("window/workDoneProgress/cancel", json!({"token": token}));
    let acts = scene.port.acts(1).await;
    assert!(matches!(&acts[0].1, Action::Cancel { task: Which::Task(task) } if task.as_str() == "k3xf"));
    scene.show(vec![net()]);
    let end = scene.editor.expect("$/progress").await;
    assert_eq!((&end["token"], &end["value"]["kind"]), (&token, &json!("end")));
    // One that is over cancels nothing.
    scene.editor.notify("window/workDoneProgress/cancel", json!({"token": token}));
    scene.editor.request("workspace/symbol", json!({"query": ""})).await.unwrap();
    assert_eq!(scene.port.acted().len(), 1);
}

#[tokio::test]
async fn glue_that_opted_in_is_told_and_no_other() {
    let profile = Profile::neovim_0_11();
    let folder = tempfile::tempdir().unwrap();
    let port = Arc::new(TestPort::default());
    port.show(desk(vec![net()]));
    let ground = TestGround::with_port(folder.path(), buffers(), port.clone());
    let uri = format!("file://{}", folder.path().display());
    let mut said = profile.initialize(&uri);
    said["initializationOptions"] = json!({"glue": true});
    let mut editor = Editor::connect(profile, folder.path(), Arc::new(Shared(ground)));
    for method in ["window/logMessage", "textDocument/publishDiagnostics", "workspace/inlayHint/refresh"] {
        editor.allow(method);
    }
    editor.initialize(said).await;
    assert_eq!(editor.expect("planwright/hunks").await["hunks"][0]["new"], "    retry(policy);\n");
    assert_eq!(editor.expect("planwright/tasks").await["tasks"][0]["task"], "k3xf");
    assert_eq!(editor.expect("planwright/ask").await["gates"], Value::Array(Vec::new()));
    port.show(Desk::default());
    assert_eq!(editor.expect("planwright/hunks").await["hunks"], Value::Array(Vec::new()));
    assert_eq!(editor.expect("planwright/tasks").await["tasks"], Value::Array(Vec::new()));
}
