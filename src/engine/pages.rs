//! Pages of the task folder for people: written when they are asked for, and `task.md` whenever what it says changes.
//!
//! Invariant: nothing that a person typed into a page is overwritten: a page that an editor has open is written only
//! while the editor shows what stands on disk or what we wrote before. Absent: what a page says (`desk::page`), and the
//! plan document, which is the person's.

use super::buffered;
use super::reads::Reads;
use super::world::World;
use crate::desk::page::{self, Aids};
use crate::desk::{Desk, Dossier};
use crate::domain::ids::*;
use crate::ports::WriteRefusal;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};

/// Between two looks at what changed: an editor that reloads is not to flicker.
const PAUSE: Duration = Duration::from_millis(250);

/// Puts pages where they belong.
pub(super) struct Pages {
    world: Arc<World>,
    /// What this process wrote to each page. One writer at a time.
    written: Mutex<HashMap<(TaskId, String), HashSet<ContentHash>>>,
}

impl Pages {
    pub(super) fn new(world: Arc<World>) -> Self {
        Self { world, written: Mutex::default() }
    }

    /// Writes a page, unless it says so already or an editor has unsaved changes in it. Returns where it is.
    ///
    /// # Errors
    /// The disk's.
    pub(super) async fn put(&self, task: &TaskId, name: &str, text: &str) -> Result<PathBuf, WriteRefusal> {
        let mut written = self.written.lock().await;
        let disk = &self.world.disk;
        // A page that cannot be read is none: it is ours to write.
        let there = disk.read_page(task, name).await.unwrap_or_default();
        if there.as_deref() == Some(text) {
            return Ok(disk.page_path(task, name));
        }
        let ours = written.entry((task.clone(), name.to_owned())).or_default();
        let open = buffered::page(disk.as_ref(), task, name).and_then(|path| self.world.documents.newest(&path));
        if let Some(open) = open {
            let same = there.as_deref().unwrap_or_default() == &*open.text;
            if !same && !ours.contains(&ContentHash::of(open.text.as_bytes())) {
                return Ok(disk.page_path(task, name));
            }
        }
        ours.extend(there.map(ContentHash::of));
        ours.insert(ContentHash::of(text));
        disk.write_page(task, name, text).await
    }

    /// The first page of a task, before anybody is told of the task: no model is asked and nothing is walked for it.
    pub(super) async fn first(&self, dossier: &Dossier) {
        let id = &dossier.task.id;
        if let Ok(None) = self.world.disk.read_page(id, page::TASK).await {
            self.write_task(dossier, &Aids::default()).await;
        }
    }

    async fn write_task(&self, dossier: &Dossier, aids: &Aids) {
        let id = &dossier.task.id;
        if let Err(refusal) = self.put(id, page::TASK, &page::task(dossier, aids)).await {
            tracing::warn!(task = %id, %refusal, "the page of a task could not be written");
        }
    }
}

/// Keeps the pages of tasks as the desk is, until there are no more desks; the last one is still written.
pub(super) async fn keep(reads: Arc<Reads>, mut desks: watch::Receiver<Arc<Desk>>) {
    let mut known: HashMap<TaskId, Arc<Dossier>> = HashMap::new();
    let mut first = true;
    loop {
        let desk = desks.borrow_and_update().clone();
        for dossier in &desk.tasks {
            let former = known.insert(dossier.task.id.clone(), dossier.clone());
            // What was over when the process began has its page, and there may be many.
            let rests = first && dossier.task.is_over();
            if rests || former.is_some_and(|former| Arc::ptr_eq(&former, dossier)) {
                continue;
            }
            let aids = reads.aids(dossier).await;
            reads.pages().write_task(dossier, &aids).await;
        }
        first = false;
        let pause = reads.pages().world.clock.sleep(PAUSE);
        tokio::select! {
            () = pause => {}
            () = ended(desks.clone()) => {}
        }
        if desks.changed().await.is_err() {
            return;
        }
    }
}

async fn ended(mut desks: watch::Receiver<Arc<Desk>>) {
    while desks.changed().await.is_ok() {}
}
