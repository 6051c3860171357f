//! From one hunk to the next, over all files.
//!
//! Invariant: the order is that of paths, then of lines, then of tasks; behind the last comes the first. Absent: going
//! there; whoever was asked shows the document.

use super::Texts;
use super::hunks::placed;
use crate::desk::Desk;
use crate::domain::ids::{HunkId, TaskId, WorkspacePath};
use crate::domain::text::Encoding;
use std::collections::BTreeSet;
use tower_lsp::lsp_types::Range;

/// A hunk to go to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// In which file.
    pub path: WorkspacePath,
    /// Where.
    pub range: Range,
    /// Whose.
    pub task: TaskId,
    /// Which.
    pub hunk: HunkId,
}

/// Where one walks from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From<'a> {
    /// From nowhere: to the first hunk, or to the last.
    Nowhere,
    /// From this 0-based line of a file, at which the person is.
    Here(&'a WorkspacePath, u32),
    /// From where they were led last; they may be elsewhere by now.
    Last(&'a WorkspacePath, u32),
}

/// The hunk after (or before) a place. Only those that wait for a decision; of one task, if it is named. The only one
/// there is, unless one is at it.
pub fn neighbour(
    desk: &Desk,
    texts: &dyn Texts,
    encoding: Encoding,
    from: From<'_>,
    forward: bool,
    task: Option<&TaskId>,
) -> Option<Stop> {
    let of_task = |other: &TaskId| task.is_none_or(|task| task == other);
    let tasks = desk.tasks.iter().filter(|dossier| !dossier.task.is_over() && of_task(&dossier.task.id));
    let paths: BTreeSet<&WorkspacePath> =
        tasks.flat_map(|dossier| dossier.hunks.iter().map(|hunk| &hunk.path)).collect();
    // The file one is in comes first, for what is behind the line, and last, for what is before it.
    let mut stops: Vec<Stop> = Vec::new();
    for path in paths {
        let mut here: Vec<Stop> = placed(desk, path, texts, encoding)
            .into_iter()
            .filter(|placed| placed.is_undecided() && of_task(&placed.dossier.task.id))
            .map(|placed| Stop {
                path: path.clone(),
                range: placed.range,
                task: placed.dossier.task.id.clone(),
                hunk: placed.hunk.id.clone(),
            })
            .collect();
        here.sort_by_key(|stop| stop.range.start);
        stops.extend(here);
    }
    let here = match from {
        From::Nowhere => return if forward { stops.into_iter().next() } else { stops.into_iter().next_back() },
        From::Here(path, line) | From::Last(path, line) => (path, line),
    };
    let ahead = |stop: &&Stop| (&stop.path, stop.range.start.line) > here;
    // standing inside a hunk one goes back to the one before it
    let behind = |stop: &&Stop| (&stop.path, stop.range.end.line) < here;
    let found = if forward {
        stops.iter().find(ahead).or_else(|| stops.first())
    } else {
        stops.iter().rev().find(behind).or_else(|| stops.last())
    };
    let is_at_it = |stop: &Stop| matches!(from, From::Here(..)) && (&stop.path, stop.range.start.line) == here;
    found.filter(|stop| stops.len() > 1 || !is_at_it(stop)).cloned()
}
