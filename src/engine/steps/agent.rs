//! An `edit` or `explore` step: the machine of `domain::agent`, with its moves done through the journal.
//!
//! Invariant: the machine sees each answer exactly once and in order, whether it is new or from the journal, so that a
//! step that was killed asks nothing a second time. Absent: the loop itself, and judging.

use super::proposal::{self, Fault, Made};
use super::{Setting, findings};
use crate::domain::agent::dialogue::{ModelFault, ModelFaultKind, ModelReply, ModelRequest};
use crate::domain::agent::order::{Act, ToolError, ToolOrder, ToolResult};
use crate::domain::agent::{Agent, AgentKind, Answer, Brief, CallForm, Limits, Move};
use crate::domain::change::Entry;
use crate::domain::connect;
use crate::domain::context::tokens::estimate_tokens;
use crate::domain::ids::*;
use crate::domain::plan::{Check, Command, Step, StepKind};
use crate::domain::policy::paths::Rights;
use crate::domain::policy::tools;
use crate::domain::task::action::{GateAnswer, Goal};
use crate::domain::task::event::*;
use crate::domain::task::facts::Ended;
use crate::domain::verify;
use crate::engine::checks::{self, Aim, Ran};
use crate::engine::overlay::{Laid, overlay};
use crate::engine::tools::{Bench, Changed};
use crate::engine::weighing::Traced;
use crate::engine::work::{Came, EffectFault, Halt, Run};
use crate::ports::Deltas;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The frozen start of a step: what the agent is told, and the files with the hunks of earlier steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Start {
    brief: Brief,
    over: Vec<(WorkspacePath, Entry)>,
    user: Vec<(WorkspacePath, Entry)>,
}

/// A tool's result with what it read and wrote, so that the journal alone rebuilds the step's files.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Done {
    result: ToolResult,
    read: Vec<(WorkspacePath, Entry)>,
    wrote: Vec<(WorkspacePath, Entry)>,
}

/// Runs the step to its end.
pub(super) async fn run(run: &mut Run, step: &Step, setting: &Setting) -> Result<Outcome, Halt> {
    if run.world.model.info().is_none() {
        return Ok(Outcome::Blocked {
            cause: Cause::MissingDependency,
            message: format!(
                "this step needs a model, and {}: {}; then retry",
                connect::NONE,
                run.world.model.connect()
            ),
        });
    }
    let start = match start(run, step, setting).await? {
        Ok(start) => start,
        Err(fault) => return Ok(Outcome::Failed { cause: fault.cause, message: fault.message, ended: None }),
    };
    let mut stand = Stand {
        agent: Agent::start(start.brief.clone()),
        bench: Bench::new(start.over.iter().cloned().collect()),
        user: start.user.into_iter().collect(),
        rights: start.brief.rights,
        generation: 0,
    };
    loop {
        for words in run.said() {
            stand.agent.take(Answer::Said(words));
        }
        match stand.agent.next() {
            Move::Model(request) => {
                let reply = ask_model(run, request).await?;
                stand.agent.take(Answer::Model(reply));
            }
            Move::Tool(order) => {
                let result = do_order(run, step, setting, &mut stand, &order).await?;
                stand.agent.take(Answer::Tool(result));
            }
            Move::AskPerson { question } => {
                let (answer, comment) = run.gate(Ask::Question { question }).await?;
                stand.agent.take(Answer::Person(spoken(answer, comment)));
            }
            Move::AskScope { paths, reason } => {
                let reason = format!(
                    "the step asks to write {}: {reason}. Its plan does not allow that; widen the plan and approve it again, or answer `deny` to go on without",
                    paths.join(", ")
                );
                let (answer, comment) = run.gate(Ask::Exceeds { reason: reason.clone() }).await?;
                // A gate never widens a contract (A8): only a new approval does. Allowing ends the attempt, so that
                // the person can edit the plan; the agent starts again under the new revision.
                if answer != GateAnswer::Deny {
                    let message = "waits for a wider plan: edit it, approve it, and retry the step".to_owned();
                    return Ok(Outcome::Blocked { cause: Cause::Policy, message });
                }
                stand.agent.take(Answer::Person(spoken(answer, comment)));
            }
            Move::Done { summary, notes } => match judge(run, step, setting, &mut stand, &summary, &notes).await? {
                Ok(outcome) => {
                    if let Some(form) = stand.agent.form() {
                        crate::engine::start::keep_call_form(&run.world, form).await;
                    }
                    return Ok(outcome);
                }
                Err(errors) => stand.agent.take(Answer::Check(errors)),
            },
            Move::Stopped { cause, message } => {
                return Ok(match cause {
                    Cause::Guard | Cause::Budget | Cause::Policy => Outcome::Blocked { cause, message },
                    Cause::ModelOutput
                    | Cause::Transport
                    | Cause::ToolFault
                    | Cause::Timeout
                    | Cause::MissingDependency
                    | Cause::MissingArtifact
                    | Cause::Check
                    | Cause::Conflict
                    | Cause::Crash => Outcome::Failed { cause, message, ended: None },
                });
            }
        }
    }
}

/// What an attempt has in hand.
struct Stand {
    agent: Agent,
    bench: Bench,
    /// What the user has where earlier hunks are laid over it.
    user: BTreeMap<WorkspacePath, Entry>,
    rights: Rights,
    generation: u32,
}

fn spoken(answer: GateAnswer, comment: Option<String>) -> String {
    let word = match answer {
        GateAnswer::Allow | GateAnswer::AllowForPlan | GateAnswer::Happened => "yes",
        GateAnswer::Deny => "no",
    };
    comment.map_or_else(|| word.to_owned(), |comment| format!("{word}: {comment}"))
}

async fn start(run: &mut Run, step: &Step, setting: &Setting) -> Result<Result<Start, EffectFault>, Halt> {
    let request = ContentHash::of(format!("start {} {}", step.id, run.attempt));
    let brief = brief(run, step, setting);
    let (world, merged) = (run.world.clone(), setting.now().without(&step.id));
    let (wanted, finished) = (named_files(step), setting.finished.clone());
    let goal = Goal { words: goal(setting), ..run.task.goal.clone() };
    let came = run
        .effect(Intent::Snapshot, request, 0, |_| async move {
            let Laid { over, mut user, .. } = overlay(&world, &merged).await.map_err(|refusal| EffectFault {
                cause: Cause::Conflict,
                message: refusal.to_string(),
                usage: None,
            })?;
            let context = crate::engine::start::context(&world, &goal, &wanted, &over).await;
            let form = crate::engine::start::call_form(&world).await;
            let summaries = findings::read(&world, finished).await;
            let brief = Brief { context, form, summaries, ..brief };
            user.retain(|path, _| over.contains_key(path));
            let (over, user) = (over.into_iter().collect(), user.into_iter().collect());
            Ok((Start { brief, over, user }, None))
        })
        .await?;
    match came {
        Came::Back(start) => Ok(Ok(start)),
        Came::Failed(fault) => Ok(Err(fault)),
        Came::Happened(_) => Err(Halt::Diverged),
    }
}

/// The goal as it was approved, which a person may have worded anew in the document: a model is told nothing that the
/// digest does not cover.
fn goal(setting: &Setting) -> String {
    let plan = setting.plan.plan();
    if plan.goal.is_empty() { plan.title.clone() } else { plan.goal.clone() }
}

/// Everything of the brief that needs no file.
fn brief(run: &Run, step: &Step, setting: &Setting) -> Brief {
    let prompt = setting.plan.prompt();
    let text = prompt.steps.iter().find(|(id, _)| id == &step.id).map(|(_, text)| text.clone()).unwrap_or_default();
    let kind = match &step.kind {
        StepKind::Explore(_) => AgentKind::Explore,
        StepKind::Edit(_)
        | StepKind::Transform(_)
        | StepKind::Run(_)
        | StepKind::Fetch(_)
        | StepKind::Check(_)
        | StepKind::Ask(_)
        | StepKind::Recipe(_) => AgentKind::Edit,
    };
    let task = &run.task;
    let budget = setting.plan.plan().contract.budget.tokens;
    let progress = task
        .steps
        .iter()
        .map(|run| {
            format!(
                "{}: {}",
                run.id,
                if run.state.is_over() {
                    "over"
                } else if run.id == step.id {
                    "this step"
                } else {
                    "open"
                }
            )
        })
        .collect::<Vec<_>>()
        .join("\n");
    let index = task
        .goal
        .references
        .iter()
        .map(|path| format!("{path}: reference that came with the goal"))
        .collect::<Vec<_>>()
        .join("\n");
    Brief {
        goal: goal(setting),
        contract: prompt.contract.clone(),
        step: text,
        step_id: step.id.clone(),
        kind,
        index,
        context: String::new(),
        progress,
        summaries: Vec::new(),
        rights: setting.plan.rights(&step.id, tools::defaults(kind)),
        limits: Limits {
            turns: run.world.limits.turns,
            repairs: setting.plan.repairs(&step.id),
            max_tokens: run.world.limits.answer,
            tokens_left: budget.map(|most| most.saturating_sub(task.spend.tokens())),
        },
        form: CallForm::default(),
        said: Vec::new(),
        learnt: setting.learnt.clone(),
    }
}

/// The files that the step names and that its context must show.
fn named_files(step: &Step) -> Vec<(String, Option<String>)> {
    match &step.kind {
        StepKind::Edit(targets) => targets.iter().map(|target| (target.path.clone(), target.focus.clone())).collect(),
        StepKind::Explore(globs) => globs.iter().map(|glob| (glob.clone(), None)).collect(),
        StepKind::Transform(_)
        | StepKind::Run(_)
        | StepKind::Fetch(_)
        | StepKind::Check(_)
        | StepKind::Ask(_)
        | StepKind::Recipe(_) => Vec::new(),
    }
}

/// One exchange through the journal.
pub(in crate::engine) async fn ask_model(
    run: &mut Run,
    request: ModelRequest,
) -> Result<Result<ModelReply, ModelFault>, Halt> {
    let request = ModelRequest { trace: Some(run.task.trace.clone()), ..request };
    let text =
        serde_json::to_string(&request).map_err(|e| Halt::Store(crate::ports::StoreFault::Broken(e.to_string())))?;
    let hash = ContentHash::of(&text);
    let name = run.world.model.info().map_or_else(|| "none".to_owned(), |info| info.name);
    let reserve = estimate_tokens(&text).saturating_add(u64::from(request.max_tokens));
    if !run.knows_next(&hash) {
        run.world.store.put_blob(text.into_bytes()).await.map_err(Halt::Store)?;
        run.line(format!("{}: asking {name}", run.work));
    }
    let world = run.world.clone();
    let deltas: Deltas = Arc::new(|_: &str| {});
    let intent = Intent::Model { model: name, request: hash.clone() };
    let came: Came<Result<ModelReply, ModelFault>> = run
        .effect(intent, hash, reserve, |_| async move {
            // A fault is a result: the machine decides what it means, now and when the journal is gone through again.
            Ok(match world.model.complete(request, deltas).await {
                Ok(reply) => {
                    let usage = reply.usage;
                    (Ok(reply), Some(usage))
                }
                Err(fault) => (Err(fault), None),
            })
        })
        .await?;
    Ok(match came {
        Came::Back(reply) => reply,
        Came::Failed(fault) => Err(ModelFault {
            kind: ModelFaultKind::Connection,
            message: fault.message,
            next: "planwright doctor".to_owned(),
            tries: 0,
        }),
        Came::Happened(_) => return Err(Halt::Diverged),
    })
}

async fn do_order(
    run: &mut Run,
    step: &Step,
    setting: &Setting,
    stand: &mut Stand,
    order: &ToolOrder,
) -> Result<ToolResult, Halt> {
    match &order.act {
        Act::Run { command } => {
            if let Err(refusal) = stand.rights.may_run(&command.argv) {
                return Ok(ToolResult::Err(ToolError {
                    what: refusal.what,
                    retry: refusal.retry,
                    instead: refusal.instead,
                }));
            }
            command_tool(run, setting, stand, command).await
        }
        Act::Check => {
            for check in setting.plan.checks(&step.id) {
                let Check::Command(command) = check else { continue };
                match command_tool(run, setting, stand, &command).await? {
                    ToolResult::Ok { .. } => {}
                    refused @ ToolResult::Err(_) => return Ok(refused),
                }
            }
            Ok(ToolResult::text("the step's commands pass"))
        }
        Act::List(_)
        | Act::Search(_)
        | Act::Outline(_)
        | Act::Read(_)
        | Act::References(_)
        | Act::Edit { .. }
        | Act::Replace { .. }
        | Act::Create { .. }
        | Act::Rename { .. }
        | Act::Delete { .. }
        | Act::Note { .. } => file_tool(run, stand, order).await,
    }
}

async fn file_tool(run: &mut Run, stand: &mut Stand, order: &ToolOrder) -> Result<ToolResult, Halt> {
    let arguments = serde_json::to_string(&order.act).unwrap_or_default();
    let request = ContentHash::of(&arguments);
    let tool = order.act.name().to_owned();
    run.line(format!("{}: {}", run.work, tool));
    let cut: String = arguments.chars().take(300).collect();
    let (world, rights) = (run.world.clone(), stand.rights.clone());
    let known = run.knows_next(&request);
    let mut bench = stand.bench.clone();
    let wanted = order.clone();
    let came = run
        .effect(Intent::Tool { tool, arguments: cut }, request, 0, |_| async move {
            let before = bench.clone();
            let result = bench.do_order(&wanted, &rights, world.workspace.as_ref(), world.syntax.as_ref()).await;
            let (read, wrote) = bench.since(&before);
            Ok((Done { result, read, wrote }, None))
        })
        .await?;
    let done = match came {
        Came::Back(done) => done,
        Came::Failed(fault) => {
            return Ok(ToolResult::Err(ToolError { what: fault.message, retry: known, instead: String::new() }));
        }
        Came::Happened(_) => return Err(Halt::Diverged),
    };
    stand.bench.restore(done.read, done.wrote);
    Ok(done.result)
}

async fn command_tool(run: &mut Run, setting: &Setting, stand: &Stand, command: &Command) -> Result<ToolResult, Halt> {
    Ok(match checks::run_in_view(run, command, setting, Aim::Tool(stand.bench.overlay())).await? {
        Ran::Back(Traced { outcome, .. }) if outcome.ended == Ended::Exit(0) => {
            ToolResult::text(verify::digest_for_agent(&outcome))
        }
        Ran::Back(Traced { outcome, .. }) => ToolResult::Err(ToolError {
            what: verify::digest_for_agent(&outcome),
            retry: true,
            instead: "mend what it names, then run it again".to_owned(),
        }),
        Ran::Refused(words) => ToolResult::Err(ToolError {
            what: format!("`{}` did not run: {words}", shell_words::join(&command.argv)),
            retry: false,
            instead: "go on without it".to_owned(),
        }),
        Ran::Fault(fault) => {
            ToolResult::Err(ToolError { what: fault.message, retry: false, instead: "go on without it".to_owned() })
        }
    })
}

/// The agent says that it is done: propose, then judge. `Err` = the errors for its next repair round.
async fn judge(
    run: &mut Run,
    step: &Step,
    setting: &Setting,
    stand: &mut Stand,
    summary: &str,
    notes: &[String],
) -> Result<Result<Outcome, Vec<String>>, Halt> {
    if let StepKind::Explore(_) = step.kind {
        let Some(found) = findings::text(summary, notes) else {
            return Ok(Err(vec!["nothing was found: say what you learnt, with the places in the code".to_owned()]));
        };
        findings::keep(run, step, &found).await;
        let summary = run.payload(found).await?;
        return Ok(Ok(Outcome::Done { verified: true, summary }));
    }
    let made: Vec<Made> = stand
        .bench
        .changed()
        .into_iter()
        .map(|Changed { path, before: base, after }| {
            // Where hunks of earlier steps were laid over, the bench started from those, and the user has less.
            let user = stand.user.get(&path).cloned().unwrap_or_else(|| base.clone());
            Made { path, user, base, after, doubts: Vec::new() }
        })
        .collect();
    if made.is_empty() {
        return Ok(Err(vec![
            "nothing was changed: make the change that the step asks for, or say with `ask` why not".to_owned(),
        ]));
    }
    stand.generation = stand.generation.saturating_add(1);
    let repaired = |round: u32| Event::Repairing { step: step.id.clone(), round };
    let judged = match proposal::propose(run, step, setting, stand.generation, made).await {
        Ok(_) => checks::judge_all(run, &setting.plan.checks(&step.id), setting).await?,
        Err(Fault::Halt(halt)) => return Err(halt),
        Err(Fault::Breaks(broken)) => {
            checks::Judged { problems: broken, verified: false, ended: None, cause: Cause::Check }
        }
        Err(Fault::Stopped(message)) => return Ok(Ok(Outcome::Blocked { cause: Cause::Policy, message })),
    };
    if judged.problems.is_empty() || judged.is_for_a_person() {
        let summary = run.payload(summary.to_owned()).await?;
        return Ok(Ok(judged.outcome(summary)));
    }
    let most = setting.plan.repairs(&step.id);
    if stand.generation > most {
        let message = format!("after {most} repair rounds: {}", judged.first().unwrap_or_default());
        return Ok(Ok(Outcome::Failed { cause: Cause::Check, message, ended: judged.ended }));
    }
    run.state(repaired(stand.generation)).await?;
    Ok(Err(judged.problems))
}
