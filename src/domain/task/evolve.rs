//! The fold: how an event changes a task's state.
//!
//! Invariant: total; every event of every release changes a state or leaves it, and never fails. Absent: any
//! judgement whether the event was right; that was decided before it was appended.

use super::event::{Author, Event, HandSet, Intent, Outcome, Recorded, Settlement};
use super::state::*;
use crate::domain::ids::*;
use crate::domain::task::event::Ask;

/// The state after the first event of a journal, which is always `Opened`; anything else gives nothing.
pub fn begin(id: &TaskId, first: &Recorded) -> Option<Task> {
    let Event::Opened { goal, binding, trace, actor } = &first.event else {
        return None;
    };
    Some(Task {
        id: id.clone(),
        goal: goal.clone(),
        binding: binding.clone(),
        trace: trace.clone(),
        opened: first.at,
        by: actor.clone(),
        seq: first.seq,
        at: first.at,
        revisions: Vec::new(),
        asked: None,
        approval: None,
        document: Document::Same,
        course: Course::Going,
        planning: Progress::default(),
        steps: Vec::new(),
        baseline: Progress::default(),
        baselines: Vec::new(),
        acceptance: Progress::default(),
        effects: Vec::new(),
        outside: Vec::new(),
        gates_opened: 0,
        gates: Vec::new(),
        offered: None,
        proposals: Vec::new(),
        decisions: Default::default(),
        judgements: Vec::new(),
        said: Vec::new(),
        spend: Spend::default(),
    })
}

/// The state of a whole journal.
pub fn replay(id: &TaskId, journal: &[Recorded]) -> Option<Task> {
    let (first, rest) = journal.split_first()?;
    let mut task = begin(id, first)?;
    for recorded in rest {
        evolve(&mut task, recorded);
    }
    Some(task)
}

/// One event further.
pub fn evolve(task: &mut Task, recorded: &Recorded) {
    let Recorded { seq, at, event } = recorded;
    task.seq = *seq;
    task.at = *at;
    count_time(task, event, *at);
    match event {
        Event::Opened { .. } => {}
        Event::Revised { revision, text, author, reason, errors } => {
            // What the agent offered before is out of date once it has made another plan, and not while it tries.
            if !matches!(author, Author::Person(_)) {
                task.offered = None;
            }
            task.revisions.push(Revision {
                name: revision.clone(),
                text: text.clone(),
                author: author.clone(),
                reason: reason.clone(),
                errors: *errors,
                at: *at,
            });
        }
        Event::PlanAsked { words, from, .. } => {
            task.asked = Some(PlanRequest { words: words.clone(), from: *from, seq: *seq });
            task.planning.state = ProgressState::Idle;
        }
        Event::Approved { revision, digest, text, upto, steps, baselines, actor } => {
            approved(task, steps);
            task.document = Document::Same;
            task.acceptance.state = ProgressState::Idle;
            task.baseline.state = ProgressState::Idle;
            drop_effects(task, &Work::Baseline);
            task.approval = Some(Approval {
                revision: revision.clone(),
                digest: digest.clone(),
                text: text.clone(),
                upto: upto.clone(),
                baselines: baselines.clone(),
                by: actor.clone(),
                at: *at,
                seq: *seq,
            });
        }
        Event::Began { work, attempt, .. } => began(task, work, *attempt, *at),
        Event::Intended { effect, what, request, reserve, gate } => {
            if let Some(gate) = task.gates.iter_mut().find(|known| Some(&known.id) == gate.as_ref()) {
                gate.spent = true;
            }
            task.spend.reserved = task.spend.reserved.saturating_add(*reserve);
            if let Intent::Model { .. } = what {
                task.spend.turns = task.spend.turns.saturating_add(1);
            }
            if let Intent::Outside { command, key, .. } = what {
                task.outside.push(OutsideRun {
                    key: key.clone(),
                    effect: effect.clone(),
                    command: command.clone(),
                    result: None,
                });
            }
            task.effects.push(EffectRun {
                id: effect.clone(),
                seq: *seq,
                what: what.clone(),
                request: request.clone(),
                reserve: *reserve,
                result: None,
            });
        }
        Event::Settled { effect, result } => settled(task, effect, result),
        Event::GateOpened { gate, work, ask } => gate_opened(task, gate, work, ask, *seq, *at),
        Event::GateDecided { gate, answer, comment, actor } => {
            let decision =
                GateDecision { answer: *answer, comment: comment.clone(), by: actor.clone(), at: *at, seq: *seq };
            if let Some(gate) = task.gates.iter_mut().find(|known| &known.id == gate) {
                gate.decided = Some(decision);
                let (work, ask) = (gate.work.clone(), gate.ask.clone());
                if let (Work::Step(step), Ask::Failed { cause, message }) = (&work, ask) {
                    // It is over whatever the answer; a yes is followed by the event that skips it.
                    set(task, step, StepState::Blocked { cause, message });
                } else {
                    under_way_again(task, &work, *at);
                }
            }
        }
        Event::Proposed { step, generation, proposal, paths, hunks, lines } => {
            task.proposals.retain(|standing| &standing.step != step);
            task.proposals.push(Standing {
                step: step.clone(),
                generation: *generation,
                proposal: proposal.clone(),
                paths: paths.clone(),
                hunks: *hunks,
                lines: *lines,
            });
            task.acceptance.state = ProgressState::Idle;
        }
        Event::Withdrawn { step, .. } => task.proposals.retain(|standing| &standing.step != step),
        Event::Judged { work, check, verdict, evidence: _, view, rung, remark } => {
            task.judgements.retain(|known| !(&known.work == work && &known.check == check));
            task.judgements.push(Judgement {
                work: work.clone(),
                attempt: task.attempt(work),
                check: check.clone(),
                verdict: verdict.clone(),
                view: view.clone(),
                rung: *rung,
                remark: remark.clone(),
            });
        }
        Event::BaselineRun { check, found, outcome, view, rung: _ } => {
            task.baselines.retain(|known| &known.check != check);
            task.baselines.push(BaselineRun {
                check: check.clone(),
                attempt: task.baseline.attempts,
                found: found.clone(),
                outcome: outcome.clone(),
                view: view.clone(),
            });
        }
        Event::Repairing { step, round } => set(task, step, StepState::Repairing { round: *round }),
        Event::Ended { work, attempt, outcome } => ended(task, work, *attempt, outcome, *at),
        Event::StepSet { step, to, .. } => {
            close_gates_of(task, &Work::Step(step.clone()));
            drop_effects(task, &Work::Step(step.clone()));
            set(task, step, Task::set_by_hand(*to));
            if *to == HandSet::Skipped {
                task.proposals.retain(|standing| &standing.step != step);
            }
        }
        Event::TakenOver { step, .. } => {
            close_gates_of(task, &Work::Step(step.clone()));
            drop_effects(task, &Work::Step(step.clone()));
            set(task, step, StepState::TakenOver);
        }
        Event::RetryAsked { work, .. } => match work {
            Work::Step(step) => {
                close_gates_of(task, work);
                if let Some(run) = task.steps.iter_mut().find(|run| &run.id == step) {
                    run.failures = 0;
                    run.state = StepState::Waiting;
                }
            }
            Work::Acceptance => task.acceptance.state = ProgressState::Idle,
            Work::Planning => task.planning.state = ProgressState::Idle,
            Work::Baseline => task.baseline.state = ProgressState::Idle,
            Work::Review => {}
        },
        Event::Paused { actor, .. } => task.course = Course::Paused { by: actor.clone() },
        Event::Resumed { .. } => {
            if !task.is_over() {
                task.course = Course::Going;
            }
        }
        Event::Said { words, step, .. } => {
            task.said.push(Said { words: words.clone(), step: step.clone(), seq: *seq });
        }
        Event::Strayed { digest } => task.document = Document::Strayed { digest: digest.clone() },
        Event::Restored => task.document = Document::Same,
        Event::Offered { revision } => task.offered = Some(revision.clone()),
        Event::OfferEnded { .. } => task.offered = None,
        Event::HunkDecided { hunk, path, shown, decision, stood, actor } => {
            task.decisions.insert(
                hunk.clone(),
                Decided {
                    path: path.clone(),
                    decision: decision.clone(),
                    shown: shown.clone(),
                    stood: stood.clone(),
                    by: actor.clone(),
                    at: *at,
                    seq: *seq,
                },
            );
            // What is under way judges the state it finds. A gate asks for a selection that is no more: it goes, and the
            // next acceptance asks anew.
            match task.acceptance.state {
                ProgressState::Running => {}
                ProgressState::AtGate(_) => {
                    close_gates_of(task, &Work::Acceptance);
                    task.acceptance.state = ProgressState::Idle;
                }
                ProgressState::Idle | ProgressState::Done { .. } | ProgressState::Failed { .. } => {
                    task.acceptance.state = ProgressState::Idle;
                }
            }
        }
        Event::Closed { ending } => {
            task.course = Course::Over(ending.clone());
            task.gates.retain(|gate| gate.decided.is_some());
        }
    }
}

/// Adds up the time in which work was under way, ahead of an event that begins or ends an effect. What a recovery
/// settles was in the hands of a process that died, nobody knows when: that stretch is not counted.
fn count_time(task: &mut Task, event: &Event, at: Time) {
    let counts = match event {
        Event::Intended { .. } => true,
        Event::Settled { result, .. } => match result {
            Settlement::Returned { .. } | Settlement::Failed { .. } | Settlement::Cancelled => true,
            Settlement::Lost | Settlement::Happened { .. } | Settlement::DidNotHappen { .. } => false,
        },
        Event::GateOpened { ask: Ask::Ambiguous { .. }, .. } => false,
        _ => return,
    };
    if counts {
        task.spend.busy_ms = task.busy(at);
    }
    task.spend.busy_since = Some(at);
}

/// Under a new approval a step whose definition and inputs are unchanged stays as it is; the others begin anew.
fn approved(task: &mut Task, steps: &[(StepId, ContentHash)]) {
    let former = std::mem::take(&mut task.steps);
    task.steps = steps
        .iter()
        .map(|(id, definition)| {
            let before = former.iter().find(|run| &run.id == id);
            let same = before.filter(|run| &run.definition == definition);
            StepRun {
                id: id.clone(),
                definition: definition.clone(),
                attempts: before.map_or(0, |run| run.attempts),
                failures: 0,
                state: match same {
                    Some(run) if run.state.is_over() || run.state.is_under_way() => run.state.clone(),
                    Some(_) | None => StepState::Waiting,
                },
            }
        })
        .collect();
    let kept = |id: &StepId| task.steps.iter().any(|run| &run.id == id && run.state != StepState::Waiting);
    let gone: Vec<StepId> = former.iter().map(|run| run.id.clone()).filter(|id| !kept(id)).collect();
    for id in gone {
        let work = Work::Step(id.clone());
        task.proposals.retain(|standing| standing.step != id);
        task.judgements.retain(|known| known.work != work);
        close_gates_of(task, &work);
        drop_effects(task, &work);
    }
}

fn began(task: &mut Task, work: &Work, attempt: u32, at: Time) {
    drop_effects(task, work);
    close_gates_of(task, work);
    match work {
        Work::Planning => task.planning = Progress { attempts: attempt, state: ProgressState::Running },
        Work::Baseline => task.baseline = Progress { attempts: attempt, state: ProgressState::Running },
        Work::Acceptance => task.acceptance = Progress { attempts: attempt, state: ProgressState::Running },
        Work::Review => {}
        Work::Step(id) => {
            if let Some(run) = task.steps.iter_mut().find(|run| &run.id == id) {
                run.attempts = attempt;
                run.state = StepState::Running { since: at };
            }
        }
    }
}

fn settled(task: &mut Task, id: &EffectId, result: &Settlement) {
    if let Some(known) = task.outside.iter_mut().find(|known| &known.effect == id && known.is_in_doubt()) {
        known.result = Some(result.clone());
    }
    let Some(effect) = task.effects.iter_mut().find(|effect| &effect.id == id && effect.result.is_none()) else {
        return;
    };
    effect.result = Some(result.clone());
    let reserve = effect.reserve;
    let is_model = matches!(effect.what, Intent::Model { .. });
    let lasting = *id == EffectId { work: Work::Review, ..id.clone() };
    task.spend.reserved = task.spend.reserved.saturating_sub(reserve);
    let usage = match result {
        Settlement::Returned { usage, .. } | Settlement::Failed { usage, .. } => *usage,
        Settlement::Cancelled | Settlement::Lost | Settlement::Happened { .. } | Settlement::DidNotHappen { .. } => {
            None
        }
    };
    match (usage, result) {
        (Some(usage), _) => {
            task.spend.input = task.spend.input.saturating_add(usage.input);
            task.spend.cached = task.spend.cached.saturating_add(usage.cached);
            task.spend.output = task.spend.output.saturating_add(usage.output);
        }
        // A call lost in flight is settled at its reservation (G3): the provider may have billed it.
        (None, Settlement::Lost | Settlement::Cancelled) if is_model => {
            task.spend.input = task.spend.input.saturating_add(reserve);
        }
        (None, _) => {}
    }
    if lasting {
        task.effects.retain(|effect| &effect.id != id);
    }
}

fn gate_opened(task: &mut Task, id: &GateId, work: &Work, ask: &Ask, seq: u64, at: Time) {
    let attempt = task.attempt(work);
    task.gates_opened = task.gates_opened.saturating_add(1);
    task.gates.push(Gate {
        id: id.clone(),
        work: work.clone(),
        attempt,
        ask: ask.clone(),
        at,
        seq,
        decided: None,
        spent: false,
    });
    match work {
        Work::Planning => task.planning.state = ProgressState::AtGate(id.clone()),
        Work::Baseline => task.baseline.state = ProgressState::AtGate(id.clone()),
        Work::Acceptance => task.acceptance.state = ProgressState::AtGate(id.clone()),
        Work::Review => {}
        Work::Step(step) => {
            let state = match ask {
                Ask::Ambiguous { .. } => StepState::Ambiguous(id.clone()),
                Ask::Command { .. }
                | Ask::Person { .. }
                | Ask::Changed { .. }
                | Ask::Exceeds { .. }
                | Ask::Failed { .. }
                | Ask::Question { .. } => StepState::AtGate(id.clone()),
            };
            set(task, step, state);
        }
    }
}

/// A decided gate lets its work run again from where its journal ends, unless another of its gates is still open.
fn under_way_again(task: &mut Task, work: &Work, at: Time) {
    let next = task.gates.iter().find(|gate| &gate.work == work && gate.decided.is_none()).map(|gate| gate.id.clone());
    match (work, next) {
        (Work::Planning, next) => task.planning.state = next.map_or(ProgressState::Running, ProgressState::AtGate),
        (Work::Baseline, next) => task.baseline.state = next.map_or(ProgressState::Running, ProgressState::AtGate),
        (Work::Acceptance, next) => task.acceptance.state = next.map_or(ProgressState::Running, ProgressState::AtGate),
        (Work::Review, _) => {}
        (Work::Step(step), None) => set(task, step, StepState::Running { since: at }),
        (Work::Step(step), Some(gate)) => set(task, step, StepState::AtGate(gate)),
    }
}

fn ended(task: &mut Task, work: &Work, attempt: u32, outcome: &Outcome, at: Time) {
    drop_effects(task, work);
    close_gates_of(task, work);
    match work {
        Work::Planning => task.planning = Progress { attempts: attempt, state: progress(outcome) },
        Work::Baseline => task.baseline = Progress { attempts: attempt, state: progress(outcome) },
        Work::Acceptance => task.acceptance = Progress { attempts: attempt, state: progress(outcome) },
        Work::Review => {}
        Work::Step(id) => {
            if let Some(run) = task.steps.iter_mut().find(|run| &run.id == id) {
                run.state = match outcome {
                    Outcome::Done { verified: true, .. } => StepState::Done(DoneHow::Verified),
                    Outcome::Done { verified: false, .. } => StepState::Done(DoneHow::NotVerified),
                    Outcome::Failed { cause, message, .. } => {
                        run.failures = run.failures.saturating_add(1);
                        StepState::Failed { cause: *cause, message: message.clone(), at }
                    }
                    Outcome::Blocked { cause, message } => {
                        StepState::Blocked { cause: *cause, message: message.clone() }
                    }
                    Outcome::Interrupted => StepState::Waiting,
                };
            }
        }
    }
}

fn progress(outcome: &Outcome) -> ProgressState {
    match outcome {
        Outcome::Done { verified, .. } => ProgressState::Done { verified: *verified },
        Outcome::Failed { cause, message, .. } | Outcome::Blocked { cause, message } => {
            ProgressState::Failed { cause: *cause, message: message.clone() }
        }
        Outcome::Interrupted => ProgressState::Idle,
    }
}

fn set(task: &mut Task, id: &StepId, state: StepState) {
    if let Some(run) = task.steps.iter_mut().find(|run| &run.id == id) {
        run.state = state;
    }
}

/// Effects go with their attempt. A call of the model that is still in flight then is settled as a lost one, at its
/// reservation (G3): the provider may have billed it.
fn drop_effects(task: &mut Task, work: &Work) {
    let in_flight = |effect: &&EffectRun| &effect.id.work == work && effect.result.is_none();
    for effect in task.effects.iter().filter(in_flight) {
        task.spend.reserved = task.spend.reserved.saturating_sub(effect.reserve);
        if let Intent::Model { .. } = effect.what {
            task.spend.input = task.spend.input.saturating_add(effect.reserve);
        }
    }
    task.effects.retain(|effect| &effect.id.work != work);
}

/// A gate whose work is over asks nobody any more; decided ones stay as permissions and for the record.
fn close_gates_of(task: &mut Task, work: &Work) {
    task.gates.retain(|gate| &gate.work != work || gate.decided.is_some());
}
