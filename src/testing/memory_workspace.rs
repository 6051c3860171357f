//! The workspace port in memory.
//!
//! Invariant: keeps the port's promises: a write replaces exactly what its caller read, or touches nothing. Absent:
//! modes beyond the bits, links, ignore rules other than `.git` and `.planwright`.

use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, TaskId, WorkspacePath};
use crate::domain::task::facts::Binding;
use crate::ports::{Fut, Listed, LoosePage, Mended, ReadRefusal, Workspace, WriteRefusal};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files as a map. Clones share it, as two processes share a disk.
#[derive(Clone)]
pub struct MemoryWorkspace {
    root: PathBuf,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    files: BTreeMap<WorkspacePath, Entry>,
    pages: BTreeMap<PathBuf, String>,
    unreadable: BTreeMap<WorkspacePath, ReadRefusal>,
    refuse_writes: Option<String>,
    mending: Vec<String>,
    behind: Vec<(WorkspacePath, Entry)>,
    binding: Binding,
    moving: bool,
    reads: Vec<WorkspacePath>,
    page_reads: Vec<PathBuf>,
    writes: Vec<(WorkspacePath, Entry)>,
}

impl MemoryWorkspace {
    /// Files with mode 0o644, at the made-up root `/workspace`, outside git.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let root = PathBuf::from("/workspace");
        let binding = Binding { root: root.clone(), git: None, head: None, branch: None };
        let files = files
            .into_iter()
            .filter_map(|(path, text)| {
                Some((WorkspacePath::new(path).ok()?, Entry::File { text: Arc::from(text), mode: 0o644 }))
            })
            .collect();
        let inner = Inner {
            files,
            pages: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            refuse_writes: None,
            mending: Vec::new(),
            behind: Vec::new(),
            binding,
            moving: false,
            reads: Vec::new(),
            page_reads: Vec::new(),
            writes: Vec::new(),
        };
        Self { root, inner: Arc::new(Mutex::new(inner)) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // a test that panicked elsewhere leaves a map that is still a map
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stands there, without the port.
    pub fn entry(&self, path: &WorkspacePath) -> Entry {
        self.lock().entry(path)
    }

    /// Changes a file as the user would: at once, and nobody is told.
    pub fn change_behind(&self, path: &WorkspacePath, entry: Entry) {
        self.lock().set(path, entry);
    }

    /// Changes a file in the middle of the next write, after its caller has read and before the act.
    pub fn change_during_next_write(&self, path: &WorkspacePath, entry: Entry) {
        self.lock().behind.push((path.clone(), entry));
    }

    /// Makes reads of a path fail.
    pub fn refuse_read(&self, path: &WorkspacePath, refusal: ReadRefusal) {
        self.lock().unreadable.insert(path.clone(), refusal);
    }

    /// Makes every write fail with this reason (a full disk, a read-only workspace); `None` ends it.
    pub fn refuse_writes(&self, reason: Option<&str>) {
        self.lock().refuse_writes = reason.map(str::to_owned);
    }

    /// What the next mending of a write has to say.
    pub fn says_at_mending(&self, said: &str) {
        self.lock().mending.push(said.to_owned());
    }

    /// Puts the root elsewhere: another commit, another branch.
    pub fn set_binding(&self, binding: Binding) {
        self.lock().binding = binding;
    }

    /// Git begins to change files, or has done so.
    pub fn set_moving(&self, moving: bool) {
        self.lock().moving = moving;
    }

    /// What stands on a page, without the port.
    pub fn page(&self, task: &TaskId, name: &str) -> Option<String> {
        self.lock().pages.get(&self.page_path(task, name)).cloned()
    }

    /// How often a page was read.
    pub fn page_reads(&self, task: &TaskId, name: &str) -> usize {
        let path = self.page_path(task, name);
        self.lock().page_reads.iter().filter(|read| **read == path).count()
    }

    /// What was read since this was asked last, in order.
    pub fn take_reads(&self) -> Vec<WorkspacePath> {
        std::mem::take(&mut self.lock().reads)
    }

    /// Every write that was made, in order.
    pub fn writes(&self) -> Vec<(WorkspacePath, Entry)> {
        self.lock().writes.clone()
    }
}

impl Inner {
    fn entry(&self, path: &WorkspacePath) -> Entry {
        self.files.get(path).cloned().unwrap_or(Entry::Absent)
    }

    fn set(&mut self, path: &WorkspacePath, entry: Entry) {
        match entry {
            Entry::Absent => self.files.remove(path),
            file @ Entry::File { .. } => self.files.insert(path.clone(), file),
        };
    }

    fn write(&mut self, path: &WorkspacePath, before: &Entry, after: &Entry) -> Result<(), WriteRefusal> {
        for (path, entry) in std::mem::take(&mut self.behind) {
            self.set(&path, entry);
        }
        if let Some(refusal) = self.unreadable.get(path) {
            return Err(WriteRefusal::Unreadable(refusal.clone()));
        }
        let found = self.entry(path);
        if found.hash() != before.hash() {
            return Err(WriteRefusal::Changed { path: path.clone(), found: found.hash() });
        }
        if let Some(reason) = &self.refuse_writes {
            return Err(WriteRefusal::Failed { path: path.clone(), reason: reason.clone() });
        }
        self.set(path, after.clone());
        self.writes.push((path.clone(), after.clone()));
        Ok(())
    }
}

fn hidden(path: &WorkspacePath) -> bool {
    path.as_str().split('/').any(|part| matches!(part, ".git" | ".planwright"))
}

impl Workspace for MemoryWorkspace {
    fn root(&self) -> &Path {
        &self.root
    }

    fn binding(&self) -> Fut<'_, Binding> {
        Box::pin(async move { self.lock().binding.clone() })
    }

    fn moving(&self) -> Fut<'_, bool> {
        Box::pin(async move { self.lock().moving })
    }

    fn list(&self) -> Fut<'_, Vec<Listed>> {
        Box::pin(async move {
            let inner = self.lock();
            let files = inner.files.iter().filter(|(path, _)| !hidden(path));
            files
                .map(|(path, entry)| Listed {
                    path: path.clone(),
                    size: u64::try_from(entry.text().len()).unwrap_or(u64::MAX),
                })
                .collect()
        })
    }

    fn read<'a>(&'a self, path: &'a WorkspacePath) -> Fut<'a, Result<Entry, ReadRefusal>> {
        Box::pin(async move {
            let mut inner = self.lock();
            inner.reads.push(path.clone());
            inner.unreadable.get(path).cloned().map_or_else(|| Ok(inner.entry(path)), Err)
        })
    }

    fn write<'a>(
        &'a self,
        path: &'a WorkspacePath,
        before: &'a Entry,
        after: &'a Entry,
    ) -> Fut<'a, Result<(), WriteRefusal>> {
        Box::pin(async move { self.lock().write(path, before, after) })
    }

    fn mend<'a>(&'a self, path: &'a WorkspacePath, _: &'a ContentHash, _: &'a ContentHash) -> Fut<'a, Mended> {
        Box::pin(async move {
            let said = std::mem::take(&mut self.lock().mending);
            Mended { found: self.read(path).await.map(|entry| entry.hash()), said }
        })
    }

    fn write_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        Box::pin(async move {
            let path = self.page_path(task, name);
            self.lock().pages.insert(path.clone(), text.to_owned());
            Ok(path)
        })
    }

    fn replace_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        expected: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        Box::pin(async move {
            let path = self.page_path(task, name);
            let Ok(label) = WorkspacePath::new(&format!(".planwright/tasks/{task}/{name}")) else {
                return self.write_page(task, name, text).await;
            };
            let mut inner = self.lock();
            match inner.pages.get(&path) {
                Some(found) if found == expected => {}
                found => {
                    let found =
                        found.map_or(Entry::Absent, |text| Entry::File { text: Arc::from(text.as_str()), mode: 0o644 });
                    return Err(WriteRefusal::Changed { path: label, found: found.hash() });
                }
            }
            inner.pages.insert(path.clone(), text.to_owned());
            Ok(path)
        })
    }

    fn read_page<'a>(&'a self, task: &'a TaskId, name: &'a str) -> Fut<'a, Result<Option<String>, ReadRefusal>> {
        Box::pin(async move {
            let path = self.page_path(task, name);
            let mut inner = self.lock();
            inner.page_reads.push(path.clone());
            Ok(inner.pages.get(&path).cloned())
        })
    }

    fn page_path(&self, task: &TaskId, name: &str) -> PathBuf {
        self.root.join(".planwright/tasks").join(task.as_str()).join(name)
    }

    fn write_loose<'a>(&'a self, page: LoosePage, text: &'a str) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        Box::pin(async move {
            let path = self.root.join(".planwright").join(page.name());
            self.lock().pages.insert(path.clone(), text.to_owned());
            Ok(path)
        })
    }

    fn read_loose(&self, page: LoosePage) -> Fut<'_, Result<Option<String>, ReadRefusal>> {
        Box::pin(async move { Ok(self.lock().pages.get(&self.root.join(".planwright").join(page.name())).cloned()) })
    }
}
