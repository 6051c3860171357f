//! What a command sees at rung 1: the workspace at its own path, with the text of the moment the check began.
//!
//! Three things lie over each other: the user's tree, the task's `layer` with every unignored file of the view, and an
//! empty folder that takes what the command writes (`upper`). Build folders are the task's own (`caches`). Everything
//! is in the task's folder in the cache directory; the cage mounts it.
//!
//! Invariant: nothing outside the cache directory is written. One command at a time has a task's folder, whichever
//! process starts it, and while it has it the layer stands still: edits of the user's to unignored files do not show.
//! Absent: what is ignored and no build folder is seen as it is at the moment, and so is a file that the user makes
//! while a command runs. An object that the user's own build puts beside the sources in that very time can be taken for
//! the view's by a tool that compares times; the next command knows of it.

mod beside;
mod caches;
mod cargo;
mod layer;
mod rules;
#[cfg(test)]
mod tests;
mod upper;

pub(crate) use caches::Caps;
use caches::Filled;

use super::copy::{folder_name, folders};
use super::remove::remove_folder;
use super::sources::{Inputs, Sources};
use super::wrote::Wrote;
use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, TaskId, WorkspacePath};
use layer::{Layer, Shown};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where a root's tasks have their folders.
const TASKS: &str = "layers";

/// A task's folder, held.
pub(super) struct TaskView {
    folder: PathBuf,
    layer: Layer,
    caps: Caps,
    /// The lock is the system's: it is free when the process that held it is gone.
    _held: File,
}

/// What stands ready for one command.
#[derive(Debug)]
pub(super) struct Ready {
    /// Of the bytes it is given.
    pub(super) hash: ContentHash,
    pub(super) notes: Vec<String>,
    pub(super) layer: PathBuf,
    pub(super) upper: PathBuf,
    pub(super) work: PathBuf,
    /// Own folders with the absolute paths they stand at.
    pub(super) bound: Vec<(PathBuf, PathBuf)>,
    /// Variables that lead tools to own folders.
    pub(super) env: Vec<(OsString, OsString)>,
}

impl TaskView {
    /// Takes a task's folder, waiting for whoever has it.
    ///
    /// # Errors
    /// The cache directory cannot be written.
    pub(super) fn open(cache: &Path, task: &TaskId, caps: Caps) -> Result<Self, String> {
        let folder = cache.join(TASKS).join(folder_name(task));
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        let held = loop {
            // Who may not look into the workspace may not look into its copy either.
            DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
            let held = File::create(folder.join("lock")).map_err(failed)?;
            flock(&held, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
            // It may have been cleared away before the lock was ours.
            let here = std::fs::metadata(folder.join("lock")).map(|meta| meta.ino());
            if here.ok() == Some(held.metadata().map_err(failed)?.ino()) {
                break held;
            }
        };
        let layer = Layer::open(&folder);
        if layer.is_new() {
            // What was built over a layer that nothing is known of is worth nothing.
            for name in ["layer", "caches", "tools"] {
                remove(&folder.join(name)).map_err(failed)?;
            }
        }
        Ok(Self { folder, layer, caps, _held: held })
    }

    /// Brings everything in step with the workspace under `overlay`.
    ///
    /// # Errors
    /// Something cannot be read, or not be written in the cache directory.
    pub(super) fn prepare(&mut self, sources: &Sources, overlay: &[(WorkspacePath, Entry)]) -> Result<Ready, String> {
        let mut inputs = sources.scan(overlay)?;
        let root = sources.root();
        let paths: BTreeSet<WorkspacePath> =
            inputs.files.keys().chain(overlay.iter().map(|(path, _)| path)).cloned().collect();
        let beside = beside::look(root, &paths, &folders(inputs.files.keys()));
        let caches = self.folder.join("caches");
        let provided = caches::provide(&caches, root, &beside.outputs, self.caps)?;
        if provided.seeded {
            // What was built up to now came along; so what was written up to now must be seen.
            inputs = sources.scan(overlay)?;
            let _ = self.folder.parent().map(|tasks| shrink(tasks, self.caps));
        }
        let mut shown = Shown {
            hidden: beside.hidden,
            outputs_ns: if provided.seeded { i64::MAX } else { beside.newest_ns },
            mounts: beside.outputs,
        };
        shown.hidden.extend(absent(root, &inputs, overlay));
        let given = self.layer.sync(sources, inputs, &shown)?;
        let bound =
            shown.mounts.iter().map(|path| (caches::folder_at(&caches, path.as_str()), root.join(path.as_str())));
        let go = paths.iter().any(|path| path.file_name() == "go.mod").then(go_cache).flatten();
        let tools = self.tools(root, &paths, go)?;
        let (bound, env) = (bound.chain(tools.bound).collect(), tools.env);
        let [upper, work] = ["upper", "work"].map(|name| self.folder.join(name));
        let mode = std::fs::metadata(root).map_or(0o755, |meta| meta.mode() & 0o777 | 0o700);
        for (folder, mode) in [(&upper, mode), (&work, 0o700)] {
            let failed = |error: io::Error| format!("{}: {error}", folder.display());
            remove(folder).map_err(failed)?;
            std::fs::create_dir(folder).map_err(failed)?;
            std::fs::set_permissions(folder, Permissions::from_mode(mode)).map_err(failed)?;
        }
        let notes = given.notes.into_iter().chain(provided.notes).chain(tools.notes).collect();
        Ok(Ready { hash: given.hash, notes, layer: self.layer.tree().to_owned(), upper, work, bound, env })
    }

    /// What the command wrote, if it is wanted. To be asked once every process of it is gone.
    pub(super) fn ended(&mut self, root: &Path, keeps: bool) -> Wrote {
        let upper = self.folder.join("upper");
        let wrote = if keeps { upper::collect(&upper, &self.layer, root) } else { Wrote::default() };
        self.layer.command_ended();
        // What stays is cleared away by the next one.
        let _ = remove(&upper);
        wrote
    }

    /// Folders that tools keep outside of a project. Python's byte code is kept apart from the user's, which is
    /// compared by whole seconds and size. Go's cache goes by content, so the user's (`go`) is good to begin with.
    fn tools(&self, root: &Path, given: &BTreeSet<WorkspacePath>, go: Option<PathBuf>) -> Result<Tools, String> {
        let mut tools = Tools::default();
        for (variable, name, users) in
            [("GOCACHE", "go", go), ("PYTHONPYCACHEPREFIX", "python", None), ("CCACHE_DIR", "ccache", None)]
        {
            let own = self.folder.join("tools").join(name);
            if let Filled::Left(why) = caches::fill(&own, users.as_deref(), self.caps)? {
                tools.notes.push(format!("{variable} starts empty: {}", why.replace("the workspace's", "the user's")));
            }
            tools.bound.push((own.clone(), own.clone()));
            tools.env.push((variable.into(), own.into()));
        }
        // A wrapper in the user's configuration keeps its cache, and often a server, where no cage leads.
        tools.env.push(("RUSTC_WRAPPER".into(), OsString::new()));
        if given.iter().any(|path| path.file_name() == "Cargo.toml") && cargo::builds_elsewhere(root) {
            let own = self.folder.join("tools/cargo");
            caches::fill(&own, None, self.caps)?;
            tools.bound.push((own.clone(), own.clone()));
            tools.env.push(("CARGO_TARGET_DIR".into(), own.into()));
        }
        Ok(tools)
    }
}

/// Own folders of tools, and the variables that lead to them.
#[derive(Default)]
struct Tools {
    bound: Vec<(PathBuf, PathBuf)>,
    env: Vec<(OsString, OsString)>,
    notes: Vec<String>,
}

/// Where Go keeps the user's builds.
fn go_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let below = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set("GOCACHE").or_else(|| Some(below?.join("go-build")))
}

/// What must be hidden because the view removed it: each path, or the topmost folder that is empty without it.
fn absent(root: &Path, inputs: &Inputs, overlay: &[(WorkspacePath, Entry)]) -> BTreeSet<WorkspacePath> {
    let gone: BTreeSet<&WorkspacePath> =
        overlay.iter().filter(|(_, entry)| *entry == Entry::Absent).map(|(path, _)| path).collect();
    let leads = folders(inputs.files.keys());
    let mut hidden = BTreeSet::new();
    for path in &gone {
        let mut top = (*path).clone();
        while let Some((folder, _)) = top.as_str().rsplit_once('/') {
            let Ok(folder) = WorkspacePath::new(folder) else { break };
            if leads.contains(folder.as_str()) || !is_emptied(root, &folder, &gone) {
                break;
            }
            top = folder;
        }
        if root.join(top.as_str()).symlink_metadata().is_ok() && !inputs.files.contains_key(&top) {
            hidden.insert(top);
        }
    }
    hidden
}

/// Whether nothing is left in the user's folder but what is gone.
fn is_emptied(root: &Path, folder: &WorkspacePath, gone: &BTreeSet<&WorkspacePath>) -> bool {
    let Ok(mut entries) = std::fs::read_dir(root.join(folder.as_str())) else { return false };
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let path = entry.file_name().to_str().and_then(|name| WorkspacePath::new(&format!("{folder}/{name}")).ok());
        let Some(path) = path else { return false };
        gone.contains(&path) || entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_emptied(root, &path, gone)
    })
}

/// Makes room, at most once a day: it looks at every file that is kept.
pub(super) fn clear(cache: &Path, caps: Caps) {
    const DAY: std::time::Duration = std::time::Duration::from_secs(86_400);
    let mark = cache.join(TASKS).join(".cleared");
    let last = std::fs::metadata(&mark).and_then(|meta| meta.modified()).ok();
    if last.and_then(|last| last.elapsed().ok()).is_some_and(|age| age < DAY) {
        return;
    }
    if File::create(&mark).is_ok() {
        let removed = shrink(&cache.join(TASKS), caps);
        tracing::info!(removed, "old views were removed");
    }
}

/// Removes tasks' folders until the rest fits: those used longest ago first, none that is in use. Returns how many.
fn shrink(tasks: &Path, caps: Caps) -> usize {
    let mut found: Vec<(std::time::SystemTime, PathBuf, u64)> = std::fs::read_dir(tasks)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|folder| folder.is_dir())
        .map(|folder| {
            // The lock file is made anew whenever the folder is taken.
            let used = std::fs::metadata(folder.join("lock")).and_then(|meta| meta.modified());
            let bytes = caches::size(&folder);
            (used.unwrap_or(std::time::UNIX_EPOCH), folder, bytes)
        })
        .collect();
    found.sort();
    let mut bytes: u64 = found.iter().map(|(_, _, bytes)| bytes).sum();
    let mut removed = 0;
    for (_, folder, size) in found {
        if bytes <= caps.total {
            break;
        }
        let aside = folder.with_extension("cleared");
        // Opened without touching it: the file's time says when the folder was used.
        let held = File::options().append(true).create(true).open(folder.join("lock"));
        let Ok(held) = held else { continue };
        if flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok()
            && std::fs::rename(&folder, &aside).is_ok()
            && remove(&aside).is_ok()
        {
            bytes = bytes.saturating_sub(size);
            removed += 1;
        }
    }
    removed
}

fn remove(folder: &Path) -> io::Result<()> {
    match folder.symlink_metadata() {
        Ok(_) => remove_folder(folder),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
