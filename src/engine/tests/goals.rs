//! A change of one item, a question, the page of a task, and what an editor asks beside the desk.

use super::mortal::{Life, Mortal};
use crate::desk::*;
use crate::domain::ids::{TaskId, WorkspacePath};
use crate::domain::plan::small;
use crate::domain::task::action::*;
use crate::domain::task::standing::TaskState;
use crate::engine::{Limits, Running, World, start};
use crate::ports::{Model, Workspace};
use crate::syntax::{Index, TreeSitter};
use crate::testing::MemoryStore;
use crate::testing::clock::ManualClock;
use crate::testing::memory_arena::{Answer, MemoryArena};
use crate::testing::memory_model::MemoryModel;
use crate::testing::memory_workspace::MemoryWorkspace;
use crate::testing::script::{Script, Turn};
use crate::workspace::Buffers;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const LIB: &str = "/// Adds.\npub fn sum(xs: &[u32]) -> u32 {\n    xs.iter().sum()\n}\n\npub struct Till {\n    pub open: bool,\n}\n\nimpl Till {\n    pub fn ring(&self) -> u32 {\n        sum(&[1])\n    }\n}\n";
const FILES: [(&str, &str); 3] =
    [("Cargo.toml", "[package]\nname = \"till\"\n"), ("src/lib.rs", LIB), ("src/other.rs", "pub fn other() {}\n")];

struct NoModel;

impl Model for NoModel {
    fn info(&self) -> Option<crate::domain::agent::dialogue::ModelInfo> {
        None
    }

    fn complete(
        &self,
        _: crate::domain::agent::dialogue::ModelRequest,
        _: crate::ports::Deltas,
    ) -> crate::ports::Fut<
        '_,
        Result<crate::domain::agent::dialogue::ModelReply, crate::domain::agent::dialogue::ModelFault>,
    > {
        panic!("no model is asked")
    }
}

struct House {
    workspace: MemoryWorkspace,
    store: MemoryStore,
    running: Running,
}

fn at(path: &str) -> WorkspacePath {
    WorkspacePath::new(path).unwrap()
}

fn goal(words: &str, place: Option<(&str, u32)>) -> Goal {
    let place = place.map(|(path, line)| Place { path: at(path), lines: Some((line, line)) });
    Goal { words: words.to_owned(), place, references: Vec::new(), comment: None }
}

impl House {
    async fn new(script: Option<Script>) -> House {
        House::on(script, |workspace| Arc::new(workspace)).await
    }

    async fn on(script: Option<Script>, disk: impl Fn(MemoryWorkspace) -> Arc<dyn Workspace>) -> House {
        let workspace = MemoryWorkspace::new(FILES);
        let arena = MemoryArena::over(&FILES);
        arena.answers("cargo check", Answer::exit(0, "fine\n"));
        let model: Arc<dyn Model> = match script {
            Some(script) => Arc::new(MemoryModel::new(script)),
            None => Arc::new(NoModel),
        };
        let index = Index::in_memory();
        for (path, text) in FILES {
            index.update(&at(path), Some(text));
        }
        let store = MemoryStore::new();
        let world = World {
            store: Arc::new(store.clone()),
            workspace: disk(workspace.clone()),
            disk: disk(workspace.clone()),
            documents: Arc::new(Buffers::default()),
            syntax: Arc::new(TreeSitter::with_index(index)),
            model,
            arena: Arc::new(arena),
            clock: Arc::new(ManualClock::new().auto_advance(Duration::from_secs(600))),
            limits: Limits::default(),
            remarks: Vec::new(),
            sound: crate::engine::Sound::default(),
        };
        House { workspace, store, running: start(Arc::new(world)).await.unwrap() }
    }

    async fn act(&self, action: Action) -> Result<Reply, Refusal> {
        let ada = Actor { user: "ada".to_owned(), client: "Neovim 0.11.4".to_owned() };
        self.running.handle.act(ada, action).await
    }

    async fn ask(&self, query: Query) -> View {
        self.running.handle.ask(&query).await.unwrap()
    }

    /// Waits until the only task is so; gates are allowed on the way.
    async fn until(&self, what: &str, so: impl Fn(&Dossier) -> bool) -> Arc<Dossier> {
        let mut desks = self.running.handle.desks();
        let waiting = async {
            loop {
                let desk = desks.borrow_and_update().clone();
                if let Some(task) = desk.tasks.first() {
                    if so(task) {
                        return task.clone();
                    }
                    if let Some(gate) = task.task.open_gates().next() {
                        let (gate, task) = (Some(gate.id.clone()), Which::TheOnlyOne);
                        let _decided_just_now =
                            self.act(Action::Gate { task, gate, answer: GateAnswer::Allow, comment: None }).await;
                        continue;
                    }
                }
                desks.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap_or_else(|_| {
            panic!("never {what}: {:?}", self.running.handle.desk().tasks.first().map(|t| &t.state))
        })
    }

    async fn page(&self, task: &TaskId) -> String {
        self.workspace.read_page(task, "task.md").await.unwrap().unwrap_or_default()
    }
}

fn sums() -> Script {
    let pair = json!({ "search": "xs.iter().sum()", "replace": "xs.iter().copied().sum()" });
    Script::when(
        "copy first",
        [
            Turn::call("replace", json!({ "path": "src/lib.rs", "pairs": [pair] })),
            Turn::call("finish", json!({ "summary": "It copies first." })),
        ],
    )
}

#[tokio::test]
async fn a_change_of_one_item_is_planned_approved_and_run_by_one_act_without_a_planner() {
    let house = House::new(Some(sums())).await;
    let wish = Action::Small { goal: goal("copy first", Some(("src/lib.rs", 3))), focus: Some("sum".to_owned()) };
    let reply = house.act(wish.clone()).await.unwrap();
    let page = house.page(&reply.task).await;
    assert!(page.starts_with("# copy first\n\n**"), "the page is there with the answer: {page}");
    assert_eq!(house.act(wish).await.unwrap().task, reply.task, "the same wish within a minute is the same task");
    let task = house.until("at review", |task| task.state == TaskState::AwaitingReview).await;
    let text = task.page.as_ref().unwrap().text.to_string();
    insta::assert_snapshot!(text, @r"
    # copy first

    copy first

    ## Contract

    - scope: `src/lib.rs`
    - accept: `cargo check`
    - budget: 30 turns

    ## Steps

    ### change: copy first

    - edit: `src/lib.rs` (focus `sum`)
    - check: `cargo check`

    copy first
    ");
    assert_eq!(task.task.approval.as_ref().unwrap().by.client, "Neovim 0.11.4");
    assert_eq!(task.hunks.len(), 1);
    house.running.stop().await;
    let page = MemoryWorkspace::clone(&house.workspace);
    use crate::ports::Workspace;
    let page = page.read_page(&reply.task, "task.md").await.unwrap().unwrap();
    assert!(page.contains("awaiting review") && page.contains("1 pending"), "the last state is written: {page}");
}

#[tokio::test]
async fn a_change_that_was_cut_short_is_gone_on_with_when_it_is_asked_for_again() {
    let house = House::new(Some(sums())).await;
    let wish = Action::Small { goal: goal("copy first", Some(("src/lib.rs", 3))), focus: Some("sum".to_owned()) };
    // Opened, and its plan; not its approval.
    house.store.stop_after(2);
    assert_eq!(house.act(wish.clone()).await.unwrap_err().kind, RefusalKind::Broken);
    house.store.stop_after(u64::MAX);
    let reply = house.act(wish).await.unwrap();
    let task = house.until("at review", |task| task.state == TaskState::AwaitingReview).await;
    assert_eq!(task.task.id, reply.task);
}

#[tokio::test]
async fn a_change_that_cannot_be_approved_waits_with_its_document() {
    let house = House::new(Some(sums())).await;
    let focus = Some("no_such_item".to_owned());
    let refusal =
        house.act(Action::Small { goal: goal("copy first", Some(("src/lib.rs", 3))), focus }).await.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Plan);
    assert!(refusal.message.contains("waits with its plan") && refusal.next.contains("approve"), "{refusal:?}");
    let task = house.until("listed", |_| true).await;
    assert_eq!(task.state, TaskState::AwaitingApproval);
    let nowhere = house.act(Action::Small { goal: goal("copy", None), focus: None }).await.unwrap_err();
    assert_eq!(nowhere.kind, RefusalKind::NotFound);
}

#[tokio::test]
async fn a_question_is_answered_on_the_page_and_changes_nothing() {
    let long = format!("`Till::ring` calls it. {}", "It adds what was rung up. ".repeat(60));
    let script = Script::when("who calls sum", [Turn::call("finish", json!({ "summary": long }))]);
    let house = House::new(Some(script)).await;
    let reply = house.act(Action::AskQuestion { goal: goal("who calls sum?", None) }).await.unwrap();
    let task = house.until("over", |task| task.task.is_over()).await;
    assert!(task.hunks.is_empty());
    let View::Page(page) = house.ask(Query::Page { task: Which::TheOnlyOne, page: PageKind::Task }).await else {
        panic!("a page")
    };
    assert!(page.text.contains("## Answer\n\n```markdown\n`Till::ring` calls it."), "{}", page.text);
    assert!(page.text.contains(long.trim()), "all of it");
    assert_eq!(house.page(&reply.task).await, page.text);
    let View::Status(status) = house.ask(Query::Status { task: Which::TheOnlyOne }).await else { panic!("a status") };
    assert_eq!(status.answers.first().map(|answer| answer.text.as_str()), Some(long.trim()));
    assert!(house.workspace.writes().is_empty());
}

#[tokio::test]
async fn without_a_model_both_say_so_and_make_no_task() {
    let house = House::new(None).await;
    for action in [
        Action::Small { goal: goal("copy first", Some(("src/lib.rs", 3))), focus: None },
        Action::AskQuestion { goal: goal("why?", None) },
    ] {
        let refusal = house.act(action).await.unwrap_err();
        assert!(refusal.message.contains("needs a model") && refusal.next.contains("doctor"), "{refusal:?}");
    }
    assert!(house.running.handle.desk().tasks.is_empty());
}

#[tokio::test]
async fn what_an_editor_asks_is_answered_beside_the_desk() {
    let house = House::new(None).await;
    let place = |line| Place { path: at("src/lib.rs"), lines: Some((line, line)) };
    let mut said = String::new();
    for line in [1, 3, 5, 7, 11, 12] {
        let View::Item(item) = house.ask(Query::Item { place: place(line) }).await else { panic!("an item") };
        said.push_str(&format!("{line}: {:?} {:?}\n", item.symbol, item.lines));
        assert_eq!(item.check.as_deref(), Some("cargo check"));
    }
    insta::assert_snapshot!(said, @r#"
    1: Some("sum") (1, 4)
    3: Some("sum") (1, 4)
    5: None (5, 5)
    7: Some("Till") (6, 8)
    11: Some("Till::ring") (11, 13)
    12: Some("Till::ring") (11, 13)
    "#);
    let candidates = async |of: Candidates, prefix: &str| {
        let query = Query::Candidates { of, prefix: prefix.to_owned() };
        let View::Candidates(found) = house.ask(query).await else { panic!("candidates") };
        found.join(" | ")
    };
    assert_eq!(candidates(Candidates::Files, "src").await, "src/lib.rs | src/other.rs");
    assert_eq!(candidates(Candidates::Files, "oth").await, "src/other.rs");
    let of = Candidates::Symbols { path: Some(at("src/lib.rs")) };
    assert_eq!(candidates(of, "").await, "sum | Till | Till::open | Till::ring");
    assert_eq!(candidates(Candidates::Symbols { path: None }, "ri").await, "Till::ring");
    assert_eq!(candidates(Candidates::Commands, "cargo").await, "cargo test | cargo check");
    let code = async |symbol: Option<&str>| {
        let query = Query::Code { path: at("src/lib.rs"), symbol: symbol.map(str::to_owned) };
        let View::Code(found) = house.ask(query).await else { panic!("code") };
        found
    };
    let found = code(Some("Till")).await.unwrap();
    assert_eq!((found.line, found.text.as_str()), (5, "pub struct Till {\n    pub open: bool,\n}"));
    assert_eq!(code(None).await.unwrap().line, 0);
    assert_eq!(code(Some("nothing")).await, None);
    let plan = small::change(&goal("copy first", None), &at("src/lib.rs"), Some("summ"), None);
    let text = crate::domain::plan::render(&plan);
    let View::Compiled(compiled) = house.ask(Query::Compile { task: None, text: text.clone() }).await else {
        panic!("compiled")
    };
    let codes: Vec<&str> = compiled.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["missing-symbol"], "{:?}", compiled.problems);
    assert_eq!((compiled.revision.number, compiled.approved), (1, false));
    assert!(compiled.contract.iter().any(|line| line == "writes only within: src/lib.rs"), "{:?}", compiled.contract);
}

#[tokio::test]
async fn views_for_editors_survive_the_wire() {
    let found = View::Candidates(vec!["a".to_owned()]);
    let code = View::Code(Some(CodeView { path: at("a.rs"), range: 0..1, line: 0, text: "x".to_owned() }));
    for view in [found, code, View::Code(None)] {
        let line = serde_json::to_string(&view).unwrap();
        assert_eq!(serde_json::from_str::<View>(&line).unwrap(), view, "{line}");
    }
}

#[tokio::test]
async fn the_comment_that_asked_goes_as_a_hunk_of_its_own() {
    let house = House::new(None).await;
    // Any line will do: what counts is that it stands where it was read.
    let comment = Comment { line: 7, text: "    pub open: bool,\n".to_owned() };
    let goal = Goal { comment: Some(comment), ..goal("Call it total", Some(("src/lib.rs", 7))) };
    let document = "# Call it total\n\nIt.\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `no such text`, in `src`\n- enforce: lines at most 4\n\n## Steps\n\n### it: Rename it\n\n- transform: rename `sum` to `total`\n";
    let reply = house.act(Action::Plan { goal, document: Some(document.to_owned()) }).await.unwrap();
    let task = || Which::Task(reply.task.clone());
    let revision = house.running.handle.desk().tasks[0].page.as_ref().unwrap().revision.clone();
    let appends = house.store.appends();
    house.act(Action::Approve { task: task(), revision, upto: None }).await.unwrap();
    assert_eq!(house.store.appends(), appends + 1, "no process can die between the approval and the comment");
    let hunks = |desk: &Desk| {
        let shown = desk.tasks[0]
            .hunks
            .iter()
            .map(|hunk| format!("{}:{} {:?} {}", hunk.step, hunk.line, hunk.state, hunk.old.trim()));
        shown.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(hunks(&house.running.handle.desk()), "the goal:7 Open pub open: bool,");
    house.act(Action::Run { task: task() }).await.unwrap();
    house.until("at review", |task| task.state == TaskState::AwaitingReview).await;
    insta::assert_snapshot!(hunks(&house.running.handle.desk()), @r"
    it:2 Open pub fn sum(xs: &[u32]) -> u32 {
    the goal:7 Open pub open: bool,
    it:12 Open sum(&[1])
    ");
    house.act(Action::Accept { task: task(), target: Target::All }).await.unwrap();
    let text = house.workspace.entry(&at("src/lib.rs")).text().to_owned();
    assert!(!text.contains("pub open") && text.contains("fn total"), "{text}");
}

const RENAME: &str = "# Call it total\n\nIt.\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `no such text`, in `src`\n\n## Steps\n\n### it: Rename it\n\n- transform: rename `sum` to `total`\n";

/// An editor that reloads a page when it is told of news finds them there.
#[tokio::test]
async fn whoever_is_told_of_a_state_finds_it_on_the_page() {
    let house = House::new(None).await;
    let mut desks = house.running.handle.desks();
    let person = async {
        let (goal, document) = (goal("Call it total", None), Some(RENAME.to_owned()));
        let reply = house.act(Action::Plan { goal, document }).await.unwrap();
        assert!(house.page(&reply.task).await.contains("**awaiting approval**"));
        let task = || Which::Task(reply.task.clone());
        let revision = house.running.handle.desk().tasks[0].page.as_ref().unwrap().revision.clone();
        house.act(Action::Approve { task: task(), revision, upto: None }).await.unwrap();
        house.act(Action::Run { task: task() }).await.unwrap();
        house.until("reviewable", |seen| seen.state == TaskState::AwaitingReview).await;
        house.act(Action::Accept { task: task(), target: Target::All }).await.unwrap();
    };
    let front_end = async {
        let mut states: Vec<String> = Vec::new();
        loop {
            desks.changed().await.unwrap();
            let desk = desks.borrow_and_update().clone();
            let Some(seen) = desk.tasks.first() else { continue };
            let (words, page) = (seen.state.words(), house.page(&seen.task.id).await);
            assert!(page.contains(&format!("**{words}**")), "{words} is shown, and the page says:\n{page}");
            if states.last() != Some(&words) {
                states.push(words);
            }
            if seen.task.is_over() {
                return states;
            }
        }
    };
    let ((), states) = tokio::join!(person, front_end);
    assert!(states.len() >= 4, "{states:?}");
}

#[tokio::test]
async fn a_disk_that_never_answers_a_write_holds_nobody_up() {
    let house = House::on(None, |workspace| {
        let dead = MemoryStore::new();
        dead.stop_after(0);
        Arc::new(Mortal(workspace, Life { store: dead, reach: true }))
    })
    .await;
    let plan = Action::Plan { goal: goal("Call it total", None), document: None };
    let asking = tokio::time::timeout(Duration::from_secs(20), house.act(plan));
    let reply = asking.await.expect("the act is answered").unwrap();
    assert_eq!(house.running.handle.desk().tasks[0].task.id, reply.task, "whoever is answered sees the task");
    assert_eq!(house.page(&reply.task).await, "");
    tokio::time::timeout(Duration::from_secs(20), house.running.stop()).await.expect("the engine ends");
}
