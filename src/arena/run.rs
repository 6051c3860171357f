//! One command from start to end.
//!
//! Invariant: when `run` returns, or its future is dropped, the command's whole tree has been killed. The outcome is
//! typed: a command that ran into its time limit is a `Timeout` whatever it exited with afterwards. It reads nothing
//! (standard input is closed), and a grandchild that keeps the pipe open cannot hold us longer than `Limits::drain`.
//! Absent: deciding whether the command may run.

use super::Limits;
use super::environment::{Environment, find_program, mark, scrubbed};
use super::output::{Capture, Decoder};
use super::process::Tree;
use crate::domain::ids::{ContentHash, EffectId, TraceId};
use crate::domain::plan::Command;
use crate::domain::task::facts::Ended;
use crate::ports::{ArenaFault, Deltas, RunOrder};
use rustix::process::Pid;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Instant;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;

/// Where a command runs.
pub(super) struct Place {
    /// The copy, or the workspace itself.
    pub(super) base: PathBuf,
    /// The user's root.
    pub(super) user: PathBuf,
}

/// What came of it.
pub(super) struct Ran {
    pub(super) ended: Ended,
    pub(super) output: String,
    pub(super) bytes: u64,
    pub(super) millis: u64,
}

pub(super) async fn run(order: &RunOrder, place: &Place, limits: Limits, deltas: Deltas) -> Result<Ran, ArenaFault> {
    let dir = folder(&place.base, order.command.dir.as_deref())?;
    let mut env = scrubbed(std::env::vars_os(), &place.user, &place.base);
    given(order, &mut env);

    let start = |error: std::io::Error| ArenaFault::Start(error.to_string());
    // One pipe for both streams: the order of arrival is the pipe's.
    let (reader, writer) = std::io::pipe().map_err(start)?;
    let errors = writer.try_clone().map_err(start)?;
    let mut reader = Receiver::from_owned_fd(reader.into()).map_err(start)?;
    let begun = Instant::now();
    let streams = Streams { stdin: Stdio::null(), stdout: writer.into(), stderr: errors.into() };
    let (mut child, tree) = spawn(&order.command, &dir, env, streams)?;

    let mut capture = Capture::default();
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; 64 << 10];
    let mut open = true;
    let limit = tokio::time::sleep(order.timeout);
    tokio::pin!(limit);
    let ended = loop {
        tokio::select! {
            biased;
            () = &mut limit => {
                tree.terminate();
                break Ended::Timeout;
            }
            read = reader.read(&mut buffer), if open => match read {
                Ok(0) | Err(_) => open = false,
                Ok(n) => {
                    let part = buffer.get(..n).unwrap_or_default();
                    capture.push(part);
                    deltas(&decoder.feed(part));
                    if capture.bytes() > limits.output {
                        break Ended::OutputLimit;
                    }
                }
            },
            status = child.wait() => break status.map_or(Ended::Signal(0), of_status),
        }
    };
    if ended == Ended::Timeout {
        let wait = tokio::time::sleep(limits.grace);
        tokio::pin!(wait);
        loop {
            tokio::select! {
                biased;
                () = &mut wait => break,
                // It may print its farewell; a full pipe would keep it from leaving.
                read = reader.read(&mut buffer), if open => match read {
                    Ok(0) | Err(_) => open = false,
                    Ok(n) => capture.push(buffer.get(..n).unwrap_or_default()),
                },
                _ = child.wait() => break,
            }
        }
    }
    end(&mut child, tree).await;
    let drain = async {
        while let Ok(n @ 1..) = reader.read(&mut buffer).await {
            let part = buffer.get(..n).unwrap_or_default();
            capture.push(part);
            deltas(&decoder.feed(part));
        }
    };
    if open {
        // Whoever still holds the pipe has escaped even the mark; its output is not waited for.
        let _ = tokio::time::timeout(limits.drain, drain).await;
    }
    let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Ran { ended, bytes: capture.bytes(), output: capture.text(), millis })
}

/// What the plan gives a command, and by what its effect is known elsewhere.
pub(super) fn given(order: &RunOrder, env: &mut Environment) {
    for (name, value) in &order.command.env {
        env.insert(name.into(), value.into());
    }
    if let Some(key) = &order.key {
        env.insert("PLANWRIGHT_IDEMPOTENCY_KEY".into(), key.into());
    }
    env.insert("TRACEPARENT".into(), trace_parent(&order.trace, &order.effect).into());
}

/// The three streams of a child.
pub(super) struct Streams {
    pub(super) stdin: Stdio,
    pub(super) stdout: Stdio,
    pub(super) stderr: Stdio,
}

/// Starts a program as leader of its own group, marked. The pipe ends in `streams` are closed on this side.
pub(super) fn spawn(
    command: &Command,
    dir: &Path,
    mut env: Environment,
    streams: Streams,
) -> Result<(Child, Tree), ArenaFault> {
    let (word, arguments) =
        command.argv.split_first().ok_or_else(|| ArenaFault::Start("the command has no words".to_owned()))?;
    let program = find_program(word, &env, dir).ok_or_else(|| ArenaFault::NoProgram(word.clone()))?;
    let token = mark(&mut env);
    let child = tokio::process::Command::new(program)
        .arg0(word)
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        .envs(env)
        .stdin(streams.stdin)
        .stdout(streams.stdout)
        .stderr(streams.stderr)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| ArenaFault::Start(format!("`{word}`: {error}")))?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let leader = leader.ok_or_else(|| ArenaFault::Start(format!("`{word}` has no process id")))?;
    Ok((child, Tree::new(leader, token)))
}

/// Kills the tree off this thread and collects the leader. Dropping the future on the way kills it as well: the tree
/// is in the worker's hands by then.
pub(super) async fn end(child: &mut Child, mut tree: Tree) {
    let _ = tokio::task::spawn_blocking(move || tree.end()).await;
    let _ = child.wait().await;
}

fn of_status(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exit(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Signal(0),
    }
}

/// The command's folder, which must exist and lie inside.
fn folder(base: &Path, dir: Option<&str>) -> Result<PathBuf, ArenaFault> {
    let Some(dir) = dir.filter(|dir| !matches!(*dir, "" | "." | "./")) else { return Ok(base.to_owned()) };
    let fault = |why: &str| ArenaFault::View(format!("`in {dir}`: {why}"));
    let path = crate::domain::ids::WorkspacePath::new(dir).map_err(|problem| fault(&problem.to_string()))?;
    let real = base.join(path.as_str()).canonicalize().map_err(|error| fault(&error.to_string()))?;
    let inside = base.canonicalize().is_ok_and(|base| real.starts_with(base));
    match (inside, real.is_dir()) {
        (true, true) => Ok(real),
        (true, false) => Err(fault("is no folder")),
        (false, _) => Err(fault("leads out of the workspace")),
    }
}

/// W3C trace context: the task's trace id, and the effect as the span.
fn trace_parent(trace: &TraceId, effect: &EffectId) -> String {
    let span = ContentHash::of(effect.to_string());
    format!("00-{trace}-{}-01", span.as_str().get(..16).unwrap_or_default())
}
