//! What host and attached processes say to each other: one JSON value a line.
//!
//! Invariant: the two `Hello`s keep their form through all releases, so that any two can say that they do not match;
//! everything else is only ever spoken between equal releases and may change. Absent: sockets.

use super::mirror::Difference;
use crate::desk::{Query, View};
use crate::domain::change::FileChange;
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::engine::Update;
use crate::ports::{DocumentEvent, EditorFault, EditorOrder, SessionId};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Bytes of a frame at most. The largest honest one is a review of big files; over it, somebody talks nonsense.
pub(super) const FRAME: usize = 64_000_000;

/// To the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToHost {
    /// First, once.
    Hello { version: String, client: String },
    /// A person's action, in one of the sessions that the client tells of.
    Act { id: u64, actor: Actor, session: Option<SessionId>, action: Action },
    /// A read.
    Read { id: u64, query: Query },
    /// Push updates from now on.
    Subscribe { id: u64 },
    /// Mirror the desk from now on; the whole of it comes before the answer.
    Follow { id: u64 },
    /// What an editor says of a document. The first of a session begins it; it ends with the connection.
    Tell { session: SessionId, event: DocumentEvent },
    /// What came of an order.
    Edited { id: u64, result: Result<(), EditorFault> },
}

/// From the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromHost {
    /// The answer to `Hello`.
    Hello { version: String, pid: u32 },
    /// The answer to a request.
    Answer { id: u64, answer: Answer },
    /// Progress.
    Update(Update),
    /// A change that the next difference names.
    Change(Arc<FileChange>),
    /// The desk, as against the last time.
    Desk(Box<Difference>),
    /// A decision to be carried out in a document of this client's.
    Edit { id: u64, order: Box<EditorOrder> },
}

/// Answers by kind of request; a refusal answers any.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Reply(Reply),
    View(View),
    Subscribed,
    Refusal(Refusal),
}

/// A line of JSON.
pub(super) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// An answer as a line; one that is too long is answered by a refusal in its place.
pub(super) fn encode_answer(id: u64, answer: Answer) -> io::Result<Vec<u8>> {
    let line = encode(&FromHost::Answer { id, answer })?;
    if line.len() <= FRAME {
        return Ok(line);
    }
    let refusal = Refusal {
        kind: RefusalKind::Broken,
        message: format!("the answer has {} bytes; {FRAME} can be handed to another process", line.len()),
        next: "ask for a part of it: a file, a step, a hunk".to_owned(),
    };
    encode(&FromHost::Answer { id, answer: Answer::Refusal(refusal) })
}

/// Lines of a stream, none longer than a limit.
#[derive(Debug)]
pub(super) struct Lines<R> {
    from: R,
    limit: usize,
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// `limit` is [`FRAME`], but for tests.
    pub(super) fn new(from: R, limit: usize) -> Self {
        Self { from, limit, line: Vec::new() }
    }

    /// The next message; `None` at the end of the stream. May be dropped and called again: nothing is lost, which is
    /// what a `select!` needs.
    ///
    /// # Errors
    /// `InvalidData` for a line that is too long or no such message: the stream is of no use any more.
    pub(super) async fn next<T: for<'de> Deserialize<'de>>(&mut self) -> io::Result<Option<T>> {
        match self.line().await? {
            Some(line) => Ok(Some(serde_json::from_slice(&line)?)),
            None => Ok(None),
        }
    }

    /// The same before it is understood, which takes long for a long line.
    ///
    /// # Errors
    /// As for [`Self::next`].
    pub(super) async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let chunk = self.from.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            self.line.extend_from_slice(part);
            let used = part.len() + usize::from(end.is_some());
            self.from.consume(used);
            if self.line.len() > self.limit {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
            }
            if end.is_some() {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}
