//! The facts of a task. Appended once, versioned, never changed.
//!
//! Invariant: an event of any released version can be read; `from_json` upcasts old ones. An event stays below 2 kB:
//! what may be longer is a `Payload`. Absent: anything that can be derived.

use super::action::{Actor, GateAnswer, Goal};
use super::facts::{Binding, Ended, Rung, Usage};
use crate::domain::change::Decision;
use crate::domain::ids::*;
use crate::domain::plan::{Check, Command};
use serde::{Deserialize, Serialize};

/// An event with its place in the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Recorded {
    /// Counted from 1 within the task.
    pub seq: u64,
    /// When it was appended.
    pub at: Time,
    /// What happened.
    pub event: Event,
}

/// Text that goes with an event: small ones in it, larger ones in the blob store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// At most [`Payload::INLINE`] bytes.
    Inline(String),
    /// The hash under which the store has it, and its length in bytes.
    Blob {
        /// Where.
        hash: ContentHash,
        /// How long.
        bytes: u64,
        /// The first characters, for the timeline.
        head: String,
    },
}

impl Payload {
    /// Bytes up to which text stays in the event.
    pub const INLINE: usize = 1_000;

    /// What can be shown without the store.
    pub fn head(&self) -> &str {
        match self {
            Payload::Inline(text) => text,
            Payload::Blob { head, .. } => head,
        }
    }
}

/// What can happen to a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Event {
    /// A goal became a task.
    Opened {
        /// What is wanted, where.
        goal: Goal,
        /// Where the task belongs.
        binding: Binding,
        /// Of all that belongs to it.
        trace: TraceId,
        /// Who asked.
        actor: Actor,
    },
    /// A plan text whose meaning is new was stored.
    Revised {
        /// Its name.
        revision: RevisionRef,
        /// The document.
        text: ContentHash,
        /// Who wrote it.
        author: Author,
        /// Why.
        reason: String,
        /// Findings that keep it from being approved.
        errors: u32,
    },
    /// The plan is to be made, again or differently.
    PlanAsked {
        /// What to mind, in words.
        words: Option<String>,
        /// From what.
        from: PlanFrom,
        /// Who.
        actor: Actor,
    },
    /// A person approved a revision.
    Approved {
        /// Which.
        revision: RevisionRef,
        /// The whole digest.
        digest: ContentHash,
        /// The document as approved.
        text: ContentHash,
        /// Up to and with this step; absent means all.
        upto: Option<StepId>,
        /// The steps in document order, each with the digest of its definition and inputs.
        steps: Vec<(StepId, ContentHash)>,
        /// What the plan names, as it is now (A10).
        baselines: Vec<Baseline>,
        /// Who.
        actor: Actor,
    },
    /// A step or other work starts an attempt.
    Began {
        /// Which.
        work: Work,
        /// Counted from 1.
        attempt: u32,
        /// Why this attempt, where it is not the first: what failed before.
        because: Option<String>,
    },
    /// An effect is about to start (invariant 3).
    Intended {
        /// Its journal id.
        effect: EffectId,
        /// What it will do.
        what: Intent,
        /// The hash of the whole request, so that a repeated intent can be compared.
        request: ContentHash,
        /// What it may cost at most, tokens: reserved until it is settled.
        reserve: u64,
        /// The gate whose permission it uses; absent where it needs none, or one for the plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gate: Option<GateId>,
    },
    /// An effect ended, or was found lost and was settled.
    Settled {
        /// Which.
        effect: EffectId,
        /// How.
        result: Settlement,
    },
    /// A person must decide before the work goes on.
    GateOpened {
        /// Its name.
        gate: GateId,
        /// Whose work waits.
        work: Work,
        /// What is asked.
        ask: Ask,
    },
    /// A person decided.
    GateDecided {
        /// Which gate.
        gate: GateId,
        /// What.
        answer: GateAnswer,
        /// Reaches the next request.
        comment: Option<String>,
        /// Who.
        actor: Actor,
    },
    /// A step's proposal was stored.
    Proposed {
        /// The author.
        step: StepId,
        /// Counted from 1.
        generation: u32,
        /// The proposal as JSON.
        proposal: ContentHash,
        /// What it touches.
        paths: Vec<WorkspacePath>,
        /// Hunks in all.
        hunks: u32,
        /// Lines added and removed.
        lines: u32,
    },
    /// A step's proposal is no longer in force.
    Withdrawn {
        /// Whose.
        step: StepId,
        /// Why.
        reason: String,
    },
    /// A check was judged.
    Judged {
        /// A step's check, or acceptance.
        work: Work,
        /// Which check.
        check: Check,
        /// The verdict.
        verdict: Verdict,
        /// Output or findings.
        evidence: Payload,
        /// The view it was judged in.
        view: ContentHash,
        /// How well a command was isolated; absent for checks without a command.
        rung: Option<Rung>,
        /// What a person must know of the verdict besides: what it rests on of the runs before any change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remark: Option<String>,
    },
    /// A check ran before any change (F1).
    BaselineRun {
        /// Which check.
        check: Check,
        /// What already fails, in words; absent where it passes or says nothing.
        found: Option<String>,
        /// The outcome as JSON, for whoever weighs a later run against it.
        outcome: Payload,
        /// The view it ran in: the user's text without the change set.
        view: ContentHash,
        /// How well it was isolated.
        rung: Rung,
    },
    /// A failed check goes back to the agent.
    Repairing {
        /// Which step.
        step: StepId,
        /// Counted from 1 within the attempt.
        round: u32,
    },
    /// An attempt ended.
    Ended {
        /// Whose.
        work: Work,
        /// Which attempt.
        attempt: u32,
        /// How.
        outcome: Outcome,
    },
    /// A person said that a step need not be done, or did it by hand.
    StepSet {
        /// Which.
        step: StepId,
        /// To what.
        to: HandSet,
        /// Who.
        actor: Actor,
        /// Why, if said.
        reason: Option<String>,
    },
    /// A person does a step by hand; it waits for their word.
    TakenOver {
        /// Which.
        step: StepId,
        /// Who.
        actor: Actor,
    },
    /// A person asks for another attempt of a failed, blocked or stale step, or of the acceptance checks.
    RetryAsked {
        /// Which.
        work: Work,
        /// Who.
        actor: Actor,
    },
    /// The task stands still until resumed.
    Paused {
        /// Who.
        actor: Actor,
        /// True when what was in flight was ended too.
        cancelled: bool,
    },
    /// The task goes on.
    Resumed {
        /// Who.
        actor: Actor,
    },
    /// An instruction that reaches the next request.
    Said {
        /// What.
        words: String,
        /// A step, or all.
        step: Option<StepId>,
        /// Who.
        actor: Actor,
    },
    /// The plan text on disk differs in meaning from the approved revision: no new step starts.
    Strayed {
        /// The digest of what stands there; absent when it does not compile.
        digest: Option<ContentHash>,
    },
    /// The plan text says again what was approved.
    Restored,
    /// A revision by the agent waits beside the document, which an editor has open.
    Offered {
        /// Which.
        revision: RevisionRef,
    },
    /// It waits no more: the document says it, or a person does not want it.
    OfferEnded {
        /// Which.
        revision: RevisionRef,
        /// The document says it.
        taken: bool,
        /// Who declined it.
        actor: Option<Actor>,
    },
    /// A person decided on a hunk.
    HunkDecided {
        /// Which.
        hunk: HunkId,
        /// Of which file.
        path: WorkspacePath,
        /// The hash of what was shown (old and new).
        shown: ContentHash,
        /// What.
        decision: Decision,
        /// The payload of the user's own text that gives way to the hunk's: whoever takes the decision back has it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stood: Option<ContentHash>,
        /// Who.
        actor: Actor,
    },
    /// Nothing is pending and all accepted text is on disk, or the task was given up.
    Closed {
        /// How it ended.
        ending: Ending,
    },
}

/// Who wrote a revision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The model.
    Planner,
    /// No model: scope and detected checks, to be filled.
    Skeleton,
    /// An action that carries its whole plan (change an item, a rule given by hand).
    Action,
    /// A person edited the document.
    Person(Actor),
}

/// What planning starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanFrom {
    /// The goal and the workspace as it is.
    Workspace,
    /// The plan as it stands, changed by the words.
    Plan,
}

/// Content that an approval rests on (A10).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// A file that the plan names.
    pub path: WorkspacePath,
    /// A symbol in it, or the file as a whole.
    pub symbol: Option<String>,
    /// Hash of the entry, or of the item's text.
    pub content: ContentHash,
}

/// What an effect does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// An exchange with a model: a turn.
    Model {
        /// `provider/model`.
        model: String,
        /// The request as JSON, exact and private in the store; what is shown of it is redacted.
        request: ContentHash,
    },
    /// A tool the model called, other than `run` and `check`.
    Tool {
        /// Its name.
        tool: String,
        /// Its arguments, cut.
        arguments: String,
    },
    /// Reading what a step starts from; the frozen start.
    Snapshot,
    /// A rule over the workspace.
    Transform,
    /// The formatter.
    Format,
    /// A command in a view.
    Command {
        /// What.
        command: Command,
        /// May run again after a crash without asking.
        repeatable: bool,
    },
    /// A command that reaches outside (B12).
    Outside {
        /// What.
        command: Command,
        /// The idempotency key.
        key: String,
        /// A command that tells whether it happened.
        probe: Option<Command>,
    },
    /// A write to one of the user's files, settled by its hashes.
    Write {
        /// Which.
        path: WorkspacePath,
        /// Hash of the entry before.
        before: ContentHash,
        /// Hash of the entry after.
        after: ContentHash,
        /// An editor has it open and changes it; what stands on disk then says nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        open: bool,
    },
}

/// How an effect was settled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// It came back.
    Returned {
        /// Its result as JSON of the effect's own result type.
        result: Payload,
        /// Tokens, for a model call.
        usage: Option<Usage>,
    },
    /// It failed.
    Failed {
        /// The named cause (B16).
        cause: Cause,
        /// With the next step.
        message: String,
        /// Tokens used in vain, if known.
        usage: Option<Usage>,
    },
    /// A person cancelled it.
    Cancelled,
    /// The process died in it; it may run again. A model call is charged its reservation.
    Lost,
    /// A probe or a person said that it happened before the crash.
    Happened {
        /// Which of them, and what was seen.
        by: String,
    },
    /// A probe or a person said that it did not happen.
    DidNotHappen {
        /// Which of them, and what was seen.
        by: String,
    },
}

/// The named causes of failures (B16), one table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The model's answer could not be used.
    ModelOutput,
    /// The wire.
    Transport,
    /// A tool or port failed.
    ToolFault,
    /// A time limit.
    Timeout,
    /// A program or toolchain is not there.
    MissingDependency,
    /// An artifact is not there.
    MissingArtifact,
    /// Refused by plan, policy or person.
    Policy,
    /// A check failed.
    Check,
    /// A budget is used up.
    Budget,
    /// A guard: turns, repetition, no progress.
    Guard,
    /// The workspace changed underneath.
    Conflict,
    /// The process died.
    Crash,
}

impl Cause {
    /// The words a person reads, as in the requirement's table.
    pub fn words(self) -> &'static str {
        match self {
            Cause::ModelOutput => "model output",
            Cause::Transport => "transport",
            Cause::ToolFault => "tool fault",
            Cause::Timeout => "timeout",
            Cause::MissingDependency => "missing dependency",
            Cause::MissingArtifact => "missing artifact",
            Cause::Policy => "policy",
            Cause::Check => "check",
            Cause::Budget => "budget",
            Cause::Guard => "guard",
            Cause::Conflict => "conflict",
            Cause::Crash => "crash",
        }
    }

    /// Whether trying again unchanged can help.
    pub fn can_pass(self) -> bool {
        match self {
            Cause::Transport | Cause::Timeout | Cause::ToolFault | Cause::Crash => true,
            Cause::ModelOutput
            | Cause::MissingDependency
            | Cause::MissingArtifact
            | Cause::Policy
            | Cause::Check
            | Cause::Budget
            | Cause::Guard
            | Cause::Conflict => false,
        }
    }
}

/// What a gate asks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// May this command run? (Every command at rung 0; an outside effect always.)
    Command {
        /// Exactly this.
        command: Command,
        /// It runs in the workspace itself and reaches outside.
        outside: bool,
        /// How well it would be isolated.
        rung: Rung,
    },
    /// An `ask` step.
    Person {
        /// The step's title and instruction.
        question: String,
        /// `anyone` or an OS user.
        who: String,
    },
    /// A crash left doubt whether this happened (B4).
    Ambiguous {
        /// Which effect.
        effect: EffectId,
        /// What it was.
        command: Command,
    },
    /// What an approved step rests on has changed (A10).
    Changed {
        /// The difference, as a diff.
        difference: Payload,
    },
    /// A stop rule was reached, or the agent asks for something beyond its rights (A8).
    Exceeds {
        /// What, and what would be needed.
        reason: String,
    },
    /// The step failed and its plan says `on-failure: ask`.
    Failed {
        /// What went wrong.
        cause: Cause,
        /// In words.
        message: String,
    },
    /// The planner or the agent asks something.
    Question {
        /// In words.
        question: String,
    },
}

/// How a check came out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Passed,
    /// It does not.
    Failed {
        /// In one line.
        why: String,
    },
    /// It could not be judged; never a pass.
    NotJudged {
        /// In one line.
        why: String,
    },
}

/// How an attempt ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is done; `verified` if at least one check judged it and all passed.
    Done {
        /// By the verifier.
        verified: bool,
        /// The agent's summary or the command's last line.
        summary: Payload,
    },
    /// It failed.
    Failed {
        /// Named (B16).
        cause: Cause,
        /// As seen.
        message: String,
        /// The command's end, where a command failed.
        ended: Option<Ended>,
    },
    /// A guard or a person's no stands in the way; what would unblock it is in the message.
    Blocked {
        /// Named (B16).
        cause: Cause,
        /// Why, and what would unblock it.
        message: String,
    },
    /// A person cancelled it, or the process died in it; it starts again where its journal ends.
    Interrupted,
}

/// What a person sets a step to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandSet {
    /// Not to be done.
    Skipped,
    /// Done by hand; recorded as not verified.
    DoneByHand,
}

/// How a task ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The acceptance checks pass on what was kept.
    Verified,
    /// No check could judge what was kept.
    NotVerified {
        /// Why not.
        why: String,
    },
    /// An acceptance check fails on what was kept.
    CheckFails {
        /// Which, in one line.
        why: String,
    },
    /// Every hunk was rejected.
    NothingKept,
    /// It cannot go on.
    Failed {
        /// Why.
        why: String,
    },
    /// A person gave it up.
    Abandoned {
        /// Who.
        actor: Actor,
    },
}

impl Event {
    /// The version of today's event bodies. Raised when a body changes its shape, together with an upcast in `from_json`,
    /// and when a variant is added: an older release then says that the journal is newer, and not that it is broken.
    pub const VERSION: u32 = 3;

    /// The body for the journal.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Reads a body of any released version.
    ///
    /// # Errors
    /// The body is of a newer version, or no event.
    pub fn from_json(version: u32, body: &str) -> Result<Event, String> {
        match version {
            // 2 added the offers of plan revisions, 3 the runs before any change and the remark of a verdict; neither
            // changed what a body of before says.
            1..=3 => serde_json::from_str(body).map_err(|error| format!("this is no event: {error}")),
            newer => Err(format!("event version {newer} is newer than this planwright")),
        }
    }
}
