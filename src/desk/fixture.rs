//! Tasks for the tests of the desk and of the terminal, told as journals.
//!
//! Invariant: the state of a told task is the fold of its journal. Absent: an engine.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a broken fixture is to fail its test")]

use super::*;
use crate::domain::plan::{After, Check, Command, EditTarget, EffectSetting, OnFailure, Step, StepKind};
use crate::domain::problem::{Fix, Severity};
use crate::domain::task::action::{GateAnswer, Goal, Place};
use crate::domain::task::event::*;
use crate::domain::task::facts::{Binding, Usage};

pub fn anna() -> Actor {
    Actor { user: "anna".to_owned(), client: "terminal".to_owned() }
}

pub fn revision(number: u32) -> RevisionRef {
    RevisionRef { number, digest: format!("{number}f2c81d04a7e") }
}

pub fn command(line: &str) -> Command {
    Command { argv: shell_words::split(line).unwrap(), dir: None, env: Vec::new() }
}

pub fn step(id: &str) -> Work {
    Work::Step(StepId::new(id))
}

fn effect(work: &Work, attempt: u32, n: u32) -> EffectId {
    EffectId { work: work.clone(), attempt, n }
}

fn model() -> Intent {
    Intent::Model { model: "openai/qwen".to_owned(), request: ContentHash::of("r") }
}

fn intended(work: &Work, attempt: u32, n: u32, what: Intent) -> Event {
    Event::Intended { effect: effect(work, attempt, n), what, request: ContentHash::of("r"), reserve: 500, gate: None }
}

fn returned(work: &Work, attempt: u32, n: u32, result: &str, usage: Option<Usage>) -> Event {
    Event::Settled {
        effect: effect(work, attempt, n),
        result: Settlement::Returned { result: Payload::Inline(result.to_owned()), usage },
    }
}

fn used(input: u64, output: u64) -> Option<Usage> {
    Some(Usage { input, cached: 0, output, estimated: false })
}

pub fn opened(words: &str) -> Event {
    Event::Opened {
        goal: Goal {
            words: words.to_owned(),
            place: Some(Place { path: WorkspacePath::new("src/net.rs").unwrap(), lines: Some((4, 9)) }),
            references: Vec::new(),
            comment: None,
        },
        binding: Binding { root: "/w".into(), git: None, head: None, branch: None },
        trace: TraceId::new("0af7651916cd43dd8448eb211c80319c"),
        actor: anna(),
    }
}

pub fn revised(number: u32) -> Event {
    Event::Revised {
        revision: revision(number),
        text: ContentHash::of("text"),
        author: Author::Planner,
        reason: "the goal names one file".to_owned(),
        errors: 0,
    }
}

pub fn approved(number: u32) -> Event {
    Event::Approved {
        revision: revision(number),
        digest: ContentHash::of("digest"),
        text: ContentHash::of("text"),
        upto: None,
        steps: vec![
            (StepId::new("policy"), ContentHash::of("policy")),
            (StepId::new("tests"), ContentHash::of("tests")),
        ],
        baselines: Vec::new(),
        actor: anna(),
    }
}

pub fn gate_opened(gate: &str, line: &str) -> Event {
    Event::GateOpened {
        gate: GateId::new(gate),
        work: step("policy"),
        ask: Ask::Command { command: command(line), outside: false, rung: Rung::Copy },
    }
}

/// A task whose first step was killed once, failed its check, was repaired, and failed again.
pub fn story() -> Vec<(i64, Event)> {
    let policy = step("policy");
    let check = || Check::Command(command("cargo check -p net"));
    let reply = r#"{"text":"The retry loop sits in client.rs, so I read it first.\nThen I change it.","calls":[]}"#;
    vec![
        (0, opened("make retries configurable")),
        (10, Event::Began { work: Work::Planning, attempt: 1, because: None }),
        (20, intended(&Work::Planning, 1, 1, model())),
        (2_120, returned(&Work::Planning, 1, 1, r#"{"text":""}"#, used(900, 120))),
        (2_130, revised(1)),
        (
            2_140,
            Event::Ended {
                work: Work::Planning,
                attempt: 1,
                outcome: Outcome::Done { verified: false, summary: Payload::Inline("two steps".to_owned()) },
            },
        ),
        (60_000, approved(1)),
        (60_010, Event::Began { work: policy.clone(), attempt: 1, because: None }),
        (60_020, intended(&policy, 1, 1, model())),
        (61_020, returned(&policy, 1, 1, reply, used(2_000, 80))),
        (
            61_030,
            intended(
                &policy,
                1,
                2,
                Intent::Tool { tool: "read".to_owned(), arguments: r#"{"path":"src/client.rs"}"#.to_owned() },
            ),
        ),
        (61_034, returned(&policy, 1, 2, "…", None)),
        (61_040, intended(&policy, 1, 3, model())),
        (90_000, Event::Settled { effect: effect(&policy, 1, 3), result: Settlement::Lost }),
        (90_001, Event::Resumed { actor: anna() }),
        (90_010, gate_opened("g1", "cargo check -p net")),
        (
            95_000,
            Event::GateDecided {
                gate: GateId::new("g1"),
                answer: GateAnswer::AllowForPlan,
                comment: Some("it is quick".to_owned()),
                actor: anna(),
            },
        ),
        (95_010, intended(&policy, 1, 4, Intent::Command { command: command("cargo check -p net"), repeatable: true })),
        (97_210, returned(&policy, 1, 4, "{}", None)),
        (
            97_220,
            Event::Judged {
                work: policy.clone(),
                check: check(),
                verdict: Verdict::Failed { why: "exit code 101".to_owned() },
                evidence: Payload::Inline("error[E0433]: unresolved import `Retry`\n --> src/client.rs:3".to_owned()),
                view: ContentHash::of("view"),
                rung: Some(Rung::Copy),
                remark: None,
            },
        ),
        (97_230, Event::Repairing { step: StepId::new("policy"), round: 1 }),
        (
            98_000,
            Event::Ended {
                work: policy.clone(),
                attempt: 1,
                outcome: Outcome::Failed {
                    cause: Cause::Check,
                    message: "`cargo check -p net` still fails after 1 repair round".to_owned(),
                    ended: None,
                },
            },
        ),
    ]
}

pub fn recorded(events: Vec<(i64, Event)>) -> Vec<Recorded> {
    // 29 November 2026, 12:00 GMT
    let start = 1_795_953_600_000;
    let events = events.into_iter().enumerate();
    events.map(|(n, (at, event))| Recorded { seq: n as u64 + 1, at: Time(start + at), event }).collect()
}

pub fn dossier(id: &str, events: Vec<(i64, Event)>, state: TaskState) -> Dossier {
    let journal = recorded(events);
    let task = crate::domain::task::evolve::replay(&TaskId::new(id), &journal).unwrap();
    let words = |id: &StepId| match task.step(id).map(|run| &run.state) {
        Some(crate::domain::task::state::StepState::Failed { .. }) => "failed".to_owned(),
        _ => "waiting for policy".to_owned(),
    };
    let record = Record::of(journal.iter().map(|recorded| &recorded.event));
    Dossier {
        changes: Arc::default(),
        offered: None,
        carried: true,
        told: Arc::new(record.told(&task, |_| true)),
        steps: task.steps.iter().map(|run| (run.id.clone(), words(&run.id))).collect(),
        task: Arc::new(task),
        state,
        journal: journal.into_iter().collect(),
        page: None,
        revisions: Arc::default(),
        hunks: Arc::default(),
    }
}

pub fn page(text: &str) -> Page {
    let edit = |id: &str, title: &str| Step {
        id: StepId::new(id),
        title: title.to_owned(),
        kind: StepKind::Edit(vec![EditTarget { path: "src/net.rs".to_owned(), new: false, focus: None }]),
        after: After::Above,
        checks: Vec::new(),
        write: Vec::new(),
        read: Vec::new(),
        allow: Vec::new(),
        tools: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        repair: None,
        retry: None,
        timeout: None,
        on_failure: OnFailure::Stop,
        effect: EffectSetting::OfKind,
        probe: None,
        route: None,
        instruction: String::new(),
    };
    Page {
        path: "/w/.planwright/tasks/k3xf/retries.plan.md".into(),
        text: text.into(),
        plan: Arc::new(Plan {
            steps: vec![edit("policy", "Add RetryPolicy"), edit("tests", "Cover the policy")],
            ..Plan::default()
        }),
        problems: Vec::new(),
        revision: revision(1),
        contract: vec![
            "changes src/net.rs (policy)".to_owned(),
            "runs `cargo check -p net`, each time at a gate".to_owned(),
            "cost: not enforced, no price is known".to_owned(),
        ],
    }
}

pub fn error_at(text: &str, needle: &str) -> Problem {
    let start = text.find(needle).unwrap();
    Problem {
        code: "unknown-after".to_owned(),
        range: start..start + needle.len(),
        severity: Severity::Error,
        message: "no step is called `polcy`; did you mean `policy`?".to_owned(),
        fix: Some(Fix { title: "Agent: write `policy`".to_owned(), edits: Vec::new() }),
    }
}

pub fn hunk(id: &str, state: HunkState, decision: Option<Decision>) -> ReviewHunk {
    let pending = match (state, &decision) {
        (HunkState::Open, Some(Decision::Reject(_))) | (HunkState::Accepted, _) => false,
        (HunkState::Open | HunkState::Touched, _) => true,
    };
    ReviewHunk {
        on_disk: true,
        id: HunkId::new(id),
        step: StepId::new("policy"),
        path: WorkspacePath::new("src/net.rs").unwrap(),
        kind: "lines".to_owned(),
        line: 4,
        old: "    retry(3)\n".to_owned(),
        new: "    retry(policy.attempts)\n".to_owned(),
        context: ("fn send() {\n".to_owned(), "}\n".to_owned()),
        touching: (state == HunkState::Touched).then(|| "something else\n".to_owned()),
        exact: true,
        state,
        decision: decision.map(|decision| (decision, anna())),
        pending,
        flags: Vec::new(),
        verdict: "`cargo check` passes with it".to_owned(),
        shown: ContentHash::of(id),
    }
}
