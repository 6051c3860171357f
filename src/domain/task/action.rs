//! What a user asks for, in an editor or a terminal.
//!
//! Invariant: an action carries all that the engine needs to decide, and who asked; nothing is taken from the
//! surroundings later. Absent: reads; they are queries to the desk.

use crate::domain::ids::*;
use serde::{Deserialize, Serialize};

/// A person at a client.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Actor {
    /// The OS user's name.
    pub user: String,
    /// `terminal`, or an editor's name and version.
    pub client: String,
}

/// What is wanted, where.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Goal {
    /// In the user's words.
    pub words: String,
    /// File, lines, or none.
    pub place: Option<Place>,
    /// References given with it: workspace files, kept as data (A13).
    pub references: Vec<WorkspacePath>,
    /// The comment at the place that the goal was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<Comment>,
}

/// A comment that asked for something. Its removal becomes a hunk of the task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Comment {
    /// 1-based line that it began in.
    pub line: u32,
    /// What is to be removed, as it stood: whole lines with their endings, or the part beside code.
    pub text: String,
}

/// Where a goal points.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Which file.
    pub path: WorkspacePath,
    /// 1-based first and last line; absent means the file.
    pub lines: Option<(u32, u32)>,
}

/// What a person answers at a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateAnswer {
    /// Go on, this once. At an ambiguous effect: it did not happen, run it again.
    Allow,
    /// Go on, and ask no more for this same command under this revision.
    AllowForPlan,
    /// Do not.
    Deny,
    /// At an ambiguous effect: it happened.
    Happened,
}

impl GateAnswer {
    /// The answer that a word is.
    pub fn read(word: &str) -> Option<Self> {
        match word {
            "allow" => Some(GateAnswer::Allow),
            "allow_for_plan" | "allowForPlan" => Some(GateAnswer::AllowForPlan),
            "deny" => Some(GateAnswer::Deny),
            "happened" => Some(GateAnswer::Happened),
            _ => None,
        }
    }
}

/// Which hunks a decision is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// These.
    Hunks(Vec<HunkId>),
    /// All pending ones of a file.
    File(WorkspacePath),
    /// All pending ones of a step.
    Step(StepId),
    /// All pending ones, but for uncertain ones (I2).
    All,
}

/// Whose text stays where a hunk no longer fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What stands there: the hunk is left out.
    Mine,
    /// The hunk's: it takes the place of exactly what stands there.
    Theirs,
}

impl Side {
    /// The side that a word is.
    pub fn read(word: &str) -> Option<Self> {
        match word {
            "mine" => Some(Side::Mine),
            "theirs" => Some(Side::Theirs),
            _ => None,
        }
    }
}

/// A task as the user names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// This one.
    Task(TaskId),
    /// The only one that this action applies to; with several candidates they are listed and nothing is done.
    TheOnlyOne,
}

/// What a user asks for. One variant an action of the interface's table; reads are not here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Action {
    /// A goal becomes a task and is planned.
    Plan {
        /// What and where.
        goal: Goal,
        /// A whole plan document that comes with it, instead of a planner call.
        document: Option<String>,
    },
    /// A change of one item: a plan of one step, made from the words and the place, approved and run by this one act.
    Small {
        /// What, and in which file.
        goal: Goal,
        /// The item of that file where the change belongs.
        focus: Option<String>,
    },
    /// A question about the code: it is read, and nothing changes.
    AskQuestion {
        /// What is asked, and where.
        goal: Goal,
    },
    /// A person approves a revision.
    Approve {
        /// Which task.
        task: Which,
        /// Exactly this revision; it must be what the document says.
        revision: RevisionRef,
        /// Up to and with this step.
        upto: Option<StepId>,
    },
    /// Go on: an approved task starts, a paused or interrupted one continues.
    Run {
        /// Which task.
        task: Which,
    },
    /// Like `Run`, for a task that was paused or whose process died.
    Resume {
        /// Which task.
        task: Which,
    },
    /// Let what runs finish, start nothing new.
    Pause {
        /// Which task.
        task: Which,
    },
    /// End what is in flight, and pause.
    Cancel {
        /// Which task.
        task: Which,
    },
    /// End the task; accepted hunks stay.
    Abandon {
        /// Which task.
        task: Which,
    },
    /// A new attempt of a failed, blocked or stale step.
    Retry {
        /// Which task.
        task: Which,
        /// Which step; absent = the only one that can be retried.
        step: Option<StepId>,
    },
    /// Do without a step.
    Skip {
        /// Which task.
        task: Which,
        /// Which step.
        step: StepId,
    },
    /// The person does the step by hand: it waits for `MarkDone`.
    TakeOver {
        /// Which task.
        task: Which,
        /// Which step.
        step: StepId,
    },
    /// Done by hand, recorded as not verified.
    MarkDone {
        /// Which task.
        task: Which,
        /// Which step.
        step: StepId,
    },
    /// An instruction that reaches the next request.
    Say {
        /// Which task.
        task: Which,
        /// What.
        words: String,
        /// A step, or all.
        step: Option<StepId>,
    },
    /// Change the plan in words.
    Revise {
        /// Which task.
        task: Which,
        /// What to change.
        words: String,
    },
    /// Plan again against the workspace as it is.
    Replan {
        /// Which task.
        task: Which,
        /// What to mind, if anything.
        words: Option<String>,
    },
    /// Decide a gate.
    Gate {
        /// Which task.
        task: Which,
        /// Which gate; absent = the only open one.
        gate: Option<GateId>,
        /// What.
        answer: GateAnswer,
        /// Reaches the next request.
        comment: Option<String>,
    },
    /// Answer the planner's question.
    Answer {
        /// Which task.
        task: Which,
        /// Counted from 1 in the document; absent = the only open one.
        question: Option<u32>,
        /// What.
        words: String,
    },
    /// The revision that waits beside the plan document: into the document, or away.
    Offer {
        /// Which task.
        task: Which,
        /// Into the document.
        take: bool,
    },
    /// Put hunks into the text.
    Accept {
        /// Which task.
        task: Which,
        /// Which hunks.
        target: Target,
    },
    /// Leave hunks out.
    Reject {
        /// Which task.
        task: Which,
        /// Which hunks.
        target: Target,
        /// Reaches the next request, or is offered with a revision.
        reason: Option<String>,
    },
    /// Settle a hunk at whose place something else stands.
    Resolve {
        /// Which task.
        task: Which,
        /// Which hunk; absent = the only one that is touched.
        hunk: Option<HunkId>,
        /// Whose text stays.
        side: Side,
        /// The hash of both sides as they were shown; where they are others by now, nothing is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<ContentHash>,
    },
    /// Take decisions back.
    Undo {
        /// Which task.
        task: Which,
        /// Which hunks; `All` = the last decision only.
        target: Target,
    },
}

impl Action {
    /// Asking again for what may have been done already changes nothing: it is refused, or is as it was asked for.
    pub fn may_be_asked_again(&self) -> bool {
        match self {
            // The same goal within a minute is the same task; a document that comes with it makes another one.
            Action::Plan { document, .. } => document.is_none(),
            Action::Small { .. }
            | Action::AskQuestion { .. }
            | Action::Approve { .. }
            | Action::Run { .. }
            | Action::Resume { .. }
            | Action::Pause { .. }
            | Action::Cancel { .. }
            | Action::Abandon { .. }
            | Action::Skip { .. }
            | Action::TakeOver { .. }
            | Action::MarkDone { .. }
            | Action::Gate { gate: Some(_), .. }
            | Action::Accept { .. }
            | Action::Reject { .. }
            | Action::Resolve { hunk: Some(_), .. } => true,
            Action::Retry { .. }
            | Action::Say { .. }
            | Action::Revise { .. }
            | Action::Replan { .. }
            | Action::Gate { gate: None, .. }
            | Action::Answer { .. }
            | Action::Offer { .. }
            | Action::Resolve { hunk: None, .. }
            | Action::Undo { .. } => false,
        }
    }
}

/// What the engine answers at once. Whatever takes longer is seen at the desk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The task it was about.
    pub task: TaskId,
    /// One sentence for a person.
    pub message: String,
}

/// Why the engine did not do as asked: kind, message, next step.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// What is wrong.
    pub message: String,
    /// What to do next, a command where there is one.
    pub next: String,
}

/// Kinds of refusals; the terminal makes its exit code from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// No such task, step, hunk, gate, revision.
    NotFound,
    /// Several would do; they are listed in the message.
    SeveralCandidates,
    /// Not in this state.
    WrongState,
    /// The plan does not compile, or is not the revision named.
    Plan,
    /// Policy, trust, rights.
    Policy,
    /// The workspace or the store cannot be used.
    Broken,
    /// Another process holds the workspace and does not answer.
    Held,
    /// The host ended before it answered.
    Gone,
}
