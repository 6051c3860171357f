//! Rung 1: a command in namespaces of its own, without root. It sees the workspace at its own path as an overlay: the
//! user's tree below, layers with the change set above, and an empty folder on top that takes what it writes.
//!
//! Invariant: outside of `upper` and `bound` a caged command changes nothing that outlives it, whoever runs it. What it
//! started ends with it, with its limits, with its canceller and with this process. How it ended is told by the wrapper
//! on a channel that the command does not have.
//! It can still write to a pipe with a name that it can see, lock a file that it can read, and reach a socket that was
//! renamed or is made meanwhile: a read-only mount forbids none of them, and covers stand only on what is found.
//! Absent: what the layers hold, and what becomes of `upper` (the view's).

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod first;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod mounts;
mod outside;
#[cfg(target_os = "linux")]
mod power;
mod probe;
#[cfg(target_os = "linux")]
mod raw;
mod secrets;
#[cfg(target_os = "linux")]
mod tree;
mod volumes;
mod wire;
#[cfg(target_os = "linux")]
mod wrapper;

pub use outside::{Caged, Ending, run};
pub use probe::{Rung1, Why, probe};
pub use secrets::secrets;
pub use volumes::unfit;
pub use wire::{End, Fault};

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Everything a caged command is given. It crosses to the wrapper process.
///
/// Layers are plain folders. To remove a path of the user's tree, a layer has a character device 0:0 in its place
/// (`mknod`, allowed to everybody since Linux 5.8); a folder with the attribute `user.overlay.opaque` = `y` hides what
/// lies below it. The same two stand in `upper` for what a command removed or replaced. Renaming a folder of the lower
/// tree is refused with `EXDEV`, which `mv` and its like answer by copying.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cage {
    /// The workspace's canonical path; the view appears there.
    pub root: PathBuf,
    /// Read-only folders laid over the user's tree at `root`, topmost first.
    pub layers: Vec<PathBuf>,
    /// Fresh and empty: what the command writes below `root` ends here.
    pub upper: PathBuf,
    /// Overlayfs' own folder, fresh and empty, beside `upper` in the same folder.
    pub work: PathBuf,
    /// Folders that can be written: build outputs, caches.
    pub bound: Vec<Bound>,
    /// Folders and files that are empty inside. What does not exist is passed over.
    pub hidden: Vec<PathBuf>,
    /// What it reaches.
    pub network: Network,
    /// Where it starts.
    pub directory: PathBuf,
    /// Its words; the first is looked up in the view, by the `PATH` in `env`.
    pub argv: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// What it may use up.
    pub limits: CageLimits,
}

/// A folder of ours that stands at another path inside, and can be written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bound {
    /// Ours.
    pub from: PathBuf,
    /// Absolute. Below `root` it is made if it is missing; elsewhere a missing one is passed over, because nothing is
    /// ever made in the user's folders.
    pub at: PathBuf,
}

/// What a command reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Network {
    /// Itself.
    Loopback,
    /// What the host does: for a step that fetches, after a person's word.
    Host,
}

/// What a command may use up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CageLimits {
    /// Processor time of one process, seconds.
    pub cpu: u64,
    /// Resident bytes of all its processes together.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Open files of one process.
    pub files: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes written to disk below `upper` and `bound` together. A private temporary folder holds a third of `memory`
    /// at the most.
    pub disk: u64,
    /// Wall time.
    pub wall: Duration,
    /// Between SIGTERM and SIGKILL at the end of the wall time.
    pub grace: Duration,
}

/// The word by which our own binary is the wrapper of a cage. No part of the command line that people have.
pub const WORD: &str = "__cage";
#[cfg(target_os = "linux")]
const FIRST: &str = "first";

/// Lives the life of a wrapper if the arguments say that this process is one, and returns its exit code. Called before
/// there are threads.
pub fn enter(arguments: &[OsString]) -> Option<u8> {
    if arguments.get(1)? != WORD {
        return None;
    }
    #[cfg(target_os = "linux")]
    match arguments.get(2) {
        None => Some(wrapper::main()),
        Some(word) if word == FIRST => Some(first::main()),
        Some(word) if word == probe::TRY => Some(probe::attempt()),
        Some(_) => Some(1),
    }
    #[cfg(not(target_os = "linux"))]
    Some(1)
}
