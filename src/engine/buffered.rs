//! The workspace as it is at this moment: what an editor has open, and the disk for all else (D4).
//!
//! Invariant: nothing that an editor has open is written here; an open document changes through its editor, or it is
//! the disk's own business (`review`). A file that may not be read stays unread, whoever has it open. Absent: spots and
//! versions, which are the documents' own.

use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, TaskId, WorkspacePath};
use crate::domain::task::facts::Binding;
use crate::ports::{Document, Documents, Fut, Listed, LoosePage, Mended, ReadRefusal, Workspace, WriteRefusal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the names of plan documents end.
const PLAN: &str = ".plan.md";

/// The bits of a file that is open and was never saved.
const NEW_FILE: u32 = 0o644;

/// A disk with open documents laid over it.
pub struct Buffered {
    disk: Arc<dyn Workspace>,
    documents: Arc<dyn Documents>,
}

impl Buffered {
    /// Lays the documents over the disk.
    pub fn new(disk: Arc<dyn Workspace>, documents: Arc<dyn Documents>) -> Self {
        Self { disk, documents }
    }

    /// The document at a path with its own name: the path's, or that of a file to which it is a link.
    pub(super) async fn find(
        disk: &dyn Workspace,
        documents: &dyn Documents,
        path: &WorkspacePath,
    ) -> Option<(WorkspacePath, Document)> {
        if let Some(document) = documents.newest(path) {
            return Some((path.clone(), document));
        }
        if documents.paths().is_empty() {
            return None;
        }
        let target = disk.resolved(path).await;
        documents.newest(&target).map(|document| (target, document))
    }

    async fn open(&self, path: &WorkspacePath) -> Option<Document> {
        let found = Self::find(self.disk.as_ref(), self.documents.as_ref(), path).await;
        found.map(|(_, document)| document)
    }

    /// A plan document that is open. The other pages of a task are the program's own; an editor has them to show them.
    fn page(&self, task: &TaskId, name: &str) -> Option<(WorkspacePath, Document)> {
        if !name.ends_with(PLAN) {
            return None;
        }
        let path = page(self.disk.as_ref(), task, name)?;
        let document = self.documents.newest(&path)?;
        Some((path, document))
    }
}

/// The name that an editor opens a page of a task by; none where the pages lie outside of the workspace.
pub(super) fn page(disk: &dyn Workspace, task: &TaskId, name: &str) -> Option<WorkspacePath> {
    let path = disk.page_path(task, name);
    WorkspacePath::new(path.strip_prefix(disk.root()).ok()?.to_str()?).ok()
}

/// What a document makes of what stands on disk: its text, the file's bits. An empty one where there is no file is no
/// file yet. The mark at the head of some files is no part of what editors show, and stays.
pub(super) fn entry(document: &Document, disk: &Entry) -> Entry {
    match disk {
        Entry::Absent if document.text.is_empty() => Entry::Absent,
        Entry::Absent => Entry::File { text: document.text.clone(), mode: NEW_FILE },
        Entry::File { text, mode } if text == &document.text => Entry::File { text: text.clone(), mode: *mode },
        Entry::File { text, mode } => {
            let marked = text.starts_with(MARK) && !document.text.starts_with(MARK);
            let text = if marked { Arc::from(format!("{MARK}{}", document.text)) } else { document.text.clone() };
            Entry::File { text, mode: *mode }
        }
    }
}

/// U+FEFF, the byte order mark.
pub(super) const MARK: &str = "\u{feff}";

fn is_open(path: WorkspacePath) -> WriteRefusal {
    WriteRefusal::Failed { path, reason: "an editor has it open".to_owned() }
}

impl Workspace for Buffered {
    fn root(&self) -> &Path {
        self.disk.root()
    }

    fn binding(&self) -> Fut<'_, Binding> {
        self.disk.binding()
    }

    fn list(&self) -> Fut<'_, Vec<Listed>> {
        self.disk.list()
    }

    fn moving(&self) -> Fut<'_, bool> {
        self.disk.moving()
    }

    fn read<'a>(&'a self, path: &'a WorkspacePath) -> Fut<'a, Result<Entry, ReadRefusal>> {
        Box::pin(async move {
            let disk = self.disk.read(path).await?;
            Ok(match self.open(path).await {
                Some(document) => entry(&document, &disk),
                None => disk,
            })
        })
    }

    fn resolved<'a>(&'a self, path: &'a WorkspacePath) -> Fut<'a, WorkspacePath> {
        self.disk.resolved(path)
    }

    fn write<'a>(
        &'a self,
        path: &'a WorkspacePath,
        before: &'a Entry,
        after: &'a Entry,
    ) -> Fut<'a, Result<(), WriteRefusal>> {
        Box::pin(async move {
            match self.open(path).await {
                Some(_) => Err(is_open(path.clone())),
                None => self.disk.write(path, before, after).await,
            }
        })
    }

    fn mend<'a>(&'a self, path: &'a WorkspacePath, before: &'a ContentHash, after: &'a ContentHash) -> Fut<'a, Mended> {
        self.disk.mend(path, before, after)
    }

    fn write_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        match self.page(task, name) {
            Some((path, _)) => Box::pin(std::future::ready(Err(is_open(path)))),
            None => self.disk.write_page(task, name, text),
        }
    }

    fn replace_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        expected: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        match self.page(task, name) {
            Some((path, _)) => Box::pin(std::future::ready(Err(is_open(path)))),
            None => self.disk.replace_page(task, name, expected, text),
        }
    }

    fn read_page<'a>(&'a self, task: &'a TaskId, name: &'a str) -> Fut<'a, Result<Option<String>, ReadRefusal>> {
        match self.page(task, name) {
            Some((_, document)) => Box::pin(std::future::ready(Ok(Some(document.text.to_string())))),
            None => self.disk.read_page(task, name),
        }
    }

    fn page_path(&self, task: &TaskId, name: &str) -> PathBuf {
        self.disk.page_path(task, name)
    }

    fn write_loose<'a>(&'a self, page: LoosePage, text: &'a str) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        self.disk.write_loose(page, text)
    }

    fn read_loose(&self, page: LoosePage) -> Fut<'_, Result<Option<String>, ReadRefusal>> {
        self.disk.read_loose(page)
    }
}
