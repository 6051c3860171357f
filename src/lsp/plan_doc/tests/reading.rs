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
        Some(hover::Wanted::Said { range, markdown }) => format!("{}\n{markdown}", text.get(range).unwrap()),
        Some(hover::Wanted::Code { range, path, symbol }) => {
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
        Some(jump::Wanted::Here(range)) => text.get(range).unwrap().trim_end().to_owned(),
        Some(jump::Wanted::Code { path, symbol }) => format!("{:?} {symbol:?}", path.map(|path| path.to_string())),
    }
}

#[test]
fn keys_say_what_binds() {
    assert_snapshot!(check(&PLAN.replacen("- advice", "- ad$0vice", 1)), @"");
    assert_snapshot!(check(&PLAN.replacen("- check", "- $0check", 1)), @"");
}

#[test]
fn the_contract_says_what_an_approval_means() {
    assert_snapshot!(check(&PLAN.replacen("## Contract", "## Con$0tract", 1)), @"");
    assert_snapshot!(check(&PLAN.replacen("after: policy", "after: polcy", 1).replacen("# Make", "# $0Make", 1)), @"");
}

#[test]
fn a_step_says_its_order_and_cost() {
    assert_snapshot!(check(&PLAN.replacen("### policy", "### po$0licy", 1)), @"");
    assert_snapshot!(check(&PLAN.replacen("after: policy", "after: pol$0icy", 1)), @"");
}

#[test]
fn files_and_symbols_show_their_code() {
    assert_snapshot!(check(&PLAN.replacen("src/client.rs", "src/cl$0ient.rs", 1)), @"");
    assert_snapshot!(check(&PLAN.replacen("Client::send", "Client$0::send", 1)), @"");
    assert_snapshot!(check(&PLAN.replacen("`src/**`", "`src/*$0*`", 1)), @"");
    assert_snapshot!(check(&PLAN.replacen("Put it", "Put$0 it", 1)), @"");
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
    assert_snapshot!(leads(&PLAN.replacen("src/client.rs", "src/cl$0ient.rs", 1)), @"");
    assert_snapshot!(leads(&PLAN.replacen("Client::send", "$0Client::send", 1)), @"");
    assert_snapshot!(leads(&PLAN.replacen("after: policy", "after: $0policy", 1)), @"");
    assert_snapshot!(leads(&PLAN.replacen("### tests", "### te$0sts", 1)), @"");
    assert_snapshot!(leads(&PLAN.replacen("`cargo check`", "`car$0go check`", 1)), @"");
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
    assert_snapshot!(line("- `tests` waiting$0 for policy"), @"");
    assert_snapshot!(line("nothing $0here"), @"");
}
