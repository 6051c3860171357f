//! From cases to the desk's snapshot: hunk states, task states, the words of progress.
//!
//! Invariant: everything published is derived; it can be thrown away and made again. Absent: appending.

use super::case::Case;
use super::owner::Owner;
use super::world::World;
use crate::desk::{Desk, Dossier, ReviewHunk, Surroundings};
use crate::domain::change::{Decision, Entry, FileChange, Hunk, HunkKind, HunkState, spot};
use crate::domain::ids::*;
use crate::domain::task::event::*;
use crate::domain::task::schedule::{self, Readiness};
use crate::domain::task::standing::standing;
use crate::domain::task::state::*;
use crate::domain::text::counted;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lines shown before and after a hunk.
const CONTEXT: usize = 3;

impl Owner {
    /// Derives the hunks of a task again, if anything may have changed them.
    pub(super) async fn refresh_hunks(&mut self, id: &TaskId) {
        let world = self.world.clone();
        let Some(case) = self.cases.get_mut(id) else { return };
        if !std::mem::take(&mut case.stale) {
            return;
        }
        let mut hunks = Vec::new();
        for (path, change) in case.in_force() {
            // A file that cannot be read any more shows its hunks as touched by what the reader says.
            let current = world.workspace.read(&path).await.unwrap_or(Entry::Absent);
            hunks.extend(review_hunks(&case.task, &change, &current));
        }
        hunks.extend(kept_elsewhere(&world, case, &hunks).await);
        // Stable: within a file those in force come first, in the order of the text.
        hunks.sort_by(|one, other| one.path.cmp(&other.path));
        case.hunks = Arc::new(hunks);
    }
}

/// Accepted hunks of changes no longer in force, as long as their text stands. They are judged by their own change: the
/// one in force was made for a text that has them already.
async fn kept_elsewhere(world: &World, case: &Case, known: &[ReviewHunk]) -> Vec<ReviewHunk> {
    let mut kept: Vec<ReviewHunk> = Vec::new();
    for change in case.superseded() {
        let current = world.workspace.read(&change.path).await.unwrap_or(Entry::Absent);
        for hunk in review_hunks(&case.task, change, &current) {
            let accepted = hunk.state == HunkState::Accepted
                && matches!(hunk.decision, Some((Decision::Accept, _)))
                && !known.iter().chain(&kept).any(|listed| listed.id == hunk.id);
            if accepted {
                kept.push(hunk);
            }
        }
    }
    kept
}

/// The snapshot of all cases; `former` is the last one.
pub(super) fn desk(
    world: &World,
    remarks: &[String],
    order: &[TaskId],
    cases: &BTreeMap<TaskId, Case>,
    former: &Desk,
) -> Desk {
    let place = Surroundings {
        root: world.workspace.root().to_path_buf(),
        model: world.model.info(),
        rung: Some(world.arena.rung()),
        remarks: remarks.to_vec(),
    };
    let now = world.clock.now();
    let tasks = order.iter().enumerate().filter_map(|(at, id)| {
        let case = cases.get(id)?;
        // Tasks are listed in the order of opening and stay listed, so each has its place.
        let known = former.tasks.get(at).filter(|known| still_says(known, case));
        Some(known.cloned().unwrap_or_else(|| Arc::new(dossier(case, now))))
    });
    Desk { place, tasks: tasks.collect() }
}

/// A task that is over says the same at any time, as long as it is made of the same parts; the finished tasks of a
/// workspace are many, and the one at work publishes at each event.
fn still_says(known: &Dossier, case: &Case) -> bool {
    let same_page = match (&known.page, &case.page) {
        (Some(known), Some(page)) => Arc::ptr_eq(known, page),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    case.task.is_over() && same_page && Arc::ptr_eq(&known.task, &case.task) && Arc::ptr_eq(&known.hunks, &case.hunks)
}

fn dossier(case: &Case, now: Time) -> Dossier {
    Dossier {
        task: case.task.clone(),
        state: standing(&case.task, case.plan.as_deref(), case.pending(), now),
        journal: case.journal.clone(),
        page: case.page.clone(),
        revisions: case.revisions.clone(),
        hunks: case.hunks.clone(),
        changes: Arc::default(),
        offered: None,
        steps: steps(case, now),
    }
}

/// Each step with where it stands, in the words of the vocabulary.
fn steps(case: &Case, now: Time) -> Vec<(StepId, String)> {
    let Some(plan) = &case.plan else { return Vec::new() };
    let board = schedule::board(&case.task, plan, case.pending(), now);
    let words = |run: &StepRun, readiness: &Readiness| match (&run.state, readiness) {
        (_, Readiness::Delayed(until)) => {
            format!("delayed: tried again in {} s", until.since(now).div_ceil(1_000))
        }
        (_, Readiness::Ready) => "ready".to_owned(),
        (_, Readiness::Waits(before)) => {
            format!("waiting for {}", before.iter().map(StepId::to_string).collect::<Vec<_>>().join(", "))
        }
        (_, Readiness::WaitsForReview) => "waiting for the last decision on a hunk".to_owned(),
        (_, Readiness::BeyondApproval) => "waiting: not approved yet".to_owned(),
        (StepState::Waiting, Readiness::NotNow) => "waiting".to_owned(),
        (StepState::Running { .. }, Readiness::NotNow) => format!("running (attempt {})", run.attempts),
        (StepState::Repairing { round }, Readiness::NotNow) => format!("repairing (round {round})"),
        (StepState::AtGate(gate), Readiness::NotNow) => format!("at gate {gate}"),
        (StepState::Ambiguous(gate), Readiness::NotNow) => format!("ambiguous: gate {gate}"),
        (StepState::Blocked { cause, message }, Readiness::NotNow) => format!("blocked ({}): {message}", cause.words()),
        (StepState::Failed { cause, message, .. }, Readiness::NotNow) => {
            format!("failed ({}): {message}", cause.words())
        }
        (StepState::Stale, Readiness::NotNow) => "stale".to_owned(),
        (StepState::TakenOver, Readiness::NotNow) => "taken over by hand".to_owned(),
        (StepState::Done(DoneHow::Verified), Readiness::NotNow) => "done (verified)".to_owned(),
        (StepState::Done(DoneHow::NotVerified), Readiness::NotNow) => "done (not verified)".to_owned(),
        (StepState::Done(DoneHow::ByHand), Readiness::NotNow) => "done by hand (not verified)".to_owned(),
        (StepState::Skipped, Readiness::NotNow) => "skipped".to_owned(),
    };
    case.task.steps.iter().zip(&board).map(|(run, (id, readiness))| (id.clone(), words(run, readiness))).collect()
}

/// A file's hunks with what its text says of them.
fn review_hunks(task: &Task, change: &FileChange, current: &Entry) -> Vec<ReviewHunk> {
    let here = current.text();
    spot::derive(change, current)
        .into_iter()
        .filter_map(|standing| {
            let hunk = change.hunk(&standing.id)?;
            let (old, new) = (change.old_text(hunk).to_owned(), change.new_text(hunk).to_owned());
            let decision = task.decisions.get(&hunk.id);
            let shown = ContentHash::of(format!("{old}\0{new}"));
            Some(ReviewHunk {
                id: hunk.id.clone(),
                step: hunk.author.clone(),
                path: change.path.clone(),
                kind: kind(hunk).to_owned(),
                line: line_at(here, standing.range.start),
                context: around(here, &standing.range),
                touching: standing.touching,
                state: standing.state,
                on_disk: true,
                pending: is_pending(standing.state, decision),
                decision: decision.map(|decided| (decided.decision.clone(), decided.by.clone())),
                flags: hunk.flags.clone(),
                verdict: verdict(task, &hunk.author),
                old,
                new,
                shown,
            })
        })
        .collect()
}

fn kind(hunk: &Hunk) -> &'static str {
    match hunk.kind {
        HunkKind::Lines { .. } => "lines",
        HunkKind::Create => "create",
        HunkKind::Delete => "delete",
        HunkKind::Mode => "mode",
    }
}

/// Invariant 6: open and not rejected, or touched and not rejected. A closed file has no unsaved text, so an accepted
/// hunk whose text is new is on disk.
fn is_pending(state: HunkState, decided: Option<&Decided>) -> bool {
    let rejected = decided.is_some_and(|decided| matches!(decided.decision, Decision::Reject(_)));
    match state {
        HunkState::Open | HunkState::Touched => !rejected,
        HunkState::Accepted => false,
    }
}

fn line_at(text: &str, byte: usize) -> u32 {
    let lines = text.get(..byte).map_or(0, |head| head.matches('\n').count());
    u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1)
}

fn around(text: &str, range: &std::ops::Range<usize>) -> (String, String) {
    let head = text.get(..range.start).unwrap_or_default();
    let tail = text.get(range.end..).unwrap_or_default();
    // Only the lines shown are walked: a file has many hunks and many lines.
    let whole = head.strip_suffix('\n').unwrap_or(head);
    let from = whole.rmatch_indices('\n').nth(CONTEXT - 1).map_or(0, |(at, _)| at + 1);
    (head.get(from..).unwrap_or_default().to_owned(), tail.split_inclusive('\n').take(CONTEXT).collect())
}

/// What the verifier says of a step's work, in a few words.
fn verdict(task: &Task, step: &StepId) -> String {
    let own = task.judgements.iter().filter(|judgement| judgement.work == Work::Step(step.clone()));
    let all: Vec<String> = own
        .map(|judgement| {
            let how = judgement.rung.map(|rung| format!(" ({})", rung.remark())).unwrap_or_default();
            let check = super::checks::name(&judgement.check);
            match &judgement.verdict {
                Verdict::Passed => format!("{check} passes{how}"),
                Verdict::Failed { why } => format!("{check} fails{how}: {why}"),
                Verdict::NotJudged { why } => format!("{check} not judged{how}: {why}"),
            }
        })
        .collect();
    if all.is_empty() { "not judged".to_owned() } else { all.join("; ") }
}

/// A line of progress for an event; none for what only a timeline wants to know.
pub(super) fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Opened { goal, .. } => format!("task opened: {}", goal.words),
        Event::Revised { revision, errors: 0, .. } => format!("plan {revision} stands"),
        Event::Revised { revision, errors: 1, .. } => format!("plan {revision} stands with 1 error"),
        Event::Revised { revision, errors, .. } => format!("plan {revision} stands with {errors} errors"),
        Event::Approved { revision, .. } => format!("{revision} approved"),
        Event::Began { work, attempt: 1, .. } => format!("{work}: starts"),
        Event::Began { work, attempt, because, .. } => {
            let because = because.as_ref().map(|why| format!(" after {why}")).unwrap_or_default();
            format!("{work}: attempt {attempt} starts{because}")
        }
        Event::GateOpened { gate, work, .. } => format!("{work}: waits at gate {gate}"),
        Event::GateDecided { gate, answer, .. } => format!("gate {gate}: {answer:?}"),
        Event::Proposed { step, hunks, paths, .. } => {
            format!("{step}: {} in {}", counted(*hunks, "hunk"), counted(paths.len(), "file"))
        }
        Event::Judged { work, check, verdict, rung, .. } => {
            let how = rung.map(|rung| format!(" ({})", rung.remark())).unwrap_or_default();
            let check = super::checks::name(check);
            match verdict {
                Verdict::Passed => format!("{work}: {check} passes{how}"),
                Verdict::Failed { why } => format!("{work}: {check} fails{how}: {why}"),
                Verdict::NotJudged { why } => format!("{work}: {check} not judged{how}: {why}"),
            }
        }
        Event::Repairing { step, round } => format!("{step}: repair round {round}"),
        Event::Ended { work, outcome, .. } => match outcome {
            Outcome::Done { verified: true, .. } => format!("{work}: done (verified)"),
            Outcome::Done { verified: false, .. } => format!("{work}: done (not verified)"),
            Outcome::Failed { cause, message, .. } => format!("{work}: failed ({}): {message}", cause.words()),
            Outcome::Blocked { cause, message } => format!("{work}: blocked ({}): {message}", cause.words()),
            Outcome::Interrupted => format!("{work}: interrupted"),
        },
        Event::StepSet { step, to: HandSet::Skipped, .. } => format!("{step}: skipped"),
        Event::StepSet { step, to: HandSet::DoneByHand, .. } => format!("{step}: done by hand"),
        Event::TakenOver { step, .. } => format!("{step}: taken over"),
        Event::Paused { cancelled: true, .. } => "cancelled and paused".to_owned(),
        Event::Paused { cancelled: false, .. } => "paused".to_owned(),
        Event::Resumed { .. } => "resumed".to_owned(),
        Event::Strayed { .. } => "the plan document no longer says what was approved; no new step starts".to_owned(),
        Event::Restored => "the plan document says again what was approved".to_owned(),
        Event::Closed { ending } => match ending {
            Ending::Verified => "done (verified)".to_owned(),
            Ending::NotVerified { why } => format!("done (not verified: {why})"),
            Ending::CheckFails { why } => format!("done (check fails on what was kept: {why})"),
            Ending::NothingKept => "done (nothing kept)".to_owned(),
            Ending::Failed { why } => format!("failed: {why}"),
            Ending::Abandoned { .. } => "abandoned".to_owned(),
        },
        Event::Settled { result: Settlement::Lost, effect } => {
            format!("{effect}: was in flight when the process died; it is done again")
        }
        Event::Settled { result: Settlement::Happened { by } | Settlement::DidNotHappen { by }, effect } => {
            format!("{effect}: {by}")
        }
        Event::PlanAsked { .. }
        | Event::Intended { .. }
        | Event::Settled { .. }
        | Event::Withdrawn { .. }
        | Event::RetryAsked { .. }
        | Event::Said { .. }
        | Event::HunkDecided { .. } => return None,
    })
}
