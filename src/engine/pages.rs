//! Pages of the task folder for people: written when they are asked for, and `task.md` whenever what it says changes.
//!
//! Invariant: nothing that a person typed into a page is lost: what they saved there is kept beside before the page is
//! made anew, and a page that an editor has open is written only while the editor shows what stands on disk or what we
//! wrote before. A desk with news is shown when the page says
//! them, so that whoever is told and looks finds them there; a disk that does not answer holds nobody up for longer
//! than [`PATIENCE`]. Absent: what a page says (`desk::page`), and the plan document, which is the person's.

use super::buffered;
use super::reads::Reads;
use super::world::World;
use crate::desk::page::{self, Aids};
use crate::desk::{Desk, Dossier};
use crate::domain::ids::*;
use crate::domain::task::standing::TaskState;
use crate::ports::{Fut, WriteRefusal};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};

/// How long a change that is no news waits for others: an editor that reloads is not to flicker.
const PAUSE: Duration = Duration::from_millis(250);

/// How long news wait for their page.
const PATIENCE: Duration = Duration::from_millis(500);

/// Puts pages where they belong.
pub(super) struct Pages {
    world: Arc<World>,
    /// What was written to each page. One writer at a time.
    written: Mutex<HashMap<(TaskId, String), Written>>,
}

/// What was written to a page.
#[derive(Default)]
struct Written {
    /// What the process before this one wrote last, if it said so.
    before: Option<String>,
    /// What this one wrote or replaced, the newest last.
    ours: VecDeque<ContentHash>,
}

/// Texts of a page that are known again. An editor that shows an older one is taken to have changes of its own.
const KNOWN: usize = 64;

/// Where it is noted what a page was made to say, so that the next process tells it from what a person saved.
fn noted(name: &str) -> String {
    format!("log/{name}.written")
}

impl Written {
    fn has(&self, text: &str) -> bool {
        let hash = ContentHash::of(text);
        self.before.as_deref() == Some(hash.short()) || self.ours.contains(&hash)
    }

    fn add(&mut self, hash: ContentHash) {
        self.ours.retain(|known| *known != hash);
        self.ours.push_back(hash);
        if self.ours.len() > KNOWN {
            self.ours.pop_front();
        }
    }
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
        let ours = match written.entry((task.clone(), name.to_owned())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let before = disk.read_page(task, &noted(name)).await.unwrap_or_default();
                unknown.insert(Written { before, ours: VecDeque::new() })
            }
        };
        let open = buffered::page(disk.as_ref(), task, name).and_then(|path| self.world.documents.newest(&path));
        if let Some(open) = open {
            let same = there.as_deref().unwrap_or_default() == &*open.text;
            if !same && !ours.has(&open.text) {
                return Ok(disk.page_path(task, name));
            }
        }
        if let Some(there) = there {
            let hash = ContentHash::of(&there);
            if !ours.has(&there) {
                let beside = format!("log/typed-{}.{name}", hash.short());
                disk.write_page(task, &beside, &there).await?;
                tracing::info!(%task, page = name, kept = beside, "a page is made anew; what was saved in it is kept");
            }
            ours.add(hash);
        }
        let hash = ContentHash::of(text);
        // First the note: a process that dies in between has its old page kept beside once, and loses nothing.
        disk.write_page(task, &noted(name), hash.short()).await?;
        ours.add(hash);
        disk.write_page(task, name, text).await
    }

    async fn write_task(&self, dossier: &Dossier, aids: &Aids) {
        let id = &dossier.task.id;
        if let Err(refusal) = self.put(id, page::TASK, &page::task(dossier, aids)).await {
            tracing::warn!(task = %id, %refusal, "the page of a task could not be written");
        }
    }
}

/// A desk as the owner made it, counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    pub serial: u64,
    pub desk: Arc<Desk>,
}

/// Where desks are shown once their pages are written.
pub(super) struct Shown {
    pub desk: watch::Sender<Arc<Desk>>,
    /// The serial of the newest that is shown.
    pub serial: watch::Sender<u64>,
}

/// Keeps the pages of tasks as the desk is and shows the desk, until there are no more; the last one is still written.
pub(super) async fn keep(reads: Arc<Reads>, mut desks: watch::Receiver<Published>, shown: Shown) {
    let mut keeper = Keeper { reads, taken: HashMap::new(), writing: None, pause: None };
    let mut first = true;
    loop {
        let Published { serial, desk } = desks.borrow_and_update().clone();
        if first {
            // What was over when the process began has its page, and there may be many.
            let rests = desk.tasks.iter().filter(|dossier| dossier.task.is_over());
            keeper.taken.extend(rests.map(|dossier| (dossier.task.id.clone(), dossier.clone())));
            first = false;
        }
        keeper.pass_over(&desk);
        keeper.write_news(&desk).await;
        shown.desk.send_replace(desk.clone());
        shown.serial.send_replace(serial);
        loop {
            let idle = keeper.writing.is_none();
            let dirty = idle && desk.tasks.iter().any(|dossier| keeper.differs(dossier));
            if dirty && keeper.pause.is_none() {
                keeper.pause = Some(keeper.reads.pages().world.clock.sleep(PAUSE));
            }
            tokio::select! {
                changed = desks.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return keeper.finish(&desk).await,
                },
                () = end(&mut keeper.writing), if !idle => {}
                () = end(&mut keeper.pause), if dirty => keeper.write(&desk, |_, _| true),
            }
        }
    }
}

/// What is under way comes to its end, and is none any more. May be dropped and called again.
async fn end(doing: &mut Option<Fut<'static, ()>>) {
    if let Some(under_way) = doing {
        under_way.await;
        *doing = None;
    }
}

struct Keeper {
    reads: Arc<Reads>,
    /// Of each task what its page says, or is about to.
    taken: HashMap<TaskId, Arc<Dossier>>,
    writing: Option<Fut<'static, ()>>,
    /// Before the next writing of what is no news.
    pause: Option<Fut<'static, ()>>,
}

impl Keeper {
    fn differs(&self, dossier: &Arc<Dossier>) -> bool {
        self.taken.get(&dossier.task.id).is_none_or(|taken| !Arc::ptr_eq(taken, dossier))
    }

    /// Where the page says of a newer dossier what it says of the one it was made of, it stays as it is: a task at work
    /// is another value at each event, and its page is long.
    fn pass_over(&mut self, desk: &Desk) {
        for dossier in &desk.tasks {
            if let Some(taken) = self.taken.get_mut(&dossier.task.id)
                && !Arc::ptr_eq(taken, dossier)
                && page::says_the_same(taken, dossier)
            {
                *taken = dossier.clone();
            }
        }
    }

    /// Begins to write the pages that differ and are wanted. One writing at a time: pages do not overtake each other.
    fn write(&mut self, desk: &Desk, wanted: impl Fn(Option<&Arc<Dossier>>, &Arc<Dossier>) -> bool) {
        let mut due = Vec::new();
        for dossier in &desk.tasks {
            let former = self.taken.get(&dossier.task.id);
            if self.differs(dossier) && wanted(former, dossier) {
                let is_new = former.is_none();
                self.taken.insert(dossier.task.id.clone(), dossier.clone());
                due.push((dossier.clone(), is_new));
            }
        }
        if due.is_empty() {
            return;
        }
        let reads = self.reads.clone();
        self.writing = Some(Box::pin(async move {
            for (dossier, is_new) in &due {
                // Nothing is walked for the first page: somebody waits to see it.
                if *is_new {
                    reads.pages().write_task(dossier, &Aids::default()).await;
                }
            }
            for (dossier, _) in &due {
                let aids = reads.aids(dossier).await;
                reads.pages().write_task(dossier, &aids).await;
            }
        }));
    }

    /// News are written at once and waited for, unless the disk is busy with others already.
    async fn write_news(&mut self, desk: &Desk) {
        if self.writing.is_some() {
            return;
        }
        self.write(desk, |former, dossier| former.is_none_or(|former| News::of(former) != News::of(dossier)));
        let clock = self.reads.pages().world.clock.clone();
        tokio::select! {
            biased;
            () = end(&mut self.writing) => {}
            // Begun only where the writing is not over at once.
            () = async { clock.sleep(PATIENCE).await } => tracing::debug!("a page is late; its news are shown"),
        }
    }

    async fn finish(mut self, desk: &Desk) {
        end(&mut self.writing).await;
        self.write(desk, |_, _| true);
        end(&mut self.writing).await;
    }
}

/// What front ends tell at once.
#[derive(PartialEq)]
struct News<'a> {
    state: &'a TaskState,
    plan: Option<&'a RevisionRef>,
    approved: Option<&'a RevisionRef>,
    gates: Vec<&'a GateId>,
    pending: usize,
}

impl News<'_> {
    fn of(dossier: &Dossier) -> News<'_> {
        News {
            state: &dossier.state,
            plan: dossier.page.as_ref().map(|page| &page.revision),
            approved: dossier.task.approval.as_ref().map(|approval| &approval.revision),
            gates: dossier.task.open_gates().map(|gate| &gate.id).collect(),
            pending: dossier.hunks.iter().filter(|hunk| hunk.pending).count(),
        }
    }
}
