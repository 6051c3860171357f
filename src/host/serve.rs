//! The host's side of the socket.
//!
//! Invariant: nothing that comes through the socket, and nobody who does not read from it, ends the host or holds it
//! up: what cannot be understood ends that connection, and so does an answer that finds its queue full. Updates are
//! left out instead, and of desks the newest is written when there is room: nothing of either queues up. Whoever
//! follows the desk has it as an act left it before the act's answer. Absent: deciding; requests go to the engine and
//! the desk as they would from this process.

use super::mirror::Sent;
use super::remote::Sessions;
use super::roll::{Entry, Roll};
use super::wire::{Answer, FRAME, FromHost, Lines, ToHost, encode, encode_answer};
use super::{VERSION, process};
use crate::desk::Desk;
use crate::domain::task::action::Actor;
use crate::engine::{EngineHandle, Update};
use crate::ports::{Documents, EditorOrder, Fut};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::pending;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Answers that may wait for a client to read them; more are asked for by nobody who reads.
const QUEUE: usize = 256;

/// Between two desks: a person sees no more than ten a second.
const PACE: Duration = Duration::from_millis(100);

/// How long a connection may take to say who it is.
const HELLO: Duration = Duration::from_secs(10);

/// Answers that clients still wait for. A host that leaves lets them be written first.
#[derive(Clone, Debug)]
pub(super) struct Owed(watch::Sender<usize>);

impl Owed {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    /// One more, until it is dropped.
    fn one(&self) -> Debt {
        self.0.send_modify(|count| *count += 1);
        Debt(self.0.clone())
    }

    /// Completes when nothing is owed.
    pub(super) async fn paid(&self) {
        // It cannot close: the sender is here.
        let mut count = self.0.subscribe();
        let _paid = count.wait_for(|count| *count == 0).await;
    }
}

/// An answer that is not written yet.
pub(super) struct Debt(watch::Sender<usize>);

impl Drop for Debt {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// What waits for the writer of a connection.
pub(super) enum Outgoing {
    /// To a read.
    Answer(Vec<u8>, Debt),
    /// To an act: the desk that it left comes first.
    ActDone(Vec<u8>, Debt),
    /// From now on this too.
    Updates(broadcast::Receiver<Update>),
    /// From now on this too.
    Desks(watch::Receiver<Arc<Desk>>),
    /// A decision for the client's editor.
    Edit { id: u64, order: Box<EditorOrder> },
}

/// The engine, once it has started. Connections greet before, so that a slow start is not taken for a dead host.
pub(super) type Engine = watch::Receiver<Option<EngineHandle>>;

/// Takes connections until dropped; they end with it.
pub(super) async fn serve(
    listener: UnixListener,
    engine: Engine,
    documents: Option<Arc<dyn Documents>>,
    owed: Owed,
    roll: Weak<Roll>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            taken = listener.accept() => match taken {
                Ok((stream, _)) => {
                    let (engine, documents, owed, roll) = (engine.clone(), documents.clone(), owed.clone(), roll.clone());
                    connections.spawn(async move {
                        if let Err(error) = connection(stream, engine, documents, &owed, roll).await {
                            tracing::warn!(%error, "a connection was closed");
                        }
                    });
                }
                Err(error) => {
                    // Out of descriptors, most likely: wait for some to come free rather than spin.
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(
    stream: UnixStream,
    mut engine: Engine,
    documents: Option<Arc<dyn Documents>>,
    owed: &Owed,
    roll: Weak<Roll>,
) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    if peer.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("user {} may not attach", peer.uid())));
    }
    let (from, mut to) = stream.into_split();
    let mut lines = Lines::new(BufReader::new(from), FRAME);
    let hello = tokio::time::timeout(HELLO, lines.next()).await??;
    let Some(ToHost::Hello { version, client }) = hello else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it did not say hello"));
    };
    to.write_all(&encode(&FromHost::Hello { version: VERSION.to_owned(), pid: std::process::id() })?).await?;
    if version != VERSION {
        // The other side has our version now and explains it to its user.
        return Ok(());
    }
    tracing::debug!(client, pid = peer.pid(), "attached");
    let (queue, waiting) = mpsc::channel(QUEUE);
    let mut sessions = Sessions::new(documents, client, queue.clone());
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    let mut entry = Entry::new(roll, pid);
    let listening = async {
        // What it has open comes first, and is taken in before there is an engine.
        let first = loop {
            match lines.next().await? {
                Some(ToHost::Tell { session, event }) => {
                    entry.has_documents();
                    sessions.tell(session, event);
                }
                Some(other) => break other,
                None => return Ok(()),
            }
        };
        entry.has_told();
        let Ok(engine) = engine.wait_for(Option::is_some).await.map(|engine| engine.clone()) else { return Ok(()) };
        let Some(engine) = engine else { return Ok(()) };
        listen(lines, first, &engine, (sessions, entry), queue, owed).await
    };
    // Both ends of the connection end together: a client that has gone, or does not read and is given up.
    tokio::select! {
        done = listening => done,
        done = write(to, waiting) => done,
    }
}

async fn write(mut to: OwnedWriteHalf, mut waiting: mpsc::Receiver<Outgoing>) -> io::Result<()> {
    let mut updates: Option<broadcast::Receiver<Update>> = None;
    let mut following = Following { desks: None, sent: Sent::default(), last: Instant::now() };
    loop {
        tokio::select! {
            outgoing = waiting.recv() => match outgoing {
                Some(Outgoing::Answer(line, _paid_when_written)) => to.write_all(&line).await?,
                Some(Outgoing::ActDone(line, _paid_when_written)) => {
                    following.write(&mut to).await?;
                    to.write_all(&line).await?;
                }
                Some(Outgoing::Edit { id, order }) => {
                    to.write_all(&apart(move || encode(&FromHost::Edit { id, order })).await?).await?;
                }
                Some(Outgoing::Updates(receiver)) => updates = Some(receiver),
                Some(Outgoing::Desks(desks)) => {
                    following.desks = Some(desks);
                    following.write(&mut to).await?;
                }
                None => return pending().await,
            },
            // Progress may be left out: the desk has the whole truth.
            update = next(&mut updates) => to.write_all(&encode(&FromHost::Update(update))?).await?,
            () = following.due() => following.write(&mut to).await?,
        }
    }
}

/// The desk of a client that follows it.
struct Following {
    desks: Option<watch::Receiver<Arc<Desk>>>,
    sent: Sent,
    last: Instant,
}

impl Following {
    /// Completes when another desk is to be written. May be dropped and called again.
    async fn due(&mut self) {
        let Some(desks) = &mut self.desks else { return pending().await };
        tokio::time::sleep_until(self.last + PACE).await;
        if desks.changed().await.is_err() {
            // The engine has ended.
            pending().await
        }
    }

    /// Writes the newest desk, if the client does not have it.
    async fn write(&mut self, to: &mut OwnedWriteHalf) -> io::Result<()> {
        let Some(desks) = &mut self.desks else { return Ok(()) };
        let desk = desks.borrow_and_update().clone();
        if self.sent.is(&desk) {
            return Ok(());
        }
        let mut sent = std::mem::take(&mut self.sent);
        let (sent, lines) = apart(move || {
            let lines = sent.lines(&desk)?;
            Ok((sent, lines))
        })
        .await?;
        self.sent = sent;
        for line in lines {
            to.write_all(&line).await?;
        }
        self.last = Instant::now();
        Ok(())
    }
}

/// Does on another thread what takes long for a large value.
pub(super) async fn apart<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// A request that is being answered; the last says that it was an act.
type Answering<'a> = Fut<'a, (u64, Answer, Debt, bool)>;

async fn listen(
    mut lines: Lines<BufReader<OwnedReadHalf>>,
    first: ToHost,
    engine: &EngineHandle,
    (mut sessions, mut entry): (Sessions, Entry),
    queue: mpsc::Sender<Outgoing>,
    owed: &Owed,
) -> io::Result<()> {
    let send = |outgoing| {
        queue.try_send(outgoing).map_err(|_| io::Error::new(io::ErrorKind::WouldBlock, "it asks and does not read"))
    };
    let answer = |(id, answer, debt, act): (u64, Answer, Debt, bool)| {
        let line = encode_answer(id, answer)?;
        send(if act { Outgoing::ActDone(line, debt) } else { Outgoing::Answer(line, debt) })
    };
    let user = process::user();
    let mut going: FuturesUnordered<Answering<'_>> = FuturesUnordered::new();
    let mut first = Some(first);
    loop {
        let message = async {
            match first.take() {
                Some(first) => Ok(Some(first)),
                None => lines.next().await,
            }
        };
        let mut begun: Answering<'_> = tokio::select! {
            message = message => match message? {
                None => return Ok(()),
                Some(ToHost::Hello { .. }) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "it said hello twice"));
                }
                Some(ToHost::Act { id, actor, session, action }) => {
                    // The socket tells whose process it is; what a message says of that is a claim.
                    let actor = Actor { user: user.clone().unwrap_or(actor.user), ..actor };
                    let (session, debt) = (sessions.own(session), owed.one());
                    Box::pin(async move {
                        let done = engine.act_in(session, actor, action).await.map_or_else(Answer::Refusal, Answer::Reply);
                        (id, done, debt, true)
                    })
                }
                Some(ToHost::Read { id, query }) => {
                    let debt = owed.one();
                    Box::pin(async move {
                        let read = engine.ask(&query).await.map_or_else(Answer::Refusal, Answer::View);
                        (id, read, debt, false)
                    })
                }
                Some(ToHost::Subscribe { id }) => {
                    send(Outgoing::Updates(engine.updates()))?;
                    answer((id, Answer::Subscribed, owed.one(), false))?;
                    continue;
                }
                Some(ToHost::Follow { id }) => {
                    send(Outgoing::Desks(engine.desks()))?;
                    answer((id, Answer::Subscribed, owed.one(), false))?;
                    continue;
                }
                Some(ToHost::Tell { session, event }) => {
                    entry.has_documents();
                    sessions.tell(session, event);
                    continue;
                }
                Some(ToHost::Edited { id, result }) => {
                    sessions.edited(id, result);
                    continue;
                }
            },
            Some(done) = going.next(), if !going.is_empty() => {
                answer(done)?;
                continue;
            }
        };
        // The first poll puts an act into the engine's inbox: acts of one client keep their order.
        match (&mut begun).now_or_never() {
            Some(done) => answer(done)?,
            None => going.push(begun),
        }
    }
}

/// The next update; never, where nobody subscribed or the engine has ended.
async fn next(updates: &mut Option<broadcast::Receiver<Update>>) -> Update {
    let Some(receiver) = updates else { return pending().await };
    loop {
        match receiver.recv().await {
            Ok(update) => return update,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return pending().await,
        }
    }
}
