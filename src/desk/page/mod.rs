//! Pages for people, in Markdown: where a task stands, its hunks, what happened.
//!
//! Invariant: pure functions of the snapshot; text from outside is data: it stands in fences that it cannot close, or in
//! one line with its marks made plain, and control characters are left out. Absent: writing; the engine does.

use super::view::{PageView, PreviewView};
use super::{Dossier, Mode, PageKind};
use crate::domain::ids::{StepId, Work};
use crate::domain::plan::StepKind;
use crate::domain::task::action::Refusal;
use crate::domain::task::event::{Event, Outcome, Payload};

/// What a step that only reads has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Which step.
    pub step: StepId,
    /// In full.
    pub text: String,
}

/// What the steps that only read have found: of each the last.
pub fn found(dossier: &Dossier) -> Vec<(&StepId, &Payload)> {
    let Some(page) = &dossier.page else { return Vec::new() };
    let reads = page.plan.steps.iter().filter(|step| matches!(step.kind, StepKind::Explore(_)));
    reads
        .filter_map(|step| {
            dossier.journal.iter().rev().find_map(|recorded| match &recorded.event {
                Event::Ended { work: Work::Step(id), outcome: Outcome::Done { summary, .. }, .. } if id == &step.id => {
                    Some((&step.id, summary))
                }
                _ => None,
            })
        })
        .collect()
}

/// A page as the snapshot alone gives it; of long answers and requests it has the beginning.
///
/// # Errors
/// There is no such page.
pub fn view(dossier: &Dossier, kind: &PageKind) -> Result<PageView, Refusal> {
    let (name, text) = match kind {
        PageKind::Task => {
            let heads = found(dossier).into_iter();
            let answers: Vec<Answer> =
                heads.map(|(step, payload)| Answer { step: step.clone(), text: payload.head().to_owned() }).collect();
            ("task.md".to_owned(), task(dossier, &answers))
        }
        PageKind::Review => ("review.md".to_owned(), review(dossier)),
        PageKind::Timeline(mode) => ("timeline.md".to_owned(), timeline(dossier, *mode)),
        PageKind::Preview(work) => {
            let view = super::preview::view(dossier, work.as_deref())?;
            (preview_name(&view), preview(&view))
        }
    };
    let folder = dossier.page.as_ref().and_then(|page| page.path.parent());
    let path = folder.map_or_else(|| name.clone().into(), |folder| folder.join(&name));
    Ok(PageView { path, text })
}

/// Where the task stands.
pub fn task(dossier: &Dossier, answers: &[Answer]) -> String {
    let mut page = format!("# {}\n\n{}\n", dossier.task.goal.words, dossier.state.words());
    for answer in answers {
        page.push_str(&format!("\n## {}\n\n{}\n", answer.step, answer.text));
    }
    page
}

/// Its hunks.
pub fn review(dossier: &Dossier) -> String {
    format!("# {}\n", dossier.task.goal.words)
}

/// What happened.
pub fn timeline(dossier: &Dossier, _mode: Mode) -> String {
    format!("# {}\n", dossier.task.goal.words)
}

/// What the page of a request is called.
pub fn preview_name(view: &PreviewView) -> String {
    format!("log/preview-{}.md", view.work)
}

/// What a model was sent.
pub fn preview(view: &PreviewView) -> String {
    format!("# {}\n\n{}\n", view.work, view.text.as_deref().unwrap_or("no model has been asked in this task yet"))
}
