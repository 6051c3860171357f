//! `run` and `check` steps.
//!
//! Invariant: a command starts only with a person's word at this rung, and an outside effect only if three things hold
//! at this very place (B13): its arguments come from the approved plan, nothing is recorded under its key, and a
//! person's decision covers it. Absent: isolation; that is the arena's.

use super::proposal::{self, Fault, Made};
use super::{Setting, finish};
use crate::domain::ids::*;
use crate::domain::plan::{Check, Command, EffectSetting, Step};
use crate::domain::policy::paths;
use crate::domain::task::action::GateAnswer;
use crate::domain::task::event::{Ask, Cause, Intent, Outcome, Settlement};
use crate::domain::task::facts::{Ended, RunOutcome};
use crate::engine::checks;
use crate::engine::overlay::overlay;
use crate::engine::work::{Came, EffectFault, Halt, Run, read};
use crate::ports::{ArenaFault, RunOrder, Stage};

/// Runs a `check` step: its kind is its check.
pub(super) async fn check(run: &mut Run, step: &Step, check: &Check, setting: &Setting) -> Result<Outcome, Halt> {
    let mut all = vec![check.clone()];
    all.extend(setting.plan.checks(&step.id).into_iter().filter(|other| other != check));
    let result = checks::judge_all(run, &all, setting).await?;
    let summary = run.payload(checks::name(check)).await?;
    Ok(match result.first() {
        None => Outcome::Done { verified: result.verified, summary },
        Some(problem) => Outcome::Failed { cause: Cause::Check, message: problem, ended: result.ended },
    })
}

/// Runs a `run` step.
pub(super) async fn run(run: &mut Run, step: &Step, command: &Command, setting: &Setting) -> Result<Outcome, Halt> {
    match step.effect {
        EffectSetting::Outside => outside(run, step, command, setting).await,
        EffectSetting::OfKind | EffectSetting::Repeatable => inside(run, step, command, setting).await,
    }
}

/// In a view; what it writes inside the step's write set becomes hunks, the rest is listed and dropped.
async fn inside(run: &mut Run, step: &Step, command: &Command, setting: &Setting) -> Result<Outcome, Halt> {
    let repeatable = step.effect == EffectSetting::Repeatable;
    let request = ContentHash::of(format!("run {command:?}"));
    if !run.knows_next(&request)
        && let Err(comment) = run.permit(command, false).await?
    {
        return Ok(refused(command, &comment));
    }
    let timeout = checks::time_limit(setting.plan.timeout(&step.id, run.world.limits.command), run.attempt);
    let (world, merged, lane) = (run.world.clone(), setting.now().without(&step.id), setting.lane.clone());
    let (task, trace, order_command) = (run.task.id.clone(), run.task.trace.clone(), command.clone());
    let deltas = checks::deltas(run, &step.id.to_string());
    run.line(format!("{}: `{}`", step.id, shell_words::join(&command.argv)));
    let came: Came<RunOutcome> = run
        .effect(Intent::Command { command: command.clone(), repeatable }, request, 0, |effect| async move {
            let _turn = lane.lock().await;
            let over = overlay(&world, &merged).await.map_err(|refusal| conflict(refusal.to_string()))?;
            let stage = Stage::View(over.into_iter().collect());
            let order = RunOrder { task, effect, command: order_command, stage, timeout, key: None, trace };
            world.arena.run(order, deltas).await.map(|outcome| (outcome, None)).map_err(arena_fault)
        })
        .await?;
    let outcome = match came {
        Came::Back(outcome) => outcome,
        Came::Failed(fault) => return Ok(Outcome::Failed { cause: fault.cause, message: fault.message, ended: None }),
        Came::Happened(by) => {
            let summary = run.payload(format!("{by}; what it wrote in the view was lost with the process")).await?;
            return Ok(Outcome::Done { verified: false, summary });
        }
    };
    if let Some(failed) = failed(command, &outcome) {
        return Ok(failed);
    }
    let (within, beyond) = split(setting, step, &outcome);
    let mut made = Vec::new();
    let changes = setting.now().without(&step.id).changes();
    for (path, after) in within {
        let user = user_entry(run, &path).await?;
        let over = changes.get(&path).map(|change| change.after.clone()).unwrap_or_else(|| user.clone());
        made.push(Made { path, user, base: over, after, doubts: Vec::new() });
    }
    let dropped = if beyond.is_empty() {
        String::new()
    } else {
        format!("; dropped, because the step may not write them: {}", beyond.join(", "))
    };
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
        if let Err(comment) = run.permit(command, true).await? {
            return Ok(refused(command, &comment));
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
            let order = RunOrder { task, effect, command: order_command, stage, timeout, key: Some(key), trace };
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

fn refused(command: &Command, comment: &str) -> Outcome {
    let why = if comment.is_empty() { String::new() } else { format!(": {comment}") };
    let command = shell_words::join(&command.argv);
    Outcome::Blocked { cause: Cause::Policy, message: format!("`{command}` was not allowed to run{why}") }
}

fn failed(command: &Command, outcome: &RunOutcome) -> Option<Outcome> {
    let cause = match outcome.ended {
        Ended::Exit(0) => return None,
        Ended::Timeout => Cause::Timeout,
        Ended::Exit(_) | Ended::Signal(_) | Ended::OutputLimit | Ended::Cancelled => Cause::Check,
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
    };
    format!("`{}` {how}: {}", shell_words::join(&command.argv), last_line(&outcome.output))
}

fn last_line(output: &str) -> String {
    output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("(no output)").trim().to_owned()
}

/// What the command wrote, inside and outside the step's write set.
fn split(
    setting: &Setting,
    step: &Step,
    outcome: &RunOutcome,
) -> (Vec<(WorkspacePath, crate::domain::change::Entry)>, Vec<String>) {
    let may = |path: &WorkspacePath| setting.plan.may_write(&step.id, path.as_str()) && !paths::is_secret(path);
    let (within, beyond): (Vec<_>, Vec<_>) = outcome.wrote.iter().cloned().partition(|(path, _)| may(path));
    (within, beyond.into_iter().map(|(path, _)| path.to_string()).collect())
}

/// The user's entry, journaled, so that going through the step again makes the same proposal.
async fn user_entry(run: &mut Run, path: &WorkspacePath) -> Result<crate::domain::change::Entry, Halt> {
    let world = run.world.clone();
    let request = ContentHash::of(format!("read {path}"));
    let wanted = path.clone();
    let came = run
        .effect(Intent::Snapshot, request, 0, |_| async move {
            world
                .workspace
                .read(&wanted)
                .await
                .map(|entry| (entry, None))
                .map_err(|refusal| conflict(refusal.to_string()))
        })
        .await?;
    match came {
        Came::Back(entry) => Ok(entry),
        Came::Failed(_) | Came::Happened(_) => Ok(crate::domain::change::Entry::Absent),
    }
}
