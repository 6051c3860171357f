//! One task as the engine holds it: its state, its journal, and what was read for it.
//!
//! Invariant: `task` is the fold of `journal`; everything else here can be read or derived again. Absent: deciding.

use super::baseline::Baselines;
use super::refresh::{Looked, Stale};
use super::world::World;
use crate::desk::{Page, Record, ReviewHunk};
use crate::domain::change::{Decision, FileChange, Proposal};
use crate::domain::ids::*;
use crate::domain::plan::ApprovedPlan;
use crate::domain::task::Journal;
use crate::domain::task::event::{Event, Intent, Recorded};
use crate::domain::task::evolve;
use crate::domain::task::state::{Decided, Said, Task};
use crate::ports::{Snapshot, StoreFault};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// How far this process carries a task on by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Drive {
    /// It only shows it.
    Shown,
    /// It makes the plan.
    Planned,
    /// It judges what was kept, after a decision of a person.
    Judged,
    /// It runs what is approved.
    Run,
}

/// Work of this process.
pub struct Live {
    /// Which ticket it holds.
    pub serial: u64,
    /// Ends it.
    pub handle: AbortHandle,
}

/// One task.
pub struct Case {
    /// The fold.
    pub task: Arc<Task>,
    /// Every event.
    pub journal: Journal,
    /// What pages need of it.
    pub record: Record,
    /// The approved plan.
    pub plan: Option<Arc<ApprovedPlan>>,
    /// Why there is none although something is approved: this release reads the approved text differently. Nothing of
    /// it runs until it is approved again; the task can be read.
    pub lapsed: Option<String>,
    /// The plan document as last read.
    pub page: Option<Arc<Page>>,
    /// Texts of the revisions.
    pub revisions: Arc<Vec<(RevisionRef, Arc<str>)>>,
    /// Proposals in force, in merge order.
    pub proposals: Vec<Arc<Proposal>>,
    /// The same, by the hash that the journal names.
    held: BTreeMap<ContentHash, Arc<Proposal>>,
    /// Proposals no longer in force that hold hunks which were accepted and that no proposal in force has; in the order
    /// of the journal.
    former: Vec<(ContentHash, Arc<Proposal>)>,
    /// What the text says of their hunks.
    pub hunks: Arc<Vec<ReviewHunk>>,
    /// Work of this process.
    pub live: BTreeMap<Work, Live>,
    /// How far it is carried on.
    pub drive: Drive,
    /// Why the store has it stand still, until somebody has it carried on again.
    pub stuck: Option<StoreFault>,
    /// The changes behind them, by path: what is in force, and what holds accepted hunks besides.
    pub changes: Arc<Vec<Arc<FileChange>>>,
    /// Files with a change in force; it comes first among those of its path.
    pub proposed: BTreeSet<WorkspacePath>,
    /// Each file with such a change, as it was looked at last.
    pub looked: BTreeMap<WorkspacePath, Looked>,
    /// What must be looked at again.
    pub stale: Stale,
    /// What the work on the baseline has found, while it is under way.
    pub baselines: Option<watch::Receiver<Baselines>>,
    /// One check at a time, in the order of asking (the lane).
    pub lane: Arc<tokio::sync::Mutex<()>>,
    /// The merged change set of the moment, for work under way.
    pub merged: watch::Sender<Arc<Merged>>,
    /// What the person said so far, for work under way.
    pub words: watch::Sender<Arc<Vec<Said>>>,
    /// Tokens used so far, for work under way.
    pub tokens: watch::Sender<u64>,
}

/// Snapshots are taken this often, in events: the state of a task of 10,000 events is made by folding at most this
/// many beyond one. All its events are read nevertheless, because timelines and hunks are made from them.
const SNAPSHOT_EVERY: u64 = 500;

/// Raised when `Task` changes its shape: a snapshot of another format is not read.
const SNAPSHOT_FORMAT: u32 = 2;

#[derive(serde::Serialize, serde::Deserialize)]
struct Kept {
    format: u32,
    task: Task,
}

impl Case {
    /// Reads a task from the store.
    ///
    /// # Errors
    /// The store failed, or the journal does not begin with the opening of a task.
    pub async fn load(world: &World, id: &TaskId) -> Result<Case, StoreFault> {
        let journal: Journal = world.store.events(id, 0).await?.into_iter().collect();
        let snapshot = world.store.snapshot(id).await.ok().flatten();
        let last = journal.last().map_or(0, |last| last.seq);
        let kept = snapshot
            .filter(|snapshot| snapshot.seq <= last)
            .and_then(|snapshot| serde_json::from_str::<Kept>(&snapshot.state).ok())
            .filter(|kept| kept.format == SNAPSHOT_FORMAT && &kept.task.id == id)
            .map(|kept| kept.task);
        let mut task =
            match kept {
                Some(task) => task,
                None => journal.iter().next().and_then(|first| evolve::begin(id, first)).ok_or_else(|| {
                    StoreFault::Broken(format!("the journal of {id} does not begin with its opening"))
                })?,
            };
        let known = task.seq;
        for recorded in journal.iter().filter(|recorded| recorded.seq > known) {
            evolve::evolve(&mut task, recorded);
        }
        let mut case = Case {
            task: Arc::new(task),
            record: Record::of(journal.iter().map(|recorded| &recorded.event)),
            journal,
            plan: None,
            lapsed: None,
            page: None,
            revisions: Arc::default(),
            proposals: Vec::new(),
            held: BTreeMap::new(),
            former: Vec::new(),
            hunks: Arc::default(),
            live: BTreeMap::new(),
            drive: Drive::Shown,
            stuck: None,
            changes: Arc::default(),
            proposed: BTreeSet::new(),
            looked: BTreeMap::new(),
            stale: Stale::all(),
            baselines: None,
            lane: Arc::default(),
            merged: watch::Sender::new(Arc::default()),
            words: watch::Sender::new(Arc::default()),
            tokens: watch::Sender::new(0),
        };
        case.fetch(world).await?;
        case.merged.send_replace(Arc::new(case.merge()));
        case.share();
        case.words.send_replace(Arc::new(case.task.said.clone()));
        case.tokens.send_replace(case.task.spend.tokens());
        Ok(case)
    }

    /// Takes in what was appended.
    ///
    /// # Errors
    /// What the events name could not be read from the store.
    pub async fn take(&mut self, world: &World, recorded: &[Recorded]) -> Result<(), StoreFault> {
        let task = Arc::make_mut(&mut self.task);
        let (mut fetch, mut decided, mut said) = (false, false, false);
        for one in recorded {
            evolve::evolve(task, one);
            self.record.take(&one.event);
            self.journal.push(one.clone());
            fetch |= names_content(&one.event);
            decided |= matches!(one.event, Event::HunkDecided { .. });
            said |= matches!(one.event, Event::Said { .. });
            self.stale.add(touched(task, &one.event));
        }
        self.tokens.send_replace(self.task.spend.tokens());
        if said {
            self.words.send_replace(Arc::new(self.task.said.clone()));
        }
        if fetch {
            self.fetch(world).await?;
        }
        if fetch || decided {
            self.merged.send_replace(Arc::new(self.merge()));
            self.share();
        }
        let before = self.task.seq.saturating_sub(u64::try_from(recorded.len()).unwrap_or(0));
        if before / SNAPSHOT_EVERY != self.task.seq / SNAPSHOT_EVERY {
            // A snapshot is a cache, and what was appended is in the journal already.
            if let Err(fault) = self.keep_snapshot(world).await {
                tracing::warn!(task = %self.task.id, %fault, "a snapshot was not kept; the task is read from further back");
            }
        }
        Ok(())
    }

    /// The change in force for each path: the last in merge order.
    pub fn in_force(&self) -> BTreeMap<WorkspacePath, FileChange> {
        in_force(&self.proposals)
    }

    /// Every change that holds accepted hunks which the changes in force do not have: a later step, another attempt or
    /// another plan superseded it after they were put into the text. The newest first.
    pub fn superseded(&self) -> Vec<&FileChange> {
        let mut open = self.accepted();
        if open.is_empty() {
            return Vec::new();
        }
        let in_force = self.in_force();
        let known: BTreeSet<&HunkId> =
            in_force.values().flat_map(|change| &change.hunks).map(|hunk| &hunk.id).collect();
        open.retain(|hunk| !known.contains(hunk));
        let mut superseded = Vec::new();
        for change in self.newest_first().flat_map(|proposal| &proposal.files) {
            let before = open.len();
            change.hunks.iter().for_each(|hunk| {
                open.remove(&hunk.id);
            });
            if open.len() < before {
                superseded.push(change);
            }
        }
        superseded
    }

    /// Makes the list of changes anew. A change that was listed stays the same value, so that whoever carries its spots
    /// knows it again.
    fn share(&mut self) {
        let former = std::mem::take(&mut self.changes);
        let mut known: BTreeMap<&WorkspacePath, Vec<&Arc<FileChange>>> = BTreeMap::new();
        for change in former.iter() {
            known.entry(&change.path).or_default().push(change);
        }
        let shared = |change: &FileChange| {
            let same = known.get(&change.path).and_then(|of_path| of_path.iter().find(|one| ****one == *change));
            same.map_or_else(|| Arc::new(change.clone()), |same| Arc::clone(same))
        };
        let in_force = self.in_force();
        let mut changes: Vec<Arc<FileChange>> = in_force.values().map(shared).collect();
        changes.extend(self.superseded().into_iter().map(shared));
        // Stable: of one path the change in force comes first.
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        self.changes = Arc::new(changes);
        self.proposed = in_force.into_keys().collect();
    }

    /// The newest change that has this hunk, and the step that proposed it.
    pub fn change_with(&self, path: &WorkspacePath, hunk: &HunkId) -> Option<(&StepId, &FileChange)> {
        self.newest_first().find_map(|proposal| {
            let change = proposal.files.iter().find(|change| &change.path == path && change.hunk(hunk).is_some())?;
            Some((&proposal.step, change))
        })
    }

    fn newest_first(&self) -> impl Iterator<Item = &Arc<Proposal>> {
        self.proposals.iter().rev().chain(self.former.iter().rev().map(|(_, proposal)| proposal))
    }

    /// Hunks whose last decision puts them into the text.
    fn accepted(&self) -> BTreeSet<HunkId> {
        let accepted = |(_, decided): &(&HunkId, &Decided)| decided.decision == Decision::Accept;
        self.task.decisions.iter().filter(accepted).map(|(hunk, _)| hunk.clone()).collect()
    }

    fn merge(&self) -> Merged {
        let rejected =
            self.task.decisions.iter().filter(|(_, decided)| matches!(decided.decision, Decision::Reject(_)));
        let names = self.task.proposals.iter().map(|standing| (standing.step.clone(), standing.proposal.clone()));
        Merged {
            proposals: self.proposals.clone(),
            names: names.collect(),
            rejected: rejected.map(|(hunk, _)| hunk.clone()).collect(),
            kept: self.task.decisions.values().any(|decided| decided.decision == Decision::Accept),
        }
    }

    /// The revision that waits beside the plan document.
    pub fn offered(&self) -> Option<(RevisionRef, Arc<str>)> {
        let offered = self.task.offered.as_ref()?;
        self.revisions.iter().rev().find(|(name, _)| name == offered).cloned()
    }

    /// Hunks that wait for a decision or for the disk.
    pub fn pending(&self) -> usize {
        self.hunks.iter().filter(|hunk| hunk.pending).count()
    }

    async fn keep_snapshot(&self, world: &World) -> Result<(), StoreFault> {
        let kept = Kept { format: SNAPSHOT_FORMAT, task: Task::clone(&self.task) };
        let state = serde_json::to_string(&kept).map_err(|error| StoreFault::Broken(error.to_string()))?;
        world.store.keep_snapshot(&self.task.id, Snapshot { seq: self.task.seq, state }).await
    }

    /// Reads what the state names by hash and is not held yet.
    async fn fetch(&mut self, world: &World) -> Result<(), StoreFault> {
        let revisions = Arc::make_mut(&mut self.revisions);
        for revision in self.task.revisions.iter().skip(revisions.len()) {
            let text = text_of(world, &revision.text).await?;
            revisions.push((revision.name.clone(), Arc::from(text)));
        }
        for standing in &self.task.proposals {
            if !self.held.contains_key(&standing.proposal) {
                let proposal = proposal(world, &standing.proposal).await?;
                self.held.insert(standing.proposal.clone(), proposal);
            }
        }
        let in_force = |hash: &ContentHash| self.task.proposals.iter().any(|standing| &standing.proposal == hash);
        self.held.retain(|hash, _| in_force(hash));
        self.proposals = self.task.proposals.iter().filter_map(|s| self.held.get(&s.proposal).cloned()).collect();
        self.fetch_former(world).await?;
        self.lapsed = None;
        self.plan = match &self.task.approval {
            None => None,
            Some(approval) => {
                let held = self
                    .plan
                    .take()
                    .filter(|plan| plan.digest() == &approval.digest && plan.upto() == approval.upto.as_ref());
                match held {
                    Some(held) => Some(held),
                    None => {
                        let text = text_of(world, &approval.text).await?;
                        match super::approval::reload(world, &text, approval) {
                            Ok(plan) => Some(Arc::new(plan)),
                            Err(why) => {
                                self.lapsed = Some(why);
                                None
                            }
                        }
                    }
                }
            }
        };
        Ok(())
    }
}

impl Case {
    /// Reads the proposals no longer in force whose accepted hunks have no other place. What a person put into the text
    /// stays theirs to take back, whatever the steps do afterwards.
    async fn fetch_former(&mut self, world: &World) -> Result<(), StoreFault> {
        let mut missing = self.accepted();
        let known = |proposal: &Arc<Proposal>, missing: &mut BTreeSet<HunkId>| {
            let before = missing.len();
            for hunk in proposal.files.iter().flat_map(|change| &change.hunks) {
                missing.remove(&hunk.id);
            }
            missing.len() < before
        };
        for proposal in &self.proposals {
            known(proposal, &mut missing);
        }
        let held = std::mem::take(&mut self.former);
        let named = self.journal.iter().rev().filter_map(|recorded| match &recorded.event {
            Event::Proposed { proposal, .. } => Some(proposal),
            _ => None,
        });
        for hash in named {
            if missing.is_empty() {
                break;
            }
            let proposal = match held.iter().find(|(held, _)| held == hash) {
                Some((_, proposal)) => proposal.clone(),
                None => proposal(world, hash).await?,
            };
            if known(&proposal, &mut missing) {
                self.former.insert(0, (hash.clone(), proposal));
            }
        }
        Ok(())
    }
}

/// The change set of a task: what is in force, and what a person does not want of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// In merge order.
    pub proposals: Vec<Arc<Proposal>>,
    /// The hash that the journal names each by; a step has one.
    pub names: BTreeMap<StepId, ContentHash>,
    /// Left out of every view.
    pub rejected: BTreeSet<HunkId>,
    /// Some of it was put into the user's text, or is on its way there.
    pub kept: bool,
}

impl Merged {
    /// What is in force for each path.
    pub fn changes(&self) -> BTreeMap<WorkspacePath, FileChange> {
        in_force(&self.proposals)
    }

    /// The same without the proposals of one step: what that step builds on, however often it is gone through.
    pub fn without(&self, step: &StepId) -> Merged {
        let proposals = self.proposals.iter().filter(|proposal| &proposal.step != step).cloned().collect();
        Merged { proposals, ..self.clone() }
    }
}

/// The change in force for each path of these proposals: the last in merge order.
pub fn in_force(proposals: &[Arc<Proposal>]) -> BTreeMap<WorkspacePath, FileChange> {
    let mut changes = BTreeMap::new();
    for change in proposals.iter().flat_map(|proposal| &proposal.files) {
        changes.insert(change.path.clone(), change.clone());
    }
    changes
}

/// A proposal by the hash that the journal names.
///
/// # Errors
/// The store does not have it.
pub async fn proposal(world: &World, hash: &ContentHash) -> Result<Arc<Proposal>, StoreFault> {
    let text = text_of(world, hash).await?;
    serde_json::from_str(&text).map(Arc::new).map_err(|error| StoreFault::Broken(error.to_string()))
}

async fn text_of(world: &World, hash: &ContentHash) -> Result<String, StoreFault> {
    String::from_utf8(world.store.blob(hash).await?)
        .map_err(|_| StoreFault::Broken("a stored text is not UTF-8".to_owned()))
}

/// The event names a text that the case holds.
fn names_content(event: &Event) -> bool {
    matches!(
        event,
        Event::Revised { .. }
            | Event::Approved { .. }
            | Event::Proposed { .. }
            | Event::Withdrawn { .. }
            | Event::StepSet { .. }
    )
}

/// What the event may change of the hunks. `task` has taken it in.
fn touched(task: &Task, event: &Event) -> Stale {
    match event {
        Event::Settled { effect, .. } => written(task, effect),
        Event::Approved { .. }
        | Event::Proposed { .. }
        | Event::Withdrawn { .. }
        | Event::StepSet { .. }
        | Event::HunkDecided { .. }
        | Event::Judged { .. } => Stale::words(),
        _ => Stale::default(),
    }
}

/// What an effect may have written of the user's files. Each turn settles two that wrote nothing; reading all changed
/// files again after each would make a turn cost as much as the change set is large.
fn written(task: &Task, effect: &EffectId) -> Stale {
    let known = task.effects.iter().rev().find(|known| &known.id == effect);
    match known.map(|known| &known.what) {
        Some(
            Intent::Model { .. }
            | Intent::Tool { .. }
            | Intent::Snapshot
            | Intent::Transform
            | Intent::Format
            | Intent::Command { .. },
        ) => Stale::default(),
        Some(Intent::Write { path, .. }) => Stale::paths([path.clone()]),
        Some(Intent::Outside { .. }) | None => Stale::all(),
    }
}
