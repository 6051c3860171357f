//! What the engine's inbox takes: one closed list.
//!
//! Invariant: everything that can change a task passes here, one at a time. Absent: reads; they come from the desk.

use super::handle::Asked;
use super::offer::Then;
use super::work::Halt;
use crate::domain::ids::*;
use crate::domain::plan::Command;
use crate::domain::task::action::{Refusal, Reply};
use crate::domain::task::event::{Ask, Event, Outcome, Recorded, Settlement};
use crate::ports::Durability;
use tokio::sync::oneshot;

/// Something that happened, to be dealt with by the one owner.
#[derive(Debug)]
pub enum Input {
    /// A person asks for something.
    Asked(Asked),
    /// Work under way wants to append; the answer is what was recorded.
    Append {
        /// Whose.
        ticket: Ticket,
        /// What.
        events: Vec<Event>,
        /// How surely.
        how: Durability,
        /// Where the answer goes.
        answer: oneshot::Sender<Result<Vec<Recorded>, Halt>>,
    },
    /// Work under way needs a person; the engine names the gate.
    OpenGate {
        /// Whose.
        ticket: Ticket,
        /// What is asked.
        ask: Ask,
        /// Where the answer goes: a halt, so that the work ends and waits as a row; none where what is asked was allowed
        /// for the plan meanwhile.
        answer: oneshot::Sender<Option<Halt>>,
    },
    /// Work under way came to its end. Its end and what follows from it are one turn of the loop: nobody is shown a task
    /// that has finished one thing and not begun the next.
    Finished {
        /// Whose.
        ticket: Ticket,
        /// Which attempt.
        attempt: u32,
        /// How.
        outcome: Outcome,
    },
    /// Work under way has stopped before its end, for this reason.
    Returned {
        /// Whose.
        ticket: Ticket,
        /// Why it stopped.
        halt: Option<Halt>,
    },
    /// A decision on hunks is carried out, as far as it could be. The person is answered when what follows from it has
    /// begun and the desk shows it.
    Decided {
        /// Whose.
        ticket: Ticket,
        /// Why the work stopped early.
        halt: Option<Halt>,
        /// The answer.
        result: Result<Reply, Refusal>,
        /// Where it goes.
        answer: oneshot::Sender<Result<Reply, Refusal>>,
    },
    /// An editor has given a plan document another text, or has not.
    Rewritten {
        /// Whose.
        task: TaskId,
        /// Why not.
        result: Result<(), Refusal>,
        /// What follows.
        then: Then,
        /// Where the answer goes.
        answer: oneshot::Sender<Result<Reply, Refusal>>,
    },
    /// A probe has said what it knows of an effect that is in doubt.
    Probed {
        /// The effect's own work.
        ticket: Ticket,
        /// Which.
        effect: EffectId,
        /// What had been started.
        command: Command,
        /// What came of it; nothing where the probe does not know either.
        result: Option<Settlement>,
    },
    /// A line of progress; never journaled.
    Line {
        /// Whose.
        task: TaskId,
        /// What.
        line: String,
    },
    /// An open document was searched for lost hunks.
    Searched(WorkspacePath),
    /// Files of the workspace changed.
    Changed(Vec<WorkspacePath>),
    /// More changed at once than anybody can name.
    Overlooked,
    /// Somebody saved these in an editor.
    Saved(Vec<WorkspacePath>),
    /// Something is due.
    Tick,
    /// End: what is in flight is dropped and can be resumed.
    Stop(oneshot::Sender<()>),
}

/// Names one stretch of work of this process. A ticket that is no longer the work's present one is refused, so that
/// work that was cancelled cannot append behind its successor's back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// Whose.
    pub task: TaskId,
    /// Which work.
    pub work: Work,
    /// Counted within this process.
    pub serial: u64,
}
