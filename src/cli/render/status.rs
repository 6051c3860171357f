//! Where tasks stand: the list, and one in full.
//!
//! Invariant: a state is said in the words of the vocabulary, and every wait comes with the command that ends it.
//! Absent: judging a state; the view brings it.

use super::{Paper, Tone};
use crate::desk::{Choice, FailureView, StatusView, TasksView};
use crate::domain::task::event::Ending;
use crate::domain::task::standing::TaskState;
use std::time::{Duration, UNIX_EPOCH};

/// All tasks.
pub fn tasks(paper: &mut Paper, view: &TasksView) {
    if view.tasks.is_empty() {
        paper.put(Tone::Plain, "no task yet").end();
        paper.next("planwright plan \"GOAL\"", "makes one");
        return;
    }
    for line in &view.tasks {
        paper.put(Tone::Strong, line.task.as_str()).put(Tone::Plain, "  ");
        paper.put(tone(&line.state), &line.words).put(Tone::Plain, &format!("  {}", line.goal)).end();
        if let Some(next) = &line.next {
            paper.put(Tone::Plain, "      ").next(&next.command, &next.means);
        }
    }
}

/// One task.
pub fn status(paper: &mut Paper, view: &StatusView) {
    paper.put(Tone::Strong, view.task.as_str()).put(Tone::Plain, "  ").put(tone(&view.state), &view.words);
    paper.put(Tone::Plain, &format!("  {}", view.goal.words)).end();
    why(paper, view);
    for answer in &view.answers {
        paper.field("answer", Tone::Strong, answer.step.as_str());
        paper.block("  ", Tone::Plain, &answer.text);
    }
    plan(paper, view);
    let width = view.steps.iter().map(|step| step.step.as_str().chars().count()).max().unwrap_or(0);
    for step in &view.steps {
        let again = if step.attempts > 1 { format!(" (attempt {})", step.attempts) } else { String::new() };
        paper.put(Tone::Plain, &format!("  {:<width$}  ", step.step.as_str()));
        paper.put(step_tone(&step.words), &format!("{}{again}", step.words));
        if !step.title.is_empty() {
            paper.put(Tone::Faint, &format!("  {}", step.title));
        }
        paper.end();
    }
    for effect in &view.in_flight {
        paper.field("now", Tone::Plain, effect);
    }
    for already in &view.already {
        paper.field("baseline", Tone::Warn, already);
    }
    for check in &view.checks {
        let remark = check.remark.as_ref().map(|remark| format!(" ({remark})")).unwrap_or_default();
        let tone = if check.passed { Tone::Good } else { Tone::Bad };
        paper.field("check", tone, &format!("{}: {} {}{remark}", check.work, check.check, check.verdict));
    }
    for gate in &view.gates {
        paper.field(&format!("gate {}", gate.gate), Tone::Warn, &gate.asked);
        if let Some(detail) = &gate.detail {
            paper.block("    ", Tone::Plain, detail);
        }
        choices(paper, &gate.answers);
    }
    for failure in &view.failures {
        report(paper, failure);
    }
    hunks(paper, view);
    if view.spend.turns > 0 {
        let used =
            format!("{} tokens ({} cached) in {} turns", view.spend.tokens(), view.spend.cached, view.spend.turns);
        paper.field("used", Tone::Faint, &used);
    }
    if let Some(page) = &view.page {
        paper.field("page", Tone::Faint, &page.display().to_string());
    }
    if view.gates.is_empty() && view.failures.is_empty() && !view.next.is_empty() {
        paper.put(Tone::Strong, "next").end();
        choices(paper, &view.next);
    }
}

fn why(paper: &mut Paper, view: &StatusView) {
    match &view.state {
        TaskState::Blocked { why, .. } if view.gates.is_empty() && view.failures.is_empty() => {
            paper.field("why", Tone::Warn, why);
        }
        TaskState::Failed { why } => {
            paper.field("why", Tone::Bad, why);
        }
        TaskState::Done { ending } => match ending {
            Ending::NotVerified { why } | Ending::CheckFails { why } | Ending::Failed { why } => {
                paper.field("why", Tone::Warn, why);
            }
            Ending::Verified | Ending::NothingKept | Ending::Abandoned { .. } => {}
        },
        TaskState::Delayed { until } => {
            let at = u64::try_from(until.0).ok().and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
            if let Some(at) = at {
                paper.field("until", Tone::Plain, &httpdate::fmt_http_date(at));
            }
        }
        TaskState::AwaitingApproval => {
            if let Some(connect) = &view.connect {
                paper.field("why", Tone::Warn, connect);
            }
        }
        TaskState::Planning | TaskState::Running | TaskState::Verifying if !view.carried => {
            paper.field("why", Tone::Warn, "nobody is at it: the process that was ended");
        }
        TaskState::Blocked { .. }
        | TaskState::Planning
        | TaskState::Running
        | TaskState::Paused
        | TaskState::Verifying
        | TaskState::AwaitingReview
        | TaskState::Abandoned => {}
    }
}

fn plan(paper: &mut Paper, view: &StatusView) {
    match (&view.approved, &view.revision) {
        (Some((approved, upto)), _) => {
            let reach = upto.as_ref().map(|upto| format!(" up to {upto}")).unwrap_or_default();
            paper.field("plan", Tone::Plain, &format!("{approved}, approved{reach}"));
        }
        (None, Some(revision)) => {
            paper.field("plan", Tone::Plain, &format!("{revision}, not approved"));
        }
        (None, None) => {}
    }
    if view.strayed {
        paper.field(
            "",
            Tone::Warn,
            "the document says something else; no new step starts until it is approved or restored",
        );
    }
}

fn hunks(paper: &mut Paper, view: &StatusView) {
    let counts = &view.hunks;
    if counts.pending + counts.accepted + counts.rejected + counts.touched + counts.unsaved == 0 {
        return;
    }
    paper.field("hunks", Tone::Plain, &counts.words());
}

/// What was tried, what was seen, what can be done (B11).
fn report(paper: &mut Paper, failure: &FailureView) {
    paper.field("failed", Tone::Bad, &format!("{} ({})", failure.work, failure.cause.words()));
    paper.block("    ", Tone::Plain, &failure.message);
    if !failure.tried.is_empty() {
        paper.put(Tone::Strong, "  tried").end();
    }
    for tried in &failure.tried {
        paper.block("    ", Tone::Plain, tried);
    }
    if !failure.errors.is_empty() {
        paper.put(Tone::Strong, "  seen").end();
    }
    for error in &failure.errors {
        paper.block("    ", Tone::Plain, error);
    }
    paper.put(Tone::Strong, "  next").end();
    choices(paper, &failure.next);
}

fn choices(paper: &mut Paper, choices: &[Choice]) {
    let width = choices.iter().map(|choice| choice.command.chars().count()).max().unwrap_or(0);
    for choice in choices {
        paper.put(Tone::Plain, "    ").put(Tone::Command, &format!("{:<width$}", choice.command));
        paper.put(Tone::Faint, &format!("  {}", choice.means)).end();
    }
}

fn tone(state: &TaskState) -> Tone {
    match state {
        TaskState::Planning | TaskState::Running | TaskState::Verifying => Tone::Command,
        TaskState::AwaitingApproval
        | TaskState::AwaitingReview
        | TaskState::Paused
        | TaskState::Delayed { .. }
        | TaskState::Blocked { .. } => Tone::Warn,
        TaskState::Done { ending } => match ending {
            Ending::Verified | Ending::NotVerified { .. } | Ending::NothingKept => Tone::Good,
            Ending::CheckFails { .. } | Ending::Failed { .. } | Ending::Abandoned { .. } => Tone::Bad,
        },
        TaskState::Failed { .. } | TaskState::Abandoned => Tone::Bad,
    }
}

/// By the first word of the vocabulary's phrase.
fn step_tone(words: &str) -> Tone {
    match words.split_whitespace().next() {
        Some("done") => Tone::Good,
        Some("failed") => Tone::Bad,
        Some("running" | "repairing") => Tone::Command,
        Some("at" | "ambiguous" | "blocked" | "stale" | "delayed") => Tone::Warn,
        Some(_) | None => Tone::Plain,
    }
}
