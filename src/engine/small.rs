//! A change of one item, and a question: plans of one step that one act makes, approves and runs (A12).
//!
//! Invariant: what is approved is the plan whose contract the action's title showed, by the person who acted; what does
//! not compile is not approved, and stays with its document. Absent: what such a plan says (`domain::plan::small`).

use super::actions::missing;
use super::case::Drive;
use super::opening::{Begun, begin, check_place};
use super::owner::Owner;
use super::{approval, start};
use crate::domain::ids::TaskId;
use crate::domain::plan::{render, small};
use crate::domain::task::action::*;
use crate::domain::task::decide::refuse;
use crate::domain::task::state::Course;

/// Makes the change of one item a task that runs.
///
/// # Errors
/// Why not. Where the plan was made and cannot be approved, the task waits with its document.
pub(super) async fn change(owner: &mut Owner, actor: Actor, goal: Goal, focus: Option<&str>) -> Result<Reply, Refusal> {
    let Some(place) = &goal.place else {
        return Err(refuse(
            RefusalKind::NotFound,
            "a change of one item needs its place",
            "planwright change FILE:LINE \"WORDS\"",
        ));
    };
    has_model(owner, "a change in words")?;
    check_place(owner, &goal).await?;
    let listed = owner.world.workspace.list().await;
    let detected = start::detected(&owner.world, &goal, &listed).await;
    let check = detected.quick.or(detected.full);
    let plan = small::change(&goal, &place.path, focus, check.as_ref());
    begin_and_run(owner, actor, goal, render(&plan), "one step, made from the words and the place").await
}

/// Makes a question a task that reads and answers.
///
/// # Errors
/// Why not.
pub(super) async fn ask(owner: &mut Owner, actor: Actor, goal: Goal) -> Result<Reply, Refusal> {
    has_model(owner, "a question")?;
    let plan = small::question(&goal);
    begin_and_run(owner, actor, goal, render(&plan), "a question; it reads and changes nothing").await
}

async fn begin_and_run(
    owner: &mut Owner,
    actor: Actor,
    goal: Goal,
    document: String,
    reason: &str,
) -> Result<Reply, Refusal> {
    let id = match begin(owner, &actor, goal, Some(document), reason).await? {
        // A process may have died between the steps of this one act; whoever repeats it means all of them.
        Begun::Known(reply) if is_begun(owner, &reply.task) => return Ok(reply),
        Begun::Known(Reply { task, .. }) | Begun::New(task) => task,
    };
    let Some(page) = owner.cases.get(&id).and_then(|case| case.page.clone()) else { return Err(missing(&id)) };
    let task = Which::Task(id.clone());
    if let Err(refusal) = approval::approve(owner, &id, actor.clone(), &page.revision, None).await {
        return Err(Refusal { message: format!("task {id} waits with its plan: {}", refusal.message), ..refusal });
    }
    owner.simple(&id, actor, &Action::Run { task }).await?;
    Ok(Reply { message: format!("task {id} runs"), task: id })
}

/// It was approved, and runs here or was held by a person since.
fn is_begun(owner: &Owner, id: &TaskId) -> bool {
    owner.cases.get(id).is_some_and(|case| {
        let held = matches!(case.task.course, Course::Paused { .. });
        case.task.approval.is_some() && (held || case.drive == Drive::Run)
    })
}

/// Both need a model; a task that could only stand still is not made.
fn has_model(owner: &Owner, what: &str) -> Result<(), Refusal> {
    if owner.world.model.info().is_some() {
        return Ok(());
    }
    Err(refuse(
        RefusalKind::WrongState,
        format!("{what} needs a model, and none is configured; nothing was done"),
        owner.world.model.connect(),
    ))
}
