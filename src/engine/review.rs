//! Decisions on hunks of closed files: journaled first, then written, and counted when the text says so (E4).
//!
//! Invariant: the user's text changes only here, by the hunks that were named and by nothing else (invariant 5).
//! Absent: hunk states; they are derived again from the text afterwards.

use super::actions::broken;
use super::case::Drive;
use super::owner::Owner;
use super::work::{Came, EffectFault, Halt, Run};
use crate::desk::ReviewHunk;
use crate::domain::change::{Decision, Entry, FileChange, Flag, HunkState, accept};
use crate::domain::ids::*;
use crate::domain::task::action::{Actor, Refusal, RefusalKind, Reply, Target};
use crate::domain::task::decide::refuse;
use crate::domain::task::event::{Cause, Event, Intent};
use crate::ports::Durability;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;

/// Hunks that an answer names; more are counted.
const NAMED: usize = 8;

/// What a person wants with hunks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    /// Put them into the text.
    Accept(Target),
    /// Leave them out, with this reason.
    Reject(Target, Option<String>),
    /// Take decisions back.
    Undo(Target),
}

/// Writes that follow from a decision. By path and by the step whose change it is (a kept hunk may be of an older one):
/// the change, hunks to put in, hunks to take out.
pub(super) type Writes = BTreeMap<(WorkspacePath, StepId), (FileChange, Vec<HunkId>, Vec<HunkId>)>;

/// A decision to be carried out, and where its answer goes.
pub(super) struct Order {
    /// What is to be written.
    pub(super) files: Writes,
    /// What was decided, in words.
    pub(super) said: String,
    /// The answer waits until the text is written.
    pub(super) answer: oneshot::Sender<Result<Reply, Refusal>>,
}

impl Owner {
    /// Decides, and has the writes carried out; the answer comes when the text is written.
    pub(super) async fn review(
        &mut self,
        wish: Result<(TaskId, Wish), Refusal>,
        actor: Actor,
        answer: oneshot::Sender<Result<Reply, Refusal>>,
    ) {
        let result = match wish {
            Ok((id, wish)) => self.decide_hunks(&id, wish, actor).await.map(|decided| (id, decided)),
            Err(refusal) => Err(refusal),
        };
        match result {
            Err(refusal) => {
                let _asker_gone = answer.send(Err(refusal));
            }
            Ok((id, (files, said))) => self.spawn_review(&id, Order { files, said, answer }),
        }
    }

    async fn decide_hunks(&mut self, id: &TaskId, wish: Wish, actor: Actor) -> Result<(Writes, String), Refusal> {
        if let Some(case) = self.cases.get_mut(id) {
            case.stale = true;
        }
        self.refresh_hunks(id).await;
        let Some(case) = self.cases.get(id) else { return Err(super::actions::missing(id)) };
        if case.task.is_over() {
            let next = format!("planwright review {id} --all");
            return Err(refuse(RefusalKind::WrongState, format!("task {id} is over; its decisions stand"), next));
        }
        if case.live.contains_key(&Work::Review) {
            let next = "try again in a moment";
            return Err(refuse(RefusalKind::WrongState, "a decision is being carried out just now", next));
        }
        let hunks = case.hunks.clone();
        let (chosen, unfit) = choose(&hunks, &wish, id, &case.task.decisions)?;
        let mut files = Writes::new();
        let mut events = Vec::new();
        for hunk in &chosen {
            let Some((step, change)) = case.change_with(&hunk.path, &hunk.id) else { continue };
            let (decision, puts, takes) = match &wish {
                Wish::Accept(_) => (Decision::Accept, hunk.state == HunkState::Open, false),
                Wish::Reject(_, reason) => (Decision::Reject(reason.clone()), false, hunk.state == HunkState::Accepted),
                Wish::Undo(_) => (Decision::Undo, false, hunk.state == HunkState::Accepted),
            };
            events.push(Event::HunkDecided {
                hunk: hunk.id.clone(),
                path: hunk.path.clone(),
                shown: hunk.shown.clone(),
                decision,
                actor: actor.clone(),
            });
            let (_, put, take) = files
                .entry((hunk.path.clone(), step.clone()))
                .or_insert_with(|| (change.clone(), Vec::new(), Vec::new()));
            if puts {
                put.push(hunk.id.clone());
            }
            if takes {
                take.push(hunk.id.clone());
            }
        }
        files.retain(|_, (_, put, take)| !put.is_empty() || !take.is_empty());
        self.append(id, events, Durability::Disk).await.map_err(broken)?;
        self.drive(id, Drive::Judged);
        let word = match &wish {
            Wish::Accept(_) => "accepted",
            Wish::Reject(..) => "rejected",
            Wish::Undo(_) => "taken back",
        };
        let said = if chosen.len() <= NAMED {
            let names = chosen.iter().map(|hunk| hunk.id.to_string()).collect::<Vec<_>>().join(", ");
            format!("{word}: {names}")
        } else {
            let paths: BTreeSet<&WorkspacePath> = chosen.iter().map(|hunk| &hunk.path).collect();
            format!("{word}: {} hunks in {} files", chosen.len(), paths.len())
        };
        Ok((files, if unfit == 0 { said } else { format!("{said}; {unfit} no longer fit and stay pending") }))
    }
}

/// The hunks that a target names and the wish can be for, and how many it would mean but cannot be had.
fn choose<'a>(
    hunks: &'a [ReviewHunk],
    wish: &Wish,
    id: &TaskId,
    decisions: &BTreeMap<HunkId, crate::domain::task::state::Decided>,
) -> Result<(Vec<&'a ReviewHunk>, usize), Refusal> {
    let next = format!("planwright review {id} --all");
    let nothing = |what: &str| Err(refuse(RefusalKind::WrongState, what.to_owned(), next.clone()));
    let (target, undo) = match wish {
        Wish::Accept(target) | Wish::Reject(target, _) => (target, false),
        Wish::Undo(target) => (target, true),
    };
    let decided = |hunk: &ReviewHunk| match &hunk.decision {
        Some((Decision::Accept | Decision::Reject(_), _)) => true,
        Some((Decision::Undo, _)) | None => false,
    };
    let candidate = |hunk: &&ReviewHunk| if undo { decided(hunk) } else { hunk.pending };
    let chosen: Vec<&ReviewHunk> = match target {
        Target::Hunks(ids) => {
            let mut chosen = Vec::new();
            for id in ids {
                match hunks.iter().find(|hunk| &hunk.id == id) {
                    Some(hunk) => chosen.push(hunk),
                    None => {
                        return Err(refuse(
                            RefusalKind::NotFound,
                            format!("there is no hunk `{id}` in this task"),
                            next,
                        ));
                    }
                }
            }
            chosen
        }
        Target::File(path) => hunks.iter().filter(|hunk| &hunk.path == path).filter(candidate).collect(),
        Target::Step(step) => hunks.iter().filter(|hunk| &hunk.step == step).filter(candidate).collect(),
        Target::All if undo => {
            let last = decisions.values().filter(|d| d.decision != Decision::Undo).map(|d| d.at).max();
            let in_last = |hunk: &&ReviewHunk| decisions.get(&hunk.id).is_some_and(|d| Some(d.at) == last);
            hunks.iter().filter(candidate).filter(in_last).collect()
        }
        Target::All => {
            let certain = |hunk: &&ReviewHunk| !hunk.flags.iter().any(|flag| matches!(flag, Flag::Uncertain(_)));
            hunks.iter().filter(candidate).filter(certain).collect()
        }
    };
    // Who names a file, a step or all means what can be had; what no longer fits stays pending and is seen in the review.
    let (fitting, unfit): (Vec<&ReviewHunk>, Vec<&ReviewHunk>) =
        chosen.iter().copied().partition(|hunk| hunk.state != HunkState::Touched);
    let broad = matches!(target, Target::File(_) | Target::Step(_) | Target::All);
    let left = broad && matches!(wish, Wish::Accept(_)) && !fitting.is_empty();
    let (chosen, unfit) = if left { (fitting, unfit.len()) } else { (chosen, 0) };
    if chosen.is_empty() {
        let whose = match target {
            Target::File(path) => format!(" in {path}"),
            Target::Step(step) => format!(" of step {step}"),
            Target::Hunks(_) | Target::All => String::new(),
        };
        return nothing(&if undo {
            format!("there is no decision{whose} to take back")
        } else {
            format!("no hunk{whose} waits for this decision")
        });
    }
    if let Wish::Accept(_) = wish
        && let Some(touched) = chosen.iter().find(|hunk| hunk.state == HunkState::Touched)
    {
        return Err(refuse(
            RefusalKind::WrongState,
            format!(
                "{} no longer fits: the text at its place in {} has changed, and nothing is guessed",
                touched.id, touched.path
            ),
            format!("planwright review {id} shows both sides; reject it, or bring its place back and accept it"),
        ));
    }
    Ok((chosen, unfit))
}

/// Writes file by file. What was written before a fault stays, and the answer says what was not; a halt says that the
/// work must stop, and then what is in flight is settled by its hashes.
pub(super) async fn run(mut run: Run, files: Writes, said: String) -> (Result<Reply, Refusal>, Option<Halt>) {
    let mut failed: Vec<String> = Vec::new();
    for ((path, _), (change, put, take)) in files {
        match write(&mut run, &path, &change, &put, &take).await {
            Ok(None) => {}
            Ok(Some(why)) => failed.push(why),
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

/// One file. `Some` = why it was not written.
async fn write(
    run: &mut Run,
    path: &WorkspacePath,
    change: &FileChange,
    put: &[HunkId],
    take: &[HunkId],
) -> Result<Option<String>, Halt> {
    let before = match run.world.workspace.read(path).await {
        Ok(entry) => entry,
        Err(refusal) => return Ok(Some(refusal.to_string())),
    };
    let planned = accept::plan_write(change, &before, put)
        .and_then(|entry| if take.is_empty() { Ok(entry) } else { accept::plan_undo(change, &entry, take) });
    let after: Entry = match planned {
        Ok(after) => after,
        Err(conflict) => return Ok(Some(conflict.to_string())),
    };
    if after == before {
        return Ok(None);
    }
    let intent = Intent::Write { path: path.clone(), before: before.hash(), after: after.hash() };
    let request = ContentHash::of(format!("write {path} {:?} {:?}", before.hash(), after.hash()));
    let world = run.world.clone();
    let wanted = path.clone();
    let came: Came<()> = run
        .effect(intent, request, 0, |_| async move {
            world.workspace.write(&wanted, &before, &after).await.map(|()| ((), None)).map_err(|refusal| EffectFault {
                cause: Cause::Conflict,
                message: refusal.to_string(),
                usage: None,
            })
        })
        .await?;
    Ok(match came {
        Came::Back(()) | Came::Happened(_) => None,
        Came::Failed(fault) => Some(fault.message),
    })
}
