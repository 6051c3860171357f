//! The seams of planwright: what the engine needs from the world, in one file.
//!
//! Invariant: plain domain types in and out; no port knows another. Each has a real implementation (its folder) and
//! an in-memory one (`testing`). Absent: `Secrets` and `Notice`, whose turn comes with the editors' own stores.

use crate::domain::agent::dialogue::{ModelFault, ModelInfo, ModelReply, ModelRequest};
use crate::domain::change::{Conflict, Entry, FileChange, HunkStanding};
use crate::domain::connect;
use crate::domain::ids::{ContentHash, EffectId, HunkId, TaskId, Time, TraceId, WorkspacePath};
use crate::domain::plan::{Command, Rule};
use crate::domain::problem::Replacement;
use crate::domain::symbols::{FileSymbols, Reference, SymbolTable, SyntaxError};
use crate::domain::task::event::{Event, Recorded};
use crate::domain::task::facts::{Binding, RunOutcome, Rung};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A boxed future: the ports are used as trait objects.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

// ---------------------------------------------------------------------------------------------------------------
// Clock

/// Time and randomness.
pub trait Clock: Send + Sync {
    /// Now, UTC.
    fn now(&self) -> Time;
    /// 128 fresh random bits, for ids.
    fn fresh(&self) -> u128;
    /// Completes after so long.
    fn sleep(&self, span: Duration) -> Fut<'static, ()>;
}

// ---------------------------------------------------------------------------------------------------------------
// Store

/// How surely an append must have reached the disk before the effect starts (L4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Survives a kill of the process, not a power cut.
    Process,
    /// Synced: outside effects, writes to the user's files, human decisions.
    Disk,
}

/// Why the store could not do as told.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StoreFault {
    /// Another writer appended first. Only a broken lock makes this possible.
    #[error("the journal of {task} has moved on to {found}, expected {expected}")]
    Moved {
        /// Whose journal.
        task: TaskId,
        /// The caller's last sequence number.
        expected: u64,
        /// The journal's.
        found: u64,
    },
    /// The database was written by a newer release.
    #[error(
        "this database was written by a newer planwright (schema {found}, this one knows {known}); it is open read-only"
    )]
    Newer {
        /// `user_version` of the file.
        found: u32,
        /// Of this release.
        known: u32,
    },
    /// No such task, blob or snapshot.
    #[error("nothing is stored under {0}")]
    Missing(String),
    /// The disk, SQLite or the file's content.
    #[error("the store failed: {0}")]
    Broken(String),
}

/// A task's snapshot: the state as JSON after `seq` events. A cache; the journal is the truth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Events folded into it.
    pub seq: u64,
    /// `Task` as JSON, with the format number inside.
    pub state: String,
}

/// The journal, its snapshots, the payload blobs and small memories.
pub trait Store: Send + Sync {
    /// Ids of all tasks in the order of their first event.
    fn tasks(&self) -> Fut<'_, Result<Vec<TaskId>, StoreFault>>;
    /// Appends in one transaction, if the journal still ends at `after` (0 = empty). Returns the new last number.
    fn append<'a>(
        &'a self,
        task: &'a TaskId,
        after: u64,
        at: Time,
        events: &'a [Event],
        how: Durability,
    ) -> Fut<'a, Result<u64, StoreFault>>;
    /// Events with a number above `after`, in order, upcast to today's versions.
    fn events<'a>(&'a self, task: &'a TaskId, after: u64) -> Fut<'a, Result<Vec<Recorded>, StoreFault>>;
    /// The newest snapshot, if one is stored and readable.
    fn snapshot<'a>(&'a self, task: &'a TaskId) -> Fut<'a, Result<Option<Snapshot>, StoreFault>>;
    /// Replaces the task's snapshot.
    fn keep_snapshot<'a>(&'a self, task: &'a TaskId, snapshot: Snapshot) -> Fut<'a, Result<(), StoreFault>>;
    /// Stores bytes under their hash; storing them again is free.
    fn put_blob(&self, bytes: Vec<u8>) -> Fut<'_, Result<ContentHash, StoreFault>>;
    /// Reads them back and checks the hash.
    fn blob<'a>(&'a self, hash: &'a ContentHash) -> Fut<'a, Result<Vec<u8>, StoreFault>>;
    /// A small value kept per workspace (what a model's server refused, which tool form works).
    fn remember<'a>(&'a self, key: &'a str, value: String) -> Fut<'a, Result<(), StoreFault>>;
    /// Reads it.
    fn recall<'a>(&'a self, key: &'a str) -> Fut<'a, Result<Option<String>, StoreFault>>;
}

// ---------------------------------------------------------------------------------------------------------------
// Workspace

/// One file as the walk sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Listed {
    /// Where.
    pub path: WorkspacePath,
    /// Bytes.
    pub size: u64,
}

/// Why a file is not read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadRefusal {
    /// Not UTF-8.
    #[error("{0} is not UTF-8 text; planwright changes only UTF-8 files")]
    NotUtf8(WorkspacePath),
    /// A NUL byte among the first 8,000.
    #[error("{0} is a binary file")]
    Binary(WorkspacePath),
    /// Over the 10 MB limit.
    #[error("{path} has {size} bytes; the limit is {limit}")]
    TooLarge {
        /// Which.
        path: WorkspacePath,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A directory, socket, device.
    #[error("{0} is not a regular file")]
    NotAFile(WorkspacePath),
    /// A symbolic link whose target lies outside the root.
    #[error("{0} is a link that leads out of the workspace")]
    Outside(WorkspacePath),
    /// A link, or a path through one, to what no tool reads or writes.
    #[error("{path} leads to {target}, which no tool reads or writes")]
    Protected {
        /// Which.
        path: WorkspacePath,
        /// Where it leads.
        target: WorkspacePath,
    },
    /// The operating system refused.
    #[error("{path} cannot be read: {reason}")]
    Failed {
        /// Which.
        path: WorkspacePath,
        /// In the system's words.
        reason: String,
    },
}

/// Why a file was not written. In every case the user's bytes are as they were.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteRefusal {
    /// The path does not hold what the decision was made on.
    #[error("{path} has changed since it was read")]
    Changed {
        /// Which.
        path: WorkspacePath,
        /// What stands there.
        found: ContentHash,
    },
    /// It cannot be read safely.
    #[error(transparent)]
    Unreadable(ReadRefusal),
    /// The operating system refused.
    #[error("{path} cannot be written: {reason}")]
    Failed {
        /// Which.
        path: WorkspacePath,
        /// In the system's words.
        reason: String,
    },
}

/// A page that belongs to no task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoosePage {
    /// Where a goal is written by whoever has no other place to write it.
    Goal,
    /// The same for all other words that a command asks for.
    Words,
    /// All tasks.
    Tasks,
    /// Two revisions of a plan.
    Compare,
}

impl LoosePage {
    /// Below `.planwright`.
    pub fn name(self) -> &'static str {
        match self {
            LoosePage::Goal => "goal.md",
            LoosePage::Words => "words.md",
            LoosePage::Tasks => "tasks.md",
            LoosePage::Compare => "compare.md",
        }
    }
}

/// What stands at the path of a write that its process did not live to see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mended {
    /// Now.
    pub found: Result<ContentHash, ReadRefusal>,
    /// What a person must hear: texts that were put back, or are kept beside.
    pub said: Vec<String>,
}

/// The user's files below one root.
pub trait Workspace: Send + Sync {
    /// The canonical root.
    fn root(&self) -> &Path;
    /// Where a task's binding stands now.
    fn binding(&self) -> Fut<'_, Binding>;
    /// Unignored files, sorted (`.gitignore`, `.planwrightignore`, and never `.git` or `.planwright`).
    fn list(&self) -> Fut<'_, Vec<Listed>>;
    /// What stands at a path. A path that names nothing is `Entry::Absent`, not an error.
    fn read<'a>(&'a self, path: &'a WorkspacePath) -> Fut<'a, Result<Entry, ReadRefusal>>;
    /// The path that a read or write of this one reaches, links followed; itself where there are none or nothing can be
    /// said. Rights that hold for a name must hold for this too.
    fn resolved<'a>(&'a self, path: &'a WorkspacePath) -> Fut<'a, WorkspacePath> {
        Box::pin(std::future::ready(path.clone()))
    }
    /// Somebody else is in the middle of changing many files (git, while it holds its index): what stands there now is
    /// no state that anybody wanted.
    fn moving(&self) -> Fut<'_, bool> {
        Box::pin(std::future::ready(false))
    }
    /// Replaces `before` by `after`, or touches nothing. The displaced bytes are compared after the exchange, so that
    /// what somebody saved in between is not lost.
    fn write<'a>(
        &'a self,
        path: &'a WorkspacePath,
        before: &'a Entry,
        after: &'a Entry,
    ) -> Fut<'a, Result<(), WriteRefusal>>;
    /// Brings a killed write of these two to its end: what somebody saved in that moment is put back where it was, a
    /// torn text is completed, what is nobody's is removed. Doing it again changes nothing.
    fn mend<'a>(
        &'a self,
        path: &'a WorkspacePath,
        _before: &'a ContentHash,
        _after: &'a ContentHash,
    ) -> Fut<'a, Mended> {
        Box::pin(async move { Mended { found: self.read(path).await.map(|entry| entry.hash()), said: Vec::new() } })
    }
    /// Writes a file of the task folder, `tasks/<id>/<name>` below `.planwright` (or below the state directory, where
    /// the workspace cannot be written). Returns its absolute path.
    fn write_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>>;
    /// The same, if `expected` stands there. What a person saved since stays: `Changed`, and nothing is touched.
    fn replace_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        expected: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>>;
    /// Reads it; `None` when it is not there.
    fn read_page<'a>(&'a self, task: &'a TaskId, name: &'a str) -> Fut<'a, Result<Option<String>, ReadRefusal>>;
    /// Where `write_page` puts it.
    fn page_path(&self, task: &TaskId, name: &str) -> PathBuf;
    /// Writes a page of no task, whatever stands there. Returns its absolute path. Never elsewhere than below
    /// `.planwright`: an editor knows it by that name.
    fn write_loose<'a>(&'a self, page: LoosePage, text: &'a str) -> Fut<'a, Result<PathBuf, WriteRefusal>>;
    /// Reads it; `None` when it is not there.
    fn read_loose(&self, page: LoosePage) -> Fut<'_, Result<Option<String>, ReadRefusal>>;
}

// ---------------------------------------------------------------------------------------------------------------
// Syntax

/// A file's text handed to the syntax port.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path decides the language.
    pub path: WorkspacePath,
    /// Its text.
    pub text: Arc<str>,
}

/// What one rule wants to replace in one file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileEdits {
    /// Which file.
    pub path: WorkspacePath,
    /// In the order of the text.
    pub edits: Vec<MarkedEdit>,
}

/// A replacement, and why it may be wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MarkedEdit {
    /// What.
    pub edit: Replacement,
    /// `None` = certain; else the reason for the doubt (kept out of "accept all").
    pub doubt: Option<String>,
}

/// Why a rule cannot be carried out; a message with its next step.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct RuleRefusal {
    /// What is wrong and what to do.
    pub message: String,
    /// Names that were meant, perhaps.
    pub candidates: Vec<String>,
}

/// Syntax trees, without showing one.
pub trait Syntax: Send + Sync {
    /// Definitions and mentions of one text. A file of an unknown language has none.
    fn outline(&self, source: &Source) -> FileSymbols;
    /// Error and missing nodes; empty for an unknown language.
    fn errors(&self, source: &Source) -> Vec<SyntaxError>;
    /// The workspace's table as of now.
    fn table(&self) -> SymbolTable;
    /// Where an identifier is used (not in strings and comments).
    fn references(&self, sources: &[Source], name: &str) -> Vec<Reference>;
    /// Edits of a `rename` or `rewrite` rule over these texts. A template is not its business.
    fn transform(&self, sources: &[Source], rule: &Rule) -> Result<Vec<FileEdits>, RuleRefusal>;
    /// Ranges of the imports (`use …`) of a text.
    fn imports(&self, source: &Source) -> Vec<std::ops::Range<usize>>;
    /// A version that changes with grammar and queries: part of the digest.
    fn version(&self) -> String;
}

// ---------------------------------------------------------------------------------------------------------------
// Model

/// Called with text as it streams. Never journaled (invariant 11).
pub type Deltas = Arc<dyn Fn(&str) + Send + Sync>;

/// A language model.
pub trait Model: Send + Sync {
    /// What is configured; `None` = no model.
    fn info(&self) -> Option<ModelInfo>;
    /// How one is connected, said where there is none.
    fn connect(&self) -> String {
        connect::how(None)
    }
    /// One exchange with all its retries. Dropping the future cancels the request.
    fn complete(&self, request: ModelRequest, deltas: Deltas) -> Fut<'_, Result<ModelReply, ModelFault>>;
}

// ---------------------------------------------------------------------------------------------------------------
// Arena

/// Where a command runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A view: the user's files with these entries laid over them.
    View(Vec<(WorkspacePath, Entry)>),
    /// The workspace itself: approved outside effects only.
    Workspace,
}

/// A command to run.
#[derive(Clone, Debug)]
pub struct RunOrder {
    /// Whose (names the copy's folder).
    pub task: TaskId,
    /// Journal id.
    pub effect: EffectId,
    /// What.
    pub command: Command,
    /// Where.
    pub stage: Stage,
    /// Wall time; the whole process tree is killed at its end.
    pub timeout: Duration,
    /// Whether what it writes in the view is wanted; if not, it is dropped unread.
    pub keeps: bool,
    /// `PLANWRIGHT_IDEMPOTENCY_KEY`, for outside effects.
    pub key: Option<String>,
    /// For `TRACEPARENT`.
    pub trace: TraceId,
}

/// Why a command could not even be started.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArenaFault {
    /// The program is not there.
    #[error("the program `{0}` was not found on PATH; install it or name another command in the plan")]
    NoProgram(String),
    /// The view could not be made.
    #[error("the view could not be made: {0}")]
    View(String),
    /// The system refused.
    #[error("the command could not be started: {0}")]
    Start(String),
}

/// Runs commands.
pub trait Arena: Send + Sync {
    /// How well this machine isolates.
    fn rung(&self) -> Rung;
    /// Runs to the end. Dropping the future kills the whole tree.
    fn run(&self, order: RunOrder, output: Deltas) -> Fut<'_, Result<RunOutcome, ArenaFault>>;
    /// Formats one text with the configured formatter of its language: text in, text out, nothing else. `None` = no
    /// formatter, or it failed (the text stays as it is).
    fn format<'a>(&'a self, path: &'a WorkspacePath, text: &'a str) -> Fut<'a, Option<String>>;
    /// The hash of the view these entries give, without running anything.
    fn view(&self, overlay: Vec<(WorkspacePath, Entry)>) -> Fut<'_, Result<ContentHash, ArenaFault>>;
}

// ---------------------------------------------------------------------------------------------------------------
// Documents and editors

/// An editor session: one `initialize` … `exit`. Counted by the process that has the documents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SessionId(pub u64);

/// What an editor says of one of its documents. Paths are canonical and below the root; others are not told of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentEvent {
    /// It is open now, with this text, saved or not.
    Opened {
        /// Which.
        path: WorkspacePath,
        /// The client's number for the text.
        version: i32,
        /// The whole text.
        text: Arc<str>,
    },
    /// It changed.
    Changed {
        /// Which.
        path: WorkspacePath,
        /// The number of the text afterwards.
        version: i32,
        /// In order, each meant on the text that the one before it left.
        changes: Vec<DocumentChange>,
    },
    /// Its text was written to disk.
    Saved {
        /// Which.
        path: WorkspacePath,
    },
    /// It is no longer open; what was not saved is gone.
    Closed {
        /// Which.
        path: WorkspacePath,
    },
}

impl DocumentEvent {
    /// Which document.
    pub fn path(&self) -> &WorkspacePath {
        match self {
            DocumentEvent::Opened { path, .. }
            | DocumentEvent::Changed { path, .. }
            | DocumentEvent::Saved { path }
            | DocumentEvent::Closed { path } => path,
        }
    }
}

/// One change of a document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentChange {
    /// These bytes.
    Edit(Replacement),
    /// The whole text: a gap, over which no spot is carried.
    Whole(String),
}

/// A document as a session has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// Whose.
    pub session: SessionId,
    /// The client's number.
    pub version: i32,
    /// Its text.
    pub text: Arc<str>,
}

/// Told of every event, after it was taken in. Called in the order of the events and must not block.
pub type Listener = Arc<dyn Fn(SessionId, &DocumentEvent) + Send + Sync>;

/// The open documents of all sessions of this process. Synchronous, because order is everything: an event is taken in
/// before the next message of the client is looked at.
pub trait Documents: Send + Sync {
    /// A session begins. `editor` carries out decisions in its documents.
    fn begin(&self, client: &str, editor: Arc<dyn Editor>) -> SessionId;
    /// It ended; all of its documents are closed.
    fn end(&self, session: SessionId);
    /// Takes an event in: text, version, and the spots of what is watched at this path.
    fn tell(&self, session: SessionId, event: DocumentEvent);
    /// Hears of every document that is open, as if it were opened now, then of every event: none is left out in between
    /// and none told twice.
    fn listen(&self, listener: Listener);
    /// A document as one session has it.
    fn of(&self, session: SessionId, path: &WorkspacePath) -> Option<Document>;
    /// As the session has it that opened or changed it last.
    fn newest(&self, path: &WorkspacePath) -> Option<Document>;
    /// The session's text is not its client's any more: a change of it did not fit. Until it is sent as a whole.
    fn is_astray(&self, _session: SessionId, _path: &WorkspacePath) -> bool {
        false
    }
    /// Every path that some session has open.
    fn paths(&self) -> Vec<WorkspacePath>;
    /// From now on carries the spots of these changes through every edit of the path; replaces what was watched there.
    /// A change that is watched already keeps its spots.
    fn watch(&self, path: &WorkspacePath, changes: &[Arc<FileChange>]);
    /// Hunks were lost there in a text too long to be searched while its client waits. Until [`Documents::seek`] they
    /// are touched.
    fn owes(&self, _path: &WorkspacePath) -> bool {
        false
    }
    /// Looks for those. Takes as long as it takes.
    fn seek(&self, _path: &WorkspacePath) {}
    /// An edit that makes this order is about to be put to the session: its text is known however the client tells of
    /// it, alone, in parts, or together with what was typed. Documents that carry no spots need not know.
    fn announce(&self, _session: SessionId, _order: &EditorOrder) {}
    /// Where the hunks of a change stand in the newest text: by carried spots where it is watched, else by the text
    /// alone. `None` where nobody has the file open.
    fn standings(&self, change: &FileChange) -> Option<Standings>;
    /// The same in one session's text.
    fn standings_of(&self, session: SessionId, change: &FileChange) -> Option<Standings>;
    /// Whoever carries out decisions in this document: this session where it has it open, else the one that opened or
    /// changed it last.
    fn editor(&self, path: &WorkspacePath, session: Option<SessionId>) -> Option<(SessionId, Arc<dyn Editor>)>;
}

/// Where hunks stand in one version of an open document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standings {
    /// The document they were read from.
    pub document: Document,
    /// In the order of the change's hunks.
    pub hunks: Vec<HunkStanding>,
}

/// A decision to be carried out in an open document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EditorOrder {
    /// Whose hunks.
    pub change: FileChange,
    /// Hunks to put in.
    pub put: Vec<HunkId>,
    /// Hunks to take out.
    pub take: Vec<HunkId>,
    /// What the edit is called where the client shows it.
    pub label: String,
    /// Afterwards nothing more is sent to the client: whoever waited has been told that it was not seen, and may decide
    /// otherwise. Set on the way to another process; within one, [`SENDING`] from the start is the end.
    pub until: Option<SystemTime>,
}

/// How long an editor may go on sending edits for one order, counted from when it was given.
pub const SENDING: Duration = Duration::from_secs(8);

/// Why the text of an open document is not as decided. Nothing outside the hunks was asked to change.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditorFault {
    /// Nobody has it open any more.
    #[error("{0} is no longer open in the editor; decide again")]
    NotOpen(WorkspacePath),
    /// The hunks do not fit the text.
    #[error(transparent)]
    Conflict(Conflict),
    /// The client said that it did not apply the edit.
    #[error("{path}: the editor did not apply the edit: {reason}; the hunk stays open")]
    Refused {
        /// Which.
        path: WorkspacePath,
        /// In the client's words.
        reason: String,
    },
    /// It said nothing, or that it did, and its text does not show it.
    #[error("{path}: the editor's text does not show the edit; the hunk stays open, decide again")]
    NotSeen {
        /// Which.
        path: WorkspacePath,
    },
    /// It was given an edit and has said nothing yet; the edit may still be made, and nothing is sent on top of it.
    #[error(
        "{editor} has not answered an edit of {path} for {waited} s; answer what it asks, or wait {left} s, then decide \
         again"
    )]
    Unanswered {
        /// Which.
        path: WorkspacePath,
        /// The client's name.
        editor: String,
        /// Seconds since it was given the edit.
        waited: u64,
        /// Seconds after which it counts as lost.
        left: u64,
    },
    /// Its text changed, and not as it was asked to.
    #[error(
        "{path}: the editor changed it in another way than it was asked to; undo that in the editor, then decide again"
    )]
    Misapplied {
        /// Which.
        path: WorkspacePath,
    },
}

/// Carries out decisions in the documents of one session, one edit in flight.
pub trait Editor: Send + Sync {
    /// Makes the edit and waits until the document's text shows it, at most about two seconds.
    fn carry_out(&self, order: EditorOrder) -> Fut<'_, Result<(), EditorFault>>;
}
