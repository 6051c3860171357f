//! Hunks of a file of 10,000 lines on their way to the screen after a keystroke (L7): the text and its spots taken in,
//! each hunk's diagnostic made anew in the client's columns, and compared with what was sent.

use crate::harness::{Guide, Row, in_turn, time};
use planwright::desk::{Desk, Dossier, ReviewHunk};
use planwright::domain::change::{Entry, FileChange, HunkState, file_change};
use planwright::domain::ids::{ContentHash, StepId, TaskId, Time, TraceId, WorkspacePath};
use planwright::domain::problem::Replacement;
use planwright::domain::task::action::{Actor, Goal};
use planwright::domain::task::event::{Event, Recorded};
use planwright::domain::task::evolve::replay;
use planwright::domain::task::facts::Binding;
use planwright::domain::task::standing::TaskState;
use planwright::domain::text::{Encoding, lines};
use planwright::lsp::views::Section;
use planwright::lsp::views::menu::{self, Here};
use planwright::lsp::views::{OfSession, hunks, sheets::Sheets};
use planwright::ports::{DocumentChange, DocumentEvent, Documents, Editor, EditorFault, EditorOrder, Fut};
use planwright::workspace::Buffers;
use std::sync::Arc;
use std::time::Duration;
use tower_lsp::lsp_types::{Position, Range};

const LINES: usize = 10_000;
const HUNKS: usize = 50;
/// In one file: one line in four, or they would be one hunk.
const MANY: usize = 3_400;
const ROUNDS: usize = 21;
const KEYSTROKE: Guide = Guide::Within(Duration::from_millis(10));

pub fn rows() -> Vec<Row> {
    let before: String = (0..LINES).map(|n| format!("    line_{n}(😀);\n")).collect();
    let changed = |n: usize| n % (LINES / HUNKS) == 7;
    let line = |(n, line): (usize, &str)| if changed(n) { format!("    changed({n});\n") } else { line.to_owned() };
    let after: String = lines(&before).into_iter().enumerate().map(line).collect();
    let path = WorkspacePath::new("src/long.rs").unwrap();
    let entry = |text: &str| Entry::File { text: Arc::from(text), mode: 0o644 };
    let change = file_change(path.clone(), &entry(&before), &entry(&after), &StepId::new("s"), None);
    assert_eq!(change.hunks.len(), HUNKS);
    let desk = desk(change.clone());
    let documents = Buffers::new();
    let session = documents.begin("bench", Arc::new(Nobody));
    documents.tell(session, DocumentEvent::Opened { path: path.clone(), version: 0, text: Arc::from(before.as_str()) });
    documents.watch(&path, &[Arc::new(change)]);
    let texts = OfSession { documents: &documents, session: Some(session) };
    let mut sheets = Sheets::default();
    let at = before.find("line_5003").unwrap();
    let mut version = 0;
    let mut shown = || {
        version += 1;
        let edit = DocumentChange::Edit(Replacement { range: at..at, text: "x\n".to_owned() });
        time(|| {
            documents.tell(session, DocumentEvent::Changed { path: path.clone(), version, changes: vec![edit] });
            let said = hunks::diagnostics(&hunks::placed(&desk, &path, &texts, Encoding::Utf16));
            assert_eq!(said.len(), HUNKS);
            sheets.put(&path, Section::Hunks, said);
            sheets.touch(&path);
            let uri = tower_lsp::lsp_types::Url::parse("file:///w/src/long.rs").unwrap();
            let sent = sheets.differences(|_| Some((uri.clone(), Some(version))));
            assert_eq!(sent.len(), 1);
            serde_json::to_vec(&sent).unwrap()
        })
    };
    shown();
    vec![
        Row::of(
            "hunks of 10,000 lines: on their way to the screen after a keystroke",
            "the text copied, its lines counted",
            KEYSTROKE,
            in_turn(ROUNDS, shown, || time(|| (before.clone(), lines(&before).len()))),
        ),
        menu(),
    ]
}

/// What can be done at one hunk of a file that a wide rename went over.
fn menu() -> Row {
    let text = |name: &str| -> String {
        (0..MANY * 4).map(|n| format!("    {}();\n", if n % 4 == 1 { name } else { "other" })).collect()
    };
    let (before, after) = (text("old"), text("new"));
    let path = WorkspacePath::new("src/long.rs").unwrap();
    let entry = |text: &str| Entry::File { text: Arc::from(text), mode: 0o644 };
    let change = file_change(path.clone(), &entry(&before), &entry(&after), &StepId::new("s"), None);
    let desk = desk(change.clone());
    let documents = Buffers::new();
    let session = documents.begin("bench", Arc::new(Nobody));
    documents.tell(session, DocumentEvent::Opened { path: path.clone(), version: 0, text: Arc::from(before.as_str()) });
    documents.watch(&path, &[Arc::new(change)]);
    let texts = OfSession { documents: &documents, session: Some(session) };
    let at = Position { line: 5, character: 0 };
    let range = Range { start: at, end: at };
    let here = Here { path: &path, range, encoding: Encoding::Utf16, asked: true, problems: &[], item: None };
    assert_eq!(hunks::placed(&desk, &path, &texts, Encoding::Utf16).len(), MANY);
    Row::of(
        "menu at one of 3,400 hunks of a file",
        "the text copied, its lines counted",
        Guide::Within(Duration::from_millis(20)),
        in_turn(
            ROUNDS,
            || time(|| menu::actions(&desk, &texts, &here)),
            || time(|| (before.clone(), lines(&before).len())),
        ),
    )
}

fn desk(change: FileChange) -> Desk {
    let opened = Event::Opened {
        goal: Goal { words: "change it".to_owned(), place: None, references: Vec::new(), comment: None },
        binding: Binding { root: "/w".into(), git: None, head: None, branch: None },
        trace: TraceId::new("0af7651916cd43dd8448eb211c80319c"),
        actor: Actor { user: "anna".to_owned(), client: "bench".to_owned() },
    };
    let journal = vec![Recorded { seq: 1, at: Time(0), event: opened }];
    let task = replay(&TaskId::new("k3xf"), &journal).unwrap();
    let hunks = change.hunks.iter().map(|hunk| ReviewHunk {
        id: hunk.id.clone(),
        step: hunk.author.clone(),
        path: change.path.clone(),
        kind: "lines".to_owned(),
        line: 1,
        old: change.old_text(hunk).to_owned(),
        new: change.new_text(hunk).to_owned(),
        context: (String::new(), String::new()),
        touching: None,
        exact: true,
        state: HunkState::Open,
        on_disk: true,
        decision: None,
        pending: true,
        flags: Vec::new(),
        verdict: "`cargo check` passes".to_owned(),
        shown: ContentHash::of("shown"),
    });
    let dossier = Dossier {
        carried: true,
        hunks: Arc::new(hunks.collect()),
        changes: Arc::new(vec![Arc::new(change.clone())]),
        offered: None,
        task: Arc::new(task),
        state: TaskState::AwaitingReview,
        journal: journal.into_iter().collect(),
        told: Arc::default(),
        page: None,
        revisions: Arc::default(),
        steps: Vec::new(),
    };
    Desk { tasks: vec![Arc::new(dossier)], ..Desk::default() }
}

/// Nothing is decided here.
struct Nobody;

impl Editor for Nobody {
    fn carry_out(&self, order: EditorOrder) -> Fut<'_, Result<(), EditorFault>> {
        Box::pin(std::future::ready(Err(EditorFault::NotOpen(order.change.path))))
    }
}
