//! Where commands run. Rung 1 (`CagedArena`): a view at the workspace's own path, in a cage. Rung 0 (`CopyArena`): a
//! fresh copy of the workspace with the change set laid over it, without isolation; the engine asks a person before
//! each command. Which of them it is, is found out by doing (`cage::probe`).
//!
//! Invariant: nothing here writes below the user's root, except what an approved outside command does itself
//! (`Stage::Workspace`). A command's whole process tree ends with it, with its time limit, and with the future that
//! waits for it. The hash in an outcome is that of the bytes the command was given.
//! Absent at rung 0: isolation. A command of a copy can read and write whatever its user can, by absolute path, and
//! tools that resolve through an absolute path (an editable Python install, a linked `node_modules`) still see the
//! user's tree; there is no limit on memory and CPU.

pub mod cage;
mod caged;
mod copy;
mod environment;
mod format;
mod output;
mod process;
mod remove;
mod run;
mod shorten;
mod sources;
#[cfg(test)]
mod tests;
mod tracked;
mod view;
mod wrote;

pub use caged::CagedArena;
pub use environment::host_marker;
pub use process::end_leftovers;

use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, TaskId, WorkspacePath};
use crate::domain::task::facts::{RunOutcome, Rung};
use crate::ports::{Arena, ArenaFault, Deltas, Fut, RunOrder, Stage};
use copy::View;
use sources::{Links, Sources};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a command may use up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes it may print; beyond them it is killed. 16 MB: a verbose test run prints one or two.
    pub output: u64,
    /// Between SIGTERM and SIGKILL at the time limit.
    pub grace: Duration,
    /// How long its pipe is read on after everything it started was killed.
    pub drain: Duration,
    /// Wall time of a formatter.
    pub format: Duration,
    /// Commands that may run at once, which share the machine's memory: tasks that run in parallel, one command each.
    pub parallel: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output: 16 << 20,
            grace: Duration::from_secs(2),
            drain: Duration::from_secs(2),
            format: Duration::from_secs(10),
            parallel: 1,
        }
    }
}

/// Rung 0. One copy a task below the cache directory, brought up to date before each command.
pub struct CopyArena {
    root: PathBuf,
    cache: PathBuf,
    formatters: Vec<(String, Vec<String>)>,
    limits: Limits,
    sources: Arc<Sources>,
    /// One command at a time in a copy: two would see each other's files.
    views: Mutex<HashMap<TaskId, Arc<tokio::sync::Mutex<View>>>>,
}

impl CopyArena {
    /// `root` is read through its real path. `formatters` names for a file extension the program that formats it.
    ///
    /// # Errors
    /// The root does not exist, or the cache directory cannot be made or lies inside the root, where a copy would
    /// hold copies of itself.
    pub fn new(
        root: &Path,
        cache_dir: &Path,
        formatters: Vec<(String, Vec<String>)>,
        limits: Limits,
    ) -> Result<Self, ArenaFault> {
        let fault = |path: &Path, error: std::io::Error| ArenaFault::View(format!("{}: {error}", path.display()));
        let root = root.canonicalize().map_err(|error| fault(root, error))?;
        std::fs::create_dir_all(cache_dir).map_err(|error| fault(cache_dir, error))?;
        let cache = cache_dir.canonicalize().map_err(|error| fault(cache_dir, error))?;
        if cache.starts_with(&root) {
            return Err(ArenaFault::View(format!(
                "the cache directory {} lies inside the workspace; set PLANWRIGHT_CACHE_DIR to a folder outside",
                cache.display()
            )));
        }
        let sources = Arc::new(Sources::new(root.clone(), Links::Inside));
        Ok(Self { root, cache, formatters, limits, sources, views: Mutex::default() })
    }

    /// The folder a task's commands see as the workspace.
    pub fn view_dir(&self, task: &TaskId) -> PathBuf {
        copy::tree_of(&self.cache, task)
    }

    fn view_of(&self, task: &TaskId) -> Arc<tokio::sync::Mutex<View>> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(tokio::sync::Mutex::new(View::open(&self.cache, task)));
        views.entry(task.clone()).or_insert_with(make).clone()
    }

    async fn run_in_view(
        &self,
        order: &RunOrder,
        overlay: Vec<(WorkspacePath, Entry)>,
        output: Deltas,
    ) -> Result<RunOutcome, ArenaFault> {
        let view = self.view_of(&order.task).lock_owned().await;
        let sources = self.sources.clone();
        // The lock goes along: if this future is dropped meanwhile, nobody enters a half-made copy.
        let (view, synced) = blocking(move || {
            let mut view = view;
            let synced = sources.scan(&overlay).and_then(|inputs| view.sync(&sources, inputs));
            (view, synced)
        })
        .await?;
        let given = synced.map_err(ArenaFault::View)?;
        let place = run::Place { base: view.tree().to_owned(), user: self.root.clone() };
        let ran = run::run(order, &place, self.limits, output).await?;
        let keeps = order.keeps;
        let (view, wrote) = blocking(move || {
            let mut view = view;
            view.command_ended();
            view.save();
            let wrote = if keeps { wrote::collect(&view) } else { wrote::Wrote::default() };
            (view, wrote)
        })
        .await?;
        // Whoever reads a message wants the path in the workspace, not in the cache.
        let mut text = shorten::shortened(&ran.output, view.tree(), order.command.dir.as_deref(), &self.root);
        for note in given.notes.iter().chain(&wrote.notes) {
            text.push_str(&format!("\n[planwright: {note}]"));
        }
        Ok(RunOutcome {
            ended: ran.ended,
            output: text,
            bytes: ran.bytes,
            cut: output::is_cut(ran.bytes),
            millis: ran.millis,
            rung: Rung::Copy,
            view: given.hash,
            wrote: wrote.entries,
        })
    }

    async fn run_outside(&self, order: &RunOrder, output: Deltas) -> Result<RunOutcome, ArenaFault> {
        let view = self.view(Vec::new()).await?;
        let place = run::Place { base: self.root.clone(), user: self.root.clone() };
        let ran = run::run(order, &place, self.limits, output).await?;
        Ok(RunOutcome {
            ended: ran.ended,
            output: ran.output,
            bytes: ran.bytes,
            cut: output::is_cut(ran.bytes),
            millis: ran.millis,
            rung: Rung::Copy,
            view,
            wrote: Vec::new(),
        })
    }
}

impl Arena for CopyArena {
    fn rung(&self) -> Rung {
        Rung::Copy
    }

    fn run(&self, order: RunOrder, output: Deltas) -> Fut<'_, Result<RunOutcome, ArenaFault>> {
        Box::pin(async move {
            match order.stage.clone() {
                Stage::View(overlay) => self.run_in_view(&order, overlay, output).await,
                Stage::Workspace => self.run_outside(&order, output).await,
            }
        })
    }

    fn format<'a>(&'a self, path: &'a WorkspacePath, text: &'a str) -> Fut<'a, Option<String>> {
        Box::pin(async move {
            let extension = path.extension()?;
            let (_, argv) = self.formatters.iter().find(|(known, _)| known == extension)?;
            let settings = format::settings(&self.root, path, argv);
            format::format(argv, settings, &self.cache, text, self.limits).await
        })
    }

    fn view(&self, overlay: Vec<(WorkspacePath, Entry)>) -> Fut<'_, Result<ContentHash, ArenaFault>> {
        Box::pin(async move {
            let sources = self.sources.clone();
            let inputs = blocking(move || sources.scan(&overlay)).await?.map_err(ArenaFault::View)?;
            Ok(inputs.hash())
        })
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ArenaFault> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ArenaFault::View(format!("the work on the copy was cut short: {error}")))
}
