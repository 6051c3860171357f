//! Outline, folding, and tasks and steps by words.

use super::super::find::find;
use super::super::outline::{Part, folds, outline};
use super::*;
use crate::desk::Desk;
use insta::assert_snapshot;
use std::fmt::Write as _;
use std::sync::Arc;

fn render(text: &str, parts: &[Part], depth: usize, out: &mut String) {
    for part in parts {
        let within = part.range.start <= part.selection.start && part.selection.end <= part.range.end;
        assert!(within, "{part:?}");
        let detail = part.detail.as_deref().unwrap_or("");
        let lines = text.get(part.range.clone()).unwrap().lines().count();
        let _ = writeln!(out, "{}{} | {detail} | {lines} lines", "  ".repeat(depth), part.name);
        render(text, &part.children, depth + 1, out);
    }
}

#[test]
fn the_outline_has_contract_steps_and_notes() {
    let scene = Scene::new(PLAN).of_task(Some(running(vec![], TaskState::Running)));
    let mut out = String::new();
    render(PLAN, &outline(&scene.moment()), 0, &mut out);
    assert_snapshot!(out, @r#"
    Contract |  | 5 lines
      scope | `src/**`, `tests/**` | 1 lines
      accept | `cargo test` | 1 lines
      advice | keep it small | 1 lines
    policy: Add RetryPolicy | waiting for policy | 6 lines
      edit | `src/retry.rs` (new), `src/client.rs` (focus `Client::send`) | 1 lines
      check | `cargo check` | 1 lines
    tests: Cover the policy | waiting for policy | 4 lines
      edit | `tests/net.rs` | 1 lines
      after | policy | 1 lines
    docs: Say so | edit | 4 lines
      edit | `src/lib.rs` | 1 lines
      after | none | 1 lines
    Notes |  | 3 lines
    "#);
}

#[test]
fn sections_steps_notes_and_comments_fold() {
    let text = PLAN.replacen(
        "beside the client.",
        "beside the client.\n\n```\n## no heading\n```\n\n> note: one\n> two\n\n<!--\nx\n-->",
        1,
    );
    let scene = Scene::new(&text);
    let shown: Vec<String> = folds(&scene.moment())
        .into_iter()
        .map(|(first, last, comment)| {
            let line = |n: u32| text.lines().nth(n as usize).unwrap();
            format!("{} … {}{}", line(first), line(last), if comment { " (comment)" } else { "" })
        })
        .collect();
    assert_snapshot!(shown.join("\n"), @r#"
    ## Contract … - advice: keep it small
    ## Steps … - after: none
    ### policy: Add RetryPolicy … -->
    > note: one … > two (comment)
    <!-- … --> (comment)
    ### tests: Cover the policy … - after: policy
    ### docs: Say so … - after: none
    ## Notes … Why: anything.
    "#);
}

#[test]
fn tasks_and_steps_are_found_by_words() {
    let mut dossier = running(vec![], TaskState::Running);
    let mut page = fixture::page(PLAN);
    page.plan = Arc::new(parse(PLAN).plan);
    dossier.page = Some(Arc::new(page));
    let place = Surroundings { root: "/w".into(), ..Surroundings::default() };
    let desk = Desk { place, tasks: vec![Arc::new(dossier)] };
    let found = |query: &str| {
        let found = find(&desk, query).into_iter();
        let line = |one: super::super::find::Found| {
            format!("{} ({}) {}:{}", one.name, one.container, one.page.display(), one.line)
        };
        found.map(line).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(found("RETRIES run"), @"make retries configurable (k3xf, running) /w/.planwright/tasks/k3xf/task.md:0");
    assert_snapshot!(found("cover"), @"tests: Cover the policy (waiting for policy; make retries configurable) /w/.planwright/tasks/k3xf/retries.plan.md:19");
    assert_snapshot!(found("nothing like it"), @"");
}
