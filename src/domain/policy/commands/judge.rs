//! Allow, ask, or deny: what a command needs before it starts in a view.
//!
//! Invariant: what is not understood asks, and a path is never taken for the program of its last part. Absent: where
//! it runs; without isolation every command is a gate, whatever is said here.

use super::shapes::{SHAPES, fits};
use super::{Risk, risk};
use crate::domain::plan::Command;

/// What a command needs before it starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// Nothing: a listed program in a listed shape without a risk.
    Allow,
    /// A person's word.
    Ask(Risk),
    /// It is not started at all; a person runs such things themselves.
    Deny(Risk),
}

/// Rules of the risk table that no gate opens: they end or rebuild the machine, or take another user's rights.
const DENIED: &[&str] = &["privilege", "machine"];

/// So often a command is looked for behind `env` and its like; who nests more hides something.
const DEEPEST: usize = 4;

/// Judges a command by program and argument shape.
pub fn judge(command: &Command) -> Judgement {
    plain(&started(command))
}

/// The command that `timeout`, `nice` and `env` in front of it start: what it costs, reads and says is that one's.
pub fn started(command: &Command) -> Command {
    let mut command = command.clone();
    for _ in 0..DEEPEST {
        match inner(&command) {
            Some(inner) => command = inner,
            None => break,
        }
    }
    command
}

fn plain(command: &Command) -> Judgement {
    if let Some(risk) = risk(command) {
        return if DENIED.contains(&risk.rule) { Judgement::Deny(risk) } else { Judgement::Ask(risk) };
    }
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let Some((program, rest)) = words.split_first() else {
        return Judgement::Ask(Risk::new("unknown", "an empty command says nothing"));
    };
    if program.contains(['/', '\\']) {
        return Judgement::Ask(Risk::new("path-program", format!("`{program}` is a file, whatever it is called")));
    }
    if let Some(word) = rest.first().filter(|word| word.starts_with('+')) {
        return Judgement::Ask(Risk::new("toolchain", format!("`{program} {word}` takes another toolchain")));
    }
    let mut rows = SHAPES.iter().filter(|shape| shape.programs.contains(program)).peekable();
    let listed = rows.peek().is_some();
    if rows.any(|shape| fits(shape, rest)) {
        return Judgement::Allow;
    }
    let what = match rest.first().filter(|_| listed) {
        Some(word) => format!("`{program} {word}`"),
        None => format!("`{program}`"),
    };
    Judgement::Ask(Risk::new("unknown", format!("nothing is known of {what}")))
}

/// What `timeout`, `nice` and `env` start, where their own words are all understood.
fn inner(command: &Command) -> Option<Command> {
    let (program, rest) = command.argv.split_first()?;
    let mut env = command.env.clone();
    let rest: &[String] = match program.as_str() {
        "timeout" => {
            let mut at = 0;
            while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
                at += match word.as_str() {
                    "-k" | "-s" => 2,
                    word if word == "--foreground"
                        || word == "-v"
                        || word.starts_with("--signal=")
                        || word.starts_with("--kill-after=") =>
                    {
                        1
                    }
                    _ => return None,
                };
            }
            rest.get(at).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
            rest.get(at + 1..)?
        }
        "nice" => match rest {
            [flag, level, inner @ ..] if flag == "-n" && level.parse::<i8>().is_ok() => inner,
            _ => return None,
        },
        "env" => {
            let set = rest.iter().take_while(|word| !word.starts_with('-') && word.contains('=')).count();
            let pairs = rest.iter().take(set).filter_map(|word| word.split_once('='));
            env.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
            rest.get(set..)?
        }
        _ => return None,
    };
    let starts = rest.first().is_some_and(|word| !word.starts_with('-'));
    starts.then(|| Command { argv: rest.to_vec(), dir: command.dir.clone(), env })
}
