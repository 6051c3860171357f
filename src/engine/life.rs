//! The engine's life in this process: every task of the store is opened, the loop begins, and it ends.
//!
//! Invariant: what a dead process left in flight is settled before anybody is served. Absent: the loop itself (`owner`).

use super::case::Case;
use super::handle::{Asked, EngineHandle};
use super::input::Input;
use super::owner::Owner;
use super::pages::{self, Pages, Shown};
use super::reads::Reads;
use super::world::World;
use super::{recover, refresh, sound};
use crate::domain::ids::*;
use crate::ports::{Clock, StoreFault};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

/// The engine's task, to be waited for at the end.
pub struct Running {
    /// What the rest of the program holds.
    pub handle: EngineHandle,
    reads: Arc<Reads>,
    keeper: tokio::task::JoinHandle<()>,
    clock: Arc<dyn Clock>,
    inbox: mpsc::UnboundedSender<Input>,
    owner: tokio::task::JoinHandle<()>,
    /// What a person must hear of this start, whatever they asked for.
    pub urgent: Vec<String>,
}

impl Running {
    /// Drops what is in flight and ends. Everything can be resumed from the journal.
    pub async fn stop(self) {
        let (done, ended) = oneshot::channel();
        if self.inbox.send(Input::Stop(done)).is_ok() {
            let _ended_or_gone = ended.await;
        }
        let _panicked_or_not = self.owner.await;
        // It writes what the last desk says, and then has no more to wait for. A page is not worth a process that does
        // not end: the journal has all there is, and the next process writes it.
        let mut keeper = self.keeper;
        tokio::select! {
            biased;
            _panicked_or_not = &mut keeper => {}
            () = self.clock.sleep(LAST_PAGE) => keeper.abort(),
        }
    }

    /// Tells that files changed; for the watcher.
    pub fn changed(&self) -> impl Fn(Vec<WorkspacePath>) + Send + Sync + 'static {
        let (inbox, reads) = (self.inbox.clone(), self.reads.clone());
        move |paths| {
            reads.changed(&paths);
            let _gone_engine_needs_nothing = inbox.send(Input::Changed(paths));
        }
    }

    /// Tells that something changed which nobody can name; for the watcher.
    pub fn overlooked(&self) -> impl Fn() + Send + Sync + 'static {
        let inbox = self.inbox.clone();
        move || {
            let _gone_engine_needs_nothing = inbox.send(Input::Overlooked);
        }
    }
}

/// How long the last page may take to be written.
const LAST_PAGE: Duration = Duration::from_secs(2);

/// Lines of progress that wait for a slow reader before the oldest are dropped.
const UPDATES_KEPT: usize = 1_024;

/// Opens every task of the store and starts the loop.
///
/// # Errors
/// The store cannot be read.
pub async fn start(world: Arc<World>) -> Result<Running, StoreFault> {
    let (inbox, inputs) = mpsc::unbounded_channel();
    let (asked, asks) = mpsc::unbounded_channel::<Asked>();
    let (updates, _) = broadcast::channel(UPDATES_KEPT);
    let mut owner = Owner {
        world,
        cases: BTreeMap::new(),
        order: Vec::new(),
        inbox: inbox.clone(),
        desk: watch::Sender::default(),
        updates: updates.clone(),
        serial: 0,
        due: None,
        remarks: Vec::new(),
        urgent: Vec::new(),
        watched: BTreeMap::new(),
        searching: BTreeMap::new(),
        waiting: BTreeMap::new(),
    };
    let changed = inbox.clone();
    refresh::follow(owner.world.documents.as_ref(), owner.world.clock.clone(), move |told| changed.send(told).is_ok());
    sound::follow(&owner.world);
    owner.remarks.clone_from(&owner.world.remarks);
    for id in owner.world.store.tasks().await? {
        let case = match Case::load(&owner.world, &id).await {
            Ok(case) => case,
            // One journal that cannot be read does not take the others with it. Its events stay as they are.
            Err(fault) => {
                tracing::error!(task = %id, %fault, "a task cannot be read");
                owner.remarks.push(format!("task {id} cannot be read and is left as it is: {fault}"));
                continue;
            }
        };
        if let (Some(why), false) = (&case.lapsed, case.task.is_over()) {
            owner.remarks.push(format!(
                "the approval of task {id} has lapsed, because this release reads plans differently ({why}); nothing of it runs until it is approved again: planwright show {id}"
            ));
        }
        owner.order.push(id.clone());
        owner.cases.insert(id.clone(), case);
        if let Err(fault) = recover::recover(&mut owner, &id).await {
            tracing::warn!(task = %id, %fault, "what was in flight could not be settled; the task can only be read");
            if let Some(case) = owner.cases.get_mut(&id) {
                case.stuck = Some(fault);
            }
        }
        owner.read_page(&id).await;
    }
    owner.publish().await;
    let clock = owner.world.clock.clone();
    let reads = Arc::new(Reads::new(owner.world.clone(), Arc::new(Pages::new(owner.world.clone()))));
    let published = owner.desk.subscribe();
    let first = published.borrow().clone();
    let (desk, seen) = watch::channel(first.desk);
    let (serial, shown) = watch::channel(first.serial);
    let keeper = tokio::spawn(pages::keep(reads.clone(), published.clone(), Shown { desk, serial }));
    let handle = EngineHandle::new(asked, seen, updates).with_reads(reads.clone()).after(published, shown);
    let urgent = std::mem::take(&mut owner.urgent);
    let task = tokio::spawn(owner.run(inputs, asks));
    Ok(Running { handle, reads, keeper, clock, inbox, owner: task, urgent })
}
