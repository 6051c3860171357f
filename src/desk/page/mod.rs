//! Pages for people, in Markdown: where a task stands, its hunks, what happened.
//!
//! Invariant: pure functions of the snapshot; text from outside is data ([`markdown`]). Every wait and every failure
//! comes with what can be done about it, as an editor's command and as a terminal's. Absent: writing; the engine does.

mod markdown;
mod review;
mod task;
mod timeline;

#[cfg(test)]
mod tests;

pub use review::review;
pub use task::{says_the_same, task};
pub use timeline::timeline;

use super::view::{AnswerView, Choice, PageView, PreviewView};
use super::{Dossier, PageKind};
use crate::actions;
use crate::domain::ids::StepId;
use crate::domain::plan::{Step, StepKind};
use crate::domain::task::action::Refusal;
use crate::domain::task::event::Payload;
use markdown::{code, fence, line};
use std::path::PathBuf;

/// What the snapshot lacks and a page has room for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Aids {
    /// What steps that only read have found.
    pub answers: Vec<AnswerView>,
    /// What is known of a plan that is being made.
    pub sketch: Option<Sketch>,
}

/// What is known of a plan before anybody has made it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sketch {
    /// The checks that the project suggests, as a plan says them.
    pub checks: Vec<String>,
    /// Which file says so.
    pub because: String,
}

/// What the steps that only read have found: of each the last.
pub fn found(dossier: &Dossier) -> Vec<(&StepId, &Payload)> {
    let Some(page) = &dossier.page else { return Vec::new() };
    let reads = page.plan.steps.iter().filter(|step| finds(step));
    let last = |id: &StepId| dossier.told.found.iter().find(|(step, _)| step == id).map(|(_, payload)| payload);
    reads.filter_map(|step| Some((&step.id, last(&step.id)?))).collect()
}

/// What this step finds is shown.
pub fn finds(step: &Step) -> bool {
    matches!(step.kind, StepKind::Explore(_))
}

/// A page as the snapshot alone gives it; of long answers and requests it has the beginning.
///
/// # Errors
/// There is no such page.
pub fn view(dossier: &Dossier, kind: &PageKind) -> Result<PageView, Refusal> {
    let (name, text) = match kind {
        PageKind::Task => {
            let heads = found(dossier).into_iter();
            let answers =
                heads.map(|(step, payload)| AnswerView { step: step.clone(), text: payload.head().to_owned() });
            (TASK.to_owned(), task(dossier, &Aids { answers: answers.collect(), sketch: None }))
        }
        PageKind::Review => (REVIEW.to_owned(), review(dossier)),
        PageKind::Timeline(mode) => (TIMELINE.to_owned(), timeline(dossier, *mode)),
        PageKind::Preview(work) => {
            let view = super::preview::view(dossier, work.as_deref())?;
            (preview_name(&view), preview(&view))
        }
    };
    let path = beside(dossier, &name).unwrap_or_else(|| name.into());
    Ok(PageView { path, text })
}

/// Where a page is, as far as the plan document tells where its folder is.
pub fn beside(dossier: &Dossier, name: &str) -> Option<PathBuf> {
    Some(dossier.page.as_ref()?.path.parent()?.join(name))
}

/// The name of the page of a task.
pub const TASK: &str = "task.md";
/// The name of the page of its hunks.
pub const REVIEW: &str = "review.md";
/// The name of the page of what happened.
pub const TIMELINE: &str = "timeline.md";

/// The name of the page of a request.
pub fn preview_name(view: &PreviewView) -> String {
    format!("log/preview-{}.md", view.work)
}

/// What a model was sent.
pub fn preview(view: &PreviewView) -> String {
    let mut page = format!("# What the model was sent last for {}\n\n", line(&view.work));
    match &view.text {
        None => page.push_str("No model has been asked in this task yet.\n"),
        Some(text) => page.push_str(&fence("text", text)),
    }
    page
}

/// A thing that can be done: what it means, the editor's command, the terminal's command.
fn choice(choice: &Choice) -> String {
    let word = choice.command.strip_prefix("planwright ").and_then(|rest| rest.split(' ').next());
    let id = word.and_then(actions::of_word).and_then(actions::Row::command_id);
    let editor = id.map_or_else(String::new, |id| format!("{} · ", code(&id)));
    format!("- {}: {editor}{}\n", line(&choice.means), code(&choice.command))
}

fn choices(all: &[Choice]) -> String {
    all.iter().map(choice).collect()
}
