//! The workspace port on a real file system.
//!
//! Invariant: as of the port and of `workspace`. Absent: how a write is made safe (`write`), what git says
//! (`binding`).

use super::pages::Pages;
use super::place::{failed, place, resolved};
use super::temporary::is_temporary;
use super::torn::Records;
use super::{binding, mend, write};
use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, PathProblem, TaskId, WorkspacePath};
use crate::domain::task::facts::Binding;
use crate::ports::{Fut, Listed, LoosePage, Mended, ReadRefusal, Workspace, WriteRefusal};
use ignore::WalkBuilder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use super::place::LIMIT;

/// Why a folder is no workspace.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not there, or no folder, or may not be read.
    #[error("{path} is no folder that can be opened: {reason}")]
    Folder {
        /// As given.
        path: PathBuf,
        /// In the system's words.
        reason: String,
    },
    /// Its own folder cannot be named.
    #[error(transparent)]
    Name(#[from] PathProblem),
}

/// Files below one root.
#[derive(Clone)]
pub struct Disk {
    root: Arc<Path>,
    pages: Arc<Pages>,
}

impl Disk {
    /// Opens the worktree around `dir`, or `dir` itself outside git. `state` takes the task pages if the workspace
    /// cannot be written; it is made when it is needed.
    pub fn open(dir: PathBuf, state: PathBuf) -> Result<Self, OpenError> {
        let broken = |reason: String| OpenError::Folder { path: dir.clone(), reason };
        let dir_found = dir.canonicalize().map_err(|error| broken(error.to_string()))?;
        if !dir_found.is_dir() {
            return Err(broken("it is a file".to_owned()));
        }
        let root = binding::root_of(&dir_found);
        let pages = Pages::new(&root, &state)?;
        Ok(Self { root: Arc::from(root), pages: Arc::new(pages) })
    }

    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path, &Pages) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, String>> + Send + 'static {
        let (root, pages) = (self.root.clone(), self.pages.clone());
        async move {
            let worker = tokio::task::spawn_blocking(move || work(&root, &pages));
            worker.await.map_err(|error| format!("the file worker ended early: {error}"))
        }
    }
}

/// The walk that lists and watches share: hidden files too, never git's or our own, no links followed, and no ignore
/// files from above the root.
pub(super) fn walk(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false)
        .parents(false)
        .require_git(false)
        .follow_links(false)
        .add_custom_ignore_filename(".planwrightignore")
        .filter_entry(|entry| {
            entry.depth() == 0 || !matches!(entry.file_name().to_str(), Some(".git" | ".planwright"))
        });
    walk
}

/// A path below the root as a workspace path; names that are not UTF-8 or hold control characters have none.
pub(super) fn relative(root: &Path, path: &Path) -> Option<WorkspacePath> {
    WorkspacePath::new(path.strip_prefix(root).ok()?.to_str()?).ok()
}

fn list(root: &Path) -> Vec<Listed> {
    let mut files: Vec<Listed> = walk(root)
        .build()
        // a folder that cannot be read has no files for us
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| {
            let path = relative(root, entry.path()).filter(|path| !is_temporary(path.file_name()))?;
            Some(Listed { path, size: entry.metadata().ok()?.len() })
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn read(root: &Path, path: &WorkspacePath) -> Result<Entry, ReadRefusal> {
    match place(root, path)? {
        Some(place) => place.read(path, &place.name),
        None => Ok(Entry::Absent),
    }
}

impl Workspace for Disk {
    fn root(&self) -> &Path {
        &self.root
    }

    fn binding(&self) -> Fut<'_, Binding> {
        let work = self.blocking(|root, _| binding::binding(root));
        let unbound = Binding { root: self.root.to_path_buf(), git: None, head: None, branch: None };
        Box::pin(async move { work.await.unwrap_or(unbound) })
    }

    fn moving(&self) -> Fut<'_, bool> {
        let work = self.blocking(|root, _| binding::moving(root));
        Box::pin(async move { work.await.unwrap_or(false) })
    }

    fn list(&self) -> Fut<'_, Vec<Listed>> {
        let work = self.blocking(|root, _| list(root));
        Box::pin(async move { work.await.unwrap_or_default() })
    }

    fn read<'a>(&'a self, path: &'a WorkspacePath) -> Fut<'a, Result<Entry, ReadRefusal>> {
        let own = path.clone();
        let work = self.blocking(move |root, _| read(root, &own));
        Box::pin(async move { work.await.unwrap_or_else(|error| Err(failed(path, error))) })
    }

    fn resolved<'a>(&'a self, path: &'a WorkspacePath) -> Fut<'a, WorkspacePath> {
        let own = path.clone();
        let work = self.blocking(move |root, _| resolved(root, &root.join(own.as_str())));
        Box::pin(async move { work.await.ok().flatten().unwrap_or_else(|| path.clone()) })
    }

    fn write<'a>(
        &'a self,
        path: &'a WorkspacePath,
        before: &'a Entry,
        after: &'a Entry,
    ) -> Fut<'a, Result<(), WriteRefusal>> {
        let (own, before, after) = (path.clone(), before.clone(), after.clone());
        let work =
            self.blocking(move |root, pages| write::write(root, Some(Records(pages.state())), &own, &before, &after));
        Box::pin(
            async move { work.await.unwrap_or_else(|reason| Err(WriteRefusal::Failed { path: path.clone(), reason })) },
        )
    }

    fn mend<'a>(&'a self, path: &'a WorkspacePath, before: &'a ContentHash, after: &'a ContentHash) -> Fut<'a, Mended> {
        let (own, texts) = (path.clone(), [before.clone(), after.clone()]);
        let work = self.blocking(move |root, pages| mend::mend(root, Some(Records(pages.state())), &own, texts));
        Box::pin(async move {
            work.await.unwrap_or_else(|error| Mended { found: Err(failed(path, error)), said: Vec::new() })
        })
    }

    fn write_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        let (id, page, text) = (task.clone(), name.to_owned(), text.to_owned());
        let work = self.blocking(move |_, pages| pages.write(&id, &page, &text));
        Box::pin(async move {
            work.await.unwrap_or_else(|reason| Err(WriteRefusal::Failed { path: self.pages.label().clone(), reason }))
        })
    }

    fn replace_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        expected: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        let (id, page) = (task.clone(), name.to_owned());
        let (expected, text) = (expected.to_owned(), text.to_owned());
        let work = self.blocking(move |_, pages| pages.replace(&id, &page, &expected, &text));
        Box::pin(async move {
            work.await.unwrap_or_else(|reason| Err(WriteRefusal::Failed { path: self.pages.label().clone(), reason }))
        })
    }

    fn read_page<'a>(&'a self, task: &'a TaskId, name: &'a str) -> Fut<'a, Result<Option<String>, ReadRefusal>> {
        let (id, page) = (task.clone(), name.to_owned());
        let work = self.blocking(move |_, pages| pages.read(&id, &page));
        Box::pin(async move { work.await.unwrap_or_else(|error| Err(failed(self.pages.label(), error))) })
    }

    fn page_path(&self, task: &TaskId, name: &str) -> PathBuf {
        self.pages.path(task, name)
    }

    fn write_loose<'a>(&'a self, page: LoosePage, text: &'a str) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        let text = text.to_owned();
        let work = self.blocking(move |_, pages| pages.write_loose(page, &text));
        Box::pin(async move {
            work.await.unwrap_or_else(|reason| Err(WriteRefusal::Failed { path: self.pages.label().clone(), reason }))
        })
    }

    fn read_loose(&self, page: LoosePage) -> Fut<'_, Result<Option<String>, ReadRefusal>> {
        let work = self.blocking(move |_, pages| pages.read_loose(page));
        Box::pin(async move { work.await.unwrap_or_else(|error| Err(failed(self.pages.label(), error))) })
    }
}
