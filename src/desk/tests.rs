#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken expectation is to fail its test")]

use super::fixture::*;
use super::*;
use crate::domain::task::action::{Refusal, Which};
use crate::domain::task::event::{Cause, Ending, Event, Intent, Outcome};
use crate::domain::task::standing::TaskState;
use insta::assert_snapshot;

fn desk(dossiers: Vec<Dossier>) -> Desk {
    Desk { place: Surroundings::default(), tasks: dossiers.into_iter().map(Arc::new).collect() }
}

fn named(id: &str) -> Which {
    Which::Task(TaskId::new(id))
}

fn over(id: &str) -> Dossier {
    let events = vec![(0, opened("done before")), (5, Event::Closed { ending: Ending::NothingKept })];
    dossier(id, events, TaskState::Done { ending: Ending::NothingKept })
}

fn going(id: &str, goal: &str) -> Dossier {
    dossier(id, vec![(0, opened(goal))], TaskState::Running)
}

/// Which task `Which::TheOnlyOne` finds.
#[track_caller]
fn check_which(dossiers: Vec<Dossier>, expect: &str) {
    let found = match desk(dossiers).answer(&Query::Status { task: Which::TheOnlyOne }) {
        Ok(View::Status(status)) => status.task.to_string(),
        Ok(other) => panic!("{other:?}"),
        Err(Refusal { kind, message, next }) => format!("{kind:?}: {message}\nnext: {next}"),
    };
    assert_eq!(found, expect);
}

#[test]
fn the_only_task_is_the_one_that_is_not_over() {
    check_which(vec![over("aaaa"), going("bbbb", "a goal")], "bbbb");
    check_which(vec![over("aaaa")], "aaaa");
    check_which(Vec::new(), "NotFound: there is no task here yet\nnext: planwright plan \"GOAL\"");
    check_which(
        vec![going("aaaa", "first"), going("bbbb", "second")],
        "SeveralCandidates: several tasks could be meant:\n  aaaa  first  (running)\n  bbbb  second  (running)\n\
         next: name the task, as the first word after the action",
    );
    check_which(
        vec![over("aaaa"), over("bbbb")],
        "SeveralCandidates: several tasks could be meant:\n  aaaa  done before  (done (nothing kept))\n  \
         bbbb  done before  (done (nothing kept))\nnext: name the task, as the first word after the action",
    );
}

#[test]
fn an_unknown_task_is_named() {
    let refusal = desk(vec![going("aaaa", "first")]).answer(&Query::Show { task: named("zzzz") }).unwrap_err();
    assert_eq!(refusal.message, "there is no task `zzzz` here");
}

/// Nothing that a task which is over would refuse.
#[test]
fn a_task_that_is_over_offers_only_what_still_works() {
    let ending = Ending::CheckFails { why: "`cargo test` exited with 101".to_owned() };
    let failed = Outcome::Failed { cause: Cause::Check, message: "`cargo test`: it failed".to_owned(), ended: None };
    let mut events = story();
    let at = events.last().map_or(0, |(at, _)| *at);
    events.push((at + 1, Event::Began { work: Work::Acceptance, attempt: 1, because: None }));
    events.push((at + 2, Event::Ended { work: Work::Acceptance, attempt: 1, outcome: failed }));
    let offered = |dossier: &Dossier| {
        let failures = status::view(dossier).failures.into_iter().filter(|failure| failure.work == "acceptance");
        failures.flat_map(|failure| failure.next).map(|next| next.command).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(offered(&dossier("k3xf", events.clone(), TaskState::AwaitingReview)), @r"
    planwright resume k3xf
    planwright review k3xf --all
    planwright abandon k3xf
    ");
    events.push((at + 3, Event::Closed { ending: ending.clone() }));
    assert_snapshot!(offered(&dossier("k3xf", events, TaskState::Done { ending })), @r#"
    planwright plan "…"
    planwright timeline k3xf
    git diff
    "#);
}

#[test]
fn a_task_that_nobody_is_at_says_so() {
    let next = |carried: bool| {
        let dossier = Dossier { carried, ..going("k3xf", "make it better") };
        status::view(&dossier).next.into_iter().map(|next| next.means).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(next(true), "follow it, or go on where a process ended");
    assert_eq!(next(false), "go on: the process that was at it ended");
}

/// Questions that are open, as `number: question`.
#[track_caller]
fn check_questions(text: &str, expect: &[&str]) {
    let dossier = Dossier { page: Some(Arc::new(page(text))), ..going("k3xf", "g") };
    let open: Vec<String> =
        show::view(&dossier).questions.iter().map(|open| format!("{}: {}", open.number, open.question)).collect();
    assert_eq!(open, expect);
}

#[test]
fn questions_are_counted_over_all_and_listed_while_open() {
    check_questions("> question: how often?\n", &["1: how often?"]);
    check_questions("> question: how often?\n> answer: thrice\n\n> question: jitter?\n", &["2: jitter?"]);
    check_questions("> question: a?\n> question: b?\n> answer: yes\n", &["1: a?"]);
    check_questions("> note: no question: here\n", &[]);
    check_questions("> question: a?\ntext\n> answer: too late\n", &["1: a?"]);
}

#[test]
fn an_approval_is_offered_for_the_text_that_is_shown_and_only_without_errors() {
    let text = "# T\n- after: polcy\n";
    let offered = |page: Page, events: Vec<(i64, Event)>| {
        let dossier = Dossier { page: Some(Arc::new(page)), ..dossier("k3xf", events, TaskState::AwaitingApproval) };
        show::view(&dossier).approve
    };
    let unapproved = || vec![(0, opened("g")), (1, revised(1))];
    assert_eq!(
        offered(page(text), unapproved()).as_deref(),
        Some("planwright approve k3xf --revision r1-1f2c81d04a7e")
    );
    assert_eq!(offered(Page { problems: vec![error_at(text, "polcy")], ..page(text) }, unapproved()), None);
    let mut approved_already = unapproved();
    approved_already.push((2, approved(1)));
    assert_eq!(offered(page(text), approved_already), None);
}

#[test]
fn rejected_hunks_are_hidden_and_counted() {
    use crate::domain::change::Decision::*;
    let hunks = vec![
        hunk("h00000001", HunkState::Open, None),
        hunk("h00000002", HunkState::Open, Some(Reject(None))),
        hunk("h00000003", HunkState::Accepted, Some(Accept)),
        hunk("h00000004", HunkState::Touched, Some(Reject(None))),
        hunk("h00000005", HunkState::Accepted, Some(Reject(None))),
        hunk("h00000006", HunkState::Open, Some(Undo)),
    ];
    let dossier = Dossier { hunks: Arc::new(hunks), ..going("k3xf", "g") };
    let listed = |all| review::view(&dossier, all).hunks.iter().map(|hunk| hunk.id.to_string()).collect::<Vec<_>>();
    assert_eq!(listed(false), ["h00000001", "h00000003", "h00000004", "h00000005", "h00000006"]);
    assert_eq!(listed(true).len(), 6);
    let view = review::view(&dossier, false);
    assert_eq!(
        (view.hidden, view.counts),
        (1, HunkCounts { pending: 3, accepted: 2, unsaved: 0, rejected: 1, touched: 1 })
    );
}

#[test]
fn a_preview_is_of_the_work_that_asked_last() {
    let quiet = dossier("k3xf", vec![(0, opened("g"))], TaskState::Running);
    assert_eq!(preview::view(&quiet, None).unwrap().request, None);
    let asks = |work: Work, n: u32, text: &str| {
        let what = Intent::Model { model: "m".to_owned(), request: ContentHash::of(text) };
        Event::Intended {
            effect: EffectId { work, attempt: 1, n },
            what,
            request: ContentHash::of(text),
            reserve: 0,
            gate: None,
        }
    };
    let policy = || Work::Step(StepId::new("policy"));
    let asked = [(Work::Planning, 1, "P"), (policy(), 1, "S"), (policy(), 2, "T")];
    let events = asked.map(|(work, n, text)| (i64::from(n), asks(work, n, text)));
    let dossier = dossier("k3xf", [vec![(0, opened("g"))], events.to_vec()].concat(), TaskState::Running);
    let seen = |work| preview::view(&dossier, work).unwrap().request;
    assert_eq!(seen(None), Some(ContentHash::of("T")));
    assert_eq!(seen(Some("planning")), Some(ContentHash::of("P")));
    let refusal = preview::view(&dossier, Some("tests")).unwrap_err();
    assert_eq!(refusal.next, "planwright preview k3xf planning | policy");
}

#[test]
fn a_revision_is_compared_with_the_approved_one() {
    let events = vec![(0, opened("g")), (1, revised(1)), (2, approved(1)), (3, revised(2)), (4, revised(3))];
    let texts: Vec<(RevisionRef, Arc<str>)> = [(1, "src/a.rs"), (2, "src/x.rs"), (3, "src/c.rs")]
        .map(|(n, scope)| (revision(n), Arc::from(format!("# T\n\nG\n\n## Contract\n\n- scope: `{scope}`\n"))))
        .into();
    let dossier = Dossier { revisions: Arc::new(texts), ..dossier("k3xf", events, TaskState::Running) };
    let view = compare::view(&dossier, None, None).unwrap();
    assert_eq!((view.from.number, view.to.number), (1, 3));
    assert_snapshot!(view.difference.join("\n"), @r"
    contract, scope:
      - `src/a.rs`
      + `src/c.rs`
    ");
    assert_eq!(compare::view(&dossier, Some(2), None).unwrap().from.number, 2);
    assert_eq!(compare::view(&dossier, Some(9), None).unwrap_err().message, "there is no revision r9");
}

#[test]
fn every_event_of_a_journal_is_in_the_full_timeline() {
    let story = dossier("k3xf", story(), TaskState::Running);
    let full = timeline::view(&story, Mode::Full).rows;
    let effects = story.journal.iter().filter(|r| matches!(r.event, Event::Settled { .. })).count();
    // A result stands in its intent's row; what is found out after a crash has one of its own.
    assert_eq!(full.len(), story.journal.len() - effects + 1);
    for mode in [Mode::States, Mode::Tools] {
        let some = timeline::view(&story, mode).rows;
        assert!(!some.is_empty() && some.len() < full.len());
        assert!(some.iter().all(|row| full.contains(row)));
    }
}

#[test]
fn views_are_read_as_they_are_written() {
    let desk = desk(vec![Dossier {
        page: Some(Arc::new(page("# T\n"))),
        hunks: Arc::new(vec![hunk("h00000001", HunkState::Open, None)]),
        ..dossier("k3xf", story(), TaskState::Blocked { why: "w".to_owned(), next: "n".to_owned() })
    }]);
    let task = named("k3xf");
    for query in [
        Query::Tasks,
        Query::Status { task: task.clone() },
        Query::Show { task: task.clone() },
        Query::Review { task: task.clone(), all: true },
        Query::Timeline { task: task.clone(), mode: Mode::Full },
        Query::Preview { task, work: None },
        Query::Surroundings,
    ] {
        let written = serde_json::to_string(&query).unwrap();
        assert_eq!(serde_json::from_str::<Query>(&written).unwrap(), query);
        let view = desk.answer(&query).unwrap();
        let written = serde_json::to_string(&view).unwrap();
        assert_eq!(serde_json::from_str::<View>(&written).unwrap(), view, "{written}");
    }
}

#[test]
fn answers_without_fields_of_their_own_cross_a_socket() {
    let views = [
        View::Candidates(vec!["src/net.rs".to_owned()]),
        View::Candidates(Vec::new()),
        View::Code(None),
        View::Loose(None),
        View::Loose(Some("do: plan".to_owned())),
    ];
    for view in views {
        let sent = serde_json::to_string(&view).unwrap();
        assert_eq!(serde_json::from_str::<View>(&sent).unwrap(), view, "{sent}");
    }
}
