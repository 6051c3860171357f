//! The plan before an approval, what the model saw, and two revisions side by side.
//!
//! Invariant: in a plan and a request nothing is hidden: characters that a terminal would obey are shown by number.
//! Absent: the document's own layout; it is printed as it stands.

use super::{Paper, Tone};
use crate::desk::{CompareView, PreviewView, ShowView};
use crate::domain::problem::Severity;

/// The plan, and what it would change, run and ask.
pub fn show(paper: &mut Paper, view: &ShowView) {
    visibly(paper, "", &view.text);
    if !view.text.is_empty() && !view.text.ends_with("\n\n") {
        paper.end();
    }
    paper.put(Tone::Strong, view.task.as_str()).put(Tone::Plain, &format!("  {}", view.words)).end();
    match &view.path {
        Some(path) => paper.field("document", Tone::Plain, &path.display().to_string()),
        None if view.revision.is_some() => {
            paper.field("document", Tone::Warn, "not on disk; this is the newest stored text")
        }
        None => paper.field("document", Tone::Warn, "no plan is written yet"),
    };
    if let Some(page) = &view.page {
        paper.field("page", Tone::Faint, &page.display().to_string());
    }
    if let Some(revision) = &view.revision {
        let approved = if view.approved { ", approved" } else { ", not approved" };
        paper.field("revision", Tone::Plain, &format!("{revision}{approved}"));
    }
    if let Some((offered, compare)) = &view.offered {
        paper.field("offered", Tone::Warn, &format!("{offered}, by the agent; an editor had the document open"));
        paper.next(&compare.command, &compare.means);
        paper.next(&format!("planwright take-revision {}", view.task), "put it into the document, or --decline it");
    }
    if !view.contract.is_empty() {
        paper.put(Tone::Strong, "what it means").end();
    }
    for line in &view.contract {
        paper.put(Tone::Plain, "  ").put_visibly(Tone::Plain, line).end();
    }
    for problem in &view.problems {
        let (tone, word) = match problem.severity {
            Severity::Error => (Tone::Bad, "error"),
            Severity::Warning => (Tone::Warn, "warning"),
            Severity::Hint => (Tone::Faint, "hint"),
        };
        paper.field(word, tone, &format!("line {}: {} [{}]", problem.line, problem.message, problem.code));
        if let Some(fix) = &problem.fix {
            paper.field("", Tone::Faint, &format!("fix: {fix}"));
        }
    }
    for question in &view.questions {
        paper.field("question", Tone::Warn, &format!("{}. {}", question.number, question.question));
        paper.put(Tone::Plain, "          ").put(Tone::Command, &question.answer).end();
    }
    match &view.approve {
        Some(approve) => {
            paper.next(approve, "approve exactly this");
        }
        None if view.problems.iter().any(|problem| problem.severity == Severity::Error) => {
            paper.next("edit the document", "it cannot be approved while it has errors");
        }
        None => {}
    }
}

/// What the model saw.
pub fn preview(paper: &mut Paper, view: &PreviewView) {
    match &view.text {
        None => {
            paper.put(Tone::Plain, "no model has been asked in this task yet").end();
        }
        Some(text) => {
            paper.put(Tone::Strong, &format!("the last request of {} ", view.work)).end();
            visibly(paper, "  ", text);
        }
    }
    let others: Vec<&str> = view.works.iter().map(String::as_str).filter(|work| *work != view.work).collect();
    if !others.is_empty() {
        paper.next(&format!("planwright preview {} {}", view.task, others.join(" | ")), "the others");
    }
}

/// Two revisions.
pub fn compare(paper: &mut Paper, view: &CompareView) {
    paper.put(Tone::Strong, &format!("{} → {}", view.from, view.to)).end();
    if view.difference.is_empty() {
        paper.put(Tone::Plain, "no difference").end();
    }
    for line in &view.difference {
        let tone = match line.trim_start().chars().next() {
            Some('+') => Tone::Good,
            Some('-') => Tone::Bad,
            Some(_) | None => Tone::Strong,
        };
        paper.put_visibly(tone, line).end();
    }
}

fn visibly(paper: &mut Paper, indent: &str, text: &str) {
    for line in text.lines() {
        paper.put(Tone::Plain, indent).put_visibly(Tone::Plain, line).end();
    }
}
