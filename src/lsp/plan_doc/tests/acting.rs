//! What can be done, as far as it applies.

use super::super::acts::{Act, Does, acts, hints, lenses};
use super::super::offer::Offered;
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
    let outcome = Outcome::Failed { cause: Cause::Check, message: "`cargo check` fails".to_owned(), ended: None };
    vec![
        Event::Began { work: policy.clone(), attempt: 1, because: None },
        Event::Ended { work: policy, attempt: 1, outcome },
    ]
}

#[test]
fn a_plan_that_compiles_can_be_approved() {
    assert_snapshot!(check(&PLAN.replacen("Add Retry", "Add $0Retry", 1), Some(planned())), @r#"
    Agent: approve r1-9f2c81d04a7e and run it up to `policy` | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e","upto":"policy"}
    Agent: approve r1-9f2c81d04a7e and run it | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e"}
    Agent: ask for a change of `policy`… | []→"\n\n> note: "
    "#);
    assert_snapshot!(check(&PLAN.replacen("Say so", "Say $0so", 1), Some(planned())), @r#"
    Agent: approve r1-9f2c81d04a7e and run it | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e"}
    Agent: ask for a change of `docs`… | []→"\n\n> note: "
    "#);
}

#[test]
fn a_plan_with_an_error_or_without_a_task_cannot() {
    assert_snapshot!(check(&PLAN.replacen("after: policy", "after: $0polcy", 1), Some(planned())), @r#"Agent: ask for a change of `tests`… | []→"\n\n> note: ""#);
    assert_snapshot!(check(&PLAN.replacen("# Make", "# $0Make", 1), None), @r#"Agent: ask for a change of the plan… | []→"\n\n> note: ""#);
}

#[test]
fn a_step_offers_what_fits_its_state() {
    let at_policy = PLAN.replacen("### policy", "### $0policy", 1);
    let blocked = || TaskState::Blocked { why: String::new(), next: String::new() };
    assert_snapshot!(check(&at_policy, Some(running(failed(), blocked()))), @r#"
    Agent: retry `policy` | Retry {"task":"k3xf","step":"policy"}
    Agent: skip `policy` | Skip {"task":"k3xf","step":"policy"}
    Agent: take over `policy` | TakeOver {"task":"k3xf","step":"policy"}
    Agent: mark done `policy` | MarkDone {"task":"k3xf","step":"policy"}
    Agent: approve r1-9f2c81d04a7e and run it up to `policy` | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e","upto":"policy"}
    Agent: approve r1-9f2c81d04a7e and run it | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e"}
    Agent: ask for a change of `policy`… | []→"\n\n> note: "
    "#);
    let taken = Event::TakenOver { step: StepId::new("policy"), actor: anna() };
    assert_snapshot!(check(&at_policy, Some(running(vec![taken], blocked()))), @r#"
    Agent: mark done `policy` | MarkDone {"task":"k3xf","step":"policy"}
    Agent: retry `policy` | Retry {"task":"k3xf","step":"policy"}
    Agent: skip `policy` | Skip {"task":"k3xf","step":"policy"}
    Agent: approve r1-9f2c81d04a7e and run it up to `policy` | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e","upto":"policy"}
    Agent: approve r1-9f2c81d04a7e and run it | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e"}
    Agent: ask for a change of `policy`… | []→"\n\n> note: "
    "#);
    let skipped = Event::StepSet { step: StepId::new("policy"), to: HandSet::Skipped, actor: anna(), reason: None };
    assert_snapshot!(check(&at_policy, Some(running(vec![skipped], TaskState::Running))), @r#"
    Agent: retry `policy` | Retry {"task":"k3xf","step":"policy"}
    Agent: approve r1-9f2c81d04a7e and run it up to `policy` | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e","upto":"policy"}
    Agent: approve r1-9f2c81d04a7e and run it | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e"}
    Agent: run | Run {"task":"k3xf"}
    Agent: pause | Pause {"task":"k3xf"}
    Agent: cancel what is in flight | Cancel {"task":"k3xf"}
    Agent: ask for a change of `policy`… | []→"\n\n> note: "
    "#);
    let gate = fixture::gate_opened("g1", "cargo check");
    assert_snapshot!(check(&at_policy, Some(running(vec![gate], blocked()))), @r#"
    Agent: skip `policy` | Skip {"task":"k3xf","step":"policy"}
    Agent: take over `policy` | TakeOver {"task":"k3xf","step":"policy"}
    Agent: approve r1-9f2c81d04a7e and run it up to `policy` | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e","upto":"policy"}
    Agent: approve r1-9f2c81d04a7e and run it | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e"}
    Agent: ask for a change of `policy`… | []→"\n\n> note: "
    "#);
}

#[test]
fn a_task_that_is_over_offers_nothing_that_decides() {
    let over =
        running(vec![Event::Closed { ending: Ending::NothingKept }], TaskState::Done { ending: Ending::NothingKept });
    assert_snapshot!(check(&PLAN.replacen("### policy", "### $0policy", 1), Some(over)), @r#"Agent: ask for a change of `policy`… | []→"\n\n> note: ""#);
}

#[test]
fn notes_and_answers_are_written_and_taken_in() {
    let text =
        PLAN.replacen("beside the client.", "beside the client.\n\n> note: too clever\n\n> question: $0how often?", 1);
    assert_snapshot!(check(&text, Some(planned())), @r#"
    Agent: approve r1-9f2c81d04a7e and run it up to `policy` | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e","upto":"policy"}
    Agent: answer question 1… | []→"> answer: \n"
    Agent: approve r1-9f2c81d04a7e and run it | Approve {"task":"k3xf","revision":"r1-9f2c81d04a7e"}
    Agent: ask for a change of `policy`… | []→"\n> note: "
    Agent: revise the plan with its notes | Revise {"task":"k3xf","words":"policy: too clever"}
    "#);
}

#[test]
fn what_was_approved_can_be_restored() {
    let mut dossier = running(vec![], TaskState::AwaitingApproval);
    dossier.revisions = Arc::new(vec![(revision(1), PLAN.into())]);
    let text = PLAN.replacen("keep it small", "keep it $0large", 1);
    let restored = check(&text, Some(dossier));
    assert_snapshot!(restored.lines().filter(|line| line.contains("restore")).collect::<String>(), @"Agent: restore the approved text (r1-1f2c81d04a7e) | [- advice: keep it large");
}

#[test]
fn headings_carry_states() {
    let blocked = TaskState::Blocked { why: String::new(), next: String::new() };
    let scene = Scene::new(PLAN).of_task(Some(running(failed(), blocked)));
    let moment = scene.moment();
    let lenses: Vec<String> = lenses(&moment)
        .iter()
        .map(|lens| format!("{}: {}", PLAN.get(lens.range.clone()).unwrap(), lens.act.title))
        .collect();
    assert_snapshot!(lenses.join("\n"), @r#"
    Make retries configurable: blocked
    Make retries configurable: Agent: approve r1-9f2c81d04a7e and run it
    ### policy: Add RetryPolicy: failed
    ### policy: Add RetryPolicy: Agent: retry `policy`
    ### policy: Add RetryPolicy: Agent: skip `policy`
    ### policy: Add RetryPolicy: Agent: take over `policy`
    ### policy: Add RetryPolicy: Agent: mark done `policy`
    ### policy: Add RetryPolicy: Agent: approve r1-9f2c81d04a7e and run it up to `policy`
    ### tests: Cover the policy: waiting for policy
    ### tests: Cover the policy: Agent: approve r1-9f2c81d04a7e and run it up to `tests`
    "#);
    let hints: Vec<String> = hints(&moment)
        .into_iter()
        .map(|(at, words)| format!("{} «{words}»", PLAN.get(..at).unwrap().lines().next_back().unwrap()))
        .collect();
    assert_snapshot!(hints.join("\n"), @r#"
    ### policy: Add RetryPolicy «failed»
    ### tests: Cover the policy «waiting for policy»
    "#);
}

#[test]
fn an_offered_revision_is_shown_as_far_as_a_message_goes() {
    let more: String = (0..40).map(|n| format!("-- {n} {}\u{202e}\n", "x".repeat(300))).collect();
    let new = PLAN.replacen("Why: anything.\n", &more, 1);
    let path = WorkspacePath::new(".planwright/tasks/k3xf/retries.plan.md").unwrap();
    let offer =
        Offered::new(&path, &Arc::from(PLAN), &(revision(2), Arc::from(new.as_str())), &HashSet::new()).unwrap();
    let (_, _, said) = offer.hunks().pop().unwrap();
    assert!(said.contains("\n- Why: anything.\n+ -- 0 xxx"), "{said}");
    assert!(said.lines().count() <= 12 && said.lines().all(|line| line.chars().count() <= 103), "{said}");
    assert!(!said.contains('\u{202e}'), "{said}");
}

#[test]
fn an_offered_revision_is_shown_as_changes() {
    let new = PLAN.replacen("beside the client", "into the client", 1).replacen("- after: none\n", "", 1);
    let path = WorkspacePath::new(".planwright/tasks/k3xf/retries.plan.md").unwrap();
    let offered = (revision(2), Arc::from(new.as_str()));
    let offer = |text: &str, declined: &HashSet<HunkId>| Offered::new(&path, &Arc::from(text), &offered, declined);
    let first = offer(PLAN, &HashSet::new()).unwrap();
    let said: Vec<String> =
        first.hunks().into_iter().map(|(_, range, words)| format!("{:?}\n{words}", PLAN.get(range).unwrap())).collect();
    assert_snapshot!(said.join("\n"), @r#"
    "Put it beside the client.\n"
    the agent's r2-2f2c81d04a7e:
    - Put it beside the client.
    + Put it into the client.
    "- after: none\n"
    the agent's r2-2f2c81d04a7e:
    - - after: none
    "#);
    let scene = Scene::new(PLAN);
    let at = PLAN.find("Put it").unwrap();
    let acts: Vec<String> = first.acts(&scene.moment(), &(at..at)).iter().map(|one| act(PLAN, one)).collect();
    assert_snapshot!(acts.join("\n"), @r#"
    Agent: accept this change of the plan (hb9547b65) | Accept {"task":"k3xf","hunks":["hb9547b65"],"plan":true}
    Agent: decline this change of the plan (hb9547b65) | Reject {"task":"k3xf","hunks":["hb9547b65"],"plan":true}
    Agent: accept r2-2f2c81d04a7e (2 changes) | Accept {"task":"k3xf","hunks":["hb9547b65","ha09749d1"],"plan":true}
    Agent: decline r2-2f2c81d04a7e (2 changes) | Reject {"task":"k3xf","hunks":["hb9547b65","ha09749d1"],"plan":true}
    "#);
    // a change keeps its name while other text is typed, and a declined one stays away
    let typed = PLAN.replacen("Callers choose", "Callers may choose", 1);
    let names = |offer: &Offered| offer.change.hunks.iter().map(|hunk| hunk.id.clone()).collect::<Vec<_>>();
    let second = offer(&typed, &HashSet::new()).unwrap();
    assert!(names(&first).iter().all(|id| names(&second).contains(id)));
    let declined = names(&first).into_iter().collect();
    assert!(offer(PLAN, &declined).is_none());
    assert!(offer(&new, &HashSet::new()).is_none());
}
