//! Findings with their mends, and the approval that is written into the text.

use super::super::findings::{mends, problems};
use super::*;
use crate::domain::plan::edit;
use insta::assert_snapshot;

fn check(text: &str) -> String {
    let (text, at) = cursor(text);
    let scene = Scene::new(&text);
    let problems = problems(&scene.moment());
    let said = problems.iter().map(|problem| {
        format!("{:?} {} {:?}: {}", problem.severity, problem.code, text.get(problem.range.clone()).unwrap(), problem.message)
    });
    let mends = mends(&problems, &(at..at));
    let mends = mends.iter().map(|mend| format!("  {}: {}", mend.title, shown(&text, &mend.edits)));
    said.chain(mends).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_whole_plan_has_no_findings() {
    assert_snapshot!(check(&format!("{PLAN}$0")), @"");
}

#[test]
fn a_mend_is_an_edit_at_the_finding() {
    assert_snapshot!(check(&PLAN.replacen("after: policy", "after: $0polcy", 1)), @"");
}

#[test]
fn several_mends_can_be_made_at_once() {
    let text = PLAN.replacen("after: policy", "after: $0polcy", 1).replacen("- check:", "- chekc:", 1);
    assert_snapshot!(check(&text), @"");
}

#[test]
fn an_approval_of_something_else_is_said_to_be_none() {
    let written = |revision: &str| PLAN.replacen("keep it small", &format!("keep it small\n- approved: {revision}$0"), 1);
    assert_snapshot!(check(&written("r1-9f2c81d04a7e")), @"");
    assert_snapshot!(check(&written("r1-000000000000")), @"");
    assert_snapshot!(check(&written("r1-9f2c81d04a7e").replacen("after: policy", "after: polcy", 1)), @"");
    assert!(edit::approve(PLAN, &revision(1)).is_ok());
}
