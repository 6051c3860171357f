//! What a failed check says of the change: which hunks its problems come from, and what of it failed before (F6).
//!
//! Invariant: it is recorded with the run. When an attempt is gone through again, the change set may be another, and the
//! baseline may have come meanwhile. Absent: the running (`checks`, `baseline`), and the rules (`domain::verify`).

use super::baseline::Baselines;
use super::case::Merged;
use super::work::read;
use super::world::World;
use crate::domain::change::FileChange;
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::{Check, Command};
use crate::domain::task::event::Verdict;
use crate::domain::task::facts::{Ended, RunOutcome};
use crate::domain::verify::against::{self, Reading};
use crate::domain::verify::blame::{self, Suspect};
use crate::domain::verify::problems::{self, Ground, ReadProblem};
use crate::domain::verify::{self, Evidence};
use crate::ports::Source;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::watch;

/// An outcome with what it says of the change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Traced {
    /// Of the command.
    #[serde(flatten)]
    pub outcome: RunOutcome,
    /// The hunks that its problems come from, in words.
    #[serde(default)]
    pub hunks: String,
    /// Its verdict beside the run before any change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighed: Option<Weighing>,
}

/// A verdict that takes the baseline into account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Weighing {
    /// Of the change.
    pub verdict: Verdict,
    /// What a person must know besides.
    pub remark: Option<String>,
}

impl Traced {
    /// An outcome of which nothing more is said.
    pub(super) fn plain(outcome: RunOutcome) -> Self {
        Self { outcome, hunks: String::new(), weighed: None }
    }
}

/// Reads the problems out of a run that judges. Absolute paths are read where the command saw the workspace at its own
/// root; those of a copy are nobody's. A run that fails before its baseline is there waits for it.
pub(super) async fn trace(
    world: &World,
    merged: &Merged,
    command: &Command,
    root: &str,
    outcome: RunOutcome,
    mut baselines: watch::Receiver<Baselines>,
) -> Traced {
    let changes = merged.changes();
    if outcome.ended == Ended::Exit(0) || changes.is_empty() {
        return Traced::plain(outcome);
    }
    let check = Check::Command(command.clone());
    // The sender goes when the work ends or is ended; what is known then is all there will be.
    let before = match baselines.wait_for(|known| !known.due.contains(&check)).await {
        Ok(known) => known.runs.iter().find(|run| run.check == check).cloned(),
        Err(_gone) => None,
    };
    let before = match before {
        Some(run) => read(world, &run.outcome).await.ok().and_then(|text| serde_json::from_str(&text).ok()),
        None => None,
    };
    let mut files: BTreeSet<WorkspacePath> = world.workspace.list().await.into_iter().map(|file| file.path).collect();
    files.extend(changes.keys().cloned());
    let dir = command.dir.clone().unwrap_or_default();
    let ground = || Ground { root, dir: &dir, files: &files };
    let mut found = problems::read(&outcome.output, ground());
    let mut weighed = None;
    if let Some(before) = before {
        let alone = verify::judge(&check, Evidence::Ran(&outcome));
        let old = problems::read(&RunOutcome::clone(&before).output, ground());
        let (now, before) =
            (Reading { outcome: &outcome, problems: &found }, Reading { outcome: &before, problems: &old });
        let files: Vec<FileChange> = changes.values().cloned().collect();
        let against::Weighed { verdict, fresh, remark } = against::weigh(command, alone, now, before, &files);
        if against::already_fails(before).is_some() {
            weighed = Some(Weighing { verdict: named(command, &outcome, verdict, &fresh), remark });
            found = fresh;
        }
    }
    let outline = |change: &FileChange| {
        world.syntax.outline(&Source { path: change.path.clone(), text: Arc::from(change.after.text()) })
    };
    let outlines: Vec<_> = changes.values().map(outline).collect();
    let suspects = changes.values().zip(&outlines).map(|(file, symbols)| Suspect { file, symbols: Some(symbols) });
    let hunks = blame::laid(&found, &suspects.collect::<Vec<_>>());
    Traced { outcome, hunks, weighed }
}

/// A failure is named by what is new of it: the first line of the output may be an old one.
fn named(command: &Command, outcome: &RunOutcome, verdict: Verdict, fresh: &[ReadProblem]) -> Verdict {
    match (&verdict, &outcome.ended, fresh.first()) {
        (Verdict::Failed { .. }, Ended::Exit(code), Some(first)) => {
            let what = shell_words::join(&command.argv);
            Verdict::Failed { why: format!("`{what}` exited with {code}: {first}") }
        }
        _ => verdict,
    }
}
