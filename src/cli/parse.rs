//! From the words of a command line to an action of the table with its words and options.
//!
//! Invariant: the commands are built from the table; an unknown flag or action is a usage error that names the nearest
//! one. Absent: the meaning of the words; `act` knows it.

use crate::actions::{ACTIONS, EXITS, Row, SHAPES, Verb, of_word, row};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// A command line, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// Which action.
    pub verb: Verb,
    /// Its words as they stand.
    pub words: Vec<String>,
    /// Its options that were given; a plain switch has no values.
    pub switches: BTreeMap<&'static str, Vec<String>>,
    /// The answer is to be JSON.
    pub json: bool,
}

impl Parsed {
    /// The switch was given.
    pub fn has(&self, name: &str) -> bool {
        self.switches.contains_key(name)
    }

    /// The last value of an option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.switches.get(name).and_then(|values| values.last()).map(String::as_str)
    }

    /// It removes what planwright keeps: no host may be at work meanwhile, which its caller sees to.
    pub fn removes(&self) -> bool {
        self.verb == Verb::Clean && self.has("yes")
    }

    /// What is needed to serve it.
    pub fn needs(&self) -> Needs {
        match self.verb {
            Verb::Schema => Needs::Nothing(Alone::Schema),
            Verb::Clean => Needs::Nothing(Alone::Clean),
            Verb::Doctor => Needs::Nothing(Alone::Doctor),
            Verb::Tour => Needs::Tour,
            Verb::Lsp => Needs::Editor,
            Verb::Plan
            | Verb::Change
            | Verb::Fix
            | Verb::Ask
            | Verb::NextHunk
            | Verb::PreviousHunk
            | Verb::Show
            | Verb::Approve
            | Verb::Run
            | Verb::Pause
            | Verb::Resume
            | Verb::Cancel
            | Verb::Abandon
            | Verb::Retry
            | Verb::Skip
            | Verb::TakeOver
            | Verb::MarkDone
            | Verb::Say
            | Verb::Revise
            | Verb::Replan
            | Verb::TakeRevision
            | Verb::Gate
            | Verb::Answer
            | Verb::Accept
            | Verb::Reject
            | Verb::Resolve
            | Verb::Undo
            | Verb::Review
            | Verb::Why
            | Verb::Tasks
            | Verb::Status
            | Verb::Timeline
            | Verb::Preview
            | Verb::Compare => Needs::Engine,
        }
    }
}

/// What is needed to serve an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// An engine: `run`.
    Engine,
    /// No engine, or only if there is one: `run_alone`.
    Nothing(Alone),
    /// A sample project and processes of its own.
    Tour,
    /// An editor at the other end of standard input.
    Editor,
}

/// An action that works where no engine does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the action of its name")]
pub enum Alone {
    Schema,
    Clean,
    Doctor,
}

/// A command line that is no action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotAnAction {
    /// Help or the version was asked for.
    Asked(String),
    /// Nothing was said at all: the help, as a hint.
    Nothing(String),
    /// What is wrong, what was perhaps meant, and where to look.
    Wrong {
        /// In a few lines.
        message: String,
        /// A command.
        next: String,
        /// It is to be said as JSON.
        json: bool,
    },
}

/// Takes a command line apart, the program's name first.
///
/// # Errors
/// Help, version, or a usage error.
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Parsed, NotAnAction> {
    let line: Vec<OsString> = line.into_iter().collect();
    let matches = command().try_get_matches_from(&line).map_err(|error| refused(&error, &line))?;
    let found = matches.subcommand().and_then(|(name, matches)| of_word(name).map(|row| (row, matches)));
    let Some((row, matches)) = found else {
        return Err(NotAnAction::Nothing(command().render_help().to_string()));
    };
    let words = if row.words.is_empty() {
        Vec::new()
    } else {
        matches.get_many::<String>("words").into_iter().flatten().cloned().collect()
    };
    let mut switches = BTreeMap::new();
    for switch in row.switches {
        if switch.value.is_some() {
            if let Some(values) = matches.get_many::<String>(switch.name) {
                switches.insert(switch.name, values.cloned().collect());
            }
        } else if matches.get_flag(switch.name) {
            switches.insert(switch.name, Vec::new());
        }
    }
    Ok(Parsed { verb: row.verb, words, switches, json: matches.get_flag("json") })
}

/// In our form, with our next step in the place of clap's.
fn refused(error: &clap::Error, line: &[OsString]) -> NotAnAction {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => NotAnAction::Asked(text),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => NotAnAction::Nothing(text),
        _ => {
            let message =
                text.trim().trim_start_matches("error: ").trim_end_matches("For more information, try '--help'.");
            let action = line.iter().filter_map(|word| word.to_str()).find_map(of_word).and_then(|row| row.terminal);
            NotAnAction::Wrong {
                message: message.trim_end().to_owned(),
                next: match action {
                    Some(word) => format!("planwright {word} --help"),
                    None => "planwright --help".to_owned(),
                },
                json: line.iter().any(|word| word == "--json"),
            }
        }
    }
}

/// The whole command line, built from the table.
pub fn command() -> Command {
    Command::new("planwright")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A coding agent whose approved plan is a contract, and whose result you accept hunk by hunk")
        .after_help(format!("{SHAPES}\n\n{EXITS}"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(Arg::new("json").long("json").global(true).action(ArgAction::SetTrue).help("answer in JSON"))
        .disable_help_subcommand(true)
        .subcommands(ACTIONS.iter().filter_map(|row| row.terminal.map(|word| subcommand(row, word))))
}

fn subcommand(row: &Row, word: &'static str) -> Command {
    let examples: Vec<String> =
        row.examples.iter().map(|rest| format!("  planwright {word} {rest}").trim_end().to_owned()).collect();
    let mut command = Command::new(word)
        .about(row.help)
        .override_usage(format!("planwright {word} {} [--json]", row.usage()).replace("  ", " "))
        .after_help(format!("Examples:\n{}", examples.join("\n")));
    if !row.words.is_empty() {
        // One list for all words: clap cannot leave out a first one, and the usage line says what they are.
        command = command.arg(Arg::new("words").num_args(0..).hide(true));
    }
    if row.verb == Verb::Lsp {
        // Editors add flags of their own; one that refuses them cannot be started at all.
        let ignored = Arg::new("ignored").num_args(0..).allow_hyphen_values(true).trailing_var_arg(true);
        command = command.arg(ignored.hide(true));
    }
    command.args(row.switches.iter().map(|switch| {
        let arg = Arg::new(switch.name).long(switch.name).help(switch.help);
        match switch.value {
            Some(value) if switch.many => arg.value_name(value).action(ArgAction::Append),
            Some(value) => arg.value_name(value).action(ArgAction::Set),
            None => arg.action(ArgAction::SetTrue),
        }
    }))
}

/// How an action is called, for the next step of a usage error.
pub fn usage(verb: Verb) -> String {
    row(verb).and_then(|row| Some((row, row.terminal?))).map_or_else(
        || "planwright --help".to_owned(),
        |(row, word)| format!("planwright {word} {}", row.usage()).trim_end().to_owned(),
    )
}
