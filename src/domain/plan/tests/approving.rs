//! Digest, tables, approval, difference, edits, JSON.

use super::*;
use crate::domain::ids::{RevisionRef, StepId};
use crate::domain::problem::Severity;

fn read(text: &str) -> (Plan, Normal) {
    let plan = super::parse(text).plan;
    let normal = normal(&plan, &Versions::default());
    (plan, normal)
}

fn named(normal: &Normal, number: u32) -> RevisionRef {
    RevisionRef { number, digest: normal.digest.short().to_owned() }
}

fn approved(text: &str, upto: Option<&str>) -> Result<ApprovedPlan, ApprovalRefusal> {
    let (plan, normal) = read(text);
    let revision = named(&normal, 1);
    approve(plan, normal, revision, upto.map(StepId::new), &super::parse(text).problems)
}

#[test]
fn layout_is_not_digested_and_versions_are() {
    let (_, normal) = read(SAMPLE);
    let other = SAMPLE
        .replace("any prose\nup", "any prose up")
        .replace("- zero", "* zero")
        .replace("- jitter", "* jitter")
        .replace("`src/net/**`, `tests/net.rs`", "src/net/**; tests/net.rs")
        .replace("alternatives", "more alternatives")
        .replace("> note: the last", "> note: another");
    assert_eq!(read(&other).1.digest, normal.digest);
    let approval = SAMPLE.replace("- stop:", "- approved: r1-000000000000\n- stop:");
    assert_eq!(read(&approval).1.digest, normal.digest);
    assert_ne!(read(&SAMPLE.replace("three attempts", "four attempts")).1.digest, normal.digest);
    let versions = Versions { grammar: "2".to_owned(), ..Versions::default() };
    assert_ne!(super::normal(&super::parse(SAMPLE).plan, &versions).digest, normal.digest);
}

/// What a step's own check measures by is written only where the plan names it (F8).
#[test]
fn the_rights_of_a_step_know_its_checks() {
    let text = SAMPLE.replace("- edit: `tests/net.rs`", "- edit: `tests/net.rs`, `src/net/*.rs`");
    let plan = approved(&text, None).unwrap();
    let path = |text: &str| crate::domain::ids::WorkspacePath::new(text).unwrap();
    let may = |step: &str, name: &str| plan.rights(&StepId::new(step), vec![]).may_write(&path(name), true).is_ok();
    assert!(may("tests", "tests/net.rs") && may("tests", "src/net/client.rs"));
    assert!(!may("tests", "src/net/tests.rs"), "`cargo test` measures by it");
    assert!(may("policy", "src/net/mod.rs"));
}

#[test]
fn the_tables_say_what_is_enforced() {
    let (_, normal) = read(SAMPLE);
    let mut out = String::new();
    for rules in &normal.tables.steps {
        let write: Vec<_> =
            rules.write.iter().map(|rule| format!("{}{}", rule.pattern, if rule.new { "+" } else { "" })).collect();
        let before: Vec<_> = rules.predecessors.iter().map(StepId::as_str).collect();
        let checks: Vec<_> = rules.checks.iter().map(super::render::check).collect();
        let commands: Vec<_> = rules.commands.iter().map(super::render::pattern).collect();
        let _ = writeln!(
            out,
            "{} write {write:?} after {before:?} review {} checks {checks:?} commands {commands:?} repair {} retry {} timeout {:?} outside {} repeatable {}",
            rules.id,
            rules.waits_review,
            rules.repair,
            rules.retry.times,
            rules.timeout,
            rules.outside,
            rules.repeatable
        );
    }
    insta::assert_snapshot!(out, @r#"
    policy write ["src/net/retry.rs+", "src/net/client.rs", "src/net/mod.rs"] after [] review false checks ["`cargo check -p net`"] commands ["`cargo check -p net`"] repair 2 retry 2 timeout None outside false repeatable true
    tests write ["tests/net.rs"] after ["policy"] review false checks ["`cargo test -p net`, with `RUST_LOG=off`"] commands ["`cargo test -p net`"] repair 2 retry 2 timeout None outside false repeatable true
    look write [] after ["tests"] review false checks [] commands [] repair 2 retry 2 timeout None outside false repeatable false
    announce write [] after ["look"] review true checks [] commands [] repair 2 retry 2 timeout None outside true repeatable false
    "#);
    let policy = &normal.tables.steps[0];
    assert!(policy.write_rule("src/net/client.rs").unwrap().focus.as_deref() == Some("Client::send"));
    assert!(policy.write_rule("src/net/other.rs").is_none());
    assert!(
        normal.tables.contract.scope.matches("src/net/a/b.rs") && !normal.tables.contract.scope.matches("src/lib.rs")
    );
}

#[test]
fn the_prompt_is_cut_out_of_the_digested_text() {
    let (_, normal) = read(SAMPLE);
    assert!(normal.text.contains(&normal.prompt.contract));
    assert!(normal.prompt.steps.iter().all(|(_, step)| normal.text.contains(step.as_str())));
    assert!(!normal.text.contains("clever") && !normal.text.contains("hidden") && !normal.text.contains("Why"));
}

#[test]
fn only_what_compiles_is_approved() {
    let plan = approved(SAMPLE, None).unwrap();
    assert!(plan.steps().iter().all(|step| plan.included(&step.id)));
    assert!(matches!(approved("# T\n", None), Err(ApprovalRefusal::Errors(_))));
    assert!(matches!(approved(SAMPLE, Some("nope")), Err(ApprovalRefusal::UnknownStep(_))));
    let (plan, normal) = read(SAMPLE);
    let (other, _) = read(&SAMPLE.replace("three", "four"));
    let revision = named(&normal, 1);
    assert_eq!(approve(other, normal.clone(), revision.clone(), None, &[]), Err(ApprovalRefusal::Ambiguous));
    let wrong = RevisionRef { digest: "000000000000".to_owned(), ..revision };
    assert!(matches!(approve(plan, normal, wrong, None, &[]), Err(ApprovalRefusal::OtherDigest { .. })));
}

#[test]
fn up_to_takes_in_what_stands_above_and_what_is_needed() {
    let text = "# T\n## Contract\n## Steps\n### a: x\n- ask: anyone\n- after: d\n### b: x\n- ask: anyone\n- after: none\n### c: x\n- ask: anyone\n### d: x\n- ask: anyone\n- after: none\n";
    let plan = approved(text, Some("b")).unwrap();
    let included: Vec<_> =
        plan.steps().iter().map(|s| s.id.as_str()).filter(|id| plan.included(&StepId::new(*id))).collect();
    assert_eq!(included, ["a", "b", "d"]);
}

#[test]
fn a_stored_approval_is_checked_again() {
    let plan = approved(SAMPLE, None).unwrap();
    let again =
        |text: &str| ApprovedPlan::reload(text, &Versions::default(), plan.revision().clone(), plan.digest(), None);
    assert_eq!(again(SAMPLE).unwrap(), plan);
    assert!(again(&SAMPLE.replace("three", "four")).is_err());
}

#[test]
fn unchanged_steps_stay_done() {
    let digests = |text: &str| step_digests(&read(text).1);
    let show = |text: &str| {
        let rerun = super::compare::rerun(&digests(SAMPLE), &digests(text));
        let ids = |ids: &[StepId]| ids.iter().map(StepId::as_str).collect::<Vec<_>>().join(" ");
        format!(
            "kept {}; again {}; new {}; gone {}",
            ids(&rerun.kept),
            ids(&rerun.again),
            ids(&rerun.new),
            ids(&rerun.gone)
        )
    };
    assert_eq!(show(&SAMPLE.replace("60k", "90k")), "kept policy tests look announce; again ; new ; gone ");
    assert_eq!(
        show(&SAMPLE.replace("`RUST_LOG=off`", "`RUST_LOG=on`")),
        "kept policy; again tests look announce; new ; gone "
    );
    assert_eq!(
        show(&SAMPLE.replace("### look: Is", "### see: Is").replace("after: look", "after: see")),
        "kept policy tests; again announce; new see; gone look"
    );
}

#[test]
fn changed_rights_reach_the_steps_that_had_them() {
    let plan = "# T\n## Contract\n- scope: `src`, `docs`\n- allow: `cargo test *`\n- budget: 9 turns\n## Steps\n### fmt: x\n- run: `cargo fmt`\n- write: `src/**`\n- after: none\n### name: x\n- transform: rename `a` to `b`\n- after: fmt\n### edit: x\n- edit: `src/a.rs`\n- after: none\n- allow: `ls`\n";
    let check = |from: &str, to: &str| {
        let digests = |text: &str| step_digests(&read(text).1);
        let rerun = super::compare::rerun(&digests(plan), &digests(&plan.replace(from, to)));
        rerun.again.iter().map(StepId::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(check("9 turns", "99 turns"), "");
    assert_eq!(check("`src`, `docs`", "`docs`, `src`"), "");
    assert_eq!(check("`src`, `docs`", "`src`"), "name edit", "the one had the whole scope; the other comes after it");
    assert_eq!(check("- allow: `cargo test *`\n", ""), "edit", "only its model could start it");
    assert_eq!(check("`cargo test *`", "`cargo test *`, `cargo check`"), "edit");
}

#[test]
fn plans_are_compared_by_meaning() {
    let new = SAMPLE
        .replace("any prose\nup", "any prose up")
        .replace("60k", "90k")
        .replace("three attempts", "four attempts")
        .replace(", `src/net/mod.rs`", "")
        .replace("### look: Is the new API right?\n\n- ask: anyone\n- after: tests\n", "")
        .replace("after: look, review", "after: tests");
    assert_eq!(super::compare::compare(&read(SAMPLE).0, &read(SAMPLE).0), []);
    let changes = super::compare::compare(&read(SAMPLE).0, &read(&new).0);
    insta::assert_snapshot!(super::compare::describe(&changes), @r"
    contract, budget:
      - 60k tokens; 15 min; $0.50
      + 90k tokens; 15 min; $0.50
    step policy, edit:
      - `src/net/retry.rs` (new), `src/net/client.rs` (focus `Client::send`), `src/net/mod.rs`
      + `src/net/retry.rs` (new), `src/net/client.rs` (focus `Client::send`)
    step policy, instruction:
      - Put the policy beside the client; default to three attempts.
      + Put the policy beside the client; default to four attempts.
    step announce, after:
      - look, review
      + tests
    step look is gone: Is the new API right?
    ");
}

#[test]
fn edits_touch_nothing_else() {
    use super::edit::*;
    let text = SAMPLE.replace("## Notes", "> question: which API?\n\n## Notes").replace('\n', "\r\n");
    let answered = apply(&text, &[answer(&text, 1, "the\nold one").unwrap()]);
    assert_eq!(answered, text.replace("which API?\r\n", "which API?\r\n> answer: the old one\r\n"));
    assert!(answer(&answered, 1, "no").unwrap_err().contains("answered already"));
    assert!(answer(&text, 2, "no").unwrap_err().contains("no question 2"));
    let assumed = apply(&text, &assume_unanswered(&text));
    let item = "- assume: the planner's choice where it asked: which API?\r\n";
    assert_eq!(
        assumed,
        text.replace("files > 8\r\n", &format!("files > 8\r\n{item}")).replace("> question: which API?\r\n", "")
    );
    let (_, normal) = read(&text);
    let signed = apply(&text, &[approve(&text, &named(&normal, 3)).unwrap()]);
    assert_eq!(read(&signed).1.digest, normal.digest);
    assert_eq!(super::parse(&signed).layout.approved.unwrap().0, named(&normal, 3));
    let resigned = apply(&signed, &[approve(&signed, &named(&normal, 4)).unwrap()]);
    assert_eq!(super::parse(&resigned).layout.approved.unwrap().0, named(&normal, 4));
    assert!(delete_step(&text, &StepId::new("look")).unwrap_err().contains("announce"));
    let less = apply(&text, &[delete_step(&text, &StepId::new("announce")).unwrap()]);
    assert_eq!(super::parse(&less).plan.steps.len(), 3);
    assert!(less.contains("Why, alternatives"));
    let more = apply(&less, &[add_step(&less, &read(SAMPLE).0.steps[3]).unwrap()]);
    assert_eq!(super::parse(&more).plan, read(SAMPLE).0);
    let asked = apply(&less, &[ask(&less, Some(&StepId::new("policy")), "how\nmany?")]);
    assert_eq!(questions(&super::parse(&asked))[0].step, Some(StepId::new("policy")));
    assert_eq!(read(&asked).0, read(&less).0);
}

#[test]
fn a_planners_answer_becomes_a_plan() {
    let answer = serde_json::json!({
        "title": "Make retries\nconfigurable", "scope": ["src/net/**"], "accept": ["cargo test -p net"],
        "steps": [
            {"id": "policy", "title": "Add RetryPolicy", "kind": "edit",
             "files": [{"path": "src/net/retry.rs", "new": true, "focus": ""}, {"path": "src/net/client.rs", "new": false, "focus": "Client::send"}],
             "command": "", "rule": "", "after": [], "check": "cargo check", "instruction": "Do it.\n\n## Steps\n\n- well"},
            {"id": "Rename it", "title": "rename", "kind": "transform", "rule": "rename `a` to `b`", "files": [], "command": "", "after": ["policy"], "check": "", "instruction": ""},
            {"id": "fmt", "title": "Format", "kind": "run", "command": "cargo fmt | cat", "files": [{"path": "src/**"}], "after": ["nope"], "check": "", "rule": "", "instruction": ""},
            {"id": "ok", "title": "Judge", "kind": "check", "check": "cargo test; cargo clippy", "files": [], "command": "", "rule": "", "after": [], "instruction": ""}
        ],
        "assumptions": ["all is well; mostly"], "questions": ["which\none?"], "advice": ["be brief"]
    });
    let (plan, questions, problems) = super::json::from_json(&answer);
    assert_eq!(questions, ["which one?"]);
    insta::assert_snapshot!(problems.join("\n"), @r"
    steps.fmt.command: `|` is a shell's operator and no shell runs here; put the line into a script of the workspace and name that, or quote it to pass it as it is
    steps.fmt.after: no step is called `nope`
    ");
    insta::assert_snapshot!(render(&plan), @r"
    # Make retries configurable

    ## Contract

    - scope: `src/net/**`
    - accept: `cargo test -p net`
    - advice: be brief
    - assume: all is well
    - assume: mostly

    ## Steps

    ### policy: Add RetryPolicy

    - edit: `src/net/retry.rs` (new), `src/net/client.rs` (focus `Client::send`)
    - check: `cargo check`

    Do it.

    \## Steps

    * well

    ### rename-it: rename

    - transform: rename `a` to `b`
    - after: policy

    ### fmt: Format

    - edit:
    - after: nope
    - write: `src/**`

    The planner wrote as command: `cargo fmt | cat`

    ### ok: Judge

    - check: `cargo test`
    - check: `cargo clippy`
    ");
}

#[test]
fn the_planners_schema_is_flat_and_strict() {
    let schema = super::json::schema();
    let text = schema.to_string();
    assert!(!text.contains("$ref") && !text.contains("$defs") && !text.contains("\"default\""), "{text}");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let empty = serde_json::to_value(super::json::Answer::default()).unwrap();
    assert!(validator.is_valid(&empty));
    assert!(!validator.is_valid(&serde_json::json!({"title": "x"})));
    let json = super::json::to_json(&read(SAMPLE).0);
    assert_eq!(serde_json::from_value::<Plan>(json["plan"].clone()).unwrap(), read(SAMPLE).0);
}

#[test]
fn the_documentation_names_every_key() {
    let text = super::keys::documentation();
    assert!(super::keys::KEYS.iter().all(|key| text.contains(&format!("| `{}` |", key.name))));
    let errors = super::parse(SAMPLE).problems.iter().filter(|p| p.severity == Severity::Error).count();
    assert_eq!(errors, 0);
}
