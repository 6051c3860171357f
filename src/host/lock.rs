//! The lock that makes a process the host of a root, and the note that says who has it.
//!
//! Invariant: the kernel's `flock` alone decides who is host; it is freed at death, at once, and a stopped process
//! keeps it (a lease would let two act, as a trial showed). The note in the file is for people and for finding the
//! socket; it may be stale and is never trusted as proof. Absent: waiting.

use super::process;
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of a note at most; each former host that it carries takes some twenty.
const NOTE: usize = 100_000;

/// Who holds the lock, as it wrote of itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// When that process started, in clock ticks since boot: with the pid it names one process for good.
    pub started: Option<u64>,
    /// Where it listens.
    pub socket: PathBuf,
    /// `terminal`, or an editor's name and version.
    pub client: String,
    /// Its release.
    pub version: String,
    /// When it took the lock, milliseconds since the epoch.
    pub since: u64,
    /// Marks of earlier hosts whose commands it has not ended yet. They stay in the note until it has, because it may
    /// be killed before.
    #[serde(default)]
    pub left: Vec<String>,
    /// Processes that told it of open documents and are attached still. Whoever takes over hears them before anything
    /// is written below what their editors show.
    #[serde(default)]
    pub editors: Vec<Editor>,
}

/// A process that has documents open: pid, and when it started.
pub type Editor = (u32, Option<u64>);

impl Holder {
    /// This process.
    pub(super) fn this(socket: PathBuf, client: &str) -> Self {
        let pid = std::process::id();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            pid,
            started: process::started(pid),
            socket,
            client: client.to_owned(),
            version: super::VERSION.to_owned(),
            since: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            left: Vec::new(),
            editors: Vec::new(),
        }
    }

    /// The mark that its commands carry.
    pub(super) fn mark(&self) -> String {
        format!("{}:{}", self.pid, self.started.unwrap_or(0))
    }

    /// Marks whose commands nobody looks after once this holder has let go: what it took over and, if it is dead, its
    /// own.
    pub fn left_behind(&self) -> Vec<String> {
        let mut marks = self.left.clone();
        if !self.lives() {
            marks.push(self.mark());
        }
        marks
    }

    /// The process that wrote the note still runs.
    pub fn lives(&self) -> bool {
        self.started.is_some() && process::started(self.pid) == self.started
    }

    /// One line for a person: who, and since when.
    pub fn describe(&self) -> String {
        let since = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(self.since));
        format!("process {} ({}, planwright {}, since {since})", self.pid, self.client, self.version)
    }
}

/// The lock, held while this value lives.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, if nobody has it.
    pub(super) fn take(path: &Path) -> io::Result<Option<Self>> {
        // Never truncated here: the note of the process that has the lock stands in it. Closed on exec by std, so no
        // child can keep the lock.
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            // `clean` may have removed the file between the opening and the lock; then it keeps nobody out.
            Ok(()) => Ok(is_at(&file, path).then_some(Self { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Says who holds it. Blanks cover what a longer note leaves, so that a kill before the cut loses nothing.
    pub(super) fn note(&mut self, holder: &Holder) -> io::Result<()> {
        let mut text = serde_json::to_vec(holder)?;
        let length = text.len();
        let former = usize::try_from(self.file.metadata()?.len()).unwrap_or(length);
        text.resize(length.max(former.min(NOTE)), b' ');
        self.file.rewind()?;
        self.file.write_all(&text)?;
        self.file.set_len(u64::try_from(length).unwrap_or(u64::MAX))
    }
}

/// The path still leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |meta: Metadata| (meta.dev(), meta.ino());
    file.metadata().is_ok_and(|own| std::fs::metadata(path).is_ok_and(|there| place(there) == place(own)))
}

/// The note of whoever holds the lock, or held it last. `None` where none is readable: its writer is just starting.
pub(super) fn read(path: &Path) -> Option<Holder> {
    let mut text = String::new();
    let most = u64::try_from(NOTE).unwrap_or(u64::MAX);
    File::open(path).ok()?.take(most).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
