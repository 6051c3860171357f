//! Acceptance: the checks of the whole task, on the merged state, and again on what the user kept (E8). And its end.
//!
//! Invariant: a task ends when nothing is pending and every accepted text is on disk (invariant 6); its ending says
//! what the checks found on exactly that text. Absent: steps.

use super::checks;
use super::owner::Owner;
use super::steps;
use super::work::{Halt, Run};
use crate::domain::ids::*;
use crate::domain::plan::Check;
use crate::domain::task::event::*;
use crate::domain::task::schedule::{self, Readiness};
use crate::domain::task::state::*;
use crate::domain::text::counted;
use crate::ports::{Durability, StoreFault};

pub(super) use steps::Setting;

/// Runs the contract's acceptance checks once.
///
/// # Errors
/// The work must stop.
pub(super) async fn run(mut run: Run, setting: Option<Setting>) -> Result<Outcome, Halt> {
    let Some(setting) = setting else { return Err(Halt::Stopped) };
    let accept: Vec<Check> = setting.plan.plan().contract.accept.clone();
    let judged = checks::judge_all(&mut run, &accept, &setting).await?;
    let summary = run.payload(counted(accept.len(), "acceptance check")).await?;
    Ok(match judged.first() {
        None => Outcome::Done { verified: judged.verified, summary },
        Some(problem) => Outcome::Failed { cause: Cause::Check, message: problem, ended: judged.ended },
    })
}

/// Starts acceptance when its time has come, or ends the task. True when something was appended.
pub(super) async fn advance(owner: &mut Owner, id: &TaskId) -> Result<bool, StoreFault> {
    let now = owner.world.clock.now();
    let Some(case) = owner.cases.get(id) else { return Ok(false) };
    let Some(plan) = case.plan.clone() else { return Ok(false) };
    let task = case.task.clone();
    let pending = case.pending();
    let board = schedule::board(&task, &plan, pending, now);
    let done_or_later = board.iter().all(|(step, readiness)| {
        let over = task.step(step).is_some_and(|run| run.state.is_over());
        over || matches!(readiness, Readiness::BeyondApproval) || waits_for_review(readiness, &task, &board)
    });
    let decides = case.live.contains_key(&Work::Review) || owner.waiting.get(id).is_some_and(|queue| !queue.is_empty());
    if !done_or_later || task.document != Document::Same || decides {
        return Ok(false);
    }
    match &task.acceptance.state {
        ProgressState::Running if !case.live.contains_key(&Work::Acceptance) => {
            owner.spawn(id, Work::Acceptance);
            Ok(true)
        }
        ProgressState::Running | ProgressState::AtGate(_) => Ok(false),
        ProgressState::Idle if worth_judging(owner, id, pending).await? => {
            owner.begin_or_go_on(id, Work::Acceptance, &task.acceptance.state, task.acceptance.attempts).await
        }
        ProgressState::Idle | ProgressState::Done { .. } | ProgressState::Failed { .. } => {
            let all_over = board.iter().all(|(step, _)| task.step(step).is_some_and(|run| run.state.is_over()));
            if pending > 0 || !all_over {
                return Ok(false);
            }
            let ending = ending(owner, id);
            owner.end_work(id, |work| *work == Work::Baseline);
            let left = task.in_flight().filter(|effect| effect.id.work == Work::Baseline);
            let cancelled =
                left.map(|effect| Event::Settled { effect: effect.id.clone(), result: Settlement::Cancelled });
            let events = cancelled.chain([Event::Closed { ending }]).collect();
            owner.append(id, events, Durability::Disk).await?;
            Ok(true)
        }
    }
}

/// Waits for the last decision, or for a step that does.
fn waits_for_review(readiness: &Readiness, task: &Task, board: &[(StepId, Readiness)]) -> bool {
    match readiness {
        Readiness::WaitsForReview => true,
        Readiness::Waits(before) => before.iter().all(|id| {
            let over = task.step(id).is_some_and(|run| run.state.is_over());
            let after_review = board.iter().any(|(other, r)| other == id && *r == Readiness::WaitsForReview);
            over || after_review
        }),
        Readiness::Ready | Readiness::Delayed(_) | Readiness::BeyondApproval | Readiness::NotNow => false,
    }
}

/// In the middle of a review nothing is judged that the next decision would change: only the first state, before any
/// decision, and the last, after all of them. And not where the same view has its verdicts already.
async fn worth_judging(owner: &mut Owner, id: &TaskId, pending: usize) -> Result<bool, StoreFault> {
    let Some(case) = owner.cases.get(id) else { return Ok(false) };
    let Some(plan) = &case.plan else { return Ok(false) };
    let accept = &plan.plan().contract.accept;
    let decided = case.hunks.iter().any(|hunk| hunk.decision.is_some());
    let nothing_kept = !case.hunks.is_empty() && pending == 0 && kept(case) == 0;
    if accept.is_empty() || (decided && pending > 0) || nothing_kept {
        return Ok(false);
    }
    let judged: Vec<ContentHash> = case
        .task
        .judgements
        .iter()
        .filter(|judgement| judgement.work == Work::Acceptance && accept.contains(&judgement.check))
        .map(|judgement| judgement.view.clone())
        .collect();
    if judged.len() < accept.len() {
        return Ok(true);
    }
    let merged = case.merged.borrow().clone();
    let world = owner.world.clone();
    let Ok(laid) = super::overlay::overlay(&world, &merged).await else { return Ok(true) };
    let laid = laid.judged(&world).await;
    Ok(match world.arena.view(laid.view().into_iter().collect()).await {
        Ok(view) => judged.iter().any(|seen| seen != &view),
        Err(_) => true,
    })
}

fn kept(case: &super::case::Case) -> usize {
    use crate::domain::change::HunkState;
    case.hunks.iter().filter(|hunk| hunk.state == HunkState::Accepted).count()
}

/// What the checks found on what was kept.
fn ending(owner: &Owner, id: &TaskId) -> Ending {
    let unjudged = |why: &str| Ending::NotVerified { why: why.to_owned() };
    let Some(case) = owner.cases.get(id) else { return unjudged("the task is gone") };
    if !case.hunks.is_empty() && kept(case) == 0 {
        return Ending::NothingKept;
    }
    let accept = case.plan.as_ref().map(|plan| plan.plan().contract.accept.clone()).unwrap_or_default();
    if accept.is_empty() {
        return unjudged("the plan has no acceptance check");
    }
    let verdict = |check: &Check| {
        let judged = case.task.judgements.iter().find(|j| j.work == Work::Acceptance && &j.check == check);
        judged.map(|judgement| &judgement.verdict)
    };
    // Judging stops at the first check that does not hold, so the others have no verdict: the one that failed is the
    // reason, wherever it stands in the plan.
    for check in &accept {
        if let Some(Verdict::Failed { why }) = verdict(check) {
            return Ending::CheckFails { why: format!("{}: {why}", checks::name(check)) };
        }
    }
    for check in &accept {
        match verdict(check) {
            Some(Verdict::Passed | Verdict::Failed { .. }) => {}
            Some(Verdict::NotJudged { why }) => return unjudged(&format!("{}: {why}", checks::name(check))),
            None => return unjudged(&format!("{} was not run", checks::name(check))),
        }
    }
    Ending::Verified
}
