//! What a failed step does to its task: stop, ask, skip, undo.

use crate::support::model::{Modelled, edit, finish};
use planwright::testing::script::Script;

const LIB: &str = "pub fn one() -> u8 {\n    1\n}\n\npub fn two() -> u8 {\n    2\n}\n";

/// Two steps; the first never passes its check.
fn work(on_failure: &str) -> (Modelled, String) {
    let plan = format!(
        "# Numbers\n\nOther numbers.\n\n## Contract\n\n- scope: `src/**`\n- accept: exists `src/lib.rs`\n\n## Steps\n\n### first: Change one\n\n- edit: `src/lib.rs`\n- check: absent: `fn two`, in `src`\n- repair: 0\n{on_failure}\nMake it 10.\n\n### second: Change two\n\n- edit: `src/lib.rs`\n\nMake it 20.\n"
    );
    let script = Script::when(
        "### second: Change two",
        [edit("src/lib.rs", "two", "pub fn two() -> u8 {\n    20\n}"), finish("It is 20.")],
    )
    .or_when("", [edit("src/lib.rs", "one", "pub fn one() -> u8 {\n    10\n}"), finish("It is 10.")]);
    let work = Modelled::new(&[("src/lib.rs", LIB)], script);
    let task = work.approved("Other numbers", &plan);
    (work, task)
}

fn step(work: &Modelled, task: &str, which: usize) -> String {
    work.status(task)["steps"][which]["state"]
        .as_str()
        .map_or_else(|| work.status(task)["steps"][which].to_string(), str::to_owned)
}

#[test]
fn by_default_the_task_stops() {
    let (work, task) = work("");
    work.run(&["run", &task]).exits(1);
    assert!(step(&work, &task, 0).contains("failed (check)"), "{}", work.status(&task));
    assert!(step(&work, &task, 1).contains("waiting for first"), "{}", work.status(&task));
    assert!(work.run(&["review", &task, "--json"]).out.contains("10"), "its work can still be looked at");
}

#[test]
fn skip_goes_on_without_it() {
    let (work, task) = work("- on-failure: skip\n");
    work.run(&["run", &task]).exits(3);
    assert!(step(&work, &task, 0).contains("skipped"), "{}", work.status(&task));
    let timeline = work.timeline(&task);
    assert!(
        timeline.contains("skipped by planwright (runtime)") && timeline.contains("on-failure: skip"),
        "{timeline}"
    );
    work.run(&["accept", &task, "--all"]).exits(0);
    assert_eq!(work.read("src/lib.rs"), LIB.replace("    2\n", "    20\n"));
}

#[test]
fn undo_takes_its_proposal_back_and_stops() {
    let (work, task) = work("- on-failure: undo\n");
    work.run(&["run", &task]).exits(1);
    assert!(step(&work, &task, 0).contains("failed (check)"), "{}", work.status(&task));
    let review = work.run(&["review", &task, "--json"]).json();
    assert_eq!(review["hunks"].as_array().map(Vec::len), Some(0), "{review}");
    assert!(work.timeline(&task).contains("its proposal is withdrawn"), "{}", work.timeline(&task));
}

#[test]
fn ask_waits_and_a_yes_skips_it() {
    let (work, task) = work("- on-failure: ask\n");
    work.run(&["run", &task]).exits(3);
    let said = work.run(&["status", &task]).out;
    assert!(said.contains("first failed (check") && said.contains("go on without it?"), "{said}");
    work.run(&["gate", &task, "allow"]).exits(0);
    work.run(&["run", &task]).exits(3);
    assert!(step(&work, &task, 0).contains("skipped"), "{}", work.status(&task));
    assert!(step(&work, &task, 1).contains("done"), "{}", work.status(&task));
}

#[test]
fn a_no_leaves_it_blocked_and_it_is_not_asked_again() {
    let (work, task) = work("- on-failure: ask\n");
    work.run(&["run", &task]).exits(3);
    work.run(&["gate", &task, "deny"]).exits(0);
    work.run(&["run", &task]).exits(1);
    let status = work.status(&task);
    assert!(step(&work, &task, 0).contains("blocked (check)"), "{status}");
    assert_eq!(status["gates"].as_array().map(Vec::len), Some(0), "{status}");
}

#[test]
fn another_attempt_answers_the_question_too() {
    let (work, task) = work("- on-failure: ask\n");
    work.run(&["run", &task]).exits(3);
    work.run(&["retry", &task, "first"]).exits(3);
    let gates = work.status(&task)["gates"].to_string();
    assert!(gates.contains("go on without it?"), "the second failure asks anew: {gates}");
    assert!(work.timeline(&task).contains("attempt 2 begins"), "{}", work.timeline(&task));
}
