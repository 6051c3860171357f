//! The in-memory twin of a kill: the store stops at every position of a journal, with the effect that was in flight
//! done and not done; the next life goes on to the end, and all is as if nothing had happened.

use super::scene::{End, PLAN, Scene};
use crate::domain::task::event::{Event, Intent};

/// What a task that nobody kills leaves behind.
struct Undisturbed {
    journal: Vec<Event>,
    projection: String,
    files: String,
    calls: usize,
    runs: Vec<(String, usize)>,
}

const COMMANDS: [&str; 7] =
    ["tools/check", "tools/make", "tools/tally", "tools/tell --all", "tools/post", "tools/verify", "tools/accept"];

fn runs(scene: &Scene) -> Vec<(String, usize)> {
    COMMANDS.iter().map(|command| ((*command).to_owned(), scene.arena.runs(command))).collect()
}

async fn undisturbed(document: Option<&'static str>) -> Undisturbed {
    let mut scene = Scene::new(document);
    assert_eq!(scene.live(None, true).await, End::Finished);
    Undisturbed {
        journal: scene.journal().await,
        projection: scene.projection().await,
        files: scene.files(),
        calls: scene.model.calls(),
        runs: runs(&scene),
    }
}

/// Dies once, goes on, and is compared.
async fn check(undisturbed: &Undisturbed, document: Option<&'static str>, stop: usize, reach: bool) {
    let last = stop.checked_sub(1).and_then(|at| undisturbed.journal.get(at));
    let label = format!("stopped after event {stop} ({last:?}), in flight done: {reach}");
    let mut scene = Scene::new(document);
    let first = scene.live(Some(u64::try_from(stop).unwrap()), reach).await;
    assert_eq!(first, if reach && stop == undisturbed.journal.len() { End::Finished } else { End::Died }, "{label}");
    if first == End::Died && scene.live(None, true).await == End::Died {
        panic!("{label}: nothing stops the second life");
    }
    assert_eq!(scene.files(), undisturbed.files, "{label}");
    similar_asserts(&scene.projection().await, &undisturbed.projection, &label);
    let intent = match last {
        Some(Event::Intended { what, .. }) if reach => Some(what),
        _ => None,
    };
    // Only what was in flight and had reached the world is done again.
    let again = usize::from(matches!(intent, Some(Intent::Model { .. })));
    assert_eq!(scene.model.calls(), undisturbed.calls + again, "{label}: calls of the model");
    for ((command, now), (_, before)) in runs(&scene).into_iter().zip(&undisturbed.runs) {
        let again = match intent {
            Some(Intent::Command { command: ran, repeatable: true }) => ran.argv.join(" ") == command,
            Some(_) | None => false,
        };
        assert_eq!(now, before + usize::from(again), "{label}: runs of {command}");
    }
    let doubtful = match last {
        Some(Event::Intended { what: Intent::Command { repeatable: false, .. }, .. }) => true,
        Some(Event::Intended { what: Intent::Outside { probe: None, .. }, .. }) => true,
        Some(_) | None => false,
    };
    assert_eq!(scene.doubts, usize::from(doubtful), "{label}: gates about what happened");
}

/// A difference line by line.
#[track_caller]
fn similar_asserts(now: &str, before: &str, label: &str) {
    if now != before {
        let diff = similar::TextDiff::from_lines(before, now).unified_diff().context_radius(2).to_string();
        panic!("{label}:\n{diff}");
    }
}

async fn everywhere(document: Option<&'static str>) -> usize {
    let undisturbed = undisturbed(document).await;
    let mut deaths = 0;
    for stop in 0..=undisturbed.journal.len() {
        check(&undisturbed, document, stop, true).await;
        deaths += 1;
        let last = stop.checked_sub(1).and_then(|at| undisturbed.journal.get(at));
        if let Some(Event::Intended { .. }) = last {
            check(&undisturbed, document, stop, false).await;
            deaths += 1;
        }
    }
    deaths
}

#[tokio::test]
async fn a_task_that_nobody_kills_ends_as_it_should() {
    let undisturbed = undisturbed(Some(PLAN)).await;
    insta::assert_snapshot!(undisturbed.projection, @"");
    insta::assert_snapshot!(undisturbed.files, @"");
}

#[tokio::test]
async fn a_kill_at_every_position_of_the_journal_changes_nothing() {
    let deaths = everywhere(Some(PLAN)).await;
    assert!(deaths > 100, "{deaths} deaths");
}
