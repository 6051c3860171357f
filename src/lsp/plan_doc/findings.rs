//! What is wrong with a plan document, and how it is mended.
//!
//! Invariant: a mend is an edit of this document that the person chooses. Absent: compiling; the engine does it.

use super::acts::{Act, Does};
use super::moment::Moment;
use crate::domain::plan::edit;
use crate::domain::problem::{Problem, Replacement, Severity};
use std::ops::Range;

/// What the engine found, and what is wrong with an approval that is written into the text.
pub fn problems(moment: &Moment<'_>) -> Vec<Problem> {
    let Some(compiled) = moment.compiled else { return moment.parsed.problems.clone() };
    let mut out = compiled.problems.clone();
    if let Some((named, range)) = &moment.parsed.layout.approved {
        out.extend(written_approval(moment, named.to_string(), range));
        out.sort_by_key(|problem| (problem.range.start, problem.range.end, problem.severity));
    }
    out
}

/// An approval in the text that is not one.
fn written_approval(moment: &Moment<'_>, named: String, range: &Range<usize>) -> Option<Problem> {
    let compiled = moment.compiled?;
    let found = |code: &str, severity, message| {
        Some(Problem { code: code.to_owned(), range: range.clone(), severity, message, fix: None })
    };
    if moment.errors() != Some(0) {
        let message = "this approves nothing: the plan has errors; mend them first".to_owned();
        return found("approval-of-errors", Severity::Warning, message);
    }
    let right = compiled.revision.to_string();
    if named != right {
        let message = format!("this approves nothing: it names {named}, and the text is {right}");
        return found("approval-of-another", Severity::Warning, message);
    }
    match moment.approvable() {
        Some(_) => found(
            "approval-unsaved",
            Severity::Hint,
            "counts when it was written here and is saved; one that stood here before approves nothing, \"Agent: approve \
             …\" does"
                .to_owned(),
        ),
        None => None,
    }
}

/// The right name in the place of a wrong one. It decides on a plan, so it is no mend.
pub fn right_approval(moment: &Moment<'_>, at: &Range<usize>) -> Option<Act> {
    let (named, range) = moment.parsed.layout.approved.as_ref()?;
    let revision = moment.approvable().filter(|revision| *revision != named)?;
    let edit = edit::approve(moment.text, revision).ok()?;
    let here = range.start <= at.end && at.start <= range.end;
    here.then(|| Act { title: format!("Agent: write `approved: {revision}`"), does: Does::Edit(vec![edit]) })
}

/// A mend, and the problem that it mends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mend {
    /// What the action is called.
    pub title: String,
    /// What it changes, in document order.
    pub edits: Vec<Replacement>,
    /// What it mends: code and range.
    pub of: Option<Problem>,
}

/// Mends of the problems on the lines of a range, those under it first, and all of the document's at once where there
/// are several. The whole line counts: an editor shows a problem there, and asks at wherever the cursor happens to be.
pub fn mends(problems: &[Problem], text: &str, at: &Range<usize>) -> Vec<Mend> {
    let on = lines_of(text, at);
    let touches = |range: &Range<usize>, at: &Range<usize>| range.start <= at.end && at.start <= range.end;
    let mut here: Vec<&Problem> = problems.iter().filter(|problem| touches(&problem.range, &on)).collect();
    here.sort_by_key(|problem| !touches(&problem.range, at));
    let mut out: Vec<Mend> = here
        .into_iter()
        .filter_map(|problem| {
            let fix = problem.fix.as_ref()?;
            Some(Mend { title: fix.title.clone(), edits: fix.edits.clone(), of: Some(problem.clone()) })
        })
        .collect();
    let every: Vec<&Replacement> =
        problems.iter().filter_map(|problem| problem.fix.as_ref()).flat_map(|fix| &fix.edits).collect();
    let mut ordered: Vec<Replacement> = every.into_iter().cloned().collect();
    ordered.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let apart = ordered.windows(2).all(|pair| match pair {
        [one, next] => one.range.end < next.range.start,
        _ => true,
    });
    let fixes = problems.iter().filter(|problem| problem.fix.is_some()).count();
    if !out.is_empty() && fixes > 1 && apart {
        out.push(Mend { title: format!("mend all {fixes} problems that have a fix"), edits: ordered, of: None });
    }
    out
}

/// The lines that a range touches, without the end of the last one.
fn lines_of(text: &str, at: &Range<usize>) -> Range<usize> {
    let before = text.get(..at.start).and_then(|before| before.rfind('\n'));
    let after = text.get(at.end..).and_then(|after| after.find('\n'));
    before.map_or(0, |end| end + 1)..after.map_or(text.len(), |length| at.end + length)
}
