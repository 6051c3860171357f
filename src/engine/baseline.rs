//! The baseline: the command checks of an approved plan, run once before any change (F1).
//!
//! Invariant: it runs the user's text without the change set, one check at a time in the lane, and asks nobody: only where
//! commands are isolated, and only those that need no gate. Where some of the change set stands in that text already,
//! nothing is said of the time before. Absent: what a later run is worth beside it (`weighing`).

use super::case::{Case, Merged};
use super::checks::{deltas, name};
use super::overlay::{Overlay, overlay};
use super::owner::Owner;
use super::steps::{Setting, arena_fault};
use super::work::{Came, EffectFault, Halt, Run};
use super::world::World;
use crate::domain::ids::*;
use crate::domain::plan::{ApprovedPlan, Check, Command, StepKind};
use crate::domain::policy::commands;
use crate::domain::policy::cost::cost;
use crate::domain::task::event::{Cause, Event, Intent, Outcome};
use crate::domain::task::facts::{RunOutcome, Rung};
use crate::domain::task::state::{BaselineRun, Document, ProgressState};
use crate::domain::text::counted;
use crate::domain::verify::against::{Reading, already_fails};
use crate::domain::verify::problems::{self, Ground};
use crate::ports::{RunOrder, Stage, StoreFault};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tokio::sync::watch;

/// What is known of the time before any change, and what will be.
#[derive(Clone, Debug, Default)]
pub(super) struct Baselines {
    /// The last run of each check.
    pub runs: Vec<BaselineRun>,
    /// Checks that this process is about to run.
    pub due: Vec<Check>,
}

impl Baselines {
    /// What the journal has, and nothing to come.
    pub(super) fn of(case: &Case) -> watch::Receiver<Baselines> {
        // The sender goes with the work that fills it.
        let live = case.baselines.as_ref().filter(|known| known.has_changed().is_ok());
        live.cloned()
            .unwrap_or_else(|| watch::channel(Baselines { runs: case.task.baselines.clone(), due: Vec::new() }).1)
    }

    /// What work on the baseline fills, from where the journal leaves it.
    pub(super) fn to_come(case: &Case, rung: Rung) -> watch::Sender<Baselines> {
        let due = case.plan.as_ref().map(|plan| checks(plan, rung)).unwrap_or_default();
        watch::Sender::new(Baselines { runs: case.task.baselines.clone(), due })
    }
}

impl Owner {
    /// Starts the baseline of an approval, or takes it up. True when something was started.
    pub(super) async fn start_baseline(&mut self, id: &TaskId) -> Result<bool, StoreFault> {
        let Some(case) = self.cases.get(id) else { return Ok(false) };
        let Some(plan) = &case.plan else { return Ok(false) };
        let task = case.task.clone();
        if case.live.contains_key(&Work::Baseline) {
            return Ok(false);
        }
        let wanted = match task.baseline.state {
            ProgressState::Running => true,
            ProgressState::Idle => {
                let ahead = task.steps.iter().any(|run| !run.state.is_over());
                ahead && task.document == Document::Same && !checks(plan, self.world.arena.rung()).is_empty()
            }
            ProgressState::AtGate(_) | ProgressState::Done { .. } | ProgressState::Failed { .. } => false,
        };
        if !wanted {
            return Ok(false);
        }
        self.begin_or_go_on(id, Work::Baseline, &task.baseline.state, task.baseline.attempts).await
    }
}

/// The checks of the plan that run without a gate, the cheapest first.
fn checks(plan: &ApprovedPlan, rung: Rung) -> Vec<Check> {
    let mut all = plan.plan().contract.accept.clone();
    for step in &plan.plan().steps {
        if let StepKind::Check(check) = &step.kind {
            all.push(check.clone());
        }
        all.extend(plan.checks(&step.id));
    }
    all.retain(
        |check| matches!(check, Check::Command(command) if rung == Rung::Cage && !commands::asks(command, rung)),
    );
    let mut once: Vec<Check> = Vec::new();
    all.into_iter().for_each(|check| {
        if !once.contains(&check) {
            once.push(check);
        }
    });
    once.sort_by_key(cost);
    once
}

/// What the baseline of an attempt starts from.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ahead {
    /// The view before any change; none where that cannot be had any more.
    view: Option<ContentHash>,
}

/// A run with what it already finds, told when it ran: the files that its output names are those of that moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Found {
    outcome: RunOutcome,
    found: Option<String>,
}

/// Runs each check that has not run on this text.
///
/// # Errors
/// The work must stop.
pub(super) async fn run(
    mut run: Run,
    setting: Option<Setting>,
    known: watch::Sender<Baselines>,
) -> Result<Outcome, Halt> {
    let Some(setting) = setting else { return Err(Halt::Stopped) };
    let (world, merged) = (run.world.clone(), setting.merged.clone());
    let came = run
        .effect(Intent::Snapshot, ContentHash::of("baseline"), 0, |_| async move {
            let now = merged.borrow().clone();
            let view = match before(&world, &now).await? {
                Some(over) => Some(world.arena.view(over.into_iter().collect()).await.map_err(arena_fault)?),
                None => None,
            };
            Ok((Ahead { view }, None))
        })
        .await?;
    let view = match came {
        Came::Back(Ahead { view }) => view,
        Came::Failed(EffectFault { cause, message, .. }) => {
            return Ok(Outcome::Failed { cause, message, ended: None });
        }
        Came::Happened(_) => return Err(Halt::Diverged),
    };
    let Some(view) = view else {
        let why = "some of the change set stands in the text already";
        return Ok(Outcome::Done { verified: false, summary: run.payload(why.to_owned()).await? });
    };
    // Going through the attempt again finds its own runs among those that are known.
    let former = run.task.baselines.iter().filter(|one| one.attempt < run.attempt && one.view == view);
    let former: Vec<Check> = former.map(|one| one.check.clone()).collect();
    let all = checks(&setting.plan, run.world.arena.rung());
    let due: Vec<Check> = all.iter().filter(|check| !former.contains(check)).cloned().collect();
    known.send_modify(|known| known.due.clone_from(&due));
    for check in &due {
        let Check::Command(command) = check else { continue };
        run.line(format!("{}: check {}", run.work, name(check)));
        if let Some(Found { outcome, found }) = one(&mut run, command, &setting).await? {
            let (view, rung) = (outcome.view.clone(), outcome.rung);
            let text = serde_json::to_string(&outcome).map_err(|e| Halt::Store(StoreFault::Broken(e.to_string())))?;
            let outcome = run.payload(text).await?;
            let told = BaselineRun {
                check: check.clone(),
                attempt: run.attempt,
                found: found.clone(),
                outcome: outcome.clone(),
                view: view.clone(),
            };
            run.state(Event::BaselineRun { check: check.clone(), found, outcome, view, rung }).await?;
            known.send_modify(|known| {
                known.runs.retain(|one| &one.check != check);
                known.runs.push(told);
            });
        }
        known.send_modify(|known| known.due.retain(|one| one != check));
    }
    let summary = run.payload(counted(all.len(), "check")).await?;
    Ok(Outcome::Done { verified: false, summary })
}

/// One check; none where it could not run.
async fn one(run: &mut Run, command: &Command, setting: &Setting) -> Result<Option<Found>, Halt> {
    let (world, merged, lane) = (run.world.clone(), setting.merged.clone(), setting.lane.clone());
    let (task, trace, wanted) = (run.task.id.clone(), run.task.trace.clone(), command.clone());
    let (root, timeout) = (run.task.binding.root.to_string_lossy().into_owned(), run.world.limits.command);
    let deltas = deltas(run, &run.work.to_string());
    let intent = Intent::Command { command: command.clone(), repeatable: true };
    let came = run
        .effect(intent, ContentHash::of(format!("baseline {command:?}")), 0, |effect| async move {
            let late = || conflict("some of the change set stands in the text by now".to_owned());
            let _turn = lane.lock().await;
            let now = merged.borrow().clone();
            let view = before(&world, &now).await?.ok_or_else(late)?;
            let dir = wanted.dir.clone().unwrap_or_default();
            let stage = Stage::View(view.into_iter().collect());
            let order = RunOrder { task, effect, command: wanted, stage, timeout, keeps: false, key: None, trace };
            let outcome = world.arena.run(order, deltas).await.map_err(arena_fault)?;
            if merged.borrow().kept {
                return Err(late());
            }
            let outcome = RunOutcome { wrote: Vec::new(), ..outcome };
            let files: BTreeSet<WorkspacePath> =
                world.workspace.list().await.into_iter().map(|file| file.path).collect();
            let problems = problems::read(&outcome.output, Ground { root: &root, dir: &dir, files: &files });
            let found = already_fails(Reading { outcome: &outcome, problems: &problems });
            Ok((Found { outcome, found }, None))
        })
        .await?;
    Ok(match came {
        Came::Back(found) => Some(found),
        Came::Failed(_) | Came::Happened(_) => None,
    })
}

/// What makes a copy of the disk the view before any change; none where some of the change set was put into the text.
async fn before(world: &World, merged: &Merged) -> Result<Option<Overlay>, EffectFault> {
    if merged.kept {
        return Ok(None);
    }
    let laid = overlay(world, &Merged::default()).await.map_err(|refusal| conflict(refusal.to_string()))?;
    Ok(Some(laid.judged(world).await.view()))
}

fn conflict(message: String) -> EffectFault {
    EffectFault { cause: Cause::Conflict, message, usage: None }
}
