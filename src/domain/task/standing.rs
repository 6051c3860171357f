//! The one word for where a task stands, made from its state and from what its hunks say.
//!
//! Invariant: derived, never stored. Absent: anything a client does with it.

use super::event::{Ask, Cause, Ending};
use super::schedule::{self, Readiness};
use super::state::*;
use crate::domain::ids::*;
use crate::domain::plan::ApprovedPlan;
use serde::{Deserialize, Serialize};

/// The task states of the vocabulary.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum TaskState {
    /// The plan is being made.
    Planning,
    /// A plan, or what planning needs, waits for a person.
    AwaitingApproval,
    /// Steps run or can run.
    Running,
    /// A person stopped it.
    Paused,
    /// The next attempt is due then.
    Delayed {
        /// When.
        until: Time,
    },
    /// A person must act before it can go on.
    Blocked {
        /// Why.
        why: String,
        /// What would unblock it.
        next: String,
    },
    /// The acceptance checks run.
    Verifying,
    /// Hunks wait for decisions, or accepted ones for the disk.
    AwaitingReview,
    /// Over, and something was kept or all rejected.
    Done {
        /// How.
        ending: Ending,
    },
    /// Over without a result.
    Failed {
        /// Why.
        why: String,
    },
    /// Given up by a person.
    Abandoned,
}

impl TaskState {
    /// The words of the vocabulary.
    pub fn words(&self) -> String {
        match self {
            TaskState::Planning => "planning".to_owned(),
            TaskState::AwaitingApproval => "awaiting approval".to_owned(),
            TaskState::Running => "running".to_owned(),
            TaskState::Paused => "paused".to_owned(),
            TaskState::Delayed { .. } => "delayed".to_owned(),
            TaskState::Blocked { .. } => "blocked".to_owned(),
            TaskState::Verifying => "verifying".to_owned(),
            TaskState::AwaitingReview => "awaiting review".to_owned(),
            TaskState::Done { ending } => match ending {
                Ending::Verified => "done (verified)".to_owned(),
                Ending::NotVerified { .. } => "done (not verified)".to_owned(),
                Ending::CheckFails { .. } => "done (check fails on what was kept)".to_owned(),
                Ending::NothingKept => "done (nothing kept)".to_owned(),
                Ending::Failed { .. } => "failed".to_owned(),
                Ending::Abandoned { .. } => "abandoned".to_owned(),
            },
            TaskState::Failed { .. } => "failed".to_owned(),
            TaskState::Abandoned => "abandoned".to_owned(),
        }
    }
}

/// Where the task stands. `pending` is the number of hunks that wait for a decision or for the disk.
pub fn standing(task: &Task, plan: Option<&ApprovedPlan>, pending: usize, now: Time) -> TaskState {
    match &task.course {
        Course::Over(Ending::Abandoned { .. }) => return TaskState::Abandoned,
        Course::Over(Ending::Failed { why }) => return TaskState::Failed { why: why.clone() },
        Course::Over(ending) => return TaskState::Done { ending: ending.clone() },
        Course::Paused { .. } => return TaskState::Paused,
        Course::Going => {}
    }
    if let Some(gate) = task.open_gates().next() {
        return TaskState::Blocked { why: asked(gate), next: format!("planwright gate {} {} allow", task.id, gate.id) };
    }
    if task.planning.state == ProgressState::Running {
        return TaskState::Planning;
    }
    let Some(plan) = plan else {
        return match &task.planning.state {
            ProgressState::Idle if task.revisions.is_empty() => TaskState::Planning,
            ProgressState::Failed { message, .. } if task.revisions.is_empty() => {
                TaskState::Blocked { why: message.clone(), next: format!("planwright replan {}", task.id) }
            }
            ProgressState::Idle
            | ProgressState::Running
            | ProgressState::AtGate(_)
            | ProgressState::Done { .. }
            | ProgressState::Failed { .. } => TaskState::AwaitingApproval,
        };
    };
    if let Document::Strayed { .. } = task.document
        && !task.steps.iter().any(|step| step.state.is_under_way())
    {
        return TaskState::AwaitingApproval;
    }
    of_steps(task, plan, pending, now)
}

fn of_steps(task: &Task, plan: &ApprovedPlan, pending: usize, now: Time) -> TaskState {
    let board = schedule::board(task, plan, pending, now);
    if task.steps.iter().any(|step| step.state.is_under_way()) || board.iter().any(|r| r.1 == Readiness::Ready) {
        return TaskState::Running;
    }
    if let Some(until) = board.iter().filter_map(|(_, readiness)| readiness.delayed_until()).min() {
        return TaskState::Delayed { until };
    }
    for step in &task.steps {
        let next = match &step.state {
            StepState::Failed { cause, message, .. } | StepState::Blocked { cause, message } => {
                Some((format!("step {}: {} ({message})", step.id, cause.words()), *cause))
            }
            StepState::Waiting
            | StepState::Running { .. }
            | StepState::Repairing { .. }
            | StepState::AtGate(_)
            | StepState::Ambiguous(_)
            | StepState::Stale
            | StepState::TakenOver
            | StepState::Done(_)
            | StepState::Skipped => None,
        };
        if let Some((why, cause)) = next {
            return TaskState::Blocked { why, next: next_step(&task.id, &step.id, cause) };
        }
        if step.state == StepState::TakenOver {
            return TaskState::Blocked {
                why: format!("you took over step {}", step.id),
                next: format!("planwright mark-done {} {}", task.id, step.id),
            };
        }
    }
    if board.iter().any(|(_, readiness)| *readiness == Readiness::BeyondApproval) && pending == 0 {
        return TaskState::AwaitingApproval;
    }
    match &task.acceptance.state {
        ProgressState::Running | ProgressState::AtGate(_) => TaskState::Verifying,
        ProgressState::Idle | ProgressState::Done { .. } | ProgressState::Failed { .. } if pending > 0 => {
            TaskState::AwaitingReview
        }
        ProgressState::Idle | ProgressState::Done { .. } | ProgressState::Failed { .. } => TaskState::Verifying,
    }
}

/// What a person can do about a failed or blocked step (B11).
pub fn next_step(task: &TaskId, step: &StepId, cause: Cause) -> String {
    let retry = format!("planwright retry {task} {step}");
    let others = format!("or `take-over`, `skip`, `abandon`, or edit the plan: planwright show {task}");
    match cause {
        Cause::ModelOutput | Cause::Check | Cause::Guard | Cause::MissingArtifact => {
            format!("say what to mind (planwright say {task} \"…\"), then {retry}; {others}")
        }
        Cause::Budget => format!("raise the budget in the plan and approve it again; {others}"),
        Cause::Policy => format!("widen the plan and approve it again, or {retry}; {others}"),
        Cause::Conflict => format!("planwright replan {task}, or {retry}; {others}"),
        Cause::Transport | Cause::ToolFault | Cause::Timeout | Cause::MissingDependency | Cause::Crash => {
            format!("{retry}; {others}")
        }
    }
}

/// What a gate asks, in one line.
pub fn asked(gate: &Gate) -> String {
    match &gate.ask {
        Ask::Command { command, outside: false, rung } => {
            format!("{}: may `{}` run? ({})", gate.work, shell_words::join(&command.argv), rung.remark())
        }
        Ask::Command { command, outside: true, .. } => format!(
            "{}: may `{}` run in the workspace itself? It reaches outside and runs once",
            gate.work,
            shell_words::join(&command.argv)
        ),
        Ask::Person { question, who } => format!("{}: {question} (asked of {who})", gate.work),
        Ask::Ambiguous { command, .. } => {
            format!("{}: the process died while `{}` ran; did it happen?", gate.work, shell_words::join(&command.argv))
        }
        Ask::Changed { .. } => {
            format!("{}: what the approved step rests on has changed; go on all the same?", gate.work)
        }
        Ask::Exceeds { reason } => format!("{}: {reason}", gate.work),
        Ask::Failed { cause, message } => {
            format!("{} failed ({}: {message}); go on without it?", gate.work, cause.words())
        }
        Ask::Question { question } => format!("{}: {question}", gate.work),
    }
}
