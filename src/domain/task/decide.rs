//! What a person's action means for a task: the events that carry it out, or why not.
//!
//! Invariant: pure; a refusal changes nothing. Absent: actions that must read the workspace first (plan, approve,
//! answer, decisions on hunks): the engine prepares those.

use super::action::*;
use super::event::{Ask, Ending, Event, HandSet, Intent, PlanFrom, Settlement};
use super::standing::asked;
use super::state::*;
use crate::domain::ids::*;
use crate::domain::plan::ApprovedPlan;

/// The events of an action on a task that is not over, or the refusal.
pub fn decide(task: &Task, plan: Option<&ApprovedPlan>, actor: &Actor, action: &Action) -> Result<Vec<Event>, Refusal> {
    if task.is_over() {
        return Err(refuse(
            RefusalKind::WrongState,
            format!("task {} is over", task.id),
            format!("planwright status {}", task.id),
        ));
    }
    let actor = actor.clone();
    match action {
        Action::Run { .. } | Action::Resume { .. } => match &task.course {
            Course::Paused { .. } => Ok(vec![Event::Resumed { actor }]),
            Course::Going | Course::Over(_) => Ok(Vec::new()),
        },
        Action::Pause { .. } => stop(task, actor, false),
        Action::Cancel { .. } => stop(task, actor, true),
        Action::Abandon { .. } => Ok(abandon(task, actor)),
        Action::Retry { step, .. } => retry(task, step.as_ref(), actor),
        Action::Skip { step, .. } => set(task, step, HandSet::Skipped, actor),
        Action::MarkDone { step, .. } => set(task, step, HandSet::DoneByHand, actor),
        Action::TakeOver { step, .. } => {
            let run = open_step(task, step)?;
            Ok(vec![Event::TakenOver { step: run.id.clone(), actor }])
        }
        Action::Say { words, step, .. } => {
            if let Some(step) = step {
                open_step(task, step)?;
            }
            Ok(vec![Event::Said { words: words.clone(), step: step.clone(), actor }])
        }
        Action::Revise { words, .. } => {
            if task.revisions.is_empty() {
                return Err(refuse(
                    RefusalKind::WrongState,
                    "there is no plan to change yet".to_owned(),
                    format!("planwright replan {}", task.id),
                ));
            }
            Ok(vec![Event::PlanAsked { words: Some(words.clone()), from: PlanFrom::Plan, actor }])
        }
        Action::Replan { words, .. } => {
            Ok(vec![Event::PlanAsked { words: words.clone(), from: PlanFrom::Workspace, actor }])
        }
        Action::Gate { gate, answer, comment, .. } => gate_answer(task, plan, gate.as_ref(), *answer, comment, actor),
        Action::Plan { .. }
        | Action::Small { .. }
        | Action::AskQuestion { .. }
        | Action::Approve { .. }
        | Action::Answer { .. }
        | Action::Offer { .. }
        | Action::Accept { .. }
        | Action::Reject { .. }
        | Action::Resolve { .. }
        | Action::Undo { .. } => Ok(Vec::new()),
    }
}

/// A refusal from its parts.
pub fn refuse(kind: RefusalKind, message: impl Into<String>, next: impl Into<String>) -> Refusal {
    Refusal { kind, message: message.into(), next: next.into() }
}

fn stop(task: &Task, actor: Actor, cancelled: bool) -> Result<Vec<Event>, Refusal> {
    let mut events = Vec::new();
    if cancelled {
        // What a crash left in doubt is not in flight any more: its gate asks on, or the answer would be lost.
        let mut gates = task.gates_opened;
        for effect in ended_by_hand(task).filter(|effect| !task.in_doubt(&effect.id)) {
            // What reaches outside may have got there before it was ended: a person must say, as after a crash (B4).
            if let Intent::Outside { command, .. } = &effect.what {
                gates = gates.saturating_add(1);
                events.push(Event::GateOpened {
                    gate: GateId::new(format!("g{gates}")),
                    work: effect.id.work.clone(),
                    ask: Ask::Ambiguous { effect: effect.id.clone(), command: command.clone() },
                });
            } else {
                events.push(Event::Settled { effect: effect.id.clone(), result: Settlement::Cancelled });
            }
        }
    }
    match &task.course {
        Course::Paused { .. } if events.is_empty() => Err(refuse(
            RefusalKind::WrongState,
            format!("task {} stands still already", task.id),
            format!("planwright resume {}", task.id),
        )),
        Course::Paused { .. } | Course::Going | Course::Over(_) => {
            events.push(Event::Paused { actor, cancelled });
            Ok(events)
        }
    }
}

/// What a person's word ends. A write to the user's file is not among it: it is finished, and says so itself.
fn ended_by_hand(task: &Task) -> impl Iterator<Item = &EffectRun> {
    task.in_flight().filter(|effect| effect.id.work != Work::Review)
}

/// Nobody is asked any more. What may have reached outside stays without a result: that is what is known of it.
fn abandon(task: &Task, actor: Actor) -> Vec<Event> {
    let inside = ended_by_hand(task).filter(|effect| !matches!(effect.what, Intent::Outside { .. }));
    let cancel = |effect: &EffectRun| Event::Settled { effect: effect.id.clone(), result: Settlement::Cancelled };
    let mut events: Vec<Event> = inside.map(cancel).collect();
    events.push(Event::Closed { ending: Ending::Abandoned { actor } });
    events
}

fn retry(task: &Task, step: Option<&StepId>, actor: Actor) -> Result<Vec<Event>, Refusal> {
    let can = |run: &StepRun| match &run.state {
        StepState::Failed { .. } | StepState::Blocked { .. } | StepState::Stale | StepState::TakenOver => true,
        StepState::Skipped => true,
        // The question what becomes of a failed step is answered by another attempt, too.
        StepState::AtGate(gate) => task.gate(gate).is_some_and(|gate| matches!(gate.ask, Ask::Failed { .. })),
        StepState::Waiting
        | StepState::Running { .. }
        | StepState::Repairing { .. }
        | StepState::Ambiguous(_)
        | StepState::Done(_) => false,
    };
    let again = |work: Work| {
        let mut events = vec![Event::RetryAsked { work, actor: actor.clone() }];
        if let Course::Paused { .. } = task.course {
            events.push(Event::Resumed { actor: actor.clone() });
        }
        events
    };
    match step {
        Some(step) => {
            let run = known_step(task, step)?;
            if can(run) {
                return Ok(again(Work::Step(run.id.clone())));
            }
            Err(refuse(
                RefusalKind::WrongState,
                format!("step {step} has not failed; it is not tried again"),
                format!("planwright status {}", task.id),
            ))
        }
        None => {
            // A skipped step is only tried again when it is named.
            let stuck: Vec<&StepRun> =
                task.steps.iter().filter(|run| can(run) && run.state != StepState::Skipped).collect();
            match stuck.as_slice() {
                [run] => Ok(again(Work::Step(run.id.clone()))),
                [] if failed(&task.acceptance) => Ok(again(Work::Acceptance)),
                [] => Err(refuse(
                    RefusalKind::WrongState,
                    "no step has failed".to_owned(),
                    format!("planwright status {}", task.id),
                )),
                several => Err(refuse(
                    RefusalKind::SeveralCandidates,
                    format!(
                        "several steps can be tried again: {}",
                        several.iter().map(|run| run.id.to_string()).collect::<Vec<_>>().join(", ")
                    ),
                    format!("planwright retry {} STEP", task.id),
                )),
            }
        }
    }
}

fn failed(progress: &Progress) -> bool {
    match progress.state {
        ProgressState::Failed { .. } => true,
        ProgressState::Idle | ProgressState::Running | ProgressState::AtGate(_) | ProgressState::Done { .. } => false,
    }
}

fn set(task: &Task, step: &StepId, to: HandSet, actor: Actor) -> Result<Vec<Event>, Refusal> {
    let run = open_step(task, step)?;
    let cancel = task
        .in_flight()
        .filter(|effect| effect.id.work == Work::Step(run.id.clone()))
        .map(|effect| Event::Settled { effect: effect.id.clone(), result: Settlement::Cancelled });
    let mut events: Vec<Event> = cancel.collect();
    events.push(Event::StepSet { step: run.id.clone(), to, actor, reason: None });
    Ok(events)
}

fn known_step<'a>(task: &'a Task, step: &StepId) -> Result<&'a StepRun, Refusal> {
    task.step(step).ok_or_else(|| {
        let known = task.steps.iter().map(|run| run.id.to_string()).collect::<Vec<_>>().join(", ");
        let message = if known.is_empty() {
            format!("there is no step `{step}`: nothing is approved yet")
        } else {
            format!("there is no step `{step}`; the steps are {known}")
        };
        refuse(RefusalKind::NotFound, message, format!("planwright status {}", task.id))
    })
}

fn open_step<'a>(task: &'a Task, step: &StepId) -> Result<&'a StepRun, Refusal> {
    let run = known_step(task, step)?;
    if run.state.is_over() {
        return Err(refuse(
            RefusalKind::WrongState,
            format!("step {step} is over already"),
            format!("planwright status {}", task.id),
        ));
    }
    Ok(run)
}

fn gate_answer(
    task: &Task,
    plan: Option<&ApprovedPlan>,
    gate: Option<&GateId>,
    answer: GateAnswer,
    comment: &Option<String>,
    actor: Actor,
) -> Result<Vec<Event>, Refusal> {
    let open: Vec<&Gate> = task.open_gates().collect();
    let list = || open.iter().map(|gate| format!("{}: {}", gate.id, asked(gate))).collect::<Vec<_>>().join("\n");
    let gate = match (gate, open.as_slice()) {
        (Some(id), open) => open.iter().copied().find(|gate| &gate.id == id).ok_or_else(|| {
            let known = if open.is_empty() { "no gate is open".to_owned() } else { format!("open are:\n{}", list()) };
            refuse(
                RefusalKind::NotFound,
                format!("gate {id} does not wait; {known}"),
                format!("planwright status {}", task.id),
            )
        })?,
        (None, [only]) => *only,
        (None, []) => {
            return Err(refuse(
                RefusalKind::WrongState,
                format!("no gate of task {} is open", task.id),
                format!("planwright status {}", task.id),
            ));
        }
        (None, _) => {
            return Err(refuse(
                RefusalKind::SeveralCandidates,
                format!("several gates are open:\n{}", list()),
                format!("planwright gate {} GATE allow", task.id),
            ));
        }
    };
    check_answer(task, plan, gate, answer, &actor)?;
    let mut events =
        vec![Event::GateDecided { gate: gate.id.clone(), answer, comment: comment.clone(), actor: actor.clone() }];
    if let (Ask::Failed { cause, message }, Work::Step(step), GateAnswer::Allow) = (&gate.ask, &gate.work, answer) {
        let reason = comment.clone().unwrap_or_else(|| format!("it failed ({}: {message})", cause.words()));
        let step = step.clone();
        events.push(Event::StepSet { step, to: HandSet::Skipped, actor: actor.clone(), reason: Some(reason) });
    }
    if let Ask::Ambiguous { effect, .. } = &gate.ask {
        let by = format!("{} said so", actor.user);
        match answer {
            GateAnswer::Happened => {
                events.push(Event::Settled { effect: effect.clone(), result: Settlement::Happened { by } });
            }
            GateAnswer::Allow | GateAnswer::AllowForPlan => {
                events.push(Event::Settled { effect: effect.clone(), result: Settlement::DidNotHappen { by } });
            }
            GateAnswer::Deny => events.push(Event::Settled { effect: effect.clone(), result: Settlement::Cancelled }),
        }
    }
    Ok(events)
}

/// Which answers a gate takes, and from whom.
fn check_answer(
    task: &Task,
    _plan: Option<&ApprovedPlan>,
    gate: &Gate,
    answer: GateAnswer,
    actor: &Actor,
) -> Result<(), Refusal> {
    let wrong = |message: &str| {
        Err(refuse(RefusalKind::WrongState, message, format!("planwright gate {} {} allow|deny", task.id, gate.id)))
    };
    match (&gate.ask, answer) {
        (Ask::Ambiguous { .. }, GateAnswer::AllowForPlan) => wrong("whether this happened can be said only once"),
        (Ask::Ambiguous { .. }, _) => Ok(()),
        (_, GateAnswer::Happened) => wrong("`happened` answers only a gate that a crash left behind"),
        (Ask::Command { outside: true, .. }, GateAnswer::AllowForPlan) => {
            wrong("an outside effect is allowed once at a time")
        }
        (Ask::Person { who, .. }, _) if who != "anyone" && who != &actor.user => Err(refuse(
            RefusalKind::Policy,
            format!("this gate is for {who}, not for {}", actor.user),
            format!("{who} must answer it"),
        )),
        (Ask::Command { .. } | Ask::Changed { .. }, _) => Ok(()),
        (
            Ask::Person { .. } | Ask::Exceeds { .. } | Ask::Failed { .. } | Ask::Question { .. },
            GateAnswer::AllowForPlan,
        ) => wrong("`--for-plan` is for commands"),
        (Ask::Person { .. } | Ask::Exceeds { .. } | Ask::Failed { .. } | Ask::Question { .. }, _) => Ok(()),
    }
}
