//! Command lines served against an engine that plays a script: what is said, what is waited for, with which code it ends.

use super::fake::*;
use crate::cli::{Exit, House};
use crate::desk::Dossier;
use crate::desk::fixture::*;
use crate::domain::change::{Decision, HunkState};
use crate::domain::task::action::{Refusal, RefusalKind};
use crate::domain::task::event::{Author, Cause, Ending, Event, Outcome, Payload};
use crate::domain::task::standing::TaskState;
use insta::assert_snapshot;
use std::sync::Arc;

fn at(state: TaskState) -> Dossier {
    let events = vec![(0, opened("make retries configurable")), (1, revised(1)), (2, approved(1))];
    Dossier { page: Some(Arc::new(page("# Retries\n"))), ..dossier("k3xf", events, state) }
}

fn planned() -> Dossier {
    let events = vec![(0, opened("make retries configurable")), (1, revised(1))];
    Dossier { page: Some(Arc::new(page("# Retries\n"))), ..dossier("k3xf", events, TaskState::AwaitingApproval) }
}

fn planning() -> Dossier {
    dossier("k3xf", vec![(0, opened("make retries configurable"))], TaskState::Planning)
}

fn failed_by(cause: Cause) -> Dossier {
    let mut events = vec![(0, opened("g")), (1, revised(1)), (2, approved(1))];
    let message = "as seen".to_owned();
    events.push((3, Event::Began { work: step("policy"), attempt: 1, because: None }));
    let outcome = Outcome::Failed { cause, message, ended: None };
    events.push((4, Event::Ended { work: step("policy"), attempt: 1, outcome }));
    dossier("k3xf", events, TaskState::Blocked { why: "w".to_owned(), next: "n".to_owned() })
}

fn at_gate() -> Dossier {
    let events = vec![(0, opened("g")), (1, revised(1)), (2, approved(1)), (3, gate_opened("g1", "cargo test"))];
    dossier("k3xf", events, TaskState::Blocked { why: "w".to_owned(), next: "n".to_owned() })
}

fn with_hunks(state: TaskState, hunks: Vec<crate::desk::ReviewHunk>) -> Dossier {
    Dossier { hunks: Arc::new(hunks), ..at(state) }
}

/// What `run` exits with when the task comes to this.
#[track_caller]
fn check_exit(last: Dossier, expect: Exit) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let exit = runtime.block_on(async {
        let turn = vec![("goes on", at(TaskState::Running)), ("moves", at(TaskState::Verifying)), ("rests", last)];
        let fake = Fake::new(Some(at(TaskState::Running)), vec![turn]);
        serve("run", fake.port(), &mut screen(None)).await
    });
    assert_eq!(exit, expect);
}

#[test]
fn the_exit_code_says_how_the_task_stands() {
    let done = |ending| at(TaskState::Done { ending });
    check_exit(done(Ending::Verified), Exit::Done);
    check_exit(done(Ending::NothingKept), Exit::Done);
    check_exit(done(Ending::CheckFails { why: "test".to_owned() }), Exit::Failed);
    check_exit(at(TaskState::Failed { why: "it".to_owned() }), Exit::Failed);
    check_exit(at(TaskState::Abandoned), Exit::Failed);
    check_exit(at(TaskState::AwaitingReview), Exit::Waits);
    check_exit(at(TaskState::Paused), Exit::Waits);
    check_exit(at_gate(), Exit::Waits);
    check_exit(failed_by(Cause::Check), Exit::Failed);
    check_exit(failed_by(Cause::Budget), Exit::Over);
    check_exit(failed_by(Cause::Policy), Exit::Refused);
    let tomorrow = crate::domain::ids::Time(1_795_953_700_000 + 86_400_000);
    check_exit(at(TaskState::Delayed { until: tomorrow }), Exit::Delayed);
}

#[tokio::test]
async fn run_stays_until_a_person_is_needed_and_says_what_goes_on() {
    let turn = vec![
        ("running", at(TaskState::Running)),
        ("policy: asks openai/qwen", at(TaskState::Running)),
        ("policy: done", at_gate()),
    ];
    let fake = Fake::new(Some(at(TaskState::Paused)), vec![turn]);
    let mut screen = screen(None);
    assert_eq!(serve("run", fake.port(), &mut screen).await, Exit::Waits);
    assert_snapshot!(screen.err.text(), @"
    running
      policy: asks openai/qwen
      policy: done
    ");
    assert!(screen.out.text().contains("planwright gate k3xf g1 allow "), "{}", screen.out.text());
}

#[tokio::test]
async fn what_still_runs_beside_a_gate_is_not_cut_short() {
    let two = |second: Option<Outcome>| {
        let mut events =
            vec![(0, opened("g")), (1, revised(1)), (2, approved(1)), (3, gate_opened("g1", "cargo test"))];
        events.push((4, Event::Began { work: step("tests"), attempt: 1, because: None }));
        events.extend(second.map(|outcome| (5, Event::Ended { work: step("tests"), attempt: 1, outcome })));
        dossier("k3xf", events, TaskState::Blocked { why: "w".to_owned(), next: "n".to_owned() })
    };
    let done = Outcome::Done { verified: true, summary: Payload::Inline(String::new()) };
    let turn =
        || vec![("running", at(TaskState::Running)), ("g1 waits", two(None)), ("tests: done", two(Some(done.clone())))];
    let host = Fake::new(Some(at(TaskState::Paused)), vec![turn()]);
    let mut screen_of_host = screen(None);
    assert_eq!(serve("run", host.port(), &mut screen_of_host).await, Exit::Waits);
    assert!(screen_of_host.err.text().contains("tests: done"));
    // Beside another host nothing dies with the terminal.
    let other = Fake::new(Some(at(TaskState::Paused)), vec![turn()]);
    let mut guest = screen(None);
    assert_eq!(serve("run", Remote::living(&other), &mut guest).await, Exit::Waits);
    assert!(!guest.err.text().contains("tests: done"));
}

#[tokio::test]
async fn with_json_there_is_one_value_and_no_progress() {
    let fake = Fake::new(Some(at(TaskState::Paused)), vec![vec![("a", at(TaskState::Running)), ("b", at_gate())]]);
    let mut screen = screen(None);
    assert_eq!(serve("run --json", fake.port(), &mut screen).await, Exit::Waits);
    let value: serde_json::Value = serde_json::from_str(&screen.out.text()).unwrap();
    assert_eq!((value["view"].as_str(), value["words"].as_str()), (Some("status"), Some("blocked")));
    assert_eq!(screen.err.text(), "");
}

#[tokio::test]
async fn a_time_limit_leaves_a_task_that_can_be_resumed() {
    let running = vec![("running", at(TaskState::Running))];
    let fake = Fake::new(Some(at(TaskState::Paused)), vec![running, vec![("cancelled", at(TaskState::Paused))]]);
    let mut screen = screen(None);
    assert_eq!(serve("run --timeout 20ms", fake.port(), &mut screen).await, Exit::Over);
    assert_eq!(fake.actions(), ["run", "cancel"]);
    assert!(screen.err.text().ends_with("  the time is up; what ran was ended\n  next: planwright resume k3xf\n"));
}

#[tokio::test]
async fn an_interrupt_ends_what_this_process_runs() {
    let running = vec![("running", at(TaskState::Running))];
    let fake = Fake::new(Some(at(TaskState::Paused)), vec![running, vec![("cancelled", at(TaskState::Paused))]]);
    let mut screen = screen(None);
    screen.io.interrupt.notify_one();
    assert_eq!(serve("resume", fake.port(), &mut screen).await, Exit::Interrupted);
    assert_eq!(fake.actions(), ["resume", "cancel"]);
}

#[tokio::test]
async fn an_interrupt_beside_another_host_only_stops_looking() {
    let fake = Fake::new(Some(at(TaskState::Paused)), vec![vec![("running", at(TaskState::Running))]]);
    let mut screen = screen(None);
    screen.io.interrupt.notify_one();
    assert_eq!(serve("resume", Remote::living(&fake), &mut screen).await, Exit::Interrupted);
    assert_eq!(fake.actions(), ["resume"]);
    assert!(screen.err.text().contains("the task goes on in the other process"));
}

#[tokio::test]
async fn when_the_host_dies_the_terminal_takes_over() {
    let running = vec![("running", at(TaskState::Running))];
    let resumed = vec![("resumed", at(TaskState::Running)), ("rests", at(TaskState::AwaitingReview))];
    let fake = Fake::new(Some(at(TaskState::Paused)), vec![running, resumed]);
    let port = Remote::dying(&fake);
    let mut screen = screen(None);
    assert_eq!(serve("run", port, &mut screen).await, Exit::Waits);
    assert_eq!(fake.actions(), ["run", "resume"]);
    assert!(screen.err.text().contains("taking over"));
}

#[tokio::test]
async fn a_plan_that_stands_is_shown_with_how_to_approve_it() {
    let turn = vec![("k3xf opened", planning()), ("asks", planning()), ("r1", planned())];
    let fake = Fake::new(None, vec![turn]);
    let mut screen = screen(None);
    assert_eq!(serve("plan 'make retries configurable'", fake.port(), &mut screen).await, Exit::Done);
    assert!(
        screen.out.text().ends_with("next: planwright approve k3xf --revision r1-1f2c81d04a7e  approve exactly this\n")
    );
    assert_eq!(fake.actions(), ["plan"]);
}

#[tokio::test]
async fn a_plan_with_a_question_waits() {
    let asks = Dossier { page: Some(Arc::new(page("# T\n> question: how often?\n"))), ..planned() };
    let fake = Fake::new(None, vec![vec![("opened", planning()), ("r1", asks)]]);
    assert_eq!(serve("plan g", fake.port(), &mut screen(None)).await, Exit::Waits);
}

#[tokio::test]
async fn plan_run_does_not_approve_what_nobody_has_seen() {
    let fake = Fake::new(None, vec![vec![("opened", planning()), ("r1", planned())]]);
    assert_eq!(serve("plan g --run", fake.port(), &mut screen(None)).await, Exit::Waits);
    assert_eq!(fake.actions(), ["plan"]);
}

#[tokio::test]
async fn plan_run_asks_a_person_and_goes_on() {
    let approved = vec![("approved", at(TaskState::Running))];
    let ran = vec![("runs", at(TaskState::Running)), ("done", at(TaskState::AwaitingReview))];
    let fake = Fake::new(None, vec![vec![("opened", planning()), ("r1", planned())], approved, ran]);
    let mut screen = screen(Some("y\n"));
    assert_eq!(serve("plan g --run", fake.port(), &mut screen).await, Exit::Waits);
    assert_eq!(fake.actions(), ["plan", "approve", "run"]);
    assert!(screen.out.text().contains("approve r1-1f2c81d04a7e? [y/N] "));
}

#[tokio::test]
async fn plan_run_takes_a_document_of_the_callers_own_as_approved() {
    let own = |dossier: Dossier| {
        let mut task = (*dossier.task).clone();
        task.revisions.iter_mut().for_each(|revision| revision.author = Author::Person(anna()));
        Dossier { task: Arc::new(task), ..dossier }
    };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("x.plan.md");
    std::fs::write(&file, "# T\n").unwrap();
    let ran = vec![("runs", at(TaskState::Done { ending: Ending::Verified }))];
    let script = vec![vec![("opened", own(planned()))], vec![("approved", at(TaskState::Running))], ran];
    let fake = Fake::new(None, script);
    let line = format!("plan g --run --document {}", file.display());
    assert_eq!(serve(&line, fake.port(), &mut screen(None)).await, Exit::Done);
    assert_eq!(fake.actions(), ["plan", "approve", "run"]);
}

#[tokio::test]
async fn an_approval_without_a_revision_shows_it_and_asks() {
    let fake = Fake::new(Some(planned()), vec![vec![("approved r1", at(TaskState::Running))]]);
    let mut nobody = screen(None);
    assert_eq!(serve("approve", fake.port(), &mut nobody).await, Exit::Usage);
    assert_snapshot!(nobody.err.text(), @"
    error (usage): an approval names its revision; the document is r1-1f2c81d04a7e
    next: planwright approve k3xf --revision r1-1f2c81d04a7e
    ");
    assert!(nobody.out.text().contains("changes src/net.rs (policy)"));
    let mut refusing = screen(Some("n\n"));
    assert_eq!(serve("approve", fake.port(), &mut refusing).await, Exit::Waits);
    assert!(fake.actions().is_empty());
    let mut agreeing = screen(Some("y\n"));
    assert_eq!(serve("approve", fake.port(), &mut agreeing).await, Exit::Done);
    assert_eq!(fake.actions(), ["approve"]);
}

#[tokio::test]
async fn a_plan_with_errors_is_not_approved_and_json_stays_one_value() {
    let text = "# T\n- after: polcy\n";
    let broken = crate::desk::Page { problems: vec![error_at(text, "polcy")], ..page(text) };
    let fake = Fake::new(Some(Dossier { page: Some(Arc::new(broken)), ..planned() }), Vec::new());
    let mut screen = screen(None);
    assert_eq!(serve("approve --yes --json", fake.port(), &mut screen).await, Exit::Waits);
    let value: serde_json::Value = serde_json::from_str(&screen.out.text()).unwrap();
    assert_eq!(value["error"]["kind"].as_str(), Some("plan"));
    assert!(fake.actions().is_empty());
}

#[tokio::test]
async fn accept_stays_until_the_text_is_on_disk_and_the_checks_have_run() {
    let pending = || vec![hunk("h00000001", HunkState::Open, None)];
    let kept = || vec![hunk("h00000001", HunkState::Accepted, Some(Decision::Accept))];
    // A decision is answered when it is carried out and the checks that follow have begun.
    let mut judging = with_hunks(TaskState::Verifying, kept());
    Arc::make_mut(&mut judging.task).acceptance.state = crate::domain::task::state::ProgressState::Running;
    let turn = vec![
        ("accepted 1 hunk", judging),
        ("closed", with_hunks(TaskState::Done { ending: Ending::Verified }, kept())),
    ];
    let fake = Fake::new(Some(with_hunks(TaskState::AwaitingReview, pending())), vec![turn]);
    let mut screen = screen(None);
    assert_eq!(serve("accept", fake.port(), &mut screen).await, Exit::Done);
    assert!(screen.out.text().starts_with("k3xf  done (verified)"), "{}", screen.out.text());
}

#[tokio::test]
async fn several_hunks_are_listed_and_nothing_is_decided() {
    let two = vec![hunk("h00000001", HunkState::Open, None), hunk("h00000002", HunkState::Open, None)];
    let fake = Fake::new(Some(with_hunks(TaskState::AwaitingReview, two)), Vec::new());
    let mut screen = screen(None);
    assert_eq!(serve("accept", fake.port(), &mut screen).await, Exit::Usage);
    assert!(fake.actions().is_empty());
    assert_snapshot!(screen.err.text(), @"
    error (several candidates): 2 hunks wait for a decision:
      h00000001  src/net.rs:4
      h00000002  src/net.rs:4
    next: name hunks, or --file, --step, --all
    ");
}

#[tokio::test]
async fn a_walk_settles_what_no_longer_fits_as_it_was_shown() {
    let touched = hunk("h00000001", HunkState::Touched, None);
    let open = || hunk("h00000002", HunkState::Open, None);
    let desk = |hunks| with_hunks(TaskState::AwaitingReview, hunks);
    let fake = Fake::new(Some(desk(vec![touched.clone(), open()])), vec![vec![("settled", desk(vec![open()]))]]);
    let mut screen = screen(Some("y\nt\nq\n"));
    assert_eq!(serve("review", fake.port(), &mut screen).await, Exit::Done);
    let sent = serde_json::to_string(&*fake.seen.lock().unwrap()).unwrap();
    assert_eq!(
        sent,
        format!(
            r#"[{{"do":"resolve","task":{{"task":"k3xf"}},"hunk":"h00000001","side":"theirs","shown":"{}"}}]"#,
            touched.shown.as_str()
        )
    );
    assert!(screen.out.text().contains("keep mine, or take theirs? [m,t,s,q,?] (2 left)"), "{}", screen.out.text());
}

#[tokio::test]
async fn a_walk_decides_hunk_by_hunk() {
    let ids = ["h00000001", "h00000002", "h00000003"];
    let open = |n: usize| ids.map(|id| hunk(id, HunkState::Open, None))[n..].to_vec();
    let desk = |n: usize| with_hunks(TaskState::AwaitingReview, open(n));
    let fake = Fake::new(Some(desk(0)), vec![vec![("accepted", desk(1))], vec![("rejected", desk(2))]]);
    let mut screen = screen(Some("?\ny\nn the name is taken\nq\n"));
    assert_eq!(serve("review", fake.port(), &mut screen).await, Exit::Done);
    let sent = serde_json::to_string(&*fake.seen.lock().unwrap()).unwrap();
    assert_eq!(
        sent,
        r#"[{"do":"accept","task":{"task":"k3xf"},"target":{"hunks":["h00000001"]}},{"do":"reject","task":{"task":"k3xf"},"target":{"hunks":["h00000002"]},"reason":"the name is taken"}]"#
    );
    let text = screen.out.text();
    let asked: Vec<&str> = text.lines().filter(|line| line.contains("accept this hunk?")).collect();
    assert_eq!(asked.len(), 4, "{text}");
    assert!(text.contains("(3 left)") && text.contains("(1 left)"));
}

#[tokio::test]
async fn a_walk_takes_the_rest_of_a_file_but_for_uncertain_hunks() {
    use crate::domain::change::Flag;
    let mut hunks = ["h00000001", "h00000002", "h00000003"].map(|id| hunk(id, HunkState::Open, None)).to_vec();
    hunks[1].flags = vec![Flag::Uncertain("a macro".to_owned())];
    let left = vec![hunks[1].clone()];
    let script = vec![vec![("accepted", with_hunks(TaskState::AwaitingReview, left))]];
    let fake = Fake::new(Some(with_hunks(TaskState::AwaitingReview, hunks)), script);
    assert_eq!(serve("review", fake.port(), &mut screen(Some("a\ns\n"))).await, Exit::Done);
    let sent = serde_json::to_string(&*fake.seen.lock().unwrap()).unwrap();
    assert!(sent.contains(r#"["h00000001","h00000003"]"#), "{sent}");
}

#[tokio::test]
async fn a_walk_through_a_task_that_is_over_asks_nothing() {
    let rejected = Some(Decision::Reject(None));
    let hunks = vec![hunk("h00000001", HunkState::Open, rejected)];
    let over = with_hunks(TaskState::Done { ending: Ending::NothingKept }, hunks);
    let fake = Fake::new(Some(over), Vec::new());
    let mut screen = screen(Some("y\n"));
    assert_eq!(serve("review --all", fake.port(), &mut screen).await, Exit::Done);
    let text = screen.out.text();
    assert!(text.contains("h00000001 src/net.rs:4") && !text.contains("accept this hunk?"), "{text}");
    assert!(text.ends_with("task k3xf is over; its decisions stand\n"), "{text}");
    assert!(fake.actions().is_empty());
}

#[tokio::test]
async fn review_without_a_terminal_lists() {
    let hunks = vec![hunk("h00000001", HunkState::Open, None)];
    let fake = Fake::new(Some(with_hunks(TaskState::AwaitingReview, hunks)), Vec::new());
    let mut screen = screen(None);
    assert_eq!(serve("review", fake.port(), &mut screen).await, Exit::Done);
    assert!(screen.out.text().contains("h00000001 src/net.rs:4"));
}

#[tokio::test]
async fn a_gate_is_decided_at_once_and_the_way_on_is_named() {
    let fake = Fake::new(Some(at_gate()), vec![vec![("g1 allowed", at(TaskState::Running))]]);
    let mut screen = screen(None);
    assert_eq!(serve("gate g1 allow", fake.port(), &mut screen).await, Exit::Done);
    assert_snapshot!(screen.out.text(), @"
    g1 allowed
    next: planwright resume k3xf  go on; nothing runs when this command has ended
    ");
}

#[tokio::test]
async fn errors_have_a_kind_a_message_and_a_next_step() {
    let fake = Fake::new(Some(at(TaskState::Paused)), Vec::new());
    let mut said = screen(None);
    assert_eq!(serve("status zzzz", fake.port(), &mut said).await, Exit::Usage);
    assert_snapshot!(said.err.text(), @"
    error (not found): there is no task `zzzz` here
    next: planwright tasks
    ");
    let mut json = screen(None);
    assert_eq!(serve("skip --json", fake.port(), &mut json).await, Exit::Usage);
    assert_snapshot!(json.out.text(), @r#"
    {
      "error": {
        "kind": "usage",
        "message": "the step is missing",
        "next": "planwright skip [TASK] STEP"
      }
    }
    "#);
    let mut unknown = screen(None);
    assert_eq!(serve("status --jsn", fake.port(), &mut unknown).await, Exit::Usage);
    assert!(unknown.err.text().contains("a similar argument exists: '--json'"), "{}", unknown.err.text());
}

#[tokio::test]
async fn json_holds_nothing_that_a_terminal_obeys_and_loses_nothing() {
    let words = "a\u{1b}[2J\u{9b}2J\u{202e}b\u{7f}";
    let fake = Fake::new(Some(dossier("k3xf", vec![(0, opened(words))], TaskState::Planning)), Vec::new());
    let mut screen = screen(None);
    assert_eq!(serve("status --json", fake.port(), &mut screen).await, Exit::Done);
    let text = screen.out.raw();
    assert!(!text.chars().any(crate::domain::text::sanitize::is_obeyed), "{text:?}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["goal"]["words"].as_str(), Some(words));
}

/// An action where no engine can be reached: its exit code and all that it printed.
fn alone(line: &str, house: &House) -> (Exit, String) {
    let unreachable = Refusal {
        kind: RefusalKind::Broken,
        message: "the database is of a newer release".to_owned(),
        next: "install it".to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut screen = screen(None);
    let exit = runtime.block_on(serve_in(house, line, Err(unreachable), &mut screen));
    (exit, format!("{}{}", screen.out.text(), screen.err.text()))
}

#[test]
fn schemas_are_printed_by_name() {
    let schemas = [("plan".to_owned(), serde_json::json!({"type": "object"}))].into();
    let house = House { schemas, ..House::default() };
    assert_eq!(alone("schema plan", &house), (Exit::Done, "{\n  \"type\": \"object\"\n}\n".to_owned()));
    let said = "error (usage): a schema has one of these names: plan\nnext: planwright schema plan|config|tools\n";
    assert_eq!(alone("schema recipe", &house), (Exit::Usage, said.to_owned()));
}

#[test]
fn the_doctor_speaks_even_where_no_engine_does() {
    let (exit, said) = alone("doctor --json", &House::default());
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((exit, value["problem"]["kind"].as_str()), (Exit::Failed, Some("broken")));
    assert_eq!(alone("status", &House::default()).0, Exit::Failed);
}
