//! The one table of actions: what each is called, in an editor and in a terminal, what it takes, what it is for.
//!
//! Invariant: terminal commands, their help and their documentation are made from this table and from nothing else;
//! the language server takes its command ids from it. Absent: what an action does; `act` turns it into an action or a
//! query.

mod table;

pub use table::ACTIONS;

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
    Resolve,
    Undo,
    Review,
    Why,
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
    /// `mine` or `theirs`.
    Side,
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
            Side => "mine|theirs",
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
