//! What a person can do in a plan document, as far as it applies at this moment.
//!
//! Invariant: an act that decides is a command and nothing else; an edit only writes what the person would write
//! themselves. Nothing is listed that the engine would refuse in this state. Absent: carrying anything out.

use super::moment::Moment;
use crate::actions::Verb;
use crate::desk::Dossier;
use crate::domain::change::{Entry, HunkKind, file_change};
use crate::domain::ids::{StepId, WorkspacePath};
use crate::domain::plan::edit as edits;
use crate::domain::plan::parse::RemarkKind;
use crate::domain::problem::Replacement;
use crate::domain::task::event::Ask;
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::{Course, StepRun, StepState};
use serde_json::{Value, json};
use std::ops::Range;

/// Something that can be done.
#[derive(Clone, PartialEq, Debug)]
pub struct Act {
    /// What it is called.
    pub title: String,
    /// What it does.
    pub does: Does,
}

/// What an act does.
#[derive(Clone, PartialEq, Debug)]
pub enum Does {
    /// Runs a command with one object of named arguments.
    Command {
        /// Which row of the table.
        verb: Verb,
        /// Named.
        arguments: Value,
    },
    /// Edits the document, in document order.
    Edit(Vec<Replacement>),
}

fn command(title: impl Into<String>, verb: Verb, arguments: Value) -> Act {
    Act { title: format!("Agent: {}", title.into()), does: Does::Command { verb, arguments } }
}

fn edit(title: impl Into<String>, edits: Vec<Replacement>) -> Act {
    Act { title: format!("Agent: {}", title.into()), does: Does::Edit(edits) }
}

/// What can be done at a range: the step's own first.
pub fn acts(moment: &Moment<'_>, at: &Range<usize>) -> Vec<Act> {
    let mut out = Vec::new();
    let step = moment.step_at(at.start).map(|(_, place)| place.step.clone());
    if let (Some(dossier), Some(step)) = (moment.dossier, &step) {
        out.extend(of_step(dossier, step));
    }
    if let Some(step) = &step {
        out.extend(approve_upto(moment, step));
    }
    out.extend(answers(moment, at));
    out.extend(approve(moment));
    out.extend(moment.dossier.map(of_task).unwrap_or_default());
    out.push(note(moment, at));
    out.extend(revise(moment));
    out.extend(restore(moment));
    out
}

/// The whole plan, if it may be approved.
pub fn approve(moment: &Moment<'_>) -> Option<Act> {
    let (revision, task) = (moment.approvable()?, &moment.dossier?.task.id);
    Some(command(
        format!("approve {revision} and run it"),
        Verb::Approve,
        json!({ "task": task, "revision": revision.to_string() }),
    ))
}

/// Up to a step that is not the last.
pub fn approve_upto(moment: &Moment<'_>, step: &StepId) -> Option<Act> {
    let (revision, task) = (moment.approvable()?, &moment.dossier?.task.id);
    let last = moment.parsed.plan.steps.last().is_none_or(|last| &last.id == step);
    (!last).then(|| {
        command(
            format!("approve {revision} and run it up to `{step}`"),
            Verb::Approve,
            json!({ "task": task, "revision": revision.to_string(), "upto": step }),
        )
    })
}

/// Going on and standing still.
pub fn of_task(dossier: &Dossier) -> Vec<Act> {
    let task = &dossier.task;
    let only = json!({ "task": task.id });
    let act = |title: &str, verb| command(title, verb, only.clone());
    match &task.course {
        Course::Over(_) => vec![],
        Course::Paused { .. } => vec![act("resume", Verb::Resume)],
        Course::Going => match &dossier.state {
            TaskState::Running | TaskState::Delayed { .. } | TaskState::Verifying => {
                let at_work = task.steps.iter().any(|run| run.state.is_at_work()) || task.in_flight().next().is_some();
                let mut acts = if at_work { vec![] } else { vec![act("run", Verb::Run)] };
                acts.push(act("pause", Verb::Pause));
                acts.push(act("cancel what is in flight", Verb::Cancel));
                acts
            }
            TaskState::Planning => vec![act("cancel planning", Verb::Cancel)],
            TaskState::AwaitingApproval
            | TaskState::Paused
            | TaskState::Blocked { .. }
            | TaskState::AwaitingReview
            | TaskState::Done { .. }
            | TaskState::Failed { .. }
            | TaskState::Abandoned => vec![],
        },
    }
}

/// What fits a step's state. The answers of its gate are the views' to offer.
pub fn of_step(dossier: &Dossier, step: &StepId) -> Vec<Act> {
    let task = &dossier.task;
    let Some(run) = task.step(step).filter(|_| !task.is_over()) else { return vec![] };
    let act = |title: &str, verb| command(format!("{title} `{step}`"), verb, json!({ "task": task.id, "step": step }));
    let (retry, by_hand, done) =
        (act("retry", Verb::Retry), act("take over", Verb::TakeOver), act("mark done", Verb::MarkDone));
    let skip = act("skip", Verb::Skip);
    match &run.state {
        StepState::Waiting | StepState::Running { .. } | StepState::Repairing { .. } => vec![skip, by_hand],
        StepState::AtGate(_) | StepState::Ambiguous(_) if can_retry(dossier, run) => vec![retry, skip, by_hand],
        StepState::AtGate(_) | StepState::Ambiguous(_) => vec![skip, by_hand],
        StepState::Failed { .. } | StepState::Blocked { .. } | StepState::Stale => vec![retry, skip, by_hand, done],
        StepState::TakenOver => vec![done, retry, skip],
        StepState::Skipped => vec![retry],
        StepState::Done(_) => vec![],
    }
}

fn can_retry(dossier: &Dossier, run: &StepRun) -> bool {
    match &run.state {
        StepState::AtGate(gate) => dossier.task.gate(gate).is_some_and(|gate| matches!(gate.ask, Ask::Failed { .. })),
        _ => false,
    }
}

/// The line ending that the document uses.
fn ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Room to write a wish for the next revision: at the step's end, so that no list is cut in two.
fn note(moment: &Moment<'_>, at: &Range<usize>) -> Act {
    let layout = &moment.parsed.layout;
    let (range, title) = match (moment.step_at(at.start), &layout.contract) {
        (Some((_, step)), _) => (step.range.clone(), format!("ask for a change of `{}`…", step.step)),
        (None, Some(contract)) => (contract.heading.start..contract.end, "ask for a change of the plan…".to_owned()),
        (None, None) => (0..moment.text.len(), "ask for a change of the plan…".to_owned()),
    };
    let part = moment.text.get(range.clone()).unwrap_or("").trim_end();
    let ending = ending(moment.text);
    let after_note = part.lines().next_back().is_some_and(|line| line.starts_with('>'));
    let gap = if after_note { ending.to_owned() } else { format!("{ending}{ending}") };
    let end = range.start + part.len();
    edit(title, vec![Replacement { range: end..end, text: format!("{gap}> note: ") }])
}

/// Room to answer the questions at a range.
fn answers(moment: &Moment<'_>, at: &Range<usize>) -> Vec<Act> {
    let questions = edits::questions(moment.parsed);
    let open = questions.into_iter().filter(|question| question.answer.is_none());
    let here = open.filter(|question| question.range.start <= at.end && at.start <= question.range.end);
    here.map(|question| {
        let ended = moment.text.get(question.range.clone()).is_some_and(|text| text.ends_with('\n'));
        let ending = ending(moment.text);
        let text = if ended { format!("> answer: {ending}") } else { format!("{ending}> answer: ") };
        let end = question.range.end;
        edit(format!("answer question {}…", question.number), vec![Replacement { range: end..end, text }])
    })
    .collect()
}

/// The notes of the document, as words for the planner.
pub fn notes(moment: &Moment<'_>) -> Option<String> {
    let layout = &moment.parsed.layout;
    let notes = layout.remarks.iter().filter(|remark| remark.kind == RemarkKind::Note && !remark.words.is_empty());
    let lines: Vec<String> = notes
        .map(|note| {
            let step = layout.steps.iter().find(|step| step.range.contains(&note.range.start));
            step.map_or_else(|| note.words.clone(), |step| format!("{}: {}", step.step, note.words))
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The agent takes the notes and answers of the document in.
fn revise(moment: &Moment<'_>) -> Option<Act> {
    let dossier = moment.dossier.filter(|dossier| !dossier.task.is_over() && !dossier.task.revisions.is_empty())?;
    let answered = edits::questions(moment.parsed).iter().any(|question| question.answer.is_some());
    let (title, words) = match notes(moment) {
        Some(notes) => ("revise the plan with its notes", notes),
        None if answered => ("revise the plan with the answers", "take in the answers that the plan holds".to_owned()),
        None => return None,
    };
    Some(command(title, Verb::Revise, json!({ "task": dossier.task.id, "words": words })))
}

/// Back to what was approved, where the document says something else.
fn restore(moment: &Moment<'_>) -> Option<Act> {
    let dossier = moment.dossier.filter(|dossier| !dossier.task.is_over())?;
    let approved = &dossier.task.approval.as_ref()?.revision;
    if moment.compiled?.approved {
        return None;
    }
    let (_, text) = dossier.revisions.iter().find(|(name, _)| name == approved)?;
    let edits = difference(moment.text, text);
    (!edits.is_empty()).then(|| edit(format!("restore the approved text ({approved})"), edits))
}

/// Edits of whole lines that lead from one text to another.
fn difference(from: &str, to: &str) -> Vec<Replacement> {
    let file = |text: &str| Entry::File { text: text.into(), mode: 0o644 };
    let Ok(path) = WorkspacePath::new("plan.md") else { return vec![] };
    let change = file_change(path, &file(from), &file(to), &StepId::new("plan"), None);
    let edits = change.hunks.iter().filter_map(|hunk| match &hunk.kind {
        HunkKind::Lines { old, .. } => Some(Replacement { range: old.clone(), text: change.new_text(hunk).to_owned() }),
        HunkKind::Create | HunkKind::Delete | HunkKind::Mode => None,
    });
    edits.collect()
}

/// An act that stands above or beside a heading.
#[derive(Clone, PartialEq, Debug)]
pub struct Lens {
    /// The heading.
    pub range: Range<usize>,
    /// What it says, and does when chosen.
    pub act: Act,
}

/// The states and acts of title and steps.
pub fn lenses(moment: &Moment<'_>) -> Vec<Lens> {
    let Some(dossier) = moment.dossier else { return vec![] };
    let task = &dossier.task;
    let state = |words: &str| Act {
        title: words.to_owned(),
        does: Does::Command { verb: Verb::Timeline, arguments: json!({ "task": task.id }) },
    };
    let mut out = Vec::new();
    if let Some(title) = &moment.parsed.layout.title {
        let acts = [state(&dossier.state.words())].into_iter().chain(approve(moment)).chain(of_task(dossier));
        out.extend(acts.map(|act| Lens { range: title.clone(), act }));
    }
    for place in &moment.parsed.layout.steps {
        let range = super::cursor::trimmed(moment, &place.heading);
        let words = moment.state(&place.step).map(state);
        let stuck = task.step(&place.step).is_some_and(|run| is_stuck(&run.state));
        let acts = if stuck { of_step(dossier, &place.step) } else { vec![] };
        let upto = approve_upto(moment, &place.step);
        out.extend(words.into_iter().chain(acts).chain(upto).map(|act| Lens { range: range.clone(), act }));
    }
    out
}

/// A person must act before the step goes on.
fn is_stuck(state: &StepState) -> bool {
    match state {
        StepState::AtGate(_)
        | StepState::Ambiguous(_)
        | StepState::Blocked { .. }
        | StepState::Failed { .. }
        | StepState::Stale
        | StepState::TakenOver => true,
        StepState::Waiting
        | StepState::Running { .. }
        | StepState::Repairing { .. }
        | StepState::Done(_)
        | StepState::Skipped => false,
    }
}

/// Each step's state behind its heading: where, and the words.
pub fn hints(moment: &Moment<'_>) -> Vec<(usize, String)> {
    let steps = moment.parsed.layout.steps.iter();
    steps
        .filter_map(|place| {
            let words = moment.state(&place.step)?;
            Some((super::cursor::trimmed(moment, &place.heading).end, words.to_owned()))
        })
        .collect()
}
