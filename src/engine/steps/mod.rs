//! One attempt at one step of the approved plan, by its kind.
//!
//! Invariant: everything that reaches the world goes through `Run::effect`; between effects the code is deterministic.
//! The verifier's verdict ends a step, never the agent's word (F5). Absent: when a step may start; that is `schedule`.

mod agent;
mod ask;
mod command;
mod findings;
mod hold;
mod proposal;
mod transform;

pub(super) use agent::ask_model;
pub(super) use command::arena_fault;
pub(super) use hold::item;

use super::baseline::Baselines;
use super::case::{Case, Merged};
use super::work::{Halt, Run};
use crate::domain::ids::{StepId, WorkspacePath};
use crate::domain::plan::{ApprovedPlan, Step, StepKind};
use crate::domain::task::event::{Cause, Outcome};
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// What a step works under.
pub(super) struct Setting {
    /// The approved plan.
    pub plan: Arc<ApprovedPlan>,
    /// The merged change set as it moves on.
    pub merged: watch::Receiver<Arc<Merged>>,
    /// Tokens that the task has used, as they grow.
    pub tokens: watch::Receiver<u64>,
    /// What the checks say of the text before any change.
    pub baselines: watch::Receiver<Baselines>,
    /// One check at a time.
    pub lane: Arc<Mutex<()>>,
    /// What the steps done so far say of themselves.
    pub finished: Vec<findings::Finished>,
    /// What failed in the former attempt.
    pub learnt: Option<String>,
}

impl Setting {
    /// What the case has for a step that starts; nothing without an approval.
    pub(super) fn of(case: &Case) -> Option<Setting> {
        let plan = case.plan.clone()?;
        Some(Setting {
            merged: case.merged.subscribe(),
            tokens: case.tokens.subscribe(),
            baselines: Baselines::of(case),
            lane: case.lane.clone(),
            finished: findings::finished(&case.journal, &plan),
            learnt: None,
            plan,
        })
    }

    /// The same, with what the journal says of the step's former attempt.
    pub(super) fn of_step(case: &Case, step: &StepId) -> Option<Setting> {
        Some(Setting { learnt: findings::learnt(&case.journal, step), ..Setting::of(case)? })
    }

    /// The change set of the moment.
    pub(super) fn now(&self) -> Arc<Merged> {
        self.merged.borrow().clone()
    }
}

/// Runs an attempt at a step.
///
/// # Errors
/// The work must stop; it can be taken up from its journal.
pub(super) async fn run(mut run: Run, id: StepId, setting: Option<Setting>) -> Result<Outcome, Halt> {
    let Some(setting) = setting else { return Err(Halt::Stopped) };
    let Some(step) = setting.plan.step(&id).cloned() else { return Err(Halt::Stopped) };
    if let Some(outcome) = hold::hold(&mut run, &step, &setting).await? {
        return Ok(outcome);
    }
    match &step.kind {
        StepKind::Edit(_) | StepKind::Explore(_) => agent::run(&mut run, &step, &setting).await,
        StepKind::Transform(rule) => transform::run(&mut run, &step, rule, &setting).await,
        StepKind::Run(command) => command::run(&mut run, &step, command, &setting).await,
        StepKind::Check(check) => command::check(&mut run, &step, check, &setting).await,
        StepKind::Ask(who) => ask::run(&mut run, &step, who).await,
        StepKind::Fetch(_) | StepKind::Recipe(_) => Ok(Outcome::Blocked {
            cause: Cause::Policy,
            message: format!("`{}` steps are not in this release; edit the plan", step.kind.key()),
        }),
    }
}

/// Words about changes that were not taken, because nothing judges itself (F8); none where there are none.
fn dropped_measures(paths: &[WorkspacePath]) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let names = paths.iter().map(WorkspacePath::as_str).collect::<Vec<_>>().join(", ");
    format!("; dropped, because the step's check measures by them and the plan does not name them: {names}")
}

/// Judges a step's proposal by its checks and says how the attempt ends, for kinds without repair rounds.
async fn finish(run: &mut Run, step: &Step, setting: &Setting, summary: String) -> Result<Outcome, Halt> {
    let checks = setting.plan.checks(&step.id);
    let result = super::checks::judge_all(run, &checks, setting).await?;
    let summary = run.payload(summary).await?;
    Ok(result.outcome(summary))
}
