//! An editor in memory: speaks framed JSON-RPC to the real server over a pipe, with the quirks of the editors that were
//! looked at.
//!
//! Invariant: nothing that the server says goes unseen. A message that no test took with [`Editor::expect`] or allowed
//! with [`Editor::allow`] fails the test at its end. Absent: a screen; the real Neovim has one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod ground;
mod hand;
mod mirror;
mod profile;
mod screen;
mod told;
mod wire;

pub use ground::{Shared, TestGround, TestPort, buffers};
pub use mirror::{Mirror, Text};
pub use profile::{Edits, Profile, Stale, Tells};
pub use screen::Screen;
pub use told::Told;
pub use wire::{frame, read_frame};

use crate::lsp::Ground;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

/// Longer than anything here takes on a busy machine; only a failing test waits for it.
const DEADLINE: Duration = Duration::from_secs(30);

/// An editor with the server at its other end.
pub struct Editor {
    shared: Arc<Shore>,
    reading: JoinHandle<()>,
    /// Completes with the exit code.
    server: Option<JoinHandle<u8>>,
    root: String,
    /// What the server answered to `initialize`.
    pub capabilities: Value,
}

/// What the reader of the wire and the test share.
struct Shore {
    state: Mutex<State>,
    arrived: Notify,
}

struct State {
    profile: Profile,
    out: Option<mpsc::UnboundedSender<Vec<u8>>>,
    mirror: Mirror,
    screen: Screen,
    unread: Vec<Value>,
    allowed: Vec<String>,
    waiting: HashMap<i64, oneshot::Sender<Result<Value, Value>>>,
    last_id: i64,
    shown: Vec<Value>,
}

impl Shore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn send(&self, message: &Value) {
        if let Some(out) = &self.out {
            // A server that has ended hears nothing, as in life.
            let _heard = out.send(frame(message));
        }
    }

    fn notify(&self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Tells of changes, with those that were held back before them.
    fn tell_changes(&mut self, uri: &str, changes: Vec<Value>) {
        let Some(open) = self.mirror.open.get_mut(uri) else { return };
        let mut all = std::mem::take(&mut open.untold);
        all.extend(changes);
        if !all.is_empty() {
            let document = json!({"uri": uri, "version": open.version});
            self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": all}));
        }
    }
}

impl Editor {
    /// Starts a server on this ground and says `initialize` and `initialized` to it.
    pub async fn start(profile: Profile, root: &Path, ground: Arc<dyn Ground>) -> Editor {
        let said = profile.initialize(&uri(root));
        let mut editor = Self::connect(profile, root, ground);
        editor.initialize(said).await;
        editor
    }

    /// A server that has been told nothing.
    pub fn connect(profile: Profile, root: &Path, ground: Arc<dyn Ground>) -> Editor {
        let (here, there) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(there);
        let server = tokio::spawn(crate::lsp::serve(reader, writer, ground));
        let (incoming, outgoing) = tokio::io::split(here);
        let mut editor = Self::over(profile, root, incoming, outgoing);
        editor.server = Some(server);
        editor
    }

    /// At a server that runs somewhere else, such as in a process, and has been told nothing.
    pub fn over(
        profile: Profile,
        root: &Path,
        incoming: impl AsyncRead + Unpin + Send + 'static,
        mut outgoing: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Editor {
        let (out, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt as _;
            while let Some(bytes) = queue.recv().await {
                if outgoing.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            // The test has closed its end, or has ended.
            let _closed = outgoing.shutdown().await;
        });
        let state = State {
            profile,
            out: Some(out),
            mirror: Mirror::default(),
            screen: Screen::default(),
            unread: Vec::new(),
            allowed: Vec::new(),
            waiting: HashMap::new(),
            last_id: 0,
            shown: Vec::new(),
        };
        let shared = Arc::new(Shore { state: Mutex::new(state), arrived: Notify::new() });
        let reading = tokio::spawn(read(incoming, shared.clone()));
        Editor { shared, reading, server: None, root: uri(root), capabilities: Value::Null }
    }

    /// Says `initialize` with these parameters, and `initialized`.
    pub async fn initialize(&mut self, said: Value) {
        let answer = self.request("initialize", said).await.unwrap();
        self.capabilities = answer["capabilities"].clone();
        let encoding = self.capabilities["positionEncoding"].as_str().unwrap_or("utf-16").to_owned();
        let mut state = self.shared.state();
        state.mirror.encoding = encoding;
        state.mirror.tick = if state.profile.stale == Stale::Pretended { 4 } else { 1 };
        drop(state);
        self.notify("initialized", json!({}));
    }

    /// What this editor does can be changed at any time.
    pub fn adjust(&self, how: impl FnOnce(&mut Profile)) {
        how(&mut self.shared.state().profile);
    }

    /// The URI of a file of the workspace.
    pub fn uri(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        self.shared.state().notify(method, params);
    }

    /// Sends any message.
    pub fn send(&self, message: &Value) {
        self.shared.state().send(message);
    }

    /// Sends a request; its answer may be waited for or not.
    pub fn begin(&self, method: &str, params: Value) -> Request {
        let mut state = self.shared.state();
        state.last_id += 1;
        let id = state.last_id;
        let (told, answer) = oneshot::channel();
        state.waiting.insert(id, told);
        state.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        Request { id, answer }
    }

    /// Sends a request and waits for its answer: the result, or the error.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, Value> {
        self.begin(method, params).answer().await
    }

    /// Gives a command.
    pub async fn command(&self, command: &str, arguments: Value) -> Result<Value, Value> {
        self.request("workspace/executeCommand", json!({"command": command, "arguments": arguments})).await
    }

    /// Opens a document with this text.
    pub fn open(&self, path: &str, language: &str, text: &str) {
        let uri = self.uri(path);
        let mut state = self.shared.state();
        let version = state.profile.first_version;
        let open = Text::new(version, text);
        state.mirror.open.insert(uri.clone(), open);
        let item = json!({"uri": uri, "languageId": language, "version": version, "text": text});
        state.notify("textDocument/didOpen", json!({"textDocument": item}));
    }

    /// The user replaces bytes.
    pub fn replace(&self, path: &str, bytes: std::ops::Range<usize>, new: &str) {
        let uri = self.uri(path);
        let mut state = self.shared.state();
        let text = state.mirror.open[&uri].text.clone();
        let (start, end) = (state.mirror.position(&text, bytes.start), state.mirror.position(&text, bytes.end));
        let edit = json!({"range": {"start": start, "end": end}, "newText": new});
        let changes = state.mirror.edit(&uri, &[edit]);
        state.tell_changes(&uri, changes);
    }

    /// The user replaces bytes, and the editor holds the change back until [`Self::tell`] or the next change.
    pub fn replace_untold(&self, path: &str, bytes: std::ops::Range<usize>, new: &str) {
        let uri = self.uri(path);
        let mut state = self.shared.state();
        let text = state.mirror.open[&uri].text.clone();
        let (start, end) = (state.mirror.position(&text, bytes.start), state.mirror.position(&text, bytes.end));
        let edit = json!({"range": {"start": start, "end": end}, "newText": new});
        let changes = state.mirror.edit(&uri, &[edit]);
        state.mirror.open.get_mut(&uri).unwrap().untold.extend(changes);
    }

    /// Tells of what was held back.
    pub fn tell(&self, path: &str) {
        let uri = self.uri(path);
        self.shared.state().tell_changes(&uri, Vec::new());
    }

    /// The user saves. The file is not written; whoever wants that does it first.
    pub fn save(&self, path: &str) {
        self.notify("textDocument/didSave", json!({"textDocument": {"uri": self.uri(path)}}));
    }

    /// The user closes.
    pub fn close(&self, path: &str) {
        let uri = self.uri(path);
        let mut state = self.shared.state();
        state.mirror.open.remove(&uri);
        state.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }

    /// What the user sees of an open document.
    pub fn text(&self, path: &str) -> Option<String> {
        self.shared.state().mirror.open.get(&self.uri(path)).map(|open| open.text.clone())
    }

    /// Its number.
    pub fn version(&self, path: &str) -> Option<i32> {
        self.shared.state().mirror.open.get(&self.uri(path)).map(|open| open.version)
    }

    /// The range of a piece of an open text, as the protocol writes it.
    pub fn range(&self, path: &str, piece: &str) -> Value {
        let state = self.shared.state();
        let text = &state.mirror.open[&self.uri(path)].text;
        let at = text.find(piece).unwrap();
        let (start, end) = (state.mirror.position(text, at), state.mirror.position(text, at + piece.len()));
        json!({"start": start, "end": end})
    }

    /// Documents that the server had shown, oldest first.
    pub fn shown(&self) -> Vec<Value> {
        self.shared.state().shown.clone()
    }

    /// Takes the oldest unread message of this method; waits for it. Its parameters.
    pub async fn expect(&self, method: &str) -> Value {
        self.expect_where(method, |_| true).await
    }

    /// The oldest unread one whose parameters are so. Those before it stay unread.
    pub async fn expect_where(&self, method: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let looking = async {
            loop {
                let arrived = self.shared.arrived.notified();
                tokio::pin!(arrived);
                // From here on an arrival is not missed.
                arrived.as_mut().enable();
                {
                    let mut state = self.shared.state();
                    let found = state.unread.iter().position(|said| said["method"] == method && is_so(&said["params"]));
                    if let Some(at) = found {
                        return state.unread.remove(at)["params"].take();
                    }
                }
                arrived.await;
            }
        };
        match tokio::time::timeout(DEADLINE, looking).await {
            Ok(params) => params,
            Err(_) => panic!("the server did not say `{method}`; unread: {:#?}", self.shared.state().unread),
        }
    }

    /// Messages of this method may go unread.
    pub fn allow(&self, method: &str) {
        self.shared.state().allowed.push(method.to_owned());
    }

    /// The views may go unread: for tests of something else.
    pub fn allow_views(&self) {
        const VIEWS: [&str; 6] = [
            "window/logMessage",
            "textDocument/publishDiagnostics",
            "window/workDoneProgress/create",
            "$/progress",
            "workspace/codeLens/refresh",
            "workspace/inlayHint/refresh",
        ];
        VIEWS.iter().for_each(|method| self.allow(method));
    }

    /// What arrived and was neither taken nor allowed.
    pub fn unread(&self) -> Vec<Value> {
        let state = self.shared.state();
        let strange = |said: &&Value| !state.allowed.iter().any(|method| said["method"] == method.as_str());
        state.unread.iter().filter(strange).cloned().collect()
    }

    /// Closes the editor's end of the pipe without a word.
    pub fn hang_up(&self) {
        self.shared.state().out = None;
    }

    /// Waits for the server to end by itself. Its exit code.
    pub async fn code(&mut self) -> u8 {
        let server = self.server.take().unwrap();
        tokio::time::timeout(DEADLINE, server).await.expect("the server does not end").unwrap()
    }

    /// Says `shutdown` and `exit`, with the pipe held open. The exit code.
    pub async fn quit(mut self) -> u8 {
        self.request("shutdown", Value::Null).await.unwrap();
        self.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
        self.code().await
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.reading.abort();
        if let Some(server) = &self.server {
            server.abort();
        }
        let unread = self.unread();
        if !std::thread::panicking() {
            assert!(unread.is_empty(), "the server said what the test did not expect: {unread:#?}");
            let faults = self.screen(|screen| screen.faults.clone());
            assert!(faults.is_empty(), "the server said what no client can use: {faults:#?}");
        }
    }
}

/// A request of the editor's.
pub struct Request {
    /// For `$/cancelRequest`.
    pub id: i64,
    answer: oneshot::Receiver<Result<Value, Value>>,
}

impl Request {
    /// Waits for the answer.
    pub async fn answer(self) -> Result<Value, Value> {
        tokio::time::timeout(DEADLINE, self.answer)
            .await
            .expect("the server does not answer")
            .expect("the server has ended")
    }
}

fn uri(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    format!("file://{}", path.display())
}

/// Reads what the server says, and answers its requests as the profile does.
async fn read(mut incoming: impl AsyncRead + Unpin, shared: Arc<Shore>) {
    while let Some(message) = read_frame(&mut incoming).await {
        let id = message.get("id").cloned();
        if message.get("method").is_none() {
            let told = id.and_then(|id| id.as_i64()).and_then(|id| shared.state().waiting.remove(&id));
            if let Some(told) = told {
                let answer = match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
                // Whoever asked may not wait.
                let _gone = told.send(answer);
            }
            continue;
        }
        if let Some(id) = id {
            reply(&shared, id, &message);
        }
        {
            let mut state = shared.state();
            let State { screen, mirror, profile, unread, .. } = &mut *state;
            if !screen.take(&message, mirror, profile) {
                unread.push(message);
            }
        }
        shared.arrived.notify_waiters();
    }
    // Nobody answers any more.
    shared.state().waiting.clear();
}

fn reply(shared: &Arc<Shore>, id: Value, message: &Value) {
    let mut state = shared.state();
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    match message["method"].as_str().unwrap_or_default() {
        "workspace/applyEdit" => {
            let edit = message["params"]["edit"].clone();
            apply(shared, &mut state, id, &edit);
        }
        "window/showDocument" if state.profile.shows_documents => {
            state.shown.push(message["params"].clone());
            state.send(&result(json!({"success": true})));
        }
        method if state.profile.knows.contains(&method) => state.send(&result(Value::Null)),
        method => {
            let error = json!({"code": -32601, "message": format!("{method} is not known here")});
            state.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    }
}

/// Edits of a `WorkspaceEdit`, by document, with the version they are meant for.
fn parts(edit: &Value) -> Vec<(String, Option<i64>, Vec<Value>)> {
    let by_uri = edit["changes"].as_object().into_iter().flatten();
    let plain = by_uri.map(|(uri, edits)| (uri.clone(), None, edits.as_array().cloned().unwrap_or_default()));
    let versioned = edit["documentChanges"].as_array().into_iter().flatten().map(|part| {
        let document = &part["textDocument"];
        let uri = document["uri"].as_str().unwrap_or_default().to_owned();
        (uri, document["version"].as_i64(), part["edits"].as_array().cloned().unwrap_or_default())
    });
    plain.chain(versioned).collect()
}

/// Moves an edit one line down.
fn lower(edit: &mut Value) {
    for end in ["start", "end"] {
        let line = &mut edit["range"][end]["line"];
        *line = json!(line.as_u64().unwrap() + 1);
    }
}

fn apply(shared: &Arc<Shore>, state: &mut State, id: Value, edit: &Value) {
    let answer = |applied: bool| json!({"jsonrpc": "2.0", "id": id, "result": {"applied": applied}});
    let parts = parts(edit);
    let stale = parts.iter().any(|(uri, version, _)| match (state.mirror.open.get(uri), version) {
        (Some(open), Some(version)) => match state.profile.stale {
            Stale::Pretended => *version > 0 && *version < i64::from(open.version),
            Stale::Refused => *version != i64::from(open.version),
        },
        (Some(_), None) => false,
        (None, _) => true,
    });
    if stale {
        return state.send(&answer(state.profile.stale == Stale::Pretended));
    }
    match state.profile.edits {
        Edits::Pretended => return state.send(&answer(true)),
        Edits::Refused => return state.send(&answer(false)),
        Edits::Ignored => return,
        Edits::Made | Edits::Denied | Edits::Misplaced | Edits::Late(_) => {}
    }
    let applied = answer(state.profile.edits != Edits::Denied);
    let tells = if let Edits::Late(_) = state.profile.edits { Tells::Before } else { state.profile.tells };
    let mut later = Vec::new();
    for (uri, _, mut edits) in parts {
        if state.profile.edits == Edits::Misplaced {
            edits.iter_mut().for_each(lower);
        }
        let changes = state.mirror.edit(&uri, &edits);
        if let Some(open) = state.mirror.open.get_mut(&uri) {
            open.untold.extend(changes);
        }
        match tells {
            Tells::Before => state.tell_changes(&uri, Vec::new()),
            Tells::After => later.push(uri),
            Tells::WithTheNext => {}
        }
    }
    let wait = match state.profile.edits {
        Edits::Late(wait) => wait,
        _ => {
            state.send(&applied);
            state.profile.debounce
        }
    };
    let late = matches!(state.profile.edits, Edits::Late(_)).then_some(applied);
    let shared = shared.clone();
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        let mut state = shared.state();
        if let Some(answer) = late {
            state.send(&answer);
        }
        for uri in later {
            state.tell_changes(&uri, Vec::new());
        }
    });
}
