//! A task's copy of the workspace, brought up to date before each command.
//!
//! Invariant: after `sync` every path outside build folders is an input with the input's content, and nothing else is
//! there. Content that changed, by whomever, has a modification time newer than any the copy held before, and of a
//! later whole second than the path itself had: cargo compares times, Python's byte code compares whole seconds and
//! sizes, and both would otherwise judge the text of yesterday. Unchanged content keeps its file, so builds stay warm.
//! Nothing is written through a link that a command left behind.
//! Absent: running anything, and what a command wrote (`wrote`).

use super::remove::remove_folder;
use super::sources::{
    Content, Input, Inputs, Sources, Stamp, is_build_folder, now_ns, pour, view_hash, workspace_path,
};
use crate::domain::ids::{ContentHash, TaskId, WorkspacePath};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Raised when the record's meaning changes; a record of another format is as good as none.
const FORMAT: u32 = 1;
const SECOND_NS: i64 = 1_000_000_000;

/// What `sync` put into the copy.
pub(super) struct Given {
    /// Of the bytes that were really copied.
    pub(super) hash: ContentHash,
    pub(super) notes: Vec<String>,
}

/// What is known of the copy, kept beside it so that a later process finds builds warm.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    format: u32,
    /// No input may get a modification time up to this one again.
    newest_ns: i64,
    rows: BTreeMap<WorkspacePath, Row>,
}

/// A path that is or once was in the copy.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) there: Option<There>,
    /// The last modification time it had.
    modified_ns: i64,
}

/// What was put there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct There {
    pub(super) hash: String,
    pub(super) stamp: Stamp,
    pub(super) link: bool,
}

/// One task's copy.
pub(super) struct View {
    tree: PathBuf,
    record_at: PathBuf,
    record: Record,
}

/// The folder of a task's copy.
pub(super) fn tree_of(cache: &Path, task: &TaskId) -> PathBuf {
    folder_of(cache, task).join("tree")
}

fn folder_of(cache: &Path, task: &TaskId) -> PathBuf {
    cache.join("views").join(folder_name(task))
}

/// A task's name as that of a folder.
pub(super) fn folder_name(task: &TaskId) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name = task.as_str();
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("x-{}", ContentHash::of(name).short())
    }
}

impl View {
    /// Reads what is known of the task's copy. Without a readable record nothing of an old copy is trusted: each
    /// file is written anew.
    pub(super) fn open(cache: &Path, task: &TaskId) -> Self {
        let record_at = folder_of(cache, task).join("record.json");
        let record = std::fs::read(&record_at)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok())
            .filter(|record| record.format == FORMAT)
            .unwrap_or_default();
        Self { tree: tree_of(cache, task), record_at, record }
    }

    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    /// The inputs that are there.
    pub(super) fn inputs(&self) -> impl Iterator<Item = (&WorkspacePath, &There)> {
        self.record.rows.iter().filter_map(|(path, row)| row.there.as_ref().map(|there| (path, there)))
    }

    /// Every folder above an input.
    pub(super) fn folders(&self) -> BTreeSet<String> {
        folders(self.inputs().map(|(path, _)| path))
    }

    /// What builds wrote is at most this new; what is copied from now on is newer.
    pub(super) fn command_ended(&mut self) {
        self.record.newest_ns = self.record.newest_ns.max(now_ns());
    }

    /// Keeps the record for a later process. Losing it costs a build, so a failure is none.
    pub(super) fn save(&self) {
        let Ok(text) = serde_json::to_vec(&self.record) else { return };
        let new = self.record_at.with_extension("new");
        if std::fs::write(&new, text).is_ok() {
            let _ = std::fs::rename(&new, &self.record_at);
        }
    }

    /// Makes the copy hold exactly the inputs, and build folders.
    pub(super) fn sync(&mut self, sources: &Sources, inputs: Inputs) -> Result<Given, String> {
        let Inputs { files, mut notes } = inputs;
        std::fs::create_dir_all(&self.tree).map_err(|error| format!("{}: {error}", self.tree.display()))?;
        let mut sweep = Sweep { files: &files, folders: folders(files.keys()), kept: BTreeSet::new() };
        let tree = self.tree.clone();
        sweep.folder(self, &tree).map_err(|error| format!("{}: {error}", tree.display()))?;
        let kept = sweep.kept;
        for (path, row) in &mut self.record.rows {
            if !kept.contains(path) {
                row.there = None;
            }
        }
        for (path, input) in files.iter().filter(|(path, _)| !kept.contains(*path)) {
            match self.put(sources, path, input) {
                Ok(()) => {}
                Err(reason) if matches!(input.content, Content::Disk { .. }) && sources.is_gone(path) => {
                    let _ = std::fs::remove_file(self.at(path));
                    notes.push(format!("not in the copy: {reason}"));
                }
                Err(reason) => return Err(reason),
            }
        }
        self.record.format = FORMAT;
        self.save();
        let hash = view_hash(self.inputs().map(|(path, there)| (path, there.hash.as_str())));
        Ok(Given { hash, notes })
    }

    fn at(&self, path: &WorkspacePath) -> PathBuf {
        self.tree.join(path.as_str())
    }

    fn put(&mut self, sources: &Sources, path: &WorkspacePath, input: &Input) -> Result<(), String> {
        let at = self.at(path);
        let failed = |error: io::Error| format!("{}: {error}", at.display());
        if let Some(folder) = at.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        // `create_new` never follows a link, and the sweep left nothing at this path.
        let fresh = || OpenOptions::new().write(true).create_new(true).open(&at).map_err(failed);
        let modified_ns = self.fresh_time(path);
        let modified = UNIX_EPOCH + Duration::from_nanos(u64::try_from(modified_ns).unwrap_or(0));
        let hash = match &input.content {
            Content::Link { target } => {
                std::os::unix::fs::symlink(target, &at).map_err(failed)?;
                input.hash.clone()
            }
            Content::Text { text, mode } => {
                let mut file = fresh()?;
                let hash = pour(&mut text.as_bytes(), *mode, &mut file).map_err(failed)?;
                settle(&file, *mode, modified).map_err(failed)?;
                hash
            }
            Content::Disk { .. } => {
                let mut file = fresh()?;
                let (hash, mode) = sources.read(path, &mut file)?;
                settle(&file, mode, modified).map_err(failed)?;
                hash
            }
        };
        let stamp = Stamp::of(&std::fs::symlink_metadata(&at).map_err(failed)?);
        self.record.newest_ns = self.record.newest_ns.max(modified_ns);
        let there = There { hash, stamp, link: matches!(input.content, Content::Link { .. }) };
        self.record.rows.insert(path.clone(), Row { there: Some(there), modified_ns });
        Ok(())
    }

    fn fresh_time(&self, path: &WorkspacePath) -> i64 {
        let later = self.record.newest_ns.saturating_add(1).max(now_ns());
        match self.record.rows.get(path) {
            Some(row) => later.max((row.modified_ns.div_euclid(SECOND_NS)).saturating_add(1).saturating_mul(SECOND_NS)),
            None => later,
        }
    }

    /// Whether the copy still holds what was put there, and that is what is wanted.
    fn is_good(&self, path: &WorkspacePath, input: &Input, stamp: Stamp) -> bool {
        let there = self.record.rows.get(path).and_then(|row| row.there.as_ref());
        there.is_some_and(|there| there.stamp == stamp && there.hash == input.hash)
    }

    fn saw_time(&mut self, path: &WorkspacePath, modified_ns: i64) {
        let row = self.record.rows.entry(path.clone()).or_insert(Row { there: None, modified_ns });
        row.modified_ns = row.modified_ns.max(modified_ns);
    }
}

fn settle(file: &std::fs::File, mode: u32, modified: std::time::SystemTime) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode((mode & 0o777) | 0o600))?;
    file.set_modified(modified)
}

/// Every folder above one of the paths.
pub(super) fn folders<'a>(paths: impl Iterator<Item = &'a WorkspacePath>) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let mut above = path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            if !folders.insert(folder.to_owned()) {
                break;
            }
            above = folder;
        }
    }
    folders
}

/// Removes what is no input. Goes from the top down and never through a link, so that afterwards each folder on the
/// way to an input is a real one.
struct Sweep<'a> {
    files: &'a BTreeMap<WorkspacePath, Input>,
    folders: BTreeSet<String>,
    kept: BTreeSet<WorkspacePath>,
}

impl Sweep<'_> {
    fn folder(&mut self, view: &mut View, folder: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let (at, meta) = (entry.path(), std::fs::symlink_metadata(entry.path())?);
            let path = workspace_path(&view.tree, &at);
            let input = path.as_ref().and_then(|path| self.files.get_key_value(path));
            let leads = path.as_ref().is_some_and(|path| self.folders.contains(path.as_str()));
            if meta.is_dir() {
                let builds = entry.file_name().to_str().is_some_and(is_build_folder) && input.is_none();
                match (leads, builds) {
                    (true, _) => self.folder(view, &at)?,
                    (false, true) => {}
                    (false, false) => remove_folder(&at)?,
                }
                continue;
            }
            let stamp = Stamp::of(&meta);
            match input {
                Some((path, input)) if view.is_good(path, input, stamp) => drop(self.kept.insert(path.clone())),
                Some((path, _)) => {
                    view.saw_time(path, stamp.modified_ns);
                    std::fs::remove_file(&at)?;
                }
                None => std::fs::remove_file(&at)?,
            }
        }
        Ok(())
    }
}
