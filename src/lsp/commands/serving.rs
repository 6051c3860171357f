//! Commands on the wire: an editor in memory, the real open documents, and an engine that writes down what it was asked.
//!
//! Invariant: what is not expected fails. Absent: what a command does in the engine.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a broken expectation fails its test")]

use crate::desk::{CompareView, Desk, ItemView, PageView, Query, View};
use crate::domain::ids::{HunkId, RevisionRef, TaskId};
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply, Target, Which};
use crate::host::{Port, Update};
use crate::lsp::views::fixture::{change, desk, file, task};
use crate::ports::{Fut, Workspace};
use crate::testing::editor::{Editor, Profile, Shared, TestGround, TestPort, buffers};
use crate::workspace::Disk;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::sync::{broadcast, watch};

mod leaving;
mod settling;

const PAGE: &str = ".planwright/goal.md";

/// A port whose next action or question panics, if it is to, and that knows what no desk does.
struct Faulty {
    port: TestPort,
    panics: AtomicBool,
    /// The answer to what the desk does not know.
    knows: Mutex<Option<View>>,
    asked: AtomicUsize,
    /// Where its pages lie that belong to no task.
    disk: Disk,
}

impl Port for Faulty {
    fn act(&self, actor: Actor, action: Action) -> Fut<'_, Result<Reply, Refusal>> {
        assert!(!self.panics.swap(false, Ordering::Relaxed), "as it is to");
        self.port.act(actor, action)
    }

    fn ask(&self, query: Query) -> Fut<'_, Result<View, Refusal>> {
        if matches!(query, Query::Item { .. } | Query::Compare { .. }) {
            self.asked.fetch_add(1, Ordering::Relaxed);
            assert!(!self.panics.swap(false, Ordering::Relaxed), "as it is to");
            if let Some(view) = self.knows.lock().unwrap().clone() {
                return Box::pin(std::future::ready(Ok(view)));
            }
        }
        let Query::Loose { page, text } = query else { return self.port.ask(query) };
        Box::pin(async move {
            Ok(match text {
                Some(text) => View::Page(PageView { path: self.disk.write_loose(page, &text).await.unwrap(), text }),
                None => View::Loose(self.disk.read_loose(page).await.unwrap()),
            })
        })
    }

    fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        self.port.desks()
    }

    fn updates(&self) -> broadcast::Receiver<Update> {
        self.port.updates()
    }

    fn is_host(&self) -> bool {
        true
    }

    fn lost(&self) -> Fut<'_, ()> {
        self.port.lost()
    }

    fn rejoin(&self) -> Fut<'_, Result<(), Refusal>> {
        self.port.rejoin()
    }
}

struct Scene {
    folder: TempDir,
    port: Arc<Faulty>,
    ground: Arc<TestGround>,
    editor: Editor,
}

impl Scene {
    async fn new(first: Desk) -> Self {
        Self::opened(first, true).await
    }

    /// With a root that opens at once, or when it may.
    async fn opened(first: Desk, at_once: bool) -> Self {
        Self::in_editor(first, at_once, Profile::neovim_0_11()).await
    }

    async fn in_editor(first: Desk, at_once: bool, profile: Profile) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::open(folder.path().to_owned(), folder.path().join("state")).unwrap();
        let port = Arc::new(Faulty {
            port: TestPort::default(),
            panics: AtomicBool::default(),
            knows: Mutex::default(),
            asked: AtomicUsize::default(),
            disk,
        });
        port.port.show(first);
        let ground = TestGround::with_port(folder.path(), buffers(), port.clone());
        if !at_once {
            ground.opening.forget_permits(1);
        }
        let editor = Editor::start(profile, folder.path(), Arc::new(Shared(ground.clone()))).await;
        editor.allow_views();
        Self { folder, port, ground, editor }
    }

    async fn give(&self, name: &str, arguments: Value) {
        assert_eq!(self.editor.command(&format!("planwright.{name}"), arguments).await, Ok(Value::Null));
    }

    /// The next thing that is shown: the end of its URI, and the line.
    async fn shown(&self) -> String {
        let said = self.editor.expect("window/showDocument").await;
        let name = said["uri"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        match said["selection"]["start"]["line"].as_u64() {
            Some(line) => format!("{name}:{line}"),
            None => name,
        }
    }

    async fn complaint(&self) -> String {
        self.editor.expect("window/showMessage").await["message"].as_str().unwrap().to_owned()
    }

    async fn acts(&self, number: usize) -> Vec<Action> {
        self.port.port.acts(number).await.into_iter().map(|(_, action)| action).collect()
    }

    fn on_disk(&self) -> String {
        std::fs::read_to_string(self.folder.path().join(PAGE)).unwrap()
    }

    fn write(&self, text: &str) {
        std::fs::create_dir_all(self.folder.path().join(".planwright")).unwrap();
        std::fs::write(self.folder.path().join(PAGE), text).unwrap();
    }

    /// Waits until what was given before has been begun.
    async fn settled(&self) {
        let before = self.port.port.acted().len();
        self.give("pause", json!([])).await;
        self.acts(before + 1).await;
    }
}

/// Two files with a hunk each. The engine of the tests calls every task `k7f3`.
fn two() -> Desk {
    let changes = vec![
        change("src/a.rs", &file("a\n"), &file("A\n")),
        change("src/b.rs", &file("1\n2\nc\n"), &file("1\n2\nC\n")),
    ];
    desk(vec![task("k7f3", changes)])
}

fn hunks(desk: &Desk) -> Vec<HunkId> {
    desk.tasks[0].hunks.iter().map(|hunk| hunk.id.clone()).collect()
}

#[tokio::test]
async fn a_command_that_comes_early_is_understood_when_the_root_is_open() {
    let scene = Scene::opened(two(), false).await;
    scene.give("gate", json!(["k7f3", "allow"])).await;
    scene.give("pause", json!(["k7f3"])).await;
    scene.ground.opening.add_permits(1);
    let acts = serde_json::to_string(&scene.acts(2).await).unwrap().replace('"', "");
    let gate = "{do:gate,task:{task:k7f3},gate:null,answer:allow,comment:null}";
    assert_eq!(acts, format!("[{gate},{{do:pause,task:{{task:k7f3}}}}]"));
}

#[tokio::test]
async fn a_fault_in_a_command_ends_that_command() {
    let scene = Scene::new(two()).await;
    scene.port.panics.store(true, Ordering::Relaxed);
    scene.give("pause", json!([])).await;
    assert_eq!(scene.complaint().await, "planwright: the command failed in planwright itself");
    scene.give("run", json!([])).await;
    assert!(matches!(scene.acts(1).await.as_slice(), [Action::Run { .. }]));
}

#[tokio::test]
async fn an_error_fits_on_a_line_and_the_log_has_all_of_it() {
    let scene = Scene::new(two()).await;
    let message = format!("no\u{202e}pe:\n{}", "long ".repeat(60));
    let refusal = Refusal { kind: RefusalKind::Policy, message, next: "planwright.openPlan".to_owned() };
    scene.port.port.refuse(Some(refusal));
    scene.give("run", json!([])).await;
    let shown = scene.complaint().await;
    assert!(shown.starts_with("planwright: no<U+202E>pe: long long "), "{shown}");
    assert!(shown.chars().count() <= super::SHOWN + 1 && shown.ends_with('…'), "{shown}");
    let logged =
        scene.editor.expect_where("window/logMessage", |said| said["message"].as_str().unwrap().contains("long"));
    assert!(logged.await["message"].as_str().unwrap().ends_with("long; next: planwright.openPlan"));
    let refusal =
        Refusal { kind: RefusalKind::Policy, message: "no".to_owned(), next: "planwright.openPlan".to_owned() };
    scene.port.port.refuse(Some(refusal));
    scene.give("run", json!([])).await;
    assert_eq!(scene.complaint().await, "planwright: no; next: planwright.openPlan");
}

#[tokio::test]
async fn an_error_about_a_file_is_read_there_where_the_line_has_no_room_for_it() {
    let scene = Scene::new(two()).await;
    scene.editor.look();
    let hunk = hunks(&two())[0].clone();
    let long = format!("src/a.rs: {hunk} no longer fits, the text at its place has changed");
    let refusal = Refusal { kind: RefusalKind::Policy, message: long.clone(), next: "reject it".to_owned() };
    scene.port.port.refuse(Some(refusal));
    scene.give("accept", json!([{ "hunk": hunk }])).await;
    let shown = scene.complaint().await;
    assert!(shown.starts_with("planwright: src/a.rs: ") && shown.ends_with('…'), "{shown}");
    let whole = format!("planwright: {long}; next: reject it");
    let said = || scene.editor.messages("src/a.rs").contains(&whole);
    scene.editor.until("all of it at the file", || said().then_some(())).await;
    // Until the next command.
    scene.port.port.refuse(None);
    scene.give("pause", json!([])).await;
    scene.editor.until("it is gone", || (!said()).then_some(())).await;
    // What is about a task is read at its page.
    scene.port.port.refuse(Some(Refusal { kind: RefusalKind::Policy, message: long, next: "reject it".to_owned() }));
    scene.give("run", json!(["k7f3"])).await;
    scene.complaint().await;
    let said = || scene.editor.messages(".planwright/tasks/k7f3/task.md").contains(&whole);
    scene.editor.until("all of it at the page", || said().then_some(())).await;
}

#[tokio::test]
async fn an_editor_with_room_shows_an_error_in_full() {
    let scene = Scene::in_editor(two(), true, Profile::vscode_1_139()).await;
    let message = "src/a.rs: the editor did not apply the edit: read only; the hunk stays open".to_owned();
    let next = "planwright review k7f3 shows what stands where".to_owned();
    scene.port.port.refuse(Some(Refusal { kind: RefusalKind::Policy, message: message.clone(), next: next.clone() }));
    scene.give("run", json!([])).await;
    assert_eq!(scene.complaint().await, format!("planwright: {message}; next: {next}"));
}

#[tokio::test]
async fn what_is_typed_behind_an_approval_is_not_approved() {
    const PLAN: &str = ".planwright/tasks/k7f3/it.plan.md";
    for typed in [true, false] {
        let scene = Scene::opened(Desk::default(), false).await;
        let mut planned = task("k7f3", Vec::new());
        let page = crate::desk::Page {
            path: scene.folder.path().canonicalize().unwrap().join(PLAN),
            ..(**planned.page.as_ref().unwrap()).clone()
        };
        let text = page.text.to_string();
        planned.page = Some(Arc::new(page));
        scene.port.port.show(desk(vec![planned]));
        scene.editor.open(PLAN, "markdown", &text);
        scene.give("approve", json!(["k7f3"])).await;
        if typed {
            scene.editor.replace(PLAN, 0..0, "x");
        }
        scene.editor.request("workspace/symbol", json!({"query": ""})).await.unwrap();
        scene.ground.opening.add_permits(1);
        let said = scene.complaint().await;
        // Else it comes to be compiled, which nobody does here.
        assert_eq!(said.contains("changed as it was"), typed, "{said}");
        assert_eq!(scene.port.port.acted(), []);
    }
}

#[tokio::test]
async fn a_page_that_comes_too_late_to_be_shown_is_named_in_the_log() {
    let scene = Scene::opened(two(), false).await;
    scene.editor.open("src/a.rs", "rust", "a\n");
    scene.give("openReview", json!(["k7f3"])).await;
    scene.editor.replace("src/a.rs", 0..0, "x");
    scene.editor.request("workspace/symbol", json!({"query": ""})).await.unwrap();
    scene.ground.opening.add_permits(1);
    let named = |said: &Value| said["message"].as_str().unwrap().ends_with("/review.md");
    scene.editor.expect_where("window/logMessage", named).await;
    scene.settled().await;
    assert_eq!(scene.editor.shown(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_page_of_two_revisions_holds_nothing_that_is_obeyed() {
    let scene = Scene::new(two()).await;
    let of = |number| RevisionRef { number, digest: "9f2c81d04a7e".to_owned() };
    let difference = vec!["- \u{1b}[2J\u{202e}gone".to_owned(), "+ ```\n# not a heading".to_owned()];
    let view = CompareView { task: TaskId::new("k7f3"), from: of(1), to: of(2), difference };
    *scene.port.knows.lock().unwrap() = Some(View::Compare(view));
    scene.give("compare", json!(["k7f3"])).await;
    assert_eq!(scene.shown().await, "compare.md");
    let page = std::fs::read_to_string(scene.folder.path().join(".planwright/compare.md")).unwrap();
    let (_, lines) = page.split_once("\n\n").unwrap();
    assert_eq!(lines, "    - <U+001B>[2J<U+202E>gone\n    + ```<U+000A># not a heading\n");
}

#[tokio::test]
async fn a_question_for_an_item_that_fails_is_asked_again() {
    let scene = Scene::new(two()).await;
    scene.editor.open("src/c.rs", "rust", "fn send() {}\n");
    let item = ItemView { symbol: Some("send".to_owned()), lines: (1, 1), check: None };
    *scene.port.knows.lock().unwrap() = Some(View::Item(item));
    scene.port.panics.store(true, Ordering::Relaxed);
    let titles = async || {
        let all = scene.editor.actions("src/c.rs", "send").await;
        all.iter().map(|one| one["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join("; ")
    };
    assert!(!titles().await.contains("`send`"));
    let asked = || scene.port.asked.load(Ordering::Relaxed);
    scene.editor.until("it was asked, in vain", || (asked() == 1).then_some(())).await;
    let end = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    while !titles().await.contains("`send`") {
        assert!(tokio::time::Instant::now() < end, "the item never becomes known");
    }
    assert!(asked() >= 2);
}

#[tokio::test]
async fn a_hunk_is_explained_where_it_stands_in_the_review() {
    let desk = two();
    let ids = hunks(&desk);
    let scene = Scene::new(desk.clone()).await;
    let page = desk
        .answer(&Query::Page { task: Which::Task(desk.tasks[0].task.id.clone()), page: crate::desk::PageKind::Review });
    let Ok(View::Page(page)) = page else { panic!("{page:?}") };
    let line = page.text.lines().position(|line| line.starts_with(&format!("## {}", ids[1]))).unwrap();
    scene.give("openReview", json!([{"task": "k7f3", "hunks": [ids[1]]}])).await;
    assert_eq!(scene.shown().await, format!("review.md:{line}"));
    scene.give("openReview", json!([{"task": "k7f3"}])).await;
    assert_eq!(scene.shown().await, "review.md");
    scene.give("openReview", json!([{"task": "k7f3", "hunks": ["h00000000"]}])).await;
    assert_eq!(scene.complaint().await, "planwright: there is no hunk h00000000 in this task");
}

#[tokio::test]
async fn the_walk_goes_on_where_it_was_and_begins_anew_for_a_task() {
    let scene = Scene::new(two()).await;
    let mut seen = Vec::new();
    for arguments in [json!([]), json!([]), json!([]), json!([{"task": "k7f3"}]), json!([{"task": "k7f3"}])] {
        scene.give("nextHunk", arguments).await;
        seen.push(scene.shown().await);
    }
    assert_eq!(seen, ["a.rs:0", "b.rs:2", "a.rs:0", "a.rs:0", "a.rs:0"]);
    scene.port.port.show(desk(vec![task("k7f3", vec![change("src/a.rs", &file("a\n"), &file("A\n"))])]));
    // It was gone to last, and nobody knows where they are now.
    scene.give("nextHunk", json!([])).await;
    assert_eq!(scene.shown().await, "a.rs:0");
    scene.give("nextHunk", json!([{"path": "src/a.rs", "line": 1}])).await;
    assert_eq!(scene.complaint().await, "planwright: no other hunk waits for a decision");
}

#[tokio::test]
async fn a_goal_page_that_was_sent_is_made_blank_for_its_version_only() {
    let scene = Scene::new(two()).await;
    scene.editor.open(PAGE, "markdown", "do: plan\n\none\n");
    scene.editor.save(PAGE);
    assert!(matches!(scene.acts(1).await.as_slice(), [Action::Plan { .. }]));
    assert_eq!(scene.shown().await, "task.md");
    let version = scene.editor.version(PAGE);
    scene.give("ask", json!([])).await;
    assert_eq!(scene.shown().await, "goal.md");
    let edit = scene.editor.expect("workspace/applyEdit").await;
    assert_eq!(
        edit["edit"]["documentChanges"][0]["textDocument"]["version"],
        json!(version.map(|version| version.max(1))),
        "Neovim compares no number below one"
    );
    let blank = super::paper::blank(&super::errand::Wanted::Ask, None);
    assert_eq!(scene.editor.text(PAGE).as_deref(), Some(blank.as_str()));
}

#[tokio::test]
async fn words_that_are_typed_while_a_goal_page_is_shown_stay() {
    let scene = Scene::new(two()).await;
    scene.editor.open(PAGE, "markdown", "do: plan\n\none\n");
    scene.editor.save(PAGE);
    scene.acts(1).await;
    assert_eq!(scene.shown().await, "task.md");
    scene.editor.allow("window/showDocument");
    let given = scene.editor.begin("workspace/executeCommand", json!({"command": "planwright.plan", "arguments": []}));
    let end = scene.editor.text(PAGE).unwrap().len();
    scene.editor.replace(PAGE, end..end, "and two\n");
    given.answer().await.unwrap();
    scene.settled().await;
    assert_eq!(scene.editor.text(PAGE).as_deref(), Some("do: plan\n\none\nand two\n"));
}

#[tokio::test]
async fn words_on_disk_that_nothing_came_of_are_shown_and_kept() {
    let scene = Scene::new(two()).await;
    scene.write("do: ask\n\nwho calls send?\n");
    scene.give("plan", json!([])).await;
    assert_eq!(scene.shown().await, "goal.md");
    assert_eq!(scene.on_disk(), "do: ask\n\nwho calls send?\n");
}

#[tokio::test]
async fn a_goal_page_that_is_a_task_already_is_none_again_until_it_was_blank() {
    const SENT: &str = "do: plan\nat: src/net.rs:4-9\n\nmake retries configurable\n";
    let scene = Scene::new(two()).await;
    scene.write(SENT);
    scene.editor.open(PAGE, "markdown", SENT);
    // As after a restart: this session has not sent it.
    scene.editor.save(PAGE);
    scene.settled().await;
    assert!(matches!(scene.acts(1).await.as_slice(), [Action::Pause { .. }]));
    scene.editor.close(PAGE);
    scene.give("plan", json!([])).await;
    assert_eq!(scene.shown().await, "goal.md");
    assert_eq!(scene.on_disk(), super::paper::blank(&super::errand::Wanted::Plan, None));
    scene.editor.open(PAGE, "markdown", SENT);
    scene.editor.save(PAGE);
    assert!(matches!(scene.acts(2).await.as_slice(), [Action::Pause { .. }, Action::Plan { .. }]));
    assert_eq!(scene.shown().await, "task.md");
}

#[tokio::test]
async fn a_goal_that_became_no_task_is_said_on_its_page_until_it_is_one() {
    let scene = Scene::opened(two(), false).await;
    scene.write("do: plan\n\nnobody has planned this\n");
    scene.ground.opening.add_permits(1);
    let on_page = |said: &Value| said["uri"].as_str().unwrap().ends_with("/goal.md");
    let said = scene.editor.expect_where("textDocument/publishDiagnostics", on_page).await;
    assert_eq!(
        said["diagnostics"][0]["message"],
        "this goal is no task yet\nnext: save this page (:w), and it is planned"
    );
    assert!(scene.port.port.acted().is_empty(), "nothing begins by itself");
    scene.editor.open(PAGE, "markdown", &scene.on_disk());
    scene.editor.save(PAGE);
    assert!(matches!(scene.acts(1).await.as_slice(), [Action::Plan { .. }]));
    let gone = |said: &Value| on_page(said) && said["diagnostics"] == json!([]);
    scene.editor.expect_where("textDocument/publishDiagnostics", gone).await;
    assert_eq!(scene.shown().await, "task.md");
}

#[tokio::test]
async fn a_goal_that_is_saved_as_the_editor_quits_is_handed_over_first() {
    let Scene { folder: _folder, port, ground, mut editor } = Scene::opened(two(), false).await;
    editor.open(PAGE, "markdown", "do: plan\n\nmake one two\n");
    editor.save(PAGE);
    editor.hang_up();
    let opens = async {
        // Longer than what is left of a session that has nothing to hand over.
        tokio::time::timeout(3 * crate::lsp::DRAIN, std::future::pending::<()>()).await.unwrap_err();
        ground.opening.add_permits(1);
    };
    let (code, ()) = tokio::join!(editor.code(), opens);
    assert_eq!(code, 1, "no shutdown came");
    let acted = port.port.acted();
    assert!(matches!(acted.as_slice(), [(_, Action::Plan { goal, .. })] if goal.words == "make one two"), "{acted:?}");
    assert_eq!(ground.closed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_reason_is_written_on_a_page_and_rejects_once() {
    const WORDS: &str = ".planwright/words.md";
    let desk = two();
    let (first, second) = (hunks(&desk)[0].clone(), hunks(&desk)[1].clone());
    let scene = Scene::new(desk).await;
    let ask = |hunk: &HunkId| json!([{"task": "k7f3", "hunks": [hunk], "ask": true}]);
    scene.give("reject", ask(&first)).await;
    assert_eq!(scene.shown().await, "words.md");
    let page = std::fs::read_to_string(scene.folder.path().join(WORDS)).unwrap();
    assert!(page.starts_with(&format!("do: reject\ntask: k7f3\nhunk: {first}\n")), "{page}");
    scene.editor.open(WORDS, "markdown", &page);
    scene.editor.save(WORDS);
    scene.settled().await;
    scene.editor.replace(WORDS, page.len()..page.len(), "the name is taken\n");
    // Words for one hunk are not taken for another's.
    scene.give("reject", ask(&second)).await;
    assert_eq!(scene.shown().await, "words.md");
    assert!(scene.complaint().await.starts_with("planwright: words.md holds words for something else"));
    scene.editor.save(WORDS);
    let reject = |hunk: &HunkId| {
        let (task, target) = (Which::Task(crate::domain::ids::TaskId::new("k7f3")), Target::Hunks(vec![hunk.clone()]));
        Action::Reject { task, target, reason: Some("the name is taken".to_owned()) }
    };
    assert_eq!(scene.acts(2).await[1], reject(&first));
    scene.editor.save(WORDS);
    scene.settled().await;
    assert!(matches!(scene.acts(3).await.as_slice(), [_, Action::Reject { .. }, Action::Pause { .. }]));
}
