#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a broken expectation is to fail its test"
)]

use super::board::{Board, Changes};
use super::fixture::*;
use super::menu::{Here, actions, is_wanted, lenses};
use super::sheets::Sheets;
use super::walk::From;
use super::*;
use crate::desk::fixture::story;
use crate::desk::{Desk, Dossier, ItemView};
use crate::domain::change::{Decision, Entry, Flag};
use crate::domain::task::event::Event;
use crate::domain::task::standing::TaskState;
use crate::domain::text::Encoding;
use insta::assert_snapshot;
use std::sync::Arc;
use tower_lsp::lsp_types::*;

const BEFORE: &str = "use a;\n\nfn send() {\n    retry(3);\n}\n\n// end\n";
const AFTER: &str = "use a;\n\nfn send() {\n    retry(policy.attempts);\n}\n\n// end\nfn more() {}\n";

fn net() -> Dossier {
    task("k3xf", vec![change("src/net.rs", &file(BEFORE), &file(AFTER))])
}

/// What a file shows.
fn shown(desk: &Desk, texts: &dyn Texts, name: &str) -> String {
    rendered(&hunks::diagnostics(&hunks::placed(desk, &path(name), texts, Encoding::Utf16)))
}

#[test]
fn an_unopened_file_shows_its_hunks_where_the_desk_has_them() {
    assert_snapshot!(shown(&desk(vec![net()]), &Shut, "src/net.rs"), @r#"
    3:0-3:13 information hunk
    policy: Add RetryPolicy (open)
    -     retry(3);
    +     retry(policy.attempts);
    verdict: `cargo check` passes

    6:6 information hunk
    policy: Add RetryPolicy (open)
    + fn more() {}
    verdict: `cargo check` passes
    "#);
}

#[test]
fn an_open_file_shows_them_where_its_text_has_them() {
    let moved = BEFORE.replace("use a;\n", "use a;\nuse 😀;\n");
    assert_snapshot!(shown(&desk(vec![net()]), &Open::with("src/net.rs", &moved), "src/net.rs"), @r#"
    4:0-4:13 information hunk
    policy: Add RetryPolicy (open)
    -     retry(3);
    +     retry(policy.attempts);
    verdict: `cargo check` passes

    7:6 information hunk
    policy: Add RetryPolicy (open)
    + fn more() {}
    verdict: `cargo check` passes
    "#);
}

#[test]
fn accepted_in_the_buffer_touched_and_rejected_hunks_say_so() {
    let half = BEFORE.replace("retry(3)", "retry(policy.attempts)");
    assert_snapshot!(shown(&desk(vec![net()]), &Open::with("src/net.rs", &half), "src/net.rs"), @r#"
    3:0-3:27 hint hunk
    policy: Add RetryPolicy (accepted, not saved)
    save the file to make it last

    6:6 information hunk
    policy: Add RetryPolicy (open)
    + fn more() {}
    verdict: `cargo check` passes
    "#);
    let other = BEFORE.replace("retry(3)", "retry(5)");
    assert_snapshot!(shown(&desk(vec![net()]), &Open::with("src/net.rs", &other), "src/net.rs"), @r#"
    3:0-3:13 warning hunk
    policy: Add RetryPolicy (touched)
    neither the old nor the new text stands here; below, yours (-) and the proposal (+)
    -     retry(5);
    +     retry(policy.attempts);
    verdict: `cargo check` passes

    6:6 information hunk
    policy: Add RetryPolicy (open)
    + fn more() {}
    verdict: `cargo check` passes
    "#);
    let mut rejected = net();
    let hunks = review(&rejected.changes[0], &file(BEFORE), &[(0, Decision::Reject(None))]);
    rejected.hunks = Arc::new(hunks);
    assert_eq!(
        shown(&desk(vec![rejected]), &Open::with("src/net.rs", BEFORE), "src/net.rs").matches("hunk").count(),
        1
    );
}

#[test]
fn files_that_come_and_go_are_shown_at_their_first_line() {
    let changes = vec![
        change("src/new.rs", &Entry::Absent, &file("fn a() {}\nfn b() {}\n")),
        change("src/old.rs", &file("fn c() {}\n"), &Entry::Absent),
    ];
    let desk = desk(vec![task("k3xf", changes)]);
    assert_snapshot!(shown(&desk, &Shut, "src/new.rs"), @r#"
    0:0 information hunk
    policy: Add RetryPolicy (open)
    the file is new
    + fn a() {}
    + fn b() {}
    verdict: `cargo check` passes
    "#);
    assert_snapshot!(shown(&desk, &Shut, "src/old.rs"), @r#"
    0:0 information hunk
    policy: Add RetryPolicy (open)
    the file goes
    - fn c() {}
    verdict: `cargo check` passes
    "#);
}

#[test]
fn a_long_hunk_is_cut_and_keeps_its_remarks() {
    let long: String = (0..40).map(|n| format!("{n} {}\n", "x".repeat(300))).collect();
    let mut dossier = task("k3xf", vec![change("a.txt", &file("a\n"), &file(&long))]);
    let mut hunks = dossier.hunks.to_vec();
    hunks[0].flags = vec![Flag::OutsideFocus("`send`".to_owned()), Flag::Measure("tests/net.rs".to_owned())];
    dossier.hunks = Arc::new(hunks);
    let said = hunks::diagnostics(&hunks::placed(&desk(vec![dossier]), &path("a.txt"), &Shut, Encoding::Utf8));
    assert!(said[0].message.lines().count() <= words::HEIGHT);
    assert!(said[0].message.lines().all(|line| line.chars().count() <= words::WIDTH + 3), "{}", said[0].message);
    assert!(said[0].message.contains("outside the focus") && said[0].message.contains("verdict"));
}

#[test]
fn columns_are_counted_as_the_client_counts() {
    let dossier = task("k3xf", vec![change("a.txt", &file("😀é\n"), &file("b\n"))]);
    let desk = desk(vec![dossier]);
    let ends = |texts: &dyn Texts| {
        [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32]
            .map(|encoding| hunks::placed(&desk, &path("a.txt"), texts, encoding)[0].range.end.character)
    };
    assert_eq!(ends(&Shut), [6, 3, 2]);
    assert_eq!(ends(&Open::with("a.txt", "😀é\n")), [6, 3, 2]);
}

#[test]
fn a_lone_cr_is_no_line_in_any_editor() {
    let (old, new) = ("a\rb\n\n- edit: `src/net.rs`\n", "a\rb\n\n- edit: `src/other.rs`\n");
    let desk = desk(vec![task("k3xf", vec![change("a.txt", &file(old), &file(new))])]);
    let first = |texts: &dyn Texts| shown(&desk, texts, "a.txt").lines().next().unwrap().to_owned();
    assert_eq!(first(&Shut), "2:0-2:20 information hunk");
    assert_eq!(first(&Open::with("a.txt", old)), "2:0-2:20 information hunk");
}

#[test]
fn a_command_that_is_cut_is_not_allowed_by_its_title() {
    let line = format!("cargo test {}", ["--quiet"; 60].join(" "));
    let mut events = story();
    let until = events.iter().position(|(_, event)| matches!(event, Event::GateOpened { .. })).unwrap();
    events.truncate(until);
    events.push((90_010, crate::desk::fixture::gate_opened("g1", &line)));
    let blocked = TaskState::Blocked { why: String::new(), next: String::new() };
    let dossier = crate::desk::fixture::dossier("k3xf", events, blocked);
    let titles: Vec<String> = offers::at_gates(&dossier).into_iter().map(|offer| offer.title).collect();
    assert_snapshot!(titles.join("\n"), @r"
    allow the command of gate g1 (whole on the task's page) once
    allow the command of gate g1 (whole on the task's page) for this plan
    deny the command of gate g1 (whole on the task's page)
    ");
    let page = crate::desk::page::task(&dossier, &crate::desk::page::Aids::default());
    assert!(page.contains(&format!("```sh\n{}\n```", line)), "{page}");
    let (_, mut sheets) = sheets_of(desk(vec![dossier]), &Shut);
    let said = sent(&mut sheets);
    assert!(said.contains("(cut here; the whole of it stands on the task's page at gate g1)"), "{said}");
}

#[test]
fn hunks_are_decided_on_the_review_page() {
    let mut dossier = net();
    let text = crate::desk::page::review(&dossier);
    let page = path(".planwright/tasks/k3xf/review.md");
    let open = Open::with(page.as_str(), &text);
    let row = |nth: usize| {
        let heading = text.lines().enumerate().filter(|(_, line)| line.starts_with("## h")).nth(nth);
        u32::try_from(heading.unwrap().0).unwrap()
    };
    let first = dossier.hunks[0].id.clone();
    let only_first = |desk: &Desk, line| {
        let menu = actions(desk, &open, &at(&page, line, &[]));
        menu.iter().map(|action| action.title.replace(first.as_str(), "FIRST")).collect::<Vec<_>>().join("; ")
    };
    let both = desk(vec![net()]);
    assert_eq!(only_first(&both, 0), "");
    let offered = "Agent: accept hunk FIRST (policy); Agent: reject hunk FIRST (policy)";
    assert_eq!(only_first(&both, row(0)), offered);
    assert_eq!(only_first(&both, row(1) - 1), offered);
    assert!(only_first(&both, row(1)).contains("accept hunk h"));
    let lenses = lenses(&both, &open, &page, Encoding::Utf16);
    let at: Vec<u32> = lenses.iter().map(|lens| lens.range.start.line).collect();
    assert_eq!(at, [row(0), row(0), row(1), row(1)]);
    dossier.hunks = Arc::new(review(&dossier.changes[0], &file(BEFORE), &[(0, Decision::Reject(None))]));
    assert_eq!(only_first(&desk(vec![dossier]), row(0)), "");
}

/// The menu as a list of titles; the preferred one is starred, a quick fix is marked.
fn titles(actions: &[CodeAction]) -> String {
    let line = |action: &CodeAction| {
        let star = if action.is_preferred == Some(true) { "* " } else { "" };
        let kind = action.kind.as_ref().map_or("none", CodeActionKind::as_str);
        let command = action.command.as_ref().unwrap();
        assert!(action.edit.is_none() && action.disabled.is_none());
        let arguments = serde_json::to_string(&command.arguments).unwrap();
        let id = regex::Regex::new("h[0-9a-f]{8}").unwrap();
        let line = format!("{star}{} [{kind}] {} {arguments}", action.title, command.command);
        id.replace_all(&line, "h…").into_owned()
    };
    actions.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn at<'a>(path: &'a WorkspacePath, line: u32, problems: &'a [Diagnostic]) -> Here<'a> {
    let position = Position { line, character: 4 };
    Here {
        path,
        range: Range { start: position, end: position },
        encoding: Encoding::Utf16,
        asked: true,
        problems,
        item: None,
    }
}

#[test]
fn a_hunk_is_accepted_by_the_first_action_and_the_only_preferred_one() {
    let (desk, net) = (desk(vec![net()]), path("src/net.rs"));
    let open = Open::with("src/net.rs", BEFORE);
    assert_snapshot!(titles(&actions(&desk, &open, &at(&net, 3, &[]))), @r#"
    * Agent: accept hunk h… (policy) [quickfix] planwright.accept [{"task":"k3xf","hunks":["h…"]}]
    Agent: reject hunk h… (policy) [quickfix] planwright.reject [{"task":"k3xf","hunks":["h…"]}]
    Agent: reject hunk h… with a reason… (policy) [refactor] planwright.reject [{"task":"k3xf","hunks":["h…"],"ask":true}]
    Agent: accept 2 hunks of net.rs [refactor] planwright.accept [{"task":"k3xf","hunks":["h…","h…"]}]
    Agent: reject 2 hunks of net.rs [refactor] planwright.reject [{"task":"k3xf","hunks":["h…","h…"]}]
    Agent: explain hunk h… [refactor] planwright.why [{"task":"k3xf","hunks":["h…"]}]
    Agent: go to the next hunk [refactor] planwright.nextHunk [{"path":"src/net.rs","line":4}]
    Agent: go to the hunk before [refactor] planwright.previousHunk [{"path":"src/net.rs","line":4}]
    Agent: open the task page (k3xf waits for a decision on 2 hunks) [refactor] planwright.status [{"task":"k3xf"}]
    Agent: plan change… [refactor] planwright.plan [{"path":"src/net.rs","line":4,"last":4}]
    Agent: change src/net.rs (writes only that file; checked as the project is)… [refactor] planwright.changeItem [{"path":"src/net.rs","line":4,"last":4}]
    Agent: ask… [refactor] planwright.ask [{"path":"src/net.rs","line":4,"last":4}]
    "#);
    let light = Here { asked: false, ..at(&net, 3, &[]) };
    assert_snapshot!(titles(&actions(&desk, &open, &light)), @r#"
    * Agent: accept hunk h… (policy) [quickfix] planwright.accept [{"task":"k3xf","hunks":["h…"]}]
    Agent: reject hunk h… (policy) [quickfix] planwright.reject [{"task":"k3xf","hunks":["h…"]}]
    "#);
    assert_eq!(actions(&desk, &open, &Here { asked: false, ..at(&net, 1, &[]) }), []);
}

#[test]
fn what_was_decided_can_be_taken_back_only_as_far_as_the_text_allows() {
    let mut dossier = net();
    let accepted = BEFORE.replace("retry(3)", "retry(policy.attempts)");
    let decided = [(0, Decision::Accept), (1, Decision::Reject(None))];
    dossier.hunks = Arc::new(review(&dossier.changes[0], &file(&accepted), &decided));
    let (desk, net) = (desk(vec![dossier]), path("src/net.rs"));
    let menu = |text: &str, line| {
        titles(&actions(&desk, &Open::with("src/net.rs", text), &Here { asked: true, ..at(&net, line, &[]) }))
    };
    assert_snapshot!(menu(&accepted, 3), @r#"
    Agent: undo accepting hunk h… (policy) [refactor] planwright.undo [{"task":"k3xf","hunks":["h…"]}]
    Agent: plan change… [refactor] planwright.plan [{"path":"src/net.rs","line":4,"last":4}]
    Agent: change src/net.rs (writes only that file; checked as the project is)… [refactor] planwright.changeItem [{"path":"src/net.rs","line":4,"last":4}]
    Agent: ask… [refactor] planwright.ask [{"path":"src/net.rs","line":4,"last":4}]
    "#);
    assert_snapshot!(menu(&accepted, 6), @r#"
    Agent: undo rejecting hunk h… (policy) [refactor] planwright.undo [{"task":"k3xf","hunks":["h…"]}]
    Agent: plan change… [refactor] planwright.plan [{"path":"src/net.rs","line":7,"last":7}]
    Agent: change src/net.rs (writes only that file; checked as the project is)… [refactor] planwright.changeItem [{"path":"src/net.rs","line":7,"last":7}]
    Agent: ask… [refactor] planwright.ask [{"path":"src/net.rs","line":7,"last":7}]
    "#);
    assert_snapshot!(menu(&accepted.replace("policy.attempts", "policy.tries"), 3), @r#"
    Agent: keep mine at hunk h… (policy) [refactor] planwright.resolve [{"task":"k3xf","hunk":"h…","side":"mine","shown":"2e1c51b799aa1bbba8b48dd9472e86e12fd34fd98958dfbc2320d1a51b91b7e4"}]
    Agent: take theirs at hunk h… (policy) [refactor] planwright.resolve [{"task":"k3xf","hunk":"h…","side":"theirs","shown":"2e1c51b799aa1bbba8b48dd9472e86e12fd34fd98958dfbc2320d1a51b91b7e4"}]
    Agent: reject hunk h… with a reason… (policy) [refactor] planwright.reject [{"task":"k3xf","hunks":["h…"],"ask":true}]
    Agent: explain hunk h… [refactor] planwright.why [{"task":"k3xf","hunks":["h…"]}]
    Agent: go to the next hunk [refactor] planwright.nextHunk [{"path":"src/net.rs","line":4}]
    Agent: go to the hunk before [refactor] planwright.previousHunk [{"path":"src/net.rs","line":4}]
    Agent: plan change… [refactor] planwright.plan [{"path":"src/net.rs","line":4,"last":4}]
    Agent: change src/net.rs (writes only that file; checked as the project is)… [refactor] planwright.changeItem [{"path":"src/net.rs","line":4,"last":4}]
    Agent: ask… [refactor] planwright.ask [{"path":"src/net.rs","line":4,"last":4}]
    "#);
}

#[test]
fn a_place_beyond_every_line_is_none() {
    let desk = desk(Vec::new());
    let menu = titles(&actions(&desk, &Shut, &at(&path("src/other.rs"), u32::MAX, &[])));
    assert!(menu.contains("Agent: plan change…"), "{menu}");
}

/// Four tasks that wait each in their way, and one that waits for nobody; in the order of their opening.
fn several() -> Desk {
    let paused = Dossier { state: TaskState::Paused, ..task("k2aa", Vec::new()) };
    let approval = Dossier { state: TaskState::AwaitingApproval, ..task("k3bb", Vec::new()) };
    let busy = Dossier { state: TaskState::Running, ..task("k5dd", Vec::new()) };
    let left = Dossier { state: TaskState::Running, carried: false, ..task("k6ee", Vec::new()) };
    desk(vec![paused, approval, gated(), busy, left])
}

#[test]
fn from_any_file_there_is_a_way_to_what_waits() {
    let (desk, file) = (several(), path("src/other.rs"));
    let menu = titles(&actions(&desk, &Shut, &at(&file, 3, &[])));
    assert_snapshot!(menu.lines().take(4).collect::<Vec<_>>().join("\n"), @r#"
    Agent: open the task page (k6ee waits for `resume`: the process that was at it ended) [refactor] planwright.status [{"task":"k6ee"}]
    Agent: open the task page (k3xf waits for an answer at gate g1: policy: may `cargo check -p net` run?) [refactor] planwright.status [{"task":"k3xf"}]
    Agent: open the task page (k3bb waits for approval of r1-1f2c81d04a7e) [refactor] planwright.status [{"task":"k3bb"}]
    Agent: plan change… [refactor] planwright.plan [{"path":"src/other.rs","line":4,"last":4}]
    "#);
    assert_eq!(actions(&desk, &Shut, &Here { asked: false, ..at(&file, 3, &[]) }), []);
    // Nobody is sent to where they are.
    let page = path(".planwright/tasks/k6ee/task.md");
    let there = titles(&actions(&desk, &Shut, &at(&page, 0, &[])));
    assert!(!there.contains("k6ee waits"), "{there}");
    assert!(there.contains("k2aa waits for `resume`: it was paused"), "{there}");
    let review = task("k3xf", vec![change("src/net.rs", &self::file(BEFORE), &self::file(AFTER))]);
    let menu = titles(&actions(&self::desk(vec![review]), &Shut, &at(&file, 0, &[])));
    assert!(menu.starts_with("Agent: open the task page (k3xf waits for a decision on 2 hunks) ["), "{menu}");
}

#[test]
fn what_waits_has_a_lens_where_its_goal_was_given() {
    let said = |name: &str, text: &str| {
        let lenses = lenses(&several(), &Open::with(name, text), &path(name), Encoding::Utf16);
        let line = |lens: &CodeLens| format!("{}: {}", lens.range.start.line, lens.command.as_ref().unwrap().title);
        lenses.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(said("src/net.rs", BEFORE), @r"
    3: Agent: open the task page (k6ee waits for `resume`: the process that was at it ended)
    3: Agent: open the task page (k3xf waits for an answer at gate g1: policy: may `cargo check -p net` run?)
    3: Agent: open the task page (k3bb waits for approval of r1-1f2c81d04a7e)
    3: Agent: open the task page (k2aa waits for `resume`: it was paused)
    ");
    assert!(said("src/net.rs", "short\n").starts_with("0: "));
    assert_eq!(said("src/other.rs", BEFORE), "");
}

#[test]
fn nobody_approves_before_reading() {
    let dossier = Dossier { state: TaskState::AwaitingApproval, ..task("k3bb", Vec::new()) };
    let dossier = Dossier {
        task: Arc::new(crate::domain::task::state::Task { approval: None, ..(*dossier.task).clone() }),
        ..dossier
    };
    let page = path(".planwright/tasks/k3bb/task.md");
    let menu = titles(&actions(&desk(vec![dossier]), &Shut, &at(&page, 0, &[])));
    assert_snapshot!(menu, @r#"
    Agent: open the plan [refactor] planwright.openPlan [{"task":"k3bb"}]
    Agent: approve r1-1f2c81d04a7e and run it (2 steps) [refactor] planwright.approve [{"task":"k3bb","revision":"r1-1f2c81d04a7e"}]
    Agent: show what happened [refactor] planwright.openTimeline [{"task":"k3bb"}]
    Agent: abandon the task; accepted hunks stay [refactor] planwright.abandon [{"task":"k3bb"}]
    "#);
}

#[test]
fn a_hunk_of_the_goal_itself_is_named_by_its_words() {
    let mut dossier = net();
    let hunks = dossier.hunks.iter().cloned().map(|mut hunk| {
        hunk.step = crate::domain::ids::StepId::new("the goal");
        hunk
    });
    dossier.hunks = Arc::new(hunks.collect());
    let said = shown(&desk(vec![dossier]), &Shut, "src/net.rs");
    assert!(said.contains("the goal: make retries configurable (open)"), "{said}");
}

#[test]
fn the_proposals_side_of_a_touched_hunk_has_a_place_of_its_own() {
    let other = BEFORE.replace("retry(3)", "retry(4)");
    let (desk, net) = (desk(vec![net()]), path("src/net.rs"));
    let said = hunks::diagnostics(&hunks::placed(&desk, &net, &Open::with("src/net.rs", &other), Encoding::Utf16));
    let uri = tower_lsp::lsp_types::Url::parse("file:///w/src/net.rs").unwrap();
    let related: Vec<String> = hunks::with_related(&uri, said)
        .into_iter()
        .map(|one| one.related_information.into_iter().flatten().map(|other| other.message).collect())
        .collect();
    assert_eq!(related, ["the proposal:\n+     retry(policy.attempts);", ""]);
}

#[test]
fn theirs_is_offered_only_where_it_is_known_exactly_what_gives_way() {
    let mut dossier = net();
    let lost = BEFORE.replace("fn send() {\n    retry(3);\n}", "fn other() {\n    wait();");
    dossier.hunks = Arc::new(review(&dossier.changes[0], &file(&lost), &[]));
    let (desk, net) = (desk(vec![dossier]), path("src/net.rs"));
    let here = Here { asked: true, ..at(&net, 3, &[]) };
    let titles = titles(&actions(&desk, &Open::with("src/net.rs", &lost), &here));
    assert!(titles.contains("Agent: keep mine at hunk") && !titles.contains("take theirs"), "{titles}");
}

#[test]
fn a_comment_and_problems_of_others_are_offered_to_a_person_who_asks() {
    let text = "// agent: make it so\nlet a = b;\n";
    let theirs = Diagnostic {
        message: "cannot find value `b`\nin this scope".to_owned(),
        source: Some("rustc".to_owned()),
        code: Some(NumberOrString::String("E0425".to_owned())),
        ..Diagnostic::default()
    };
    let ours = diagnostic(Range::default(), DiagnosticSeverity::HINT, "ours".to_owned());
    let (path, desk) = (path("src/a.rs"), desk(Vec::new()));
    assert_snapshot!(titles(&actions(&desk, &Open::with("src/a.rs", text), &at(&path, 0, &[theirs, ours]))), @r#"
    Agent: plan this comment [refactor] planwright.plan [{"goal":"make it so","path":"src/a.rs","line":1,"last":1,"comment":{"line":1,"text":"// agent: make it so\n"}}]
    Agent: fix this problem: cannot find value `b`…; change src/a.rs (writes only that file; checked as the project is) [quickfix] planwright.fixProblem [{"path":"src/a.rs","line":1,"last":1,"problem":{"message":"cannot find value `b`\nin this scope","code":"E0425","source":"rustc","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}}]
    Agent: plan change… [refactor] planwright.plan [{"path":"src/a.rs","line":1,"last":1}]
    Agent: change src/a.rs (writes only that file; checked as the project is)… [refactor] planwright.changeItem [{"path":"src/a.rs","line":1,"last":1}]
    Agent: ask… [refactor] planwright.ask [{"path":"src/a.rs","line":1,"last":1}]
    "#);
    let light = Here { asked: false, ..at(&path, 0, &[]) };
    assert_eq!(actions(&desk, &Open::with("src/a.rs", text), &light), []);
    let item = ItemView { symbol: Some("send".to_owned()), lines: (1, 2), check: Some("cargo check".to_owned()) };
    let known = titles(&actions(&desk, &Shut, &Here { item: Some(&item), ..at(&path, 1, &[]) }));
    assert!(
        known.contains("Agent: change `send` in src/a.rs (writes only that file; check: cargo check)… ["),
        "{known}"
    );
}

#[test]
fn only_kinds_that_were_asked_for_are_listed() {
    let action = |kind: &'static str| CodeAction { kind: Some(CodeActionKind::from(kind)), ..CodeAction::default() };
    let wanted = |kind, only: &[&'static str]| {
        let only: Vec<CodeActionKind> = only.iter().map(|kind| CodeActionKind::from(*kind)).collect();
        is_wanted(&action(kind), Some(&only))
    };
    assert!(is_wanted(&action("quickfix"), None));
    assert!(wanted("quickfix", &["refactor", "quickfix"]));
    assert!(wanted("refactor.rewrite", &["refactor"]));
    assert!(wanted("refactor", &[""]));
    assert!(!wanted("refactor", &["refactor.rewrite"]));
    assert!(!wanted("quickfix", &["source.fixAll"]));
}

/// A task that waits at a gate.
fn gated() -> Dossier {
    let mut events = story();
    let until = events.iter().position(|(_, event)| matches!(event, Event::GateDecided { .. })).unwrap();
    events.truncate(until);
    let blocked = TaskState::Blocked { why: "policy: may `cargo check -p net` run?".to_owned(), next: String::new() };
    let page = net().page;
    Dossier { page, ..crate::desk::fixture::dossier("k3xf", events, blocked) }
}

fn sheets_of(desk: Desk, texts: &dyn Texts) -> (Board, Sheets) {
    let (mut board, mut sheets) = (Board::default(), Sheets::default());
    let changes = board.take(Arc::new(desk));
    board.lay(&changes, texts, Encoding::Utf16, &mut sheets);
    (board, sheets)
}

fn sent(sheets: &mut Sheets) -> String {
    let at = |path: &WorkspacePath| Some((Url::parse(&format!("file:///w/{path}")).unwrap(), None));
    let files = sheets
        .differences(at)
        .into_iter()
        .map(|params| format!("== {}\n{}", params.uri.path(), rendered(&params.diagnostics)));
    files.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_gate_is_seen_on_the_page_and_at_its_step_and_its_answers_are_no_quick_fixes() {
    let (_, mut sheets) = sheets_of(desk(vec![gated()]), &Shut);
    assert_snapshot!(sent(&mut sheets), @r#"
    == /w/.planwright/tasks/k3xf/retries.plan.md
    4:0-4:27 warning g1
    gate g1: policy: may `cargo check -p net` run? (in a copy, not isolated)
    run it, this once (planwright gate k3xf g1 allow)
    and do not ask again for this command under this revision (planwright gate k3xf g1 allow --for-plan)
    do not run it (planwright gate k3xf g1 deny)
    == /w/.planwright/tasks/k3xf/task.md
    0:0 warning g1
    gate g1: policy: may `cargo check -p net` run? (in a copy, not isolated)
    run it, this once (planwright gate k3xf g1 allow)
    and do not ask again for this command under this revision (planwright gate k3xf g1 allow --for-plan)
    do not run it (planwright gate k3xf g1 deny)

    0:0 information state
    blocked: make retries configurable
    policy: may `cargo check -p net` run?
    "#);
    let page = path(".planwright/tasks/k3xf/task.md");
    let menu = actions(&desk(vec![gated()]), &Shut, &at(&page, 0, &[]));
    assert_snapshot!(titles(&menu), @r#"
    Agent: allow `cargo check -p net` once [refactor] planwright.gate [{"task":"k3xf","gate":"g1","answer":"allow"}]
    Agent: allow `cargo check -p net` for this plan [refactor] planwright.gate [{"task":"k3xf","gate":"g1","answer":"allow_for_plan"}]
    Agent: deny `cargo check -p net` [refactor] planwright.gate [{"task":"k3xf","gate":"g1","answer":"deny"}]
    Agent: open the plan [refactor] planwright.openPlan [{"task":"k3xf"}]
    Agent: show what happened [refactor] planwright.openTimeline [{"task":"k3xf"}]
    Agent: abandon the task; accepted hunks stay [refactor] planwright.abandon [{"task":"k3xf"}]
    "#);
}

#[test]
fn a_failure_says_what_was_tried_and_what_to_do() {
    let failed = TaskState::Blocked { why: "step policy: check".to_owned(), next: String::new() };
    let dossier = Dossier { page: net().page, ..crate::desk::fixture::dossier("k3xf", story(), failed) };
    let (_, mut sheets) = sheets_of(desk(vec![dossier]), &Shut);
    assert_snapshot!(sent(&mut sheets), @r#"
    == /w/.planwright/tasks/k3xf/task.md
    0:0 warning failed
    policy failed: `cargo check -p net` still fails after 1 repair round
    attempt 1, 1 repair round: failed (check): `cargo check -p net` still fails after 1 repair round
      `cargo check -p net` failed: exit code 101
      error[E0433]: unresolved import `Retry`
       --> src/client.rs:3
    next: say what to mind at the next attempt (planwright say k3xf "…" --step policy)
    next: try the step again (planwright retry k3xf policy)
    next: edit the plan, then approve it again (planwright show k3xf)

    0:0 information state
    blocked: make retries configurable
    step policy: check
    "#);
}

#[test]
fn a_desk_lays_what_differs_and_takes_back_what_is_gone() {
    let (mut board, mut sheets) = sheets_of(desk(vec![net()]), &Shut);
    assert!(sent(&mut sheets).contains("/w/src/net.rs"));
    let same = board.desk().clone();
    assert_eq!(board.take(same), Changes::default());
    let over = Dossier {
        task: Arc::new(crate::domain::task::state::Task {
            course: crate::domain::task::state::Course::Over(crate::domain::task::event::Ending::NothingKept),
            ..(*net().task).clone()
        }),
        ..net()
    };
    let changes = board.take(Arc::new(desk(vec![over])));
    board.lay(&changes, &Shut, Encoding::Utf16, &mut sheets);
    assert_eq!(sent(&mut sheets), "== /w/.planwright/tasks/k3xf/task.md\n\n== /w/src/net.rs\n");
}

#[test]
fn new_files_are_decided_on_the_page() {
    let dossier = || task("k3xf", vec![change("src/new.rs", &Entry::Absent, &file("fn a() {}\n"))]);
    let (_, mut sheets) = sheets_of(desk(vec![dossier()]), &Shut);
    let all = sent(&mut sheets);
    assert_eq!(all.matches("the file is new").count(), 2, "{all}");
    let page = path(".planwright/tasks/k3xf/task.md");
    let menu = titles(&actions(&desk(vec![dossier()]), &Shut, &at(&page, 0, &[])));
    assert_snapshot!(menu.lines().next().unwrap(), @r#"Agent: accept hunk h… (policy, new file src/new.rs) [quickfix] planwright.accept [{"task":"k3xf","hunks":["h…"]}]"#);
}

#[test]
fn lenses_stand_at_hunks_and_on_the_page() {
    let found = lenses(&desk(vec![net()]), &Open::with("src/net.rs", BEFORE), &path("src/net.rs"), Encoding::Utf16);
    let id = regex::Regex::new("h[0-9a-f]{8}").unwrap();
    let said: Vec<String> = found
        .iter()
        .map(|lens| format!("{} {}", lens.range.start.line, id.replace(&lens.command.as_ref().unwrap().title, "h…")))
        .collect();
    assert_snapshot!(said.join("\n"), @r#"
    3 Agent: accept h… (policy)
    3 reject
    6 Agent: accept h… (policy)
    6 reject
    "#);
}

#[test]
fn one_walks_over_all_files_and_around() {
    let changes = vec![
        change("src/a.rs", &file("a\n1\n2\n3\nb\n"), &file("A\n1\n2\n3\nB\n")),
        change("src/b.rs", &file("c\n"), &file("C\n")),
    ];
    let desk = desk(vec![task("k3xf", changes)]);
    let go = |from: Option<(&str, u32)>, forward| {
        let from = from.map(|(name, line)| (path(name), line));
        let from = from.as_ref().map_or(From::Nowhere, |(path, line)| From::Here(path, *line));
        let stop = walk::neighbour(&desk, &Shut, Encoding::Utf8, from, forward, None).unwrap();
        format!("{}:{}", stop.path, stop.range.start.line)
    };
    assert_eq!(go(None, true), "src/a.rs:0");
    assert_eq!(go(None, false), "src/b.rs:0");
    assert_eq!(go(Some(("src/a.rs", 0)), true), "src/a.rs:4");
    assert_eq!(go(Some(("src/a.rs", 4)), true), "src/b.rs:0");
    assert_eq!(go(Some(("src/b.rs", 0)), true), "src/a.rs:0");
    assert_eq!(go(Some(("src/a.rs", 4)), false), "src/a.rs:0");
    assert_eq!(go(Some(("src/a.rs", 0)), false), "src/b.rs:0");
    assert_eq!(go(Some(("src/zz.rs", 0)), true), "src/a.rs:0");
}

#[test]
fn the_only_hunk_is_gone_to_unless_one_is_at_it() {
    let desk = desk(vec![task("k3xf", vec![change("src/b.rs", &file("c\n"), &file("C\n"))])]);
    let b = path("src/b.rs");
    let go = |from| walk::neighbour(&desk, &Shut, Encoding::Utf8, from, true, None).map(|stop| stop.path);
    assert_eq!(go(From::Here(&b, 0)), None);
    // Who was led there may have gone elsewhere since.
    assert_eq!(go(From::Last(&b, 0)), Some(b.clone()));
}

#[test]
fn several_are_decided_by_name_and_uncertain_ones_alone() {
    let mut dossier = net();
    let ids = |dossier: &Dossier| dossier.hunks.iter().map(|hunk| hunk.id.to_string()).collect::<Vec<_>>();
    let bulk = |dossier: &Dossier| {
        let desk = desk(vec![dossier.clone()]);
        let offers = super::offers::at_task(&desk, &desk.tasks[0]);
        offers.into_iter().filter(|offer| offer.command == "accept").collect::<Vec<_>>()
    };
    let offers = bulk(&dossier);
    assert_eq!(
        (offers[0].title.as_str(), &offers[0].arguments["hunks"]),
        ("accept 2 hunks", &serde_json::json!(ids(&dossier)))
    );
    let mut hunks = (*dossier.hunks).clone();
    hunks[0].flags.push(crate::domain::change::Flag::Uncertain("a guess".to_owned()));
    dossier.hunks = Arc::new(hunks);
    let offers = bulk(&dossier);
    assert_eq!(
        (offers[0].title.as_str(), &offers[0].arguments["hunks"][0]),
        ("accept 1 hunk", &serde_json::json!(ids(&dossier)[1]))
    );
    assert!(offers.iter().all(|offer| offer.arguments.get("all").is_none()));
}

#[test]
fn a_problem_that_ends_where_a_line_begins_is_not_about_that_line() {
    let to = |line, character| Position { line, character };
    let theirs = Diagnostic {
        message: "no".to_owned(),
        range: Range { start: to(0, 0), end: to(1, 0) },
        ..Diagnostic::default()
    };
    let (path, desk) = (path("src/a.rs"), desk(Vec::new()));
    let menu = titles(&actions(&desk, &Shut, &at(&path, 0, &[theirs])));
    assert!(menu.contains(r#"planwright.fixProblem [{"path":"src/a.rs","line":1,"last":1,"#), "{menu}");
}

#[test]
fn glue_is_told_the_same_truth_and_nothing_twice() {
    let desk = desk(vec![
        net(),
        Dossier {
            task: Arc::new(crate::domain::task::state::Task { id: TaskId::new("m2ab"), ..(*gated().task).clone() }),
            ..gated()
        },
    ]);
    let mut told = glue::Told::default();
    let name = |path: &WorkspacePath| Url::parse(&format!("file:///w/{path}")).ok();
    assert!(told.tasks(&desk, name).is_some() && told.tasks(&desk, name).is_none());
    let ask = told.ask(&desk).unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&ask["gates"][0]["answers"][0]).unwrap(), @r#"
    {
      "title": "allow `cargo check -p net` once",
      "command": "planwright.gate",
      "arguments": [
        {
          "task": "m2ab",
          "gate": "g1",
          "answer": "allow"
        }
      ]
    }
    "#);
    assert_eq!(told.ask(&desk), None);
    let (path, uri) = (path("src/net.rs"), Url::parse("file:///w/src/net.rs").unwrap());
    let placed = hunks::placed(&desk, &path, &Shut, Encoding::Utf16);
    let said = told.hunks(&path, &uri, Some(3), &placed).unwrap();
    let mut first = said["hunks"][0].clone();
    first["id"] = "h…".into();
    assert_snapshot!(first.to_string(), @r#"{"id":"h…","task":"k3xf","range":{"start":{"line":3,"character":0},"end":{"line":3,"character":13}},"kind":"lines","old":"    retry(3);\n","new":"    retry(policy.attempts);\n","here":null,"step":"policy","reason":"Add RetryPolicy","flags":[],"verdict":"`cargo check` passes","state":"open"}"#);
    assert_eq!(told.hunks(&path, &uri, Some(3), &placed), None);
    assert_eq!(told.hunks(&path, &uri, None, &[]).unwrap()["hunks"].as_array().unwrap().len(), 0);
    assert_eq!(told.hunks(&path, &uri, None, &[]), None);
}

#[test]
fn what_only_the_disk_can_show_is_as_the_desk_has_it() {
    let text = "fn c() {}\n";
    let run = Entry::File { text: text.into(), mode: 0o755 };
    for after in [Entry::Absent, run] {
        let change = change("src/old.rs", &file(text), &after);
        let accepted = review(&change, &after, &[(0, Decision::Accept)]);
        let dossier = |hunks| Dossier { hunks: Arc::new(hunks), ..task("k3xf", vec![change.clone()]) };
        let open = Open::with("src/old.rs", text);
        assert_eq!(shown(&desk(vec![dossier(accepted)]), &open, "src/old.rs"), "");
        let pending = review(&change, &file(text), &[]);
        assert!(shown(&desk(vec![dossier(pending)]), &open, "src/old.rs").contains("(open)"));
    }
}
