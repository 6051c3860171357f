//! Where tasks stand and what they ask: diagnostics on the first line of a task page and at steps of its plan.
//!
//! Invariant: everything that waits for a person is seen without anything being opened, as a diagnostic of a file that
//! need not be open; nothing pops up. A gate is a warning, so that it stands out among hunks. What is over is said only
//! where its page is open: a list of old tasks would bury the hunks. Absent: answering (`offers`).

use super::words;
use super::{Texts, diagnostic};
use crate::desk::{Choice, Desk, Dossier, GateView, Query, StatusView, View};
use crate::domain::ids::{TaskId, Work, WorkspacePath};
use crate::domain::plan;
use crate::domain::task::action::Which;
use crate::domain::task::standing::TaskState;
use crate::domain::text::{Encoding, LineIndex};
use crate::lsp::to_proto;
use std::path::Path;
use tower_lsp::lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, Range};

/// Next steps that are named.
const CHOICES: usize = 3;
/// Lines of what belongs to a question.
const DETAIL: usize = 6;

/// The page of a task, below the root.
pub fn page_of(task: &TaskId) -> Option<WorkspacePath> {
    WorkspacePath::new(&format!(".planwright/tasks/{task}/task.md")).ok()
}

/// The task whose page, or whose plan, this file is.
pub fn task_of(path: &WorkspacePath) -> Option<TaskId> {
    let rest = path.as_str().strip_prefix(".planwright/tasks/")?;
    let (task, _) = rest.split_once('/')?;
    Some(TaskId::new(task))
}

/// The plan document of a task, if it lies below the root.
pub fn plan_of(root: &Path, dossier: &Dossier) -> Option<WorkspacePath> {
    let page = dossier.page.as_ref()?;
    WorkspacePath::new(page.path.strip_prefix(root).ok()?.to_str()?).ok()
}

/// Where the task stands, as the desk answers.
pub fn status(desk: &Desk, task: &TaskId) -> Option<Box<StatusView>> {
    match desk.answer(&Query::Status { task: Which::Task(task.clone()) }) {
        Ok(View::Status(status)) => Some(status),
        Ok(_) | Err(_) => None,
    }
}

/// The state and the failures of a task, for the first line of its page.
pub fn state(status: &StatusView, is_page_open: bool) -> Vec<Diagnostic> {
    if is_over(&status.state) && !is_page_open {
        return Vec::new();
    }
    let failed = status.failures.iter().map(|failure| {
        let mut said = vec![words::line(&format!("{} failed: {}", failure.work, failure.message), words::WIDTH)];
        said.extend(failure.tried.iter().rev().take(2).map(|tried| words::line(tried, words::WIDTH)));
        said.extend(failure.errors.first().into_iter().flat_map(|error| words::some(error, "  ", 3)));
        said.extend(next(&failure.next));
        at_first_line(DiagnosticSeverity::WARNING, "failed", words::message(said))
    });
    let mut out: Vec<Diagnostic> = failed.collect();
    let mut said = vec![format!("{}: {}", status.words, words::title(&status.goal.words))];
    if let TaskState::Blocked { why, .. } = &status.state {
        said.push(words::line(why, words::WIDTH));
    }
    said.extend(status.connect.iter().flat_map(|connect| words::wrapped(connect, words::WIDTH)));
    if status.hunks.pending > 0 {
        let touched =
            if status.hunks.touched > 0 { format!(", {} touched", status.hunks.touched) } else { String::new() };
        said.push(format!("{} pending{touched}", crate::domain::text::counted(status.hunks.pending, "hunk")));
    }
    if status.gates.is_empty() && status.failures.is_empty() {
        said.extend(next(&status.next));
    }
    let severity = if is_waiting(&status.state) { DiagnosticSeverity::INFORMATION } else { DiagnosticSeverity::HINT };
    out.push(at_first_line(severity, "state", words::message(said)));
    out
}

fn next(choices: &[Choice]) -> Vec<String> {
    let line = |choice: &Choice| words::line(&format!("next: {} ({})", choice.means, choice.command), words::WIDTH);
    choices.iter().take(CHOICES).map(line).collect()
}

fn at_first_line(severity: DiagnosticSeverity, code: &str, message: String) -> Diagnostic {
    coded(Range::default(), severity, code, message)
}

fn coded(range: Range, severity: DiagnosticSeverity, code: &str, message: String) -> Diagnostic {
    Diagnostic { code: Some(NumberOrString::String(code.to_owned())), ..diagnostic(range, severity, message) }
}

/// It waits for a person.
pub fn is_waiting(state: &TaskState) -> bool {
    match state {
        TaskState::AwaitingApproval | TaskState::Paused | TaskState::Blocked { .. } | TaskState::AwaitingReview => true,
        TaskState::Planning
        | TaskState::Running
        | TaskState::Delayed { .. }
        | TaskState::Verifying
        | TaskState::Done { .. }
        | TaskState::Failed { .. }
        | TaskState::Abandoned => false,
    }
}

fn is_over(state: &TaskState) -> bool {
    match state {
        TaskState::Done { .. } | TaskState::Failed { .. } | TaskState::Abandoned => true,
        TaskState::Planning
        | TaskState::AwaitingApproval
        | TaskState::Running
        | TaskState::Paused
        | TaskState::Delayed { .. }
        | TaskState::Blocked { .. }
        | TaskState::Verifying
        | TaskState::AwaitingReview => false,
    }
}

/// The open gates of a task, for the first line of its page.
pub fn gates_on_page(status: &StatusView) -> Vec<Diagnostic> {
    status.gates.iter().map(|gate| of_gate(gate, Range::default())).collect()
}

/// The open gates of a task at the headings of their steps.
pub fn gates_in_plan(
    dossier: &Dossier,
    status: &StatusView,
    plan: &WorkspacePath,
    texts: &dyn Texts,
    encoding: Encoding,
) -> Vec<Diagnostic> {
    let Some(page) = dossier.page.as_ref().filter(|_| !status.gates.is_empty()) else { return Vec::new() };
    let text = texts.of(plan).map_or_else(|| page.text.clone(), |document| document.text);
    let layout = plan::parse(&text).layout;
    let index = LineIndex::new(&text);
    let at = |byte: usize| to_proto::position(&index, &text, byte, encoding);
    let waits = |gate: &GateView| dossier.task.open_gates().find(|open| open.id == gate.gate).map(|open| &open.work);
    let place = |gate: &GateView| match waits(gate) {
        Some(Work::Step(id)) => layout
            .steps
            .iter()
            .find(|step| step.step == *id)
            .map(|step| Range { start: at(step.heading.start), end: at(heading_end(&text, step.heading.clone())) }),
        Some(Work::Planning | Work::Baseline | Work::Acceptance | Work::Review) | None => None,
    };
    status.gates.iter().map(|gate| of_gate(gate, place(gate).unwrap_or_default())).collect()
}

fn heading_end(text: &str, heading: std::ops::Range<usize>) -> usize {
    heading.start + text.get(heading).map_or(0, |line| line.trim_end().len())
}

fn of_gate(gate: &GateView, range: Range) -> Diagnostic {
    let mut said = vec![words::line(&format!("gate {}: {}", gate.gate, gate.asked), words::WIDTH * 2)];
    if said.iter().any(|line| line.ends_with('…')) {
        said.push(format!("(cut here; the whole of it stands on the task's page at gate {})", gate.gate));
    }
    said.extend(gate.detail.iter().flat_map(|detail| words::some(detail, "  ", DETAIL)));
    said.extend(
        gate.answers.iter().map(|answer| words::line(&format!("{} ({})", answer.means, answer.command), words::WIDTH)),
    );
    coded(range, DiagnosticSeverity::WARNING, gate.gate.as_str(), words::message(said))
}

/// One line for the client's log: what waits in this workspace. None where nothing does.
pub fn unfinished(desk: &Desk) -> Option<String> {
    let waiting: Vec<String> = desk
        .tasks
        .iter()
        .filter(|dossier| !dossier.task.is_over())
        .map(|dossier| {
            format!("{} ({}: {})", dossier.task.id, dossier.state.words(), words::title(&dossier.task.goal.words))
        })
        .collect();
    (!waiting.is_empty()).then(|| format!("planwright: unfinished tasks: {}", waiting.join("; ")))
}
