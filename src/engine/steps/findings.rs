//! What a step leaves to later ones beside its hunks: its summary, the findings of an `explore`, the error it ended in.
//!
//! Invariant: taken from the journal alone, so that every process gives a step the same start; the artifact in the task
//! folder is a copy for people. Absent: what a model is told of it; that is its brief.

use crate::domain::ids::*;
use crate::domain::plan::{ApprovedPlan, Step, StepKind};
use crate::domain::task::Journal;
use crate::domain::task::event::{Event, Outcome, Payload};
use crate::engine::work::{self, Run};
use crate::engine::world::World;

/// Characters of a summary that later steps see: two or three sentences.
const SUMMARY: usize = 400;

/// Characters of findings that later steps see, about 1,000 tokens: they are what the step was for.
const FINDINGS: usize = 4_000;

/// A step that is done.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Finished {
    step: StepId,
    summary: Payload,
    most: usize,
}

/// The steps of the plan that are done, in the order in which they ended first (C6).
pub(super) fn finished(journal: &Journal, plan: &ApprovedPlan) -> Vec<Finished> {
    let mut all: Vec<Finished> = Vec::new();
    for recorded in journal.iter() {
        if let Event::Ended { work: Work::Step(id), outcome: Outcome::Done { summary, .. }, .. } = &recorded.event {
            let Some(step) = plan.step(id) else { continue };
            let most = if let StepKind::Explore(_) = step.kind { FINDINGS } else { SUMMARY };
            all.retain(|known| &known.step != id);
            all.push(Finished { step: id.clone(), summary: summary.clone(), most });
        }
    }
    all
}

/// Their words. What the store has lost is left at its first characters.
pub(super) async fn read(world: &World, finished: Vec<Finished>) -> Vec<String> {
    let mut all = Vec::new();
    for Finished { step, summary, most } in finished {
        let text = work::read(world, &summary).await.unwrap_or_else(|_| summary.head().to_owned());
        let shown: String = text.chars().take(most).collect();
        let more = if shown.len() < text.len() { " …" } else { "" };
        all.push(format!("{step}: {shown}{more}"));
    }
    all
}

/// What an `explore` step found, in one text; none if it found nothing.
pub(super) fn text(summary: &str, notes: &[String]) -> Option<String> {
    let notes: String = notes.iter().map(|note| format!("- {}\n", note.trim())).collect();
    let text = [summary.trim(), notes.trim_end()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    (!text.is_empty()).then(|| text.join("\n\n"))
}

/// Writes the findings into the task folder, where a person can read them. A folder that cannot be written costs the
/// copy, not the step.
pub(super) async fn keep(run: &Run, step: &Step, found: &str) {
    let page = format!("# {}\n\n{found}\n", step.title);
    let name = format!("artifacts/{}.md", step.id);
    if let Err(refusal) = run.world.workspace.write_page(&run.task.id, &name, &page).await {
        run.line(format!("{}: its findings were not written to {name}: {refusal}", run.work));
    }
}

/// What failed in the step's former attempt.
pub(super) fn learnt(journal: &Journal, step: &StepId) -> Option<String> {
    journal.iter().rev().find_map(|recorded| match &recorded.event {
        Event::Ended { work: Work::Step(id), outcome, .. } if id == step => match outcome {
            Outcome::Failed { cause, message, .. } | Outcome::Blocked { cause, message } => {
                Some(format!("{}: {message}", cause.words()))
            }
            Outcome::Done { .. } | Outcome::Interrupted => None,
        },
        _ => None,
    })
}
