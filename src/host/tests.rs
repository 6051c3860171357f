#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use super::wire::{Answer, FromHost, Lines, ToHost, encode};
use super::*;
use crate::desk::Desk;
use crate::domain::ids::TaskId;
use crate::domain::task::action::Which;
use rustix::process::{Pid, Signal};
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

mod mirror;
mod roll;
mod shared;

/// Longer than anything here takes on a busy machine; only a failing test waits for it.
const DEADLINE: Duration = Duration::from_secs(20);

struct Place {
    _folder: tempfile::TempDir,
    state: StateDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::for_root(folder.path(), Path::new("/work/wonder land")).unwrap();
        Self { _folder: folder, state }
    }

    async fn join(&self, client: &str) -> Result<Handle, Refusal> {
        self.join_as(client, engine()).await
    }

    async fn join_as(&self, seat: impl Into<Seat>, engine: EngineHandle) -> Result<Handle, Refusal> {
        within(join(&self.state, seat, |_| async { Ok(engine) })).await
    }

    /// A raw connection that has said hello.
    async fn raw(&self, version: &str) -> UnixStream {
        let mut stream = UnixStream::connect(self.state.folder().join("host.sock")).await.unwrap();
        let hello = ToHost::Hello { version: version.to_owned(), client: "raw".to_owned() };
        stream.write_all(&encode(&hello).unwrap()).await.unwrap();
        stream
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("it took too long")
}

/// An engine that repeats what it is told, tells everybody, and never answers to `hold`.
fn engine() -> EngineHandle {
    engine_of(Desk::default()).0
}

/// The same with a desk, on which it remarks each thing that it is told before it answers.
fn engine_of(desk: Desk) -> (EngineHandle, watch::Sender<Arc<Desk>>) {
    let (inbox, mut asked) = mpsc::unbounded_channel::<crate::engine::handle::Asked>();
    let (desks, desk) = watch::channel(Arc::new(desk));
    let published = desks.clone();
    let (updates, _) = broadcast::channel(16);
    let tell = updates.clone();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Some(asked) = asked.recv().await {
            let Action::Say { words, .. } = asked.action else { panic!("the tests only say things") };
            if words == "hold" {
                held.push(asked.answer);
                continue;
            }
            let user = if asked.actor.user == own_name() { "ada" } else { asked.actor.user.as_str() };
            let message = format!("{user} at {} said {words}", asked.actor.client);
            desks.send_modify(|desk| Arc::make_mut(desk).place.remarks.push(message.clone()));
            drop(tell.send(Update { task: TaskId::new("aaaa"), line: message.clone() }));
            drop(asked.answer.send(Ok(Reply { task: TaskId::new("aaaa"), message })));
        }
    });
    (EngineHandle::new(inbox, desk, updates), published)
}

/// Whoever runs the tests; they are told as `ada`.
fn own_name() -> String {
    user().unwrap_or_else(|| "ada".to_owned())
}

fn actor(client: &str) -> Actor {
    Actor { user: own_name(), client: client.to_owned() }
}

fn say(words: &str) -> Action {
    Action::Say { task: Which::TheOnlyOne, words: words.to_owned(), step: None }
}

async fn told(handle: &Handle, client: &str, words: &str) -> String {
    match within(handle.act(actor(client), say(words))).await {
        Ok(reply) => reply.message,
        Err(refusal) => format!("! {refusal}"),
    }
}

/// A host in another process. Killed when dropped.
struct Elsewhere {
    child: Child,
    /// A child of its own, with the mark; described as a holder, so that it can be ended as surely as one.
    grandchild: Holder,
}

impl Elsewhere {
    fn start(place: &Place) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "host::tests::child_that_is_host", "--ignored", "--nocapture"])
            .env("PLANWRIGHT_TEST_STATE", place.state.folder().parent().unwrap())
            .env("PLANWRIGHT_TEST_ROOT", place.state.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = std::io::BufReader::new(child.stderr.take().unwrap());
        let pid = errors
            .lines()
            .find_map(|line| line.unwrap().strip_prefix("hosting, child ").map(|pid| pid.parse().unwrap()))
            .expect("the child did not become host");
        let grandchild =
            Holder { pid, started: process::started(pid), ..Holder::this(PathBuf::new(), "the grandchild") };
        Self { child, grandchild }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    async fn stop(&self, place: &Place) {
        self.signal(Signal::STOP);
        let holder = holder(&place.state).unwrap();
        within(async {
            while process::state(&holder) != State::Stopped {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(process::kill(&self.grandchild));
    }
}

#[test]
#[ignore = "the child process of other tests, which end it"]
fn child_that_is_host() {
    let state = PathBuf::from(std::env::var_os("PLANWRIGHT_TEST_STATE").unwrap());
    let root = PathBuf::from(std::env::var_os("PLANWRIGHT_TEST_ROOT").unwrap());
    let state = StateDir::for_root(&state, &root).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let hosting = runtime.block_on(join(&state, "the child", |_| async { Ok(engine()) })).unwrap();
    assert!(hosting.is_host());
    let mut sleeper = Command::new("sleep")
        .arg("1000")
        .env(MARK, format!("{}:{}", std::process::id(), process::started(std::process::id()).unwrap_or(0)))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(std::io::stderr(), "hosting, child {}", sleeper.id()).unwrap();
    // Until the parent ends it, or ends itself.
    drop(std::io::stdin().read_line(&mut String::new()));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

#[tokio::test]
async fn a_remote_handle_looks_like_a_local_one() {
    let place = Place::new();
    let host = place.join("first").await.unwrap();
    let other = place.join("second").await.unwrap();
    assert_eq!((host.is_host(), other.is_host()), (true, false));
    let mut seen = [host.updates(), other.updates()];
    assert_eq!(told(&other, "second", "hello").await, "ada at second said hello");
    assert_eq!(told(&host, "first", "ahoy").await, "ada at first said ahoy");
    for updates in &mut seen {
        assert_eq!(within(updates.recv()).await.unwrap().line, "ada at second said hello");
        assert_eq!(within(updates.recv()).await.unwrap().line, "ada at first said ahoy");
    }
    assert_eq!(other.ask(Query::Tasks).await, host.ask(Query::Tasks).await);

    // Who acts through the socket is whose process it is, not whom it names.
    if user().is_some() {
        let bob = Actor { user: "bob".to_owned(), client: "second".to_owned() };
        assert_eq!(other.act(bob, say("hello")).await.unwrap().message, "ada at second said hello");
    }

    // An act that waits keeps neither reads nor other acts waiting.
    let waiting = other.act(actor("second"), say("hold"));
    tokio::pin!(waiting);
    let meanwhile = async { (told(&other, "second", "more").await, other.ask(Query::Tasks).await.is_ok()) };
    tokio::select! {
        answer = &mut waiting => panic!("{answer:?}"),
        more = meanwhile => assert_eq!(more, ("ada at second said more".to_owned(), true)),
    }

    // When the host lets go, those who wait are told, and the next to join is host.
    drop(host);
    within(other.lost()).await;
    let refusal = within(waiting).await.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Gone);
    assert!(refusal.message.contains("has ended"), "{refusal}");
    assert!(told(&other, "second", "late").await.starts_with("! process "));
    assert!(place.join("second").await.unwrap().is_host());
}

#[tokio::test]
async fn acts_of_one_client_keep_their_order() {
    let place = Place::new();
    let host = place.join("first").await.unwrap();
    let other = place.join("second").await.unwrap();
    let mut updates = host.updates();
    let acts = (0..10).map(|n| other.act(actor("b"), say(&n.to_string())));
    for answer in within(futures_util::future::join_all(acts)).await {
        answer.unwrap();
    }
    for n in 0..10 {
        assert_eq!(updates.recv().await.unwrap().line, format!("ada at b said {n}"));
    }
}

#[tokio::test]
async fn of_many_who_join_at_once_one_is_host() {
    let place = Place::new();
    for _ in 0..10 {
        let names = ["a", "b", "c", "d", "e", "f"];
        let all = futures_util::future::join_all(names.map(|name| place.join(name))).await;
        let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
        assert_eq!(all.iter().filter(|handle| handle.is_host()).count(), 1);
        for (handle, name) in all.iter().zip(names) {
            assert_eq!(told(handle, name, "hello").await, format!("ada at {name} said hello"));
        }
    }
}

#[tokio::test]
async fn an_attached_process_takes_over_when_the_host_is_killed() {
    let place = Place::new();
    let mut elsewhere = Elsewhere::start(&place);
    let handle = place.join("terminal").await.unwrap();
    let mut updates = handle.updates();
    assert!(!handle.is_host());
    assert_eq!(told(&handle, "terminal", "hello").await, "ada at terminal said hello");
    assert_eq!(within(updates.recv()).await.unwrap().line, "ada at terminal said hello");

    elsewhere.child.kill().unwrap();
    within(handle.lost()).await;
    // Not waited for: the lock is free although nobody has collected the dead process.
    let began = Instant::now();
    let handle = place.join("terminal").await.unwrap();
    assert!(handle.is_host());
    assert!(began.elapsed() < PATIENCE, "at once, not after a lease: {:?}", began.elapsed());
    assert_eq!(told(&handle, "terminal", "again").await, "ada at terminal said again");
    drop(elsewhere);
}

#[tokio::test]
async fn a_stopped_host_is_named_and_goes_on_when_continued() {
    let place = Place::new();
    let elsewhere = Elsewhere::start(&place);
    let pid = elsewhere.child.id();
    let handle = place.join("terminal").await.unwrap();
    elsewhere.stop(&place).await;

    let (refusal, in_flight) = tokio::join!(place.join("second"), told(&handle, "terminal", "hello"));
    let refusal = refusal.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Held);
    let since = holder(&place.state).unwrap().describe();
    assert_eq!(refusal.message, format!("{since} holds this workspace and is stopped"));
    assert!(since.starts_with(&format!("process {pid} (the child, planwright {VERSION}, since ")), "{since}");
    assert_eq!(
        refusal.next,
        format!("let it go on with `kill -CONT {pid}`, or end it with `planwright doctor --end-host`")
    );
    assert_eq!(in_flight, format!("! {}; when it goes on it may still do what was asked", refusal.message));

    elsewhere.signal(Signal::CONT);
    let second = place.join("second").await.unwrap();
    assert!(!second.is_host());
    assert_eq!(told(&second, "second", "better").await, "ada at second said better");
    assert_eq!(told(&handle, "terminal", "me too").await, "ada at terminal said me too");
}

#[tokio::test]
async fn a_stopped_host_is_ended_with_its_children_on_request() {
    let place = Place::new();
    let elsewhere = Elsewhere::start(&place);
    elsewhere.stop(&place).await;
    assert_eq!(process::state(&elsewhere.grandchild), State::Alive);
    let (ended, children) = within(end_holder(&place.state)).await.unwrap().unwrap();
    assert_eq!((ended.pid, children), (elsewhere.child.id(), 1));
    within(async {
        while process::state(&elsewhere.grandchild) != State::Gone {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(place.join("terminal").await.unwrap().is_host());
    assert_eq!(end_holder(&Place::new().state).await, Ok(None), "nobody holds another root");
}

#[tokio::test]
async fn a_note_that_names_another_process_ends_nobody() {
    let place = Place::new();
    let mut bystander = Command::new("sleep").arg("1000").spawn().unwrap();
    let mut lock = Lock::take(&place.state.lock()).unwrap().unwrap();
    let mut note = Holder::this(PathBuf::from("/nowhere"), "liar");
    note.pid = bystander.id();
    lock.note(&note).unwrap();
    assert_eq!(process::kill(&note).ok(), Some(false));
    assert_eq!(bystander.try_wait().unwrap(), None, "it lives");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn a_holder_that_does_not_answer_is_named() {
    let mute = Place::new();
    let mut lock = Lock::take(&mute.state.lock()).unwrap().unwrap();
    let socket = mute.state.folder().join("host.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    lock.note(&Holder::this(socket, "mute")).unwrap();
    let garbled = Place::new();
    let _lock = Lock::take(&garbled.state.lock()).unwrap().unwrap();
    std::fs::write(garbled.state.lock(), "{ not json").unwrap();

    let (mute, nameless) = tokio::join!(mute.join("a"), garbled.join("b"));
    let (mute, nameless) = (mute.unwrap_err(), nameless.unwrap_err());
    assert!(mute.message.ends_with("holds this workspace and does not answer"), "{mute}");
    assert!(nameless.message.ends_with("does not say which"), "{nameless}");
    assert_eq!((mute.kind, nameless.kind), (RefusalKind::Held, RefusalKind::Held));
}

#[tokio::test]
async fn another_release_is_refused_by_both_sides() {
    let place = Place::new();
    let host = place.join("first").await.unwrap();
    let mut text = String::new();
    within(place.raw("0.0.1").await.read_to_string(&mut text)).await.unwrap();
    assert_eq!(text, format!("{{\"hello\":{{\"version\":\"{VERSION}\",\"pid\":{}}}}}\n", std::process::id()));
    drop(host);

    let place = Place::new();
    let mut lock = Lock::take(&place.state.lock()).unwrap().unwrap();
    let socket = place.state.folder().join("host.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    lock.note(&Holder::this(socket, "old")).unwrap();
    let old = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"{\"hello\":{\"version\":\"0.0.1\",\"pid\":1}}\n").await.unwrap();
        stream
    };
    let (refusal, _stream) = tokio::join!(place.join("new"), old);
    let refusal = refusal.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Held);
    assert!(refusal.message.contains(&format!("with release 0.0.1; this is {VERSION}")), "{refusal}");
}

#[tokio::test]
async fn nonsense_ends_its_own_connection_only() {
    let place = Place::new();
    let host = place.join("first").await.unwrap();
    let other = place.join("second").await.unwrap();
    let nonsense: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\x00\n",
        b"{}\n",
        b"{\"act\":{\"id\":1}}\n",
        b"{\"read\":{\"id\":1,\"query\":{}}}\n",
    ];
    for bytes in nonsense {
        for greet in [false, true] {
            let mut stream = if greet {
                place.raw(VERSION).await
            } else {
                UnixStream::connect(place.state.folder().join("host.sock")).await.unwrap()
            };
            stream.write_all(bytes).await.unwrap();
            // The end of the stream: the host has closed it.
            within(stream.read_to_end(&mut Vec::new())).await.ok();
        }
    }
    assert_eq!(told(&other, "second", "still here").await, "ada at second said still here");
    assert_eq!(told(&host, "first", "me too").await, "ada at first said me too");
}

#[tokio::test]
async fn a_line_without_an_end_is_given_up() {
    let endless = tokio::io::repeat(b'x');
    let error = Lines::new(BufReader::new(endless), 100_000).next::<ToHost>().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    let cut: &[u8] = b"{\"subscribe\":{\"id\":1}}\n{\"subscr";
    let mut lines = Lines::new(cut, 100);
    assert!(matches!(lines.next().await, Ok(Some(ToHost::Subscribe { id: 1 }))));
    assert!(matches!(lines.next::<ToHost>().await, Ok(None)));
}

#[test]
fn an_answer_too_long_for_a_frame_becomes_a_refusal() {
    let message = "x".repeat(wire::FRAME);
    let line = wire::encode_answer(7, Answer::Reply(Reply { task: TaskId::new("aaaa"), message })).unwrap();
    let FromHost::Answer { id: 7, answer: Answer::Refusal(refusal) } = serde_json::from_slice(&line).unwrap() else {
        panic!("not refused")
    };
    assert!(refusal.message.contains("64000000"), "{refusal}");
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_nobody_up() {
    let place = Place::new();
    let host = place.join("first").await.unwrap();
    let mut deaf = place.raw(VERSION).await;
    deaf.write_all(&encode(&ToHost::Subscribe { id: 0 }).unwrap()).await.unwrap();
    // Updates alone never end it, they are left out.
    for n in 0..2_000 {
        host.act(actor("first"), say(&n.to_string())).await.unwrap();
    }
    let read = encode(&ToHost::Read { id: 1, query: Query::Tasks }).unwrap();
    let flood = within(async {
        loop {
            if let Err(error) = deaf.write_all(&read).await {
                return error;
            }
            assert!(matches!(host.ask(Query::Tasks).await, Ok(View::Tasks(_))));
        }
    })
    .await;
    assert_eq!(flood.kind(), io::ErrorKind::BrokenPipe, "its answers found the queue full");
    assert_eq!(told(&host, "first", "still here").await, "ada at first said still here");
}

#[tokio::test]
async fn a_start_that_fails_gives_the_lock_back() {
    let place = Place::new();
    let refusal = Refusal { kind: RefusalKind::Broken, message: "no database".to_owned(), next: "make one".to_owned() };
    let failing = |_| async { Err(refusal.clone()) };
    assert_eq!(join(&place.state, "first", failing).await.err(), Some(refusal.clone()));
    assert_eq!(holder(&place.state), None);
    assert!(place.join("second").await.unwrap().is_host());
}

#[tokio::test]
async fn what_a_killed_host_left_is_named_until_it_is_ended() {
    let place = Place::new();
    let mut first = Holder::this(PathBuf::from("/nowhere"), "first");
    (first.pid, first.started) = (u32::MAX, Some(7));
    Lock::take(&place.state.lock()).unwrap().unwrap().note(&first).unwrap();
    let refusal = Refusal { kind: RefusalKind::Broken, message: "no database".to_owned(), next: "make one".to_owned() };
    let marks = vec![format!("{}:7", u32::MAX)];
    let failing = |former: Option<Holder>| {
        let noted = lock::read(&place.state.lock()).unwrap();
        assert_eq!((former.unwrap().left_behind(), noted.left), (marks.clone(), marks.clone()));
        std::future::ready(Err(refusal.clone()))
    };
    assert!(join(&place.state, "second", failing).await.is_err());
    // The second was killed before it had ended anything, as far as the third can tell.
    let host = join(&place.state, "third", |former| {
        assert_eq!(former.unwrap().left_behind(), marks);
        std::future::ready(Ok(engine()))
    });
    let host = host.await.unwrap();
    assert_eq!(lock::read(&place.state.lock()).unwrap().left, Vec::<String>::new());
    drop(host);
}

#[tokio::test]
async fn what_has_a_host_is_not_kept_without_one() {
    let place = Place::new();
    let host = place.join("terminal").await.unwrap();
    assert_eq!(keep_unhosted(&place.state).unwrap_err().kind, RefusalKind::Held);
    std::fs::write(place.state.lock(), "no note").unwrap();
    assert!(keep_unhosted(&place.state).unwrap_err().message.starts_with("a process works"));
    drop(host);
    let unhosted = keep_unhosted(&place.state).unwrap();
    assert_eq!(Lock::take(&place.state.lock()).unwrap().map(|_| ()), None);
    // The file that a waiting process has open is gone with the folder; its lock would keep nobody out.
    std::fs::remove_file(place.state.lock()).unwrap();
    let next = Lock::take(&place.state.lock()).unwrap();
    assert!(next.is_some());
    drop((unhosted, next));
}

#[test]
fn a_state_folder_is_private_and_belongs_to_one_root() {
    let home = tempfile::tempdir().unwrap();
    let root = Path::new("/work/wonder land");
    let state = StateDir::for_root(&home.path().join("deep/er"), root).unwrap();
    let name = state.folder().file_name().unwrap().to_str().unwrap();
    assert_eq!(name.split_once('-').map(|(hash, own)| (hash.len(), own)), Some((12, "wonderland")));
    assert_eq!(std::fs::metadata(state.folder()).unwrap().permissions().mode() & 0o7777, 0o700);
    assert_eq!(StateDir::for_root(&home.path().join("deep/er"), root), Ok(state.clone()), "the same every time");
    let twin = StateDir::for_root(&home.path().join("deep/er"), Path::new("/other/wonder land")).unwrap();
    assert_ne!(twin.folder(), state.folder());

    std::fs::write(state.folder().join("root"), "/elsewhere").unwrap();
    let refusal = StateDir::for_root(&home.path().join("deep/er"), root).unwrap_err();
    assert!(refusal.message.ends_with("it belongs to /elsewhere"), "{refusal}");
    assert!(StateDir::for_root(home.path(), Path::new("/")).is_ok(), "a root without a name");
}

#[test]
fn a_long_path_moves_the_socket_to_a_private_folder() {
    let home = tempfile::tempdir().unwrap();
    let deep = home.path().join("d".repeat(90));
    let state = StateDir::for_root(&deep, Path::new("/work/lib")).unwrap();
    let (runtime, temp) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let socket = state.socket(Some(runtime.path()), temp.path()).unwrap();
    assert!(socket.starts_with(runtime.path()));
    assert_eq!(std::fs::metadata(socket.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);

    // A link that somebody laid in the way is not followed.
    let (trap, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let name = socket.parent().unwrap().file_name().unwrap();
    std::os::unix::fs::symlink(target.path(), trap.path().join(name)).unwrap();
    assert!(state.socket(Some(trap.path()), temp.path()).unwrap().starts_with(temp.path()));
    assert!(state.socket(None, trap.path()).is_err());
}
