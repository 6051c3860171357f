//! What queries give: plain values that a terminal prints, `--json` hands on as they are, and a host sends to others.
//!
//! Invariant: a view names every command it offers in full, so that it can be copied and run. Absent: layout, colours
//! and time zones; texts are as they came in and are made harmless by whoever shows them.

use super::{ReviewHunk, Surroundings};
use crate::domain::ids::*;
use crate::domain::problem::{Problem, Severity};
use crate::domain::task::action::{Actor, Goal};
use crate::domain::task::event::Cause;
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::Spend;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

/// What a query gives.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "view")]
pub enum View {
    /// All tasks.
    Tasks(TasksView),
    /// Where a task stands.
    Status(Box<StatusView>),
    /// The plan before an approval.
    Show(Box<ShowView>),
    /// The hunks.
    Review(ReviewView),
    /// One hunk and its story.
    Why(Box<WhyView>),
    /// What happened.
    Timeline(TimelineView),
    /// What the model was sent.
    Preview(PreviewView),
    /// Two revisions.
    Compare(CompareView),
    /// What holds for all tasks.
    Surroundings(Surroundings),
    /// What the compiler says.
    Compiled(Box<CompiledView>),
    /// What could stand there.
    #[serde(with = "found")]
    Candidates(#[serde(with = "in_field")] Vec<String>),
    /// A definition, or the head of a file; none where there is no such thing.
    #[serde(with = "found")]
    Code(#[serde(with = "in_field")] Option<CodeView>),
    /// The item around a place.
    Item(ItemView),
    /// A page for people.
    Page(PageView),
    /// What a page of no task says, if it is there.
    Loose(#[serde(with = "in_field")] Option<String>),
}

/// A list, or nothing, has no fields of its own that the name of the view could stand beside.
mod in_field {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct InField<T> {
        value: T,
    }

    pub(super) fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        InField { value }.serialize(to)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        InField::deserialize(from).map(|in_field| in_field.value)
    }
}

/// What the compiler says of a plan text.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CompiledView {
    /// All findings, in document order.
    pub problems: Vec<Problem>,
    /// What the text would be called. A text with the meaning of a known revision has its name.
    pub revision: RevisionRef,
    /// What must be seen before an approval (A6), one line each.
    pub contract: Vec<String>,
    /// It means what was approved last.
    pub approved: bool,
}

/// A piece of code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CodeView {
    /// Which file.
    pub path: WorkspacePath,
    /// Bytes of its text.
    pub range: Range<usize>,
    /// 0-based line at which it begins.
    pub line: u32,
    /// As it stands there; long ones are cut.
    pub text: String,
}

/// The item around a place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ItemView {
    /// Its path within the file; absent where the place is in none.
    pub symbol: Option<String>,
    /// 1-based first and last line of the item; without one, of the place.
    pub lines: (u32, u32),
    /// The check that the project suggests for it, as a plan says it; absent where it suggests none.
    pub check: Option<String>,
}

/// A page for people.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PageView {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// Markdown.
    pub text: String,
}

/// Lists and optional values beside a tag: JSON has room for them only in a field.
mod found {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Found<T> {
        found: T,
    }

    pub fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        Found { found: value }.serialize(to)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        Found::deserialize(from).map(|found| found.found)
    }
}

/// All tasks of the root.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TasksView {
    /// In the order of their opening.
    pub tasks: Vec<TaskLine>,
}

/// A task in one line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskLine {
    /// Its name.
    pub task: TaskId,
    /// In the user's words.
    pub goal: String,
    /// Where it stands.
    pub state: TaskState,
    /// The state in the words of the vocabulary.
    pub words: String,
    /// When it was opened.
    pub opened: Time,
    /// Hunks that wait for a decision or for the disk.
    pub pending: usize,
    /// What a person can do next.
    pub next: Option<Choice>,
}

/// A command and what it would mean to run it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Choice {
    /// Ready to be run.
    pub command: String,
    /// In a few words.
    pub means: String,
}

/// Where a task stands and what it waits for: the readable document of B18.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StatusView {
    /// Its name.
    pub task: TaskId,
    /// Of all that belongs to it.
    pub trace: TraceId,
    /// What is wanted, where.
    pub goal: Goal,
    /// Where it stands.
    pub state: TaskState,
    /// The state in the words of the vocabulary.
    pub words: String,
    /// Nobody made a plan, because no model is configured; and how one is connected.
    #[serde(default)]
    pub connect: Option<String>,
    /// The newest revision.
    pub revision: Option<RevisionRef>,
    /// The approved revision, and the step it reaches to if not the end.
    pub approved: Option<(RevisionRef, Option<StepId>)>,
    /// The document says something else than what was approved; no new step starts.
    pub strayed: bool,
    /// The steps of the approval, or of the document where nothing is approved yet.
    pub steps: Vec<StepView>,
    /// Open gates.
    pub gates: Vec<GateView>,
    /// What failed and has a next step (B11).
    pub failures: Vec<FailureView>,
    /// The last judgement of each check.
    pub checks: Vec<CheckView>,
    /// Checks that fail whatever is changed, each with what fails.
    #[serde(default)]
    pub already: Vec<String>,
    /// Some process carries the task on; where none does, `resume` goes on.
    pub carried: bool,
    /// Some work is under way and would be cut short if its process ended now.
    pub busy: bool,
    /// Effects that are under way, each in a few words.
    pub in_flight: Vec<String>,
    /// How the hunks stand.
    pub hunks: HunkCounts,
    /// Tokens and turns.
    pub spend: Spend,
    /// What steps that only read have found.
    pub answers: Vec<AnswerView>,
    /// Where the page of the task is; absent where only the engine knows.
    pub page: Option<PathBuf>,
    /// What a person can do next.
    pub next: Vec<Choice>,
}

/// What a step that only reads has found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AnswerView {
    /// Which step.
    pub step: StepId,
    /// From the desk alone its beginning; from the engine all of it.
    pub text: String,
}

/// A step in one line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepView {
    /// Its id.
    pub step: StepId,
    /// Its heading.
    pub title: String,
    /// In the words of the vocabulary.
    pub words: String,
    /// Attempts begun.
    pub attempts: u32,
}

/// An open gate with the commands that answer it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GateView {
    /// Its name.
    pub gate: GateId,
    /// Whose work waits.
    pub work: String,
    /// What is asked.
    pub asked: String,
    /// What belongs to the question and does not fit in a line: a difference.
    pub detail: Option<String>,
    /// How it can be answered.
    pub answers: Vec<Choice>,
}

/// A failure with its next steps (B11).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailureView {
    /// What failed.
    pub work: String,
    /// The named cause.
    pub cause: Cause,
    /// In words, as seen.
    pub message: String,
    /// Each attempt in a line.
    pub tried: Vec<String>,
    /// Errors as they were seen, the last first.
    pub errors: Vec<String>,
    /// What a person can do.
    pub next: Vec<Choice>,
}

/// The last judgement of a check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckView {
    /// Whose check.
    pub work: String,
    /// The check as a plan says it.
    pub check: String,
    /// It holds.
    pub passed: bool,
    /// `passed`, or why not.
    pub verdict: String,
    /// How well a command was isolated, and what the verdict rests on of the runs before any change.
    pub remark: Option<String>,
}

/// How the hunks stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HunkCounts {
    /// Waiting for a decision or for the disk.
    pub pending: usize,
    /// Their new text stands on disk.
    pub accepted: usize,
    /// Of the pending ones: accepted, or taken out again, in an editor that has not saved it.
    #[serde(default)]
    pub unsaved: usize,
    /// Rejected, with the old text in place.
    pub rejected: usize,
    /// Of the pending ones: something else stands at their spot.
    pub touched: usize,
}

/// The plan document and what must be seen before an approval (A6).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShowView {
    /// Its name.
    pub task: TaskId,
    /// Where it stands.
    pub words: String,
    /// A revision that waits beside the document, and the command that compares it with what the document says.
    #[serde(default)]
    pub offered: Option<(RevisionRef, Choice)>,
    /// Where the document is; absent when it is not there.
    pub path: Option<PathBuf>,
    /// Where the page of the task is; absent where only the engine knows.
    pub page: Option<PathBuf>,
    /// The revision that the document is; without a document the newest stored one.
    pub revision: Option<RevisionRef>,
    /// The document itself; without one the newest stored text.
    pub text: String,
    /// What will be enforced, changed, run and asked, one line each.
    pub contract: Vec<String>,
    /// What the compiler found.
    pub problems: Vec<ProblemView>,
    /// Questions of the planner that nobody has answered.
    pub questions: Vec<QuestionView>,
    /// The command that approves exactly this; absent while an error stands or it is approved already.
    pub approve: Option<String>,
    /// It is what was approved last.
    pub approved: bool,
}

/// A finding, with its line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProblemView {
    /// 1-based line of the document.
    pub line: usize,
    /// How much it matters.
    pub severity: Severity,
    /// Stable and short.
    pub code: String,
    /// What is wrong and what to do.
    pub message: String,
    /// What the mend is called, where there is one.
    pub fix: Option<String>,
}

/// A question of the planner.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct QuestionView {
    /// Counted from 1 over all questions of the document.
    pub number: u32,
    /// In words.
    pub question: String,
    /// The command that answers it.
    pub answer: String,
}

/// The hunks of the proposals in force.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReviewView {
    /// Whose.
    pub task: TaskId,
    /// Where it stands.
    pub words: String,
    /// In the order of path and line.
    pub hunks: Vec<ReviewHunk>,
    /// Rejected ones that are not listed.
    pub hidden: usize,
    /// How they stand, hidden ones included.
    pub counts: HunkCounts,
}

/// One hunk and its story.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WhyView {
    /// Whose.
    pub task: TaskId,
    /// The hunk, with both sides and what the checks say.
    pub hunk: ReviewHunk,
    /// The title of its step; empty where the plan has none of that name.
    pub reason: String,
    /// What was decided on it, who by, when and why, the first first.
    pub decisions: Vec<Row>,
    /// What can be done with it.
    pub choices: Vec<Choice>,
}

/// What happened, from the journal alone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimelineView {
    /// Whose.
    pub task: TaskId,
    /// In the user's words.
    pub goal: String,
    /// Where it stands.
    pub words: String,
    /// When it was opened.
    pub opened: Time,
    /// In the order of the journal.
    pub rows: Vec<Row>,
}

/// A row of a timeline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The number of the event it begins with.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// Milliseconds it took, where it has an end.
    pub took: Option<u64>,
    /// Whose work; absent for the task itself.
    pub work: Option<String>,
    /// What happened.
    pub what: String,
    /// Why, where somebody or something said so.
    pub why: Option<String>,
    /// What was done to recover.
    pub recovery: Option<String>,
    /// Which of the shorter timelines it belongs to.
    pub class: RowClass,
}

/// Which of the shorter timelines a row belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowClass {
    /// A state changed.
    State,
    /// A call, a command, a write.
    Tool,
    /// A check: both.
    Both,
    /// Words of a person.
    Note,
}

/// What the model was sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PreviewView {
    /// Whose.
    pub task: TaskId,
    /// For which work.
    pub work: String,
    /// The newest request, as the store has it; absent when no model was asked yet.
    pub request: Option<ContentHash>,
    /// The same as a person reads it, secrets masked. The desk leaves it out; the engine's handle reads it.
    pub text: Option<String>,
    /// Every work that has one.
    pub works: Vec<String>,
}

/// Two revisions of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CompareView {
    /// Whose.
    pub task: TaskId,
    /// The older one.
    pub from: RevisionRef,
    /// The newer one.
    pub to: RevisionRef,
    /// The difference, a line each; empty when there is none.
    pub difference: Vec<String>,
}

/// A decision of a person, as a list shows it.
pub(super) fn by(actor: &Actor) -> String {
    format!("{} ({})", actor.user, actor.client)
}
