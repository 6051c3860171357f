//! The page of a task: what is wanted, where it stands, what it waits for, what can be done.
//!
//! Invariant: its first lines say the state in the words of the vocabulary and whom it waits for; it is all a person
//! needs who has closed everything else. Absent: the plan's own text; the document has it.

use super::super::status;
use super::super::view::*;
use super::markdown::{code, fence, line, link};
use super::{Aids, choice, choices};
use crate::desk::{Dossier, show, words};
use crate::domain::plan::small;
use crate::domain::problem::Severity;
use crate::domain::task::event::Ending;
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::Task;
use crate::domain::text::counted;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// Steps of a plan that are listed; the document has all.
const STEPS: usize = 40;

/// The whole page.
pub fn task(dossier: &Dossier, aids: &Aids) -> String {
    let status = status::view(dossier);
    let plan = show::view(dossier);
    let goal = &dossier.task.goal;
    let title = small::title(&goal.words);
    let mut page = format!("# {}\n\n**{}** · task {}\n\n", line(&title), status.words, code(status.task.as_str()));
    let _ = writeln!(page, "{}", waits_for(&status, &plan));
    if title != goal.words.trim() {
        let _ = write!(page, "\n{}", fence("text", &goal.words));
    }
    if let Some(place) = &goal.place {
        let _ = writeln!(page, "\nAt {}.", code(&words::place(place)));
    }
    if status.gates.is_empty() && status.failures.is_empty() && !status.next.is_empty() {
        let _ = write!(page, "\n## What you can do\n\n{}", choices(&status.next));
    }
    for answer in &aids.answers {
        let title = if dossier.page.as_ref().is_some_and(|page| small::is_question(&page.plan)) {
            "Answer".to_owned()
        } else {
            format!("Found by {}", line(answer.step.as_str()))
        };
        let _ = write!(page, "\n## {title}\n\n{}", fence("markdown", answer.text.trim_end()));
    }
    gates(&mut page, dossier, &status);
    failures(&mut page, &status);
    the_plan(&mut page, dossier, &plan, aids);
    steps(&mut page, dossier, &status);
    work(&mut page, &status);
    hunks(&mut page, &status);
    page
}

/// The page says the same of both. It may be wrong in the other direction only: what it does not know to be the same is
/// made again.
pub fn says_the_same(one: &Dossier, other: &Dossier) -> bool {
    let Dossier { task, state, journal: _, page, revisions, steps, hunks, changes: _, offered, carried, told } = one;
    let same_page = match (page, &other.page) {
        (Some(page), Some(other)) => Arc::ptr_eq(page, other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    same_page
        && Arc::ptr_eq(hunks, &other.hunks)
        && (state, steps, carried, offered) == (&other.state, &other.steps, &other.carried, &other.offered)
        && told == &other.told
        && revisions.len() == other.revisions.len()
        && shows_the_same(task, &other.task)
}

/// What the page shows of a task beside its hunks, and of its journal: what ended, how often, and what was judged.
fn shows_the_same(one: &Task, other: &Task) -> bool {
    let Task { id, goal, revisions, approval, document, course, planning, steps, acceptance, gates, .. } = one;
    let under_way = |task: &Task| -> Vec<String> {
        task.in_flight().map(|effect| words::under_way(&effect.id, &effect.what)).collect()
    };
    (id, goal, approval, document, course) == (&other.id, &other.goal, &other.approval, &other.document, &other.course)
        && revisions.len() == other.revisions.len()
        && (planning, steps, acceptance) == (&other.planning, &other.steps, &other.acceptance)
        && (gates, &one.judgements, &one.baselines) == (&other.gates, &other.judgements, &other.baselines)
        && under_way(one) == under_way(other)
}

/// In one sentence.
fn waits_for(status: &StatusView, plan: &ShowView) -> String {
    match &status.state {
        TaskState::Planning | TaskState::Running | TaskState::Verifying if !status.carried => {
            "It waits for you: the process that was at it ended. `planwright resume` goes on.".to_owned()
        }
        TaskState::Planning => "It waits for nobody: the plan is being made, and appears here.".to_owned(),
        TaskState::AwaitingApproval => waits_for_approval(status, plan),
        TaskState::Running => "It waits for nobody: it is at work.".to_owned(),
        TaskState::Verifying => "It waits for nobody: the acceptance checks run.".to_owned(),
        TaskState::Paused => "It waits for you: it was paused.".to_owned(),
        TaskState::Delayed { until } => {
            let at = u64::try_from(until.0).ok().and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
            let at = at.map_or_else(|| "later".to_owned(), httpdate::fmt_http_date);
            format!("It goes on by itself: the next attempt is due {at}.")
        }
        TaskState::Blocked { why, .. } => format!("It waits for you: {}", line(why)),
        TaskState::AwaitingReview => {
            format!("It waits for you: {} to decide.", counted(status.hunks.pending, "hunk"))
        }
        TaskState::Done { ending } => match ending {
            Ending::Verified => "It is over; the checks hold on what you kept.".to_owned(),
            Ending::NothingKept => "It is over; nothing of it was kept.".to_owned(),
            Ending::NotVerified { why } | Ending::CheckFails { why } | Ending::Failed { why } => {
                format!("It is over: {}", line(why))
            }
            Ending::Abandoned { .. } => "It is over.".to_owned(),
        },
        TaskState::Failed { why } => format!("It is over: {}", line(why)),
        TaskState::Abandoned => "It was given up; what you accepted stays.".to_owned(),
    }
}

fn waits_for_approval(status: &StatusView, plan: &ShowView) -> String {
    if let Some(connect) = &status.connect {
        return format!("It waits for you: {}.", line(connect));
    }
    let errors = plan.problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    if errors > 0 {
        return format!("It waits for you: the plan has {}.", counted(errors, "error"));
    }
    match (plan.questions.len(), &plan.revision) {
        (_, None) => "It waits for you: there is no plan yet.".to_owned(),
        (0, Some(_)) if status.strayed => {
            "It waits for you: the plan says something else now than what was approved.".to_owned()
        }
        (0, Some(revision)) => format!("It waits for you: read the plan and approve {}.", code(&revision.to_string())),
        (open, Some(_)) => format!("It waits for you: {} of the planner.", counted(open, "question")),
    }
}

fn gates(page: &mut String, dossier: &Dossier, status: &StatusView) {
    for gate in &status.gates {
        let _ = write!(page, "\n## Gate {}\n\n{}\n", line(gate.gate.as_str()), line(&gate.asked));
        let open = dossier.task.open_gates().find(|open| open.id == gate.gate);
        if let Some(command) = open.and_then(|open| open.of_command()) {
            // a line is cut; what is allowed is read whole
            let _ = write!(page, "\n{}", fence("sh", &shell_words::join(&command.argv)));
        }
        if let Some(detail) = &gate.detail {
            let _ = write!(page, "\n{}", fence("diff", detail));
        }
        let _ = write!(page, "\n{}", choices(&gate.answers));
    }
}

/// What was tried, what was seen, what can be done (B11).
fn failures(page: &mut String, status: &StatusView) {
    for failure in &status.failures {
        let _ = write!(
            page,
            "\n## Failed: {} ({})\n\n{}",
            line(&failure.work),
            failure.cause.words(),
            fence("text", &failure.message)
        );
        if !failure.tried.is_empty() {
            let _ = writeln!(page, "\nTried:\n");
            page.extend(failure.tried.iter().map(|tried| format!("- {}\n", line(tried))));
        }
        for error in &failure.errors {
            let _ = write!(page, "\n{}", fence("text", error));
        }
        let _ = write!(page, "\nWhat you can do:\n\n{}", choices(&failure.next));
    }
}

fn the_plan(page: &mut String, dossier: &Dossier, plan: &ShowView, aids: &Aids) {
    let Some(revision) = &plan.revision else {
        if dossier.state == TaskState::Planning {
            sketch(page, dossier, aids);
        }
        return;
    };
    let approved = if plan.approved { "approved" } else { "not approved" };
    let _ = write!(page, "\n## Plan {}, {approved}\n\n", code(&revision.to_string()));
    match plan.path.as_ref().and_then(|path| path.file_name()) {
        Some(name) => {
            let _ = writeln!(page, "The document: {}", link(&name.to_string_lossy()));
        }
        None => page.push_str("Its document is not on disk.\n"),
    }
    for problem in &plan.problems {
        let word = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => continue,
        };
        let _ = write!(page, "\n- **{word}** in line {}: {}", problem.line, line(&problem.message));
    }
    if plan.problems.iter().any(|problem| problem.severity != Severity::Hint) {
        page.push('\n');
    }
    for question in &plan.questions {
        let _ = write!(page, "\nQuestion {}: {}\n\n", question.number, line(&question.question));
        let answer = Choice { command: question.answer.clone(), means: "answer it".to_owned() };
        page.push_str(&choice(&answer));
    }
    if !plan.contract.is_empty() {
        page.push_str("\nWhat it means:\n\n");
        page.extend(plan.contract.iter().map(|said| format!("- {}\n", line(said))));
    }
}

/// What can be said before there is a plan.
fn sketch(page: &mut String, dossier: &Dossier, aids: &Aids) {
    let scope = dossier.task.goal.place.as_ref().map(|place| code(place.path.as_str()));
    let checks = aids.sketch.as_ref().filter(|sketch| !sketch.checks.is_empty());
    if scope.is_none() && checks.is_none() {
        return;
    }
    page.push_str("\n## Plan\n\nKnown so far:\n\n");
    if let Some(scope) = scope {
        let _ = writeln!(page, "- it is about {scope}");
    }
    if let Some(sketch) = checks {
        let checks: Vec<String> = sketch.checks.iter().map(|check| code(check)).collect();
        let because = if sketch.because.is_empty() { String::new() } else { format!(" ({})", line(&sketch.because)) };
        let _ = writeln!(page, "- it can be checked with {}{because}", checks.join(", "));
    }
}

fn steps(page: &mut String, dossier: &Dossier, status: &StatusView) {
    let mut rows: Vec<String> = Vec::new();
    if status.steps.is_empty() {
        let planned = dossier.page.iter().flat_map(|page| &page.plan.steps);
        rows.extend(planned.map(|step| format!("- {} {}\n", code(step.id.as_str()), line(&step.title))));
    } else {
        rows.extend(status.steps.iter().map(|step| {
            let title = if step.title.is_empty() { String::new() } else { format!(" {}", line(&step.title)) };
            format!("- {}{title}: **{}**\n", code(step.step.as_str()), line(&step.words))
        }));
    }
    if rows.is_empty() {
        return;
    }
    let more = rows.len().saturating_sub(STEPS);
    rows.truncate(STEPS);
    let _ = write!(page, "\n## Steps\n\n{}", rows.concat());
    if more > 0 {
        let _ = writeln!(page, "- and {more} more");
    }
}

fn work(page: &mut String, status: &StatusView) {
    if !status.in_flight.is_empty() {
        page.push_str("\n## Now\n\n");
        page.extend(status.in_flight.iter().map(|now| format!("- {}\n", line(now))));
    }
    if !status.checks.is_empty() || !status.already.is_empty() {
        page.push_str("\n## Checks\n\n");
        page.extend(status.already.iter().map(|already| format!("- {}\n", line(already))));
        page.extend(status.checks.iter().map(|check| {
            let how = check.remark.as_ref().map(|how| format!(" ({how})")).unwrap_or_default();
            let verdict = check.verdict.lines().next().unwrap_or_default();
            format!("- {}: {} {}{how}\n", line(&check.work), line(&check.check), line(verdict))
        }));
    }
}

fn hunks(page: &mut String, status: &StatusView) {
    let counts = &status.hunks;
    if *counts == HunkCounts::default() {
        return;
    }
    let _ = write!(page, "\n## Hunks\n\n{}.\n\n", counts.words());
    let review = Choice { command: format!("planwright review {}", status.task), means: "go through them".to_owned() };
    page.push_str(&choice(&review));
}
