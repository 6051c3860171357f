//! Which paths changed on disk.
//!
//! Only unignored folders are watched, each by itself: a recursive watch would spend the system's watches on build
//! folders (a million of them were seen elsewhere).
//!
//! **Invariant:** every report is a hint to read again, never a fact; a path may be reported without a change.
//! Absent: what anyone does about it. Where the system's watches run out the reader is told and has to look by
//! itself.

use super::disk::{relative, walk};
use super::temporary::is_temporary;
use crate::domain::ids::WorkspacePath;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Silence after which a burst counts as over: an editor's save is several events within a few milliseconds.
const QUIET: Duration = Duration::from_millis(40);
/// The longest a burst is collected, so that a long build does not hide a save.
const LONGEST: Duration = Duration::from_millis(400);

/// Changed paths as they come. Dropping it ends the watching.
pub struct Changes {
    reports: UnboundedReceiver<BTreeSet<WorkspacePath>>,
    incomplete: Option<String>,
}

impl Changes {
    /// The paths of the next burst; `None` when the watcher has ended.
    pub async fn next(&mut self) -> Option<BTreeSet<WorkspacePath>> {
        self.reports.recv().await
    }

    /// Why some folders are not watched, if so: the reader must look for changes by itself.
    pub fn incomplete(&self) -> Option<&str> {
        self.incomplete.as_deref()
    }
}

/// Watches a canonical root. Blocks while the folders are walked.
pub fn watch(root: &Path) -> Changes {
    let (out, reports) = unbounded_channel();
    let (send, events) = channel::<notify::Result<Event>>();
    let mut watcher = match notify::recommended_watcher(move |event| {
        // the collecting thread has ended: nobody listens any more
        let _ = send.send(event);
    }) {
        Ok(watcher) => watcher,
        Err(error) => return Changes { reports, incomplete: Some(error.to_string()) },
    };
    let mut incomplete = add(&mut watcher, walk(root));
    let own = root.to_owned();
    let thread = std::thread::Builder::new().name("planwright-watch".to_owned());
    if let Err(error) = thread.spawn(move || collect(&own, watcher, &events, &out)) {
        incomplete = Some(error.to_string());
    }
    Changes { reports, incomplete }
}

/// Watches every folder of a walk. The first reason why one could not be.
fn add(watcher: &mut RecommendedWatcher, walk: ignore::WalkBuilder) -> Option<String> {
    let folders = walk.build().filter_map(Result::ok).filter(|e| e.file_type().is_some_and(|kind| kind.is_dir()));
    let mut problem = None;
    for folder in folders {
        if let Err(error) = watcher.watch(folder.path(), RecursiveMode::NonRecursive) {
            let full = matches!(error.kind, notify::ErrorKind::MaxFilesWatch);
            problem.get_or_insert_with(|| error.to_string());
            if full {
                break;
            }
        }
    }
    problem
}

fn collect(
    root: &Path,
    mut watcher: RecommendedWatcher,
    events: &Receiver<notify::Result<Event>>,
    out: &UnboundedSender<BTreeSet<WorkspacePath>>,
) {
    loop {
        // woken now and then to see whether anybody still listens
        let first = match events.recv_timeout(Duration::from_secs(1)) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) if !out.is_closed() => continue,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        };
        let started = Instant::now();
        let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
        take(first, &mut watcher, root, &mut paths);
        while started.elapsed() < LONGEST {
            match events.recv_timeout(QUIET) {
                Ok(event) => take(event, &mut watcher, root, &mut paths),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        let report: BTreeSet<WorkspacePath> = paths
            .iter()
            .filter_map(|path| relative(root, path).filter(|path| !is_temporary(path.file_name())))
            .collect();
        if !report.is_empty() && out.send(report).is_err() {
            return;
        }
    }
}

fn take(event: notify::Result<Event>, watcher: &mut RecommendedWatcher, root: &Path, paths: &mut BTreeSet<PathBuf>) {
    let Ok(event) = event else { return };
    if matches!(event.kind, EventKind::Access(_)) {
        return;
    }
    for path in event.paths {
        if path.is_dir() {
            let new = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_));
            if new && path != root && is_admitted(&path) {
                let below = || {
                    let mut below = walk(&path);
                    below.parents(true);
                    below
                };
                // a folder that cannot be watched is read again when its parent changes; nothing to be told
                let _ = add(watcher, below());
                // files may have come with the folder before it was watched
                let inside = below().build().filter_map(Result::ok);
                paths
                    .extend(inside.filter(|e| e.file_type().is_some_and(|kind| kind.is_file())).map(|e| e.into_path()));
            }
        } else {
            paths.insert(path);
        }
    }
}

/// Whether a new folder is one of the walk's: a walk never asks about the folder it starts in, so its parent is asked.
fn is_admitted(dir: &Path) -> bool {
    dir.parent().is_some_and(|parent| {
        let mut beside = walk(parent);
        beside.parents(true).max_depth(Some(1));
        beside.build().filter_map(Result::ok).any(|entry| entry.path() == dir)
    })
}
