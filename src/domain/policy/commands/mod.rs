//! Commands: what is allowed, what is risky about one, and whether it may start without a question (`judge`).
//!
//! Invariant: a `*` in an allow-list admits further words, never further risk: `cargo test *` does not admit
//! `cargo test --config …`. A program is judged by its last path part, so that `/bin/sh` is a shell. Absent: running
//! anything, and any reading of scripts: an opaque text for an interpreter is a risk whatever it says. At rung 0 every
//! command is a gate; the table tells the person at the gate what to look at, it is no wall.

mod judge;
mod rules;
pub mod shapes;
mod table;
#[cfg(test)]
mod tests;

pub use judge::{Judgement, judge, started};

use crate::domain::ids::WorkspacePath;
use crate::domain::plan::{Command, CommandPattern};
use crate::domain::task::facts::Rung;

/// Why a command deserves a second look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Risk {
    /// Stable and short; documentation and tests refer to it.
    pub rule: &'static str,
    /// In one sentence without a full stop.
    pub why: String,
}

impl Risk {
    fn new(rule: &'static str, why: impl Into<String>) -> Self {
        Self { rule, why: why.into() }
    }
}

/// The gravest risk of a command, by program and argument shape. `None` = none that the table knows.
pub fn risk(command: &Command) -> Option<Risk> {
    let (word, arguments) = command.argv.split_first()?;
    let name = program(word);
    variables(command)
        .or_else(|| rules::by_program(&name, arguments))
        .or_else(|| by_place(word, arguments))
        .or_else(|| command.dir.as_deref().and_then(outside).map(|path| outside_risk(&path)))
}

/// Whether the risk table says it, and not only the silence of the allow-list.
pub fn is_known_risk(risk: &Risk) -> bool {
    !matches!(risk.rule, "unknown" | "path-program" | "toolchain")
}

/// Whether a person is asked before a command runs in a view: always where nothing holds it, else unless its shape is
/// on the allow-list. What runs in the workspace itself is asked for at any rung.
pub fn asks(command: &Command, rung: Rung) -> bool {
    match rung {
        Rung::Copy => true,
        Rung::Cage => !matches!(judge(command), Judgement::Allow),
    }
}

/// Whether a pattern of the plan admits a command.
///
/// # Errors
/// What is refused and what would be allowed, for the model or the person who asked.
pub fn allowed(command: &Command, patterns: &[CommandPattern]) -> Result<(), String> {
    let said = shell_words::join(&command.argv);
    let list = || match patterns {
        [] => "no command is".to_owned(),
        patterns => patterns.iter().map(|pattern| format!("`{}`", show(pattern))).collect::<Vec<_>>().join(", "),
    };
    let Some(pattern) = patterns.iter().find(|pattern| matches(command, pattern)) else {
        return Err(format!("`{said}` is not in the plan's allow-list; allowed: {}", list()));
    };
    if let Judgement::Deny(risk) = judge(command) {
        return Err(format!("`{said}` is never started: {} ({})", risk.why, risk.rule));
    }
    if let Some(risk) = variables(command) {
        return Err(format!("`{said}` is refused: {} ({}); run it without that variable", risk.why, risk.rule));
    }
    let written = Command { argv: pattern.argv.clone(), dir: None, env: Vec::new() };
    match risk(command) {
        Some(further) if pattern.open && risk(&written).is_none_or(|known| known.rule != further.rule) => Err(format!(
            "`{said}` is refused: the `*` of `{}` admits further words, not further risk: {} ({}); allowed: {}",
            show(pattern),
            further.why,
            further.rule,
            list()
        )),
        Some(_) | None => Ok(()),
    }
}

/// Word by word; `open` lets any further words follow. A pattern without words admits nothing.
pub fn matches(command: &Command, pattern: &CommandPattern) -> bool {
    let head = command.argv.get(..pattern.argv.len());
    !pattern.argv.is_empty()
        && head == Some(pattern.argv.as_slice())
        && (pattern.open || command.argv.len() == pattern.argv.len())
}

fn show(pattern: &CommandPattern) -> String {
    let words = shell_words::join(&pattern.argv);
    if pattern.open { format!("{words} *").trim_start().to_owned() } else { words }
}

/// `/usr/bin/python3.12` is `python`.
fn program(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    if bare.is_empty() { name.to_owned() } else { bare.to_owned() }
}

/// Variables that make an innocent program load or start something else.
fn variables(command: &Command) -> Option<Risk> {
    let name = command.env.iter().map(|(name, _)| name.as_str()).find(|name| rules::loads_code(name))?;
    Some(Risk::new("loads-code", format!("the variable `{name}` makes the program load or start other code")))
}

fn by_place(word: &str, arguments: &[String]) -> Option<Risk> {
    // Both `--flag=VALUE` and `VALUE`.
    let values = arguments.iter().flat_map(|word| [Some(word.as_str()), word.split_once('=').map(|(_, value)| value)]);
    if let Some(path) = values.flatten().find_map(outside) {
        return Some(outside_risk(&path));
    }
    let local = word.contains('/') && !word.starts_with('/');
    local.then(|| {
        Risk::new("workspace-program", format!("`{word}` is a file of the workspace, which a step may change"))
    })
}

fn outside_risk(path: &str) -> Risk {
    Risk::new("outside-path", format!("it names `{path}`, which is outside the workspace"))
}

/// A word that is a path and leads out of the root; a word that names no path at all is none.
fn outside(word: &str) -> Option<String> {
    let looks = word.starts_with('/') || word.starts_with('~') || word.split('/').any(|part| part == "..");
    (looks && word.len() > 1 && WorkspacePath::new(word).is_err()).then(|| word.to_owned())
}
