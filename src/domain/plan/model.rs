//! The plan as values. What a document says after parsing and a planner's answer after validation; both become this.
//!
//! Invariant: no positions and no layout here, only meaning, so that two documents with the same meaning are equal.
//! Absent: defaults that depend on the project (detected checks) and anything of a later stage's semantics: kinds of
//! later stages are parsed, kept and refused by the compiler.

use crate::domain::ids::StepId;
use serde::{Deserialize, Serialize};

/// An executable description of how a task will be done.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The first-level heading.
    pub title: String,
    /// The goal in the user's words.
    pub goal: String,
    /// What the runtime enforces for the whole plan.
    pub contract: Contract,
    /// In document order.
    pub steps: Vec<Step>,
}

/// The Contract section.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Contract {
    /// Globs that every write must lie in.
    pub scope: Vec<String>,
    /// The acceptance checks of the whole task.
    pub accept: Vec<Check>,
    /// What the task may cost.
    pub budget: Budget,
    /// Constraints that code checks.
    pub enforce: Vec<Enforce>,
    /// Wishes that code cannot check.
    pub advice: Vec<String>,
    /// What the plan takes for granted.
    pub assume: Vec<Assumption>,
    /// When the runtime must stop and ask.
    pub stop: Vec<StopRule>,
    /// Command patterns every step's model may start.
    pub allow: Vec<CommandPattern>,
}

/// Upper bounds; absent means not bounded.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Budget {
    /// Input and output tokens together.
    pub tokens: Option<u64>,
    /// Hundredths of a US cent, so that `$0.50` is 5000.
    pub money: Option<u64>,
    /// Seconds of wall time.
    pub seconds: Option<u64>,
    /// Exchanges with a model.
    pub turns: Option<u32>,
}

/// A constraint that the runtime checks at each step's end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforce {
    /// No public signature is added, removed or altered.
    PublicApiUnchanged,
    /// No dependency appears in a manifest.
    NoNewDependencies,
    /// No test function and no test file goes away.
    TestsNotDeleted,
    /// At most so many files change.
    FilesAtMost(u32),
    /// At most so many lines change (added and removed).
    LinesAtMost(u32),
}

/// Something taken for granted, with a search that tests it where the plan gives one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Assumption {
    /// In words.
    pub text: String,
    /// How the server tests it.
    pub test: Option<Search>,
}

/// A search by the server: does a pattern match in some files?
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Search {
    /// True: at least one match is expected; false: none.
    pub present: bool,
    /// A regular expression.
    pub regex: String,
    /// Globs or folders to look in; empty is everywhere.
    pub within: Vec<String>,
    /// Globs left out.
    pub except: Vec<String>,
}

/// A bound on which the runtime stops and asks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StopRule {
    /// What is counted.
    pub measure: Measure,
    /// More than this stops.
    pub above: u64,
}

/// What a stop rule counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Files changed.
    Files,
    /// Lines added and removed.
    Lines,
    /// Tokens used.
    Tokens,
    /// Hundredths of a cent.
    Money,
    /// Seconds.
    Time,
}

/// A node of the plan's graph.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The word before `: ` in the heading, or the title's slug.
    pub id: StepId,
    /// The rest of the heading.
    pub title: String,
    /// What kind of work, with what that kind needs.
    pub kind: StepKind,
    /// What comes before it.
    pub after: After,
    /// How its result is judged; empty means the kind's default.
    pub checks: Vec<Check>,
    /// Globs a `run` or `transform` may write.
    pub write: Vec<String>,
    /// Globs it may read beyond what it writes; empty means the workspace's unignored files.
    pub read: Vec<String>,
    /// What the model's `run` tool may start.
    pub allow: Vec<CommandPattern>,
    /// Names of the model's tools; empty means the kind's default.
    pub tools: Vec<String>,
    /// Artifacts it needs: name and type.
    pub inputs: Vec<Port>,
    /// Artifacts it makes: name and type.
    pub outputs: Vec<Port>,
    /// Rounds inside an attempt after a failed check; absent means the default of 2.
    pub repair: Option<u32>,
    /// New attempts after a failure; absent means the default of 2.
    pub retry: Option<Retry>,
    /// Seconds; absent means the kind's default.
    pub timeout: Option<u64>,
    /// What a failure does to the task.
    pub on_failure: OnFailure,
    /// Whether it may be repeated and whether it reaches outside.
    pub effect: EffectSetting,
    /// A command that tells whether an outside effect happened: exit 0 = it did, 1 = it did not.
    pub probe: Option<Command>,
    /// A model tier; a compile error in this release.
    pub route: Option<String>,
    /// What to do, in prose: Markdown of everything under the heading that is not a setting.
    pub instruction: String,
}

/// What comes before a step.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// The step above, if there is one.
    #[default]
    Above,
    /// Nothing: `after: none`.
    Nothing,
    /// These.
    Steps {
        /// Ids as written.
        steps: Vec<StepId>,
        /// `review`: also the last decision on a hunk.
        review: bool,
    },
}

/// What kind of work a step is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A model changes these files.
    Edit(Vec<EditTarget>),
    /// A model reads and reports.
    Explore(Vec<String>),
    /// A rewrite without a model.
    Transform(Rule),
    /// A command whose changes inside the write set become hunks.
    Run(Command),
    /// A command that needs the network. Not in this release.
    Fetch(Command),
    /// A command that judges.
    Check(Check),
    /// A person decides.
    Ask(String),
    /// A saved plan. Not in this release.
    Recipe(String),
}

impl StepKind {
    /// The key that stands in the document.
    pub fn key(&self) -> &'static str {
        match self {
            StepKind::Edit(_) => "edit",
            StepKind::Explore(_) => "explore",
            StepKind::Transform(_) => "transform",
            StepKind::Run(_) => "run",
            StepKind::Fetch(_) => "fetch",
            StepKind::Check(_) => "check",
            StepKind::Ask(_) => "ask",
            StepKind::Recipe(_) => "recipe",
        }
    }
}

/// A file an `edit` step may write. The file is the unit of permission; the focus says where the change belongs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EditTarget {
    /// A path or a glob.
    pub path: String,
    /// It may be created.
    pub new: bool,
    /// The symbol outside which a hunk is flagged.
    pub focus: Option<String>,
}

/// A rewrite without a model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// `rename SYMBOL to NAME`
    Rename {
        /// `Client::send`, or `src/net/client.rs#Client::send` where a bare path is ambiguous.
        symbol: String,
        /// The new identifier.
        to: String,
    },
    /// `rewrite PATTERN to PATTERN`, ast-grep's patterns.
    Rewrite {
        /// With metavariables `$X`, `$$$ARGS`.
        pattern: String,
        /// With the same metavariables.
        to: String,
    },
    /// `template FILE to FILE, with K=V`: copies a file with `{{K}}` filled in.
    Template {
        /// An existing file of the workspace.
        source: String,
        /// The file to make.
        to: String,
        /// What fills the placeholders.
        values: Vec<(String, String)>,
    },
}

/// An artifact a step needs or makes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// `text`, `files`, `symbols` or `data`.
    pub kind: String,
}

/// New attempts after a failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Retry {
    /// How many beyond the first.
    pub times: u32,
    /// Seconds between them; absent means backoff.
    pub every: Option<u64>,
}

/// What a failed step does to the task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Steps that do not depend on it go on; the task blocks.
    #[default]
    Stop,
    /// A gate asks.
    Ask,
    /// It counts as skipped.
    Skip,
    /// Its proposal is withdrawn and the task blocks.
    Undo,
}

/// The `effect` setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectSetting {
    /// Not said: the kind's own class.
    #[default]
    OfKind,
    /// May run again after a crash without asking.
    Repeatable,
    /// Reaches the world outside; gets its own gate and an idempotency key.
    Outside,
}

/// A program-decidable condition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A command that exits with 0.
    Command(Command),
    /// No new syntax error in the changed files: `syntax`.
    Syntax,
    /// `absent:` or `present:` a pattern.
    Search(Search),
    /// `exists PATH`
    Exists(String),
    /// `missing PATH`
    Missing(String),
    /// `changed PATH`
    Changed(String),
    /// `unchanged PATH`
    Unchanged(String),
}

/// An argument vector with where and with what it runs. Never a shell line.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Command {
    /// Program and arguments, at least one word.
    pub argv: Vec<String>,
    /// `in DIR`, relative to the root.
    pub dir: Option<String>,
    /// `with K=V`.
    pub env: Vec<(String, String)>,
}

/// A command whose last word may be `*`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CommandPattern {
    /// Leading words that must be equal.
    pub argv: Vec<String>,
    /// Further words may follow.
    pub open: bool,
}
