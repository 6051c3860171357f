#![allow(clippy::unwrap_used, reason = "a broken expectation is to fail its test")]

use super::*;
use crate::desk::fixture::*;
use crate::desk::{Mode, ReviewHunk};
use crate::domain::change::{Decision, Flag, HunkState};
use crate::domain::plan::small;
use crate::domain::task::standing::TaskState;
use insta::assert_snapshot;
use std::sync::Arc;

const TEXT: &str = "# Make retries configurable\n\n## Steps\n\n### policy: Add RetryPolicy\n\n- edit: `src/net.rs`\n\n> question: how many?\n";

fn waiting() -> Dossier {
    let events = story().into_iter().take(6).collect();
    Dossier { page: Some(Arc::new(page(TEXT))), ..dossier("k3xf", events, TaskState::AwaitingApproval) }
}

#[test]
fn a_plan_in_the_making_says_what_is_known() {
    let events = vec![(0, opened("make retries configurable\n\nand document it"))];
    let sketch = Sketch { checks: vec!["cargo check -p net".to_owned()], because: "Cargo.toml".to_owned() };
    let aids = Aids { answers: Vec::new(), sketch: Some(sketch) };
    assert_snapshot!(task(&dossier("k3xf", events, TaskState::Planning), &aids), @r"
    # make retries configurable

    **planning** · task `k3xf`

    It waits for nobody: the plan is being made, and appears here.

    ```text
    make retries configurable

    and document it
    ```

    At `src/net.rs:4-9`.

    ## What you can do

    - follow it, or go on where a process ended: `planwright.resume` · `planwright resume k3xf`

    ## Plan

    Known so far:

    - it is about `src/net.rs`
    - it can be checked with `cargo check -p net` (Cargo.toml)
    ");
}

#[test]
fn a_plan_that_waits_for_approval_is_shown_with_what_it_means() {
    assert_snapshot!(task(&waiting(), &Aids::default()), @r#"
    # make retries configurable

    **awaiting approval** · task `k3xf`

    It waits for you: 1 question of the planner.

    At `src/net.rs:4-9`.

    ## What you can do

    - read the plan: `planwright.openPlan` · `planwright show k3xf`
    - approve exactly this revision: `planwright.approve` · `planwright approve k3xf --revision r1-1f2c81d04a7e`

    ## Plan `r1-1f2c81d04a7e`, not approved

    The document: [retries.plan.md](retries.plan.md)

    Question 1: how many?

    - answer it: `planwright.answer` · `planwright answer k3xf 1 "…"`

    What it means:

    - changes src/net.rs (policy)
    - runs `cargo check -p net`, each time at a gate
    - cost: not enforced, no price is known

    ## Steps

    - `policy` Add RetryPolicy
    - `tests` Cover the policy
    "#);
}

#[test]
fn a_failure_is_shown_with_its_next_steps() {
    let blocked = TaskState::Blocked { why: "step policy: check".to_owned(), next: "…".to_owned() };
    assert_snapshot!(task(&dossier("k3xf", story(), blocked), &Aids::default()), @r#"
    # make retries configurable

    **blocked** · task `k3xf`

    It waits for you: step policy: check

    At `src/net.rs:4-9`.

    ## Failed: policy (check)

    ```text
    `cargo check -p net` still fails after 1 repair round
    ```

    Tried:

    - attempt 1, 1 repair round: failed (check): `cargo check -p net` still fails after 1 repair round

    ```text
    `cargo check -p net` failed: exit code 101
    error[E0433]: unresolved import `Retry`
     --> src/client.rs:3
    ```

    What you can do:

    - say what to mind at the next attempt: `planwright.say` · `planwright say k3xf "…" --step policy`
    - try the step again: `planwright.retry` · `planwright retry k3xf policy`
    - edit the plan, then approve it again: `planwright.openPlan` · `planwright show k3xf`
    - do it by hand: `planwright.takeOver` · `planwright take-over k3xf policy`
    - do without it: `planwright.skip` · `planwright skip k3xf policy`
    - end the task; accepted hunks stay: `planwright.abandon` · `planwright abandon k3xf`

    ## Steps

    - `policy`: **failed**
    - `tests`: **waiting for policy**

    ## Checks

    - policy: `cargo check -p net` failed: exit code 101 (in a copy, not isolated)
    "#);
}

#[test]
fn text_from_outside_stays_data() {
    let words = "# not a heading\n```\n<script>[x](command:evil)</script>\u{202e}";
    let said = task(&dossier("k3xf", vec![(0, opened(words))], TaskState::Planning), &Aids::default());
    let parsed: Vec<String> = pulldown_cmark::Parser::new(&said)
        .filter_map(|event| match event {
            pulldown_cmark::Event::Start(
                tag @ (pulldown_cmark::Tag::Heading { .. } | pulldown_cmark::Tag::Link { .. }),
            ) => Some(format!("{tag:?}").chars().take(24).collect()),
            pulldown_cmark::Event::Html(html) | pulldown_cmark::Event::InlineHtml(html) => Some(html.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(parsed.len(), 3, "our title and our two sections, and nothing of theirs: {parsed:?}\n{said}");
    assert!(!said.contains('\u{202e}'));
}

#[test]
fn hunks_are_listed_with_place_reason_verdict_and_difference() {
    let uncertain = ReviewHunk {
        flags: vec![Flag::Uncertain("a name like it".to_owned())],
        old: "```\n".to_owned(),
        ..hunk("h2222222", HunkState::Open, Some(Decision::Reject(Some("the name is [taken](x)".to_owned()))))
    };
    let buffered =
        ReviewHunk { on_disk: false, pending: true, ..hunk("h3333333", HunkState::Accepted, Some(Decision::Accept)) };
    let hunks = vec![hunk("h1111111", HunkState::Open, None), uncertain, buffered];
    assert_snapshot!(review(&Dossier { hunks: Arc::new(hunks), ..waiting() }), @r#"
    # Review: make retries configurable

    **awaiting approval (1 accepted, not saved)** · task `k3xf` · 2 pending (1 accepted, not saved), 0 accepted, 1 rejected

    ## h1111111 src/net.rs:4

    - step `policy`: Add RetryPolicy
    - **open**
    - `cargo check` passes with it

    ```diff
     fn send() {
    -    retry(3)
    +    retry(policy.attempts)
     }
    ```

    ## h2222222 src/net.rs:4

    - step `policy`: Add RetryPolicy
    - **rejected** by anna (terminal): the name is [taken]\(x)
    - `cargo check` passes with it
    - **mind** uncertain: a name like it

    ````diff
     fn send() {
    -```
    +    retry(policy.attempts)
     }
    ````

    ## h3333333 src/net.rs:4

    - step `policy`: Add RetryPolicy
    - **accepted, not saved** by anna (terminal); save the file
    - `cargo check` passes with it

    ```diff
     fn send() {
    -    retry(3)
    +    retry(policy.attempts)
     }
    ```

    To accept all pending hunks but uncertain ones: `planwright.accept "k3xf" "--all"` · `planwright accept k3xf --all`
    "#);
}

#[test]
fn an_editor_settles_a_hunk_only_as_the_page_shows_it() {
    let touched = hunk("h1111111", HunkState::Touched, None);
    let shown = touched.shown.as_str().to_owned();
    let said = review(&Dossier { hunks: Arc::new(vec![touched]), ..waiting() });
    for side in ["mine", "theirs"] {
        let command = format!("`planwright.resolve \"k3xf\" \"h1111111\" \"{side}\" \"{shown}\"`");
        assert!(said.contains(&command), "{said}");
    }
}

#[test]
fn the_timeline_has_a_line_a_row() {
    let said = timeline(&dossier("k3xf", story(), TaskState::Running), Mode::States);
    assert_snapshot!(said.lines().take(9).collect::<Vec<_>>().join("\n"), @r"
    # Timeline: make retries configurable

    **running** · task `k3xf` · opened Sun, 29 Nov 2026 12:00:00 GMT

    - 0:00.0 goal of anna (terminal): make retries configurable (at src/net.rs:4-9)
    - 0:00.0 `planning` attempt 1 begins
    - 0:02.1 `planning` plan r1-1f2c81d04a7e by the planner
      - why: the goal names one file
    - 0:02.1 `planning` done (not verified)
    ");
}

#[test]
fn the_title_of_a_small_change_is_its_whole_contract() {
    let file = crate::domain::ids::WorkspacePath::new("src/net/client.rs").unwrap();
    assert_eq!(
        small::small_title(Some("fn send"), &file, Some("cargo check")),
        "Agent: change `fn send` in src/net/client.rs (writes only that file; check: cargo check)"
    );
    assert_eq!(
        small::small_title(None, &file, None),
        "Agent: change src/net/client.rs (writes only that file; check: syntax only)"
    );
}
