//! `run` and `check` steps.
//!
//! Invariant: a command starts only as `Run::permit` has it, and an outside effect only if three things hold
//! at this very place (B13): its arguments come from the approved plan, nothing is recorded under its key, and a
//! person's decision covers it. What a step's own check measures by is not taken from its command either (F8). Absent: isolation; that is the arena's.

use super::proposal::{self, Fault, Made};
use super::{Setting, dropped_measures, finish};
use crate::domain::change::Entry;
use crate::domain::ids::*;
use crate::domain::plan::{ApprovedPlan, Check, Command, EffectSetting, Step};
use crate::domain::policy::paths::{self, Rights};
use crate::domain::task::action::GateAnswer;
use crate::domain::task::event::{Ask, Cause, Intent, Outcome, Settlement};
use crate::domain::task::facts::{Ended, RunOutcome};
use crate::engine::checks;
use crate::engine::overlay::{Laid, overlay};
use crate::engine::work::{Came, EffectFault, Halt, Run, read};
use crate::engine::world::World;
use crate::ports::{ArenaFault, RunOrder, Stage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs a `check` step: its kind is its check.
pub(super) async fn check(run: &mut Run, step: &Step, check: &Check, setting: &Setting) -> Result<Outcome, Halt> {
    let mut all = vec![check.clone()];
    all.extend(setting.plan.checks(&step.id).into_iter().filter(|other| other != check));
    let result = checks::judge_all(run, &all, setting).await?;
    let summary = run.payload(checks::name(check)).await?;
    Ok(result.outcome(summary))
}

/// Runs a `run` step.
pub(super) async fn run(run: &mut Run, step: &Step, command: &Command, setting: &Setting) -> Result<Outcome, Halt> {
    match step.effect {
        EffectSetting::Outside => outside(run, step, command, setting).await,
        EffectSetting::OfKind | EffectSetting::Repeatable => inside(run, step, command, setting).await,
    }
}

/// A command's outcome with what the files it wrote were before, so that the journal alone makes the proposal.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ran {
    outcome: RunOutcome,
    started: Vec<(WorkspacePath, Started)>,
}

/// A file as a command finds it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Started {
    /// What the user has.
    user: Entry,
    /// The same with the hunks of earlier steps.
    base: Entry,
}

/// In a view; what it writes inside the step's write set becomes hunks, the rest is listed and dropped.
async fn inside(run: &mut Run, step: &Step, command: &Command, setting: &Setting) -> Result<Outcome, Halt> {
    let repeatable = step.effect == EffectSetting::Repeatable;
    let request = ContentHash::of(format!("run {command:?}"));
    if !run.knows_next(&request)
        && let Err(words) = run.permit(command, false).await?
    {
        return Ok(refused(command, &words));
    }
    let timeout = checks::time_limit(setting.plan.timeout(&step.id, run.world.limits.command), run.attempt);
    let (world, merged, lane) = (run.world.clone(), setting.merged.clone(), setting.lane.clone());
    let (task, trace, order_command) = (run.task.id.clone(), run.task.trace.clone(), command.clone());
    let deltas = checks::deltas(run, &step.id.to_string());
    run.line(format!("{}: `{}`", step.id, shell_words::join(&command.argv)));
    let own = step.clone();
    let may = May { plan: setting.plan.clone(), rights: setting.plan.rights(&step.id, Vec::new()) };
    let taken = may.clone();
    let came: Came<Ran> = run
        .effect(Intent::Command { command: command.clone(), repeatable }, request, 0, |effect| async move {
            let _turn = lane.lock().await;
            let now = merged.borrow().without(&own.id);
            let laid = overlay(&world, &now).await.map_err(|refusal| conflict(refusal.to_string()))?;
            // A save of the person while the command runs is later than the view, and no change of the step's.
            let before = users(&world, &may, &own, &laid).await;
            let stage = Stage::View(laid.view().into_iter().collect());
            let order =
                RunOrder { task, effect, command: order_command, stage, timeout, keeps: true, key: None, trace };
            let outcome = world.arena.run(order, deltas).await.map_err(arena_fault)?;
            let mut started = Vec::new();
            for (path, _) in outcome.wrote.iter().filter(|(path, _)| may.write(&own.id, path)) {
                let user = before.get(path).cloned().unwrap_or(Ok(Entry::Absent)).map_err(conflict)?;
                let base = laid.at(path).unwrap_or(&user).clone();
                started.push((path.clone(), Started { user, base }));
            }
            Ok((Ran { outcome, started }, None))
        })
        .await?;
    let Ran { outcome, started } = match came {
        Came::Back(ran) => ran,
        Came::Failed(fault) => return Ok(Outcome::Failed { cause: fault.cause, message: fault.message, ended: None }),
        Came::Happened(by) => {
            let summary = run.payload(format!("{by}; what it wrote in the view was lost with the process")).await?;
            return Ok(Outcome::Done { verified: false, summary });
        }
    };
    if let Some(failed) = failed(command, &outcome) {
        return Ok(failed);
    }
    let Split { within, dropped } = split(&taken, step, &outcome);
    let mut started: BTreeMap<WorkspacePath, Started> = started.into_iter().collect();
    let made: Vec<Made> = within
        .into_iter()
        .filter_map(|(path, after)| {
            let Started { user, base } = started.remove(&path)?;
            Some(Made { path, user, base, after, doubts: Vec::new() })
        })
        .collect();
    if !made.is_empty() {
        match proposal::propose(run, step, setting, 1, made).await {
            Ok(_) => {}
            Err(Fault::Halt(halt)) => return Err(halt),
            Err(Fault::Breaks(broken)) => {
                return Ok(Outcome::Failed { cause: Cause::Policy, message: broken.join("; "), ended: None });
            }
            Err(Fault::Stopped(message)) => return Ok(Outcome::Blocked { cause: Cause::Policy, message }),
        }
    }
    finish(run, step, setting, format!("{}{dropped}", last_line(&outcome.output))).await
}

/// In the workspace itself, once (B12): what the journal knows under its key, of any attempt, is not done again (B4).
async fn outside(run: &mut Run, step: &Step, command: &Command, setting: &Setting) -> Result<Outcome, Halt> {
    let key =
        ContentHash::of(format!("{} {}", run.task.trace, step.id)).as_str().get(..32).unwrap_or_default().to_owned();
    let request = ContentHash::of(format!("outside {command:?} {key}"));
    if !run.knows_next(&request) {
        if let Some(outcome) = before(run, command, &key).await? {
            return Ok(outcome);
        }
        if let Err(words) = run.permit(command, true).await? {
            return Ok(refused(command, &words));
        }
    }
    let what = Intent::Outside { command: command.clone(), key: key.clone(), probe: step.probe.clone() };
    let timeout = setting.plan.timeout(&step.id, run.world.limits.command);
    let world = run.world.clone();
    let (task, trace, order_command) = (run.task.id.clone(), run.task.trace.clone(), command.clone());
    let deltas = checks::deltas(run, &step.id.to_string());
    run.line(format!("{}: `{}` in the workspace itself", step.id, shell_words::join(&command.argv)));
    let came: Came<RunOutcome> = run
        .effect(what, request, 0, |effect| async move {
            let stage = Stage::Workspace;
            let order =
                RunOrder { task, effect, command: order_command, stage, timeout, keeps: false, key: Some(key), trace };
            world.arena.run(order, deltas).await.map(|outcome| (outcome, None)).map_err(arena_fault)
        })
        .await?;
    Ok(match came {
        Came::Back(RunOutcome { ended: Ended::Exit(0), output, .. }) => {
            Outcome::Done { verified: false, summary: run.payload(last_line(&output)).await? }
        }
        // It may have reached outside before it failed, so it is never tried again by itself.
        Came::Back(outcome) => Outcome::Blocked {
            cause: Cause::ToolFault,
            message: format!("{}; see what it did before you retry", ended(command, &outcome)),
        },
        Came::Failed(fault) => Outcome::Blocked { cause: fault.cause, message: fault.message },
        Came::Happened(by) => Outcome::Done { verified: false, summary: run.payload(by).await? },
    })
}

/// What the last intent under this key, of whatever attempt, means for the present one: done, refused, or nothing.
async fn before(run: &mut Run, command: &Command, key: &str) -> Result<Option<Outcome>, Halt> {
    let Some(last) = run.task.outside.iter().rfind(|known| known.key == key).cloned() else { return Ok(None) };
    if last.is_in_doubt() {
        let ask = Ask::Ambiguous { effect: last.effect, command: last.command.clone() };
        let (answer, comment) = run.gate(ask).await?;
        return Ok(match answer {
            GateAnswer::Deny => Some(refused(&last.command, &comment.unwrap_or_default())),
            // The answer settles it, so that it is in doubt no more when the work comes here again.
            GateAnswer::Allow | GateAnswer::AllowForPlan | GateAnswer::Happened => None,
        });
    }
    if &last.command != command {
        return Ok(None);
    }
    let summary = match &last.result {
        Some(Settlement::Happened { by }) => by.clone(),
        Some(Settlement::Returned { result, .. }) => {
            let text = read(&run.world, result).await.map_err(Halt::Store)?;
            match serde_json::from_str(&text) {
                Ok(RunOutcome { ended: Ended::Exit(0), output, .. }) => last_line(&output),
                // It came back with a failure: a person says whether it is run again.
                Ok(_) | Err(_) => return Ok(None),
            }
        }
        Some(
            Settlement::Failed { .. } | Settlement::Cancelled | Settlement::Lost | Settlement::DidNotHappen { .. },
        )
        | None => return Ok(None),
    };
    Ok(Some(Outcome::Done { verified: false, summary: run.payload(summary).await? }))
}

/// What a port's fault means.
pub(in crate::engine) fn arena_fault(fault: ArenaFault) -> EffectFault {
    let cause = match &fault {
        ArenaFault::NoProgram(_) => Cause::MissingDependency,
        ArenaFault::View(_) | ArenaFault::Start(_) => Cause::ToolFault,
    };
    EffectFault { cause, message: fault.to_string(), usage: None }
}

fn conflict(message: String) -> EffectFault {
    EffectFault { cause: Cause::Conflict, message, usage: None }
}

fn refused(command: &Command, words: &str) -> Outcome {
    let command = shell_words::join(&command.argv);
    Outcome::Blocked { cause: Cause::Policy, message: format!("`{command}`: {words}") }
}

fn failed(command: &Command, outcome: &RunOutcome) -> Option<Outcome> {
    let cause = match outcome.ended {
        Ended::Exit(0) => return None,
        Ended::Timeout => Cause::Timeout,
        Ended::Exit(_)
        | Ended::Signal(_)
        | Ended::OutputLimit
        | Ended::Cancelled
        | Ended::MemoryLimit
        | Ended::ProcessLimit
        | Ended::DiskLimit
        | Ended::CpuLimit => Cause::Check,
    };
    Some(Outcome::Failed { cause, message: ended(command, outcome), ended: Some(outcome.ended.clone()) })
}

fn ended(command: &Command, outcome: &RunOutcome) -> String {
    let how = match &outcome.ended {
        Ended::Exit(code) => format!("ended with {code}"),
        Ended::Signal(signal) => format!("was ended by signal {signal}"),
        Ended::Timeout => "did not end within its time".to_owned(),
        Ended::OutputLimit => "printed more than its limit".to_owned(),
        Ended::Cancelled => "was cancelled".to_owned(),
        Ended::MemoryLimit => "had more memory than its limit".to_owned(),
        Ended::ProcessLimit => "had more processes than its limit".to_owned(),
        Ended::DiskLimit => "wrote more to disk than its limit".to_owned(),
        Ended::CpuLimit => "had more processor time than its limit".to_owned(),
    };
    format!("`{}` {how}: {}", shell_words::join(&command.argv), last_line(&outcome.output))
}

fn last_line(output: &str) -> String {
    output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("(no output)").trim().to_owned()
}

/// What the command wrote that the step may write, and words about the rest.
struct Split {
    within: Vec<(WorkspacePath, Entry)>,
    dropped: String,
}

fn split(may: &May, step: &Step, outcome: &RunOutcome) -> Split {
    let (within, rest): (Vec<_>, Vec<_>) =
        outcome.wrote.iter().cloned().partition(|(path, _)| may.write(&step.id, path));
    let (measures, beyond): (Vec<_>, Vec<_>) =
        rest.into_iter().map(|(path, _)| path).partition(|path| may.reach(&step.id, path));
    let mut dropped = String::new();
    if !beyond.is_empty() {
        let names = beyond.iter().map(WorkspacePath::as_str).collect::<Vec<_>>().join(", ");
        dropped.push_str(&format!("; dropped, because the step may not write them: {names}"));
    }
    dropped.push_str(&dropped_measures(&measures));
    Split { within, dropped }
}

/// What the step's command may change.
#[derive(Clone)]
struct May {
    plan: Arc<ApprovedPlan>,
    rights: Rights,
}

impl May {
    fn reach(&self, step: &StepId, path: &WorkspacePath) -> bool {
        self.plan.may_write(step, path.as_str()) && !paths::is_secret(path)
    }

    fn write(&self, step: &StepId, path: &WorkspacePath) -> bool {
        self.reach(step, path) && self.rights.judged_by(path).is_none()
    }
}

/// What the user has, before the command, wherever the step may write; a text that cannot be read is the reason why.
/// What is neither listed nor named is not there, or is none of the step's business: then its hunk does not fit.
async fn users(world: &World, may: &May, step: &Step, laid: &Laid) -> BTreeMap<WorkspacePath, Result<Entry, String>> {
    let listed = world.workspace.list().await.into_iter().map(|file| file.path);
    let named = step.write.iter().filter_map(|glob| WorkspacePath::new(glob).ok());
    let mut before = BTreeMap::new();
    for path in listed.chain(named).filter(|path| may.write(&step.id, path)) {
        let entry = match laid.user.get(&path) {
            Some(user) => Ok(user.clone()),
            None => world.workspace.read(&path).await.map_err(|refusal| refusal.to_string()),
        };
        before.insert(path, entry);
    }
    let known = laid.user.iter().map(|(path, user)| (path.clone(), Ok(user.clone())));
    before.extend(known);
    before
}
