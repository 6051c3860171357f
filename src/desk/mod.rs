//! The read side: an immutable snapshot of all that can be seen, and pure queries on it.
//!
//! Invariant: a query never waits and never changes anything. Absent: the engine; it makes the snapshots.

mod compare;
pub mod page;
mod preview;
mod query;
mod review;
mod show;
mod status;
pub mod timeline;
mod told;
mod view;
mod waits;
mod words;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

pub use query::{CANDIDATES, Candidates, Mode, PageKind, Query};
pub use review::word;
pub use told::{Record, Report, Told};
pub use view::*;
pub use waits::waits_for;

use crate::domain::agent::dialogue::ModelInfo;
use crate::domain::change::{Decision, FileChange, Flag, HunkState};
use crate::domain::ids::*;
use crate::domain::plan::Plan;
use crate::domain::problem::Problem;
use crate::domain::task::Journal;
use crate::domain::task::action::Actor;
use crate::domain::task::facts::Rung;
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::Task;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// An immutable snapshot of one root.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    /// What holds for all tasks.
    pub place: Surroundings,
    /// In the order of their opening.
    pub tasks: Vec<Arc<Dossier>>,
}

/// What holds for all tasks of a root.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// The canonical root.
    pub root: PathBuf,
    /// The model, if one is configured.
    pub model: Option<ModelInfo>,
    /// Else how one is connected.
    #[serde(default)]
    pub connect: Option<String>,
    /// How well commands are isolated.
    pub rung: Option<Rung>,
    /// What a person should know of this start: a database set aside, a workspace that cannot be written.
    pub remarks: Vec<String>,
}

/// All that can be seen of a task.
#[derive(Clone, Debug)]
pub struct Dossier {
    /// The fold of the journal.
    pub task: Arc<Task>,
    /// The one word for it.
    pub state: TaskState,
    /// Every event; empty in an attached process.
    pub journal: Journal,
    /// What pages need of it, in every process.
    pub told: Arc<Told>,
    /// The plan document as it stands on disk.
    pub page: Option<Arc<Page>>,
    /// The texts of the revisions, oldest first.
    pub revisions: Arc<Vec<(RevisionRef, Arc<str>)>>,
    /// Hunks of the proposals in force, in the order of path and line, with what the text says of each.
    pub hunks: Arc<Vec<ReviewHunk>>,
    /// The changes those hunks are of: what is in force, and what holds accepted hunks besides. By path; a path may have
    /// several.
    pub changes: Arc<Vec<Arc<FileChange>>>,
    /// A revision by the agent for a document that an editor has open: shown there as hunks, never written under the
    /// person's hands.
    pub offered: Option<(RevisionRef, Arc<str>)>,
    /// Some process carries it on. A task that says it runs, and is not, was left by one that ended.
    pub carried: bool,
    /// What each step waits for, in the words of the vocabulary (`ready`, `waiting for policy`, `running`, …).
    pub steps: Vec<(StepId, String)>,
}

/// The plan document.
#[derive(Clone, PartialEq, Debug)]
pub struct Page {
    /// Where it is.
    pub path: PathBuf,
    /// As it stands there.
    pub text: Arc<str>,
    /// What it says.
    pub plan: Arc<Plan>,
    /// What the compiler found.
    pub problems: Vec<Problem>,
    /// The revision that this text is.
    pub revision: RevisionRef,
    /// What A6 asks to be seen before an approval: one line each, made by the engine from the normal form.
    pub contract: Vec<String>,
}

/// A hunk as the reviewer sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReviewHunk {
    /// Its id.
    pub id: HunkId,
    /// The step that wrote it.
    pub step: StepId,
    /// Where.
    pub path: WorkspacePath,
    /// `lines`, `create`, `delete` or `mode`.
    pub kind: String,
    /// 1-based line in the user's text of the moment.
    pub line: u32,
    /// The old lines.
    pub old: String,
    /// The new lines.
    pub new: String,
    /// Up to three lines before and after, from the user's text.
    pub context: (String, String),
    /// What stands there instead, where it is touched.
    pub touching: Option<String>,
    /// What stands there is known exactly, from its first line to its last: it can give way to the hunk.
    #[serde(default)]
    pub exact: bool,
    /// What the text says.
    pub state: HunkState,
    /// What the text says stands on disk too; otherwise it is in an editor's buffer and not saved.
    pub on_disk: bool,
    /// What a person decided last.
    pub decision: Option<(Decision, Actor)>,
    /// It waits for a decision or for the disk (invariant 6).
    pub pending: bool,
    /// Remarks the reviewer must see.
    pub flags: Vec<Flag>,
    /// What the verifier says of it, in a few words.
    pub verdict: String,
    /// Hash of what is shown (old and new; where it is touched, what stands there and new); a decision carries it.
    pub shown: ContentHash,
}
