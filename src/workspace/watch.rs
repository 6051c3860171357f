//! Which paths changed on disk.
//!
//! Only unignored folders are watched, each by itself: a recursive watch would spend the system's watches on build
//! folders (a million of them were seen elsewhere).
//!
//! **Invariant:** every report is a hint to read again, never a fact; a path may be reported without a change. No change
//! goes unreported, but in a folder that may not be read: where the system's watches run out the folders are looked through again and again, and where its
//! queue has run over the reader is told that all is to be read again. Absent: what anyone does about it.

use super::disk::{relative, walk};
use super::temporary::is_temporary;
use crate::domain::ids::WorkspacePath;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Silence after which a burst counts as over: an editor's save is several events within a few milliseconds.
const QUIET: Duration = Duration::from_millis(40);
/// The longest a burst is collected, so that a long build does not hide a save.
const LONGEST: Duration = Duration::from_millis(400);
/// Where files are looked at because they cannot be watched: the shortest time between two looks.
const PAUSE: Duration = Duration::from_millis(700);
/// And so many times as long as a look takes: a large tree costs a twentieth of a processor.
const RARER: u32 = 20;

/// What changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Burst {
    /// These.
    pub paths: BTreeSet<WorkspacePath>,
    /// And others that nobody can name: more happened at once than the system remembers.
    pub more: bool,
}

/// Changed paths as they come. Dropping it ends the watching.
pub struct Changes {
    reports: UnboundedReceiver<Burst>,
    incomplete: Option<String>,
}

impl Changes {
    /// The next burst; `None` when the watcher has ended.
    pub async fn next(&mut self) -> Option<Burst> {
        self.reports.recv().await
    }

    /// Why some folders are not watched, if so: their changes are found later, by looking.
    pub fn incomplete(&self) -> Option<&str> {
        self.incomplete.as_deref()
    }
}

/// Watches a canonical root. Blocks while the folders are walked.
pub fn watch(root: &Path) -> Changes {
    let (send, events) = channel::<notify::Result<Event>>();
    let made = notify::recommended_watcher(move |event| {
        // the collecting thread has ended: nobody listens any more
        let _ = send.send(event);
    });
    watch_by(root, made, events)
}

/// The same by a watcher that may not have come about.
pub(super) fn watch_by(
    root: &Path,
    made: notify::Result<RecommendedWatcher>,
    events: Receiver<notify::Result<Event>>,
) -> Changes {
    let (out, reports) = unbounded_channel();
    let mut incomplete = match made {
        Ok(mut watcher) => {
            let mut watched = BTreeSet::new();
            let missing = add(&mut watcher, &mut watched, walk(root));
            let (own, told, looks) = (root.to_owned(), out.clone(), missing.is_some());
            let begun = thread(move || collect(&own, (watcher, watched), &events, &told, looks));
            missing.or(begun)
        }
        Err(error) => Some(error.to_string()),
    };
    if incomplete.is_some() {
        let (own, known) = (root.to_owned(), stamps(root));
        incomplete = thread(move || look(&own, known, &out)).or(incomplete);
    }
    Changes { reports, incomplete }
}

/// Why it did not begin.
fn thread(doing: impl FnOnce() + Send + 'static) -> Option<String> {
    let thread = std::thread::Builder::new().name("planwright-watch".to_owned());
    thread.spawn(doing).err().map(|error| error.to_string())
}

/// Looks for changes where nobody is told of them. `known` is what the listener may have seen.
fn look(root: &Path, mut known: BTreeMap<PathBuf, Stamp>, out: &UnboundedSender<Burst>) {
    while !out.is_closed() {
        let begun = Instant::now();
        let now = stamps(root);
        let changed = now.iter().filter(|(path, stamp)| known.get(*path) != Some(stamp)).map(|(path, _)| path);
        let gone = known.keys().filter(|path| !now.contains_key(*path));
        if !tell(root, changed.chain(gone), false, out) {
            return;
        }
        known = now;
        std::thread::sleep(PAUSE.max(begun.elapsed() * RARER));
    }
}

fn stamps(root: &Path) -> BTreeMap<PathBuf, Stamp> {
    files(walk(root)).filter_map(|(path, meta)| Some((path, stamp(&meta?)))).collect()
}

/// What differs when a file was written or replaced.
type Stamp = (u64, u64, i64, i64, i64, i64);

fn stamp(meta: &Metadata) -> Stamp {
    (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
}

fn files(walk: ignore::WalkBuilder) -> impl Iterator<Item = (PathBuf, Option<Metadata>)> {
    let entries = walk.build().filter_map(Result::ok).filter(|e| e.file_type().is_some_and(|kind| kind.is_file()));
    entries.map(|entry| {
        let meta = entry.metadata().ok();
        (entry.into_path(), meta)
    })
}

/// Reports these paths, if there is anything to report. False when nobody listens.
fn tell<'a>(root: &Path, paths: impl Iterator<Item = &'a PathBuf>, more: bool, out: &UnboundedSender<Burst>) -> bool {
    let paths = paths.filter_map(|path| relative(root, path).filter(|path| !is_temporary(path.file_name())));
    let burst = Burst { paths: paths.collect(), more };
    burst == Burst::default() || out.send(burst).is_ok()
}

/// Watches every folder of a walk, which are noted. The first reason why one could not be.
pub(super) fn add(
    watcher: &mut impl Watcher,
    watched: &mut BTreeSet<PathBuf>,
    walk: ignore::WalkBuilder,
) -> Option<String> {
    let folders = walk.build().filter_map(Result::ok).filter(|e| e.file_type().is_some_and(|kind| kind.is_dir()));
    let mut problem = None;
    for folder in folders {
        match watcher.watch(folder.path(), RecursiveMode::NonRecursive) {
            Ok(()) => drop(watched.insert(folder.into_path())),
            Err(error) if is_closed(&error) => {}
            // one that has gone meanwhile has nothing to be told of
            Err(error) if folder.path().is_dir() => {
                let full = matches!(error.kind, notify::ErrorKind::MaxFilesWatch);
                problem.get_or_insert_with(|| error.to_string());
                if full {
                    break;
                }
            }
            Err(_) => {}
        }
    }
    problem
}

/// Who may not read a folder would see no more of it by looking.
fn is_closed(error: &notify::Error) -> bool {
    matches!(&error.kind, notify::ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied)
}

fn collect(
    root: &Path,
    (mut watcher, mut watched): (RecommendedWatcher, BTreeSet<PathBuf>),
    events: &Receiver<notify::Result<Event>>,
    out: &UnboundedSender<Burst>,
    mut looks: bool,
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
        let mut lost = take(first, (&mut watcher, &mut watched), root, &mut paths);
        while started.elapsed() < LONGEST {
            match events.recv_timeout(QUIET) {
                Ok(event) => lost = lost.max(take(event, (&mut watcher, &mut watched), root, &mut paths)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        if lost == Lost::Events {
            // folders may have come among what was lost; what is watched already stays so
            lost = lost.max(add(&mut watcher, &mut watched, walk(root)).map_or(Lost::Events, |_| Lost::Folders));
        }
        // whoever looks finds all by that, from then on
        let more = lost != Lost::Nothing && !looks;
        if lost == Lost::Folders && !std::mem::replace(&mut looks, true) {
            let (own, told, known) = (root.to_owned(), out.clone(), stamps(root));
            if let Some(error) = thread(move || look(&own, known, &told)) {
                tracing::warn!(error, "some folders are not watched");
            }
        }
        if !tell(root, paths.iter(), more, out) {
            return;
        }
    }
}

/// What a watcher missed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Lost {
    Nothing,
    /// Events of before.
    Events,
    /// Folders, whose events will be missed.
    Folders,
}

fn take(
    event: notify::Result<Event>,
    (watcher, watched): (&mut RecommendedWatcher, &mut BTreeSet<PathBuf>),
    root: &Path,
    paths: &mut BTreeSet<PathBuf>,
) -> Lost {
    let Ok(event) = event else { return Lost::Events };
    let mut lost = if event.need_rescan() { Lost::Events } else { Lost::Nothing };
    if matches!(event.kind, EventKind::Access(_)) {
        return lost;
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
                if add(watcher, watched, below()).is_some() {
                    lost = Lost::Folders;
                }
                // files may have come with the folder before it was watched
                paths.extend(files(below()).map(|(path, _)| path));
            }
        } else {
            if watched.contains(&path) {
                // moved away, its files went with it, and of them nothing is told
                watched.retain(|folder| !folder.starts_with(&path));
                lost = lost.max(Lost::Events);
            }
            paths.insert(path);
        }
    }
    lost
}

/// Whether a new folder is one of the walk's: a walk never asks about the folder it starts in, so its parent is asked.
fn is_admitted(dir: &Path) -> bool {
    dir.parent().is_some_and(|parent| {
        let mut beside = walk(parent);
        beside.parents(true).max_depth(Some(1));
        beside.build().filter_map(Result::ok).any(|entry| entry.path() == dir)
    })
}
