//! What is said about a place, and where it leads.

use super::super::{hover, jump};
use super::*;
use crate::desk::CodeView;
use insta::assert_snapshot;

fn check(text: &str) -> String {
    let (text, at) = cursor(text);
    let scene = Scene::new(&text);
    match hover::wanted(&scene.moment(), at) {
        None => "nothing".to_owned(),
        Some(hover::Hovered::Said { range, markdown }) => format!("{}\n{markdown}", text.get(range).unwrap()),
        Some(hover::Hovered::Code { range, path, symbol }) => {
            let path = path.map(|path| path.to_string());
            format!("{}\ncode of {path:?} {symbol:?}", text.get(range).unwrap())
        }
    }
}

fn leads(text: &str) -> String {
    let (text, at) = cursor(text);
    let scene = Scene::new(&text);
    match jump::wanted(&scene.moment(), at) {
        None => "nowhere".to_owned(),
        Some(jump::Destination::Here(range)) => text.get(range).unwrap().trim_end().to_owned(),
        Some(jump::Destination::Code { path, symbol }) => format!("{:?} {symbol:?}", path.map(|path| path.to_string())),
    }
}

#[test]
fn keys_say_what_binds() {
    assert_snapshot!(check(&PLAN.replacen("- advice", "- ad$0vice", 1)), @r#"
    advice
    **advice**: Wishes that no code checks; the model is told.

    ```text
    free text; free text…
    ```

    *Advice*: the model is told, and nothing checks it.
    "#);
    assert_snapshot!(check(&PLAN.replacen("- check", "- $0check", 1)), @r#"
    check
    **check**: How the step's result is judged. The kind, where no other kind stands.

    ```text
    COMMAND | syntax | absent: REGEX… | present: REGEX… | exists PATH | missing PATH | changed PATH | unchanged PATH, separated by `; `
    ```

    *Enforced*: what it says decides, and nobody's word replaces it.
    "#);
}

#[test]
fn the_contract_says_what_an_approval_means() {
    assert_snapshot!(check(&PLAN.replacen("## Contract", "## Con$0tract", 1)), @r#"
    ## Contract
    **r1-9f2c81d04a7e** of task `k3xf`: awaiting approval

    ```text
    writes only within: src/**, tests/**
    policy (edit): a model changes src/retry.rs (new), src/client.rs at Client::send, from the start; judged by `cargo check`
    tests (edit): a model changes tests/net.rs, after policy; judged by no new syntax error
    docs (edit): a model changes src/lib.rs, from the start; judged by no new syntax error
    command of policy: `cargo check` in a copy, not isolated, asks at a gate each time, or once for the plan
    accepted when `cargo test` holds
    command of acceptance: `cargo test` in a copy, not isolated, asks at a gate each time, or once for the plan
    advice (not enforced): keep it small
    cost: 3 steps ask a model; no bound on tokens
    ```

    To approve exactly this: the action "Agent: approve r1-9f2c81d04a7e and run it", or write `- approved: r1-9f2c81d04a7e` as the Contract's last item and save.
    "#);
    assert_snapshot!(check(&PLAN.replacen("after: policy", "after: polcy", 1).replacen("# Make", "# $0Make", 1)), @r#"
    Make retries configurable
    **r1-9f2c81d04a7e** of task `k3xf`: awaiting approval

    ```text
    writes only within: src/**, tests/**
    policy (edit): a model changes src/retry.rs (new), src/client.rs at Client::send, from the start; judged by `cargo check`
    tests (edit): a model changes tests/net.rs, from the start; judged by no new syntax error
    docs (edit): a model changes src/lib.rs, from the start; judged by no new syntax error
    command of policy: `cargo check` in a copy, not isolated, asks at a gate each time, or once for the plan
    accepted when `cargo test` holds
    command of acceptance: `cargo test` in a copy, not isolated, asks at a gate each time, or once for the plan
    advice (not enforced): keep it small
    cost: 3 steps ask a model; no bound on tokens
    ```

    It cannot be approved: 1 error.
    "#);
}

#[test]
fn a_step_says_its_order_and_cost() {
    assert_snapshot!(check(&PLAN.replacen("### policy", "### po$0licy", 1)), @r#"
    ### policy: Add RetryPolicy
    **policy**: not approved yet

    ```text
    policy (edit): a model changes src/retry.rs (new), src/client.rs at Client::send, from the start; judged by `cargo check`
    command of policy: `cargo check` in a copy, not isolated, asks at a gate each time, or once for the plan
    may run at the same time as docs
    cost: asks a model; at most 3 attempts and 2 repair rounds in each attempt
    ```
    "#);
    assert_snapshot!(check(&PLAN.replacen("after: policy", "after: pol$0icy", 1)), @r#"
    policy
    **policy**: not approved yet

    ```text
    policy (edit): a model changes src/retry.rs (new), src/client.rs at Client::send, from the start; judged by `cargo check`
    command of policy: `cargo check` in a copy, not isolated, asks at a gate each time, or once for the plan
    may run at the same time as docs
    cost: asks a model; at most 3 attempts and 2 repair rounds in each attempt
    ```
    "#);
}

#[test]
fn files_and_symbols_show_their_code() {
    assert_snapshot!(check(&PLAN.replacen("src/client.rs", "src/cl$0ient.rs", 1)), @r#"
    src/client.rs
    code of Some("src/client.rs") None
    "#);
    assert_snapshot!(check(&PLAN.replacen("Client::send", "Client$0::send", 1)), @r#"
    Client::send
    code of Some("src/client.rs") Some("Client::send")
    "#);
    assert_snapshot!(check(&PLAN.replacen("`src/**`", "`src/*$0*`", 1)), @"nothing");
    assert_snapshot!(check(&PLAN.replacen("Put it", "Put$0 it", 1)), @"nothing");
}

#[test]
fn code_is_cut_and_cannot_leave_its_fence() {
    let text = format!("```\n[click](command:evil)\n{}", "x\n".repeat(40));
    let view = CodeView { path: WorkspacePath::new("a/b.rs").unwrap(), range: 0..9, line: 4, text };
    let shown = hover::code(&view);
    assert!(shown.starts_with("`a/b.rs:5`\n\n````rust\n```\n[click]"), "{shown}");
    assert!(shown.ends_with("x\n````\n\n… 12 lines more"), "{shown}");
}

#[test]
fn names_lead_to_what_they_name() {
    assert_snapshot!(leads(&PLAN.replacen("src/client.rs", "src/cl$0ient.rs", 1)), @r#"Some("src/client.rs") None"#);
    assert_snapshot!(leads(&PLAN.replacen("Client::send", "$0Client::send", 1)), @r#"Some("src/client.rs") Some("Client::send")"#);
    assert_snapshot!(leads(&PLAN.replacen("after: policy", "after: $0policy", 1)), @"### policy: Add RetryPolicy");
    assert_snapshot!(leads(&PLAN.replacen("### tests", "### te$0sts", 1)), @r#"Some("tests/net.rs") None"#);
    assert_snapshot!(leads(&PLAN.replacen("`cargo check`", "`car$0go check`", 1)), @"nowhere");
}

#[test]
fn a_task_page_leads_to_the_plan() {
    let mut dossier = planned();
    let mut page = fixture::page(PLAN);
    page.plan = std::sync::Arc::new(parse(PLAN).plan);
    dossier.page = Some(std::sync::Arc::new(page));
    let line = |text: &str| {
        let (text, at) = cursor(text);
        let line = jump::from_page(&text, at, &dossier).unwrap();
        PLAN.lines().nth(line as usize).unwrap()
    };
    assert_snapshot!(line("- `tests` waiting$0 for policy"), @"### policy: Add RetryPolicy");
    assert_snapshot!(line("nothing $0here"), @"# Make retries configurable");
}
