//! The two ends of the wire, and when it is at its end.
//!
//! Invariant: a client that does not read cannot keep what it writes from being read, and the end of either pipe ends
//! the session, whatever handlers still wait for. Absent: framing (`frames`, and tower-lsp behind it).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How long the last answers may take to be written, once the session is over.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// When the session is over, and whether the client asked for it in order.
#[derive(Clone)]
pub struct Ending {
    state: Arc<watch::Sender<State>>,
}

#[derive(Clone, Copy, Default)]
struct State {
    shutdown: bool,
    over: bool,
}

impl Ending {
    /// Not yet.
    pub fn new() -> Self {
        Self { state: Arc::new(watch::Sender::default()) }
    }

    /// `shutdown` was asked for.
    pub fn shutdown_seen(&self) {
        self.state.send_modify(|state| state.shutdown = true);
    }

    /// `exit`, the end of a pipe, or the death of the editor.
    pub fn now(&self) {
        self.state.send_if_modified(|state| !std::mem::replace(&mut state.over, true));
    }

    /// Completes when the session is over.
    pub async fn wait(&self) {
        let mut state = self.state.subscribe();
        // The sender is held by `self`.
        let _over = state.wait_for(|state| state.over).await;
    }

    /// What the protocol asks for: 0 after `shutdown`, else 1.
    pub fn code(&self) -> u8 {
        u8::from(!self.state.borrow().shutdown)
    }
}

/// A reader that says when there is nothing more to read.
pub struct Watched<R> {
    inner: R,
    ending: Ending,
}

impl<R> Watched<R> {
    /// Over this one.
    pub fn new(inner: R, ending: Ending) -> Self {
        Self { inner, ending }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = ready!(Pin::new(&mut self.inner).poll_read(context, into));
        if read.is_err() || (into.filled().len() == before && into.remaining() > 0) {
            self.ending.now();
        }
        Poll::Ready(read)
    }
}

/// A writer that always takes what it is given; a task of its own writes it. What a client does not read is kept.
pub struct Queued {
    queue: mpsc::UnboundedSender<Vec<u8>>,
}

/// The task behind a [`Queued`].
pub struct Writing {
    task: JoinHandle<()>,
}

impl Queued {
    /// In front of this one.
    pub fn new<W: AsyncWrite + Send + 'static>(writer: W, ending: Ending) -> (Self, Writing) {
        let (queue, mut waiting) = mpsc::unbounded_channel::<Vec<u8>>();
        let task = tokio::spawn(async move {
            let mut writer = std::pin::pin!(writer);
            while let Some(bytes) = waiting.recv().await {
                let written = async {
                    writer.write_all(&bytes).await?;
                    if waiting.is_empty() { writer.flush().await } else { Ok(()) }
                };
                if let Err(error) = written.await {
                    tracing::info!(%error, "the editor reads no more");
                    ending.now();
                    return;
                }
            }
        });
        (Self { queue }, Writing { task })
    }

    /// The way past tower-lsp, for whole messages: it too writes nothing but whole ones.
    pub fn queue(&self) -> mpsc::UnboundedSender<Vec<u8>> {
        self.queue.clone()
    }
}

impl Writing {
    /// Waits for what is still to be written, not for long.
    pub async fn end(mut self) {
        if tokio::time::timeout(LAST_WORDS, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl AsyncWrite for Queued {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(match self.queue.send(bytes.to_vec()) {
            Ok(()) => Ok(bytes.len()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
