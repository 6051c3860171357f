//! What all handlers share: the client, its facts, the root with its engine, and which file a URI names.
//!
//! Invariant: a document is known by its canonical path; two spellings of a URI, or a link to a file, are one document,
//! and the client gets back the spelling that it used. Absent: texts; `ports::Documents` has them.

use super::client::Client;
use super::commands::{Memory, holds_words, is_words_page};
use super::editor::SessionEditor;
use super::facts::ClientFacts;
use super::ground::{Ground, Workplace};
use super::open::OpenUris;
use super::parent::Seen;
use super::plan_doc::Plans;
use super::views::Views;
use crate::desk::Desk;
use crate::domain::ids::WorkspacePath;
use crate::domain::task::action::Actor;
use crate::domain::text::Encoding;
use crate::ports::{DocumentEvent, Documents, SessionId};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tower_lsp::lsp_types::{TextDocumentContentChangeEvent, TextDocumentItem, Url};

/// One `initialize` … `exit`.
pub struct Session {
    client: Client,
    ground: Arc<dyn Ground>,
    documents: Arc<dyn Documents>,
    facts: Arc<OnceLock<ClientFacts>>,
    /// Completes the wait of whoever needs the facts before there are any.
    known: watch::Sender<bool>,
    /// The editor's process, if it names one.
    process: OnceLock<Seen>,
    /// What the client wrote at `initialize`.
    said: Arc<OnceLock<Value>>,
    id: OnceLock<SessionId>,
    root: OnceLock<PathBuf>,
    place: watch::Sender<Option<Arc<dyn Workplace>>>,
    open: Mutex<OpenUris>,
    acts: watch::Sender<Acts>,
    /// What goes on beside the handlers, as long as the session lives.
    life: Mutex<Option<JoinHandle<()>>>,
    views: Views,
    commands: Memory,
    /// Changes of texts so far.
    typed: AtomicU64,
    /// Orders to this editor that are under way.
    orders: Arc<AtomicUsize>,
    plans: Plans,
}

/// What the user has done in this session, for the rule that lets tasks go on (B2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Acts {
    /// A command, a chosen action, a change of a text, or its being saved.
    pub acted: bool,
    /// A message or list that git waits for was opened: this editor may be git's.
    pub for_git: bool,
    /// A document of the workspace was opened.
    pub for_work: bool,
}

/// See [`Session::ordered`].
pub(super) struct Ordered(Arc<AtomicUsize>);

impl Drop for Ordered {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Session {
    pub(super) fn new(wire: tower_lsp::Client, said: Arc<OnceLock<Value>>, ground: Arc<dyn Ground>) -> Arc<Self> {
        let facts = Arc::new(OnceLock::new());
        Arc::new(Self {
            client: Client::new(wire, facts.clone()),
            documents: ground.documents(),
            ground,
            facts,
            known: watch::Sender::default(),
            process: OnceLock::new(),
            said,
            id: OnceLock::new(),
            root: OnceLock::new(),
            place: watch::Sender::default(),
            open: Mutex::default(),
            acts: watch::Sender::default(),
            life: Mutex::default(),
            views: Views::default(),
            commands: Memory::default(),
            typed: AtomicU64::default(),
            orders: Arc::default(),
            plans: Plans::default(),
        })
    }

    /// The client has said who it is and where it works. Everything that later messages need is known from here on;
    /// opening the root is not waited for.
    pub(super) fn initialize(self: &Arc<Self>, facts: ClientFacts, folder: Option<PathBuf>) {
        let folder = folder.unwrap_or_else(|| self.ground.working_directory());
        if let Some(root) = self.ground.root_of(&folder) {
            self.root.get_or_init(|| root);
        }
        if let Some(process) = facts.process {
            self.process.get_or_init(|| Seen::now(process));
        }
        let client = facts.client();
        self.facts.get_or_init(|| facts);
        let editor = SessionEditor::new(Arc::downgrade(self));
        self.id.get_or_init(|| self.documents.begin(&client, Arc::new(editor)));
        self.known.send_replace(true);
    }

    /// The editor's process, if it names one; waits for `initialize`.
    pub(super) async fn editor_process(&self) -> Option<Seen> {
        let mut known = self.known.subscribe();
        // The sender is held by `self`.
        let _known = known.wait_for(|known| *known).await;
        self.process.get().copied()
    }

    /// Lets this go on until the session ends.
    pub(super) fn begin(&self, life: impl Future<Output = ()> + Send + 'static) {
        let mut lives = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        // A second `initialized` begins nothing.
        lives.get_or_insert_with(|| tokio::spawn(life));
    }

    /// The wire is closed: what was asked for last is handed over, documents are closed, the engine ends in order.
    pub(super) async fn end(&self) {
        self.commands.settled().await;
        let life = self.life.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(life) = life {
            life.abort();
            // What it left half opened is dropped with it.
            let _ended = life.await;
        }
        if let Some(id) = self.id() {
            self.documents.end(id);
        }
        let place = self.place();
        if let Some(place) = place {
            place.close().await;
        }
    }

    pub(super) fn set_place(&self, place: Arc<dyn Workplace>) {
        self.place.send_replace(Some(place));
    }

    /// The parameters of `initialize` as the client wrote them.
    pub(super) fn said(&self) -> Option<&Value> {
        self.said.get()
    }

    /// How roots are opened.
    pub(super) fn ground(&self) -> &Arc<dyn Ground> {
        &self.ground
    }

    /// The editor's end of the wire.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// What the editor can do. Set from `initialize` on, before any other handler runs.
    pub fn facts(&self) -> Option<&ClientFacts> {
        self.facts.get()
    }

    /// In what the client counts columns.
    pub fn encoding(&self) -> Encoding {
        self.facts.get().map_or(Encoding::Utf16, |facts| facts.encoding)
    }

    /// What is shown without being asked for: where other parts hand in what they have to say of a file.
    pub fn views(&self) -> &Views {
        &self.views
    }

    /// What commands remember.
    pub(super) fn commands(&self) -> &Memory {
        &self.commands
    }

    /// How often a text was changed so far, by the user or for them.
    pub(super) fn typed(&self) -> u64 {
        self.typed.load(Ordering::Relaxed)
    }

    /// The plan documents that are open here, compiled.
    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    /// The open documents of this process.
    pub fn documents(&self) -> &Arc<dyn Documents> {
        &self.documents
    }

    /// This session among those of the documents. Set from `initialize` on.
    pub fn id(&self) -> Option<SessionId> {
        self.id.get().copied()
    }

    /// The canonical root. Set from `initialize` on, if the client works in a folder that exists.
    pub fn root(&self) -> Option<&Path> {
        self.root.get().map(PathBuf::as_path)
    }

    /// The root with its engine, once it is open.
    pub fn place(&self) -> Option<Arc<dyn Workplace>> {
        self.place.borrow().clone()
    }

    /// Waits for [`Self::place`]; not for handlers.
    pub async fn placed(&self) -> Arc<dyn Workplace> {
        let mut place = self.place.subscribe();
        loop {
            if let Some(place) = place.borrow_and_update().clone() {
                return place;
            }
            if place.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The snapshot of the moment; empty until the root is open.
    pub fn desk(&self) -> Arc<Desk> {
        self.place().map(|place| place.port().desks().borrow().clone()).unwrap_or_default()
    }

    /// Whoever decides here.
    pub fn actor(&self) -> Actor {
        let user = self.place().map_or_else(String::new, |place| place.user().to_owned());
        Actor { user, client: self.facts().map(ClientFacts::client).unwrap_or_default() }
    }

    /// The user gave a command or chose an action.
    pub fn acted(&self) {
        act(&self.acts);
    }

    /// What the user has done, as it changes.
    pub(super) fn acts(&self) -> watch::Receiver<Acts> {
        self.acts.subscribe()
    }

    /// Takes in what happened to a document of this session. Synchronous: to be called before anything is awaited.
    pub fn tell(&self, event: DocumentEvent) {
        let Some(id) = self.id() else { return };
        let path = event.path().clone();
        let (changed, saved) = match event {
            DocumentEvent::Changed { .. } => (true, false),
            DocumentEvent::Saved { .. } => (false, true),
            DocumentEvent::Opened { .. } | DocumentEvent::Closed { .. } => (false, false),
        };
        self.documents.tell(id, event);
        if is_written_by_us(&path) {
            return;
        }
        // A page that we made blank again has nobody's words.
        let words = || self.documents.of(id, &path).is_some_and(|document| holds_words(&document.text));
        let typed = changed && (!is_words_page(&path) || words());
        if typed {
            self.typed.fetch_add(1, Ordering::Relaxed);
        }
        if saved {
            self.acted();
        } else if typed && !self.acts.borrow().acted && self.orders.load(Ordering::Acquire) == 0 {
            // An edit of ours is none of the user's.
            self.compare(id, &path);
        }
    }

    /// A change counts as an act unless the editor loaded what another program wrote. The file is read beside the
    /// handlers; after the first act nothing is read for the next.
    fn compare(&self, id: SessionId, path: &WorkspacePath) {
        let (Some(document), Some(root)) = (self.documents.of(id, path), self.root()) else { return self.acted() };
        let (file, acts) = (root.join(path.as_str()), self.acts.clone());
        tokio::task::spawn_blocking(move || {
            let loaded = std::fs::read(file).is_ok_and(|bytes| bytes == document.text.as_bytes());
            if !loaded {
                act(&acts);
            }
        });
    }

    /// An order is being carried out here, as long as this value lives.
    pub(super) fn ordered(&self) -> Ordered {
        self.orders.fetch_add(1, Ordering::AcqRel);
        Ordered(self.orders.clone())
    }

    /// The client opens a document under this URI.
    pub(super) fn opened(&self, document: TextDocumentItem) {
        let TextDocumentItem { uri, version, text, .. } = document;
        let path = self.path_of(&uri);
        self.acts.send_if_modified(|acts| {
            let flag = if is_for_git(&uri) { &mut acts.for_git } else { &mut acts.for_work };
            !std::mem::replace(flag, true)
        });
        // Documents outside of the workspace are none of ours.
        let told = path.and_then(|path| self.lock_open().open(uri, path, version, text.into()));
        if let Some(event) = told {
            self.tell(event);
        }
    }

    /// The client closes it.
    pub(super) fn closed(&self, uri: &Url) {
        let told = self.lock_open().close(uri);
        if let Some(event) = told {
            self.tell(event);
        }
    }

    /// Takes in a change of a document under a name that is not followed. False if it is followed.
    pub(super) fn changed_beside(&self, uri: &Url, version: i32, changes: &[TextDocumentContentChangeEvent]) -> bool {
        self.lock_open().change(uri, version, changes, self.encoding())
    }

    /// The name is one that is not followed.
    pub(super) fn is_beside(&self, uri: &Url) -> bool {
        self.lock_open().is_other(uri)
    }

    /// Another name under which a file is open with a text other than this.
    pub(super) fn differs(&self, path: &WorkspacePath, text: &str) -> Option<Url> {
        self.lock_open().differs(path, text).cloned()
    }

    /// Which file of the workspace a URI names. None outside the root, and for git's own files.
    pub fn path_of(&self, uri: &Url) -> Option<WorkspacePath> {
        if let Some(path) = self.lock_open().path(uri) {
            return Some(path.clone());
        }
        let root = self.root()?;
        let named = uri.to_file_path().ok()?;
        let path = canonical(&named)?;
        let below = path.strip_prefix(root).ok()?;
        if below.components().any(|part| part.as_os_str() == ".git") {
            return None;
        }
        WorkspacePath::new(below.to_str()?).ok()
    }

    /// What the client calls a file of the workspace: as it does itself, where it has it open.
    pub fn uri_of(&self, path: &WorkspacePath) -> Option<Url> {
        if let Some(uri) = self.lock_open().followed(path) {
            return Some(uri.clone());
        }
        Url::from_file_path(self.root()?.join(path.as_str())).ok()
    }

    /// The same for any file, such as a page of a task.
    pub fn uri_of_file(&self, file: &Path) -> Option<Url> {
        let below = self.root().and_then(|root| file.strip_prefix(root).ok()?.to_str());
        let known = below.and_then(|below| self.uri_of(&WorkspacePath::new(below).ok()?));
        known.or_else(|| Url::from_file_path(file).ok())
    }

    fn lock_open(&self) -> MutexGuard<'_, OpenUris> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn act(acts: &watch::Sender<Acts>) {
    acts.send_if_modified(|acts| !std::mem::replace(&mut acts.acted, true));
}

/// With its links followed, as far as it exists; the rest of it as written.
fn canonical(path: &Path) -> Option<PathBuf> {
    let (part, found) = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(part).ok()?;
    // Joining nothing would end the path in a slash.
    Some(if rest.as_os_str().is_empty() { found } else { found.join(rest) })
}

/// Pages that the engine writes: a client that loads them again tells of a change that nobody made.
fn is_written_by_us(path: &WorkspacePath) -> bool {
    let page = matches!(path.file_name(), "task.md" | "review.md" | "timeline.md");
    let loose = matches!(path.as_str(), ".planwright/tasks.md" | ".planwright/compare.md");
    loose || (page && path.as_str().starts_with(".planwright/tasks/"))
}

/// A file of git's own: the message of a commit, the list of a rebase.
fn is_for_git(uri: &Url) -> bool {
    const NAMES: [&str; 7] = [
        "COMMIT_EDITMSG",
        "MERGE_MSG",
        "SQUASH_MSG",
        "TAG_EDITMSG",
        "NOTES_EDITMSG",
        "git-rebase-todo",
        "addp-hunk-edit.diff",
    ];
    let mut segments = uri.path_segments().into_iter().flatten();
    segments.clone().any(|part| part == ".git") || segments.next_back().is_some_and(|name| NAMES.contains(&name))
}
