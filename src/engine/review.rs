//! Decisions on hunks: journaled first, then carried out, and counted when the text says so (E4).
//!
//! Invariant: the user's text changes only from here, by the hunks that were named and by nothing else (invariant 5).
//! One decision of a task is carried out at a time; the next is judged by what it left. Absent: hunk states, derived
//! again from the text afterwards, and the writing itself (`carry`).

use super::actions::broken;
use super::case::{Case, Drive};
use super::owner::Owner;
use super::refresh::Stale;
use super::settle::{Swaps, touched};
use super::sight::is_text;
use crate::desk::ReviewHunk;
use crate::domain::change::{Decision, FileChange, Flag, HunkState};
use crate::domain::ids::*;
use crate::domain::task::action::{Actor, Refusal, RefusalKind, Reply, Side, Target};
use crate::domain::task::decide::refuse;
use crate::domain::task::event::Event;
use crate::domain::text::counted;
use crate::ports::{Durability, SessionId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
    /// Settle the one that no longer fits: this one, or the only one; as it was shown.
    Resolve(Option<HunkId>, Side, Option<ContentHash>),
    /// Take decisions back.
    Undo(Target),
}

/// Writes that follow from a decision. By path, by the step whose change it is (a kept hunk may be of an older one), and
/// whether it is no proposal's change but one that puts something else in a hunk's place: the change, hunks to put in,
/// hunks to take out.
pub(super) type Writes = BTreeMap<(WorkspacePath, StepId, bool), (FileChange, Vec<HunkId>, Vec<HunkId>)>;

/// A decision to be carried out, and where its answer goes.
pub(super) struct Order {
    /// What is to be written.
    pub(super) files: Writes,
    /// What was decided, in words.
    pub(super) said: String,
    /// In which editor; its own document is changed, where it has the file open.
    pub(super) session: Option<SessionId>,
    /// The answer waits until the text is written.
    pub(super) answer: oneshot::Sender<Result<Reply, Refusal>>,
}

/// A decision that waits for the one before it.
pub(super) struct Waiting {
    wish: Wish,
    actor: Actor,
    session: Option<SessionId>,
    answer: oneshot::Sender<Result<Reply, Refusal>>,
}

impl Waiting {
    /// It will not be carried out.
    pub(super) fn refuse(self, refusal: Refusal) {
        let _asker_gone = self.answer.send(Err(refusal));
    }
}

impl Owner {
    /// Decides, and has the writes carried out; the answer comes when the text is written.
    pub(super) async fn review(
        &mut self,
        wish: Result<(TaskId, Wish), Refusal>,
        actor: Actor,
        session: Option<SessionId>,
        answer: oneshot::Sender<Result<Reply, Refusal>>,
    ) {
        let (id, wish) = match wish {
            Ok(wish) => wish,
            Err(refusal) => {
                let _asker_gone = answer.send(Err(refusal));
                return;
            }
        };
        // An editor takes a moment; whoever decides on the next hunk meanwhile means it.
        if self.cases.get(&id).is_some_and(|case| case.live.contains_key(&Work::Review)) {
            self.waiting.entry(id).or_default().push_back(Waiting { wish, actor, session, answer });
            return;
        }
        match self.decide_hunks(&id, wish, actor).await {
            Err(refusal) => {
                let _asker_gone = answer.send(Err(refusal));
            }
            Ok((files, said)) => self.spawn_review(&id, Order { files, said, session, answer }),
        }
    }

    /// Takes up the decisions that waited, as far as one of them has to be carried out.
    pub(super) async fn next_decision(&mut self, id: &TaskId) {
        while !self.cases.get(id).is_some_and(|case| case.live.contains_key(&Work::Review)) {
            let next = self.waiting.get_mut(id).and_then(VecDeque::pop_front);
            let Some(Waiting { wish, actor, session, answer }) = next else {
                self.waiting.remove(id);
                return;
            };
            self.review(Ok((id.clone(), wish)), actor, session, answer).await;
        }
    }

    async fn decide_hunks(&mut self, id: &TaskId, wish: Wish, actor: Actor) -> Result<(Writes, String), Refusal> {
        if self.world.disk.moving().await {
            let message = "git is in the middle of changing files; what stands there now is nobody's wish";
            return Err(refuse(RefusalKind::WrongState, message, "decide again in a moment"));
        }
        let stale = self.cases.get(id).map(|case| meant(case, &wish)).unwrap_or_default();
        if let Some(case) = self.cases.get_mut(id) {
            case.stale.add(stale.clone());
        }
        self.refresh_hunks(id).await;
        // What is lost reads as touched, also where it was accepted.
        if let Some(path) = self.searched_of(id, &stale) {
            let message = format!("lost hunks are being looked for in {path}");
            return Err(refuse(RefusalKind::WrongState, message, "decide again in a moment"));
        }
        let Some(case) = self.cases.get(id) else { return Err(super::actions::missing(id)) };
        if case.task.is_over() {
            let next = format!("planwright review {id} --all");
            return Err(refuse(RefusalKind::WrongState, format!("task {id} is over; its decisions stand"), next));
        }
        let hunks = case.hunks.clone();
        let (chosen, unfit) = match &wish {
            Wish::Resolve(named, side, shown) => (vec![touched(&hunks, named.as_ref(), *side, shown.as_ref(), id)?], 0),
            Wish::Accept(_) | Wish::Reject(..) | Wish::Undo(_) => choose(&hunks, &wish, id, &case.task.decisions)?,
        };
        let mut files = Writes::new();
        let mut swaps = Swaps::default();
        let mut events = Vec::new();
        for hunk in &chosen {
            let Some((step, change)) = case.change_with(&hunk.path, &hunk.id) else { continue };
            let former = case.task.decisions.get(&hunk.id).filter(|former| former.decision == Decision::Accept);
            let stood = former.filter(|_| hunk.state == HunkState::Accepted).and_then(|former| former.stood.clone());
            // An editor that was given it and did not answer may still put it in: it is asked also where nothing stands
            // there yet, and answers when the text has come to rest.
            let takes = match hunk.state {
                HunkState::Accepted => true,
                HunkState::Open => change.hunk(&hunk.id).is_some_and(is_text),
                HunkState::Touched => false,
            };
            let mut gives_way = None;
            let (decision, puts, takes) = match &wish {
                Wish::Accept(_) => (Decision::Accept, hunk.state == HunkState::Open, false),
                Wish::Reject(_, reason) => (Decision::Reject(reason.clone()), false, takes && stood.is_none()),
                Wish::Undo(_) => (Decision::Undo, false, takes && stood.is_none()),
                Wish::Resolve(_, Side::Mine, _) => (Decision::Reject(None), false, false),
                Wish::Resolve(_, Side::Theirs, _) => {
                    if hunk.state == HunkState::Touched {
                        gives_way = Some(swaps.theirs((&self.world, id), step, change, hunk).await?);
                    }
                    (Decision::Accept, false, false)
                }
            };
            let stays = decision == Decision::Accept;
            match &stood {
                Some(stood) if !stays => swaps.back((&self.world, id), step, change, hunk, stood).await?,
                Some(_) | None => {}
            }
            let stood = match gives_way {
                Some(text) => Some(self.world.store.put_blob(text.into_bytes()).await.map_err(broken)?),
                None => stood.filter(|_| stays),
            };
            events.push(Event::HunkDecided {
                hunk: hunk.id.clone(),
                path: hunk.path.clone(),
                shown: hunk.shown.clone(),
                decision,
                stood,
                actor: actor.clone(),
            });
            let (_, put, take) = files
                .entry((hunk.path.clone(), step.clone(), false))
                .or_insert_with(|| (change.clone(), Vec::new(), Vec::new()));
            if puts {
                put.push(hunk.id.clone());
            }
            if takes {
                take.push(hunk.id.clone());
            }
        }
        files.retain(|_, (_, put, take)| !put.is_empty() || !take.is_empty());
        files.append(&mut swaps.writes(id)?);
        self.append(id, events, Durability::Disk).await.map_err(broken)?;
        self.drive(id, Drive::Judged);
        let word = match &wish {
            Wish::Accept(_) => "accepted",
            Wish::Reject(..) => "rejected",
            Wish::Undo(_) => "taken back",
            Wish::Resolve(_, Side::Mine, _) => "yours is kept at",
            Wish::Resolve(_, Side::Theirs, _) => "the proposal stands at",
        };
        let word = if word.ends_with(" at") { word.to_owned() } else { format!("{word}:") };
        let said = if chosen.len() <= NAMED {
            let names = chosen.iter().map(|hunk| hunk.id.to_string()).collect::<Vec<_>>().join(", ");
            format!("{word} {names}")
        } else {
            let paths: BTreeSet<&WorkspacePath> = chosen.iter().map(|hunk| &hunk.path).collect();
            let (hunks, files) = (counted(chosen.len(), "hunk"), counted(paths.len(), "file"));
            format!("{word} {hunks} in {files}")
        };
        let left = match unfit {
            0 => String::new(),
            1 => "; 1 no longer fits and stays pending".to_owned(),
            more => format!("; {more} no longer fit and stay pending"),
        };
        Ok((files, said + &left))
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
        Wish::Resolve(..) => return nothing("a hunk that no longer fits is settled by itself"),
    };
    let decided = |hunk: &ReviewHunk| match &hunk.decision {
        Some((Decision::Accept | Decision::Reject(_), _)) => true,
        Some((Decision::Undo, _)) | None => false,
    };
    // What only waits to be saved waits for no decision.
    let undecided = |hunk: &ReviewHunk| {
        let rejected = matches!(hunk.decision, Some((Decision::Reject(_), _)));
        hunk.pending && hunk.state != HunkState::Accepted && !rejected
    };
    let candidate = |hunk: &&ReviewHunk| if undo { decided(hunk) } else { undecided(hunk) };
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
        if undo {
            return nothing(&format!("there is no decision{whose} to take back"));
        }
        let meant = hunks.iter().filter(|hunk| match target {
            Target::File(path) => &hunk.path == path,
            Target::Step(step) => &hunk.step == step,
            Target::Hunks(_) | Target::All => true,
        });
        return nothing(&format!("no hunk{whose} waits for this decision{}", standing(meant)));
    }
    if let Wish::Accept(_) = wish
        && let Some(touched) = chosen.iter().find(|hunk| hunk.state == HunkState::Touched)
    {
        return Err(refuse(
            RefusalKind::WrongState,
            format!(
                "{}: {} no longer fits, the text at its place has changed and nothing is guessed",
                touched.path, touched.id
            ),
            format!(
                "planwright why {id} {0} shows both sides; then planwright resolve {id} {0} mine|theirs",
                touched.id
            ),
        ));
    }
    Ok((chosen, unfit))
}

/// How hunks stand that wait for no decision: whoever asks once more learns what became of the first time.
fn standing<'a>(hunks: impl Iterator<Item = &'a ReviewHunk>) -> String {
    let mut counts = [0_usize; 4];
    for hunk in hunks {
        let rejected = matches!(hunk.decision, Some((Decision::Reject(_), _)));
        let at = match hunk.state {
            HunkState::Accepted if hunk.on_disk => 0,
            HunkState::Accepted => 1,
            HunkState::Open | HunkState::Touched if rejected => 2,
            HunkState::Open | HunkState::Touched => 3,
        };
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    let words = ["accepted", "accepted and not saved", "rejected", "to be looked at one by one"];
    let parts =
        counts.iter().zip(words).filter(|(count, _)| **count > 0).map(|(count, word)| format!("{count} {word}"));
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// The files that a wish is about: they are looked at before it is judged.
fn meant(case: &Case, wish: &Wish) -> Stale {
    let target = match wish {
        Wish::Accept(target) | Wish::Reject(target, _) | Wish::Undo(target) => target,
        Wish::Resolve(Some(named), _, _) => {
            let its = case.hunks.iter().find(|hunk| hunk.id == *named);
            return Stale::paths(its.map(|hunk| hunk.path.clone()));
        }
        Wish::Resolve(None, _, _) => return Stale::all(),
    };
    match target {
        Target::Hunks(ids) => {
            let named = case.hunks.iter().filter(|hunk| ids.contains(&hunk.id));
            Stale::paths(named.map(|hunk| hunk.path.clone()))
        }
        Target::File(path) => Stale::paths([path.clone()]),
        Target::Step(_) | Target::All => Stale::all(),
    }
}
