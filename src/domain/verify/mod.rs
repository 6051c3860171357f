//! The verifier: evidence in, verdict out.
//!
//! Invariant: a verdict is a function of the check and its evidence, nothing else; no word of a model is among them
//! (invariant 8). What could not be judged is `NotJudged`, never a pass: a search that looked at no file, a program
//! that was not there, a command that was killed. Absent: gathering the evidence, and repairing anything.

pub mod against;
pub mod blame;
mod digest;
pub mod planted;
pub mod problems;
mod search;
#[cfg(test)]
mod tests;

pub use digest::digest_for_agent;
pub use problems::{ReadProblem, Site, problems};

use crate::domain::ids::{ContentHash, WorkspacePath};
use crate::domain::plan::{Check, Command};
use crate::domain::symbols::SyntaxError;
use crate::domain::task::event::Verdict;
use crate::domain::task::facts::{Ended, RunOutcome};
use std::sync::Arc;

/// What was found out about the merged state for one check.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// The command ran.
    Ran(&'a RunOutcome),
    /// It could not be started, or the evidence not be gathered: why.
    Unavailable(&'a str),
    /// Syntax errors of each changed file, before and after.
    Syntax(&'a [FileErrors]),
    /// The texts of the view, for a search; the search's own globs pick among them.
    Texts {
        /// What was read.
        read: &'a [(WorkspacePath, Arc<str>)],
        /// What may be text and could not be read, and why.
        unread: &'a [(WorkspacePath, String)],
    },
    /// What stands at the check's path.
    Standing(Standing<'a>),
}

/// Syntax errors of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileErrors {
    /// Which.
    pub path: WorkspacePath,
    /// Of the text the task began with.
    pub before: Vec<SyntaxError>,
    /// Of the text as it would be.
    pub after: Vec<SyntaxError>,
}

/// What a path held and holds; `None` = nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing<'a> {
    /// When the task began.
    pub before: Option<&'a ContentHash>,
    /// In the view.
    pub now: Option<&'a ContentHash>,
}

/// Judges one check. Evidence of another kind than the check asks for is no evidence.
pub fn judge(check: &Check, evidence: Evidence<'_>) -> Verdict {
    match (check, evidence) {
        (_, Evidence::Unavailable(why)) => not_judged(one_line(why)),
        (Check::Command(command), Evidence::Ran(outcome)) => judge_command(command, outcome),
        (Check::Syntax, Evidence::Syntax(files)) => judge_syntax(files),
        (Check::Search(search), Evidence::Texts { read, unread }) => search::judge(search, read, unread),
        (Check::Exists(path), Evidence::Standing(at)) => holds(at.now.is_some(), path, "does not exist"),
        (Check::Missing(path), Evidence::Standing(at)) => holds(at.now.is_none(), path, "still exists"),
        (Check::Changed(path), Evidence::Standing(at)) => holds(at.now != at.before, path, "has not changed"),
        (Check::Unchanged(path), Evidence::Standing(at)) => holds(at.now == at.before, path, "has changed"),
        (
            Check::Command(_)
            | Check::Syntax
            | Check::Search(_)
            | Check::Exists(_)
            | Check::Missing(_)
            | Check::Changed(_)
            | Check::Unchanged(_),
            Evidence::Ran(_) | Evidence::Syntax(_) | Evidence::Texts { .. } | Evidence::Standing(_),
        ) => not_judged("the evidence is of another kind than the check".to_owned()),
    }
}

fn judge_command(command: &Command, outcome: &RunOutcome) -> Verdict {
    let what = format!("`{}`", shell_words::join(&command.argv));
    let said = digest::first_error(&outcome.output).map(|line| format!(": {line}")).unwrap_or_default();
    match outcome.ended {
        Ended::Exit(0) => Verdict::Passed,
        // What `env`, shells and `make` answer when they could not start what they were to start.
        Ended::Exit(code @ (126 | 127)) => not_judged(format!("{what} could not start a program ({code}){said}")),
        Ended::Exit(code) => Verdict::Failed { why: format!("{what} exited with {code}{said}") },
        Ended::Signal(signal) => match own_fault(signal) {
            Some(name) => Verdict::Failed { why: format!("{what} died by {name}{said}") },
            None => not_judged(format!("{what} was killed by signal {signal}{said}")),
        },
        Ended::Timeout => {
            let seconds = outcome.millis / 1_000;
            not_judged(format!("{what} was stopped at its time limit after {seconds} s; raise `timeout`, or narrow it"))
        }
        Ended::OutputLimit => {
            not_judged(format!("{what} was stopped after {} bytes of output; make it quieter", outcome.bytes))
        }
        Ended::Cancelled => not_judged(format!("{what} was cancelled")),
        Ended::MemoryLimit => not_judged(format!("{what} was stopped at its limit of memory; narrow it")),
        Ended::ProcessLimit => not_judged(format!("{what} was stopped at its limit of processes; narrow it")),
        Ended::DiskLimit => not_judged(format!("{what} was stopped at its limit of bytes on disk; narrow it")),
        Ended::CpuLimit => not_judged(format!("{what} was stopped at its limit of processor time; narrow it")),
    }
}

/// Signals a program brings upon itself. The others come from outside: a person, the system short of memory.
fn own_fault(signal: i32) -> Option<&'static str> {
    match signal {
        4 => Some("SIGILL"),
        6 => Some("SIGABRT"),
        8 => Some("SIGFPE"),
        11 => Some("SIGSEGV"),
        _ => None,
    }
}

fn judge_syntax(files: &[FileErrors]) -> Verdict {
    if files.is_empty() {
        return not_judged("no changed file was looked at".to_owned());
    }
    let new: Vec<(&WorkspacePath, &SyntaxError)> =
        files.iter().flat_map(|file| new_errors(file).into_iter().map(|error| (&file.path, error))).collect();
    match new.split_first() {
        None => Verdict::Passed,
        Some(((path, error), rest)) => {
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            Verdict::Failed { why: format!("{path}:{}: {}{more}", error.line, one_line(&error.message)) }
        }
    }
}

/// The errors of `after` that have no counterpart in `before` (F6). Lines move with an edit, so an error on the same
/// line is matched first, then any of the same wording.
pub fn new_errors(file: &FileErrors) -> Vec<&SyntaxError> {
    let mut old: Vec<&SyntaxError> = file.before.iter().collect();
    let mut take = |same: &dyn Fn(&SyntaxError) -> bool| {
        let at = old.iter().position(|error| same(error));
        at.map(|at| old.swap_remove(at)).is_some()
    };
    let mut rest: Vec<&SyntaxError> = Vec::new();
    for error in &file.after {
        if !take(&|old| old.message == error.message && old.line == error.line) {
            rest.push(error);
        }
    }
    rest.retain(|error| !take(&|old| old.message == error.message));
    rest
}

fn holds(it: bool, path: &str, otherwise: &str) -> Verdict {
    if it { Verdict::Passed } else { Verdict::Failed { why: format!("`{path}` {otherwise}") } }
}

fn not_judged(why: String) -> Verdict {
    Verdict::NotJudged { why }
}

/// The first line, cut where it stops being one a person reads.
fn one_line(text: &str) -> String {
    const WIDEST: usize = 200;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(WIDEST) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or(line)),
        None => line.to_owned(),
    }
}
