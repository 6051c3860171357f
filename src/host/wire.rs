//! What host and attached processes say to each other: one JSON value a line.
//!
//! Invariant: the two `Hello`s keep their form through all releases, so that any two can say that they do not match;
//! everything else is only ever spoken between equal releases and may change. Absent: sockets.

use crate::desk::{Query, View};
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::engine::Update;
use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Bytes of a frame at most. The largest honest one is a review of big files; over it, somebody talks nonsense.
pub(super) const FRAME: usize = 64_000_000;

/// To the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToHost {
    /// First, once.
    Hello { version: String, client: String },
    /// A person's action.
    Act { id: u64, actor: Actor, action: Action },
    /// A read.
    Read { id: u64, query: Query },
    /// Push updates from now on.
    Subscribe { id: u64 },
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
                let message = serde_json::from_slice(&self.line);
                self.line.clear();
                return Ok(Some(message?));
            }
        }
    }
}
