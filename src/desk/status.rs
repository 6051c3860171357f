//! Where a task stands, what it waits for, and what a person can do about it.
//!
//! Invariant: every gate and every failure comes with commands that can be run as they stand (B11). Absent: the
//! judgement itself; the one word for the state is `standing`'s.

use super::review::counts;
use super::view::*;
use super::words;
use super::{Dossier, page};
use crate::domain::ids::*;
use crate::domain::plan::Plan;
use crate::domain::task::event::*;
use crate::domain::task::facts;
use crate::domain::task::standing::{TaskState, asked};
use crate::domain::task::state::*;

/// The word for the state, with what only waits to be saved.
pub fn words_of(dossier: &Dossier) -> String {
    let words = dossier.state.words();
    match counts(dossier).unsaved {
        0 => words,
        unsaved => format!("{words} ({unsaved} accepted, not saved)"),
    }
}

/// A task in one line.
pub fn line(dossier: &Dossier) -> TaskLine {
    TaskLine {
        task: dossier.task.id.clone(),
        goal: dossier.task.goal.words.clone(),
        state: dossier.state.clone(),
        words: words_of(dossier),
        opened: dossier.task.opened,
        pending: counts(dossier).pending,
        next: next(dossier).into_iter().next(),
    }
}

/// The whole of it.
pub fn view(dossier: &Dossier) -> StatusView {
    let task = &dossier.task;
    StatusView {
        task: task.id.clone(),
        trace: task.trace.clone(),
        goal: task.goal.clone(),
        state: dossier.state.clone(),
        words: words_of(dossier),
        connect: connect(dossier),
        revision: task.newest().map(|revision| revision.name.clone()),
        approved: task.approval.as_ref().map(|approval| (approval.revision.clone(), approval.upto.clone())),
        strayed: task.document != Document::Same,
        steps: steps(dossier),
        gates: task.open_gates().map(|open| gate(&task.id, open)).collect(),
        failures: failures(dossier),
        checks: task.judgements.iter().map(check).collect(),
        already: task.baselines.iter().filter_map(already).collect(),
        carried: dossier.carried,
        busy: busy(task),
        in_flight: task.in_flight().map(|effect| words::under_way(&effect.id, &effect.what)).collect(),
        hunks: counts(dossier),
        spend: task.spend,
        answers: page::found(dossier)
            .into_iter()
            .map(|(step, payload)| AnswerView { step: step.clone(), text: payload.head().to_owned() })
            .collect(),
        page: page::beside(dossier, page::TASK),
        next: next(dossier),
    }
}

/// How a model is connected, where the plan is what was written for want of one.
pub(super) fn connect(dossier: &Dossier) -> Option<String> {
    let page = dossier.page.as_ref().filter(|_| dossier.state == TaskState::AwaitingApproval)?;
    let made = dossier.task.revisions.iter().find(|known| known.name == page.revision)?;
    (made.author == Author::Skeleton).then(|| made.reason.clone())
}

/// A step, planning or acceptance runs, as against one that waits for a person or for its turn. In a task that is paused
/// only what is in flight goes on; a step that was cut short stays under way in its journal, and nobody works on it.
fn busy(task: &Task) -> bool {
    if let Course::Paused { .. } = task.course {
        return task.in_flight().next().is_some();
    }
    let works = |progress: &Progress| progress.state == ProgressState::Running;
    let steps = task.steps.iter().any(|run| run.state.is_at_work());
    steps
        || works(&task.planning)
        || works(&task.acceptance)
        || task.in_flight().any(|effect| !task.in_doubt(&effect.id))
}

fn steps(dossier: &Dossier) -> Vec<StepView> {
    let plan: Option<&Plan> = dossier.page.as_ref().map(|page| page.plan.as_ref());
    let title = |id: &StepId| {
        plan.and_then(|plan| plan.steps.iter().find(|step| &step.id == id)).map(|step| step.title.clone())
    };
    dossier
        .steps
        .iter()
        .map(|(id, words)| StepView {
            step: id.clone(),
            title: title(id).unwrap_or_default(),
            words: words.clone(),
            attempts: dossier.task.step(id).map_or(0, |run| run.attempts),
        })
        .collect()
}

fn choice(command: String, means: &str) -> Choice {
    Choice { command, means: means.to_owned() }
}

/// A gate with its answers. What `allow` means depends on what is asked.
fn gate(task: &TaskId, gate: &Gate) -> GateView {
    let id = &gate.id;
    let answer = |answer: &str, means: &str| choice(format!("planwright gate {task} {id} {answer}"), means);
    let (answers, detail) = match &gate.ask {
        Ask::Command { outside: false, .. } => (
            vec![
                answer("allow", "run it, this once"),
                answer("allow --for-plan", "and do not ask again for this command under this revision"),
                answer("deny", "do not run it"),
            ],
            None,
        ),
        Ask::Command { outside: true, .. } => {
            (vec![answer("allow", "run it, once"), answer("deny", "do not run it")], None)
        }
        Ask::Person { .. } => (vec![answer("allow", "yes"), answer("deny --comment \"…\"", "no, and why")], None),
        Ask::Ambiguous { .. } => (
            vec![
                answer("happened", "it happened; do not run it again"),
                answer("allow", "it did not happen; run it again"),
                answer("deny", "stop here"),
            ],
            None,
        ),
        Ask::Changed { difference } => (
            vec![
                answer("allow", "the change does not matter; go on"),
                answer("deny", "hold the step"),
                choice(format!("planwright replan {task}"), "plan again against the files as they are"),
            ],
            Some(difference.head().to_owned()),
        ),
        Ask::Exceeds { .. } => (
            vec![
                answer("allow", "go on, this once"),
                answer("deny", "stay within the plan"),
                choice(format!("planwright revise {task} \"…\""), "change the plan"),
            ],
            None,
        ),
        Ask::Failed { .. } => (vec![answer("allow", "go on without it"), answer("deny", "stop here")], None),
        Ask::Question { .. } if gate.work == Work::Planning => (
            vec![
                choice(format!("planwright answer {task} \"…\""), "answer it"),
                answer("deny", "leave it unanswered; it becomes an assumption"),
            ],
            None,
        ),
        Ask::Question { .. } => {
            (vec![answer("allow --comment \"…\"", "answer it"), answer("deny", "give no answer")], None)
        }
    };
    GateView { gate: id.clone(), work: gate.work.to_string(), asked: asked(gate), detail, answers }
}

fn check(judgement: &Judgement) -> CheckView {
    let (passed, verdict) = verdict(&judgement.verdict);
    CheckView {
        work: judgement.work.to_string(),
        check: words::check(&judgement.check),
        passed,
        verdict,
        remark: facts::beside(judgement.rung, judgement.remark.as_deref()),
    }
}

/// What fails whatever is changed.
fn already(run: &BaselineRun) -> Option<String> {
    let found = run.found.as_ref()?;
    Some(format!("{} {found}", words::check(&run.check)))
}

/// Whether it passed, and the words for it.
pub fn verdict(verdict: &Verdict) -> (bool, String) {
    match verdict {
        Verdict::Passed => (true, "passed".to_owned()),
        Verdict::Failed { why } => (false, format!("failed: {why}")),
        Verdict::NotJudged { why } => (false, format!("not judged: {why}")),
    }
}

fn failures(dossier: &Dossier) -> Vec<FailureView> {
    let task = &dossier.task;
    let mut failed: Vec<(Work, Cause, &str)> = Vec::new();
    let progress = [(Work::Planning, &task.planning.state), (Work::Acceptance, &task.acceptance.state)];
    for (work, state) in progress {
        if let ProgressState::Failed { cause, message } = state {
            failed.push((work, *cause, message));
        }
    }
    for run in &task.steps {
        if let StepState::Failed { cause, message, .. } | StepState::Blocked { cause, message } = &run.state {
            failed.push((Work::Step(run.id.clone()), *cause, message));
        }
    }
    failed
        .into_iter()
        .map(|(work, cause, message)| {
            let report = dossier.told.of(&work);
            FailureView {
                cause,
                message: message.to_owned(),
                tried: report.map(|report| report.tried.clone()).unwrap_or_default(),
                errors: report.map(|report| report.errors.clone()).unwrap_or_default(),
                next: if task.is_over() { after_the_end(&task.id) } else { after_failure(&task.id, &work, cause) },
                work: work.to_string(),
            }
        })
        .collect()
}

/// A task that is over takes no word any more, so nothing of it can be offered.
fn after_the_end(task: &TaskId) -> Vec<Choice> {
    vec![
        choice("planwright plan \"…\"".to_owned(), "a new task for what is left; what was kept stays"),
        choice(format!("planwright timeline {task}"), "see what happened"),
        choice("git diff".to_owned(), "see what was kept; taking it back is git's business now"),
    ]
}

fn after_failure(task: &TaskId, work: &Work, cause: Cause) -> Vec<Choice> {
    let abandon = choice(format!("planwright abandon {task}"), "end the task; accepted hunks stay");
    match work {
        Work::Step(step) => {
            let retry = choice(format!("planwright retry {task} {step}"), "try the step again");
            let say =
                choice(format!("planwright say {task} \"…\" --step {step}"), "say what to mind at the next attempt");
            let edit = choice(format!("planwright show {task}"), "edit the plan, then approve it again");
            let mut choices = match cause {
                Cause::ModelOutput | Cause::Check | Cause::Guard | Cause::MissingArtifact => vec![say, retry, edit],
                Cause::Budget | Cause::Policy => vec![edit, retry],
                Cause::Conflict => vec![
                    choice(format!("planwright replan {task}"), "plan again against the files as they are"),
                    retry,
                    edit,
                ],
                Cause::Transport | Cause::ToolFault | Cause::Timeout | Cause::MissingDependency | Cause::Crash => {
                    vec![retry, edit]
                }
            };
            choices.push(choice(format!("planwright take-over {task} {step}"), "do it by hand"));
            choices.push(choice(format!("planwright skip {task} {step}"), "do without it"));
            choices.push(abandon);
            choices
        }
        Work::Planning => vec![
            choice(format!("planwright replan {task}"), "plan again"),
            choice(format!("planwright show {task}"), "write the plan by hand"),
            abandon,
        ],
        Work::Baseline | Work::Acceptance | Work::Review => vec![
            choice(format!("planwright resume {task}"), "run the acceptance checks again"),
            choice(format!("planwright review {task} --all"), "change what is kept"),
            abandon,
        ],
    }
}

/// What a person can do next, the likeliest first.
fn next(dossier: &Dossier) -> Vec<Choice> {
    let task = &dossier.task;
    let id = &task.id;
    let resume = |means: &str| choice(format!("planwright resume {id}"), means);
    match &dossier.state {
        TaskState::Planning | TaskState::Running | TaskState::Verifying if !dossier.carried => {
            vec![resume("go on: the process that was at it ended")]
        }
        TaskState::Planning | TaskState::Running | TaskState::Verifying => {
            vec![resume("follow it, or go on where a process ended")]
        }
        TaskState::AwaitingApproval => {
            let show = choice(format!("planwright show {id}"), "read the plan");
            let replan = choice(format!("planwright replan {id}"), "have it planned, once a model is connected");
            let show = match connect(dossier) {
                Some(_) => vec![choice(show.command, "write its steps by hand"), replan],
                None => vec![show],
            };
            let approve = super::show::view(dossier).approve;
            let approve = approve.map(|approve| choice(approve, "approve exactly this revision"));
            show.into_iter().chain(approve).collect()
        }
        TaskState::Paused => vec![resume("go on")],
        TaskState::Delayed { .. } => vec![resume("stay until it is due, and go on")],
        TaskState::Blocked { .. } => {
            let gates = task.open_gates().flat_map(|open| gate(id, open).answers);
            let failures = failures(dossier).into_iter().flat_map(|failure| failure.next);
            let by_hand = task
                .steps
                .iter()
                .filter(|run| run.state == StepState::TakenOver)
                .map(|run| choice(format!("planwright mark-done {id} {}", run.id), "say that you have done it"));
            gates.chain(failures).chain(by_hand).collect()
        }
        TaskState::AwaitingReview => vec![choice(format!("planwright review {id}"), "accept or reject the hunks")],
        TaskState::Done { .. } | TaskState::Failed { .. } | TaskState::Abandoned => Vec::new(),
    }
}
