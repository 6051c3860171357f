//! Decisions put to clients that lie.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

use super::*;
use crate::domain::change::{Entry, FileChange, HunkState, file_change};
use crate::domain::ids::StepId;
use crate::domain::text;
use crate::ports::{DocumentChange, DocumentEvent};
use crate::testing::editor::{self, Profile, Shared, TestGround, TestPort};
use crate::workspace::Buffers;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex as Plain;
use std::time::Duration;

const BEFORE: &str = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n\nfn c() {\n    six();\n}\n";
const AFTER: &str = "fn a() {\n    uno();\n}\n\nfn b() {\n    two();\n    log();\n}\n\nfn c() {\n}\n";

/// What a client does with one edit. `Type` is the user's: a line put before everything.
#[derive(Clone, Debug)]
enum Act {
    /// Makes the edit and tells of it, change by change.
    Apply,
    /// Makes it and tells of it in one change with what the user typed.
    ApplyAndType,
    /// Makes it and tells of it, change by change, together with the user's next one.
    ApplyThenType,
    /// The same with a change of the user's where the first hunk was put.
    ApplyThenRetouch,
    /// Makes it, and takes the blank lines out as well.
    ApplyAndTidy,
    /// Makes it one line too low.
    ApplyBelow,
    Type,
    /// The user changes the line that the first hunk replaces.
    TypeInHunk,
    Say(Said),
    /// Answers what cannot be read.
    SayNull,
    /// Lets time pass: the debounce of a client.
    Wait,
    Close,
    /// Never answers.
    Hang,
}

use Act::*;

struct Client {
    documents: Arc<Buffers>,
    session: SessionId,
    script: Plain<VecDeque<Vec<Act>>>,
    asked: Plain<Vec<(i32, usize)>>,
    hung: Plain<Vec<oneshot::Sender<Said>>>,
}

fn path() -> WorkspacePath {
    WorkspacePath::new("src/a.rs").unwrap()
}

impl Client {
    fn text(&self) -> String {
        self.documents.of(self.session, &path()).unwrap().text.to_string()
    }

    fn tell(&self, changes: Vec<Replacement>) {
        let version = self.documents.of(self.session, &path()).unwrap().version + 1;
        let changes = changes.into_iter().map(DocumentChange::Edit).collect();
        self.documents.tell(self.session, DocumentEvent::Changed { path: path(), version, changes });
    }

    /// `was`: bytes of the text that the edits are meant on. What was typed since stands before all of it.
    async fn act(&self, act: Act, edits: &[Replacement], was: usize, told: &mut Option<oneshot::Sender<Said>>) {
        let mut say = |said| told.take().map(|told| told.send(said).is_ok());
        let line = || Replacement { range: 0..0, text: "// typed\n".to_owned() };
        match act {
            Apply => {
                let on = self.text().len() - was;
                let shifted = edits.iter().rev().map(|edit| Replacement {
                    range: edit.range.start + on..edit.range.end + on,
                    text: edit.text.clone(),
                });
                self.tell(shifted.collect());
            }
            ApplyAndType => {
                let text = self.text();
                let now = format!("// typed\n{}", text::apply(&text, edits).unwrap());
                self.tell(vec![Replacement { range: 0..text.len(), text: now }]);
            }
            ApplyThenType | ApplyThenRetouch => {
                let mut changes: Vec<Replacement> = edits.iter().rev().cloned().collect();
                let made = text::apply(&self.text(), edits).unwrap();
                let at = made.find("uno").filter(|_| matches!(act, ApplyThenRetouch)).unwrap_or(made.len());
                changes.push(Replacement { range: at..at, text: "// typed\n".to_owned() });
                self.tell(changes);
            }
            ApplyAndTidy => {
                let text = self.text();
                let now = text::apply(&text, edits).unwrap().replace("\n\n", "\n");
                self.tell(vec![Replacement { range: 0..text.len(), text: now }]);
            }
            ApplyBelow => {
                let text = self.text();
                let lower = |at: usize| text[at..].find('\n').map_or(text.len(), |n| at + n + 1);
                let edits = edits.iter().rev().map(|edit| Replacement {
                    range: lower(edit.range.start)..lower(edit.range.end),
                    text: edit.text.clone(),
                });
                self.tell(edits.collect());
            }
            Type => self.tell(vec![line()]),
            TypeInHunk => {
                let at = self.text().find("one").unwrap();
                self.tell(vec![Replacement { range: at..at, text: "no_".to_owned() }]);
            }
            Say(said) => drop(say(said)),
            SayNull => drop(told.take()),
            Wait => tokio::time::sleep(Duration::from_millis(20)).await,
            Close => self.documents.tell(self.session, DocumentEvent::Closed { path: path() }),
            Hang => self.hung.lock().unwrap().extend(told.take()),
        }
    }
}

struct Line(Arc<Client>);

impl Wire for Line {
    fn ask(&self, asked: Asked) -> oneshot::Receiver<Said> {
        let (told, answer) = oneshot::channel();
        let client = self.0.clone();
        client.asked.lock().unwrap().push((asked.document.version, asked.edits.len()));
        let script = client.script.lock().unwrap().pop_front().expect("one edit more than the client has an answer to");
        tokio::spawn(async move {
            let mut told = Some(told);
            for act in script {
                client.act(act, &asked.edits, asked.document.text.len(), &mut told).await;
            }
        });
        answer
    }

    fn name(&self) -> String {
        "Ed".to_owned()
    }
}

struct Scene {
    client: Arc<Client>,
    documents: Arc<dyn Documents>,
    heard: Arc<Heard>,
    change: Arc<FileChange>,
    attempts: Mutex<Attempts>,
}

fn scene(script: &[&[Act]]) -> Scene {
    let buffers = Arc::new(Buffers::new());
    let documents: Arc<dyn Documents> = buffers.clone();
    let session = buffers.begin("Neovim", Arc::new(SessionEditor::new(Weak::new())));
    let file = |text: &str| Entry::File { text: Arc::from(text), mode: 0o644 };
    let change = Arc::new(file_change(path(), &file(BEFORE), &file(AFTER), &StepId::new("one"), None));
    buffers.watch(&path(), std::slice::from_ref(&change));
    buffers.tell(session, DocumentEvent::Opened { path: path(), version: 0, text: Arc::from(BEFORE) });
    let script = Plain::new(script.iter().map(|acts| acts.to_vec()).collect());
    let client = Client { documents: buffers, session, script, asked: Plain::default(), hung: Plain::default() };
    let heard = Heard::listen(&documents, session);
    Scene { client: Arc::new(client), documents, heard, change, attempts: Mutex::default() }
}

const PATIENCE: Patience =
    Patience { seen: Duration::from_millis(300), quiet: Duration::from_millis(80), stuck: Duration::from_secs(5) };

impl Scene {
    async fn decide(&self, put: &[usize], take: &[usize]) -> String {
        self.decide_until(put, take, None).await
    }

    async fn decide_until(&self, put: &[usize], take: &[usize], until: Option<SystemTime>) -> String {
        let ids = |list: &[usize]| list.iter().map(|at| self.change.hunks[*at].id.clone()).collect();
        let order = EditorOrder {
            change: (*self.change).clone(),
            put: ids(put),
            take: ids(take),
            label: "Agent: accept".to_owned(),
            until,
        };
        let line = Line(self.client.clone());
        let mut attempts = self.attempts.lock().await;
        match attempts.carry_out(self.documents.as_ref(), &self.heard, &line, &order, PATIENCE).await {
            Ok(()) => "done".to_owned(),
            Err(EditorFault::NotOpen(_)) => "not open".to_owned(),
            Err(EditorFault::Conflict(_)) => "conflict".to_owned(),
            Err(EditorFault::Refused { reason, .. }) => format!("refused: {reason}"),
            Err(EditorFault::NotSeen { .. }) => "not seen".to_owned(),
            Err(EditorFault::Unanswered { editor, .. }) => format!("{editor} has not answered"),
            Err(EditorFault::Misapplied { .. }) => "misapplied".to_owned(),
        }
    }

    fn states(&self) -> String {
        let standings = self.documents.standings(&self.change).unwrap();
        let letters = standings.hunks.iter().map(|hunk| match hunk.state {
            HunkState::Open => 'o',
            HunkState::Accepted => 'a',
            HunkState::Touched => 't',
        });
        letters.collect()
    }

    fn asked(&self) -> usize {
        self.client.asked.lock().unwrap().len()
    }
}

/// Accepts the second hunk, to which the client does this; then what stands there, and how often it was asked.
async fn check(script: &[&[Act]], expect: &str) -> Scene {
    let scene = scene(script);
    let end = scene.decide(&[1], &[]).await;
    assert_eq!(format!("{end} {} {}", scene.states(), scene.asked()), expect, "{script:?}");
    let log = scene.client.text().matches("log()").count();
    assert_eq!(log, usize::from(scene.states().chars().nth(1) == Some('a')), "{script:?}");
    scene
}

#[tokio::test]
async fn the_text_decides_whatever_the_client_says() {
    let said = || Say(Said::Applied);
    let no = || Say(Said::Refused("document has changed".to_owned()));
    check(&[&[Apply, said()]], "done oao 1").await;
    check(&[&[said(), Wait, Apply]], "done oao 1").await;
    check(&[&[Wait, said(), Wait, Type, Wait, Apply]], "done oao 1").await;
    check(&[&[ApplyAndType, said()]], "done oao 1").await;
    check(&[&[said(), Wait, ApplyAndType]], "done oao 1").await;
    check(&[&[Apply, no()]], "done oao 1").await;
    check(&[&[no(), Wait, Apply]], "done oao 1").await;
    check(&[&[ApplyThenType, said()]], "done oao 1").await;
    check(&[&[said(), Wait, ApplyThenType]], "done oao 1").await;
    check(&[&[SayNull, Wait, Apply]], "done oao 1").await;
    check(&[&[Wait, Apply, Hang]], "done oao 1").await;
    // applied, it says, and is not
    check(&[&[said()]], "not seen ooo 1").await;
    check(&[&[SayNull]], "not seen ooo 1").await;
    check(&[&[Say(Said::Refused("read only".to_owned()))]], "refused: read only ooo 1").await;
}

#[tokio::test]
async fn an_edit_for_a_stale_text_is_made_again() {
    let said = || Say(Said::Applied);
    let no = || Say(Said::Refused("document has changed".to_owned()));
    check(&[&[said(), Wait, Type], &[Apply, said()]], "done oao 2").await;
    check(&[&[Type, no()], &[Apply, said()]], "done oao 2").await;
    check(&[&[no(), Wait, Type], &[Apply, said()]], "done oao 2").await;
    let scene = check(&[&[Type, no()], &[Type, said()], &[Type, said()]], "not seen ooo 3").await;
    assert_eq!(scene.client.text().matches("typed").count(), 3);
}

#[tokio::test]
async fn what_is_not_as_asked_is_said() {
    let said = || Say(Said::Applied);
    let scene = scene(&[&[ApplyBelow, said()]]);
    assert_eq!(scene.decide(&[1], &[]).await, "misapplied");
    let scene = self::scene(&[&[ApplyAndTidy, said()]]);
    assert_eq!(scene.decide(&[1], &[]).await, "misapplied");
    let scene = self::scene(&[&[TypeInHunk, said()]]);
    assert_eq!(scene.decide(&[0], &[]).await, "conflict");
    let scene = self::scene(&[&[Close, said()]]);
    assert_eq!(scene.decide(&[0], &[]).await, "not open");
}

#[tokio::test]
async fn what_the_user_makes_of_an_edit_that_landed_is_theirs() {
    let scene = scene(&[&[ApplyThenRetouch, Say(Said::Applied)]]);
    assert_eq!(scene.decide(&[0], &[]).await, "done");
    assert_eq!((scene.states().as_str(), scene.asked()), ("too", 1));
}

#[tokio::test]
async fn what_stands_as_decided_is_not_asked_for() {
    let scene = scene(&[&[Apply, Say(Said::Applied)], &[Apply, Say(Said::Applied)]]);
    assert_eq!(scene.decide(&[], &[0, 1, 2]).await, "done");
    assert_eq!(scene.asked(), 0);
    assert_eq!(scene.decide(&[0, 1, 2], &[]).await, "done");
    assert_eq!((scene.client.text().as_str(), scene.asked()), (AFTER, 1));
    assert_eq!(scene.decide(&[1], &[0, 2]).await, "done");
    assert_eq!(scene.states(), "oao");
    scene.client.tell(vec![Replacement { range: 9..19, text: String::new() }]);
    assert_eq!(scene.decide(&[0], &[]).await, "conflict");
    assert_eq!(*scene.client.asked.lock().unwrap(), [(0, 3), (1, 2)]);
}

#[tokio::test]
async fn two_decisions_at_once_are_two_edits_one_after_the_other() {
    let slow: &[Act] = &[Wait, Apply, Wait, Say(Said::Applied)];
    let scene = scene(&[slow, slow]);
    let (one, two) = tokio::join!(scene.decide(&[1], &[]), scene.decide(&[0], &[]));
    assert_eq!((one.as_str(), two.as_str(), scene.states().as_str()), ("done", "done", "aao"));
    assert_eq!(*scene.client.asked.lock().unwrap(), [(0, 1), (1, 1)]);
}

#[tokio::test]
async fn nothing_is_sent_on_top_of_an_edit_that_may_still_come() {
    let scene = scene(&[&[Hang], &[Apply, Say(Said::Applied)]]);
    assert_eq!(scene.decide(&[1], &[]).await, "Ed has not answered");
    // told at once, whatever is decided there
    for put in [1, 0] {
        assert_eq!(scene.decide(&[put], &[]).now_or_never().as_deref(), Some("Ed has not answered"));
    }
    assert_eq!(scene.asked(), 1);
    // the prompt that held it back is gone: it answers, and tells of the text a moment later
    let at = scene.client.text().find("}\n\nfn c").unwrap();
    let told = scene.client.hung.lock().unwrap().pop().unwrap();
    let client = scene.client.clone();
    told.send(Said::Applied).unwrap();
    tokio::spawn(async move {
        client.act(Wait, &[], 0, &mut None).await;
        client.tell(vec![Replacement { range: at..at, text: "    log();\n".to_owned() }]);
    });
    assert_eq!(scene.decide(&[1], &[]).await, "done");
    assert_eq!((scene.states().as_str(), scene.asked()), ("oao", 1));
    assert_eq!(scene.decide(&[0], &[]).await, "done");
    assert_eq!((scene.states().as_str(), scene.asked()), ("aao", 2));
}

#[tokio::test]
async fn an_edit_whose_order_was_dropped_is_on_its_way_all_the_same() {
    let scene = scene(&[&[Hang], &[Apply, Say(Said::Applied)]]);
    // given up as soon as it was sent, by whoever ordered it
    assert_eq!(scene.decide(&[1], &[]).now_or_never(), None);
    assert_eq!(scene.asked(), 1);
    assert_eq!(scene.decide(&[0], &[]).now_or_never().as_deref(), Some("Ed has not answered"));
    while scene.client.hung.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    scene.client.hung.lock().unwrap().pop().unwrap().send(Said::Refused("no".to_owned())).unwrap();
    assert_eq!(scene.decide(&[0], &[]).await, "done");
    assert_eq!((scene.states().as_str(), scene.asked()), ("aoo", 2));
}

#[tokio::test]
async fn an_edit_that_the_text_shows_is_waited_for_no_more() {
    let scene = scene(&[&[Hang], &[Apply, Say(Said::Applied)]]);
    assert_eq!(scene.decide(&[1], &[]).await, "Ed has not answered");
    let at = scene.client.text().find("}\n\nfn c").unwrap();
    scene.client.tell(vec![Replacement { range: at..at, text: "    log();\n".to_owned() }]);
    assert_eq!(scene.decide(&[0], &[]).await, "done");
    assert_eq!((scene.states().as_str(), scene.asked()), ("aao", 2));
}

#[tokio::test]
async fn nothing_is_sent_for_an_order_that_nobody_waits_for_any_more() {
    let scene = scene(&[&[Act::Apply, Act::Say(Said::Applied)]]);
    let past = SystemTime::now() - Duration::from_secs(1);
    assert_eq!(scene.decide_until(&[1], &[], Some(past)).await, "not seen");
    assert_eq!((scene.states().as_str(), scene.asked()), ("ooo", 0));
    assert_eq!(scene.decide_until(&[1], &[], Some(SystemTime::now() + Duration::from_secs(60))).await, "done");
}

/// A session on the wire, with the document open under its name.
struct Room {
    folder: tempfile::TempDir,
    documents: Arc<dyn Documents>,
    editor: editor::Editor,
    change: Arc<FileChange>,
}

impl Room {
    async fn new(profile: Profile) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/a.rs"), BEFORE).unwrap();
        let documents = editor::buffers();
        let ground = TestGround::with_port(folder.path(), documents.clone(), Arc::new(TestPort::default()));
        let editor = editor::Editor::start(profile, folder.path(), Arc::new(Shared(ground))).await;
        editor.allow_views();
        editor.open("src/a.rs", "rust", BEFORE);
        let file = |text: &str| Entry::File { text: Arc::from(text), mode: 0o644 };
        let change = Arc::new(file_change(path(), &file(BEFORE), &file(AFTER), &StepId::new("one"), None));
        let room = Self { folder, documents, editor, change };
        room.heard().await;
        room.documents.watch(&path(), std::slice::from_ref(&room.change));
        room
    }

    /// What was said so far has been taken in: messages are, one after the other.
    async fn heard(&self) {
        self.editor.request("workspace/symbol", json!({"query": ""})).await.unwrap();
    }

    fn text(&self) -> Option<String> {
        self.documents.newest(&path()).map(|document| document.text.to_string())
    }

    /// Accepts the second hunk.
    fn accept(&self) -> tokio::task::JoinHandle<Result<(), EditorFault>> {
        self.accept_in(path())
    }

    /// The same in a file with the same text.
    fn accept_in(&self, path: WorkspacePath) -> tokio::task::JoinHandle<Result<(), EditorFault>> {
        let (_, editor) = self.documents.editor(&path, None).unwrap();
        let put = vec![self.change.hunks[1].id.clone()];
        let change = FileChange { path, ..(*self.change).clone() };
        let order = EditorOrder { change, put, take: vec![], label: "accept".to_owned(), until: None };
        tokio::spawn(async move { editor.carry_out(order).await })
    }
}

#[tokio::test]
async fn a_first_change_that_was_not_told_yet_makes_neovim_drop_the_edit() {
    let room = Room::new(Profile::neovim_0_11()).await;
    room.editor.replace_untold("src/a.rs", 0..0, "// typed\n");
    let deciding = room.accept();
    let asked = room.editor.expect("workspace/applyEdit").await;
    assert_eq!(asked["edit"]["documentChanges"][0]["textDocument"]["version"], 1);
    room.editor.tell("src/a.rs");
    room.editor.expect("workspace/applyEdit").await;
    deciding.await.unwrap().unwrap();
    let expect = format!("// typed\n{}", BEFORE.replace("two();\n", "two();\n    log();\n"));
    assert_eq!(room.editor.text("src/a.rs").unwrap(), expect);
}

#[tokio::test]
async fn a_buffer_of_neovim_that_was_never_changed_takes_the_edit() {
    let room = Room::new(Profile::neovim_0_11()).await;
    let deciding = room.accept();
    room.editor.expect("workspace/applyEdit").await;
    deciding.await.unwrap().unwrap();
    assert_eq!(room.editor.text("src/a.rs").unwrap().matches("log();").count(), 1);
}

#[tokio::test]
async fn an_edit_that_is_not_answered_holds_back_its_own_document_only() {
    let room = Room::new(Profile::neovim_0_11()).await;
    let other = WorkspacePath::new("src/b.rs").unwrap();
    room.editor.open("src/b.rs", "rust", BEFORE);
    room.heard().await;
    room.editor.adjust(|profile| profile.edits = editor::Edits::Ignored);
    let stuck = room.accept();
    room.editor.expect("workspace/applyEdit").await;
    room.editor.adjust(|profile| profile.edits = editor::Edits::Made);
    room.accept_in(other.clone()).await.unwrap().unwrap();
    room.editor.expect("workspace/applyEdit").await;
    assert!(!stuck.is_finished(), "the other document did not wait for this one");
    let say = |fault: EditorFault| fault.to_string();
    let first = say(stuck.await.unwrap().unwrap_err());
    assert!(first.starts_with("Neovim has not answered an edit of src/a.rs for 2 s; answer what it asks"), "{first}");
    let EditorFault::Unanswered { path, waited, left, .. } = room.accept().await.unwrap().unwrap_err() else {
        panic!("it may still be made")
    };
    assert_eq!((path.as_str(), waited + left), ("src/a.rs", 29), "what is left counts whole seconds");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_and_a_link_to_it_are_one_document_until_both_are_closed() {
    let room = Room::new(Profile::vscode_1_100()).await;
    std::os::unix::fs::symlink(room.folder.path().join("src/a.rs"), room.folder.path().join("link.rs")).unwrap();
    room.editor.open("link.rs", "rust", BEFORE);
    room.heard().await;
    // what is typed under the other name is not typed into the text that is followed
    room.editor.replace("link.rs", 0..0, "// typed\n");
    room.heard().await;
    assert_eq!(room.text().as_deref(), Some(BEFORE));
    let refused = room.accept().await.unwrap().unwrap_err().to_string();
    assert!(refused.contains("link.rs too, with another text"), "{refused}");
    // the same text again: nothing stands against it
    room.editor.replace("link.rs", 0.."// typed\n".len(), "");
    room.heard().await;
    let deciding = room.accept();
    let asked = room.editor.expect("workspace/applyEdit").await;
    let named = &asked["edit"]["documentChanges"][0]["textDocument"]["uri"];
    assert_eq!(*named, Value::String(room.editor.uri("src/a.rs")));
    deciding.await.unwrap().unwrap();
    // the one that is followed goes, and the other is followed
    room.editor.close("src/a.rs");
    room.heard().await;
    assert_eq!(room.text().as_deref(), Some(BEFORE));
    room.editor.close("link.rs");
    room.heard().await;
    assert_eq!(room.text(), None);
}
