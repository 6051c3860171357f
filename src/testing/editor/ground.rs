//! A ground for the language server without an engine: a desk that a test sets, and a record of what was asked.
//!
//! Invariant: keeps the promises of `Ground`, `Workplace` and `Port`. Absent: an engine; hand its handle to
//! [`TestGround::with_port`] where one is wanted.

use crate::desk::{Desk, Query, View};
use crate::domain::ids::TaskId;
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::host::{Port, Update};
use crate::lsp::{Ground, Workplace};
use crate::ports::{Documents, Fut, SessionId};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, Semaphore, broadcast, watch};

/// Longer than anything that is waited for, also where the clock is moved by hand.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(90);

/// What the server stands on in a test.
pub struct TestGround {
    root: PathBuf,
    documents: Arc<dyn Documents>,
    port: Arc<dyn Port>,
    /// The setting.
    pub resumes: AtomicBool,
    /// The root counts as temporary.
    pub temporary: AtomicBool,
    /// Places that were closed.
    pub closed: AtomicU32,
    /// The root opens when there is a permit.
    pub opening: Semaphore,
    /// What the user must hear of the engine's start.
    pub urgent: Mutex<Vec<String>>,
}

impl TestGround {
    /// With this folder as root, opened at once.
    pub fn with_port(root: &Path, documents: Arc<dyn Documents>, port: Arc<dyn Port>) -> Arc<Self> {
        Arc::new(Self {
            root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
            documents,
            port,
            resumes: AtomicBool::new(true),
            temporary: AtomicBool::new(false),
            closed: AtomicU32::new(0),
            opening: Semaphore::new(1),
            urgent: Mutex::default(),
        })
    }
}

/// The same as a ground; the orphan rule wants a type of its own around the `Arc`.
#[derive(Clone)]
pub struct Shared(pub Arc<TestGround>);

impl Ground for Shared {
    fn documents(&self) -> Arc<dyn Documents> {
        self.0.documents.clone()
    }

    fn root_of(&self, folder: &Path) -> Option<PathBuf> {
        folder.canonicalize().ok()
    }

    fn working_directory(&self) -> PathBuf {
        self.0.root.clone()
    }

    fn open(&self, _: PathBuf, _: String, _: Option<SessionId>) -> Fut<'_, Result<Arc<dyn Workplace>, Refusal>> {
        Box::pin(async move {
            // Never closed.
            let _opened = self.0.opening.acquire().await;
            let place: Arc<dyn Workplace> = Arc::new(self.clone());
            Ok(place)
        })
    }
}

impl Workplace for Shared {
    fn root(&self) -> &Path {
        &self.0.root
    }

    fn port(&self) -> &dyn Port {
        self.0.port.as_ref()
    }

    fn user(&self) -> &str {
        "anna"
    }

    fn resumes(&self) -> bool {
        self.0.resumes.load(Ordering::Relaxed)
    }

    fn is_temporary(&self) -> bool {
        self.0.temporary.load(Ordering::Relaxed)
    }

    fn urgent(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.urgent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn close(&self) -> Fut<'_, ()> {
        Box::pin(async {
            self.0.closed.fetch_add(1, Ordering::Relaxed);
        })
    }
}

/// A port without an engine.
pub struct TestPort {
    desk: watch::Sender<Arc<Desk>>,
    updates: broadcast::Sender<Update>,
    acted: watch::Sender<Vec<(Actor, Action)>>,
    asked: watch::Sender<Vec<Query>>,
    refusal: Mutex<Option<Refusal>>,
    gone: Notify,
    /// How often it was joined again.
    pub rejoined: AtomicU32,
}

impl Default for TestPort {
    fn default() -> Self {
        Self {
            desk: watch::Sender::default(),
            updates: broadcast::Sender::new(64),
            acted: watch::Sender::default(),
            asked: watch::Sender::default(),
            refusal: Mutex::default(),
            gone: Notify::new(),
            rejoined: AtomicU32::new(0),
        }
    }
}

impl TestPort {
    /// Publishes this desk.
    pub fn show(&self, desk: Desk) {
        self.desk.send_replace(Arc::new(desk));
    }

    /// Tells of progress.
    pub fn update(&self, task: &str, line: &str) {
        // Nobody may listen.
        let _heard = self.updates.send(Update { task: TaskId::new(task), line: line.to_owned() });
    }

    /// What was asked for up to now.
    pub fn acted(&self) -> Vec<(Actor, Action)> {
        self.acted.borrow().clone()
    }

    /// Waits until so many actions were asked for.
    pub async fn acts(&self, number: usize) -> Vec<(Actor, Action)> {
        let mut acted = self.acted.subscribe();
        let enough = acted.wait_for(|acted| acted.len() >= number);
        // The sender is held by `self`. Tests let a minute pass at once, and none of them waits for this long in earnest.
        match tokio::time::timeout(DEADLINE, enough).await {
            Ok(acted) => acted.map(|acted| acted.clone()).unwrap_or_default(),
            Err(_) => self.acted(),
        }
    }

    /// Waits for the first read of this kind, and says how many there were by then.
    pub async fn asks(&self, kind: impl Fn(&Query) -> bool) -> usize {
        let mut asked = self.asked.subscribe();
        let first = asked.wait_for(|asked| asked.iter().any(&kind));
        // Whoever waits in vain is told none.
        let _first_or_none = tokio::time::timeout(DEADLINE, first).await;
        self.asked.borrow().iter().filter(|query| kind(query)).count()
    }

    /// Refuses every action from now on, or none.
    pub fn refuse(&self, refusal: Option<Refusal>) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = refusal;
    }

    /// The host is gone.
    pub fn lose(&self) {
        self.gone.notify_one();
    }
}

impl Port for TestPort {
    fn act(&self, actor: Actor, action: Action) -> Fut<'_, Result<Reply, Refusal>> {
        self.acted.send_modify(|acted| acted.push((actor, action)));
        let refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reply = Reply { task: TaskId::new("k7f3"), message: "done".to_owned() };
        Box::pin(std::future::ready(refusal.map_or(Ok(reply), Err)))
    }

    fn ask(&self, query: Query) -> Fut<'_, Result<View, Refusal>> {
        self.asked.send_modify(|asked| asked.push(query.clone()));
        let answer: Result<View, Refusal> = self.desk.borrow().answer(&query);
        Box::pin(std::future::ready(answer.map_err(|refusal| Refusal { kind: RefusalKind::NotFound, ..refusal })))
    }

    fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        self.desk.subscribe()
    }

    fn updates(&self) -> broadcast::Receiver<Update> {
        self.updates.subscribe()
    }

    fn is_host(&self) -> bool {
        true
    }

    fn lost(&self) -> Fut<'_, ()> {
        Box::pin(self.gone.notified())
    }

    fn rejoin(&self) -> Fut<'_, Result<(), Refusal>> {
        self.rejoined.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Open documents as they are in earnest, for tests in which texts and spots matter.
pub fn buffers() -> Arc<dyn Documents> {
    Arc::new(crate::workspace::Buffers::new())
}
