//! Each view as a person reads it.

use crate::cli::clean::{Kept, clean};
use crate::cli::doctor::{Setting, find};
use crate::cli::{clean as cleaning, doctor, render};
use crate::desk::fixture::*;
use crate::desk::{Desk, Dossier, Mode, Query, Surroundings};
use crate::domain::agent::dialogue::ModelInfo;
use crate::domain::change::{Decision, Flag, HunkState};
use crate::domain::ids::{GateId, Work};
use crate::domain::task::action::{Refusal, RefusalKind, Which};
use crate::domain::task::event::{Ask, Cause, Ending, Event, Outcome, Payload};
use crate::domain::task::facts::Rung;
use crate::domain::task::standing::TaskState;
use insta::assert_snapshot;
use std::sync::Arc;

fn shown(dossiers: Vec<Dossier>, query: Query) -> String {
    let desk = Desk { tasks: dossiers.into_iter().map(Arc::new).collect(), ..Desk::default() };
    let paper = render::view(&desk.answer(&query).unwrap());
    anstream::adapter::strip_str(paper.text()).to_string()
}

fn failed() -> Dossier {
    let blocked = TaskState::Blocked { why: "step policy failed".to_owned(), next: "planwright retry".to_owned() };
    Dossier { page: Some(Arc::new(page("# T\n"))), ..dossier("k3xf", story(), blocked) }
}

fn only() -> Which {
    Which::TheOnlyOne
}

#[test]
fn a_failure_says_what_was_tried_what_was_seen_and_what_can_be_done() {
    assert_snapshot!(shown(vec![failed()], Query::Status { task: only() }), @r#"
    k3xf  blocked  make retries configurable
    plan      r1-1f2c81d04a7e, approved
      policy  failed  Add RetryPolicy
      tests   waiting for policy  Cover the policy
    check     policy: `cargo check -p net` failed: exit code 101 (in a copy, not isolated)
    failed    policy (check)
        `cargo check -p net` still fails after 1 repair round
      tried
        attempt 1, 1 repair round: failed (check): `cargo check -p net` still fails after 1 repair round
      seen
        `cargo check -p net` failed: exit code 101
        error[E0433]: unresolved import `Retry`
         --> src/client.rs:3
      next
        planwright say k3xf "…" --step policy  say what to mind at the next attempt
        planwright retry k3xf policy           try the step again
        planwright show k3xf                   edit the plan, then approve it again
        planwright take-over k3xf policy       do it by hand
        planwright skip k3xf policy            do without it
        planwright abandon k3xf                end the task; accepted hunks stay
    used      3600 tokens (0 cached) in 3 turns
    page      /w/.planwright/tasks/k3xf/task.md
    "#);
}

#[test]
fn a_gate_comes_with_the_commands_that_answer_it() {
    let mut events = story();
    events.truncate(16);
    let blocked = TaskState::Blocked { why: "gate".to_owned(), next: "n".to_owned() };
    assert_snapshot!(shown(vec![dossier("k3xf", events, blocked)], Query::Status { task: only() }), @"
    k3xf  blocked  make retries configurable
    plan      r1-1f2c81d04a7e, approved
      policy  waiting for policy
      tests   waiting for policy
    gate g1   policy: may `cargo check -p net` run? (in a copy, not isolated)
        planwright gate k3xf g1 allow             run it, this once
        planwright gate k3xf g1 allow --for-plan  and do not ask again for this command under this revision
        planwright gate k3xf g1 deny              do not run it
    used      3600 tokens (0 cached) in 3 turns
    ");
}

#[test]
fn tasks_are_listed_with_their_next_step() {
    let done = TaskState::Done { ending: Ending::Verified };
    let over = dossier("aaaa", vec![(0, opened("rename it")), (1, Event::Closed { ending: Ending::Verified })], done);
    let review = dossier("bbbb", vec![(0, opened("make retries configurable"))], TaskState::AwaitingReview);
    assert_snapshot!(shown(vec![over, review], Query::Tasks), @"
    aaaa  done (verified)  rename it
    bbbb  awaiting review  make retries configurable
          next: planwright review bbbb  accept or reject the hunks
    ");
    assert_snapshot!(shown(Vec::new(), Query::Tasks), @r#"
    no task yet
    next: planwright plan "GOAL"  makes one
    "#);
}

#[test]
fn the_timeline_says_what_why_and_what_recovery() {
    assert_snapshot!(shown(vec![failed()], Query::Timeline { task: only(), mode: Mode::Full }), @r#"
    k3xf  blocked  make retries configurable
    opened Sun, 29 Nov 2026 12:00:00 GMT
       0:00.0            goal of anna (terminal): make retries configurable (at src/net.rs:4-9)
       0:00.0  planning  attempt 1 begins
       0:00.0  planning  asks openai/qwen — answered, 900 tokens in, 120 out (2.1 s)
       0:02.1  planning  plan r1-1f2c81d04a7e by the planner
                         why: the goal names one file
       0:02.1  planning  done (not verified)
                         why: two steps
       1:00.0            r1-1f2c81d04a7e approved by anna (terminal), 2 steps
       1:00.0  policy    attempt 1 begins
       1:00.0  policy    asks openai/qwen — answered, 2000 tokens in, 80 out (1.0 s)
       1:01.0  policy    read {"path":"src/client.rs"} (4 ms)
                         why: The retry loop sits in client.rs, so I read it first.…
       1:01.0  policy    asks openai/qwen — lost with the process
       1:30.0  policy    found again: asks openai/qwen
                         recovery: it may run again
       1:30.0            resumed by anna (terminal)
       1:30.0  policy    gate g1 — policy: may `cargo check -p net` run? (in a copy, not isolated)
       1:35.0            gate g1: allowed for this plan by anna (terminal)
                         why: it is quick
       1:35.0  policy    runs `cargo check -p net` (2.2 s)
       1:37.2  policy    check `cargo check -p net` failed: exit code 101 (in a copy, not isolated)
                         why: error[E0433]: unresolved import `Retry`…
       1:37.2  policy    repair round 1
                         recovery: the errors go back to the agent
       1:38.0  policy    failed (check)
                         why: `cargo check -p net` still fails after 1 repair round
    "#);
    assert_snapshot!(shown(vec![failed()], Query::Timeline { task: only(), mode: Mode::Tools }), @r#"
    k3xf  blocked  make retries configurable
    opened Sun, 29 Nov 2026 12:00:00 GMT
       0:00.0  planning  asks openai/qwen — answered, 900 tokens in, 120 out (2.1 s)
       1:00.0  policy    asks openai/qwen — answered, 2000 tokens in, 80 out (1.0 s)
       1:01.0  policy    read {"path":"src/client.rs"} (4 ms)
                         why: The retry loop sits in client.rs, so I read it first.…
       1:01.0  policy    asks openai/qwen — lost with the process
       1:30.0  policy    found again: asks openai/qwen
                         recovery: it may run again
       1:35.0  policy    runs `cargo check -p net` (2.2 s)
       1:37.2  policy    check `cargo check -p net` failed: exit code 101 (in a copy, not isolated)
                         why: error[E0433]: unresolved import `Retry`…
    "#);
}

#[test]
fn a_plan_is_shown_with_what_it_means() {
    let text = "# Retries\n\n> question: how often?\n\n- after: polcy\u{202e}\n";
    let waiting = || dossier("k3xf", vec![(0, opened("g")), (1, revised(1))], TaskState::AwaitingApproval);
    let broken = crate::desk::Page { problems: vec![error_at(text, "polcy")], ..page(text) };
    let show = Query::Show { task: only() };
    assert_snapshot!(shown(vec![Dossier { page: Some(Arc::new(broken)), ..waiting() }], show.clone()), @r#"
    # Retries

    > question: how often?

    - after: polcy<U+202E>

    k3xf  awaiting approval
    document  /w/.planwright/tasks/k3xf/retries.plan.md
    page      /w/.planwright/tasks/k3xf/task.md
    revision  r1-1f2c81d04a7e, not approved
    what it means
      changes src/net.rs (policy)
      runs `cargo check -p net`, each time at a gate
      cost: not enforced, no price is known
    error     line 5: no step is called `polcy`; did you mean `policy`? [unknown-after]
              fix: Agent: write `policy`
    question  1. how often?
              planwright answer k3xf 1 "…"
    next: edit the document  it cannot be approved while it has errors
    "#);
    let fine = Dossier { page: Some(Arc::new(page("# Retries\n"))), ..waiting() };
    assert_snapshot!(shown(vec![fine], show), @"
    # Retries

    k3xf  awaiting approval
    document  /w/.planwright/tasks/k3xf/retries.plan.md
    page      /w/.planwright/tasks/k3xf/task.md
    revision  r1-1f2c81d04a7e, not approved
    what it means
      changes src/net.rs (policy)
      runs `cargo check -p net`, each time at a gate
      cost: not enforced, no price is known
    next: planwright approve k3xf --revision r1-1f2c81d04a7e  approve exactly this
    ");
}

#[test]
fn hunks_are_shown_with_all_that_a_decision_needs() {
    let mut hunks = vec![
        hunk("h00000001", HunkState::Open, None),
        hunk("h00000002", HunkState::Open, Some(Decision::Reject(Some("the name is taken".to_owned())))),
        hunk("h00000003", HunkState::Touched, Some(Decision::Accept)),
    ];
    hunks[0].flags = vec![Flag::Uncertain("a macro may make this name".to_owned())];
    hunks[0].new = "    retry(policy.attempts) // \u{1b}[2K\u{202e}\r\n".to_owned();
    hunks[2].new = "no end".to_owned();
    let dossier =
        Dossier { hunks: Arc::new(hunks), ..dossier("k3xf", vec![(0, opened("g"))], TaskState::AwaitingReview) };
    assert_snapshot!(shown(vec![dossier], Query::Review { task: only(), all: true }), @r"
    h00000001 src/net.rs:4  step policy  open
      `cargo check` passes with it
      ! uncertain: a macro may make this name
     fn send() {
    -    retry(3)
    +    retry(policy.attempts) // <U+001B>[2K<U+202E><U+000D>
     }

    h00000002 src/net.rs:4  step policy  rejected: the name is taken
      `cargo check` passes with it
     fn send() {
    -    retry(3)
    +    retry(policy.attempts)
     }

    h00000003 src/net.rs:4  step policy  touched: something else stands there now
      `cargo check` passes with it
     fn send() {
    -    retry(3)
    +no end
    \ no newline at the end
      stands there now:
    |something else
     }

    hunks     2 pending (1 touched), 0 accepted, 1 rejected
    next: planwright accept k3xf HUNK…  or reject, with --reason; or --file, --step, --all
    ");
}

#[test]
fn a_journal_can_be_looked_at_after_each_event() {
    for length in 1..=story().len() {
        let mut events = story();
        events.truncate(length);
        let told = || vec![dossier("k3xf", events.clone(), TaskState::Running)];
        let rows = shown(told(), Query::Timeline { task: only(), mode: Mode::Full });
        let unsettled = rows.matches(" — no result").count();
        let desk = Desk { tasks: told().into_iter().map(Arc::new).collect(), ..Desk::default() };
        assert_eq!(unsettled, desk.tasks[0].task.in_flight().count(), "after {length} events:\n{rows}");
        assert!(shown(told(), Query::Status { task: only() }).starts_with("k3xf  running  make retries"));
    }
}

#[test]
fn every_command_that_is_offered_can_be_run() {
    let ask = |work: Work, ask: Ask| Event::GateOpened { gate: GateId::new("g1"), work, ask };
    let of = |id: &str| crate::domain::ids::EffectId { work: step(id), attempt: 1, n: 1 };
    let run = || command("cargo test");
    let asks = [
        Ask::Command { command: run(), outside: false, rung: Rung::Copy },
        Ask::Command { command: run(), outside: true, rung: Rung::Copy },
        Ask::Person { question: "fine?".to_owned(), who: "anyone".to_owned() },
        Ask::Ambiguous { effect: of("policy"), command: run() },
        Ask::Changed { difference: Payload::Inline("-a\n+b".to_owned()) },
        Ask::Exceeds { reason: "9 files".to_owned() },
        Ask::Failed { cause: Cause::Check, message: "no".to_owned() },
        Ask::Question { question: "which?".to_owned() },
    ];
    let begun = || vec![(0, opened("g")), (1, revised(1)), (2, approved(1))];
    let mut events: Vec<Vec<(i64, Event)>> = Vec::new();
    for question in asks {
        for work in [Work::Planning, step("policy")] {
            let mut told = begun();
            told.push((3, ask(work, question.clone())));
            events.push(told);
        }
    }
    let causes = [Cause::Check, Cause::Budget, Cause::Policy, Cause::Conflict, Cause::Timeout];
    for work in [Work::Planning, Work::Acceptance, step("policy")] {
        for cause in causes {
            let mut told = begun();
            let outcome = Outcome::Failed { cause, message: "no".to_owned(), ended: None };
            told.push((3, Event::Began { work: work.clone(), attempt: 1, because: None }));
            told.push((4, Event::Ended { work: work.clone(), attempt: 1, outcome }));
            events.push(told);
        }
    }
    let blocked = || TaskState::Blocked { why: "w".to_owned(), next: "n".to_owned() };
    let mut offered = 0;
    for told in events {
        let text = shown(vec![dossier("k3xf", told, blocked())], Query::Status { task: only() });
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("planwright ")) {
            let command = line.split("  ").next().unwrap();
            let said = super::arguments::read(command);
            assert!(!said.starts_with('!') && said.contains("k3xf"), "{command}: {said}");
            offered += 1;
        }
    }
    assert!(offered > 90, "{offered}");
}

#[test]
fn removed_lines_are_red_and_added_ones_green() {
    let mut paper = render::Paper::new();
    render::review::hunk(&mut paper, &hunk("h00000001", HunkState::Open, None));
    assert!(paper.text().contains("\u{1b}[31m-    retry(3)\u{1b}[0m\n"), "{:?}", paper.text());
    assert!(paper.text().contains("\u{1b}[32m+    retry(policy.attempts)\u{1b}[0m\n"), "{:?}", paper.text());
}

#[test]
fn no_view_lets_an_escape_through() {
    let evil = "x\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}y";
    let mut events = story();
    events[0].1 = opened(evil);
    events.push((99_000, Event::Said { words: evil.to_owned(), step: None, actor: anna() }));
    events.push((99_001, gate_opened("g9", &format!("echo '{evil}'"))));
    let mut evil_page = page(&format!("# {evil}\n> question: {evil}\n"));
    evil_page.contract = vec![evil.to_owned()];
    let mut evil_hunk = hunk("h00000001", HunkState::Open, Some(Decision::Reject(Some(evil.to_owned()))));
    evil_hunk.old = evil.to_owned();
    evil_hunk.verdict = evil.to_owned();
    let evil_task = || Dossier {
        page: Some(Arc::new(evil_page.clone())),
        hunks: Arc::new(vec![evil_hunk.clone()]),
        ..dossier("k3xf", events.clone(), TaskState::Blocked { why: evil.to_owned(), next: evil.to_owned() })
    };
    for query in [
        Query::Tasks,
        Query::Status { task: only() },
        Query::Show { task: only() },
        Query::Review { task: only(), all: true },
        Query::Timeline { task: only(), mode: Mode::Full },
        Query::Preview { task: only(), work: None },
    ] {
        let text = shown(vec![evil_task()], query.clone());
        let obeyed: Vec<char> = text.chars().filter(|c| crate::domain::text::sanitize::is_obeyed(*c)).collect();
        assert!(obeyed.is_empty(), "{query:?}: {obeyed:?}");
    }
}

#[test]
fn the_doctor_says_what_is_there_and_how_to_connect_a_model() {
    let settings =
        [Setting { key: "limits.command".to_owned(), value: "600 s".to_owned(), origin: "default".to_owned() }];
    let mut found = Surroundings { root: "/w".into(), rung: Some(Rung::Copy), ..Surroundings::default() };
    let page = |found| anstream::adapter::strip_str(doctor::render(&find(&settings, found)).text()).to_string();
    assert_snapshot!(page(Ok(found.clone())), @"
    workspace /w
    model     none is connected
              set OPENAI_BASE_URL and OPENAI_API_KEY, or write [model.strong] into the configuration file; plans with transform, run, check and ask steps work without a model
    commands  in a copy, not isolated; each is a gate
    remark    no workspace configuration is read in this release: a cloned repository can set nothing
    configuration
      limits.command = 600 s  (default)
    ");
    let caged = page(Ok(Surroundings { rung: Some(Rung::Cage), ..found.clone() }));
    assert!(caged.contains("\ncommands  isolated; only risky ones are gates\n"), "{caged}");
    found.model = Some(ModelInfo {
        name: "openai/qwen".to_owned(),
        base_url: "http://localhost:8080/v1".to_owned(),
        window: Some(32_768),
        prices: None,
    });
    found.remarks = vec!["a corrupt database was set aside".to_owned()];
    assert_snapshot!(page(Ok(found)), @"
    workspace /w
    model     openai/qwen at http://localhost:8080/v1 (window 32768 tokens)
    price     not known: a money budget is not enforced
    commands  in a copy, not isolated; each is a gate
    remark    a corrupt database was set aside
    remark    no workspace configuration is read in this release: a cloned repository can set nothing
    configuration
      limits.command = 600 s  (default)
    ");
    let held = Refusal {
        kind: RefusalKind::Held,
        message: "process 12 is stopped and holds the workspace".to_owned(),
        next: "kill -CONT 12".to_owned(),
    };
    assert_snapshot!(page(Err(held)), @"
    workspace process 12 is stopped and holds the workspace
              next: kill -CONT 12
    remark    no workspace configuration is read in this release: a cloned repository can set nothing
    configuration
      limits.command = 600 s  (default)
    ");
}

#[cfg(unix)]
#[test]
fn clean_lists_and_removes_only_what_it_is_told() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    std::fs::create_dir_all(at("state/deep")).unwrap();
    std::fs::write(at("state/deep/db"), [0; 2_500]).unwrap();
    std::fs::create_dir(at("mine")).unwrap();
    std::fs::write(at("mine/file"), "precious").unwrap();
    std::os::unix::fs::symlink(at("mine"), at("state/link")).unwrap();
    std::os::unix::fs::symlink(at("mine"), at("cache")).unwrap();
    let kept = |what: &str, name: &str| Kept { what: what.to_owned(), path: at(name) };
    let kept = [kept("state", "state"), kept("cache", "cache"), kept("task folders", "absent")];
    let page = |remove| {
        let text = anstream::adapter::strip_str(cleaning::render(&clean(&kept, remove)).text()).to_string();
        let length = at("mine").as_os_str().len() as u64;
        text.replace(&place.path().display().to_string(), "/P").replace(&format!("{length} bytes"), "a link")
    };
    assert_snapshot!(page(false), @"
    state  /P/state  2 kB
    cache  /P/cache  a link
    task folders  /P/absent  nothing there
    next: planwright clean --yes  removes all of it, with every task and its history
    ");
    assert!(at("state").exists());
    assert_snapshot!(page(true), @"
    state  /P/state  removed
    cache  /P/cache  removed
    task folders  /P/absent  nothing there
    ");
    assert!(!at("state").exists() && !at("cache").exists());
    assert_eq!(std::fs::read_to_string(at("mine/file")).unwrap(), "precious");
}
