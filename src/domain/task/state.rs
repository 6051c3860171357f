//! Where a task stands: the fold of its journal.
//!
//! Invariant: `Task` holds nothing that the journal does not say; a snapshot of it is a cache. Absent: the plan's own
//! content (`ApprovedPlan`), proposals and payloads (named by hash), and everything that can be derived from these
//! (`schedule`, `standing`).

use super::action::{Actor, GateAnswer, Goal};
use super::budget::is_bound;
use super::event::{Ask, Author, Baseline, Cause, Ending, HandSet, Intent, Payload, PlanFrom, Settlement, Verdict};
use super::facts::{Binding, Rung};
use crate::domain::change::Decision;
use crate::domain::ids::*;
use crate::domain::plan::{Check, Command};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One goal of the user, and all that happened on the way to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Its name.
    pub id: TaskId,
    /// What is wanted, where.
    pub goal: Goal,
    /// Where it belongs.
    pub binding: Binding,
    /// Of all that belongs to it.
    pub trace: TraceId,
    /// When it was opened.
    pub opened: Time,
    /// Who asked.
    pub by: Actor,
    /// The number of the last event.
    pub seq: u64,
    /// When the last event was appended.
    pub at: Time,
    /// Every revision of the plan, oldest first.
    pub revisions: Vec<Revision>,
    /// What was asked of planning last.
    pub asked: Option<PlanRequest>,
    /// What a person approved last.
    pub approval: Option<Approval>,
    /// What the plan document says beside the approval.
    pub document: Document,
    /// Going, standing still, or over.
    pub course: Course,
    /// Making the plan.
    pub planning: Progress,
    /// The steps of the approval in document order.
    pub steps: Vec<StepRun>,
    /// The checks before any change.
    #[serde(default)]
    pub baseline: Progress,
    /// What they gave: the last run of each check.
    #[serde(default)]
    pub baselines: Vec<BaselineRun>,
    /// The acceptance checks.
    pub acceptance: Progress,
    /// Effects of attempts that have not ended, in the order of their intents.
    pub effects: Vec<EffectRun>,
    /// What was started outside, in the order of the intents. It outlasts attempts, approvals and hands: what happened
    /// outside is not undone by any of them.
    pub outside: Vec<OutsideRun>,
    /// Gates opened so far: their names are counted from it.
    pub gates_opened: u32,
    /// Gates that wait or were decided, in the order of opening.
    pub gates: Vec<Gate>,
    /// A revision that waits beside the plan document, which an editor had open.
    #[serde(default)]
    pub offered: Option<RevisionRef>,
    /// Proposals in force, in merge order.
    pub proposals: Vec<Standing>,
    /// The last decision on each hunk.
    pub decisions: BTreeMap<HunkId, Decided>,
    /// The last judgement of each check of each work.
    pub judgements: Vec<Judgement>,
    /// What the person said on the way.
    pub said: Vec<Said>,
    /// Tokens, turns and time.
    pub spend: Spend,
}

/// Whether a task goes on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// It may go on as far as its plan and approval allow.
    Going,
    /// A person stopped it.
    Paused {
        /// Who.
        by: Actor,
    },
    /// It is over.
    Over(Ending),
}

/// What the plan document says beside the approval.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Document {
    /// The same, or nothing is approved yet.
    Same,
    /// Something else: no new step starts.
    Strayed {
        /// Its digest; absent when it does not compile.
        digest: Option<ContentHash>,
    },
}

/// What was asked of planning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlanRequest {
    /// What to mind, in words.
    pub words: Option<String>,
    /// From what.
    pub from: PlanFrom,
    /// The number of the event.
    pub seq: u64,
}

/// A stored text of the plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Revision {
    /// Its name.
    pub name: RevisionRef,
    /// The document.
    pub text: ContentHash,
    /// Who wrote it.
    pub author: Author,
    /// Why.
    pub reason: String,
    /// Findings that keep it from being approved.
    pub errors: u32,
    /// When.
    pub at: Time,
}

/// A person's approval of one revision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Approval {
    /// Which.
    pub revision: RevisionRef,
    /// The whole digest.
    pub digest: ContentHash,
    /// The document as approved.
    pub text: ContentHash,
    /// Up to and with this step.
    pub upto: Option<StepId>,
    /// What it rests on (A10).
    pub baselines: Vec<Baseline>,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: Time,
    /// The event's number: gates opened before it do not count for it.
    pub seq: u64,
}

/// How far some work has come, for work that is no step.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Attempts begun.
    pub attempts: u32,
    /// Where it stands.
    pub state: ProgressState,
}

/// Where planning or acceptance stands.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgressState {
    /// Not begun, or to be done anew.
    #[default]
    Idle,
    /// Under way.
    Running,
    /// A gate waits.
    AtGate(GateId),
    /// It ended well; `verified` as in `Outcome::Done`.
    Done {
        /// At least one check judged it and all passed.
        verified: bool,
    },
    /// It ended badly.
    Failed {
        /// Named.
        cause: Cause,
        /// With the next step.
        message: String,
    },
}

/// A step under its approval.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepRun {
    /// Which.
    pub id: StepId,
    /// Digest of its definition and inputs.
    pub definition: ContentHash,
    /// Attempts begun, over all approvals: an effect id is never given twice.
    pub attempts: u32,
    /// Attempts that failed since the person last had a say; the retry limit counts these.
    pub failures: u32,
    /// Where it stands.
    pub state: StepState,
}

/// Where a step stands. `ready` is not here: it is `Waiting` with nothing left to wait for (`schedule`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// For what comes before it, or for a free place.
    Waiting,
    /// An attempt is under way.
    Running {
        /// Since when.
        since: Time,
    },
    /// A failed check went back to the agent.
    Repairing {
        /// Counted from 1.
        round: u32,
    },
    /// A person must decide.
    AtGate(GateId),
    /// A crash left doubt; a person must say what happened.
    Ambiguous(GateId),
    /// It cannot go on; the message says what would unblock it.
    Blocked {
        /// Named.
        cause: Cause,
        /// Why.
        message: String,
    },
    /// It failed. It may be tried again by itself (`schedule::retry_at`).
    Failed {
        /// Named.
        cause: Cause,
        /// As seen.
        message: String,
        /// When.
        at: Time,
    },
    /// It was done, but what it rests on changed.
    Stale,
    /// A person does it by hand.
    TakenOver,
    /// Done.
    Done(DoneHow),
    /// Not to be done.
    Skipped,
}

/// How a step was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoneHow {
    /// The verifier says so.
    Verified,
    /// Nothing could judge it.
    NotVerified,
    /// A person did it.
    ByHand,
}

impl StepState {
    /// Nothing more is to be done for it.
    pub fn is_over(&self) -> bool {
        match self {
            StepState::Done(_) | StepState::Skipped => true,
            StepState::Waiting
            | StepState::Running { .. }
            | StepState::Repairing { .. }
            | StepState::AtGate(_)
            | StepState::Ambiguous(_)
            | StepState::Blocked { .. }
            | StepState::Failed { .. }
            | StepState::Stale
            | StepState::TakenOver => false,
        }
    }

    /// An attempt is under way and waits for nobody.
    pub fn is_at_work(&self) -> bool {
        match self {
            StepState::Running { .. } | StepState::Repairing { .. } => true,
            StepState::Waiting
            | StepState::AtGate(_)
            | StepState::Ambiguous(_)
            | StepState::Blocked { .. }
            | StepState::Failed { .. }
            | StepState::Stale
            | StepState::TakenOver
            | StepState::Done(_)
            | StepState::Skipped => false,
        }
    }

    /// An attempt is under way, even if it waits for a person.
    pub fn is_under_way(&self) -> bool {
        match self {
            StepState::Running { .. }
            | StepState::Repairing { .. }
            | StepState::AtGate(_)
            | StepState::Ambiguous(_) => true,
            StepState::Waiting
            | StepState::Blocked { .. }
            | StepState::Failed { .. }
            | StepState::Stale
            | StepState::TakenOver
            | StepState::Done(_)
            | StepState::Skipped => false,
        }
    }
}

/// An effect of an attempt that has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EffectRun {
    /// Its journal id.
    pub id: EffectId,
    /// The number of its intent's event.
    pub seq: u64,
    /// What it does.
    pub what: Intent,
    /// The hash of the whole request.
    pub request: ContentHash,
    /// Tokens held for it until it is settled.
    pub reserve: u64,
    /// How it came out; absent while in flight, or when the process died in it.
    pub result: Option<Settlement>,
}

/// An effect that reached outside, or may have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OutsideRun {
    /// The idempotency key: the same for every attempt at a step.
    pub key: String,
    /// Its journal id.
    pub effect: EffectId,
    /// What was run.
    pub command: Command,
    /// How it came out, as far as anybody knows.
    pub result: Option<Settlement>,
}

impl OutsideRun {
    /// Nobody knows whether it happened: it has no result, or was ended on the way.
    pub fn is_in_doubt(&self) -> bool {
        match &self.result {
            None | Some(Settlement::Cancelled | Settlement::Lost) => true,
            Some(
                Settlement::Returned { .. }
                | Settlement::Failed { .. }
                | Settlement::Happened { .. }
                | Settlement::DidNotHappen { .. },
            ) => false,
        }
    }
}

/// A point where a person decides.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gate {
    /// Its name.
    pub id: GateId,
    /// Whose work waits.
    pub work: Work,
    /// The attempt that waits.
    pub attempt: u32,
    /// What is asked.
    pub ask: Ask,
    /// When it was opened.
    pub at: Time,
    /// The number of the opening event.
    pub seq: u64,
    /// What a person said.
    pub decided: Option<GateDecision>,
    /// The permission was used by an intent.
    pub spent: bool,
}

impl Gate {
    /// The command that it is about.
    pub fn of_command(&self) -> Option<&Command> {
        match &self.ask {
            Ask::Command { command, .. } | Ask::Ambiguous { command, .. } => Some(command),
            Ask::Person { .. }
            | Ask::Changed { .. }
            | Ask::Exceeds { .. }
            | Ask::Failed { .. }
            | Ask::Question { .. } => None,
        }
    }
}

/// What a person said at a gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GateDecision {
    /// What.
    pub answer: GateAnswer,
    /// With a remark for the next request.
    pub comment: Option<String>,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: Time,
    /// The number of the event.
    pub seq: u64,
}

/// A proposal in force.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Standing {
    /// The author.
    pub step: StepId,
    /// Which.
    pub generation: u32,
    /// The proposal as JSON.
    pub proposal: ContentHash,
    /// What it touches.
    pub paths: Vec<WorkspacePath>,
    /// Hunks in all.
    pub hunks: u32,
    /// Lines added and removed.
    pub lines: u32,
}

/// The last decision on a hunk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// Of which file.
    pub path: WorkspacePath,
    /// What.
    pub decision: Decision,
    /// The hash of what was shown.
    pub shown: ContentHash,
    /// The payload of the user's own text that gave way.
    pub stood: Option<ContentHash>,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: Time,
    /// The number of the event.
    pub seq: u64,
}

/// The last judgement of a check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// Whose check.
    pub work: Work,
    /// Which attempt judged.
    pub attempt: u32,
    /// Which check.
    pub check: Check,
    /// The verdict.
    pub verdict: Verdict,
    /// The view it was judged in.
    pub view: ContentHash,
    /// How well a command was isolated.
    pub rung: Option<Rung>,
    /// What the verdict rests on of the runs before any change.
    #[serde(default)]
    pub remark: Option<String>,
}

/// The last run of a check before any change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BaselineRun {
    /// Which check.
    pub check: Check,
    /// Which attempt at the baseline ran it.
    pub attempt: u32,
    /// What already fails, in words.
    pub found: Option<String>,
    /// The outcome as JSON.
    pub outcome: Payload,
    /// The view it ran in.
    pub view: ContentHash,
}

/// Words of the person on the way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Said {
    /// What.
    pub words: String,
    /// For one step, or all.
    pub step: Option<StepId>,
    /// The number of the event: it reaches the requests after it.
    pub seq: u64,
}

/// What a task has used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Spend {
    /// Input tokens, cached ones included.
    pub input: u64,
    /// Of these, cached.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
    /// Held for calls in flight.
    pub reserved: u64,
    /// Exchanges with a model.
    pub turns: u32,
    /// Milliseconds in which at least one effect was under way under an approval, as far as they are added up.
    pub busy_ms: u64,
    /// Up to when, while an effect is under way.
    pub busy_since: Option<Time>,
}

impl Spend {
    /// Input and output, as the budget counts.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl Task {
    /// The step's run under the present approval.
    pub fn step(&self, id: &StepId) -> Option<&StepRun> {
        self.steps.iter().find(|step| &step.id == id)
    }

    /// The newest revision.
    pub fn newest(&self) -> Option<&Revision> {
        self.revisions.last()
    }

    /// Gates that wait for a person.
    pub fn open_gates(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().filter(|gate| gate.decided.is_none())
    }

    /// The gate of this name.
    pub fn gate(&self, id: &GateId) -> Option<&Gate> {
        self.gates.iter().find(|gate| &gate.id == id)
    }

    /// What a person said of a command holds under the approval that it was said under, and under no later one.
    pub fn holds(&self, gate: &Gate) -> bool {
        let approved = self.approval.as_ref().map_or(0, |approval| approval.seq);
        gate.of_command().is_none() || gate.decided.as_ref().is_none_or(|decision| decision.seq > approved)
    }

    /// A person allowed this command for the whole of the present plan.
    pub fn allowed_for_plan(&self, command: &Command) -> bool {
        let allowed = |gate: &Gate| gate.decided.as_ref().is_some_and(|said| said.answer == GateAnswer::AllowForPlan);
        self.gates.iter().any(|gate| gate.of_command() == Some(command) && allowed(gate) && self.holds(gate))
    }

    /// The permission of this gate can be used by an intent: it was given under the present approval, and not used yet.
    pub fn permits(&self, id: &GateId) -> bool {
        self.gate(id).is_some_and(|gate| gate.decided.is_some() && !gate.spent && self.holds(gate))
    }

    /// Effects with an intent and no result.
    pub fn in_flight(&self) -> impl Iterator<Item = &EffectRun> {
        self.effects.iter().filter(|effect| effect.result.is_none())
    }

    /// A crash left it without a result, and a person is asked what happened: nobody is at it any more.
    pub fn in_doubt(&self, id: &EffectId) -> bool {
        self.open_gates().any(|gate| matches!(&gate.ask, Ask::Ambiguous { effect, .. } if effect == id))
    }

    /// Milliseconds in which work was under way under an approval, up to now. Parallel steps count once.
    pub fn busy(&self, now: Time) -> u64 {
        let open = self.spend.busy_since.filter(|_| self.is_busy()).map_or(0, |since| now.since(since));
        self.spend.busy_ms.saturating_add(open)
    }

    /// An effect that the contract's wall time counts is under way.
    pub(super) fn is_busy(&self) -> bool {
        let counts = |effect: &EffectRun| is_bound(&effect.id.work) && !self.in_doubt(&effect.id);
        self.approval.is_some() && self.in_flight().any(counts)
    }

    /// It is over.
    pub fn is_over(&self) -> bool {
        match self.course {
            Course::Over(_) => true,
            Course::Going | Course::Paused { .. } => false,
        }
    }

    /// The attempt that some work is at.
    pub fn attempt(&self, work: &Work) -> u32 {
        match work {
            Work::Planning => self.planning.attempts,
            Work::Baseline => self.baseline.attempts,
            Work::Acceptance => self.acceptance.attempts,
            Work::Step(id) => self.step(id).map_or(0, |step| step.attempts),
            Work::Review => 1,
        }
    }

    /// The hand a person set a step to, as a state.
    pub(super) fn set_by_hand(to: HandSet) -> StepState {
        match to {
            HandSet::Skipped => StepState::Skipped,
            HandSet::DoneByHand => StepState::Done(DoneHow::ByHand),
        }
    }
}
