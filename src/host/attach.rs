//! The other side of the socket: a handle to an engine in another process.
//!
//! Invariant: every request is answered, by the host or by a refusal that says that the host has gone or stands still.
//! Absent: taking over; whoever holds the handle joins again.

use super::Seat;
use super::VERSION;
use super::lock::Holder;
use super::mirror::Mirror;
use super::process::{self, State};
use super::serve::apart;
use super::wire::{Answer, FRAME, FromHost, Lines, ToHost, encode};
use crate::desk::{Desk, Query, View};
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::engine::Update;
use crate::ports::{DocumentEvent, Documents, EditorFault, EditorOrder, SessionId};
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

/// Bytes of a line that is understood on another thread.
const LONG: usize = 100_000;

/// A connection to a host.
#[derive(Debug)]
pub struct Attached {
    holder: Holder,
    messages: mpsc::UnboundedSender<ToHost>,
    waiting: Arc<Waiting>,
    next_id: AtomicU64,
    session: Option<SessionId>,
    updates: broadcast::Sender<Update>,
    gone: watch::Receiver<bool>,
    desk: watch::Receiver<Arc<Desk>>,
    /// The documents speak to the host for as long as it lives.
    _telling: Option<Arc<mpsc::UnboundedSender<ToHost>>>,
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
    /// Connects, greets, subscribes, and for an editor tells what is open and mirrors the desk.
    pub(super) async fn to(holder: Holder, seat: &Seat) -> Result<Self, NotAttached> {
        match tokio::time::timeout(PATIENCE, greet(&holder, &seat.client)).await {
            Err(_) => Err(NotAttached::Silent),
            Ok(Err(error)) => {
                tracing::debug!(%error, "not attached");
                Err(NotAttached::Gone)
            }
            Ok(Ok((_, _, version))) if version != VERSION => Err(NotAttached::Refused(other(&holder, &version))),
            Ok(Ok((lines, to, _))) => {
                let attached = Self::start(holder, lines, to, seat);
                let subscribed = match attached.request(|id| ToHost::Subscribe { id }).await {
                    Ok(_) if seat.follows => attached.request(|id| ToHost::Follow { id }).await,
                    subscribed => subscribed,
                };
                match subscribed {
                    Ok(_) => Ok(attached),
                    Err(refusal) if refusal.kind == RefusalKind::Held => Err(NotAttached::Silent),
                    Err(_) => Err(NotAttached::Gone),
                }
            }
        }
    }

    fn start(holder: Holder, lines: Lines<BufReader<OwnedReadHalf>>, to: OwnedWriteHalf, seat: &Seat) -> Self {
        let (messages, queue) = mpsc::unbounded_channel();
        let (updates, _) = broadcast::channel(UPDATES);
        let (lost, gone) = watch::channel(false);
        let (desks, desk) = watch::channel(Arc::default());
        let waiting = Arc::new(Waiting(Mutex::new(Some(HashMap::new()))));
        let (none_to_write_to, left) = (Arc::clone(&waiting), lost.clone());
        let writer = tokio::spawn(async move {
            if let Err(error) = write(to, queue).await {
                tracing::debug!(%error, "the host cannot be written to");
                end(&none_to_write_to, &left);
            }
        });
        let reader = Reader {
            waiting: Arc::clone(&waiting),
            updates: updates.clone(),
            mirror: Mirror::default(),
            desks,
            seat: seat.clone(),
            messages: messages.clone(),
        };
        let reader = tokio::spawn(reader.read(lines, lost));
        let tasks = [writer.abort_handle(), reader.abort_handle()];
        let told = seat.documents.as_ref().filter(|_| seat.follows);
        let telling = told.map(|documents| tell(documents.as_ref(), seat.session, messages.clone()));
        let next_id = AtomicU64::new(1);
        Self {
            holder,
            messages,
            waiting,
            next_id,
            session: seat.session,
            updates,
            gone,
            desk,
            _telling: telling,
            tasks,
        }
    }

    /// Who the host is.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    pub(super) async fn act(&self, actor: Actor, action: Action) -> Result<Reply, Refusal> {
        let session = self.session;
        match self.request(|id| ToHost::Act { id, actor, session, action }).await? {
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
        self.desk.clone()
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
        let (answer, mut reply) = oneshot::channel();
        self.waiting.table().as_mut().ok_or_else(|| ended(&self.holder))?.insert(id, answer);
        self.messages.send(message(id)).map_err(|_| ended(&self.holder))?;
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

/// Tells the host what this session has open and every event after that, in order, as long as the value lives. What
/// others told this process of, they tell the host themselves.
fn tell(
    documents: &dyn Documents,
    own: Option<SessionId>,
    to: mpsc::UnboundedSender<ToHost>,
) -> Arc<mpsc::UnboundedSender<ToHost>> {
    let to = Arc::new(to);
    let weak = Arc::downgrade(&to);
    documents.listen(Arc::new(move |session, event| {
        if own.is_none_or(|own| own == session)
            && let Some(to) = weak.upgrade()
        {
            // A host that has gone is told nothing; the next one is told everything.
            drop(to.send(ToHost::Tell { session, event: event.clone() }));
        }
    }));
    to
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
        Some(_) => Err(io::ErrorKind::InvalidData.into()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

async fn write(mut to: OwnedWriteHalf, mut queue: mpsc::UnboundedReceiver<ToHost>) -> io::Result<()> {
    while let Some(message) = queue.recv().await {
        to.write_all(&line(message)?).await?;
    }
    Ok(())
}

/// A message as a line. A document that is too long for one is told of as closed: no file of that size is planned on.
fn line(message: ToHost) -> io::Result<Vec<u8>> {
    let line = encode(&message)?;
    match message {
        ToHost::Tell { session, event } if line.len() > FRAME => {
            encode(&ToHost::Tell { session, event: DocumentEvent::Closed { path: event.path().clone() } })
        }
        _ => Ok(line),
    }
}

/// Whoever reads what the host says.
struct Reader {
    waiting: Arc<Waiting>,
    updates: broadcast::Sender<Update>,
    mirror: Mirror,
    desks: watch::Sender<Arc<Desk>>,
    seat: Seat,
    messages: mpsc::UnboundedSender<ToHost>,
}

impl Reader {
    async fn read(mut self, mut lines: Lines<BufReader<OwnedReadHalf>>, lost: watch::Sender<bool>) {
        loop {
            let message = match lines.line().await {
                Ok(Some(line)) => understand(line).await,
                Ok(None) => break,
                Err(error) => Err(error),
            };
            match message {
                Ok(message) => self.take(message),
                Err(error) => {
                    tracing::warn!(%error, "the host cannot be understood");
                    break;
                }
            }
        }
        end(&self.waiting, &lost);
    }

    fn take(&mut self, message: FromHost) {
        match message {
            FromHost::Answer { id, answer } => {
                // None: whoever asked has given up.
                if let Some(asker) = self.waiting.table().as_mut().and_then(|table| table.remove(&id)) {
                    drop(asker.send(answer));
                }
            }
            // Nobody may be listening.
            FromHost::Update(update) => drop(self.updates.send(update)),
            FromHost::Change(change) => self.mirror.take(change),
            FromHost::Desk(difference) => drop(self.desks.send_replace(self.mirror.apply(*difference))),
            FromHost::Edit { id, order } => {
                let (seat, messages) = (self.seat.clone(), self.messages.clone());
                // Not waited for: the editor's answer may need what the host says next.
                tokio::spawn(async move {
                    let result = carry_out(&seat, *order).await;
                    drop(messages.send(ToHost::Edited { id, result }));
                });
            }
            FromHost::Hello { .. } => {}
        }
    }
}

/// The host has gone. That is known before anybody hears it in the place of an answer, so that whoever does can join
/// again at once. Dropping the askers' channels answers each of them; later ones see that the table is gone.
fn end(waiting: &Waiting, lost: &watch::Sender<bool>) {
    lost.send_replace(true);
    waiting.table().take();
}

async fn understand(line: Vec<u8>) -> io::Result<FromHost> {
    let long = line.len() > LONG;
    let read = move || Ok(serde_json::from_slice(&line)?);
    if long { apart(read).await } else { read() }
}

async fn carry_out(seat: &Seat, order: EditorOrder) -> Result<(), EditorFault> {
    let path = order.change.path.clone();
    let editor = seat.documents.as_ref().and_then(|documents| documents.editor(&path, seat.session));
    match editor {
        Some((_, editor)) => editor.carry_out(order).await,
        None => Err(EditorFault::NotOpen(path)),
    }
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
