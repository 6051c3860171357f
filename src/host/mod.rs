//! One host process a root; the others attach to it and cannot tell the difference.
//!
//! Invariant: at most one process runs an engine on a root, because at most one has the kernel's lock. When the host
//! dies the lock is free at once, and an attached process that joins again is host. A host that is stopped keeps the
//! lock; it is named, and ended only on a person's word. There is no daemon.
//!
//! Deliberately absent: leases and heartbeats (an owner that was stopped wakes behind its check and acts beside its
//! successor); resuming tasks, which is an act of a person.

mod attach;
mod lock;
mod mirror;
mod port;
mod process;
mod remote;
mod roll;
mod serve;
mod state_dir;
mod wire;

#[cfg(test)]
mod tests;

pub use attach::Attached;
pub use lock::Holder;
pub use port::Port;
pub use process::{MARK, user};
pub use state_dir::StateDir;

use crate::desk::{Desk, Query, View};
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::engine::EngineHandle;
pub use crate::engine::Update;
use crate::ports::{Documents, SessionId};
use attach::{NotAttached, PATIENCE};
use lock::Lock;
use process::State;
use roll::Roll;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::UnixListener;
use tokio::sync::{broadcast, watch};
use tokio::task::AbortHandle;

/// This release. Host and attached processes must be of the same.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long a host that ends lets its last answers be written.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// What a person types to end a host that does not answer.
const END: &str = "planwright doctor --end-host";

/// Who takes part in a root: how a process is called to others, and what it brings.
#[derive(Clone)]
pub struct Seat {
    client: String,
    documents: Option<Arc<dyn Documents>>,
    session: Option<SessionId>,
    follows: bool,
}

impl Seat {
    /// A front end that has documents open. Attached, it tells the host of them, carries out decisions in them, and
    /// has the desk mirrored; as host it takes in those of the others. `client` is the editor's name and version, the
    /// same as in its actions.
    pub fn editor(client: &str, documents: Arc<dyn Documents>) -> Self {
        Self { client: client.to_owned(), documents: Some(documents), session: None, follows: true }
    }

    /// The one session that acts through this seat. What others have open in this process is no matter of it.
    #[must_use]
    pub fn of(self, session: Option<SessionId>) -> Self {
        Self { session, ..self }
    }

    /// A front end without documents of its own. As host it takes in those of the others: they are the engine's.
    pub fn terminal(client: &str, documents: Arc<dyn Documents>) -> Self {
        Self { client: client.to_owned(), documents: Some(documents), session: None, follows: false }
    }
}

impl From<&str> for Seat {
    /// A front end for which no documents exist.
    fn from(client: &str) -> Self {
        Self { client: client.to_owned(), documents: None, session: None, follows: false }
    }
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seat").field("client", &self.client).field("follows", &self.follows).finish_non_exhaustive()
    }
}

/// A handle to the engine of a root, in this process or in another. Cheap to clone; the last clone of a local one
/// gives the workspace free, so drop it after the engine has ended.
#[derive(Clone, Debug)]
pub enum Handle {
    /// This process is the host.
    Local(EngineHandle, Arc<Hosting>),
    /// Another one is.
    Remote(Arc<Attached>),
}

impl Handle {
    /// Hands an action to the engine and waits for its answer.
    ///
    /// # Errors
    /// The engine's refusal; `Gone`, when the host has gone in between; `Held`, when it was stopped.
    pub async fn act(&self, actor: Actor, action: Action) -> Result<Reply, Refusal> {
        match self {
            Handle::Local(engine, hosting) => engine.act_in(hosting.session, actor, action).await,
            Handle::Remote(host) => host.act(actor, action).await,
        }
    }

    /// Reads from the newest snapshot.
    ///
    /// # Errors
    /// The desk's refusal; `Gone` and `Held` as in [`Self::act`].
    pub async fn ask(&self, query: Query) -> Result<View, Refusal> {
        match self {
            Handle::Local(engine, _) => engine.ask(&query).await,
            Handle::Remote(host) => host.ask(query).await,
        }
    }

    /// The snapshot as it changes, here or mirrored from the host.
    pub fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        match self {
            Handle::Local(engine, _) => engine.desks(),
            Handle::Remote(host) => host.desks(),
        }
    }

    /// Progress from now on. Some of it may be left out for a slow reader; the desk has the whole truth.
    pub fn updates(&self) -> broadcast::Receiver<Update> {
        match self {
            Handle::Local(engine, _) => engine.updates(),
            Handle::Remote(host) => host.updates(),
        }
    }

    /// Completes when the host behind a remote handle has gone: the moment to [`join`] again. Never for a local one.
    pub async fn lost(&self) {
        match self {
            Handle::Local(..) => std::future::pending().await,
            Handle::Remote(host) => host.lost().await,
        }
    }

    /// Before a host ends: lets the answers that others still wait for be written. Bounded, because one that does not
    /// read must not hold a terminal.
    pub async fn leave(&self) {
        if let Handle::Local(_, hosting) = self {
            let _paid_or_late = tokio::time::timeout(LAST_ANSWERS, hosting.owed.paid()).await;
        }
    }

    /// Both are one: the same connection, or the same being host.
    pub fn is(&self, other: &Handle) -> bool {
        match (self, other) {
            (Handle::Local(_, one), Handle::Local(_, other)) => Arc::ptr_eq(one, other),
            (Handle::Remote(one), Handle::Remote(other)) => Arc::ptr_eq(one, other),
            (Handle::Local(..), Handle::Remote(_)) | (Handle::Remote(_), Handle::Local(..)) => false,
        }
    }

    /// True where this process runs the engine.
    pub fn is_host(&self) -> bool {
        match self {
            Handle::Local(..) => true,
            Handle::Remote(_) => false,
        }
    }
}

/// Being host: the lock, the socket and the connections, until dropped.
#[derive(Debug)]
pub struct Hosting {
    socket: PathBuf,
    serving: AbortHandle,
    owed: serve::Owed,
    session: Option<SessionId>,
    /// Dropped last: who takes the lock next must not find its new socket removed by us.
    roll: Arc<Roll>,
}

impl Drop for Hosting {
    fn drop(&mut self) {
        self.roll.close();
        self.serving.abort();
        // One that stays is removed by the next host.
        drop(std::fs::remove_file(&self.socket));
    }
}

/// Becomes host of a root, or attaches to the process that is. `seat` is who this process is to others;
/// `start` runs the engine, and is called only once this process has the lock, with whoever had it last: one that was
/// killed has left its commands running, which `start` ends ([`Holder::left_behind`]).
///
/// # Errors
/// What `start` refuses; `Held` where the holder is stopped, does not answer within two seconds, or is of another
/// release; `Broken` where the state folder cannot be used.
pub async fn join<F>(
    state: &StateDir,
    seat: impl Into<Seat>,
    start: impl FnOnce(Option<Holder>) -> F,
) -> Result<Handle, Refusal>
where
    F: Future<Output = Result<EngineHandle, Refusal>>,
{
    let seat = seat.into();
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let lock = Lock::take(&state.lock()).map_err(|error| broken(state, &error))?;
        if let Some(lock) = lock {
            return host(state, seat, lock, start).await;
        }
        // The note may be that of a holder that died just now, or be missing while the next one writes it. Its socket
        // is tried in any case: in another pid namespace the process cannot be seen, and yet it answers.
        let holder = lock::read(&state.lock());
        if let Some(holder) = holder.clone() {
            match Attached::to(holder.clone(), &seat).await {
                Ok(attached) => return Ok(Handle::Remote(Arc::new(attached))),
                Err(NotAttached::Refused(refusal)) => return Err(refusal),
                Err(NotAttached::Silent) if process::state(&holder) != State::Gone => return Err(held(&holder)),
                Err(NotAttached::Silent | NotAttached::Gone) => {}
            }
        }
        if began.elapsed() > PATIENCE {
            return Err(holder.as_ref().map_or_else(|| nameless(state), held));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

async fn host<F>(
    state: &StateDir,
    seat: Seat,
    lock: Lock,
    start: impl FnOnce(Option<Holder>) -> F,
) -> Result<Handle, Refusal>
where
    F: Future<Output = Result<EngineHandle, Refusal>>,
{
    let (ready, engine) = watch::channel(None);
    let (socket, listener) = listen(state).map_err(|error| broken(state, &error))?;
    let former = lock::read(&state.lock());
    let mut own = Holder::this(socket.clone(), &seat.client);
    own.left = former.as_ref().map(Holder::left_behind).unwrap_or_default();
    own.editors = former.as_ref().map(|former| former.editors.clone()).unwrap_or_default();
    let roll = Arc::new(Roll::call(lock, own).map_err(|error| broken(state, &error))?);
    let owed = serve::Owed::new();
    let taking_part = Arc::downgrade(&roll);
    let serving = serve::serve(listener, engine, seat.documents, owed.clone(), taking_part);
    let serving = tokio::spawn(serving).abort_handle();
    // From here on an early return lets go of lock and socket again.
    let hosting = Hosting { socket, serving, owed, session: seat.session, roll };
    hosting.roll.complete().await;
    let engine = start(former).await?;
    hosting.roll.note(|own| own.left.clear());
    let hosting = Arc::new(hosting);
    ready.send_replace(Some(engine.clone()));
    Ok(Handle::Local(engine, hosting))
}

fn listen(state: &StateDir) -> io::Result<(PathBuf, UnixListener)> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let socket = state.socket(runtime.as_deref(), &std::env::temp_dir())?;
    // Left by a host that was killed; we have the lock, so it is nobody's.
    match std::fs::remove_file(&socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&socket)?;
    std::fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
    Ok((socket, listener))
}

/// A root that has no host and gets none while this value lives.
#[derive(Debug)]
pub struct Unhosted(#[expect(dead_code, reason = "held, never read")] Lock);

/// Keeps a root without a host, to remove what planwright keeps of it.
///
/// # Errors
/// `Held` by whoever has the lock, whether it runs, is stopped, or does not say who it is; `Broken` where the state
/// folder cannot be used.
pub fn keep_unhosted(state: &StateDir) -> Result<Unhosted, Refusal> {
    match Lock::take(&state.lock()).map_err(|error| broken(state, &error))? {
        Some(lock) => Ok(Unhosted(lock)),
        None => {
            let who = lock::read(&state.lock()).map_or_else(|| "a process".to_owned(), |holder| holder.describe());
            Err(Refusal {
                kind: RefusalKind::Held,
                message: format!("{who} works in this workspace; nothing was removed"),
                next: "end it, then run planwright clean --yes".to_owned(),
            })
        }
    }
}

/// Who holds a root now, if anybody does and says so. For `doctor`.
pub fn holder(state: &StateDir) -> Option<Holder> {
    match Lock::take(&state.lock()) {
        Ok(Some(_free)) => None,
        Ok(None) | Err(_) => lock::read(&state.lock()).filter(|holder| process::state(holder) != State::Gone),
    }
}

/// Ends the host of a root and what it started, on a person's word. Gives who it was, and how many marked children
/// were ended with it; `None` where nobody held the root.
///
/// # Errors
/// `Held`, when it is not the process that took the lock, may not be ended, or holds the lock still after two seconds.
pub async fn end_holder(state: &StateDir) -> Result<Option<(Holder, usize)>, Refusal> {
    let Some(holder) = holder(state) else { return Ok(None) };
    process::kill(&holder).map_err(|error| Refusal {
        kind: RefusalKind::Held,
        message: format!("{} could not be ended: {error}", holder.describe()),
        next: format!("end it yourself: `kill -KILL {}`", holder.pid),
    })?;
    let children = process::kill_children(&holder);
    let began = Instant::now();
    while self::holder(state)
        .is_some_and(|now| (now.pid, now.started, now.since) == (holder.pid, holder.started, holder.since))
    {
        if began.elapsed() > PATIENCE {
            return Err(held(&holder));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(Some((holder, children)))
}

/// The refusal that names a holder which does not answer.
fn held(holder: &Holder) -> Refusal {
    let who = holder.describe();
    let (message, next) = match process::state(holder) {
        State::Stopped => (
            format!("{who} holds this workspace and is stopped"),
            format!("let it go on with `kill -CONT {}`, or end it with `{END}`", holder.pid),
        ),
        State::Alive | State::Gone => {
            (format!("{who} holds this workspace and does not answer"), format!("try again, or end it with `{END}`"))
        }
    };
    Refusal { kind: RefusalKind::Held, message, next }
}

fn nameless(state: &StateDir) -> Refusal {
    Refusal {
        kind: RefusalKind::Held,
        message: format!("a process holds {} and does not say which", state.lock().display()),
        next: format!("find it with `fuser {}`", state.lock().display()),
    }
}

fn broken(state: &StateDir, error: &io::Error) -> Refusal {
    Refusal {
        kind: RefusalKind::Broken,
        message: format!("{} cannot be used: {error}", state.folder().display()),
        next: "set PLANWRIGHT_STATE_DIR to a local folder of your own that can be written".to_owned(),
    }
}
