//! What a dead process left in flight: settled by kind, by a probe, or by a person (B4). A write to a user's file is
//! brought to its end first (`Workspace::mend`), then settled by its hashes; what was put back or kept is announced.
//!
//! Invariant: an effect that may have reached outside is never repeated without a probe's or a person's word. Nobody
//! waits for a probe. Absent: going on; that is the owner's `advance`, once somebody carries the task on.

use super::case::Live;
use super::input::{Input, Ticket};
use super::owner::Owner;
use crate::domain::ids::*;
use crate::domain::plan::Command;
use crate::domain::task::event::*;
use crate::domain::task::facts::Ended;
use crate::domain::task::state::EffectRun;
use crate::ports::{Durability, ReadRefusal, RunOrder, Stage, StoreFault};
use std::sync::Arc;
use std::time::Duration;

/// A probe only looks; it gets the time of a tool (B5).
const PROBE_TIME: Duration = Duration::from_secs(30);

/// Settles, at the opening of a workspace, what was in flight when the former process died. The lock proves that
/// nobody else is at it.
pub(super) async fn recover(owner: &mut Owner, id: &TaskId) -> Result<(), StoreFault> {
    let Some(case) = owner.cases.get(id) else { return Ok(()) };
    let gated = |effect: &EffectRun| {
        case.task.open_gates().any(|gate| matches!(&gate.ask, Ask::Ambiguous { effect: e, .. } if e == &effect.id))
    };
    // Of a task that is over nobody asks anything, but a write that was under way is known by its hashes.
    let matters = |effect: &EffectRun| !case.task.is_over() || effect.id.work == Work::Review;
    let left: Vec<EffectRun> =
        case.task.in_flight().filter(|effect| matters(effect) && !gated(effect)).cloned().collect();
    for effect in left {
        let lost = Event::Settled { effect: effect.id.clone(), result: Settlement::Lost };
        match &effect.what {
            Intent::Model { .. } | Intent::Tool { .. } | Intent::Snapshot | Intent::Transform | Intent::Format => {
                owner.append(id, vec![lost], Durability::Process).await?;
            }
            Intent::Command { repeatable: true, .. } => {
                owner.append(id, vec![lost], Durability::Process).await?;
            }
            Intent::Command { command, repeatable: false } => ask(owner, id, &effect.id, command).await?,
            // A probe waits until somebody carries the task on: it is a command, and showing a task starts none.
            Intent::Outside { probe: Some(_), .. } => {}
            Intent::Outside { command, probe: None, .. } => ask(owner, id, &effect.id, command).await?,
            Intent::Write { path, before, after, open } => {
                let found = if *open {
                    owner.world.workspace.read(path).await.map(|entry| entry.hash())
                } else {
                    let mended = owner.world.disk.mend(path, before, after).await;
                    mended.said.into_iter().for_each(|said| owner.announce(id, said));
                    mended.found
                };
                let result = match settle_write(path, found, before, after) {
                    // The buffer went with its editor, or went on; its text is the user's, and says all there is.
                    Settlement::Failed { .. } if *open => Settlement::DidNotHappen {
                        by: format!("the editor's text of {path} is another now; its hunks show what stands there"),
                    },
                    settled => settled,
                };
                owner
                    .append(id, vec![Event::Settled { effect: effect.id.clone(), result }], Durability::Process)
                    .await?;
            }
        }
    }
    Ok(())
}

/// Has the probe asked of an outside effect that is in doubt, if there is one. True when one was started: a command, and
/// so work beside the loop, under the ticket of the effect's own work.
pub(super) fn probe(owner: &mut Owner, id: &TaskId) -> bool {
    let Some(case) = owner.cases.get(id) else { return false };
    let asked = |effect: &EffectRun| {
        case.task.open_gates().any(|gate| matches!(&gate.ask, Ask::Ambiguous { effect: e, .. } if e == &effect.id))
    };
    let doubtful = case.task.in_flight().find(|effect| {
        let probed = matches!(effect.what, Intent::Outside { probe: Some(_), .. });
        probed && !case.live.contains_key(&effect.id.work) && !asked(effect)
    });
    let Some(EffectRun { id: effect, what, .. }) = doubtful.cloned() else { return false };
    let Intent::Outside { command, probe: Some(probe), key } = what else { return false };
    let order = RunOrder {
        task: id.clone(),
        effect: effect.clone(),
        command: probe,
        stage: Stage::Workspace,
        timeout: PROBE_TIME,
        // It asks whether exactly this effect happened.
        keeps: false,
        key: Some(key),
        trace: case.task.trace.clone(),
    };
    let ticket = owner.ticket(id, effect.work.clone());
    let (work, serial) = (ticket.work.clone(), ticket.serial);
    let (arena, inbox) = (owner.world.arena.clone(), owner.inbox.clone());
    let asking = tokio::spawn(async move {
        let said = shell_words::join(&order.command.argv);
        match arena.run(order, Arc::new(|_: &str| {})).await.map(|outcome| outcome.ended) {
            Ok(Ended::Exit(0)) => {
                Some(Settlement::Happened { by: format!("the probe `{said}` says that it happened") })
            }
            Ok(Ended::Exit(1)) => {
                Some(Settlement::DidNotHappen { by: format!("the probe `{said}` says that it did not happen") })
            }
            Ok(_) | Err(_) => None,
        }
    });
    let handle = asking.abort_handle();
    tokio::spawn(async move {
        let result = match asking.await {
            Ok(result) => result,
            Err(error) if error.is_cancelled() => return,
            // A panic says nothing of the effect: a person must.
            Err(_) => None,
        };
        let _engine_gone = inbox.send(Input::Probed { ticket, effect, command, result });
    });
    if let Some(case) = owner.cases.get_mut(id) {
        case.live.insert(work, Live { serial, handle });
    }
    true
}

/// A probe has come back: what it says is noted, or a person is asked.
pub(super) async fn probed(
    owner: &mut Owner,
    ticket: Ticket,
    effect: EffectId,
    command: &Command,
    result: Option<Settlement>,
) {
    let id = &ticket.task;
    let Some(case) = owner.cases.get_mut(id) else { return };
    if case.live.get(&ticket.work).is_none_or(|live| live.serial != ticket.serial) {
        return;
    }
    case.live.remove(&ticket.work);
    let noted = match result {
        Some(result) => owner.append(id, vec![Event::Settled { effect, result }], Durability::Disk).await.map(|_| ()),
        None => ask(owner, id, &effect, command).await,
    };
    match noted {
        Ok(()) => owner.advance(id).await,
        Err(fault) => owner.stuck(id, &fault),
    }
}

/// A person must say what happened.
async fn ask(owner: &mut Owner, id: &TaskId, effect: &EffectId, command: &Command) -> Result<(), StoreFault> {
    let Some(case) = owner.cases.get(id) else { return Ok(()) };
    let gate = GateId::new(format!("g{}", case.task.gates_opened.saturating_add(1)));
    let ask = Ask::Ambiguous { effect: effect.clone(), command: command.clone() };
    let opened = Event::GateOpened { gate, work: effect.work.clone(), ask };
    owner.append(id, vec![opened], Durability::Process).await.map(|_| ())
}

/// A write to a user's file is settled by its hashes.
fn settle_write(
    path: &WorkspacePath,
    found: Result<ContentHash, ReadRefusal>,
    before: &ContentHash,
    after: &ContentHash,
) -> Settlement {
    match found {
        Ok(found) if &found == after => Settlement::Happened { by: format!("{path} holds what was to be written") },
        Ok(found) if &found == before => Settlement::DidNotHappen { by: format!("{path} is as it was") },
        Ok(_) => Settlement::Failed {
            cause: Cause::Conflict,
            message: format!(
                "{path} holds neither what was there nor what was to be written; its hunks show what they find"
            ),
            usage: None,
        },
        Err(refusal) => Settlement::Failed { cause: Cause::Conflict, message: refusal.to_string(), usage: None },
    }
}
