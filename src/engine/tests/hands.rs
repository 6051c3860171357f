//! The person's hands in the files and in the review while steps are at work.
//!
//! The world is in memory; a command does what the person does meanwhile, so that nothing depends on time.

use crate::desk::Dossier;
use crate::domain::change::{Entry, HunkState};
use crate::domain::ids::{StepId, WorkspacePath};
use crate::domain::task::action::*;
use crate::domain::task::event::{Ask, Ending};
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::Gate;
use crate::engine::{Buffered, EngineHandle, Limits, Running, World, start};
use crate::ports::{Documents, Workspace};
use crate::syntax::{Index, TreeSitter};
use crate::testing::MemoryStore;
use crate::testing::clock::ManualClock;
use crate::testing::memory_arena::{Answer, MemoryArena, Tree};
use crate::testing::memory_documents::MemoryDocuments;
use crate::testing::memory_model::MemoryModel;
use crate::testing::memory_workspace::MemoryWorkspace;
use crate::testing::script::{Script, Turn};
use serde_json::json;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

pub(super) const LIST: &str = "one\na\nb\nc\ntwo\nd\ne\nf\nthree\n";

pub(super) fn at() -> WorkspacePath {
    WorkspacePath::new("src/list.txt").unwrap()
}

pub(super) fn file(text: &str) -> Entry {
    Entry::File { text: text.into(), mode: 0o644 }
}

/// A plan of `run` steps that write the list, each with the settings given.
pub(super) fn plan(steps: &[(&str, &str)]) -> String {
    let mut text = "# Raise the list\n\nAs the plan words it.\n\n## Contract\n\n- scope: `src/**`\n- accept: `tools/accept`\n\n## Steps\n".to_owned();
    for (id, settings) in steps {
        text.push_str(&format!("\n### {id}: Step {id}\n\n{settings}"));
    }
    text
}

pub(super) struct Hands {
    pub(super) workspace: MemoryWorkspace,
    pub(super) documents: MemoryDocuments,
    pub(super) arena: MemoryArena,
    pub(super) model: MemoryModel,
    pub(super) store: MemoryStore,
    /// What is not allowed when it asks.
    pub(super) denies: Option<&'static str>,
    running: Option<Running>,
    /// What the engine of the moment works with.
    world: Weak<World>,
}

impl Hands {
    pub(super) async fn new(plan: String, script: Script) -> Hands {
        let workspace = MemoryWorkspace::new([("src/list.txt", LIST)]);
        let disk = workspace.clone();
        let arena = MemoryArena::new(move || Tree::from([(at(), disk.entry(&at()))]));
        arena.answers("tools/accept", Answer::exit(0, "fine\n"));
        arena.answers("tools/check", Answer::exit(0, "fine\n"));
        let model = MemoryModel::new(script);
        let (documents, store) = (MemoryDocuments::new(), MemoryStore::new());
        let mut hands =
            Hands { workspace, documents, arena, model, store, denies: None, running: None, world: Weak::new() };
        hands.start().await;
        let goal =
            Goal { words: "What the person typed".to_owned(), place: None, references: Vec::new(), comment: None };
        hands.act(Action::Plan { goal, document: Some(plan) }).await;
        hands
    }

    fn world(&self) -> World {
        let disk: Arc<dyn Workspace> = Arc::new(self.workspace.clone());
        let documents: Arc<dyn Documents> = Arc::new(self.documents.clone());
        World {
            store: Arc::new(self.store.clone()),
            workspace: Arc::new(Buffered::new(disk.clone(), documents.clone())),
            disk,
            documents,
            syntax: Arc::new(TreeSitter::with_index(Index::in_memory())),
            model: Arc::new(self.model.clone()),
            arena: Arc::new(self.arena.clone()),
            clock: Arc::new(ManualClock::new().auto_advance(Duration::from_secs(600))),
            limits: Limits::default(),
            remarks: Vec::new(),
            sound: crate::engine::Sound::default(),
        }
    }

    /// The process ends.
    pub(super) async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }

    /// The process dies and another opens the workspace; the editor lives on.
    pub(super) async fn restart(&mut self) {
        self.stop().await;
        self.store = self.store.reopen();
        self.start().await;
    }

    async fn start(&mut self) {
        let world = Arc::new(self.world());
        self.world = Arc::downgrade(&world);
        self.running = Some(start(world).await.unwrap());
    }

    /// What stands in for a document while it has errors.
    pub(super) fn sound(&self, path: &WorkspacePath) -> Option<Entry> {
        self.world.upgrade()?.sound.at(path)
    }

    fn handle(&self) -> EngineHandle {
        self.running.as_ref().unwrap().handle.clone()
    }

    /// Lines of progress from now on.
    pub(super) fn updates(&self) -> tokio::sync::broadcast::Receiver<crate::engine::Update> {
        self.handle().updates()
    }

    /// The only task as the desk shows it.
    pub(super) fn seen(&self) -> Arc<Dossier> {
        self.handle().desk().tasks[0].clone()
    }

    /// What a command finds at a place, each time it runs.
    pub(super) fn sees_at(&self, command: &str, path: &WorkspacePath) -> Arc<Mutex<Vec<String>>> {
        let (seen, path) = (Arc::<Mutex<Vec<String>>>::default(), path.clone());
        let kept = seen.clone();
        self.arena.on(command, move |_, tree| {
            let text = tree.get(&path).map(|entry| entry.text().to_owned()).unwrap_or_default();
            kept.lock().unwrap().push(text);
            Ok(Answer::exit(0, "fine\n"))
        });
        seen
    }

    /// `tools/<name>` makes these files.
    pub(super) fn makes(&self, name: &str, paths: Vec<WorkspacePath>) {
        self.arena.on(&format!("tools/{name}"), move |_, _| {
            let answer = Answer::exit(0, "made\n");
            Ok(paths.iter().fold(answer, |answer, path| answer.writes(path.clone(), "made\n")))
        });
    }

    /// What it finds in the list.
    pub(super) fn sees(&self, command: &str) -> Arc<Mutex<Vec<String>>> {
        self.sees_at(command, &at())
    }

    /// `tools/<name>` puts one word of the list in place of another, after the person has saved that text.
    pub(super) fn replaces(&self, name: &str, from: &'static str, to: &'static str, saved: Option<&'static str>) {
        let disk = self.workspace.clone();
        self.arena.on(&format!("tools/{name}"), move |_, tree| {
            let text = tree.get(&at()).map(|entry| entry.text().replace(from, to)).unwrap_or_default();
            if let Some(saved) = saved {
                disk.change_behind(&at(), file(saved));
            }
            Ok(Answer::exit(0, "done\n").writes(at(), &text))
        });
    }

    pub(super) async fn act(&self, action: Action) {
        self.ask(action).await.unwrap();
    }

    pub(super) async fn ask(&self, action: Action) -> Result<Reply, Refusal> {
        self.asking(action).await
    }

    /// The same as a future of its own.
    pub(super) fn asking(&self, action: Action) -> impl Future<Output = Result<Reply, Refusal>> + use<> {
        let (handle, person) = (self.handle(), Actor { user: "ada".to_owned(), client: "terminal".to_owned() });
        async move { handle.act(person, action).await }
    }

    /// Approves and runs, allowing each command but one that is denied, until the task is as wanted.
    pub(super) async fn run(&self, upto: Option<&str>, wanted: impl Fn(&Dossier) -> bool) -> Arc<Dossier> {
        let task = Which::TheOnlyOne;
        let seen = self.until(|seen| seen.page.is_some()).await;
        let revision = seen.page.as_ref().unwrap().revision.clone();
        self.act(Action::Approve { task: task.clone(), revision, upto: upto.map(StepId::new) }).await;
        self.act(Action::Resume { task }).await;
        self.until(wanted).await
    }

    pub(super) async fn until(&self, wanted: impl Fn(&Dossier) -> bool) -> Arc<Dossier> {
        let mut desks = self.handle().desks();
        let waiting = async {
            loop {
                let seen = desks.borrow_and_update().tasks.first().cloned().unwrap();
                let command = |gate: &Gate| match &gate.ask {
                    Ask::Command { command, .. } if self.denies.is_some_and(|line| command.argv.join(" ") == line) => {
                        Some((gate.id.clone(), GateAnswer::Deny, Some("it takes too long".to_owned())))
                    }
                    Ask::Command { outside: true, .. } => Some((gate.id.clone(), GateAnswer::Allow, None)),
                    Ask::Command { outside: false, .. } => Some((gate.id.clone(), GateAnswer::AllowForPlan, None)),
                    _ => None,
                };
                if let Some((gate, answer, comment)) = seen.task.open_gates().find_map(command) {
                    let task = Which::Task(seen.task.id.clone());
                    self.act(Action::Gate { task, gate: Some(gate), answer, comment }).await;
                } else if wanted(&seen) {
                    return seen;
                } else {
                    desks.changed().await.unwrap();
                }
            }
        };
        let came = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        came.unwrap_or_else(|_| {
            let desk = self.handle().desk();
            panic!(
                "nothing goes on: {:?}",
                desk.tasks.iter().map(|seen| (&seen.state, &seen.steps)).collect::<Vec<_>>()
            )
        })
    }

    pub(super) fn text(&self) -> String {
        self.workspace.entry(&at()).text().to_owned()
    }
}

/// For plans without a model.
pub(super) fn silent() -> Script {
    Script::by(|_, _| Turn::text(""))
}

pub(super) fn hunks(seen: &Dossier) -> Vec<(String, HunkState)> {
    let change = |old: &str, new: &str| format!("{}→{}", old.trim(), new.trim());
    seen.hunks.iter().map(|hunk| (change(&hunk.old, &hunk.new), hunk.state)).collect()
}

pub(super) fn reviewable(seen: &Dossier) -> bool {
    seen.state == TaskState::AwaitingReview
}

pub(super) const RAISE: &str = "- run: `tools/raise`\n- write: `src/**`\n- effect: repeatable\n";
pub(super) const LOWER: &str = "- run: `tools/lower`\n- write: `src/**`\n- effect: repeatable\n";

#[tokio::test]
async fn a_save_during_a_command_is_no_part_of_its_hunks() {
    let hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
    let saved = "one\na\nb\nc\ntwo\nd\ne\nf\nTHREE\n";
    hands.replaces("raise", "one", "1", Some(saved));
    let seen = hands.run(None, reviewable).await;
    assert_eq!(hunks(&seen), [("one→1".to_owned(), HunkState::Open)]);
    hands.act(Action::Accept { task: Which::TheOnlyOne, target: Target::All }).await;
    assert_eq!(hands.text(), saved.replace("one", "1"));
}

#[tokio::test]
async fn a_file_that_a_command_wrote_and_nobody_can_read_fails_the_step() {
    let hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
    hands.replaces("raise", "one", "1", None);
    hands.workspace.refuse_read(&at(), crate::ports::ReadRefusal::NotUtf8(at()));
    let seen = hands.run(None, |seen| seen.steps.iter().any(|(_, words)| words.starts_with("failed"))).await;
    assert_eq!(
        seen.steps[0].1,
        "failed (conflict): src/list.txt is not UTF-8 text; planwright changes only UTF-8 files"
    );
    assert!(seen.hunks.is_empty());
}

/// The acceptance check is a program of the workspace, which a step may have changed.
#[tokio::test]
async fn where_commands_are_isolated_only_a_risky_one_asks() {
    for (isolated, gates) in [(false, 3), (true, 1)] {
        let settings = "- run: `cargo fmt`\n- write: `src/**`\n- effect: repeatable\n- check: `cargo test`\n";
        let hands = Hands::new(plan(&[("raise", settings)]), silent()).await;
        hands.arena.answers("cargo fmt", Answer::exit(0, "").writes(at(), &LIST.replace("one", "1")));
        hands.arena.answers("cargo test", Answer::exit(0, ""));
        if isolated {
            hands.arena.isolates();
        }
        let seen = hands.run(None, reviewable).await;
        assert_eq!(hunks(&seen), [("one→1".to_owned(), HunkState::Open)]);
        assert_eq!(seen.task.gates_opened, gates, "isolated: {isolated}");
        // Once before any change, where nobody is asked for it.
        let tests = 1 + usize::from(isolated);
        assert_eq!(["cargo fmt", "cargo test", "tools/accept"].map(|line| hands.arena.runs(line)), [1, tests, 1]);
    }
}

#[tokio::test]
async fn a_view_without_the_change_gives_no_verdict() {
    let checked = format!("{RAISE}- check: `tools/check`\n");
    let hands = Hands::new(plan(&[("raise", &checked)]), silent()).await;
    hands.replaces("raise", "one", "1", Some("ein\na\nb\nc\ntwo\nd\ne\nf\nthree\n"));
    let seen = hands.run(None, |seen| seen.steps.iter().any(|(_, words)| words.starts_with("blocked"))).await;
    let hunk = seen.hunks[0].id.clone();
    assert_eq!(hunks(&seen), [("one→1".to_owned(), HunkState::Touched)]);
    let why = format!("`tools/check`: {hunk} no longer fits the text; settle it first");
    assert_eq!(seen.steps[0].1, format!("blocked (conflict): {why}"));
    assert_eq!(hands.arena.runs("tools/check"), 0);
}

/// The first step's hunk is accepted before the second step changes the same file.
async fn superseded() -> Hands {
    let hands = Hands::new(plan(&[("raise", RAISE), ("lower", LOWER)]), silent()).await;
    hands.replaces("raise", "one", "1", None);
    hands.replaces("lower", "three", "3", None);
    let pending = |seen: &Dossier| seen.hunks.iter().any(|hunk| hunk.pending);
    hands.run(Some("raise"), pending).await;
    hands.act(Action::Accept { task: Which::TheOnlyOne, target: Target::All }).await;
    let seen = hands.run(None, |seen| reviewable(seen) && pending(seen)).await;
    let both = [("three→3".to_owned(), HunkState::Open), ("one→1".to_owned(), HunkState::Accepted)];
    assert_eq!(hunks(&seen), both);
    hands
}

#[tokio::test]
async fn a_task_that_keeps_only_a_superseded_hunk_has_kept_something() {
    let hands = superseded().await;
    let target = Target::Step(StepId::new("lower"));
    hands.act(Action::Reject { task: Which::TheOnlyOne, target, reason: None }).await;
    let seen = hands.until(|seen| seen.task.is_over()).await;
    assert_eq!(seen.state, TaskState::Done { ending: Ending::Verified });
    assert_eq!(hands.text(), LIST.replace("one", "1"));
}

#[tokio::test]
async fn a_superseded_hunk_can_be_taken_back() {
    let hands = superseded().await;
    let target = Target::Step(StepId::new("raise"));
    hands.act(Action::Undo { task: Which::TheOnlyOne, target }).await;
    assert_eq!(hands.text(), LIST);
    let seen = hands.until(reviewable).await;
    assert_eq!(hunks(&seen), [("three→3".to_owned(), HunkState::Open)]);
}

/// A model that raises the list, once it has done this.
pub(super) fn raising_after(first: Option<Turn>) -> Script {
    let pair = json!({ "search": "one", "replace": "1" });
    let raise = [
        Turn::call("replace", json!({ "path": "src/list.txt", "pairs": [pair] })),
        Turn::call("finish", json!({ "summary": "raised" })),
    ];
    Script::when("As the plan words it.", first.into_iter().chain(raise))
}

/// A model that raises the list.
pub(super) fn raising() -> Script {
    raising_after(None)
}

#[tokio::test]
async fn a_model_is_told_the_goal_that_was_approved() {
    let hands = Hands::new(plan(&[("raise", "- edit: `src/list.txt`\n")]), raising()).await;
    hands.run(None, reviewable).await;
    let asked = format!("{:?}", hands.model.requests());
    assert!(asked.contains("As the plan words it.") && !asked.contains("What the person typed"), "{asked}");
}

#[tokio::test]
async fn a_stop_rule_counts_what_the_step_itself_used() {
    let stop = plan(&[("raise", "- edit: `src/list.txt`\n")]).replace("- accept", "- stop: tokens > 10\n- accept");
    let hands = Hands::new(stop, raising()).await;
    let asked = |seen: &Dossier| seen.task.open_gates().find(|gate| matches!(gate.ask, Ask::Exceeds { .. })).cloned();
    let seen = hands.run(None, |seen| asked(seen).is_some()).await;
    let gate = asked(&seen).unwrap();
    assert!(matches!(&gate.ask, Ask::Exceeds { reason } if reason.contains("above 10 tokens")), "{gate:?}");
    // Going through the step again after the answer meets the same numbers and does not ask again.
    let (task, answer) = (Which::TheOnlyOne, GateAnswer::Allow);
    hands.act(Action::Gate { task, gate: Some(gate.id), answer, comment: None }).await;
    assert_eq!(hands.until(reviewable).await.task.gates_opened, seen.task.gates_opened + 1);
}
