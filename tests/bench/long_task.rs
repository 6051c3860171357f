//! A task of 2,500 turns and 10,000 events, run by the engine on a real database, against a server on this machine
//! that answers at once: what a turn costs beyond the bare exchange (L3), whether it grows with the journal (L13), and
//! what opening such a task costs (L6).

use crate::harness::{Guide, Row, Samples, in_turn, time};
use crate::project;
use planwright::clock::SystemClock;
use planwright::desk::Query;
use planwright::domain::task::action::{Action, Actor, Goal, Which};
use planwright::domain::task::standing::TaskState;
use planwright::engine::{self, EngineHandle, Limits, Running, World};
use planwright::model::{ModelSettings, OpenAi, ShortMemory};
use planwright::store::Sqlite;
use planwright::syntax::{Index, TreeSitter};
use planwright::testing::memory_arena::MemoryArena;
use planwright::testing::memory_workspace::MemoryWorkspace;
use planwright::testing::script::{Script, Turn};
use planwright::testing::scripted_model::{Request, ScriptedModel};
use planwright::workspace::Buffers;
use rusqlite::Connection;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const STEPS: usize = 100;
/// Of one step; the last one finishes.
const TURNS: usize = 25;
/// Turns that a figure is the median of: the first and the last so many.
const SHOWN: usize = 500;
/// Long before it, a machine that is only slow has come to the end.
const DEADLINE: Duration = Duration::from_secs(300);

pub fn rows() -> Vec<Row> {
    let keep = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let workspace = workspace();
    let server = ScriptedModel::start(Script::by(turn)).unwrap();
    runtime.block_on(run(keep.path(), &workspace, &server));
    let ours = server.calls();
    assert_eq!(ours.len(), STEPS * TURNS, "every turn is one request");
    let echo = ScriptedModel::start(Script::by(turn)).unwrap();
    runtime.block_on(exchange_all(&ours, &echo));
    let floor = echo.calls();
    let turns = |from: usize| Samples { ours: gaps(&ours, from), floor: gaps(&floor, from) };
    let guide = Guide::Beyond(Duration::from_millis(2));
    let against = "reqwest sends the same requests";
    let opened = in_turn(
        15,
        || {
            let (running, took) = runtime.block_on(async {
                let started = std::time::Instant::now();
                let running = open(keep.path(), &workspace, &server).await;
                (running, started.elapsed())
            });
            runtime.block_on(running.stop());
            took
        },
        || time(|| read_all(&keep.path().join("journal.db"))),
    );
    vec![
        Row::of("a turn, the first 500 of a task", against, guide, turns(0)),
        Row::of("a turn, the last 500 of 2,500", against, guide, turns(STEPS * TURNS - SHOWN)),
        Row::of(
            "opening a task of 10,000 events",
            "rusqlite reads the same rows",
            Guide::Within(Duration::from_millis(50)),
            opened,
        ),
    ]
}

/// From one request's arrival to the next: a turn and its answer. Where a step ends and the next begins is no turn.
fn gaps(calls: &[Request], from: usize) -> Vec<Duration> {
    let pairs = calls.windows(2).enumerate().skip(from).take(SHOWN - 1);
    pairs.filter(|(n, _)| n % TURNS != TURNS - 1).map(|(_, pair)| pair[1].at.saturating_sub(pair[0].at)).collect()
}

/// Reads a few other lines at each turn, then finishes.
fn turn(_: &serde_json::Value, n: u32) -> Turn {
    let n = usize::try_from(n).unwrap() % TURNS;
    if n == TURNS - 1 {
        return Turn::call("finish", serde_json::json!({ "summary": "It was read." }));
    }
    let arguments = serde_json::json!({ "path": "src/lib.rs", "from": 1 + n * 3, "to": 8 + n * 3 });
    Turn::call("read", arguments)
}

fn workspace() -> MemoryWorkspace {
    let text = project::source(0);
    MemoryWorkspace::new([("src/lib.rs", text.as_str())])
}

async fn open(folder: &Path, workspace: &MemoryWorkspace, server: &ScriptedModel) -> Running {
    let (store, _) = Sqlite::open(&folder.join("journal.db"), &folder.join("blobs")).unwrap();
    let clock = Arc::new(SystemClock);
    let settings = ModelSettings::at(&server.base_url());
    let world = World {
        store: Arc::new(store),
        workspace: Arc::new(workspace.clone()),
        disk: Arc::new(workspace.clone()),
        documents: Arc::new(Buffers::new()),
        syntax: Arc::new(TreeSitter::with_index(Index::in_memory())),
        model: Arc::new(OpenAi::new(settings, clock.clone(), Arc::new(ShortMemory::default()))),
        arena: Arc::new(MemoryArena::over(&[])),
        clock,
        limits: Limits { turns: u32::try_from(TURNS).unwrap(), ..Limits::default() },
        remarks: Vec::new(),
        sound: engine::Sound::default(),
    };
    engine::start(Arc::new(world)).await.unwrap()
}

async fn run(folder: &Path, workspace: &MemoryWorkspace, server: &ScriptedModel) {
    let running = open(folder, workspace, server).await;
    let handle = &running.handle;
    let goal = Goal { words: "Read it all".to_owned(), place: None, references: Vec::new(), comment: None };
    let reply = act(handle, Action::Plan { goal, document: Some(plan()) }).await;
    let task = Which::Task(reply.clone());
    let revision = handle.desk().tasks[0].page.as_ref().unwrap().revision.clone();
    act(handle, Action::Approve { task: task.clone(), revision, upto: None }).await;
    let mut desks = handle.desks();
    act(handle, Action::Run { task }).await;
    let ended = async {
        loop {
            let state = desks.borrow_and_update().tasks[0].state.clone();
            match state {
                TaskState::Done { .. } => return,
                TaskState::Running | TaskState::Verifying | TaskState::AwaitingReview => {}
                other => panic!("{other:?}: {:?}", handle.desk().answer(&Query::Status { task: Which::TheOnlyOne })),
            }
            desks.changed().await.unwrap();
        }
    };
    tokio::time::timeout(DEADLINE, ended).await.expect("the task ends");
    running.stop().await;
}

async fn act(handle: &EngineHandle, action: Action) -> planwright::domain::ids::TaskId {
    let actor = Actor { user: "bench".to_owned(), client: "bench".to_owned() };
    handle.act(actor, action).await.unwrap_or_else(|refusal| panic!("{refusal:?}")).task
}

fn plan() -> String {
    let mut text = "# Read it all\n\nEvery line.\n\n## Contract\n\n- scope: `src/**`\n\
                    - accept: present: `fn`, in `src`\n- budget: 900000k tokens; 600 min\n\n## Steps\n"
        .to_owned();
    for n in 0..STEPS {
        let _ = write!(text, "\n### look-{n}: Read on\n\n- explore: `src/**`\n\nRead the file in pieces.\n");
    }
    text
}

/// The floor of a turn: the same bodies to the same kind of server, one after the other over one connection.
async fn exchange_all(calls: &[Request], server: &ScriptedModel) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/chat/completions", server.base_url());
    for call in calls {
        client.post(&url).json(&call.body).send().await.unwrap().bytes().await.unwrap();
    }
}

/// The floor of opening.
fn read_all(path: &Path) -> usize {
    let connection = Connection::open(path).unwrap();
    let mut rows = connection.prepare("SELECT seq, at, version, body FROM events ORDER BY task, seq").unwrap();
    let read = rows.query_map([], |row| row.get::<_, String>(3)).unwrap();
    let bodies: Vec<String> = read.map(Result::unwrap).collect();
    assert!(bodies.len() >= 10_000, "only {} events", bodies.len());
    bodies.len()
}
