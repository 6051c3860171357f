//! Documents of attached editors, seen by the host.

use super::{DEADLINE, Place, actor, engine_of, say, within};
use crate::desk::Desk;
use crate::domain::change::{Entry, FileChange, file_change};
use crate::domain::ids::{HunkId, StepId, TaskId, WorkspacePath};
use crate::domain::task::action::Reply;
use crate::engine::EngineHandle;
use crate::host::remote::Remote;
use crate::host::serve::Outgoing;
use crate::host::wire::{FRAME, FromHost, Lines, ToHost, encode};
use crate::host::{Seat, VERSION};
use crate::ports::*;
use crate::workspace::Buffers;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};

/// Documents that only remember: what each session said, in words, and its newest texts.
#[derive(Default)]
pub(super) struct Fake(Mutex<Inner>, watch::Sender<usize>);

#[derive(Default)]
struct Inner {
    editors: Vec<(String, Arc<dyn Editor>)>,
    open: BTreeMap<WorkspacePath, Document>,
    listeners: Vec<Listener>,
    said: Vec<String>,
}

impl Fake {
    fn say(&self, inner: &mut Inner, words: String) {
        inner.said.push(words);
        self.1.send_replace(inner.said.len());
    }

    fn said(&self) -> Vec<String> {
        self.0.lock().unwrap().said.clone()
    }

    /// Waits until so much was said.
    pub(super) async fn heard(&self, count: usize) -> Vec<String> {
        within(self.1.subscribe().wait_for(|heard| *heard >= count)).await.unwrap();
        self.said()
    }
}

impl Documents for Fake {
    fn begin(&self, client: &str, editor: Arc<dyn Editor>) -> SessionId {
        let mut inner = self.0.lock().unwrap();
        inner.editors.push((client.to_owned(), editor));
        let id = inner.editors.len();
        self.say(&mut inner, format!("{id} begins: {client}"));
        SessionId(id as u64)
    }

    fn end(&self, session: SessionId) {
        let mut inner = self.0.lock().unwrap();
        inner.open.retain(|_, document| document.session != session);
        self.say(&mut inner, format!("{} ends", session.0));
    }

    fn tell(&self, session: SessionId, event: DocumentEvent) {
        let mut inner = self.0.lock().unwrap();
        let path = event.path().clone();
        let words = match &event {
            DocumentEvent::Opened { version, text, .. } => {
                inner.open.insert(path.clone(), Document { session, version: *version, text: text.clone() });
                format!("opens {path} {version} {text}")
            }
            DocumentEvent::Changed { version, changes, .. } => {
                let [DocumentChange::Whole(text)] = changes.as_slice() else { panic!("whole texts only") };
                let text: Arc<str> = text.as_str().into();
                inner.open.insert(path.clone(), Document { session, version: *version, text: text.clone() });
                format!("changes {path} {version} {text}")
            }
            DocumentEvent::Saved { .. } => format!("saves {path}"),
            DocumentEvent::Closed { .. } => {
                inner.open.remove(&path);
                format!("closes {path}")
            }
        };
        self.say(&mut inner, format!("{} {words}", session.0));
        for listener in &inner.listeners {
            listener(session, &event);
        }
    }

    fn listen(&self, listener: Listener) {
        let mut inner = self.0.lock().unwrap();
        for (path, Document { session, version, text }) in &inner.open {
            let (path, version, text) = (path.clone(), *version, text.clone());
            listener(*session, &DocumentEvent::Opened { path, version, text });
        }
        inner.listeners.push(listener);
    }

    fn of(&self, session: SessionId, path: &WorkspacePath) -> Option<Document> {
        self.newest(path).filter(|document| document.session == session)
    }

    fn newest(&self, path: &WorkspacePath) -> Option<Document> {
        self.0.lock().unwrap().open.get(path).cloned()
    }

    fn paths(&self) -> Vec<WorkspacePath> {
        self.0.lock().unwrap().open.keys().cloned().collect()
    }

    fn watch(&self, _path: &WorkspacePath, _changes: &[Arc<FileChange>]) {}

    fn standings(&self, _change: &FileChange) -> Option<Standings> {
        None
    }

    fn standings_of(&self, _session: SessionId, _change: &FileChange) -> Option<Standings> {
        None
    }

    fn editor(&self, path: &WorkspacePath, _own: Option<SessionId>) -> Option<(SessionId, Arc<dyn Editor>)> {
        let inner = self.0.lock().unwrap();
        let session = inner.open.get(path)?.session;
        let (_, editor) = inner.editors.get(usize::try_from(session.0).unwrap() - 1)?;
        Some((session, editor.clone()))
    }
}

/// An editor that changes the document's text to the change's after, or refuses.
struct Hand {
    documents: Weak<Fake>,
    session: SessionId,
    willing: bool,
}

impl Editor for Hand {
    fn carry_out(&self, order: EditorOrder) -> Fut<'_, Result<(), EditorFault>> {
        Box::pin(async move {
            let path = order.change.path.clone();
            if !self.willing {
                return Err(EditorFault::Refused { path, reason: "read only".to_owned() });
            }
            let changes = vec![DocumentChange::Whole(order.change.after.text().to_owned())];
            self.documents.upgrade().unwrap().tell(self.session, DocumentEvent::Changed { path, version: 9, changes });
            Ok(())
        })
    }
}

fn path(name: &str) -> WorkspacePath {
    WorkspacePath::new(name).unwrap()
}

pub(super) fn opened(name: &str, version: i32, text: &str) -> DocumentEvent {
    DocumentEvent::Opened { path: path(name), version, text: text.into() }
}

fn changed(name: &str, version: i32, text: &str) -> DocumentEvent {
    DocumentEvent::Changed { path: path(name), version, changes: vec![DocumentChange::Whole(text.to_owned())] }
}

fn order(name: &str) -> EditorOrder {
    let file = |text: &str| Entry::File { text: text.into(), mode: 0o644 };
    let change = file_change(path(name), &file("old\n"), &file("new\n"), &StepId::new("s"), None);
    EditorOrder { put: vec![HunkId::new("h1")], take: Vec::new(), change, label: "Agent".to_owned(), until: None }
}

/// Documents of an editor, with its session.
pub(super) fn editor(willing: bool) -> (Arc<Fake>, SessionId) {
    let documents = Arc::new(Fake::default());
    let session = SessionId(1);
    let hand = Hand { documents: Arc::downgrade(&documents), session, willing };
    assert_eq!(documents.begin("vi 9", Arc::new(hand)), session);
    (documents, session)
}

#[tokio::test]
async fn a_host_has_the_documents_of_all() {
    let place = Place::new();
    let at_host = Arc::new(Fake::default());
    let engine = || engine_of(Desk::default()).0;
    let host = place.join_as(Seat::terminal("terminal", at_host.clone()), engine()).await.unwrap();
    let (at_editor, session) = editor(true);
    at_editor.tell(session, opened("a.rs", 1, "old\n"));
    at_editor.tell(session, opened("b.rs", 0, "two"));
    at_editor.tell(session, changed("b.rs", 0, "three"));
    let attached = place.join_as(Seat::editor("vi 9", at_editor.clone()), engine()).await.unwrap();
    at_editor.tell(session, changed("a.rs", 2, "older\n"));
    at_editor.tell(session, DocumentEvent::Saved { path: path("a.rs") });
    at_editor.tell(session, DocumentEvent::Closed { path: path("b.rs") });
    let told = [
        "1 begins: vi 9",
        "1 opens a.rs 1 old\n",
        "1 opens b.rs 0 three",
        "1 changes a.rs 2 older\n",
        "1 saves a.rs",
        "1 closes b.rs",
    ];
    assert_eq!(at_host.heard(told.len()).await, told);

    // A decision is carried out where the document is, and the host has the text before it has the answer.
    let (_, hands) = at_host.editor(&path("a.rs"), None).unwrap();
    assert_eq!(within(hands.carry_out(order("a.rs"))).await, Ok(()));
    assert_eq!(at_host.said().last().map(String::as_str), Some("1 changes a.rs 9 new\n"));
    let fault = within(hands.carry_out(order("b.rs"))).await;
    assert_eq!(fault, Err(EditorFault::NotOpen(path("b.rs"))));

    // The session ends with its connection; whoever is host next is told everything again.
    drop(attached);
    assert_eq!(at_host.heard(told.len() + 2).await.last().map(String::as_str), Some("1 ends"));
    assert_eq!(within(hands.carry_out(order("a.rs"))).await, Err(EditorFault::NotOpen(path("a.rs"))));
    drop(host);
    let next = Arc::new(Fake::default());
    let host = place.join_as(Seat::terminal("terminal", next.clone()), engine()).await.unwrap();
    let again = place.join_as(Seat::editor("vi 9", at_editor.clone()), engine()).await.unwrap();
    assert_eq!((host.is_host(), again.is_host()), (true, false));
    at_editor.tell(session, opened("c.rs", 1, "three"));
    let told = ["1 begins: vi 9", "1 opens a.rs 9 new\n", "1 opens c.rs 1 three"];
    assert_eq!(next.heard(told.len()).await, told);
}

#[tokio::test]
async fn what_an_editor_refuses_is_told_as_it_says() {
    let place = Place::new();
    let at_host = Arc::new(Fake::default());
    let engine = || engine_of(Desk::default()).0;
    let _host = place.join_as(Seat::terminal("terminal", at_host.clone()), engine()).await.unwrap();
    let (at_editor, session) = editor(false);
    at_editor.tell(session, opened("a.rs", 1, "old\n"));
    let _attached = place.join_as(Seat::editor("vi 9", at_editor), engine()).await.unwrap();
    at_host.heard(2).await;
    let (_, hands) = at_host.editor(&path("a.rs"), None).unwrap();
    let refused = EditorFault::Refused { path: path("a.rs"), reason: "read only".to_owned() };
    assert_eq!(within(hands.carry_out(order("a.rs"))).await, Err(refused));
}

#[tokio::test]
async fn no_event_is_lost_or_doubled_while_a_host_is_joined() {
    let place = Place::new();
    let engine = || engine_of(Desk::default()).0;
    for _ in 0..20 {
        let at_host = Arc::new(Fake::default());
        let host = place.join_as(Seat::terminal("terminal", at_host.clone()), engine()).await.unwrap();
        let at_editor = Arc::new(Buffers::new());
        let session =
            at_editor.begin("vi 9", Arc::new(Hand { documents: Weak::new(), session: SessionId(1), willing: false }));
        at_editor.tell(session, opened("a.rs", 0, "0"));
        let typing = {
            let at_editor = at_editor.clone();
            std::thread::spawn(move || {
                for n in 1..=300 {
                    at_editor.tell(session, changed("a.rs", 0, &n.to_string()));
                }
            })
        };
        let attached = place.join_as(Seat::editor("vi 9", at_editor.clone()), engine()).await.unwrap();
        typing.join().unwrap();
        at_editor.tell(session, DocumentEvent::Saved { path: path("a.rs") });
        let mut news = at_host.1.subscribe();
        while at_host.said().last().is_none_or(|last| last != "1 saves a.rs") {
            within(news.changed()).await.unwrap();
        }
        // From the last opening on every number follows the one before it.
        let said = at_host.said();
        let number = |words: &String| words.rsplit(' ').next().and_then(|word| word.parse::<u32>().ok());
        let from = said.iter().rposition(|words| words.starts_with("1 opens")).unwrap();
        let numbers: Vec<u32> = said.iter().skip(from).filter_map(number).collect();
        let first = numbers.first().copied().unwrap();
        assert_eq!(numbers, (first..=300).collect::<Vec<_>>());
        drop((attached, host));
    }
}

#[tokio::test]
async fn a_client_that_never_answers_an_order_is_not_waited_for() {
    let (queue, mut waiting) = mpsc::channel::<Outgoing>(1);
    let remote = Remote::new(queue, Duration::from_millis(20));
    let not_seen = Err(EditorFault::NotSeen { path: path("a.rs") });
    assert_eq!(within(remote.carry_out(order("a.rs"))).await, not_seen, "it read the order");
    assert_eq!(within(remote.carry_out(order("a.rs"))).await, not_seen, "it does not even read");
    assert!(waiting.try_recv().is_ok());
}

#[tokio::test]
async fn a_connection_that_ends_answers_its_orders() {
    let place = Place::new();
    let at_host = Arc::new(Fake::default());
    let engine = engine_of(Desk::default()).0;
    let _host = place.join_as(Seat::terminal("terminal", at_host.clone()), engine).await.unwrap();
    let mut raw = place.raw(VERSION).await;
    let event = opened("a.rs", 1, "old\n");
    raw.write_all(&encode(&ToHost::Tell { session: SessionId(7), event }).unwrap()).await.unwrap();
    at_host.heard(2).await;
    let (_, hands) = at_host.editor(&path("a.rs"), None).unwrap();
    let (from, to) = raw.into_split();
    let mut lines = Lines::new(BufReader::new(from), FRAME);
    let ends = async {
        // The greeting, then the order.
        while !matches!(within(lines.next()).await.unwrap(), Some(FromHost::Edit { .. })) {}
        drop((lines, to));
    };
    let (answer, ()) = tokio::join!(tokio::time::timeout(DEADLINE, hands.carry_out(order("a.rs"))), ends);
    assert_eq!(answer.unwrap(), Err(EditorFault::NotSeen { path: path("a.rs") }));
    assert_eq!(at_host.heard(3).await.last().map(String::as_str), Some("1 ends"));
}

#[tokio::test]
async fn an_order_that_is_abandoned_is_forgotten_and_each_says_until_when_it_holds() {
    let (queue, mut waiting) = mpsc::channel::<Outgoing>(1);
    let remote = Remote::new(queue, DEADLINE);
    {
        let abandoned = remote.carry_out(order("a.rs"));
        assert!(tokio::time::timeout(Duration::from_millis(1), abandoned).await.is_err());
    }
    assert_eq!(remote.count(), 0);
    let Some(Outgoing::Edit { order, .. }) = waiting.recv().await else { panic!("it was sent") };
    let left = order.until.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!(left <= SENDING, "{left:?}");
}

/// An engine that says in which session it was asked.
fn asked_in() -> (EngineHandle, mpsc::UnboundedReceiver<Option<SessionId>>) {
    let (inbox, mut asked) = mpsc::unbounded_channel::<crate::engine::handle::Asked>();
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(asked) = asked.recv().await {
            tell.send(asked.session).unwrap();
            drop(asked.answer.send(Ok(Reply { task: TaskId::new("aaaa"), message: String::new() })));
        }
    });
    (EngineHandle::new(inbox, watch::channel(Arc::default()).1, tokio::sync::broadcast::channel(1).0), told)
}

#[tokio::test]
async fn two_editors_of_one_name_are_two_sessions() {
    let place = Place::new();
    let at_host = Arc::new(Fake::default());
    let (engine, mut asked) = asked_in();
    let (own, session) = (SessionId(1), SessionId(1));
    at_host.begin("vi 9", Arc::new(Hand { documents: Weak::new(), session: own, willing: false }));
    let host = place.join_as(Seat::editor("vi 9", at_host.clone()).of(Some(own)), engine).await.unwrap();
    let mut attached = Vec::new();
    for _ in 0..2 {
        let (documents, _) = editor(true);
        documents.tell(session, opened("a.rs", 1, "old\n"));
        let seat = Seat::editor("vi 9", documents).of(Some(session));
        attached.push(place.join_as(seat, engine_of(Desk::default()).0).await.unwrap());
    }
    for (handle, expected) in [(&host, 1), (&attached[0], 2), (&attached[1], 3), (&attached[0], 2)] {
        within(handle.act(actor("vi 9"), say("hello"))).await.unwrap();
        assert_eq!(asked.recv().await.unwrap(), Some(SessionId(expected)));
    }
}

#[tokio::test]
async fn what_others_told_a_process_it_does_not_tell_on() {
    let place = Place::new();
    let at_host = Arc::new(Fake::default());
    let _host = place.join_as(Seat::terminal("terminal", at_host.clone()), engine_of(Desk::default()).0).await.unwrap();
    let (documents, session) = editor(true);
    documents.tell(SessionId(7), opened("others.rs", 1, "theirs"));
    documents.tell(session, opened("a.rs", 1, "old\n"));
    let seat = Seat::editor("vi 9", documents.clone()).of(Some(session));
    let _attached = place.join_as(seat, engine_of(Desk::default()).0).await.unwrap();
    documents.tell(SessionId(7), changed("others.rs", 2, "theirs too"));
    documents.tell(session, changed("a.rs", 2, "older\n"));
    let told = ["1 begins: vi 9", "1 opens a.rs 1 old\n", "1 changes a.rs 2 older\n"];
    assert_eq!(at_host.heard(told.len()).await, told);
}
