//! The in-memory twin of a kill: the store stops at every position of a journal, with the effect that was in flight
//! done and not done; the next life goes on to the end, and all is as if nothing had happened.

use super::scene::{CAGED, End, PARALLEL, PLAN, Scene};
use crate::domain::ids::EffectId;
use crate::domain::task::event::{Event, Intent};
use crate::domain::task::evolve;
use crate::domain::task::state::Task;

/// What a task that nobody kills leaves behind.
struct Undisturbed {
    journal: Vec<Event>,
    projection: String,
    files: String,
    calls: usize,
    runs: Vec<(String, usize)>,
}

const COMMANDS: [&str; 9] = [
    "tools/check",
    "tools/make",
    "tools/tally",
    "tools/tell --all",
    "tools/post",
    "tools/verify",
    "tools/accept",
    "cargo check",
    "cargo test",
];

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

/// Dies at `stop`, and again so many events later if `again` says so, goes on, and is compared.
async fn check(
    undisturbed: &Undisturbed,
    document: Option<&'static str>,
    stop: usize,
    reach: bool,
    again: Option<u64>,
) {
    let mut label = format!("stopped after {stop} events, in flight done: {reach}, again: {again:?}");
    let mut scene = Scene::new(document);
    let mut in_flight = Vec::new();
    let mut stop = Some(u64::try_from(stop).unwrap());
    let mut again = again.into_iter();
    while scene.live(stop, reach).await == End::Died {
        assert!(stop.is_some(), "{label}: nothing stops this life");
        let journal = scene.journal().await;
        label.push_str(&format!(", last {:?}", journal.last()));
        for effect in unsettled(&journal) {
            if !in_flight.contains(&effect) {
                in_flight.push(effect);
            }
        }
        stop = again.next().map(|more| scene.store.event_count() + more);
    }
    assert_eq!(scene.files(), undisturbed.files, "{label}");
    same(&scene.projection().await, &undisturbed.projection, &label);
    // Only what was in flight is done again, and only if it had reached the world.
    let more = |fits: &dyn Fn(&Intent) -> bool, before: usize, now: usize, what: &str| {
        let lost = in_flight.iter().filter(|(_, what)| fits(what)).count();
        assert!(now >= before && now - before <= if reach { lost } else { 0 }, "{label}: {what} {before} → {now}");
        if reach && in_flight.len() == 1 {
            assert_eq!(now, before + lost, "{label}: {what}");
        }
    };
    let is_model = |what: &Intent| matches!(what, Intent::Model { .. });
    more(&is_model, undisturbed.calls, scene.model.calls(), "calls of the model");
    for ((command, now), (_, before)) in runs(&scene).into_iter().zip(&undisturbed.runs) {
        let is_it = |what: &Intent| match what {
            Intent::Command { command: ran, repeatable: true } => ran.argv.join(" ") == command,
            _ => false,
        };
        more(&is_it, *before, now, &command);
    }
    let doubtful = in_flight.iter().filter(|(_, what)| {
        matches!(what, Intent::Command { repeatable: false, .. } | Intent::Outside { probe: None, .. })
    });
    assert_eq!(scene.doubts.len(), doubtful.count(), "{label}: gates about what happened");
}

/// Intents without a result.
fn unsettled(journal: &[Event]) -> Vec<(EffectId, Intent)> {
    let settled = |id: &EffectId| journal.iter().any(|e| matches!(e, Event::Settled { effect, .. } if effect == id));
    let intents = journal.iter().filter_map(|event| match event {
        Event::Intended { effect, what, .. } => Some((effect.clone(), what.clone())),
        _ => None,
    });
    intents.filter(|(id, _)| !settled(id)).collect()
}

/// A difference line by line.
#[track_caller]
fn same(now: &str, before: &str, label: &str) {
    if now != before {
        let diff = similar::TextDiff::from_lines(before, now).unified_diff().context_radius(2).to_string();
        panic!("{label}:\n{diff}");
    }
}

/// Every position that a life can end at; for those with an effect in flight twice. `again`: how many events the
/// second life gets, if it is to die too.
fn everywhere(document: Option<&'static str>, again: &[Option<u64>]) -> usize {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let undisturbed = runtime().block_on(undisturbed(document));
    let mut deaths = Vec::new();
    for stop in 0..=undisturbed.journal.len() {
        let last = stop.checked_sub(1).and_then(|at| undisturbed.journal.get(at));
        let in_flight = matches!(last, Some(Event::Intended { .. }));
        for again in again.iter().filter(|again| again.is_none() || in_flight) {
            deaths.push((stop, true, *again));
            if in_flight {
                deaths.push((stop, false, *again));
            }
        }
    }
    // On two threads: each death is a world of its own.
    std::thread::scope(|scope| {
        let (deaths, undisturbed) = (&deaths, &undisturbed);
        let half = |first: usize| {
            move || {
                for (stop, reach, again) in deaths.iter().skip(first).step_by(2) {
                    runtime().block_on(check(undisturbed, document, *stop, *reach, *again));
                }
            }
        };
        let halves = [scope.spawn(half(0)), scope.spawn(half(1))];
        for half in halves {
            if let Err(panic) = half.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    deaths.len()
}

#[tokio::test]
async fn a_task_that_nobody_kills_ends_as_it_should() {
    let undisturbed = undisturbed(Some(PLAN)).await;
    insta::assert_snapshot!(undisturbed.files, @r#"
    //- src/lib.rs
    pub mod shop;

    pub fn sum_of(xs: &[u32]) -> u32 {
        xs.iter().sum()
    }
    //- src/shop.rs
    use crate::sum_of;

    pub fn bill(xs: &[u32]) -> String {
        format!("{}", sum_of(xs))
    }

    pub fn empty() -> String {
        format!("{}", sum_of(&[]))
    }
    //- src/notes.rs
    pub fn notes() -> &'static str {
        "everything"
    }
    //- src/made.rs
    "#);
    let told = |what: &str| undisturbed.projection.lines().filter(|line| line.contains(what)).count();
    let seen = ["began", "repair round", "may [", "outside", "asked a model", "review: wrote", "closed: Verified"]
        .map(|what| format!("{what}: {}", told(what)));
    insta::assert_snapshot!(seen.join("\n"), @"
    began: 10
    repair round: 1
    may [: 8
    outside: 2
    asked a model: 5
    review: wrote: 3
    closed: Verified: 1
    ");
}

/// The state is a pure function of the journal (B1): live, replayed, and from a snapshot at any place.
#[tokio::test]
async fn every_prefix_of_a_journal_gives_the_same_state_by_every_way() {
    let mut scene = Scene::new(Some(PLAN));
    assert_eq!(scene.live(None, true).await, End::Finished);
    let (id, journal, live) = scene.told().await;
    let mut folded = evolve::begin(&id, &journal[0]).unwrap();
    for at in 1..journal.len() {
        evolve::evolve(&mut folded, &journal[at]);
        assert_eq!(evolve::replay(&id, &journal[..=at]).as_ref(), Some(&folded));
        let kept = serde_json::to_string(&folded).unwrap();
        let mut restored: Task = serde_json::from_str(&kept).unwrap();
        assert_eq!(restored, folded, "a snapshot loses nothing");
        journal[at + 1..].iter().for_each(|tail| evolve::evolve(&mut restored, tail));
        assert_eq!(restored, live, "snapshot after {at} events and the tail");
    }
    assert_eq!(folded, live);
}

#[test]
fn a_kill_at_every_position_of_the_journal_changes_nothing() {
    let deaths = everywhere(Some(PLAN), &[None]);
    assert!(deaths > 150, "{deaths} deaths");
}

#[test]
fn a_kill_while_a_plan_is_made_changes_nothing() {
    let deaths = everywhere(None, &[None]);
    assert!(deaths > 30, "{deaths} deaths");
}

#[test]
fn a_kill_while_checks_run_before_any_change_changes_nothing() {
    let deaths = everywhere(Some(CAGED), &[None, Some(1), Some(2)]);
    assert!(deaths > 60, "{deaths} deaths");
}

#[test]
fn a_kill_during_the_recovery_from_a_kill_changes_nothing() {
    let deaths = everywhere(Some(PARALLEL), &[None, Some(1), Some(2), Some(3)]);
    assert!(deaths > 80, "{deaths} deaths");
}

#[tokio::test]
async fn a_no_to_what_a_crash_left_in_doubt_holds_although_the_command_is_allowed_for_the_plan() {
    let journal = undisturbed(Some(PLAN)).await.journal;
    let is_count =
        |event: &Event| matches!(event, Event::Intended { what: Intent::Command { repeatable: false, .. }, .. });
    let stop = journal.iter().position(is_count).unwrap() + 1;
    let mut scene = Scene::new(Some(PLAN));
    scene.wary = true;
    assert_eq!(scene.live(Some(u64::try_from(stop).unwrap()), false).await, End::Died);
    assert_eq!(scene.live(None, true).await, End::Finished);
    assert_eq!((scene.doubts.len(), scene.arena.runs("tools/tally")), (1, 0));
}

#[tokio::test]
async fn a_store_that_works_again_lets_the_same_process_go_on() {
    let undisturbed = undisturbed(Some(PLAN)).await;
    let stops = undisturbed.journal.iter().enumerate().filter(|(_, event)| {
        matches!(
            event,
            Event::Intended { what: Intent::Command { .. } | Intent::Outside { .. } | Intent::Model { .. }, .. }
        )
    });
    for (at, event) in stops {
        let mut scene = Scene::new(Some(PLAN));
        scene.mended = true;
        let stop = u64::try_from(at + 1).unwrap();
        assert_eq!(scene.live(Some(stop), true).await, End::Finished, "{event:?}");
        assert_eq!(scene.files(), undisturbed.files, "{event:?}");
        same(&scene.projection().await, &undisturbed.projection, &format!("{event:?}"));
    }
}

#[tokio::test]
async fn a_step_that_changes_hands_does_not_reach_outside_twice() {
    let journal = undisturbed(Some(PLAN)).await.journal;
    let is_post = |event: &Event| match event {
        Event::Intended { what: Intent::Outside { command, .. }, .. } => command.argv == ["tools/post"],
        _ => false,
    };
    let intent = journal.iter().position(is_post).unwrap() + 1;
    // Its intent is the last event, with the post made and not made; then its result is.
    for (stop, reach, doubts, gates) in [(intent, true, 1, 3), (intent, false, 1, 3), (intent + 1, true, 0, 1)] {
        let mut scene = Scene::new(Some(PLAN));
        scene.takes_over = true;
        assert_eq!(scene.live(Some(u64::try_from(stop).unwrap()), reach).await, End::Died);
        assert_eq!(scene.live(None, true).await, End::Finished);
        let asks = |event: &&Event| matches!(event, Event::GateOpened { work, .. } if work.to_string() == "post");
        let asked = scene.journal().await.iter().filter(asks).count();
        assert_eq!((scene.arena.runs("tools/post"), scene.doubts.len(), asked), (1, doubts, gates), "{stop} {reach}");
    }
}
