//! Staying with a task: what a terminal waits for, and how it leaves.
//!
//! Invariant: leaving never loses work; a task that this process was running is left cancelled and paused, so that
//! `resume` goes on where its journal ends. Absent: printing results.

use super::exit::Exit;
use super::render::{Paper, Tone};
use super::{Port, Terminal, Update};
use crate::desk::{Query, StatusView, View};
use crate::domain::ids::{TaskId, Time};
use crate::domain::task::action::{Action, Refusal, RefusalKind, Which};
use crate::domain::task::standing::TaskState;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

/// A change is looked for at least this often: a broadcast that lagged behind must not hold a terminal for ever.
const LOOK: Duration = Duration::from_secs(1);

/// A delay is sat out up to the longest that B5 makes by itself; a longer one is somebody's setting and ends the wait.
const SAT_OUT: Duration = Duration::from_secs(11 * 60);

/// A host that dies before it has answered anything, so often in a row, is not waited for. One that answered and then
/// ended was another terminal's, gone when it had its answer; of those there may be any number.
const JOINS: u32 = 5;

/// So many looks in a row at a task that nothing here carries on, with no word of progress, are enough.
const STILL: u32 = 10;

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// The plan stands, or a question waits.
    Planned,
    /// The task waits for a person or ends.
    Rest,
    /// Decisions on hunks are carried out; after the last one, also the acceptance checks.
    Settled,
}

/// How the waiting ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Waited {
    /// Where the task stands now.
    pub status: StatusView,
    /// Why it was left, when what was waited for had not come.
    pub left: Option<Exit>,
}

/// Waits, printing progress as it comes.
///
/// # Errors
/// The host cannot be asked any more.
pub async fn wait(
    port: &dyn Port,
    io: &mut Terminal,
    task: &TaskId,
    until: Until,
    timeout: Option<Duration>,
    quiet: bool,
) -> Result<Waited, Refusal> {
    let begun = Instant::now();
    let mut updates = port.updates();
    let (mut joins, mut still) = (0, 0);
    loop {
        let status = match status(port, task).await {
            Ok(status) => {
                joins = 0;
                status
            }
            Err(refusal) if refusal.kind == RefusalKind::Gone && !port.is_host() && joins < JOINS => {
                joins += 1;
                rejoin(port, io, task, until).await?;
                updates = port.updates();
                continue;
            }
            Err(refusal) => return Err(refusal),
        };
        let reached = match until {
            Until::Planned => status.state != TaskState::Planning,
            Until::Rest => rests(&status, (io.now)(), port.is_host()),
            Until::Settled => settled(&status),
        };
        if reached {
            drain(&mut updates, io, task, quiet);
            return Ok(Waited { status, left: None });
        }
        let left = timeout.map_or(LOOK, |timeout| timeout.saturating_sub(begun.elapsed()));
        if left.is_zero() {
            return leave(port, io, task, Exit::Over).await;
        }
        let delayed = matches!(status.state, TaskState::Delayed { .. });
        still = if port.is_host() && !status.busy && !delayed { still + 1 } else { 0 };
        if still > STILL {
            return Err(stands_still(task));
        }
        let interrupt = io.interrupt.clone();
        tokio::select! {
            update = updates.recv() => match update {
                Ok(update) => {
                    still = 0;
                    if !quiet && &update.task == task {
                        say(io, &update.line);
                    }
                }
                Err(RecvError::Lagged(_)) => {}
                // No more progress will come; the state is still looked at.
                Err(RecvError::Closed) => tokio::time::sleep(LOOK.min(left)).await,
            },
            () = interrupt.notified() => return leave(port, io, task, Exit::Interrupted).await,
            () = port.lost(), if joins < JOINS => {
                joins += 1;
                rejoin(port, io, task, until).await?;
                updates = port.updates();
            }
            () = tokio::time::sleep(LOOK.min(left)) => {}
        }
    }
}

/// The engine of this process has stopped carrying the task on, and a terminal would wait for ever.
fn stands_still(task: &TaskId) -> Refusal {
    Refusal {
        kind: RefusalKind::Broken,
        message: format!("nothing carries task {task} on in this process"),
        next: format!("planwright timeline {task} says what came last; planwright resume {task} tries again"),
    }
}

/// Where a task stands.
///
/// # Errors
/// There is no such task, or nobody to ask.
pub async fn status(port: &dyn Port, task: &TaskId) -> Result<StatusView, Refusal> {
    match port.ask(Query::Status { task: Which::Task(task.clone()) }).await? {
        View::Status(status) => Ok(*status),
        other => Err(unexpected(&other)),
    }
}

/// Nothing of it is decided any more.
pub fn is_over(state: &TaskState) -> bool {
    match state {
        TaskState::Done { .. } | TaskState::Failed { .. } | TaskState::Abandoned => true,
        TaskState::Planning
        | TaskState::AwaitingApproval
        | TaskState::Running
        | TaskState::Paused
        | TaskState::Delayed { .. }
        | TaskState::Blocked { .. }
        | TaskState::Verifying
        | TaskState::AwaitingReview => false,
    }
}

/// A host that answers another question than was asked is of another version, or broken.
pub fn unexpected(_: &View) -> Refusal {
    Refusal {
        kind: RefusalKind::Broken,
        message: "the host answered something else than was asked".to_owned(),
        next: "end the other planwright process, which may be of another version, and try again".to_owned(),
    }
}

/// It waits for a person or is over. A gate may be open, or a pause asked for, while another step still runs; where this
/// process is the host that step would die with it, and is let finish.
fn rests(status: &StatusView, now: Time, is_host: bool) -> bool {
    match &status.state {
        TaskState::Planning | TaskState::Running | TaskState::Verifying => false,
        TaskState::Delayed { until } => until.since(now) > u64::try_from(SAT_OUT.as_millis()).unwrap_or(u64::MAX),
        TaskState::AwaitingApproval | TaskState::Paused | TaskState::Blocked { .. } | TaskState::AwaitingReview => {
            !(is_host && status.busy)
        }
        TaskState::Done { .. } | TaskState::Failed { .. } | TaskState::Abandoned => true,
    }
}

/// Nothing is being written, and the checks that the last decision started have ended. A decision is answered only when
/// it is carried out; what the text says of former ones is the user's affair: they may have put a file back.
fn settled(status: &StatusView) -> bool {
    let writing = status.in_flight.iter().any(|effect| effect.starts_with("review:"));
    let judging = status.state == TaskState::Verifying && status.busy;
    !writing && !judging
}

/// The host died: whoever takes its place goes on with what this terminal had asked for.
async fn rejoin(port: &dyn Port, io: &mut Terminal, task: &TaskId, until: Until) -> Result<(), Refusal> {
    say(io, "the process that ran this task is gone; taking over");
    port.rejoin().await?;
    if until == Until::Settled {
        return Ok(());
    }
    match port.act(io.actor.clone(), Action::Resume { task: Which::Task(task.clone()) }).await {
        Ok(_) => Ok(()),
        // It ended, or waits for a person, before its process did: the next look shows it.
        Err(refusal) if refusal.kind == RefusalKind::WrongState => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

/// Stops waiting. What this process runs would die with it, so it is ended in order; a time limit was given to the
/// task and ends it wherever it runs; Ctrl-C beside another host only stops looking.
async fn leave(port: &dyn Port, io: &mut Terminal, task: &TaskId, why: Exit) -> Result<Waited, Refusal> {
    let ends = port.is_host() || why == Exit::Over;
    if ends {
        let cancel = port.act(io.actor.clone(), Action::Cancel { task: Which::Task(task.clone()) });
        let interrupt = io.interrupt.clone();
        tokio::select! {
            // It may have come to rest in this moment, and then there is nothing to cancel.
            _ = cancel => {}
            () = interrupt.notified() => {}
        }
    }
    let what = match (why == Exit::Over, ends) {
        (true, _) => "the time is up; what ran was ended",
        (false, true) => "interrupted; what ran was ended",
        (false, false) => "stopped looking; the task goes on in the other process",
    };
    say(io, what);
    say(io, &format!("next: planwright resume {task}"));
    Ok(Waited { status: status(port, task).await?, left: Some(why) })
}

fn say(io: &mut Terminal, line: &str) {
    if !line.trim().is_empty() {
        let mut paper = Paper::new();
        paper.put(Tone::Faint, "  ").put(Tone::Faint, line).end();
        io.remark(paper.text());
    }
}

/// What was said before the wait ended and is still in the queue.
fn drain(updates: &mut Receiver<Update>, io: &mut Terminal, task: &TaskId, quiet: bool) {
    while let Ok(update) = updates.try_recv() {
        if !quiet && &update.task == task {
            say(io, &update.line);
        }
    }
}
