//! From a goal to a plan by a model: repaired, questioned, revised, or left as a draft; and the plan without one.

use crate::support::Project;
use crate::support::model::{Modelled, plan, planned};
use planwright::testing::script::{Script, Turn};

const LIB: &str = "/// Reads a port.\npub fn port(text: &str) -> u16 {\n    text.parse().unwrap()\n}\n";
const FILES: [(&str, &str); 2] =
    [("src/lib.rs", LIB), ("Cargo.toml", "[package]\nname = \"port\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")];
const GOAL: &str = "Return an error instead of panicking";

fn good() -> serde_json::Value {
    plan(&["src/lib.rs"], &["cargo check"], &[("port", "src/lib.rs")], &[])
}

#[test]
fn a_goal_becomes_a_plan_document_with_the_code_at_its_place_in_the_request() {
    let work = Modelled::new(&FILES, Script::in_order([planned(&good())]));
    work.run(&["plan", GOAL, "--at", "src/lib.rs:3"]).exits(0);
    let task = work.only_task();
    let shown = work.run(&["show", &task]).exits(0);
    let steady = shown.out.replace(&task, "TASK").replace(work.root.to_str().unwrap(), "ROOT");
    insta::assert_snapshot!(steady, @"
    # A plan

    Return an error instead of panicking

    ## Contract

    - scope: `src/lib.rs`
    - accept: `cargo check`

    ## Steps

    ### port: Do port

    - edit: `src/lib.rs`

    Change what port needs.

    TASK  awaiting approval
    document  ROOT/.planwright/tasks/TASK/return-an-error-instead-of-panicking.plan.md
    page      ROOT/.planwright/tasks/TASK/task.md
    revision  r1-315aadb662f4, not approved
    what it means
      writes only within: src/lib.rs
      port (edit): a model changes src/lib.rs, from the start; judged by no new syntax error
      accepted when `cargo check` holds
      command of acceptance: `cargo check` in a copy, not isolated, asks at a gate each time, or once for the plan
      cost: 1 step asks a model; no bound on tokens
    next: planwright approve TASK --revision r1-315aadb662f4  approve exactly this
    ");
    let asked = work.asked(0);
    assert!(asked.contains(GOAL) && asked.contains("text.parse().unwrap()"), "{asked}");
    assert!(work.model.calls()[0].body["response_format"].is_object(), "the answer is bound to a schema");
}

#[test]
fn findings_of_the_compiler_go_back_and_are_mended() {
    let outside = plan(&["src/lib.rs"], &["cargo check"], &[("port", "src/gone.rs")], &[]);
    let work = Modelled::new(&FILES, Script::in_order([planned(&outside), planned(&good())]));
    work.run(&["plan", GOAL]).exits(0);
    assert_eq!(work.model.calls().len(), 2);
    let asked = work.asked(1);
    assert!(asked.contains("src/gone.rs") && asked.contains("cannot be used as it is"), "{asked}");
    let task = work.only_task();
    work.run(&["approve", &task, "--yes"]).exits(0);
}

#[test]
fn after_two_rounds_a_draft_stays_with_its_problems_and_cannot_be_approved() {
    let outside = plan(&["src/lib.rs"], &["cargo check"], &[("port", "src/gone.rs")], &[]);
    let work = Modelled::new(&FILES, Script::in_order([planned(&outside)]));
    let said = work.run(&["plan", GOAL]);
    assert_eq!(work.model.calls().len(), 3, "{said:?}");
    let task = work.only_task();
    let shown = work.run(&["show", &task]).exits(0).out;
    assert!(shown.contains("src/gone.rs") && shown.contains("error"), "{shown}");
    let refused = work.run(&["approve", &task, "--yes"]).exits(3);
    assert!(refused.err.contains("error") && refused.err.contains("next: "), "{refused:?}");
}

#[test]
fn an_answer_that_is_no_plan_is_kept_as_a_note() {
    let work = Modelled::new(&FILES, Script::in_order([Turn::text("I would rather talk about it.")]));
    work.run(&["plan", GOAL]);
    assert_eq!(work.model.calls().len(), 3);
    let task = work.only_task();
    let shown = work.run(&["show", &task]).exits(0).out;
    assert!(shown.contains("I would rather talk about it."), "{shown}");
    work.run(&["approve", &task, "--yes"]).exits(3);
}

#[test]
fn an_answered_question_reaches_the_planner_and_the_plan_is_made_anew() {
    let asks = plan(&["src/lib.rs"], &["cargo check"], &[("port", "src/lib.rs")], &["Which error type?"]);
    let work = Modelled::new(&FILES, Script::in_order([planned(&asks), planned(&good())]));
    work.run(&["plan", GOAL]);
    let task = work.only_task();
    let shown = work.run(&["show", &task]).out;
    assert!(shown.contains("Which error type?"), "{shown}");
    work.run(&["answer", &task, "1", "ParseIntError"]).exits(0);
    let asked = work.asked(1);
    assert!(asked.contains("asked: Which error type? — answered: ParseIntError"), "{asked}");
    work.run(&["approve", &task, "--yes"]).exits(0);
}

#[test]
fn what_nobody_answered_becomes_an_assumption_before_it_can_be_approved() {
    let asks = plan(&["src/lib.rs"], &["cargo check"], &[("port", "src/lib.rs")], &["Which error type?"]);
    let work = Modelled::new(&FILES, Script::in_order([planned(&asks)]));
    work.run(&["plan", GOAL]);
    let task = work.only_task();
    let refused = work.run(&["approve", &task, "--yes"]).exits(3);
    assert!(refused.err.contains("assume") && refused.err.contains("--revision r2-"), "{refused:?}");
    let shown = work.run(&["show", &task]).exits(0).out;
    assert!(shown.contains("assume: the planner's choice where it asked: Which error type?"), "{shown}");
    assert!(!shown.contains("> question:"), "{shown}");
    work.run(&["approve", &task, "--yes"]).exits(0);
    assert_eq!(work.model.calls().len(), 1, "assumptions need no model");
}

#[test]
fn a_revision_in_words_starts_from_the_plan_and_a_new_plan_does_not() {
    let smaller = plan(&["src/lib.rs"], &["cargo check"], &[("parse", "src/lib.rs")], &[]);
    let work = Modelled::new(&FILES, Script::in_order([planned(&good()), planned(&smaller), planned(&good())]));
    work.run(&["plan", GOAL]).exits(0);
    let task = work.only_task();
    work.run(&["revise", &task, "call the step parse"]);
    let asked = work.asked(1);
    assert!(asked.contains("The plan as it is") && asked.contains("call the step parse"), "{asked}");
    let compared = work.run(&["compare", &task]).exits(0).out;
    assert!(compared.contains("parse"), "{compared}");
    work.run(&["replan", &task, "keep it small"]);
    let asked = work.asked(2);
    assert!(!asked.contains("The plan as it is") && asked.contains("Mind: keep it small"), "{asked}");
}

#[test]
fn preview_shows_the_last_request_without_secrets() {
    let secret = "pub const KEY: &str = \"sk-abcdefgh12345678\";\n";
    let files = [FILES[0], FILES[1], ("src/key.rs", secret)];
    let work = Modelled::new(&files, Script::in_order([planned(&good())]));
    let task = {
        work.run(&["plan", GOAL, "--at", "src/key.rs:1"]).exits(0);
        work.only_task()
    };
    let seen = work.run(&["preview", &task]).exits(0).out;
    assert!(seen.contains("the last request of planning") && seen.contains(GOAL), "{seen}");
    assert!(seen.contains("[redacted]") && !seen.contains("sk-abcdefgh12345678"), "{seen}");
    let wrong = work.run(&["preview", &task, "port"]).exits(2);
    assert!(wrong.err.contains("has sent nothing to a model") && wrong.err.contains("planning"), "{wrong:?}");
}

#[test]
fn without_a_model_the_plan_lacks_only_its_steps() {
    let project = Project::new(&FILES);
    project.run(&["plan", GOAL, "--at", "src/lib.rs"]).exits(3);
    let task = project.only_task();
    let shown = project.run(&["show", &task, "--json"]).json();
    let problems: Vec<String> = shown["problems"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|problem| problem["severity"] == "error")
        .map(|problem| problem["code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(problems, ["no-steps"]);
    let text = shown["text"].as_str().unwrap();
    assert!(text.contains("- scope: `src/lib.rs`") && text.contains("cargo"), "{text}");
}
