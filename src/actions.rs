//! The one table of actions: what each is called, in an editor and in a terminal, what it takes, what it is for.
//!
//! Invariant: terminal commands, their help and their documentation are made from this table and from nothing else;
//! the language server takes its command ids from it. Absent: what an action does; `act` turns it into an action or a
//! query.

use Word::*;

/// Which action a row is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the row of its name")]
pub enum Verb {
    Plan,
    Change,
    Fix,
    Ask,
    Show,
    Approve,
    Run,
    Pause,
    Resume,
    Cancel,
    Abandon,
    Retry,
    Skip,
    TakeOver,
    MarkDone,
    Say,
    Revise,
    Replan,
    TakeRevision,
    Gate,
    Answer,
    Accept,
    Reject,
    Undo,
    Review,
    NextHunk,
    PreviousHunk,
    Tasks,
    Status,
    Timeline,
    Preview,
    Compare,
    Schema,
    Doctor,
    Clean,
    Tour,
    Lsp,
}

/// A word that an action takes, in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// A task's id; may always be left out where one task would do.
    Task,
    /// A step's id.
    Step,
    /// A step's id, or nothing.
    MaybeStep,
    /// `planning`, `acceptance` or a step's id, or nothing.
    MaybeWork,
    /// `g` and a number, or nothing.
    MaybeGate,
    /// `allow`, `deny` or `happened`.
    Verdict,
    /// Hunk ids: `h` and eight hex digits.
    Hunks,
    /// A question's number, or nothing.
    MaybeNumber,
    /// Up to two revisions, `r2` or `r2-9f2c81d04a7e`.
    Revisions,
    /// A file with a line or lines.
    Place,
    /// Words, quoted.
    Words,
    /// Words, quoted, or nothing.
    MaybeWords,
    /// `plan`, `config` or `tools`.
    SchemaName,
}

impl Word {
    /// How the usage line shows it.
    pub fn usage(self) -> &'static str {
        match self {
            Task => "[TASK]",
            Step => "STEP",
            MaybeStep => "[STEP]",
            MaybeWork => "[STEP]",
            MaybeGate => "[GATE]",
            Verdict => "allow|deny|happened",
            Hunks => "[HUNK…]",
            MaybeNumber => "[NUMBER]",
            Revisions => "[FROM] [TO]",
            Place => "FILE:LINE[-LINE]",
            Words => "\"WORDS\"",
            MaybeWords => "[\"WORDS\"]",
            SchemaName => "plan|config|tools",
        }
    }
}

/// A named option of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Without the dashes.
    pub name: &'static str,
    /// What its value is called; absent for a plain switch.
    pub value: Option<&'static str>,
    /// It may be given several times.
    pub many: bool,
    /// In one line.
    pub help: &'static str,
}

const fn switch(name: &'static str, help: &'static str) -> Switch {
    Switch { name, value: None, many: false, help }
}

const fn option(name: &'static str, value: &'static str, help: &'static str) -> Switch {
    Switch { name, value: Some(value), many: false, help }
}

/// An action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Which.
    pub verb: Verb,
    /// The last part of the language server's command id, `planwright.…`; absent where only a terminal has it.
    pub lsp: Option<&'static str>,
    /// The word in a terminal; absent where only an editor has it.
    pub terminal: Option<&'static str>,
    /// What it takes, in order.
    pub words: &'static [Word],
    /// Its options, besides `--json`.
    pub switches: &'static [Switch],
    /// In one line.
    pub help: &'static str,
    /// What follows the terminal word in an example.
    pub examples: &'static [&'static str],
}

impl Row {
    /// The arguments as the usage line shows them.
    pub fn usage(&self) -> String {
        let words = self.words.iter().map(|word| word.usage().to_owned());
        let switches = self.switches.iter().map(|switch| match switch.value {
            Some(value) => format!("[--{} {value}{}]", switch.name, if switch.many { "…" } else { "" }),
            None => format!("[--{}]", switch.name),
        });
        words.chain(switches).collect::<Vec<_>>().join(" ")
    }

    /// The full id of the language server's command.
    pub fn command_id(&self) -> Option<String> {
        self.lsp.map(|name| format!("planwright.{name}"))
    }
}

const TIMEOUT: Switch =
    option("timeout", "T", "stop after so long (90s, 15m, 2h) and leave a task that can be resumed");
const YES: Switch = switch("yes", "without asking, and where nobody can be asked");
const FILE: Switch = option("file", "FILE", "all pending hunks of a file");
const STEP: Switch = option("step", "STEP", "all pending hunks of a step");
const COMMENT: Switch = option("comment", "WORDS", "a remark that reaches the next request");

/// Every action, in the order of a job.
pub const ACTIONS: &[Row] = &[
    Row {
        verb: Verb::Plan,
        lsp: Some("plan"),
        terminal: Some("plan"),
        words: &[Words],
        switches: &[
            option("at", "FILE[:LINE[-LINE]]", "the place that the goal is about"),
            Switch { name: "with", value: Some("FILE"), many: true, help: "a file to keep with the task, as data" },
            option("document", "FILE", "a whole plan document, instead of asking a model for one"),
            switch("run", "go on as far as the plan allows, once it is approved"),
            TIMEOUT,
        ],
        help: "make a goal a task, and plan it",
        examples: &[
            "\"make retries configurable\" --at src/net/client.rs:40",
            "\"rename it\" --document rename.plan.md --run",
        ],
    },
    Row {
        verb: Verb::Change,
        lsp: Some("changeItem"),
        terminal: Some("change"),
        words: &[Place, Words],
        switches: &[YES, TIMEOUT],
        help: "change the item at a line: one step that writes only that file, approved and run by this",
        examples: &["src/net/client.rs:40 \"retry three times\""],
    },
    Row {
        verb: Verb::Fix,
        lsp: Some("fixProblem"),
        terminal: Some("fix"),
        words: &[Place, MaybeWords],
        switches: &[YES, TIMEOUT],
        help: "fix the problem at a line, in the same way; without words the one that the project's check reports",
        examples: &["src/net/client.rs:40", "src/net/client.rs:40 \"the name is not imported\""],
    },
    Row {
        verb: Verb::Ask,
        lsp: Some("ask"),
        terminal: Some("ask"),
        words: &[Words],
        switches: &[option("at", "FILE[:LINE[-LINE]]", "the place that the question is about"), TIMEOUT],
        help: "answer a question about the code; it is read, and nothing changes",
        examples: &["\"who calls send?\" --at src/net/client.rs:40"],
    },
    Row {
        verb: Verb::Show,
        lsp: Some("openPlan"),
        terminal: Some("show"),
        words: &[Task],
        switches: &[],
        help: "the plan, and what it would change, run and ask",
        examples: &[""],
    },
    Row {
        verb: Verb::Approve,
        lsp: Some("approve"),
        terminal: Some("approve"),
        words: &[Task],
        switches: &[
            option("revision", "REVISION", "exactly this revision, as `show` names it"),
            option("upto", "STEP", "only up to and with this step"),
            switch("yes", "approve what stands there now, without asking"),
        ],
        help: "approve a revision of the plan; without --revision it shows it and asks",
        examples: &["--revision r1-9f2c81d04a7e", "--revision r1-9f2c81d04a7e --upto policy"],
    },
    Row {
        verb: Verb::Run,
        lsp: Some("run"),
        terminal: Some("run"),
        words: &[Task],
        switches: &[TIMEOUT],
        help: "run an approved task until it waits for a person or ends",
        examples: &["", "k3xf --timeout 15m"],
    },
    Row {
        verb: Verb::Pause,
        lsp: Some("pause"),
        terminal: Some("pause"),
        words: &[Task],
        switches: &[],
        help: "let finish what runs, start nothing new",
        examples: &[""],
    },
    Row {
        verb: Verb::Resume,
        lsp: Some("resume"),
        terminal: Some("resume"),
        words: &[Task],
        switches: &[TIMEOUT],
        help: "go on with a task that was paused or whose process ended, and stay with it",
        examples: &[""],
    },
    Row {
        verb: Verb::Cancel,
        lsp: Some("cancel"),
        terminal: Some("cancel"),
        words: &[Task],
        switches: &[],
        help: "end what is in flight, and pause",
        examples: &[""],
    },
    Row {
        verb: Verb::Abandon,
        lsp: Some("abandon"),
        terminal: Some("abandon"),
        words: &[Task],
        switches: &[],
        help: "end the task; accepted hunks stay",
        examples: &[""],
    },
    Row {
        verb: Verb::Retry,
        lsp: Some("retry"),
        terminal: Some("retry"),
        words: &[Task, MaybeStep],
        switches: &[TIMEOUT],
        help: "a new attempt of a step that failed, and stay with it",
        examples: &["policy"],
    },
    Row {
        verb: Verb::Skip,
        lsp: Some("skip"),
        terminal: Some("skip"),
        words: &[Task, Step],
        switches: &[],
        help: "do without a step",
        examples: &["announce"],
    },
    Row {
        verb: Verb::TakeOver,
        lsp: Some("takeOver"),
        terminal: Some("take-over"),
        words: &[Task, Step],
        switches: &[],
        help: "do a step by hand; it waits for mark-done",
        examples: &["policy"],
    },
    Row {
        verb: Verb::MarkDone,
        lsp: Some("markDone"),
        terminal: Some("mark-done"),
        words: &[Task, Step],
        switches: &[],
        help: "say that a step is done by hand; it counts as not verified",
        examples: &["policy"],
    },
    Row {
        verb: Verb::Say,
        lsp: Some("say"),
        terminal: Some("say"),
        words: &[Task, Words],
        switches: &[option("step", "STEP", "for this step only")],
        help: "an instruction that reaches the next request",
        examples: &["\"keep the builder style\""],
    },
    Row {
        verb: Verb::Revise,
        lsp: Some("revise"),
        terminal: Some("revise"),
        words: &[Task, Words],
        switches: &[],
        help: "change the plan in words",
        examples: &["\"split the second step\""],
    },
    Row {
        verb: Verb::Replan,
        lsp: Some("replan"),
        terminal: Some("replan"),
        words: &[Task, MaybeWords],
        switches: &[],
        help: "plan again against the workspace as it is",
        examples: &["", "\"leave the tests alone\""],
    },
    Row {
        verb: Verb::TakeRevision,
        lsp: Some("takeRevision"),
        terminal: Some("take-revision"),
        words: &[Task],
        switches: &[switch("decline", "do not; it waits no longer")],
        help: "put the agent's revision into the plan document that an editor had open",
        examples: &["", "--decline"],
    },
    Row {
        verb: Verb::Gate,
        lsp: Some("gate"),
        terminal: Some("gate"),
        words: &[Task, MaybeGate, Verdict],
        switches: &[COMMENT, switch("for-plan", "with allow: do not ask again for this command under this revision")],
        help: "decide a gate",
        examples: &["allow", "g2 deny --comment \"not on a Friday\"", "k3xf g1 allow --for-plan"],
    },
    Row {
        verb: Verb::Answer,
        lsp: Some("answer"),
        terminal: Some("answer"),
        words: &[Task, MaybeNumber, Words],
        switches: &[],
        help: "answer a question of the planner",
        examples: &["\"three attempts\"", "2 \"no jitter\""],
    },
    Row {
        verb: Verb::Accept,
        lsp: Some("accept"),
        terminal: Some("accept"),
        words: &[Task, Hunks],
        switches: &[FILE, STEP, switch("all", "all pending hunks, but for uncertain ones")],
        help: "put hunks into your files",
        examples: &["h1a2b3c4d h5e6f7a8b", "--file src/net/retry.rs", "--all"],
    },
    Row {
        verb: Verb::Reject,
        lsp: Some("reject"),
        terminal: Some("reject"),
        words: &[Task, Hunks],
        switches: &[
            FILE,
            STEP,
            switch("all", "all pending hunks, but for uncertain ones"),
            option("reason", "WORDS", "why; it reaches the next request"),
        ],
        help: "leave hunks out",
        examples: &["h1a2b3c4d --reason \"the name is taken\""],
    },
    Row {
        verb: Verb::Undo,
        lsp: Some("undo"),
        terminal: Some("undo"),
        words: &[Task, Hunks],
        switches: &[FILE, STEP, switch("all", "the last decision only, as without a target")],
        help: "take decisions back; without a target the last one",
        examples: &["", "h1a2b3c4d"],
    },
    Row {
        verb: Verb::Review,
        lsp: Some("openReview"),
        terminal: Some("review"),
        words: &[Task],
        switches: &[switch("all", "rejected hunks too")],
        help: "go through the hunks one by one; without a terminal, list them",
        examples: &["", "--json"],
    },
    Row {
        verb: Verb::NextHunk,
        lsp: Some("nextHunk"),
        terminal: None,
        words: &[],
        switches: &[],
        help: "go to the next hunk that waits for a decision",
        examples: &[],
    },
    Row {
        verb: Verb::PreviousHunk,
        lsp: Some("previousHunk"),
        terminal: None,
        words: &[],
        switches: &[],
        help: "go to the one before",
        examples: &[],
    },
    Row {
        verb: Verb::Tasks,
        lsp: Some("tasks"),
        terminal: Some("tasks"),
        words: &[],
        switches: &[],
        help: "all tasks of this workspace",
        examples: &[""],
    },
    Row {
        verb: Verb::Status,
        lsp: Some("status"),
        terminal: Some("status"),
        words: &[Task],
        switches: &[],
        help: "where a task stands, what it waits for, and what can be done",
        examples: &["", "--json"],
    },
    Row {
        verb: Verb::Timeline,
        lsp: Some("openTimeline"),
        terminal: Some("timeline"),
        words: &[Task],
        switches: &[
            switch("states", "only where a state changed"),
            switch("tools", "only calls, commands, checks and writes"),
        ],
        help: "what happened, why, and what recovery was tried",
        examples: &["", "--states"],
    },
    Row {
        verb: Verb::Preview,
        lsp: Some("preview"),
        terminal: Some("preview"),
        words: &[Task, MaybeWork],
        switches: &[],
        help: "what the model was sent last",
        examples: &["", "policy"],
    },
    Row {
        verb: Verb::Compare,
        lsp: Some("compare"),
        terminal: Some("compare"),
        words: &[Task, Revisions],
        switches: &[],
        help: "two revisions of the plan side by side",
        examples: &["", "r1 r3"],
    },
    Row {
        verb: Verb::Schema,
        lsp: Some("schema"),
        terminal: Some("schema"),
        words: &[SchemaName],
        switches: &[],
        help: "the JSON schema of plans, of the configuration, or of the tools' arguments",
        examples: &["plan"],
    },
    Row {
        verb: Verb::Doctor,
        lsp: Some("doctor"),
        terminal: Some("doctor"),
        words: &[],
        switches: &[switch("end-host", "end the process that holds this workspace, and its commands")],
        help: "what planwright found here: model, isolation, configuration and its origins",
        examples: &[""],
    },
    Row {
        verb: Verb::Clean,
        lsp: Some("clean"),
        terminal: Some("clean"),
        words: &[],
        switches: &[switch("yes", "remove it all")],
        help: "say what planwright keeps where, and remove it on --yes",
        examples: &["", "--yes"],
    },
    Row {
        verb: Verb::Tour,
        lsp: None,
        terminal: Some("tour"),
        words: &[],
        switches: &[option("unpack", "DIR", "only write the sample project into a new folder, to try the commands on")],
        help: "the whole job on a sample project, with no model, no network and no configuration",
        examples: &["", "--unpack till"],
    },
    Row {
        verb: Verb::Lsp,
        lsp: None,
        terminal: Some("lsp"),
        words: &[],
        switches: &[switch("stdio", "over standard input and output, as without it")],
        help: "the language server, started by an editor; flags that it does not know are passed over",
        examples: &["", "--stdio"],
    },
];

/// The row of an action.
pub fn row(verb: Verb) -> Option<&'static Row> {
    ACTIONS.iter().find(|row| row.verb == verb)
}

/// The row that a terminal's word names.
pub fn of_word(word: &str) -> Option<&'static Row> {
    ACTIONS.iter().find(|row| row.terminal == Some(word))
}

/// How arguments are told apart; stands in the help and in the documentation.
pub const SHAPES: &str = "\
TASK may be left out wherever one task would do: where several would, they are listed and nothing is done.
Words are told apart by shape: `g1` is a gate, `h` and eight hex digits a hunk, `r2-9f2c81d04a7e` a revision
(`compare` also takes `r2`).
Of the others, the first is the task if it is the id of one, or if there are more words than the action takes besides.";

/// The exit codes (K5), for the help and the documentation.
pub const EXITS: &str = "\
Exit codes: 0 done, 1 failed, 2 usage, 3 waits for a person, 4 delayed, 5 over budget or time, 6 refused by policy,
130 interrupted.";

/// The table as Markdown, for the README.
pub fn documentation() -> String {
    let mut page = String::from("| action | command id | what it does |\n|---|---|---|\n");
    for row in ACTIONS {
        let usage = row.terminal.map_or_else(
            || "editor only".to_owned(),
            |word| format!("`{}`", format!("{word} {}", row.usage()).trim_end().replace('|', "\\|")),
        );
        let id = row.command_id().map_or_else(|| "terminal only".to_owned(), |id| format!("`{id}`"));
        page.push_str(&format!("| {usage} | {id} | {} |\n", row.help));
    }
    page.push_str(&format!(
        "\nEach takes `--json`, but for `lsp`, which speaks to an editor only.\n\n{SHAPES}\n\n{EXITS}\n"
    ));
    page
}
