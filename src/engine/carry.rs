//! Decisions into texts: an open document through its editor, everything else on disk.
//!
//! Invariant: nothing is written that the journal does not name first, with what stood there and what is to stand. An
//! editor that says that it did so proves nothing; what comes back is what its text shows (`Editor`). Absent: which
//! hunks, decided before (`review`).

use super::review::Writes;
use super::sight::{self, Sight, is_text};
use super::work::{Came, EffectFault, Halt, Run};
use crate::domain::change::{Entry, FileChange, Hunk, HunkKind, accept};
use crate::domain::ids::*;
use crate::domain::task::action::{Refusal, RefusalKind, Reply};
use crate::domain::task::decide::refuse;
use crate::domain::task::event::{Cause, Intent};
use crate::ports::{EditorOrder, SessionId};

/// What is to be done in one file.
struct Task<'a> {
    path: &'a WorkspacePath,
    change: &'a FileChange,
    put: &'a [HunkId],
    take: &'a [HunkId],
}

/// Writes file by file. What was written before a fault stays, and the answer says what was not; a halt says that the
/// work must stop, and then what is in flight is settled by its hashes.
pub(super) async fn run(
    mut run: Run,
    files: Writes,
    said: String,
    session: Option<SessionId>,
) -> (Result<Reply, Refusal>, Option<Halt>) {
    let mut failed: Vec<String> = Vec::new();
    for ((path, ..), (change, put, take)) in &files {
        let task = Task { path, change, put, take };
        match write(&mut run, &task, &said, session).await {
            Ok(faults) => failed.extend(faults),
            Err(halt) => {
                let message = format!("the decision is noted, but {path} could not be written: {halt:?}");
                return (Err(refuse(RefusalKind::Broken, message, "planwright doctor")), Some(halt));
            }
        }
    }
    let task = run.task.id.clone();
    let result = if failed.is_empty() {
        Ok(Reply { task, message: said })
    } else {
        let next = format!("planwright review {task} shows what stands where");
        Err(refuse(RefusalKind::WrongState, failed.join("\n"), next))
    };
    (result, None)
}

/// One file. Why it was not written, where it was not.
async fn write(run: &mut Run, task: &Task<'_>, said: &str, session: Option<SessionId>) -> Result<Vec<String>, Halt> {
    let sight = match sight::see(&run.world, task.change).await {
        Ok(sight) => sight,
        Err(refusal) => return Ok(vec![refusal.to_string()]),
    };
    let Some(document) = sight.open.clone() else {
        return Ok(on_disk(run, task, &sight.disk).await?.into_iter().collect());
    };
    let is = |id: &HunkId, what: &dyn Fn(&Hunk) -> bool| task.change.hunk(id).is_some_and(what);
    let pick = |ids: &[HunkId], what: &dyn Fn(&Hunk) -> bool| -> Vec<HunkId> {
        ids.iter().filter(|id| is(id, what)).cloned().collect()
    };
    let mut failed = Vec::new();
    // Before the text is changed: an operation needs a document that is as it was saved.
    let (put, take) = (pick(task.put, &|hunk| !is_text(hunk)), pick(task.take, &|hunk| !is_text(hunk)));
    if !put.is_empty() || !take.is_empty() {
        if sight.is_clean() {
            failed.extend(on_disk(run, &Task { put: &put, take: &take, ..*task }, &sight.disk).await?);
        } else {
            let path = task.path;
            failed.push(format!(
                "{path} has text in the editor that is not saved; save it or undo it, then decide again"
            ));
        }
    }
    let (put, take) = (pick(task.put, &is_text), pick(task.take, &is_text));
    if !put.is_empty() || !take.is_empty() {
        let fault = in_editor(run, &Task { put: &put, take: &take, ..*task }, &sight, document, said, session).await?;
        // A file that was made goes again, once its text has gone.
        let made = |hunk: &Hunk| hunk.kind == HunkKind::Create && sight.disk_has(task.change, hunk);
        let gone = pick(&take, &made);
        if fault.is_none() && !gone.is_empty() {
            failed.extend(on_disk(run, &Task { put: &[], take: &gone, ..*task }, &sight.disk).await?);
        }
        failed.extend(fault);
    }
    Ok(failed)
}

/// The file itself. `Some` = why it was not written.
async fn on_disk(run: &mut Run, task: &Task<'_>, before: &Entry) -> Result<Option<String>, Halt> {
    let planned = accept::plan_write(task.change, before, task.put).and_then(|entry| {
        if task.take.is_empty() { Ok(entry) } else { accept::plan_undo(task.change, &entry, task.take) }
    });
    let after: Entry = match planned {
        Ok(after) => after,
        Err(conflict) => return Ok(Some(conflict.to_string())),
    };
    if &after == before {
        return Ok(None);
    }
    let path = task.path.clone();
    let (world, before) = (run.world.clone(), before.clone());
    let intent = Intent::Write { path: path.clone(), before: before.hash(), after: after.hash(), open: false };
    let request = ContentHash::of(format!("write {path} {:?} {:?}", before.hash(), after.hash()));
    let came: Came<()> = run
        .effect(intent, request, 0, |_| async move {
            world.disk.write(&path, &before, &after).await.map(|()| ((), None)).map_err(|why| conflict(why.to_string()))
        })
        .await?;
    Ok(fault(came))
}

/// The document, by its editor. `Some` = why its text is not as decided.
async fn in_editor(
    run: &mut Run,
    task: &Task<'_>,
    sight: &Sight,
    document: WorkspacePath,
    said: &str,
    session: Option<SessionId>,
) -> Result<Option<String>, Halt> {
    let (change, path) = (task.change, task.path);
    let planned = accept::plan_at_spots(change, &sight.current, &sight.standings(), task.put, task.take);
    let after = match planned {
        Ok(after) => after,
        Err(conflict) => return Ok(Some(conflict.to_string())),
    };
    if after == sight.current && task.take.is_empty() {
        return Ok(None);
    }
    let Some((session, editor)) = run.world.documents.editor(&document, session) else {
        return Ok(Some(format!("{path} was closed in this moment; decide again")));
    };
    let (before, after) = (sight.current.hash(), after.hash());
    let request = ContentHash::of(format!("edit {path} {before:?} {after:?}"));
    let intent = Intent::Write { path: path.clone(), before, after, open: true };
    let order = EditorOrder {
        change: FileChange { path: document, ..change.clone() },
        put: task.put.to_vec(),
        take: task.take.to_vec(),
        label: format!("Agent: {said}"),
        until: None,
    };
    // Of an attached process the documents here are a second copy, which the editor there does not speak to.
    run.world.documents.announce(session, &order);
    let came: Came<()> = run
        .effect(intent, request, 0, |_| async move {
            editor.carry_out(order).await.map(|()| ((), None)).map_err(|why| conflict(why.to_string()))
        })
        .await?;
    Ok(fault(came))
}

fn conflict(message: String) -> EffectFault {
    EffectFault { cause: Cause::Conflict, message, usage: None }
}

fn fault(came: Came<()>) -> Option<String> {
    match came {
        Came::Back(()) | Came::Happened(_) => None,
        Came::Failed(fault) => Some(fault.message),
    }
}
