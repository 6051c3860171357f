//! A host of this process, or another's, joined again when that one is gone.
//!
//! Invariant: this process runs one engine at most, and joins nobody while it is host itself: its own lock would keep
//! it out, and its own socket would let it in. However many wait for the same lost host, one of them joins again, and
//! the others go on with what it found. Absent: how a host is found (`host`), and what an engine is made of (`app`).

use super::{Site, open, with_probe};
use crate::arena;
use crate::desk::{Desk, Query, View};
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::engine::{EngineHandle, Running, Update};
use crate::host::{self, Handle, Port, Seat};
use crate::ports::Fut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{broadcast, watch};

/// So many hosts in a row that leave before they answer are enough.
const ASKED_AGAIN: u32 = 20;

/// How long a host that answers that its engine has ended may take to end itself.
const LEAVING: Duration = Duration::from_millis(200);

/// How long the engine may take to end. A disk that does not answer holds no process: the journal is what counts.
const ENDING: Duration = Duration::from_secs(10);

/// The engine of this process, if it is the host, and the handle that keeps the lock.
#[derive(Clone, Default)]
pub(super) struct Hosted(Arc<Mutex<(Option<Running>, Option<Handle>)>>);

impl Hosted {
    fn lock(&self) -> MutexGuard<'_, (Option<Running>, Option<Handle>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine ends before the process does, so that what is in flight is dropped and not cut.
    pub(super) async fn leave(&self) {
        let (running, handle) = std::mem::take(&mut *self.lock());
        if let Some(handle) = &handle {
            handle.leave().await;
        }
        if let Some(running) = running
            && tokio::time::timeout(ENDING, running.stop()).await.is_err()
        {
            tracing::warn!("the engine did not end in time; what it was at is taken up from the journal");
        }
        // Last of all, because it frees the lock.
        drop(handle);
    }

    /// The handle of this process, where it is host.
    fn local(&self) -> Option<Handle> {
        self.lock().1.clone().filter(Handle::is_host)
    }

    /// An engine that was started for nothing: its host could not be.
    async fn end_former(&self) {
        let former = self.lock().0.take();
        if let Some(former) = former {
            former.stop().await;
        }
    }
}

/// The engine of a root, wherever it is.
pub(super) struct Joined {
    site: Arc<Site>,
    seat: Seat,
    handle: Mutex<Handle>,
    running: Hosted,
    /// Held by whoever joins again.
    joining: tokio::sync::Mutex<()>,
    /// The desks of whichever handle there is, one after the other.
    desk: watch::Sender<Arc<Desk>>,
    follower: Mutex<Option<tokio::task::AbortHandle>>,
    acted: AtomicBool,
    /// The session goes on whatever becomes of hosts: a read is always asked again.
    stays: bool,
}

/// Shows the newest of these desks. The older of two never comes last, whoever shows them.
fn show(desks: &watch::Receiver<Arc<Desk>>, to: &watch::Sender<Arc<Desk>>) {
    to.send_if_modified(|shown| {
        let newest = desks.borrow().clone();
        let another = !Arc::ptr_eq(shown, &newest);
        *shown = newest;
        another
    });
}

impl Joined {
    /// For a command, which tells its user when what it acted on has gone.
    pub(super) async fn join(site: Arc<Site>, seat: Seat, running: Hosted) -> Result<Self, Refusal> {
        let handle = join(&site, &seat, &running).await?;
        let joined = Self {
            site,
            seat,
            handle: Mutex::new(handle.clone()),
            running,
            joining: tokio::sync::Mutex::default(),
            desk: watch::Sender::default(),
            follower: Mutex::default(),
            acted: AtomicBool::new(false),
            stays: false,
        };
        joined.follow(&handle);
        Ok(joined)
    }

    /// For a session that outlives its hosts.
    pub(super) fn staying(self) -> Self {
        Self { stays: true, ..self }
    }

    /// Shows this handle's desks from now on.
    fn follow(&self, handle: &Handle) {
        let (mut desks, to) = (handle.desks(), self.desk.clone());
        show(&desks, &to);
        let follower = tokio::spawn(async move {
            while desks.changed().await.is_ok() {
                show(&desks, &to);
            }
        });
        let former = self.follower.lock().unwrap_or_else(PoisonError::into_inner).replace(follower.abort_handle());
        if let Some(former) = former {
            former.abort();
        }
    }

    fn handle(&self) -> Handle {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Joins again in the place of a handle whose host has gone. Nothing, where another has done so already, or where
    /// the host is there still: it may be asked again.
    async fn rejoin_after(&self, lost: &Handle) -> Result<(), Refusal> {
        let _one_at_a_time = self.joining.lock().await;
        if !self.handle().is(lost) || tokio::time::timeout(LEAVING, lost.lost()).await.is_err() {
            return Ok(());
        }
        let handle = join(&self.site, &self.seat, &self.running).await?;
        self.follow(&handle);
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = handle;
        Ok(())
    }
}

impl Port for Joined {
    fn act(&self, actor: Actor, action: Action) -> Fut<'_, Result<Reply, Refusal>> {
        Box::pin(async move {
            self.acted.store(true, Ordering::Relaxed);
            let mut joins = 0;
            loop {
                let handle = self.handle();
                match handle.act(actor.clone(), action.clone()).await {
                    // The host was a terminal that had its own answer and left, just as it was asked.
                    Err(refusal)
                        if refusal.kind == RefusalKind::Gone
                            && !handle.is_host()
                            && joins < ASKED_AGAIN
                            && action.may_be_asked_again() =>
                    {
                        joins += 1;
                        self.rejoin_after(&handle).await?;
                    }
                    answer => {
                        // The follower may be a moment late; whoever acted looks now.
                        show(&handle.desks(), &self.desk);
                        return answer;
                    }
                }
            }
        })
    }

    fn ask(&self, query: Query) -> Fut<'_, Result<View, Refusal>> {
        Box::pin(async move {
            let mut joins = 0;
            let view = loop {
                let handle = self.handle();
                match handle.ask(query.clone()).await {
                    // Once a command has asked for something, the loss of the host is news: what it did must be taken
                    // up again.
                    Err(refusal)
                        if refusal.kind == RefusalKind::Gone
                            && !handle.is_host()
                            && joins < ASKED_AGAIN
                            && (self.stays || !self.acted.load(Ordering::Relaxed)) =>
                    {
                        joins += 1;
                        self.rejoin_after(&handle).await?;
                    }
                    answer => break answer?,
                }
            };
            match view {
                View::Surroundings(found) => Ok(View::Surroundings(with_probe(found, &self.site).await)),
                view => Ok(view),
            }
        })
    }

    fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        self.desk.subscribe()
    }

    fn updates(&self) -> broadcast::Receiver<Update> {
        self.handle().updates()
    }

    fn is_host(&self) -> bool {
        self.handle().is_host()
    }

    fn lost(&self) -> Fut<'_, ()> {
        let handle = self.handle();
        Box::pin(async move { handle.lost().await })
    }

    fn rejoin(&self) -> Fut<'_, Result<(), Refusal>> {
        Box::pin(async move {
            let handle = self.handle();
            if handle.is_host() { Ok(()) } else { self.rejoin_after(&handle).await }
        })
    }
}

async fn join(site: &Arc<Site>, seat: &Seat, running: &Hosted) -> Result<Handle, Refusal> {
    if let Some(own) = running.local() {
        return Ok(own);
    }
    let handle = host::join(&site.state, seat.clone(), |former| {
        let (site, running) = (site.clone(), running.clone());
        async move {
            // Commands of a host that was killed would go on beside ours.
            for marker in former.map(|former| former.left_behind()).unwrap_or_default() {
                let ended = tokio::task::spawn_blocking(move || arena::end_leftovers(&marker)).await.unwrap_or(0);
                if ended > 0 {
                    tracing::info!(ended, "ended commands that a dead host had left");
                }
            }
            running.end_former().await;
            let started = open(&site).await?;
            let handle: EngineHandle = started.handle.clone();
            running.lock().0 = Some(started);
            Ok(handle)
        }
    })
    .await?;
    running.lock().1 = Some(handle.clone());
    Ok(handle)
}
