//! Doing a step's calls: reads against one version of each file, changes into the step's own working set.
//!
//! Invariant: rights are checked here, at the tool, whatever the order says; the first version of a file that the step
//! sees is the one it keeps seeing; nothing of the user's is written. Absent: `run`, `check`, `ask` and `finish`, which
//! the engine does itself, and making hunks of the result.

mod changing;
mod matching;
mod reading;

use crate::domain::agent::order::{Act, ToolError, ToolOrder, ToolResult};
use crate::domain::change::Entry;
use crate::domain::ids::WorkspacePath;
use crate::domain::policy::paths::{Rights, is_secret};
use crate::ports::{Listed, ReadRefusal, Syntax, Workspace};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a step works on. It can be stored and read back, so that a restart goes on with the same versions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Bench {
    base: BTreeMap<WorkspacePath, Entry>,
    now: BTreeMap<WorkspacePath, Entry>,
    /// Paths of `base` that no disk need have.
    laid: BTreeSet<WorkspacePath>,
    listing: Option<Vec<Listed>>,
}

/// Paths and what stands there.
pub type Entries = Vec<(WorkspacePath, Entry)>;

/// A path that the step changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    /// Which.
    pub path: WorkspacePath,
    /// As the step first saw it.
    pub before: Entry,
    /// As it leaves it.
    pub after: Entry,
}

/// What an order needs beside the bench.
struct Tools<'a> {
    rights: &'a Rights,
    workspace: &'a dyn Workspace,
    syntax: &'a dyn Syntax,
}

impl Bench {
    /// A bench on which these entries (proposals in force of earlier steps) lie over the disk.
    pub fn new(overlay: BTreeMap<WorkspacePath, Entry>) -> Self {
        let laid = overlay.keys().cloned().collect();
        Self { base: overlay, now: BTreeMap::new(), laid, listing: None }
    }

    /// Does an order. Orders that are the engine's own are refused.
    pub async fn do_order(
        &mut self,
        order: &ToolOrder,
        rights: &Rights,
        workspace: &dyn Workspace,
        syntax: &dyn Syntax,
    ) -> ToolResult {
        let tools = Tools { rights, workspace, syntax };
        let done = match &order.act {
            Act::List(arguments) => self.list(arguments, &tools).await,
            Act::Search(arguments) => self.search(arguments, &tools).await,
            Act::Outline(arguments) => self.outline(arguments, &tools).await,
            Act::Read(arguments) => self.read(arguments, &tools).await,
            Act::References(arguments) => self.references(arguments, &tools).await,
            Act::Edit { path, symbol, place, code } => self.edit(path, symbol.as_deref(), *place, code, &tools).await,
            Act::Replace { path, pairs } => self.replace(path, pairs, &tools).await,
            Act::Create { path, text } => self.create(path, text, &tools).await,
            Act::Rename { from, to } => self.rename(from, to, &tools).await,
            Act::Delete { path } => self.delete(path, &tools).await,
            Act::Note { .. } => Ok(ToolResult::text("kept")),
            Act::Run { .. } | Act::Check => {
                Err(ToolError::new(format!("`{}` is not done at the bench", order.act.name()), "this is a defect"))
            }
        };
        done.unwrap_or_else(ToolResult::Err)
    }

    /// The versions that the step has seen first, by path.
    pub fn base(&self) -> &BTreeMap<WorkspacePath, Entry> {
        &self.base
    }

    /// What the step has changed, sorted by path. A change that was taken back is none.
    pub fn changed(&self) -> Vec<Changed> {
        let before = |path| self.base.get(path).cloned().unwrap_or(Entry::Absent);
        self.now
            .iter()
            .map(|(path, after)| Changed { path: path.clone(), before: before(path), after: after.clone() })
            .filter(|changed| changed.before != changed.after)
            .collect()
    }

    /// The step's own entries, to lay over a view for `run` and `check`.
    pub fn overlay(&self) -> Entries {
        self.changed().into_iter().map(|changed| (changed.path, changed.after)).collect()
    }

    /// What was read and what was written since another state of the same bench: enough for [`Bench::restore`].
    pub fn since(&self, before: &Bench) -> (Entries, Entries) {
        let new = |now: &BTreeMap<WorkspacePath, Entry>, then: &BTreeMap<WorkspacePath, Entry>| {
            let differs = |(path, entry): &(&WorkspacePath, &Entry)| then.get(*path) != Some(*entry);
            now.iter().filter(differs).map(|(path, entry)| (path.clone(), entry.clone())).collect()
        };
        (new(&self.base, &before.base), new(&self.now, &before.now))
    }

    /// Brings the bench to where an order left it, without doing the order.
    pub fn restore(&mut self, read: Entries, wrote: Entries) {
        self.base.extend(read);
        self.now.extend(wrote);
    }

    /// Puts the formatter's text in place of a changed one.
    pub fn formatted(&mut self, path: &WorkspacePath, formatted: &str) {
        if let Some(Entry::File { text, .. }) = self.now.get_mut(path) {
            *text = formatted.into();
        }
    }

    /// The entry as the step sees it; remembered from now on.
    async fn entry(&mut self, path: &WorkspacePath, tools: &Tools<'_>) -> Result<Entry, ToolError> {
        if let Some(entry) = self.known(path) {
            return Ok(entry.clone());
        }
        let entry = tools.workspace.read(path).await.map_err(unreadable)?;
        self.base.insert(path.clone(), entry.clone());
        Ok(entry)
    }

    /// The same without remembering, for walks over many files. What cannot be read counts as absent.
    async fn glance(&self, path: &WorkspacePath, tools: &Tools<'_>) -> Entry {
        match self.known(path) {
            Some(entry) => entry.clone(),
            None => tools.workspace.read(path).await.unwrap_or(Entry::Absent),
        }
    }

    fn known(&self, path: &WorkspacePath) -> Option<&Entry> {
        self.now.get(path).or_else(|| self.base.get(path))
    }

    /// A file's entry, if the step may read it and it is there.
    async fn readable(&mut self, path: &WorkspacePath, tools: &Tools<'_>) -> Result<Entry, ToolError> {
        let listed = self.listed(tools).await.contains_key(path);
        let reached = tools.workspace.resolved(path).await;
        if reached != *path {
            let listed = self.listed(tools).await.contains_key(&reached);
            tools.rights.may_read(&reached, listed)?;
        }
        let allowed = tools.rights.may_read(path, listed);
        if is_secret(path) || listed {
            allowed.clone()?;
        }
        match self.entry(path, tools).await? {
            Entry::Absent => Err(ToolError::new(format!("there is no file `{path}`"), "`list` shows what there is")),
            entry => Ok(allowed.map(|()| entry)?),
        }
    }

    /// Files the step may read, with their sizes: the workspace's as first listed, with the step's own changes.
    async fn listed(&mut self, tools: &Tools<'_>) -> BTreeMap<WorkspacePath, u64> {
        if self.listing.is_none() {
            self.listing = Some(tools.workspace.list().await);
        }
        let mut files: BTreeMap<WorkspacePath, u64> =
            self.listing.iter().flatten().map(|file| (file.path.clone(), file.size)).collect();
        for (path, entry) in self.base.iter().chain(&self.now) {
            match entry {
                Entry::Absent => {
                    files.remove(path);
                }
                // an ignored file that was read is known, and still not listed
                Entry::File { text, .. }
                    if files.contains_key(path) || self.now.contains_key(path) || self.laid.contains(path) =>
                {
                    files.insert(path.clone(), u64::try_from(text.len()).unwrap_or(u64::MAX));
                }
                Entry::File { .. } => {}
            }
        }
        let reach = tools.rights.reach();
        files.retain(|path, _| reach.holds(path));
        files
    }

    /// The listed files below a folder or matching a glob.
    async fn within(&mut self, within: Option<&str>, tools: &Tools<'_>) -> BTreeSet<WorkspacePath> {
        let listed = self.listed(tools).await;
        listed.into_keys().filter(reading::inside(within)).collect()
    }
}

fn unreadable(refusal: ReadRefusal) -> ToolError {
    let retry = matches!(refusal, ReadRefusal::Failed { .. });
    ToolError { what: refusal.to_string(), retry, instead: "go on without this file, or `ask` the person".to_owned() }
}

#[cfg(test)]
mod tests;
