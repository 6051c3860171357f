//! The other side of the socket: a handle to an engine in another process.
//!
//! Invariant: every request is answered, by the host or by a refusal that says that the host has gone or stands still.
//! Absent: taking over; whoever holds the handle joins again.

use super::VERSION;
use super::lock::Holder;
use super::process::{self, State};
use super::wire::{Answer, FRAME, FromHost, Lines, ToHost, encode};
use crate::desk::{Desk, Query, View};
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::engine::Update;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::AbortHandle;

/// How long a host may be silent before it is looked at: at the greeting, and while a request waits.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Updates that a slow reader of this handle may fall behind.
const UPDATES: usize = 1_024;

/// A connection to a host.
#[derive(Debug)]
pub struct Attached {
    holder: Holder,
    frames: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<Waiting>,
    next_id: AtomicU64,
    updates: broadcast::Sender<Update>,
    gone: watch::Receiver<bool>,
    desk: watch::Sender<Arc<Desk>>,
    tasks: [AbortHandle; 2],
}

/// Requests on their way; `None` once the host has gone.
#[derive(Debug)]
struct Waiting(Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>);

impl Waiting {
    fn table(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Answer>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a host could not be attached to.
#[derive(Debug)]
pub(super) enum NotAttached {
    /// Nobody listens: it has just died, or is just starting.
    Gone,
    /// It took the connection and says nothing.
    Silent,
    /// It answered, and this process cannot work with it.
    Refused(Refusal),
}

impl Attached {
    /// Connects, greets and subscribes.
    pub(super) async fn to(holder: Holder, client: &str) -> Result<Self, NotAttached> {
        match tokio::time::timeout(PATIENCE, greet(&holder, client)).await {
            Err(_) => Err(NotAttached::Silent),
            Ok(Err(error)) => {
                tracing::debug!(%error, "not attached");
                Err(NotAttached::Gone)
            }
            Ok(Ok((_, _, version))) if version != VERSION => Err(NotAttached::Refused(other(&holder, &version))),
            Ok(Ok((lines, to, _))) => {
                let attached = Self::start(holder, lines, to);
                match attached.request(|id| ToHost::Subscribe { id }).await {
                    Ok(_) => Ok(attached),
                    Err(refusal) if refusal.kind == RefusalKind::Held => Err(NotAttached::Silent),
                    Err(_) => Err(NotAttached::Gone),
                }
            }
        }
    }

    fn start(holder: Holder, lines: Lines<BufReader<OwnedReadHalf>>, to: OwnedWriteHalf) -> Self {
        let (frames, queue) = mpsc::unbounded_channel();
        let (updates, _) = broadcast::channel(UPDATES);
        let (lost, gone) = watch::channel(false);
        let waiting = Arc::new(Waiting(Mutex::new(Some(HashMap::new()))));
        let writer = tokio::spawn(write(to, queue));
        let reader = tokio::spawn(read(lines, Arc::clone(&waiting), updates.clone(), lost));
        let tasks = [writer.abort_handle(), reader.abort_handle()];
        Self {
            holder,
            frames,
            waiting,
            next_id: AtomicU64::new(1),
            updates,
            gone,
            desk: watch::Sender::default(),
            tasks,
        }
    }

    /// Who the host is.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    pub(super) async fn act(&self, actor: Actor, action: Action) -> Result<Reply, Refusal> {
        match self.request(|id| ToHost::Act { id, actor, action }).await? {
            Answer::Reply(reply) => Ok(reply),
            Answer::Refusal(refusal) => Err(refusal),
            Answer::View(_) | Answer::Subscribed => Err(nonsense()),
        }
    }

    pub(super) async fn ask(&self, query: Query) -> Result<View, Refusal> {
        match self.request(|id| ToHost::Read { id, query }).await? {
            Answer::View(view) => Ok(view),
            Answer::Refusal(refusal) => Err(refusal),
            Answer::Reply(_) | Answer::Subscribed => Err(nonsense()),
        }
    }

    pub(super) fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        self.desk.subscribe()
    }

    pub(super) fn updates(&self) -> broadcast::Receiver<Update> {
        self.updates.subscribe()
    }

    pub(super) async fn lost(&self) {
        // An error means that the reader has ended, which is the same news.
        drop(self.gone.clone().wait_for(|gone| *gone).await);
    }

    async fn request(&self, message: impl FnOnce(u64) -> ToHost) -> Result<Answer, Refusal> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let frame = encode(&message(id)).map_err(|error| Refusal {
            kind: RefusalKind::Broken,
            message: format!("the request cannot be written: {error}"),
            next: "this is a fault of planwright; please report it".to_owned(),
        })?;
        let (answer, mut reply) = oneshot::channel();
        self.waiting.table().as_mut().ok_or_else(|| ended(&self.holder))?.insert(id, answer);
        self.frames.send(frame).map_err(|_| ended(&self.holder))?;
        loop {
            match tokio::time::timeout(PATIENCE, &mut reply).await {
                Ok(answer) => return answer.map_err(|_| ended(&self.holder)),
                // A busy host is waited for; one that was stopped would be waited for for ever.
                Err(_) => match process::state(&self.holder) {
                    State::Stopped => {
                        self.waiting.table().as_mut().and_then(|table| table.remove(&id));
                        let mut refusal = super::held(&self.holder);
                        refusal.message.push_str("; when it goes on it may still do what was asked");
                        return Err(refusal);
                    }
                    State::Alive | State::Gone => {}
                },
            }
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

type Greeted = (Lines<BufReader<OwnedReadHalf>>, OwnedWriteHalf, String);

async fn greet(holder: &Holder, client: &str) -> io::Result<Greeted> {
    let stream = UnixStream::connect(&holder.socket).await?;
    if stream.peer_cred()?.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the socket is another user's"));
    }
    let (from, mut to) = stream.into_split();
    to.write_all(&encode(&ToHost::Hello { version: VERSION.to_owned(), client: client.to_owned() })?).await?;
    let mut lines = Lines::new(BufReader::new(from), FRAME);
    match lines.next().await? {
        Some(FromHost::Hello { version, .. }) => Ok((lines, to, version)),
        Some(FromHost::Answer { .. } | FromHost::Update(_)) => Err(io::ErrorKind::InvalidData.into()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

async fn write(mut to: OwnedWriteHalf, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = queue.recv().await {
        if to.write_all(&frame).await.is_err() {
            // The reader sees the end of the stream and tells.
            return;
        }
    }
}

async fn read(
    mut lines: Lines<BufReader<OwnedReadHalf>>,
    waiting: Arc<Waiting>,
    updates: broadcast::Sender<Update>,
    lost: watch::Sender<bool>,
) {
    loop {
        match lines.next().await {
            Ok(Some(FromHost::Answer { id, answer })) => {
                // None: whoever asked has given up.
                if let Some(asker) = waiting.table().as_mut().and_then(|table| table.remove(&id)) {
                    drop(asker.send(answer));
                }
            }
            // Nobody may be listening.
            Ok(Some(FromHost::Update(update))) => drop(updates.send(update)),
            Ok(Some(FromHost::Hello { .. })) => {}
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, "the host cannot be understood");
                break;
            }
        }
    }
    // Dropping the askers' channels answers each of them; later ones see that the table is gone.
    waiting.table().take();
    lost.send_replace(true);
}

fn ended(holder: &Holder) -> Refusal {
    Refusal {
        kind: RefusalKind::Gone,
        message: format!("{} has ended; it is not known whether it still did this", holder.describe()),
        next: "look with `planwright status`, then run the command again".to_owned(),
    }
}

fn nonsense() -> Refusal {
    Refusal {
        kind: RefusalKind::Broken,
        message: "the host answered something else than was asked".to_owned(),
        next: "this is a fault of planwright; please report it".to_owned(),
    }
}

fn other(holder: &Holder, version: &str) -> Refusal {
    Refusal {
        kind: RefusalKind::Held,
        message: format!("{} holds this workspace with release {version}; this is {VERSION}", holder.describe()),
        next: format!("use release {version}, or end that process first"),
    }
}
