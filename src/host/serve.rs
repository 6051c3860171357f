//! The host's side of the socket.
//!
//! Invariant: nothing that comes through the socket, and nobody who does not read from it, ends the host or holds it
//! up: what cannot be understood ends that connection, and so does an answer that finds its queue full. Updates are
//! left out instead. Absent: deciding; requests go to the engine and the desk as they would from this process.

use super::wire::{Answer, FRAME, FromHost, Lines, ToHost, encode, encode_answer};
use super::{VERSION, process};
use crate::domain::task::action::Actor;
use crate::engine::{EngineHandle, Update};
use crate::ports::Fut;
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::pending;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;

/// Frames that may wait for a client to read them.
const QUEUE: usize = 64;

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
struct Debt(watch::Sender<usize>);

impl Drop for Debt {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// A frame on its way to a client, with what is paid when it is written.
type Frame = (Vec<u8>, Option<Debt>);

/// The engine, once it has started. Connections greet before, so that a slow start is not taken for a dead host.
pub(super) type Engine = watch::Receiver<Option<EngineHandle>>;

/// Takes connections until dropped; they end with it.
pub(super) async fn serve(listener: UnixListener, engine: Engine, owed: Owed) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            taken = listener.accept() => match taken {
                Ok((stream, _)) => {
                    let (engine, owed) = (engine.clone(), owed.clone());
                    connections.spawn(async move {
                        if let Err(error) = connection(stream, engine, &owed).await {
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

async fn connection(stream: UnixStream, mut engine: Engine, owed: &Owed) -> io::Result<()> {
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
    let Ok(engine) = engine.wait_for(Option::is_some).await.map(|engine| engine.clone()) else { return Ok(()) };
    let Some(engine) = engine else { return Ok(()) };

    let (queue, waiting) = mpsc::channel(QUEUE);
    // Both ends of the connection end together: a client that has gone, or does not read and is given up.
    tokio::select! {
        done = listen(lines, &engine, queue, owed) => done,
        done = write(to, waiting) => done,
    }
}

async fn write(mut to: OwnedWriteHalf, mut waiting: mpsc::Receiver<Frame>) -> io::Result<()> {
    while let Some((frame, _paid_when_written)) = waiting.recv().await {
        to.write_all(&frame).await?;
    }
    pending().await
}

async fn listen(
    mut lines: Lines<BufReader<OwnedReadHalf>>,
    engine: &EngineHandle,
    queue: mpsc::Sender<Frame>,
    owed: &Owed,
) -> io::Result<()> {
    let answer = |id, answer, debt| {
        queue
            .try_send((encode_answer(id, answer)?, Some(debt)))
            .map_err(|_| io::Error::new(io::ErrorKind::WouldBlock, "it asks and does not read"))
    };
    let user = process::user();
    let mut acts: FuturesUnordered<Fut<'_, (u64, Answer, Debt)>> = FuturesUnordered::new();
    let mut updates: Option<broadcast::Receiver<Update>> = None;
    loop {
        tokio::select! {
            message = lines.next() => match message? {
                None => return Ok(()),
                Some(ToHost::Hello { .. }) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "it said hello twice"));
                }
                Some(ToHost::Act { id, actor, action }) => {
                    // The socket tells whose process it is; what a message says of that is a claim.
                    let actor = Actor { user: user.clone().unwrap_or(actor.user), ..actor };
                    let debt = owed.one();
                    let mut act: Fut<'_, _> = Box::pin(async move {
                        (id, engine.act(actor, action).await.map_or_else(Answer::Refusal, Answer::Reply), debt)
                    });
                    // The first poll puts it into the engine's inbox: acts of one client keep their order.
                    match (&mut act).now_or_never() {
                        Some((id, done, debt)) => answer(id, done, debt)?,
                        None => acts.push(act),
                    }
                }
                Some(ToHost::Read { id, query }) => {
                    let debt = owed.one();
                    answer(id, engine.ask(&query).await.map_or_else(Answer::Refusal, Answer::View), debt)?;
                }
                Some(ToHost::Subscribe { id }) => {
                    updates = Some(engine.updates());
                    answer(id, Answer::Subscribed, owed.one())?;
                }
            },
            Some((id, done, debt)) = acts.next(), if !acts.is_empty() => answer(id, done, debt)?,
            update = next(&mut updates) => {
                // Progress may be left out: the desk has the whole truth.
                drop(queue.try_send((encode(&FromHost::Update(update))?, None)));
            }
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
