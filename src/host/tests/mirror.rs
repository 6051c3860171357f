//! The mirrored desk: as values, and over the socket.

use super::shared::Fake;
use super::{Place, actor, engine_of, say, within};
use crate::desk::fixture::{dossier, opened, revision, story};
use crate::desk::{Desk, Dossier, Page, ReviewHunk, page};
use crate::domain::change::{Entry, FileChange, HunkState, file_change};
use crate::domain::ids::{StepId, WorkspacePath};
use crate::domain::plan;
use crate::domain::task::Journal;
use crate::domain::task::standing::TaskState;
use crate::host::Seat;
use crate::host::mirror::{Mirror, Sent};
use crate::host::wire::{FromHost, ToHost, encode};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// What a random desk is made of.
#[derive(Clone, Debug)]
struct Look {
    tasks: Vec<(u8, u8, u8, u8)>,
    remark: bool,
}

fn look() -> impl Strategy<Value = Look> {
    let task = (0..4_u8, 0..3_u8, 0..4_u8, 0..3_u8);
    (prop::collection::vec(task, 0..4), any::<bool>()).prop_map(|(mut tasks, remark)| {
        tasks.sort();
        tasks.dedup_by_key(|task| task.0);
        Look { tasks, remark }
    })
}

fn change(name: &str, lines: usize, n: u8) -> Arc<FileChange> {
    let file = |word: &str| {
        let text: String = (0..lines).map(|at| format!("line {at}{}\n", if at % 9 == 0 { word } else { "" })).collect();
        Entry::File { text: text.into(), mode: 0o644 }
    };
    let (before, after) = (file(" old"), file(&format!(" new {n}")));
    let path = WorkspacePath::new(name).unwrap();
    Arc::new(file_change(path, &before, &after, &StepId::new("policy"), None))
}

fn hunks(changes: &[Arc<FileChange>], state: HunkState) -> Vec<ReviewHunk> {
    let all = changes.iter().flat_map(|change| change.hunks.iter().map(move |hunk| (change, hunk)));
    let hunk = |(change, hunk): (&Arc<FileChange>, &crate::domain::change::Hunk)| ReviewHunk {
        path: change.path.clone(),
        old: change.old_text(hunk).to_owned(),
        new: change.new_text(hunk).to_owned(),
        ..crate::desk::fixture::hunk(hunk.id.as_str(), state, None)
    };
    all.map(hunk).collect()
}

/// The dossier of a task with so many revisions, such changes, and its document in such a text.
fn task((id, revisions, changed, page): (u8, u8, u8, u8)) -> Dossier {
    let text = format!("# Task {id}\n\n## Steps\n\n### one: Step {page}\n\n- edit: `src/a.rs`\n");
    let changes: Vec<_> = (0..changed.min(2)).map(|n| change(&format!("src/{n}.rs"), 40, changed)).collect();
    let state = if changed == 3 { HunkState::Accepted } else { HunkState::Open };
    Dossier {
        carried: changed != 1,
        revisions: Arc::new((1..=u32::from(revisions)).map(|n| (revision(n), format!("text {n}").into())).collect()),
        hunks: Arc::new(hunks(&changes, state)),
        changes: Arc::new(changes),
        page: (page > 0).then(|| {
            let plan = Arc::new(plan::parse(&text).plan);
            let (path, contract) = ("/w/plan.md".into(), vec!["changes src/a.rs".to_owned()]);
            let text = text.as_str().into();
            Arc::new(Page { path, text, plan, problems: Vec::new(), revision: revision(1), contract })
        }),
        offered: (page == 2).then(|| (revision(9), text.as_str().into())),
        ..dossier(&format!("task{id}"), vec![(0, opened("a goal"))], TaskState::Planning)
    }
}

fn desk(look: &Look) -> Desk {
    let mut desk = Desk { tasks: look.tasks.iter().map(|it| Arc::new(task(*it))).collect(), ..Desk::default() };
    desk.place.remarks.extend(look.remark.then(|| "no repository".to_owned()));
    desk
}

/// All that crosses the socket of a desk.
fn seen(desk: &Desk) -> String {
    let bare = |it: &Arc<Dossier>| Dossier { journal: Journal::default(), ..it.as_ref().clone() };
    format!("{:#?} {:#?}", desk.place, desk.tasks.iter().map(bare).collect::<Vec<_>>())
}

fn carried(sent: &mut Sent, mirror: &mut Mirror, desk: &Arc<Desk>) -> (usize, Option<Arc<Desk>>) {
    let lines = sent.lines(desk).unwrap();
    let bytes = lines.iter().map(Vec::len).sum();
    let mut seen = None;
    for line in lines {
        match serde_json::from_slice(&line).unwrap() {
            FromHost::Change(change) => mirror.take(change),
            FromHost::Desk(difference) => seen = Some(mirror.apply(*difference)),
            other => panic!("{other:?}"),
        }
    }
    (bytes, seen)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_mirror_shows_each_desk_as_it_is(looks in prop::collection::vec(look(), 1..6)) {
        let (mut sent, mut mirror) = (Sent::default(), Mirror::default());
        let mut last = String::new();
        for look in &looks {
            let desk = Arc::new(desk(look));
            match carried(&mut sent, &mut mirror, &desk).1 {
                Some(mirrored) => prop_assert_eq!(seen(&mirrored), seen(&desk)),
                None => prop_assert_eq!(&last, &seen(&desk), "nothing was said, so nothing may differ"),
            }
            last = seen(&desk);
        }
    }
}

#[test]
fn a_failed_task_has_the_same_page_on_both_sides() {
    let blocked = TaskState::Blocked { why: "step policy: check".to_owned(), next: "…".to_owned() };
    let failed = Arc::new(Desk { tasks: vec![Arc::new(dossier("k3xf", story(), blocked))], ..Desk::default() });
    let mirrored = carried(&mut Sent::default(), &mut Mirror::default(), &failed).1.unwrap();
    assert!(mirrored.tasks[0].journal.is_empty());
    let page = |desk: &Desk| page::task(&desk.tasks[0], &page::Aids::default());
    assert_eq!(page(&mirrored), page(&failed));
    assert!(page(&mirrored).contains("\nTried:\n"), "{}", page(&mirrored));
}

#[test]
fn a_change_set_crosses_once() {
    let (mut sent, mut mirror) = (Sent::default(), Mirror::default());
    let changes = Arc::new(vec![change("src/big.rs", 3_000, 1), change("src/small.rs", 40, 1)]);
    let with = |state| {
        let hunks = Arc::new(hunks(&changes, state));
        Arc::new(Desk {
            tasks: vec![Arc::new(Dossier { changes: changes.clone(), hunks, ..task((1, 1, 0, 1)) })],
            ..Desk::default()
        })
    };
    let text = changes.iter().map(|change| change.before.text().len() + change.after.text().len()).sum::<usize>();
    let (first, mirrored) = carried(&mut sent, &mut mirror, &with(HunkState::Open));
    assert!(first > text);
    let mirrored = mirrored.unwrap();
    let (second, again) = carried(&mut sent, &mut mirror, &with(HunkState::Accepted));
    let (again, open) = (again.unwrap(), &mirrored.tasks.first().unwrap().changes);
    // Some 400 bytes a hunk, its texts left out; 334 hunks here.
    assert!(second < first, "{second} of {first}");
    let now = &again.tasks.first().unwrap().changes;
    assert!(open.iter().zip(now.iter()).all(|(was, is)| Arc::ptr_eq(was, is)), "what is watched stays the same value");
    let (nothing, silence) = carried(&mut sent, &mut mirror, &with(HunkState::Accepted));
    assert_eq!((nothing, silence.is_none()), (0, true));
}

#[allow(clippy::print_stdout, reason = "what was measured is all that it shows")]
#[test]
#[ignore = "for its figures: `cargo test --lib -- --ignored --nocapture figures_of_a_mirror`"]
fn figures_of_a_mirror_of_ten_megabytes() {
    let changes: Arc<Vec<_>> =
        Arc::new((0..10).map(|n| change(&format!("src/big{n}.rs"), 42_000, n)).collect::<Vec<_>>());
    let text = changes.iter().map(|change| change.after.text().len()).sum::<usize>();
    let of = |state, changes: &Arc<Vec<Arc<FileChange>>>| {
        let hunks = Arc::new(hunks(changes, state));
        let dossier = Dossier { changes: changes.clone(), hunks, ..task((1, 1, 0, 1)) };
        Arc::new(Desk { tasks: vec![Arc::new(dossier)], ..Desk::default() })
    };
    let few = |state| {
        let mut desk = (*of(HunkState::Open, &changes)).clone();
        let dossier = Arc::make_mut(desk.tasks.first_mut().unwrap());
        dossier.state = state;
        Arc::new(desk)
    };
    let (mut sent, mut mirror) = (Sent::default(), Mirror::default());
    let desks = [
        ("all of it", of(HunkState::Open, &changes)),
        ("every hunk another state", of(HunkState::Accepted, &changes)),
        ("the hunks as at first, equal but not the same values", of(HunkState::Open, &changes)),
        ("the state only", few(TaskState::Paused)),
    ];
    for (what, desk) in desks {
        let began = Instant::now();
        let lines = sent.lines(&desk).unwrap();
        let wrote = began.elapsed();
        let bytes = lines.iter().map(Vec::len).sum::<usize>();
        for line in lines {
            match serde_json::from_slice(&line).unwrap() {
                FromHost::Change(change) => mirror.take(change),
                FromHost::Desk(difference) => drop(mirror.apply(*difference)),
                other => panic!("{other:?}"),
            }
        }
        let read = began.elapsed() - wrote;
        println!("{text} bytes of new text: {what}: {bytes} bytes, written in {wrote:?}, read in {read:?}");
    }
}

#[tokio::test]
async fn whoever_acted_sees_what_came_of_it() {
    let place = Place::new();
    let (engine, desks) = engine_of(Desk::default());
    let host = within(place.join_as("terminal", engine)).await.unwrap();
    let editor = Seat::editor("vi", Arc::new(Fake::default()));
    let attached = within(place.join_as(editor, engine_of(Desk::default()).0)).await.unwrap();
    assert!(!attached.is_host());
    for n in 1..=200 {
        within(attached.act(actor("vi"), say(&n.to_string()))).await.unwrap();
        let remarks = attached.desks().borrow().place.remarks.clone();
        assert_eq!(remarks.len(), n, "the answer came before the desk");
    }
    // What others do is seen as well, soon.
    let mut news = attached.desks();
    desks.send_modify(|desk| Arc::make_mut(desk).tasks.push(Arc::new(task((1, 2, 1, 1)))));
    within(news.wait_for(|desk| !desk.tasks.is_empty())).await.unwrap();
    assert_eq!(seen(&news.borrow()), seen(&host.desks().borrow()));
}

#[tokio::test]
async fn a_follower_that_reads_late_gets_the_newest() {
    let place = Place::new();
    let (engine, desks) = engine_of(Desk::default());
    let _host = within(place.join_as("terminal", engine)).await.unwrap();
    let mut late = place.raw(crate::host::VERSION).await;
    late.write_all(&encode(&ToHost::Follow { id: 1 }).unwrap()).await.unwrap();
    // Each is larger than what a socket takes in, so that the writer waits in the first.
    for n in 0..40 {
        let after = Entry::File { text: format!("{n}{}", "x".repeat(400_000)).into(), mode: 0o644 };
        let path = WorkspacePath::new("src/big.rs").unwrap();
        let change = Arc::new(FileChange { path, before: Entry::Absent, after, hunks: Vec::new() });
        let dossier = Dossier { changes: Arc::new(vec![change]), ..task((1, 1, 0, 1)) };
        desks.send_modify(|desk| Arc::make_mut(desk).tasks = vec![Arc::new(dossier)]);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    desks.send_modify(|desk| Arc::make_mut(desk).place.remarks.push("the last".to_owned()));
    let mut lines = BufReader::new(late).lines();
    let mut frames = 0;
    loop {
        let line = within(lines.next_line()).await.unwrap().expect("it was disconnected");
        frames += usize::from(line.starts_with("{\"desk\""));
        if line.contains("the last") {
            break;
        }
    }
    assert!(frames < 10, "{frames} desks were queued");
}
