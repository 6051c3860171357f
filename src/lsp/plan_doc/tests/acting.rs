//! What can be done, as far as it applies.

use super::super::acts::{Act, Does, acts, hints, lenses};
use super::super::offer::Offer;
use super::*;
use crate::domain::ids::*;
use crate::domain::task::event::{Cause, Ending, HandSet, Outcome};
use insta::assert_snapshot;
use std::collections::HashSet;
use std::sync::Arc;

fn act(text: &str, act: &Act) -> String {
    match &act.does {
        Does::Command { verb, arguments } => format!("{} | {verb:?} {arguments}", act.title),
        Does::Edit(edits) => format!("{} | {}", act.title, shown(text, edits)),
    }
}

fn check(text: &str, dossier: Option<Dossier>) -> String {
    let (text, at) = cursor(text);
    let scene = Scene::new(&text).of_task(dossier);
    let lines: Vec<String> = acts(&scene.moment(), &(at..at)).iter().map(|one| act(&text, one)).collect();
    lines.join("\n")
}

fn failed() -> Vec<Event> {
    let policy = Work::Step(StepId::new("policy"));
    let outcome =
        Outcome::Failed { cause: Cause::Check, message: "`cargo check` fails".to_owned(), ended: None };
    vec![
        Event::Began { work: policy.clone(), attempt: 1, because: None },
        Event::Ended { work: policy, attempt: 1, outcome },
    ]
}

#[test]
fn a_plan_that_compiles_can_be_approved() {
    assert_snapshot!(check(&PLAN.replacen("Add Retry", "Add $0Retry", 1), Some(planned())), @"");
    assert_snapshot!(check(&PLAN.replacen("Say so", "Say $0so", 1), Some(planned())), @"");
}

#[test]
fn a_plan_with_an_error_or_without_a_task_cannot() {
    assert_snapshot!(check(&PLAN.replacen("after: policy", "after: $0polcy", 1), Some(planned())), @"");
    assert_snapshot!(check(&PLAN.replacen("# Make", "# $0Make", 1), None), @"");
}

#[test]
fn a_step_offers_what_fits_its_state() {
    let at_policy = PLAN.replacen("### policy", "### $0policy", 1);
    let blocked = || TaskState::Blocked { why: String::new(), next: String::new() };
    assert_snapshot!(check(&at_policy, Some(running(failed(), blocked()))), @"");
    let taken = Event::TakenOver { step: StepId::new("policy"), actor: anna() };
    assert_snapshot!(check(&at_policy, Some(running(vec![taken], blocked()))), @"");
    let skipped =
        Event::StepSet { step: StepId::new("policy"), to: HandSet::Skipped, actor: anna(), reason: None };
    assert_snapshot!(check(&at_policy, Some(running(vec![skipped], TaskState::Running))), @"");
    let gate = fixture::gate_opened("g1", "cargo check");
    assert_snapshot!(check(&at_policy, Some(running(vec![gate], blocked()))), @"");
}

#[test]
fn a_task_that_is_over_offers_nothing_that_decides() {
    let over = running(vec![Event::Closed { ending: Ending::NothingKept }], TaskState::Done { ending: Ending::NothingKept });
    assert_snapshot!(check(&PLAN.replacen("### policy", "### $0policy", 1), Some(over)), @"");
}

#[test]
fn notes_and_answers_are_written_and_taken_in() {
    let text = PLAN.replacen("beside the client.", "beside the client.\n\n> note: too clever\n\n> question: $0how often?", 1);
    assert_snapshot!(check(&text, Some(planned())), @"");
}

#[test]
fn what_was_approved_can_be_restored() {
    let mut dossier = running(vec![], TaskState::AwaitingApproval);
    dossier.revisions = Arc::new(vec![(revision(1), PLAN.into())]);
    let text = PLAN.replacen("keep it small", "keep it $0large", 1);
    let restored = check(&text, Some(dossier));
    assert_snapshot!(restored.lines().filter(|line| line.contains("restore")).collect::<String>(), @"");
}

#[test]
fn headings_carry_states() {
    let blocked = TaskState::Blocked { why: String::new(), next: String::new() };
    let scene = Scene::new(PLAN).of_task(Some(running(failed(), blocked)));
    let moment = scene.moment();
    let lenses: Vec<String> =
        lenses(&moment).iter().map(|lens| format!("{}: {}", PLAN.get(lens.range.clone()).unwrap(), lens.act.title)).collect();
    assert_snapshot!(lenses.join("\n"), @"");
    let hints: Vec<String> = hints(&moment)
        .into_iter()
        .map(|(at, words)| format!("{} «{words}»", PLAN.get(..at).unwrap().lines().next_back().unwrap()))
        .collect();
    assert_snapshot!(hints.join("\n"), @"");
}

#[test]
fn an_offered_revision_is_shown_as_changes() {
    let new = PLAN.replacen("beside the client", "into the client", 1).replacen("- after: none\n", "", 1);
    let path = WorkspacePath::new(".planwright/tasks/k3xf/retries.plan.md").unwrap();
    let offered = (revision(2), Arc::from(new.as_str()));
    let offer = |text: &str, declined: &HashSet<HunkId>| Offer::new(&path, &Arc::from(text), &offered, declined);
    let first = offer(PLAN, &HashSet::new()).unwrap();
    let said: Vec<String> =
        first.hunks().into_iter().map(|(_, range, words)| format!("{:?}\n{words}", PLAN.get(range).unwrap())).collect();
    assert_snapshot!(said.join("\n"), @"");
    let scene = Scene::new(PLAN);
    let at = PLAN.find("Put it").unwrap();
    let acts: Vec<String> = first.acts(&scene.moment(), &(at..at)).iter().map(|one| act(PLAN, one)).collect();
    assert_snapshot!(acts.join("\n"), @"");
    // a change keeps its name while other text is typed, and a declined one stays away
    let typed = PLAN.replacen("Callers choose", "Callers may choose", 1);
    let names = |offer: &Offer| offer.change.hunks.iter().map(|hunk| hunk.id.clone()).collect::<Vec<_>>();
    let second = offer(&typed, &HashSet::new()).unwrap();
    assert!(names(&first).iter().all(|id| names(&second).contains(id)));
    let declined = names(&first).into_iter().collect();
    assert!(offer(PLAN, &declined).is_none());
    assert!(offer(&new, &HashSet::new()).is_none());
}
