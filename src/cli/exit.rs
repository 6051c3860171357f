//! What the process tells its caller (K5).
//!
//! Invariant: one number each, never reused. Absent: any text.

use crate::desk::StatusView;
use crate::domain::task::action::{Refusal, RefusalKind};
use crate::domain::task::event::{Cause, Ending};
use crate::domain::task::standing::TaskState;

/// The exit codes of K5, and the shell's own for an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Done as asked.
    Done = 0,
    /// It failed, or its check fails on what was kept, or it was given up.
    Failed = 1,
    /// The command line asks for what does not exist or cannot be done in this state.
    Usage = 2,
    /// A person must act.
    Waits = 3,
    /// It goes on by itself, later.
    Delayed = 4,
    /// A budget or the given time is used up.
    Over = 5,
    /// Plan, policy or rights forbid it.
    Refused = 6,
    /// Ctrl-C: 128 and the number of SIGINT, as shells have it.
    Interrupted = 130,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Of a refusal.
    pub fn of_refusal(refusal: &Refusal) -> Exit {
        match refusal.kind {
            RefusalKind::NotFound | RefusalKind::SeveralCandidates | RefusalKind::WrongState => Exit::Usage,
            RefusalKind::Plan => Exit::Waits,
            RefusalKind::Policy => Exit::Refused,
            RefusalKind::Broken | RefusalKind::Held | RefusalKind::Gone => Exit::Failed,
        }
    }

    /// Of the state in which a task was left. A block by a failure is told apart from one by a question.
    pub fn of_task(status: &StatusView) -> Exit {
        match &status.state {
            TaskState::Planning | TaskState::Running | TaskState::Verifying => Exit::Delayed,
            TaskState::AwaitingApproval | TaskState::Paused | TaskState::AwaitingReview => Exit::Waits,
            TaskState::Delayed { .. } => Exit::Delayed,
            TaskState::Blocked { .. } => match status.failures.first() {
                Some(failure) if status.gates.is_empty() => of_cause(failure.cause),
                Some(_) | None => Exit::Waits,
            },
            TaskState::Done { ending } => match ending {
                Ending::Verified | Ending::NotVerified { .. } | Ending::NothingKept => Exit::Done,
                Ending::CheckFails { .. } | Ending::Failed { .. } | Ending::Abandoned { .. } => Exit::Failed,
            },
            TaskState::Failed { .. } | TaskState::Abandoned => Exit::Failed,
        }
    }
}

fn of_cause(cause: Cause) -> Exit {
    match cause {
        Cause::Budget => Exit::Over,
        Cause::Policy => Exit::Refused,
        Cause::ModelOutput
        | Cause::Transport
        | Cause::ToolFault
        | Cause::Timeout
        | Cause::MissingDependency
        | Cause::MissingArtifact
        | Cause::Check
        | Cause::Guard
        | Cause::Conflict
        | Cause::Crash => Exit::Failed,
    }
}
