//! What the world told, as far as events name it: where a task belongs, what a call cost, how a command ended.
//!
//! Invariant: plain data without behaviour that could fail. Absent: how any of it is found out.

use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, WorkspacePath};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where a task belongs (A10).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Binding {
    /// The canonical root.
    pub root: PathBuf,
    /// The canonical git common directory, if the root is in a repository.
    pub git: Option<PathBuf>,
    /// The commit or, before the first one, nothing.
    pub head: Option<String>,
    /// `refs/heads/main`, or nothing when detached.
    pub branch: Option<String>,
}

/// Tokens as billed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Input, cached ones included.
    pub input: u64,
    /// Of these, read from the provider's cache.
    pub cached: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// The provider did not say; the figures are our estimate.
    pub estimated: bool,
}

/// How well commands are isolated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// A fresh copy, no isolation; each command is a gate.
    Copy,
    /// A view at the workspace's own path, in namespaces: nothing else can be written, secrets are empty, the network
    /// is the command's own. Only risky commands are gates.
    Cage,
}

impl Rung {
    /// How a verdict says it.
    pub fn remark(self) -> &'static str {
        match self {
            Rung::Copy => "in a copy, not isolated",
            Rung::Cage => "isolated",
        }
    }
}

/// What stands beside a verdict: how well it was isolated, and what else a person must know of it.
pub fn beside(rung: Option<Rung>, remark: Option<&str>) -> Option<String> {
    let said: Vec<&str> = rung.map(Rung::remark).into_iter().chain(remark).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// How a command ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// With this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Killed at its time limit.
    Timeout,
    /// Killed because it printed more than the limit.
    OutputLimit,
    /// Cancelled by a person.
    Cancelled,
    /// Killed because its processes had more memory than the limit.
    MemoryLimit,
    /// Killed because it had more processes than the limit.
    ProcessLimit,
    /// Killed because it wrote more to disk than the limit.
    DiskLimit,
    /// Killed by the system at the limit of processor time.
    CpuLimit,
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunOutcome {
    /// How it ended.
    pub ended: Ended,
    /// Head and tail of standard output and error in the order of arrival, lossy UTF-8.
    pub output: String,
    /// Bytes printed in all.
    pub bytes: u64,
    /// Something was printed that `output` does not have.
    #[serde(default)]
    pub cut: bool,
    /// Wall time.
    pub millis: u64,
    /// How well it was isolated.
    pub rung: Rung,
    /// The hash of the view it ran in (invariant 8).
    pub view: ContentHash,
    /// What it changed in the view, compared with what it was given. Empty for `Stage::Workspace`.
    pub wrote: Vec<(WorkspacePath, Entry)>,
}
