//! A task from its goal to its end, with the world it works in and the person who carries it on.
//!
//! The world outlives every life; the person acts on what the desk shows and on nothing else, as one at a terminal
//! would, so that the same person can go on after a crash.

use super::mortal::{Life, Mortal, Versioned};
use crate::desk::{Desk, Dossier};
use crate::domain::change::HunkState;
use crate::domain::ids::{EffectId, TaskId, WorkspacePath};
use crate::domain::task::action::*;
use crate::domain::task::event::{Ask, Event, Recorded};
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::{Gate, ProgressState, StepState, Task};
use crate::engine::{EngineHandle, Limits, World, start};
use crate::syntax::{Index, TreeSitter};
use crate::testing::MemoryStore;
use crate::testing::clock::ManualClock;
use crate::testing::memory_arena::{Answer, MemoryArena};
use crate::testing::memory_documents::MemoryDocuments;
use crate::testing::memory_model::MemoryModel;
use crate::testing::memory_workspace::MemoryWorkspace;
use crate::testing::projection::projection;
use crate::testing::script::{Script, Turn};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const LIB: &str = "pub mod shop;\n\npub fn total(xs: &[u32]) -> u32 {\n    xs.iter().sum()\n}\n";
const SHOP: &str = "use crate::total;\n\npub fn bill(xs: &[u32]) -> String {\n    format!(\"{}\", total(xs))\n}\n\npub fn empty() -> String {\n    format!(\"{}\", total(&[]))\n}\n";
const NOTES: &str = "pub fn notes() -> &'static str {\n    \"none\"\n}\n";

/// Every kind of step, with a repair round, all shapes of commands, and gates.
pub(super) const PLAN: &str = "# Rename total

A better name, told to everybody.

## Contract

- scope: `src/**`
- accept: `tools/accept`; absent: `\\btotal\\b`, in `src`

## Steps

### notes: Say something in the notes

- edit: `src/notes.rs` (focus `notes`)
- check: `tools/check`
- repair: 2

### rename: Rename total

- transform: rename `total` to `sum_of`
- write: `src/**`

### made: Make the table

- run: `tools/make`
- write: `src/made.rs`
- effect: repeatable

### tally: Count the change

- run: `tools/tally`

### tell: Tell the others

- run: `tools/tell --all`
- effect: outside
- probe: `tools/tell --was-sent`

### post: Post it

- run: `tools/post`
- effect: outside

### look: Is it right?

- ask: anyone

### verify: Verify it

- check: `tools/verify`
";

/// Commands beside each other, two at a time.
pub(super) const PARALLEL: &str = "# Tell everybody

At once.

## Contract

- scope: `src/**`
- accept: `tools/accept`

## Steps

### tally: Count the change

- run: `tools/tally`

### tell: Tell the others

- run: `tools/tell --all`
- after: none
- effect: outside
- probe: `tools/tell --was-sent`

### post: Post it

- run: `tools/post`
- after: none
- effect: outside

### made: Make the table

- run: `tools/make`
- after: none
- write: `src/made.rs`
- effect: repeatable
";

/// Checks that nobody is asked for where commands are isolated; one of them fails before any change.
pub(super) const CAGED: &str = "# Make the table

And count it.

## Contract

- scope: `src/**`
- accept: `cargo test`

## Steps

### made: Make the table

- run: `tools/make`
- write: `src/made.rs`
- effect: repeatable
- check: `cargo test`
- check: `cargo check`
";

/// What a planner answers when the task comes without a plan: first one that does not compile.
fn planner(after: &str) -> Turn {
    let rename = json!({
        "id": "rename", "title": "Rename total", "kind": "transform", "files": [], "command": "",
        "rule": "rename `total` to `sum_of`", "after": [after], "check": "", "instruction": "",
    });
    let plan = json!({
        "title": "Rename total", "scope": ["src/**"], "accept": ["tools/accept"], "steps": [rename],
        "assumptions": [], "questions": [], "advice": [],
    });
    Turn::text(&plan.to_string())
}

/// The world that outlives a process.
pub(super) struct Scene {
    pub(super) workspace: MemoryWorkspace,
    pub(super) arena: MemoryArena,
    pub(super) model: MemoryModel,
    pub(super) store: MemoryStore,
    clock: ManualClock,
    /// The plan that comes with the goal.
    document: Option<&'static str>,
    /// Ambiguous effects that a person was asked about.
    pub(super) doubts: BTreeSet<EffectId>,
    /// The person allows the count for the whole plan, and says "stop" where a crash left doubt.
    pub(super) wary: bool,
    /// The person takes the post over in the next life, if a crash left it under way, and then has it tried again.
    pub(super) takes_over: bool,
    /// The store of this life fails once and is mended; the person then says `resume` to the same process.
    pub(super) mended: bool,
    /// Another grammar than the release's own.
    pub(super) grammar: Option<&'static str>,
    /// The task's state as the last life's desk showed it.
    seen: Option<Task>,
}

/// How a life ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Died,
    Finished,
}

fn path(path: &str) -> WorkspacePath {
    WorkspacePath::new(path).unwrap()
}

fn script() -> Script {
    let replace = |search: &str, replace: &str| {
        let pair = json!({ "search": search, "replace": replace });
        Turn::call("replace", json!({ "path": "src/notes.rs", "pairs": [pair] }))
    };
    let finish = || Turn::call("finish", json!({ "summary": "the notes say something" }));
    Script::when(
        "Say something in the notes",
        [
            Turn::call("outline", json!({ "path": "src/notes.rs" })),
            replace("\"none\"", "\"BROKEN\""),
            finish(),
            replace("\"BROKEN\"", "\"everything\""),
            finish(),
        ],
    )
    .or_when("", [planner("nothing"), planner("none")])
}

impl Scene {
    pub(super) fn new(document: Option<&'static str>) -> Scene {
        let files = [("src/lib.rs", LIB), ("src/shop.rs", SHOP), ("src/notes.rs", NOTES)];
        let workspace = MemoryWorkspace::new(files);
        let disk = workspace.clone();
        let arena = MemoryArena::new(move || {
            let all = ["src/lib.rs", "src/shop.rs", "src/notes.rs", "src/made.rs"].map(path);
            let there = all.into_iter().map(|path| (path.clone(), disk.entry(&path)));
            there.filter(|(_, entry)| *entry != crate::domain::change::Entry::Absent).collect()
        });
        arena.on("tools/check", |_, tree| {
            let broken = tree.get(&path("src/notes.rs")).is_some_and(|entry| entry.text().contains("BROKEN"));
            Ok(if broken { Answer::exit(1, "error: the notes are BROKEN\n") } else { Answer::exit(0, "fine\n") })
        });
        arena.answers("tools/make", Answer::exit(0, "made\n").writes(path("src/made.rs"), "pub const MADE: u8 = 1;\n"));
        for command in ["tools/tally", "tools/post", "tools/verify", "tools/accept"] {
            arena.answers(command, Answer::exit(0, "counted\n"));
        }
        if document == Some(CAGED) {
            arena.isolates();
        }
        arena.answers("cargo check", Answer::exit(0, "fine\n"));
        arena.answers("cargo test", Answer::exit(101, "test old ... FAILED\nerror: 1 target failed:\n"));
        arena.answers("tools/tell --all", Answer::exit(0, "told\n"));
        let told = arena.clone();
        arena.on("tools/tell --was-sent", move |_, _| {
            let sent = told.log().iter().any(|run| run.finished && run.words.join(" ") == "tools/tell --all");
            Ok(Answer::exit(i32::from(!sent), ""))
        });
        Scene {
            workspace,
            arena,
            model: MemoryModel::new(script()),
            store: MemoryStore::new(),
            clock: ManualClock::new().auto_advance(Duration::from_secs(600)),
            document,
            doubts: BTreeSet::new(),
            wary: false,
            takes_over: false,
            mended: false,
            grammar: None,
            seen: None,
        }
    }

    /// One life of a process, up to the store's end or the task's. With `stop` the store takes so many events and no
    /// more; see [`Life`] for `reach`.
    pub(super) async fn live(&mut self, stop: Option<u64>, reach: bool) -> End {
        self.store = self.store.reopen();
        if let Some(events) = stop {
            self.store.stop_after(events);
        }
        let life = Life { store: self.store.clone(), reach };
        let running = start(Arc::new(self.world(&life))).await.unwrap();
        let deadline = Duration::from_secs(20);
        let end = tokio::time::timeout(deadline, self.carry_on(&running.handle, &life)).await;
        let seen = running.handle.desk();
        self.seen = seen.tasks.first().map(|seen| Task::clone(&seen.task));
        running.stop().await;
        end.unwrap_or_else(|_| panic!("nothing goes on after {} events: {:?}", self.store.event_count(), shown(&seen)))
    }

    /// What is seen of the tasks by a process that only opens the workspace.
    pub(super) async fn look(&mut self) -> Arc<Desk> {
        self.store = self.store.reopen();
        let life = Life { store: self.store.clone(), reach: true };
        let running = start(Arc::new(self.world(&life))).await.unwrap();
        let desk = running.handle.desk();
        running.stop().await;
        desk
    }

    fn world(&self, life: &Life) -> World {
        let index = Index::in_memory();
        for (at, text) in [("src/lib.rs", LIB), ("src/shop.rs", SHOP), ("src/notes.rs", NOTES)] {
            index.update(&path(at), Some(text));
        }
        World {
            store: Arc::new(self.store.clone()),
            workspace: Arc::new(Mortal(self.workspace.clone(), life.clone())),
            disk: Arc::new(Mortal(self.workspace.clone(), life.clone())),
            documents: Arc::new(MemoryDocuments::new()),
            syntax: Arc::new(Versioned(TreeSitter::with_index(index), self.grammar)),
            model: Arc::new(Mortal(self.model.clone(), life.clone())),
            arena: Arc::new(Mortal(self.arena.clone(), life.clone())),
            clock: Arc::new(self.clock.clone()),
            limits: Limits::default(),
            remarks: Vec::new(),
            sound: crate::engine::Sound::default(),
        }
    }

    async fn carry_on(&mut self, handle: &EngineHandle, life: &Life) -> End {
        let mut desks = handle.desks();
        let mut told = false;
        let mut decided = 0;
        loop {
            if life.is_over() {
                if !std::mem::take(&mut self.mended) {
                    return End::Died;
                }
                life.store.stop_after(u64::MAX);
                let person = Actor { user: "ada".to_owned(), client: "terminal".to_owned() };
                handle.act(person, Action::Resume { task: Which::TheOnlyOne }).await.unwrap();
            }
            let desk = desks.borrow_and_update().clone();
            let wish = match self.wish(&desk, &mut told, &mut decided) {
                Wish::Nothing => {
                    desks.changed().await.unwrap();
                    continue;
                }
                Wish::Over => return End::Finished,
                Wish::Act(action) => action,
            };
            let person = Actor { user: "ada".to_owned(), client: "terminal".to_owned() };
            // Whoever asks a process that dies in the act gets no answer.
            let result = tokio::select! {
                result = handle.act(person, wish.clone()) => result,
                () = over(handle.desks(), life) => continue,
            };
            if let Err(refusal) = result {
                assert!(life.store.refused(), "{wish:?} was refused: {refusal:?}\n{:?}", shown(&handle.desk()));
            }
        }
    }

    /// What the person wants next, from what they see. A gate is answered once for each time it was opened.
    fn wish(&mut self, desk: &Desk, told: &mut bool, decided: &mut u64) -> Wish {
        let Some(seen) = desk.tasks.first() else {
            let goal = Goal { words: "Rename total".to_owned(), place: None, references: Vec::new(), comment: None };
            return Wish::Act(Action::Plan { goal, document: self.document.map(str::to_owned) });
        };
        let task = Which::TheOnlyOne;
        let blocked = matches!(seen.state, TaskState::Blocked { .. }) && seen.task.open_gates().next().is_none();
        if seen.task.is_over() || (self.wary && blocked) {
            return Wish::Over;
        }
        if seen.task.approval.is_none() {
            return match (&seen.state, &seen.page) {
                (TaskState::AwaitingApproval, Some(page)) => {
                    let revision = page.revision.clone();
                    Wish::Act(Action::Approve { task, revision, upto: None })
                }
                (TaskState::Planning, _) if !*told => {
                    *told = true;
                    Wish::Act(Action::Resume { task })
                }
                _ => Wish::Nothing,
            };
        }
        if let Some(post) = seen.task.steps.iter().find(|run| run.id.as_str() == "post") {
            let step = post.id.clone();
            if post.state == StepState::TakenOver {
                return Wish::Act(Action::Retry { task, step: Some(step) });
            }
            if self.takes_over && post.state.is_under_way() && *decided == 0 {
                self.takes_over = false;
                return Wish::Act(Action::TakeOver { task, step });
            }
        }
        let approved = seen.task.approval.as_ref().is_some_and(|approval| *decided < approval.seq);
        if approved {
            *decided = seen.task.seq;
            return Wish::Act(Action::Resume { task });
        }
        if let Some(gate) = seen.task.open_gates().next() {
            return Wish::Act(self.answer(gate));
        }
        self.review(seen).map_or(Wish::Nothing, Wish::Act)
    }

    fn answer(&mut self, gate: &Gate) -> Action {
        let (answer, comment) = match &gate.ask {
            Ask::Ambiguous { effect, .. } => {
                self.doubts.insert(effect.clone());
                if self.wary {
                    return Action::Gate {
                        task: Which::TheOnlyOne,
                        gate: Some(gate.id.clone()),
                        answer: GateAnswer::Deny,
                        comment: None,
                    };
                }
                let happened = self.arena.log().iter().any(|run| &run.effect == effect && run.finished);
                (if happened { GateAnswer::Happened } else { GateAnswer::Allow }, None)
            }
            Ask::Command { command, .. } if command.argv.iter().any(|word| word == "tools/check") => {
                (GateAnswer::AllowForPlan, None)
            }
            Ask::Command { outside: false, .. } if self.wary => (GateAnswer::AllowForPlan, None),
            Ask::Command { .. } => (GateAnswer::Allow, None),
            Ask::Person { .. } => (GateAnswer::Allow, Some("it is".to_owned())),
            Ask::Changed { .. } | Ask::Exceeds { .. } | Ask::Failed { .. } | Ask::Question { .. } => {
                panic!("nobody should have asked: {gate:?}")
            }
        };
        Action::Gate { task: Which::TheOnlyOne, gate: Some(gate.id.clone()), answer, comment }
    }

    /// The rename is accepted, what was made is rejected, then the rest is accepted, once the checks have had their
    /// say.
    fn review(&self, seen: &Dossier) -> Option<Action> {
        let judged = match seen.task.acceptance.state {
            ProgressState::Done { .. } | ProgressState::Failed { .. } => true,
            ProgressState::Idle => !seen.task.decisions.is_empty(),
            ProgressState::Running | ProgressState::AtGate(_) => false,
        };
        if seen.state != TaskState::AwaitingReview || !judged {
            return None;
        }
        let pending = || seen.hunks.iter().filter(|hunk| hunk.pending);
        assert!(pending().all(|hunk| hunk.state == HunkState::Open), "{:?}", seen.hunks);
        let task = Which::TheOnlyOne;
        if let Some(hunk) = pending().find(|hunk| hunk.step.as_str() == "rename") {
            return Some(Action::Accept { task, target: crate::domain::task::action::Target::Step(hunk.step.clone()) });
        }
        if let Some(hunk) = pending().find(|hunk| hunk.path.as_str() == "src/made.rs") {
            let target = Target::Hunks(vec![hunk.id.clone()]);
            return Some(Action::Reject { task, target, reason: Some("not needed".to_owned()) });
        }
        pending().next().map(|_| Action::Accept { task, target: Target::All })
    }

    /// The journal of the only task.
    pub(super) async fn journal(&self) -> Vec<Event> {
        use crate::ports::Store;
        let tasks = self.store.tasks().await.unwrap();
        let mut events = Vec::new();
        for task in tasks {
            events.extend(self.store.events(&task, 0).await.unwrap().into_iter().map(|recorded| recorded.event));
        }
        events
    }

    /// The only task with its whole journal and the state that the last life held.
    pub(super) async fn told(&self) -> (TaskId, Vec<Recorded>, Task) {
        use crate::ports::Store;
        let task = self.store.tasks().await.unwrap().remove(0);
        let journal = self.store.events(&task, 0).await.unwrap();
        (task, journal, self.seen.clone().unwrap())
    }

    /// Its projection.
    pub(super) async fn projection(&self) -> String {
        projection(&self.journal().await)
    }

    /// The user's files.
    pub(super) fn files(&self) -> String {
        ["src/lib.rs", "src/shop.rs", "src/notes.rs", "src/made.rs"]
            .map(|at| format!("//- {at}\n{}", self.workspace.entry(&path(at)).text()))
            .concat()
    }
}

/// Comes back when the life is over.
async fn over(mut desks: tokio::sync::watch::Receiver<Arc<Desk>>, life: &Life) {
    while !life.is_over() {
        desks.changed().await.unwrap();
    }
}

enum Wish {
    Nothing,
    Act(Action),
    Over,
}

/// What a failed test wants to see.
fn shown(desk: &Desk) -> Vec<String> {
    let tail = |seen: &Arc<Dossier>| {
        let tail: Vec<Event> = seen.journal.iter().rev().take(6).map(|recorded| recorded.event.clone()).collect();
        format!("{:?} {:?} {tail:?}", seen.state, seen.steps)
    };
    desk.tasks.iter().map(tail).collect()
}
