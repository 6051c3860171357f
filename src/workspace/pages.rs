//! The files of a task's folder, and the pages beside those folders.
//!
//! Invariant: they lie below `.planwright` in the workspace, or below the state directory where the workspace cannot
//! be written; a `.planwright` that a link leads elsewhere counts as not writable. A page of no task lies in the
//! workspace or nowhere. `.planwright/.gitignore` keeps
//! everything but recipes and configuration out of git. Absent: what stands on the pages.

use super::place::{inside_as_far_as_it_goes, place};
use super::write;
use crate::domain::change::Entry;
use crate::domain::ids::{PathProblem, TaskId, WorkspacePath};
use crate::ports::{LoosePage, ReadRefusal, WriteRefusal};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const IGNORED: &str = "/*\n!/recipes/\n!/config.toml\n";

/// Where pages go.
pub(super) struct Pages {
    root: PathBuf,
    state: PathBuf,
    /// `.planwright`
    label: WorkspacePath,
    /// Set once a page could not be put into the workspace; it stays set, so that a task's pages stay together.
    aside: AtomicBool,
}

impl Pages {
    pub fn new(root: &Path, state: &Path) -> Result<Self, PathProblem> {
        let folder = root.join(".planwright");
        let usable = match folder.symlink_metadata() {
            Ok(meta) => meta.is_dir() && writable(&folder),
            Err(_) => writable(root),
        };
        let label = WorkspacePath::new(".planwright")?;
        Ok(Self { root: root.to_owned(), state: state.to_owned(), label, aside: AtomicBool::new(!usable) })
    }

    /// The page as a path for messages; a name that leads out of the task's folder is refused.
    fn checked(&self, task: &TaskId, name: &str) -> Result<WorkspacePath, ReadRefusal> {
        let bad = || super::place::failed(&self.label, format!("`{task}/{name}` is no name of a page"));
        if WorkspacePath::new(name).is_err() || task.as_str().is_empty() || task.as_str().contains(['/', '.']) {
            return Err(bad());
        }
        WorkspacePath::new(&format!("{}/tasks/{task}/{name}", self.label)).map_err(|_| bad())
    }

    pub fn path(&self, task: &TaskId, name: &str) -> PathBuf {
        self.folder(self.aside.load(Ordering::Relaxed)).join("tasks").join(task.as_str()).join(name)
    }

    /// Where it is kept what is not the workspace's.
    pub fn state(&self) -> &Path {
        &self.state
    }

    pub fn label(&self) -> &WorkspacePath {
        &self.label
    }

    fn folder(&self, aside: bool) -> PathBuf {
        if aside { self.state.clone() } else { self.root.join(".planwright") }
    }

    pub fn write(&self, task: &TaskId, name: &str, text: &str) -> Result<PathBuf, WriteRefusal> {
        let label = self.checked(task, name).map_err(WriteRefusal::Unreadable)?;
        if !self.aside.load(Ordering::Relaxed) {
            match self.put(&below(task, name), false, text) {
                Ok(path) => return Ok(path),
                Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
                    self.aside.store(true, Ordering::Relaxed);
                }
                Err(error) => return Err(WriteRefusal::Failed { path: label, reason: error.to_string() }),
            }
        }
        self.put(&below(task, name), true, text)
            .map_err(|error| WriteRefusal::Failed { path: label, reason: error.to_string() })
    }

    /// Replaces a page that says `expected`, as a user's file is replaced.
    pub fn replace(&self, task: &TaskId, name: &str, expected: &str, text: &str) -> Result<PathBuf, WriteRefusal> {
        let label = self.checked(task, name).map_err(WriteRefusal::Unreadable)?;
        let changed = |found: &Entry| WriteRefusal::Changed { path: label.clone(), found: found.hash() };
        let aside = self.aside.load(Ordering::Relaxed);
        let found = self.found(&label, &below(task, name), aside).map_err(WriteRefusal::Unreadable)?;
        let Some((folder, below, found)) = found else { return Err(changed(&Entry::Absent)) };
        match &found {
            Entry::File { text: old, mode } if **old == *expected => {
                let after = Entry::File { text: text.into(), mode: *mode };
                match write::write(&folder, None, &below, &found, &after) {
                    Err(WriteRefusal::Changed { found, .. }) => Err(WriteRefusal::Changed { path: label, found }),
                    done => done.map(|()| self.path(task, name)),
                }
            }
            Entry::File { .. } | Entry::Absent => Err(changed(&found)),
        }
    }

    /// A page of no task.
    pub fn write_loose(&self, page: LoosePage, text: &str) -> Result<PathBuf, WriteRefusal> {
        let label = || self.loose(page).unwrap_or_else(|_| self.label.clone());
        let failed = |error: std::io::Error| WriteRefusal::Failed { path: label(), reason: error.to_string() };
        self.put(page.name(), false, text).map_err(failed)
    }

    /// What it says.
    pub fn read_loose(&self, page: LoosePage) -> Result<Option<String>, ReadRefusal> {
        let is_own = self.folder(false).symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let label = self.loose(page).map_err(|problem| super::place::failed(&self.label, problem))?;
        Ok(if is_own { self.found(&label, page.name(), false)?.and_then(|(_, _, entry)| text(entry)) } else { None })
    }

    fn loose(&self, page: LoosePage) -> Result<WorkspacePath, PathProblem> {
        WorkspacePath::new(&format!("{}/{}", self.label, page.name()))
    }

    fn put(&self, below: &str, aside: bool, text: &str) -> std::io::Result<PathBuf> {
        let folder = self.folder(aside);
        let path = folder.join(below);
        let parent = path.parent().unwrap_or(&self.root);
        if !aside && !inside_as_far_as_it_goes(&self.root, parent) {
            return Err(std::io::Error::new(ErrorKind::PermissionDenied, "a link leads out of the workspace"));
        }
        std::fs::create_dir_all(parent)?;
        if !aside {
            if !parent.canonicalize()?.starts_with(&folder) {
                return Err(std::io::Error::new(
                    ErrorKind::PermissionDenied,
                    ".planwright is a link that leads elsewhere",
                ));
            }
            let ignored = folder.join(".gitignore");
            if ignored.symlink_metadata().is_err() {
                std::fs::write(ignored, IGNORED)?;
            }
        }
        let mut file = tempfile::Builder::new().prefix(".page").tempfile_in(parent)?;
        file.write_all(text.as_bytes())?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
        }
        file.persist(&path).map_err(|error| error.error)?;
        Ok(path)
    }

    pub fn read(&self, task: &TaskId, name: &str) -> Result<Option<String>, ReadRefusal> {
        let label = self.checked(task, name)?;
        let aside = self.aside.load(Ordering::Relaxed);
        Ok(self.found(&label, &below(task, name), aside)?.and_then(|(_, _, entry)| text(entry)))
    }

    /// The folder of pages with links resolved, the page's path in it, and what stands there.
    fn found(
        &self,
        label: &WorkspacePath,
        below: &str,
        aside: bool,
    ) -> Result<Option<(PathBuf, WorkspacePath, Entry)>, ReadRefusal> {
        let folder = match self.folder(aside).canonicalize() {
            Ok(folder) => folder,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(super::place::failed(label, error)),
        };
        let below = WorkspacePath::new(below).map_err(|problem| super::place::failed(label, problem))?;
        let Some(place) = place(&folder, &below)? else { return Ok(None) };
        let entry = place.read_any(label, &place.name)?;
        Ok(Some((folder, below, entry)))
    }
}

/// A page of a task, below the folder of pages.
fn below(task: &TaskId, name: &str) -> String {
    format!("tasks/{task}/{name}")
}

fn text(entry: Entry) -> Option<String> {
    match entry {
        Entry::Absent => None,
        Entry::File { text, .. } => Some(text.to_string()),
    }
}

fn writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}
