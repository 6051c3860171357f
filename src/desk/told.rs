//! What a journal tells of work that pages need: attempts, errors, findings.
//!
//! Invariant: a fold over the journal, event by event, and what comes of it is small and bounded; so whoever has no
//! journal renders the same page as whoever has. Absent: the journal itself, and what timelines need of it.

use super::view::by;
use super::{status, words};
use crate::domain::ids::{StepId, Work};
use crate::domain::task::event::{Event, Outcome, Payload, Settlement};
use crate::domain::task::state::{ProgressState, StepState, Task};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Errors that a failure report shows; the timeline has the rest.
const ERRORS: usize = 3;

/// Attempts that it shows; a person who asked for more knows of the older ones.
const TRIED: usize = 12;

/// Characters of an error: the lines that name its cause. The store has the whole.
const ERROR: usize = 4_000;

/// What pages need of a task's journal.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Told {
    /// Of the work that has failed.
    pub reports: Vec<Report>,
    /// What steps have found: of each the last.
    pub found: Vec<(StepId, Payload)>,
}

/// What was tried, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Of which work.
    pub work: Work,
    /// Each attempt in a line.
    pub tried: Vec<String>,
    /// Errors as they were seen, the last first.
    pub errors: Vec<String>,
}

impl Told {
    /// What is told of some work.
    pub fn of(&self, work: &Work) -> Option<&Report> {
        self.reports.iter().find(|report| &report.work == work)
    }
}

/// The journal so far, work by work.
#[derive(Clone, Debug, Default)]
pub struct Record(BTreeMap<Work, OfWork>);

#[derive(Clone, Debug, Default)]
struct OfWork {
    tried: VecDeque<String>,
    /// The last first.
    errors: VecDeque<String>,
    /// Repair rounds of the attempt under way.
    rounds: u32,
    found: Option<Payload>,
}

impl Record {
    /// Of these events, in order.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut record = Self::default();
        events.into_iter().for_each(|event| record.take(event));
        record
    }

    /// Takes the next event in.
    pub fn take(&mut self, event: &Event) {
        if let Event::Began { work, .. } = event {
            self.at(work).rounds = 0;
        } else if let Event::Repairing { step, round } = event {
            self.at(&Work::Step(step.clone())).rounds = *round;
        } else if let Event::RetryAsked { work, actor } = event {
            self.at(work).tried(format!("another attempt, asked for by {}", by(actor)));
        } else if let Event::Ended { work, attempt, outcome } = event {
            let of = self.at(work);
            let repaired = match of.rounds {
                0 => String::new(),
                1 => ", 1 repair round".to_owned(),
                more => format!(", {more} repair rounds"),
            };
            of.tried(format!("attempt {attempt}{repaired}: {}", outcome_in_words(outcome)));
            if let Outcome::Done { summary, .. } = outcome {
                of.found = Some(summary.clone());
            }
        } else if let Event::Settled { effect, result: Settlement::Failed { cause, message, .. } } = event {
            self.at(&effect.work).error(&format!("{}: {message}", cause.words()));
        } else if let Event::Judged { work, check, verdict, evidence, .. } = event {
            let (passed, said) = status::verdict(verdict);
            if !passed {
                let lines = [format!("{} {said}", words::check(check)), evidence.head().trim().to_owned()];
                self.at(work).error(lines.join("\n").trim_end());
            }
        }
    }

    fn at(&mut self, work: &Work) -> &mut OfWork {
        self.0.entry(work.clone()).or_default()
    }

    /// What pages need as the task stands. `finds`: what this step finds is shown.
    pub fn told(&self, task: &Task, finds: impl Fn(&StepId) -> bool) -> Told {
        let report = |work: Work| {
            let of = self.0.get(&work)?;
            Some(Report {
                tried: of.tried.iter().cloned().collect(),
                errors: of.errors.iter().cloned().collect(),
                work,
            })
        };
        let found = |(work, of): (&Work, &OfWork)| match (work, &of.found) {
            (Work::Step(step), Some(payload)) if finds(step) => Some((step.clone(), payload.clone())),
            (Work::Step(_) | Work::Planning | Work::Baseline | Work::Acceptance | Work::Review, _) => None,
        };
        Told { reports: failed(task).filter_map(report).collect(), found: self.0.iter().filter_map(found).collect() }
    }
}

impl OfWork {
    fn tried(&mut self, line: String) {
        self.tried.push_back(line);
        if self.tried.len() > TRIED {
            self.tried.pop_front();
        }
    }

    fn error(&mut self, error: &str) {
        let end = error.char_indices().nth(ERROR).map_or(error.len(), |(at, _)| at);
        let head = error.get(..end).unwrap_or_default();
        self.errors.push_front(if end < error.len() { format!("{head}…") } else { head.to_owned() });
        self.errors.truncate(ERRORS);
    }
}

/// The work of a task that has failed.
pub(super) fn failed(task: &Task) -> impl Iterator<Item = Work> {
    let whole = [(Work::Planning, &task.planning.state), (Work::Acceptance, &task.acceptance.state)];
    let whole = whole.into_iter().filter(|(_, state)| matches!(state, ProgressState::Failed { .. }));
    let steps =
        task.steps.iter().filter(|run| matches!(run.state, StepState::Failed { .. } | StepState::Blocked { .. }));
    whole.map(|(work, _)| work).chain(steps.map(|run| Work::Step(run.id.clone())))
}

/// How an attempt ended, in one line.
fn outcome_in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done { verified: true, .. } => "done (verified)".to_owned(),
        Outcome::Done { verified: false, .. } => "done (not verified)".to_owned(),
        Outcome::Failed { cause, message, .. } => format!("failed ({}): {}", cause.words(), words::head(message)),
        Outcome::Blocked { cause, message } => format!("blocked ({}): {}", cause.words(), words::head(message)),
        Outcome::Interrupted => "interrupted".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a broken fixture is to fail its test")]

    use super::*;
    use crate::desk::fixture::{dossier, story};
    use crate::domain::task::standing::TaskState;

    #[test]
    fn what_is_told_is_bounded_whatever_was_tried() {
        let blocked = TaskState::Blocked { why: String::new(), next: String::new() };
        let task = dossier("k3xf", story(), blocked).task;
        let mut record = Record::default();
        for _ in 0..100 {
            for (_, event) in story() {
                record.take(&event);
            }
        }
        let told = record.told(&task, |_| true);
        let report = told.of(&Work::Step(StepId::new("policy"))).unwrap();
        assert_eq!((report.tried.len(), report.errors.len()), (TRIED, ERRORS));
        let mut of = OfWork::default();
        of.error(&"é".repeat(ERROR * 3));
        assert_eq!(of.errors[0].chars().count(), ERROR + 1);
    }
}
