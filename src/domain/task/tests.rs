//! The rules of a task as tables: what each action does in each state, what can start, what a budget holds back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed expectation is the finding")]

use super::action::*;
use super::budget::exceeded;
use super::decide::decide;
use super::event::*;
use super::evolve::{evolve, replay};
use super::facts::{Binding, Rung, Usage};
use super::schedule::{Readiness, board, retry_at};
use super::standing::standing;
use super::state::*;
use crate::domain::ids::*;
use crate::domain::plan::{self, ApprovedPlan, Budget, Command, Versions};

const PLAN: &str = "# A task\n\nThe goal.\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `x`, in `src`\n\n## Steps\n\n### first: The first\n\n- edit: `src/a.rs`\n\n### second: The second\n\n- edit: `src/b.rs`\n- retry: 1\n\n### last: After the review\n\n- check: syntax\n- after: second, review\n";

fn ada() -> Actor {
    Actor { user: "ada".to_owned(), client: "terminal".to_owned() }
}

fn step(id: &str) -> StepId {
    StepId::new(id)
}

fn work(id: &str) -> Work {
    Work::Step(step(id))
}

fn approved_plan(upto: Option<&str>) -> ApprovedPlan {
    let versions = Versions { policy: "1".to_owned(), recipe: "none".to_owned(), grammar: "g".to_owned() };
    let parsed = plan::parse(PLAN);
    let normal = plan::normal(&parsed.plan, &versions);
    let revision = RevisionRef { number: 1, digest: normal.digest.short().to_owned() };
    plan::approve::approve(parsed.plan, normal, revision, upto.map(step), &[]).unwrap()
}

/// A journal with a second between its events.
fn journal(plan: &ApprovedPlan, more: Vec<Event>) -> Vec<Recorded> {
    let goal = Goal { words: "The goal".to_owned(), place: None, references: Vec::new(), comment: None };
    let binding = Binding { root: "/w".into(), git: None, head: None, branch: None };
    let mut events = vec![
        Event::Opened { goal, binding, trace: TraceId::new("0"), actor: ada() },
        Event::Revised {
            revision: plan.revision().clone(),
            text: ContentHash::of(PLAN),
            author: Author::Person(ada()),
            reason: String::new(),
            errors: 0,
        },
        Event::Approved {
            revision: plan.revision().clone(),
            digest: plan.digest().clone(),
            text: ContentHash::of(PLAN),
            upto: plan.upto().cloned(),
            steps: plan.step_digests(),
            baselines: Vec::new(),
            actor: ada(),
        },
    ];
    events.extend(more);
    let at = |seq: u64| Time(i64::try_from(seq).unwrap() * 1_000);
    (1..).zip(events).map(|(seq, event)| Recorded { seq, at: at(seq), event }).collect()
}

fn told(plan: &ApprovedPlan, more: Vec<Event>) -> Task {
    replay(&TaskId::new("t"), &journal(plan, more)).unwrap()
}

fn began(id: &str) -> Event {
    Event::Began { work: work(id), attempt: 1, because: None }
}

fn ended(id: &str, outcome: Outcome) -> Event {
    Event::Ended { work: work(id), attempt: 1, outcome }
}

fn done() -> Outcome {
    Outcome::Done { verified: true, summary: Payload::Inline(String::new()) }
}

fn failed(cause: Cause) -> Outcome {
    Outcome::Failed { cause, message: "no".to_owned(), ended: None }
}

fn command() -> Command {
    Command { argv: vec!["make".to_owned()], dir: None, env: Vec::new() }
}

fn effect() -> EffectId {
    EffectId { work: work("first"), attempt: 1, n: 1 }
}

fn intended(what: Intent, reserve: u64) -> Event {
    Event::Intended { effect: effect(), what, request: ContentHash::of("r"), reserve, gate: None }
}

fn gate(ask: Ask) -> Event {
    Event::GateOpened { gate: GateId::new("g1"), work: work("first"), ask }
}

/// The step `first` in each of its states, told as it comes about.
fn states() -> Vec<(&'static str, Vec<Event>)> {
    let ran = || intended(Intent::Command { command: command(), repeatable: false }, 0);
    let ambiguous = Ask::Ambiguous { effect: effect(), command: command() };
    let asks = Ask::Command { command: command(), outside: true, rung: Rung::Copy };
    let blocked = Outcome::Blocked { cause: Cause::Policy, message: "no".to_owned() };
    vec![
        ("waiting", vec![]),
        ("running", vec![began("first"), ran()]),
        ("repairing", vec![began("first"), Event::Repairing { step: step("first"), round: 1 }]),
        ("at gate", vec![began("first"), gate(asks)]),
        ("ambiguous", vec![began("first"), ran(), gate(ambiguous)]),
        ("blocked", vec![began("first"), ended("first", blocked)]),
        ("failed", vec![began("first"), ended("first", failed(Cause::Check))]),
        ("taken over", vec![Event::TakenOver { step: step("first"), actor: ada() }]),
        ("done", vec![began("first"), ended("first", done())]),
        ("skipped", vec![Event::StepSet { step: step("first"), to: HandSet::Skipped, actor: ada(), reason: None }]),
        ("paused", vec![Event::Paused { actor: ada(), cancelled: false }]),
        ("over", vec![Event::Closed { ending: Ending::NothingKept }]),
    ]
}

fn actions() -> Vec<(&'static str, Action)> {
    let task = || Which::TheOnlyOne;
    let gate = |answer| Action::Gate { task: task(), gate: None, answer, comment: None };
    vec![
        ("resume", Action::Resume { task: task() }),
        ("pause", Action::Pause { task: task() }),
        ("cancel", Action::Cancel { task: task() }),
        ("abandon", Action::Abandon { task: task() }),
        ("retry", Action::Retry { task: task(), step: None }),
        ("retry first", Action::Retry { task: task(), step: Some(step("first")) }),
        ("skip", Action::Skip { task: task(), step: step("first") }),
        ("take over", Action::TakeOver { task: task(), step: step("first") }),
        ("mark done", Action::MarkDone { task: task(), step: step("first") }),
        ("say", Action::Say { task: task(), words: "w".to_owned(), step: Some(step("first")) }),
        ("replan", Action::Replan { task: task(), words: None }),
        ("allow", gate(GateAnswer::Allow)),
        ("allow for plan", gate(GateAnswer::AllowForPlan)),
        ("deny", gate(GateAnswer::Deny)),
        ("happened", gate(GateAnswer::Happened)),
    ]
}

/// An event by its name, with the part of it that tells.
fn name(event: &Event) -> String {
    match event {
        Event::Settled { result, .. } => {
            let text = format!("{result:?}");
            format!("settled {}", text.split([' ', '{']).next().unwrap_or_default())
        }
        Event::Paused { cancelled: true, .. } => "cancelled".to_owned(),
        Event::StepSet { to, .. } => format!("set {to:?}"),
        other => {
            let text = format!("{other:?}");
            text.split([' ', '{']).next().unwrap_or_default().to_owned()
        }
    }
}

#[test]
fn every_action_in_every_state() {
    let plan = approved_plan(None);
    let mut matrix = String::new();
    for (state, events) in states() {
        let task = told(&plan, events);
        let before = task.clone();
        let cells: Vec<String> = actions()
            .into_iter()
            .filter_map(|(label, action)| match decide(&task, Some(&plan), &ada(), &action) {
                Ok(events) if events.is_empty() => Some(format!("{label}: nothing")),
                Ok(events) => Some(format!("{label}: {}", events.iter().map(name).collect::<Vec<_>>().join(" + "))),
                Err(refusal) => {
                    assert!(!refusal.message.is_empty() && !refusal.next.is_empty(), "{state}, {label}: {refusal:?}");
                    None
                }
            })
            .collect();
        assert_eq!(task, before, "deciding changes nothing");
        matrix.push_str(format!("{state} | {}", cells.join(" | ")).trim_end());
        matrix.push('\n');
    }
    // An effect that a crash left in doubt stays in doubt when the task is cancelled: nobody has said what happened.
    insta::assert_snapshot!(matrix, @"
    waiting | resume: nothing | pause: Paused | cancel: cancelled | abandon: Closed | skip: set Skipped | take over: TakenOver | mark done: set DoneByHand | say: Said | replan: PlanAsked
    running | resume: nothing | pause: Paused | cancel: settled Cancelled + cancelled | abandon: settled Cancelled + Closed | skip: settled Cancelled + set Skipped | take over: TakenOver | mark done: settled Cancelled + set DoneByHand | say: Said | replan: PlanAsked
    repairing | resume: nothing | pause: Paused | cancel: cancelled | abandon: Closed | skip: set Skipped | take over: TakenOver | mark done: set DoneByHand | say: Said | replan: PlanAsked
    at gate | resume: nothing | pause: Paused | cancel: cancelled | abandon: Closed | skip: set Skipped | take over: TakenOver | mark done: set DoneByHand | say: Said | replan: PlanAsked | allow: GateDecided | deny: GateDecided
    ambiguous | resume: nothing | pause: Paused | cancel: cancelled | abandon: settled Cancelled + Closed | skip: settled Cancelled + set Skipped | take over: TakenOver | mark done: settled Cancelled + set DoneByHand | say: Said | replan: PlanAsked | allow: GateDecided + settled DidNotHappen | deny: GateDecided + settled Cancelled | happened: GateDecided + settled Happened
    blocked | resume: nothing | pause: Paused | cancel: cancelled | abandon: Closed | retry: RetryAsked | retry first: RetryAsked | skip: set Skipped | take over: TakenOver | mark done: set DoneByHand | say: Said | replan: PlanAsked
    failed | resume: nothing | pause: Paused | cancel: cancelled | abandon: Closed | retry: RetryAsked | retry first: RetryAsked | skip: set Skipped | take over: TakenOver | mark done: set DoneByHand | say: Said | replan: PlanAsked
    taken over | resume: nothing | pause: Paused | cancel: cancelled | abandon: Closed | retry: RetryAsked | retry first: RetryAsked | skip: set Skipped | take over: TakenOver | mark done: set DoneByHand | say: Said | replan: PlanAsked
    done | resume: nothing | pause: Paused | cancel: cancelled | abandon: Closed | replan: PlanAsked
    skipped | resume: nothing | pause: Paused | cancel: cancelled | abandon: Closed | retry first: RetryAsked | replan: PlanAsked
    paused | resume: Resumed | abandon: Closed | skip: set Skipped | take over: TakenOver | mark done: set DoneByHand | say: Said | replan: PlanAsked
    over |
    ");
}

#[track_caller]
fn ready(upto: Option<&str>, events: Vec<Event>, pending: usize, now: i64, expect: &str) {
    let plan = approved_plan(upto);
    let task = told(&plan, events);
    let words = |readiness: &Readiness| match readiness {
        Readiness::Waits(ids) => format!("waits for {}", ids.iter().map(StepId::as_str).collect::<Vec<_>>().join(", ")),
        Readiness::Delayed(_) => "delayed".to_owned(),
        other => format!("{other:?}"),
    };
    let rows: Vec<String> =
        board(&task, &plan, pending, Time(now)).iter().map(|(id, r)| format!("{id}: {}", words(r))).collect();
    let state = standing(&task, Some(&plan), pending, Time(now)).words();
    assert_eq!(format!("{} → {state}", rows.join("; ")), expect);
}

#[test]
fn a_step_starts_when_what_it_needs_is_over() {
    ready(None, vec![], 0, 0, "first: Ready; second: waits for first; last: waits for second → running");
    let one = || vec![began("first"), ended("first", done())];
    ready(None, one(), 0, 0, "first: NotNow; second: Ready; last: waits for second → running");
    ready(
        Some("first"),
        one(),
        0,
        0,
        "first: NotNow; second: BeyondApproval; last: BeyondApproval → awaiting approval",
    );
    let two = || [one(), vec![began("second"), ended("second", done())]].concat();
    ready(None, two(), 1, 0, "first: NotNow; second: NotNow; last: WaitsForReview → awaiting review");
    ready(None, two(), 0, 0, "first: NotNow; second: NotNow; last: Ready → running");
    let skipped = Event::StepSet { step: step("first"), to: HandSet::Skipped, actor: ada(), reason: None };
    ready(None, vec![skipped], 0, 0, "first: NotNow; second: Ready; last: waits for second → running");
}

#[test]
fn only_what_can_pass_is_tried_again_and_not_for_ever() {
    let second = |cause| {
        let one = vec![began("first"), ended("first", done())];
        [one, vec![began("second"), ended("second", failed(cause))]].concat()
    };
    let late = 3_600_000;
    ready(None, second(Cause::Check), 0, late, "first: NotNow; second: NotNow; last: waits for second → blocked");
    ready(None, second(Cause::Timeout), 0, 0, "first: NotNow; second: delayed; last: waits for second → delayed");
    ready(None, second(Cause::Timeout), 0, late, "first: NotNow; second: Ready; last: waits for second → running");
    let again = Event::Began { work: work("second"), attempt: 2, because: None };
    let end = Event::Ended { work: work("second"), attempt: 2, outcome: failed(Cause::Timeout) };
    let twice = [second(Cause::Timeout), vec![again, end]].concat();
    ready(None, twice.clone(), 0, late, "first: NotNow; second: NotNow; last: waits for second → blocked");
    let asked = Event::RetryAsked { work: work("second"), actor: ada() };
    ready(
        None,
        [twice, vec![asked]].concat(),
        0,
        late,
        "first: NotNow; second: Ready; last: waits for second → running",
    );
}

#[test]
fn the_pause_before_another_attempt_is_the_same_in_every_replay() {
    let plan = approved_plan(None);
    let task = told(&plan, vec![began("first"), ended("first", failed(Cause::Timeout))]);
    let run = task.step(&step("first")).unwrap();
    let due = retry_at(&task, &plan, run, Time(0)).unwrap();
    assert!((2_000..=2_500).contains(&due.0), "two seconds and a quarter of jitter at most: {due:?}");
    assert_eq!(retry_at(&task, &plan, run, Time(0)), Some(due));
}

#[track_caller]
fn budget(budget: Budget, events: Vec<Event>, reserve: u64, expect: Option<&str>) {
    let task = told(&approved_plan(None), events);
    let ask = intended(Intent::Model { model: "m".to_owned(), request: ContentHash::of("q") }, reserve);
    let why = exceeded(&task, &budget, &[ask], Time(10_000));
    match (why, expect) {
        (Some(why), Some(part)) => assert!(why.contains(part), "{why}"),
        (why, expect) => assert_eq!(why.as_deref(), expect),
    }
}

#[test]
fn a_call_that_would_pass_a_bound_does_not_start() {
    let model = || Intent::Model { model: "m".to_owned(), request: ContentHash::of("q") };
    let settled = |result| Event::Settled { effect: effect(), result };
    let usage = Usage { input: 60, cached: 0, output: 20, estimated: false };
    let back = Settlement::Returned { result: Payload::Inline(String::new()), usage: Some(usage) };
    let tokens = || Budget { tokens: Some(100), ..Budget::default() };
    let held = || vec![began("first"), intended(model(), 50)];
    let used = [held(), vec![settled(back)]].concat();
    let lost = [held(), vec![settled(Settlement::Lost)]].concat();
    budget(tokens(), vec![], 100, None);
    budget(tokens(), vec![], 101, Some("the next call may need 101"));
    budget(tokens(), held(), 51, Some("50 are held"));
    budget(tokens(), used, 21, Some("80 are used"));
    // A call that was lost may have been billed: it counts as it was reserved.
    budget(tokens(), lost, 51, Some("50 are used, 0 are held"));
    // So does one that went with its attempt.
    let dropped = [held(), vec![began("first")]].concat();
    budget(tokens(), dropped, 51, Some("50 are used, 0 are held"));
    budget(Budget { turns: Some(1), ..Budget::default() }, held(), 1, Some("1 turns"));
}

#[test]
fn wall_time_runs_while_work_is_under_way_and_binds_only_what_makes_more_work() {
    let seconds = |most| Budget { seconds: Some(most), ..Budget::default() };
    let settled = |result| Event::Settled { effect: effect(), result };
    let back = || settled(Settlement::Returned { result: Payload::Inline(String::new()), usage: None });
    let pause = || Event::Paused { actor: ada(), cancelled: false };
    // The intent is appended at 5 s, and the question is put at 10 s.
    let open = || vec![began("first"), intended(Intent::Snapshot, 0)];
    budget(seconds(1), vec![], 1, None);
    budget(seconds(5), open(), 1, None);
    budget(seconds(4), open(), 1, Some("wall time"));
    budget(seconds(1), [open(), vec![back(), pause()]].concat(), 1, None);
    budget(seconds(1), [open(), vec![pause(), back()]].concat(), 1, Some("wall time"));
    // Nobody knows how long a process that died was at it.
    budget(seconds(1), [open(), vec![pause(), settled(Settlement::Lost)]].concat(), 1, None);
    let asked = gate(Ask::Ambiguous { effect: effect(), command: command() });
    budget(seconds(1), [open(), vec![asked]].concat(), 1, None);

    let task = told(&approved_plan(None), open());
    for work in [Work::Review, Work::Acceptance] {
        let effect = EffectId { work, attempt: 1, n: 1 };
        let intent =
            Event::Intended { effect, what: Intent::Snapshot, request: ContentHash::of("r"), reserve: 0, gate: None };
        assert_eq!(exceeded(&task, &seconds(1), &[intent], Time(10_000)), None);
    }
}

#[test]
fn a_result_settles_one_intent_and_only_once() {
    let plan = approved_plan(None);
    let lost = || Event::Settled { effect: effect(), result: Settlement::Lost };
    let happened = Event::Settled { effect: effect(), result: Settlement::Happened { by: "late".to_owned() } };
    let ran = intended(Intent::Command { command: command(), repeatable: true }, 0);
    let once = told(&plan, vec![began("first"), ran.clone(), lost()]);
    let twice = told(&plan, vec![began("first"), ran, lost(), happened]);
    assert_eq!(once.effects, twice.effects);
    assert_eq!(once.effects.first().and_then(|effect| effect.result.clone()), Some(Settlement::Lost));
}

#[test]
fn a_step_that_is_unchanged_stays_done_under_a_new_approval() {
    let plan = approved_plan(None);
    let mut task = told(&plan, vec![began("first"), ended("first", done()), began("second")]);
    let mut steps = plan.step_digests();
    for (id, digest) in &mut steps {
        if id.as_str() == "second" {
            *digest = ContentHash::of("another definition");
        }
    }
    let revision = RevisionRef { number: 2, digest: "0".repeat(12) };
    let approved = Event::Approved {
        revision,
        digest: ContentHash::of("d"),
        text: ContentHash::of("t"),
        upto: None,
        steps,
        baselines: Vec::new(),
        actor: ada(),
    };
    evolve(&mut task, &Recorded { seq: 9, at: Time(9_000), event: approved });
    assert_eq!(task.step(&step("first")).unwrap().state, StepState::Done(DoneHow::Verified));
    assert_eq!(task.step(&step("second")).unwrap().state, StepState::Waiting);
    assert_eq!(task.step(&step("second")).unwrap().attempts, 1, "an effect id is never given twice");
}

#[test]
fn trying_the_acceptance_checks_again_takes_a_paused_task_up() {
    let plan = approved_plan(None);
    let end = Event::Ended { work: Work::Acceptance, attempt: 1, outcome: failed(Cause::Check) };
    let task = told(&plan, vec![end, Event::Paused { actor: ada(), cancelled: false }]);
    let events = decide(&task, Some(&plan), &ada(), &Action::Retry { task: Which::TheOnlyOne, step: None }).unwrap();
    assert_eq!(events.iter().map(name).collect::<Vec<_>>(), ["RetryAsked", "Resumed"]);
}

#[test]
fn a_write_to_the_users_file_is_not_cancelled_and_what_reached_outside_is_not_called_undone() {
    let plan = approved_plan(None);
    let own = |n, what| {
        let effect = EffectId { work: if n == 2 { Work::Review } else { work("first") }, attempt: 1, n };
        Event::Intended { effect, what, request: ContentHash::of("r"), reserve: 0, gate: None }
    };
    let outside = Intent::Outside { command: command(), key: "k".to_owned(), probe: None };
    let (before, after) = (ContentHash::of("b"), ContentHash::of("a"));
    let write = Intent::Write { path: WorkspacePath::new("src/a.rs").unwrap(), before, after, open: false };
    let task = told(&plan, vec![began("first"), own(1, outside), own(2, write), own(3, Intent::Snapshot)]);
    let check = |action: Action, expect: &str| {
        let events = decide(&task, Some(&plan), &ada(), &action).unwrap();
        assert_eq!(events.iter().map(name).collect::<Vec<_>>().join(" + "), expect);
    };
    check(Action::Cancel { task: Which::TheOnlyOne }, "GateOpened + settled Cancelled + cancelled");
    check(Action::Abandon { task: Which::TheOnlyOne }, "settled Cancelled + Closed");
}

#[test]
fn what_reached_outside_is_known_for_good() {
    let plan = approved_plan(None);
    let start = || {
        let what = Intent::Outside { command: command(), key: "k".to_owned(), probe: None };
        vec![began("first"), intended(what, 0)]
    };
    let back = || Event::Settled {
        effect: effect(),
        result: Settlement::Returned { result: Payload::Inline("r".to_owned()), usage: None },
    };
    let again = || Event::Began { work: work("first"), attempt: 2, because: None };
    let approved = || Event::Approved {
        revision: RevisionRef { number: 2, digest: "0".repeat(12) },
        digest: ContentHash::of("d"),
        text: ContentHash::of("t"),
        upto: None,
        steps: vec![(step("first"), ContentHash::of("another definition"))],
        baselines: Vec::new(),
        actor: ada(),
    };
    let over = || Event::TakenOver { step: step("first"), actor: ada() };
    let check = |more: Vec<Event>, in_doubt: bool| {
        let task = told(&plan, [start(), more].concat());
        assert!(task.effects.is_empty(), "{:?}", task.effects);
        assert_eq!(task.outside.iter().map(OutsideRun::is_in_doubt).collect::<Vec<_>>(), [in_doubt]);
    };
    for forgets in [again, approved, over] {
        check(vec![forgets()], true);
        check(vec![back(), forgets()], false);
        // Whoever is asked later settles it, although its attempt is long over.
        check(
            vec![forgets(), Event::Settled { effect: effect(), result: Settlement::Happened { by: "ada".to_owned() } }],
            false,
        );
    }
    let cancelled = || Event::Settled { effect: effect(), result: Settlement::Cancelled };
    check(vec![cancelled(), again()], true);
}

/// The gate g1 of `first` asks for its command; it is answered, and then `more` happens.
#[track_caller]
fn permission(answer: GateAnswer, more: Vec<Event>, expect: (bool, bool)) {
    let ask = Ask::Command { command: command(), outside: false, rung: Rung::Copy };
    let said = Event::GateDecided { gate: GateId::new("g1"), answer, comment: None, actor: ada() };
    let task = told(&approved_plan(None), [vec![began("first"), gate(ask), said], more].concat());
    assert_eq!((task.permits(&GateId::new("g1")), task.allowed_for_plan(&command())), expect);
}

#[test]
fn a_permission_holds_for_its_approval_and_one_given_once_for_one_intent() {
    let plan = approved_plan(None);
    let approved = || Event::Approved {
        revision: plan.revision().clone(),
        digest: plan.digest().clone(),
        text: ContentHash::of(PLAN),
        upto: None,
        steps: plan.step_digests(),
        baselines: Vec::new(),
        actor: ada(),
    };
    let what = || Intent::Command { command: command(), repeatable: true };
    let used =
        |gate| Event::Intended { effect: effect(), what: what(), request: ContentHash::of("r"), reserve: 0, gate };
    permission(GateAnswer::Allow, vec![], (true, false));
    permission(GateAnswer::Allow, vec![used(None)], (true, false));
    permission(GateAnswer::Allow, vec![used(Some(GateId::new("g1")))], (false, false));
    permission(GateAnswer::Allow, vec![approved()], (false, false));
    permission(GateAnswer::AllowForPlan, vec![], (true, true));
    permission(GateAnswer::AllowForPlan, vec![approved()], (false, false));
}

#[test]
fn events_of_older_releases_are_read_and_those_of_newer_ones_called_so() {
    let body = Event::Restored.to_json().unwrap();
    for version in 1..=Event::VERSION {
        assert_eq!(Event::from_json(version, &body), Ok(Event::Restored));
    }
    let newer = Event::from_json(Event::VERSION + 1, r#"{"kind":"of a later release"}"#);
    assert!(newer.unwrap_err().contains("newer than this planwright"));
}
