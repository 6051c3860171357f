//! The host's side of a cage: starts the wrapper, reads what the command prints, and lets go of it.
//!
//! Invariant: while the future of `run` lives the socket to the wrapper is open; when it is dropped, or this process
//! dies, the wrapper sees that and kills the cage. When `run` returns nothing of the cage is alive.
//! Absent: whether the command may run, and what it wrote.

use super::wire::{self, End, Fault, Told};
use super::{Cage, WORD};
use crate::arena::output::{Capture, Decoder};
use crate::ports::Deltas;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;

/// What the wrapper is given beyond the wall time and the grace, before it is taken for dead.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the pipe is read on after the end. Nobody who could write to it is alive then.
const DRAIN: Duration = Duration::from_secs(2);

/// How the host ends a command that it has let run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// As the wrapper tells.
    Told(End),
    /// Killed: it printed more than the limit.
    Output,
}

/// What came of a caged command.
#[derive(Debug)]
pub struct Caged {
    /// How it ended.
    pub ending: Ending,
    /// Head and tail of what it printed.
    pub output: String,
    /// Bytes printed.
    pub bytes: u64,
    /// Wall time, the cage's own making included.
    pub millis: u64,
}

/// Runs a command in a cage. `wrapper` is a program that calls `enter` first thing: our own. `held` is let go when
/// nothing of the cage is alive, also if this future is dropped before.
///
/// # Errors
/// The command was never started.
pub async fn run(
    wrapper: &Path,
    cage: &Cage,
    output: u64,
    deltas: Deltas,
    held: impl Send + 'static,
) -> Result<Caged, Fault> {
    let failed = Fault::at::<std::io::Error>;
    let begun = Instant::now();
    let (ours, theirs) = Pair::pair().map_err(failed("a socket pair"))?;
    ours.set_nonblocking(true).map_err(failed("a socket pair"))?;
    let mut socket = UnixStream::from_std(ours).map_err(failed("a socket pair"))?;
    // One pipe for both streams: the order of arrival is the pipe's.
    let (reader, writer) = std::io::pipe().map_err(failed("a pipe"))?;
    let errors = writer.try_clone().map_err(failed("a pipe"))?;
    let mut reader = Receiver::from_owned_fd(reader.into()).map_err(failed("a pipe"))?;
    let child = tokio::process::Command::new(wrapper)
        .arg0("planwright")
        .arg(WORD)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(writer)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .map_err(failed("the wrapper"))?;
    let mut wrapper = Wrapper { child: Some((child, held)) };
    let spec = wire::pack(cage).map_err(failed("the wrapper"))?;
    socket.write_all(&spec).await.map_err(failed("the wrapper"))?;

    let (mut capture, mut decoder, mut buffer) = (Capture::default(), Decoder::default(), vec![0; 64 << 10]);
    let mut open = true;
    let patience = cage.limits.wall.saturating_add(cage.limits.grace).saturating_add(PATIENCE);
    let (mut from, _to) = socket.split();
    let told = {
        let last = last(&mut from);
        let patience = tokio::time::sleep(patience);
        tokio::pin!(last, patience);
        loop {
            tokio::select! {
                biased;
                read = reader.read(&mut buffer), if open => match read {
                    Ok(0) | Err(_) => open = false,
                    Ok(n) => {
                        let part = buffer.get(..n).unwrap_or_default();
                        capture.push(part);
                        deltas(&decoder.feed(part));
                        if capture.bytes() > output {
                            break Ok(None);
                        }
                    }
                },
                told = &mut last => break told.map(Some),
                () = &mut patience => break Ok(Some(Told::Ended(End::Timeout))),
            }
        }
    };
    drop(socket);
    let drain = async {
        while let Ok(n @ 1..) = reader.read(&mut buffer).await {
            let part = buffer.get(..n).unwrap_or_default();
            capture.push(part);
            deltas(&decoder.feed(part));
        }
    };
    let _ = tokio::time::timeout(DRAIN, drain).await;
    wrapper.end().await;
    let ending = match told {
        Ok(None) => Ending::Output,
        Ok(Some(Told::Ended(end))) => Ending::Told(end),
        Ok(Some(Told::Fault(fault))) => return Err(fault),
        Ok(Some(Told::Started)) | Err(_) => {
            let why = format!("it died; it printed: {}", capture.text());
            return Err(Fault::Refused { what: "the wrapper".to_owned(), why });
        }
    };
    let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Caged { ending, bytes: capture.bytes(), output: capture.text(), millis })
}

/// The wrapper's process. It ends when the socket is closed, and not before everything in the cage is dead.
struct Wrapper<H: Send + 'static> {
    child: Option<(Child, H)>,
}

impl<H: Send + 'static> Wrapper<H> {
    async fn end(&mut self) {
        if let Some((mut child, held)) = self.child.take() {
            collect(&mut child).await;
            drop(held);
        }
    }
}

impl<H: Send + 'static> Drop for Wrapper<H> {
    fn drop(&mut self) {
        // Without a runtime nobody can wait; this process is about to end then.
        if let (Some((mut child, held)), Ok(runtime)) = (self.child.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                collect(&mut child).await;
                drop(held);
            });
        }
    }
}

async fn collect(child: &mut Child) {
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

/// The wrapper's last word.
async fn last(from: &mut (impl tokio::io::AsyncRead + Unpin)) -> std::io::Result<Told> {
    loop {
        let mut head = [0; 4];
        from.read_exact(&mut head).await?;
        let mut body = vec![0; wire::body_length(head)?];
        from.read_exact(&mut body).await?;
        match serde_json::from_slice(&body)? {
            Told::Started => {}
            told @ (Told::Ended(_) | Told::Fault(_)) => return Ok(told),
        }
    }
}
