//! Taking over, or declining, what the agent offers for a plan document that is open.
//!
//! Invariant: one edit of the document, asked for because the person said so; afterwards the text decides what is left.
//! Absent: the argument reading of the commands.

use super::Reading;
use crate::domain::ids::{HunkId, TaskId, WorkspacePath};
use crate::domain::task::action::{Action, RefusalKind, Which};
use crate::lsp::session::Session;
use crate::ports::EditorOrder;

/// Why nothing was taken over.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotTaken {
    /// The session has no plan document of the task open.
    #[error("the plan of task {0} is not open here; open it first (planwright.openPlan)")]
    NotOpen(TaskId),
    /// Nothing is offered, or what is named is there already.
    #[error("nothing of that is offered for the plan of task {0} any more")]
    NothingOffered(TaskId),
    /// The edit was not made.
    #[error("{0}")]
    Editor(String),
    /// The engine did not note it.
    #[error("{0}")]
    Engine(String),
}

/// Puts offered changes into the plan document: those that are named, or all. For `planwright.accept` with `plan: true`.
///
/// # Errors
/// A sentence for the person.
pub async fn accept_offered(session: &Session, task: &TaskId, hunks: &[HunkId]) -> Result<(), NotTaken> {
    let (reading, put) = offered(session, task, hunks).await?;
    let offer = reading.offer(session).ok_or_else(|| NotTaken::NothingOffered(task.clone()))?;
    let editor = session.documents().editor(&reading.path, session.id());
    let (_, editor) = editor.ok_or_else(|| NotTaken::NotOpen(task.clone()))?;
    let label = format!("take over {}", offer.revision);
    let order = EditorOrder { change: offer.change, put, take: vec![], label, until: None };
    editor.carry_out(order).await.map_err(|fault| NotTaken::Editor(fault.to_string()))?;
    settle(session, task, &reading.path).await
}

/// Shows offered changes no more in this session; the last one ends the offer. For `planwright.reject` with `plan: true`.
///
/// # Errors
/// A sentence for the person.
pub async fn decline_offered(session: &Session, task: &TaskId, hunks: &[HunkId]) -> Result<(), NotTaken> {
    let (reading, declined) = offered(session, task, hunks).await?;
    session.plans().decline(session, &reading.path, declined);
    settle(session, task, &reading.path).await
}

/// Where the person has decided on all of it, the engine is told. A document that says all of it is taken by the engine
/// itself, which reads it first.
async fn settle(session: &Session, task: &TaskId, path: &WorkspacePath) -> Result<(), NotTaken> {
    let Some(reading) = session.plans().read(session, path).await else { return Ok(()) };
    let waits = reading.dossier.as_ref().is_some_and(|dossier| dossier.offered.is_some());
    let (true, None, Some(place)) = (waits, reading.offer(session), session.place()) else { return Ok(()) };
    let action = Action::Offer { task: Which::Task(task.clone()), take: false };
    match place.port().act(session.actor(), action).await {
        Ok(_) => Ok(()),
        // It ended meanwhile.
        Err(refusal) if refusal.kind == RefusalKind::WrongState => Ok(()),
        Err(refusal) => Err(NotTaken::Engine(refusal.message)),
    }
}

/// The document, and which of its offered changes are meant.
async fn offered(session: &Session, task: &TaskId, named: &[HunkId]) -> Result<(Reading, Vec<HunkId>), NotTaken> {
    let desk = session.desk();
    let file = desk.tasks.iter().find(|dossier| dossier.task.id == *task).and_then(|dossier| dossier.page.as_ref());
    let below = file.and_then(|page| page.path.strip_prefix(&desk.place.root).ok()?.to_str());
    let path = below.and_then(|below| WorkspacePath::new(below).ok());
    let not_open = || NotTaken::NotOpen(task.clone());
    let path = path.ok_or_else(not_open)?;
    let reading = session.plans().read(session, &path).await.ok_or_else(not_open)?;
    let offer = reading.offer(session).ok_or_else(|| NotTaken::NothingOffered(task.clone()))?;
    let all = offer.change.hunks.iter().map(|hunk| hunk.id.clone());
    let meant: Vec<HunkId> = all.filter(|id| named.is_empty() || named.contains(id)).collect();
    if meant.is_empty() { Err(NotTaken::NothingOffered(task.clone())) } else { Ok((reading, meant)) }
}
