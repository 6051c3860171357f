//! Findings with their mends, and the approval that is written into the text.

use super::super::acts::Does;
use super::super::findings::{mends, problems, right_approval};
use super::*;
use insta::assert_snapshot;

fn check(text: &str) -> String {
    let (text, at) = cursor(text);
    let scene = Scene::new(&text);
    let problems = problems(&scene.moment());
    let said = problems.iter().map(|problem| {
        format!(
            "{:?} {} {:?}: {}",
            problem.severity,
            problem.code,
            text.get(problem.range.clone()).unwrap(),
            problem.message
        )
    });
    let mends = mends(&problems, &text, &(at..at));
    let mends = mends.iter().map(|mend| format!("  {}: {}", mend.title, shown(&text, &mend.edits)));
    said.chain(mends).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_whole_plan_has_no_findings() {
    assert_snapshot!(check(&format!("{PLAN}$0")), @"");
}

#[test]
fn a_mend_is_an_edit_at_the_finding() {
    assert_snapshot!(check(&PLAN.replacen("after: policy", "after: $0polcy", 1)), @r#"
    Error unknown-after "polcy": no step is called `polcy`; name a step of this plan, or write `none`
      write `policy`: [polcy]→"policy"
    "#);
}

#[test]
fn a_mend_is_offered_anywhere_on_the_line_and_not_on_the_next() {
    let at =
        |text: &str| check(&PLAN.replacen("after: policy", "after: polcy", 1).replacen(text, &format!("{text}$0"), 1));
    let mend = "write `policy`";
    assert!(at("- after:").contains(mend) && at("- after: polcy").contains(mend), "{}", at("- after:"));
    assert!(!at("- after: polcy\n").contains(mend), "{}", at("- after: polcy\n"));
    let line = PLAN.lines().position(|line| line.contains("after: policy")).unwrap();
    let before = PLAN.lines().nth(line - 1).unwrap();
    assert!(!at(before).contains(mend), "{}", at(before));
}

#[test]
fn several_mends_can_be_made_at_once() {
    let text = PLAN.replacen("after: policy", "after: $0polcy", 1).replacen("- check:", "- chekc:", 1);
    assert_snapshot!(check(&text), @r#"
    Warning near-key "chekc": `chekc` is no key, so this is instruction; was `check` meant?
    Error unknown-after "polcy": no step is called `polcy`; name a step of this plan, or write `none`
      write `policy`: [polcy]→"policy"
      mend all 2 problems that have a fix: [chekc]→"check" [polcy]→"policy"
    "#);
}

#[test]
fn an_approval_of_something_else_is_said_to_be_none() {
    let written =
        |revision: &str| PLAN.replacen("keep it small", &format!("keep it small\n- approved: {revision}$0"), 1);
    assert_snapshot!(check(&written("r1-9f2c81d04a7e")), @r#"Hint approval-unsaved "- approved: r1-9f2c81d04a7e": counts when it was written here and is saved; one that stood here before approves nothing, "Agent: approve …" does"#);
    assert_snapshot!(check(&written("r1-000000000000")), @r#"Warning approval-of-another "- approved: r1-000000000000": this approves nothing: it names r1-000000000000, and the text is r1-9f2c81d04a7e"#);
    assert_snapshot!(check(&written("r1-9f2c81d04a7e").replacen("after: policy", "after: polcy", 1)), @r#"
    Warning approval-of-errors "- approved: r1-9f2c81d04a7e": this approves nothing: the plan has errors; mend them first
    Error unknown-after "polcy": no step is called `polcy`; name a step of this plan, or write `none`
    "#);
    let (text, at) = cursor(&written("r1-000000000000"));
    let scene = Scene::new(&text);
    let right = right_approval(&scene.moment(), &(at..at)).unwrap();
    let Does::Edit(edits) = right.does else { panic!("an edit") };
    assert_snapshot!(format!("{}: {}", right.title, shown(&text, &edits)), @r#"Agent: write `approved: r1-9f2c81d04a7e`: [- approved: r1-000000000000]→"- approved: r1-9f2c81d04a7e""#);
}
