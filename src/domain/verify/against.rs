//! What is new against the baseline: the same check, before any change (F6).
//!
//! Invariant: an old problem excuses one new reading of it, at the place to which the change set carries it; a failed
//! check is never called a pass unless its program is known to have gone through to its end. Absent: running the
//! baseline, and which hunk a new problem comes from (`blame`).

#[cfg(test)]
pub(super) mod tests;

use super::problems::{MOST, ReadProblem, Site};
use crate::domain::change::{Entry, FileChange, Hunk, HunkKind};
use crate::domain::plan::Command;
use crate::domain::policy::commands::started;
use crate::domain::task::event::Verdict;
use crate::domain::task::facts::{Ended, RunOutcome};
use crate::domain::text::{counted, lines};
use std::ops::Range;

/// Where a line of the text before is in the text after.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Carried {
    /// Exactly here, 1-based.
    At(u32),
    /// Somewhere in these lines, 1-based: a hunk replaced it.
    Among(Range<u32>),
    /// Its file is gone.
    Gone,
}

/// The errors of `now` that the baseline does not have, in their order.
///
/// A test that failed before and fails now is not new, whatever it says; any other problem must have the same words at
/// the place to which the hunks carry the old one, or inside the hunk that replaced it.
pub fn fresh<'n>(baseline: &[ReadProblem], now: &'n [ReadProblem], changes: &[FileChange]) -> Vec<&'n ReadProblem> {
    let mut left: Vec<&ReadProblem> = now.iter().filter(|problem| problem.is_error()).collect();
    let errors = baseline.iter().filter(|problem| problem.is_error());
    let carried = |problem: &ReadProblem| problem.site.as_ref().and_then(|site| carry(site, changes));
    let mut old: Vec<Old<'_>> = errors.map(|problem| Old { problem, carried: carried(problem) }).collect();
    let rules: [Rule; 5] = [exactly, same_test, in_hunk, without_line, moved];
    for rule in rules {
        old.retain(|before| {
            let found = left.iter().position(|problem| rule(before, problem, changes));
            found.map(|at| left.remove(at)).is_none()
        });
    }
    left
}

/// A problem of the baseline, with where its line is now.
struct Old<'a> {
    problem: &'a ReadProblem,
    carried: Option<Carried>,
}

/// How two readings can be of one problem; the surest rule comes first.
type Rule = fn(&Old<'_>, &ReadProblem, &[FileChange]) -> bool;

fn exactly(old: &Old<'_>, now: &ReadProblem, _: &[FileChange]) -> bool {
    same_words(old.problem, now)
        && match (&old.problem.site, &now.site) {
            (Some(was), Some(is)) => {
                was.path == is.path && is.line.is_some() && old.carried == is.line.map(Carried::At)
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
}

fn same_test(old: &Old<'_>, now: &ReadProblem, _: &[FileChange]) -> bool {
    old.problem.test.is_some() && old.problem.test == now.test
}

fn in_hunk(old: &Old<'_>, now: &ReadProblem, _: &[FileChange]) -> bool {
    let Some((was, is)) = old.problem.site.as_ref().zip(now.site.as_ref()) else { return false };
    let Some(Carried::Among(lines)) = &old.carried else { return false };
    was.path == is.path && is.line.is_some_and(|line| lines.contains(&line)) && same_words(old.problem, now)
}

fn without_line(old: &Old<'_>, now: &ReadProblem, _: &[FileChange]) -> bool {
    let Some((was, is)) = old.problem.site.as_ref().zip(now.site.as_ref()) else { return false };
    was.path == is.path && (was.line.is_none() || is.line.is_none()) && same_words(old.problem, now)
}

/// A file under another name is one that went and one that came.
fn moved(old: &Old<'_>, now: &ReadProblem, changes: &[FileChange]) -> bool {
    let Some(is) = now.site.as_ref().filter(|_| old.carried == Some(Carried::Gone)) else { return false };
    let made = |change: &FileChange| change.path == is.path && matches!(change.before, Entry::Absent);
    same_words(old.problem, now) && changes.iter().any(made)
}

fn same_words(before: &ReadProblem, now: &ReadProblem) -> bool {
    before.message == now.message && before.test == now.test
}

/// `None`: the site has no line.
fn carry(site: &Site, changes: &[FileChange]) -> Option<Carried> {
    let change = changes.iter().find(|change| change.path == site.path);
    if change.is_some_and(|change| matches!(change.after, Entry::Absent)) {
        return Some(Carried::Gone);
    }
    let line = site.line?;
    let mut shifted = i64::from(line);
    let hunks = change.into_iter().flat_map(|change| change.hunks.iter().map(move |hunk| (change, hunk)));
    let runs = hunks.filter_map(|(change, hunk)| old_lines(change, hunk).zip(new_lines(change, hunk)));
    for (was, is) in runs.take_while(|(was, _)| was.start <= line) {
        if was.contains(&line) {
            return Some(Carried::Among(is));
        }
        shifted = i64::from(line) + i64::from(is.end) - i64::from(was.end);
    }
    u32::try_from(shifted).ok().map(Carried::At)
}

fn run_of(first: u32, text: &str) -> Range<u32> {
    let start = first.saturating_add(1);
    start..start.saturating_add(u32::try_from(lines(text).len()).unwrap_or(u32::MAX))
}

/// The lines of `before` that a hunk replaces, 1-based; none where the hunk has no lines.
fn old_lines(change: &FileChange, hunk: &Hunk) -> Option<Range<u32>> {
    let HunkKind::Lines { old_line, .. } = &hunk.kind else { return None };
    Some(run_of(*old_line, change.old_text(hunk)))
}

/// The lines of `after` that a hunk puts there, 1-based; none where the hunk has no lines.
pub(super) fn new_lines(change: &FileChange, hunk: &Hunk) -> Option<Range<u32>> {
    let HunkKind::Lines { new_line, .. } = &hunk.kind else { return None };
    Some(run_of(*new_line, change.new_text(hunk)))
}

/// What a check that ran before any change and again on the change says about the change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weighed {
    /// Of the change, not of the project.
    pub verdict: Verdict,
    /// What the baseline does not have.
    pub fresh: Vec<ReadProblem>,
    /// For a person, where a pass or a missing verdict rests on the baseline.
    pub remark: Option<String>,
}

/// A run, with what was read out of it.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// How it ended.
    pub outcome: &'a RunOutcome,
    /// What it said.
    pub problems: &'a [ReadProblem],
}

/// Judges a run against the same check's run before any change. `alone` is the verdict that the run has without it.
pub fn weigh(
    command: &Command,
    alone: Verdict,
    now: Reading<'_>,
    baseline: Reading<'_>,
    changes: &[FileChange],
) -> Weighed {
    let failed = |reading: Reading<'_>| matches!(reading.outcome.ended, Ended::Exit(code) if code != 0);
    if !matches!(alone, Verdict::Failed { .. }) || !failed(baseline) || !failed(now) {
        let fresh = fresh(baseline.problems, now.problems, changes).into_iter().cloned().collect();
        return Weighed { verdict: alone, fresh, remark: None };
    }
    let fresh: Vec<ReadProblem> = fresh(baseline.problems, now.problems, changes).into_iter().cloned().collect();
    let known = now.problems.iter().filter(|problem| problem.is_error()).count() - fresh.len();
    let before = already_fails(baseline);
    // What was not read of the baseline may be what looks new, and what was not read of the run may be new.
    let part = |reading: Reading<'_>| reading.outcome.cut || reading.problems.len() >= MOST;
    let told = if fresh.is_empty() { known == 0 } else { !part(baseline) };
    if told {
        return Weighed { verdict: alone, fresh, remark: before };
    }
    if part(now) || part(baseline) {
        let said = before.unwrap_or_default();
        let why = format!("it {said}, and not all that it prints is read: whether anything is new cannot be told");
        return Weighed { verdict: Verdict::NotJudged { why }, fresh: Vec::new(), remark: None };
    }
    if went_through(command, now.outcome) && went_through(command, baseline.outcome) {
        return Weighed {
            verdict: Verdict::Passed,
            fresh,
            remark: before.map(|said| format!("{said}; nothing is new")),
        };
    }
    let said = before.unwrap_or_default();
    let why = format!("it {said}, and stops there: it says nothing about the change");
    Weighed { verdict: Verdict::NotJudged { why }, fresh, remark: None }
}

/// "already fails before any change (3 tests, 1 error)"; none where it did not fail.
pub fn already_fails(baseline: Reading<'_>) -> Option<String> {
    let Ended::Exit(code) = baseline.outcome.ended else { return None };
    if code == 0 {
        return None;
    }
    let errors: Vec<&ReadProblem> = baseline.problems.iter().filter(|problem| problem.is_error()).collect();
    let tests = errors.iter().filter(|problem| problem.test.is_some()).count();
    let kinds = [(tests, "test"), (errors.len() - tests, "error")];
    let told: Vec<String> = kinds.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n, what)).collect();
    let detail = if told.is_empty() { format!("exit {code}") } else { told.join(", ") };
    Some(format!("already fails before any change ({detail})"))
}

/// Whether a failing run saw all that it would have seen: nothing stopped it at the first failure. Only of tools that
/// say so, and only where the check is the tool itself: a script may have gone no further.
fn went_through(command: &Command, outcome: &RunOutcome) -> bool {
    let text = &outcome.output;
    let has = |part: &str| text.contains(part);
    let command = started(command);
    let mut words = command.argv.iter().map(String::as_str);
    let program = words.next().map(|word| word.rsplit('/').next().unwrap_or(word));
    let rest: Vec<&str> = words.collect();
    let first = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied();
    let python = program.is_some_and(|program| program.starts_with("python"));
    let tool = match (python, rest.as_slice()) {
        (true, ["-m", module, ..]) => Some(*module),
        (true, _) => None,
        (false, _) => program,
    };
    match (tool, first) {
        (Some("cargo"), Some("test" | "t")) => {
            !has("could not compile") && (has("target failed:") || has("targets failed:"))
        }
        (Some("cargo"), Some("nextest")) => has("Summary [") && !has("Cancelling due to"),
        (Some("pytest"), _) => has(" failed") && !has("stopping after") && !has("Interrupted:"),
        (Some("unittest"), _) => has("\nRan ") && has("FAILED ("),
        (Some("go"), Some("test")) => has("FAIL\t") && !has(" failed]") && !has("panic:"),
        (Some("mypy"), _) => has("(checked "),
        (Some("ruff"), Some("check")) => has("Found "),
        (Some("eslint"), _) => has(" problem"),
        _ => false,
    }
}
