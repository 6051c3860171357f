//! From cases to the desk's snapshot: hunk states, task states, the words of progress.
//!
//! Invariant: everything published is derived; it can be thrown away and made again. Absent: appending.

use super::case::{Case, Drive};
use super::world::World;
use crate::desk::{Desk, Dossier, Page, Surroundings, page};
use crate::domain::ids::*;
use crate::domain::task::event::*;
use crate::domain::task::facts;
use crate::domain::task::schedule::{self, Readiness};
use crate::domain::task::standing::standing;
use crate::domain::task::state::*;
use crate::domain::text::counted;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The snapshot of all cases; `former` is the last one.
pub(super) fn desk(
    world: &World,
    remarks: &[String],
    order: &[TaskId],
    cases: &BTreeMap<TaskId, Case>,
    former: &Desk,
) -> Desk {
    let model = world.model.info();
    let place = Surroundings {
        root: world.workspace.root().to_path_buf(),
        connect: model.is_none().then(|| world.model.connect()),
        model,
        rung: Some(world.arena.rung()),
        remarks: remarks.to_vec(),
    };
    let now = world.clock.now();
    let tasks = order.iter().enumerate().filter_map(|(at, id)| {
        let case = cases.get(id)?;
        // Tasks are listed in the order of opening and stay listed, so each has its place.
        let known = former.tasks.get(at).filter(|known| is_of(known, case));
        // What is over says the same at any time; the finished tasks of a workspace are many, and the one at work
        // publishes at each event.
        if let Some(known) = known.filter(|known| known.task.is_over()) {
            return Some(known.clone());
        }
        let made = dossier(case, now);
        let same = known.filter(|known| known.state == made.state && known.steps == made.steps);
        Some(same.cloned().unwrap_or_else(|| Arc::new(made)))
    });
    Desk { place, tasks: tasks.collect() }
}

/// Some work of this process is at it, or would be as soon as it may start.
fn is_carried(case: &Case) -> bool {
    case.drive != Drive::Shown || !case.live.is_empty()
}

/// Made of the same parts. Whoever follows the desk does nothing for a task of which that is the same value.
fn is_of(known: &Dossier, case: &Case) -> bool {
    let same_page = match (&known.page, &case.page) {
        (Some(known), Some(page)) => Arc::ptr_eq(known, page),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    same_page
        && known.carried == is_carried(case)
        && Arc::ptr_eq(&known.task, &case.task)
        && Arc::ptr_eq(&known.hunks, &case.hunks)
        && Arc::ptr_eq(&known.changes, &case.changes)
}

fn dossier(case: &Case, now: Time) -> Dossier {
    Dossier {
        task: case.task.clone(),
        state: standing(&case.task, case.plan.as_deref(), case.pending(), now),
        journal: case.journal.clone(),
        told: Arc::new(case.record.told(&case.task, |step| finds(case, step))),
        page: case.page.clone(),
        revisions: case.revisions.clone(),
        hunks: case.hunks.clone(),
        changes: case.changes.clone(),
        offered: case.offered(),
        carried: is_carried(case),
        steps: steps(case, now),
    }
}

fn finds(case: &Case, step: &StepId) -> bool {
    let planned = |page: &Arc<Page>| page.plan.steps.iter().any(|known| known.id == *step && page::finds(known));
    case.page.as_ref().is_some_and(planned)
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
        Event::Judged { work, check, verdict, rung, remark, .. } => {
            let how = facts::beside(*rung, remark.as_deref()).map(|how| format!(" ({how})")).unwrap_or_default();
            let check = super::checks::name(check);
            match verdict {
                Verdict::Passed => format!("{work}: {check} passes{how}"),
                Verdict::Failed { why } => format!("{work}: {check} fails{how}: {why}"),
                Verdict::NotJudged { why } => format!("{work}: {check} not judged{how}: {why}"),
            }
        }
        Event::BaselineRun { check, found, .. } => {
            format!("{} {}", super::checks::name(check), found.as_deref().unwrap_or("does not fail before any change"))
        }
        Event::Ended { work: Work::Baseline, outcome: Outcome::Done { .. }, .. } => return None,
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
        Event::Offered { revision } => format!("{revision} is offered; an editor has the plan document open"),
        Event::OfferEnded { revision, taken: true, .. } => format!("the plan document says {revision}"),
        Event::OfferEnded { revision, taken: false, .. } => format!("{revision} is declined"),
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
