//! Decisions and states while an editor has the file open, saved or not, honest or not.

use super::hands::{Hands, LIST, LOWER, RAISE, at, file, hunks, plan, reviewable, silent};
use crate::desk::Dossier;
use crate::domain::change::HunkState;
use crate::domain::ids::{HunkId, WorkspacePath};
use crate::domain::task::action::*;
use crate::domain::task::event::Ending;
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::ProgressState;
use crate::testing::memory_arena::Answer;
use crate::testing::memory_documents::Manner;
use std::time::Duration;

/// One hunk at the head of the list and one at its end, in one file.
async fn two() -> Hands {
    let hands = Hands::new(plan(&[("raise", RAISE), ("lower", LOWER)]), silent()).await;
    hands.replaces("raise", "one", "1", None);
    hands.replaces("lower", "three", "3", None);
    hands
}

/// The same, reviewable, with the file open and as it is on disk.
async fn opened() -> Hands {
    let hands = two().await;
    hands.documents.show(&at(), LIST);
    hands.run(None, reviewable).await;
    hands
}

fn accept(target: Target) -> Action {
    Action::Accept { task: Which::TheOnlyOne, target }
}

fn reject(target: Target) -> Action {
    Action::Reject { task: Which::TheOnlyOne, target, reason: None }
}

fn undo(target: Target) -> Action {
    Action::Undo { task: Which::TheOnlyOne, target }
}

fn resolve(hunk: &HunkId, side: Side) -> Action {
    Action::Resolve { task: Which::TheOnlyOne, hunk: Some(hunk.clone()), side, shown: None }
}

fn ids(seen: &Dossier) -> Vec<HunkId> {
    seen.hunks.iter().map(|hunk| hunk.id.clone()).collect()
}

/// Each hunk: what it does, how it stands, what waits.
fn rows(seen: &Dossier) -> String {
    let row = |(hunk, (words, state)): (&crate::desk::ReviewHunk, (String, HunkState))| {
        let saved = if hunk.on_disk { "" } else { " unsaved" };
        let pending = if hunk.pending { " pending" } else { "" };
        format!("{words} {state:?}{saved}{pending}")
    };
    seen.hunks.iter().zip(hunks(seen)).map(row).collect::<Vec<_>>().join("; ")
}

impl Hands {
    fn buffer(&self) -> String {
        self.documents.text(&at()).unwrap()
    }

    /// The user saves: the disk has what the editor has.
    fn saves(&self) {
        self.workspace.change_behind(&at(), file(&self.buffer()));
        self.documents.saved(&at());
    }

    /// Comes back when the hunks stand so.
    async fn until_rows(&self, wanted: &str) {
        self.until(|seen| rows(seen) == wanted).await;
    }
}

#[tokio::test]
async fn accepting_changes_the_document_and_not_the_disk_until_it_is_saved() {
    let hands = opened().await;
    hands.act(accept(Target::All)).await;
    assert_eq!(hands.buffer(), LIST.replace("one", "1").replace("three", "3"));
    assert_eq!((hands.text(), hands.workspace.writes().len()), (LIST.to_owned(), 0));
    hands.until_rows("one→1 Accepted unsaved pending; three→3 Accepted unsaved pending").await;
    // Asked once more, as by somebody whose host died before it could answer.
    let again = hands.ask(accept(Target::All)).await.unwrap_err();
    assert_eq!(again.message, "no hunk waits for this decision: 2 accepted and not saved");
    hands.saves();
    let seen = hands.until(|seen| seen.task.is_over()).await;
    assert_eq!(seen.state, TaskState::Done { ending: Ending::Verified });
}

#[tokio::test]
async fn saving_alone_ends_a_task_in_the_next_process() {
    for saved_before in [false, true] {
        let mut hands = opened().await;
        hands.act(accept(Target::All)).await;
        if saved_before {
            // The watcher and the editor are heard by nobody any more.
            hands.workspace.change_behind(&at(), file(&hands.buffer()));
        }
        hands.restart().await;
        assert!(!hands.seen().task.is_over());
        hands.saves();
        let seen = hands.until(|seen| seen.task.is_over()).await;
        assert_eq!(seen.state, TaskState::Done { ending: Ending::Verified }, "saved before: {saved_before}");
    }
}

#[tokio::test]
async fn an_edit_that_lands_after_its_rejection_is_asked_after_and_stays_in_sight() {
    let hands = opened().await;
    let first = ids(&hands.seen())[0].clone();
    hands.documents.behave([Manner::SaysSo, Manner::SaysSo]);
    let refusal = hands.ask(accept(Target::Hunks(vec![first.clone()]))).await.unwrap_err();
    assert!(refusal.message.contains("stays open"), "{refusal:?}");
    // Nothing stands there, and yet the editor is asked: it may hold an edit that it has not made yet.
    let refusal = hands.ask(reject(Target::Hunks(vec![first.clone()]))).await.unwrap_err();
    assert!(refusal.message.contains("stays open"), "{refusal:?}");
    assert_eq!(hands.documents.orders().last().map(|order| order.take.clone()), Some(vec![first.clone()]));
    // It makes it after all, and the user saves.
    hands.documents.show(&at(), &LIST.replace("one", "1"));
    hands.saves();
    hands.until_rows("one→1 Accepted pending; three→3 Open pending").await;
    hands.act(reject(Target::Hunks(vec![first]))).await;
    assert_eq!(hands.buffer(), LIST);
    hands.saves();
    hands.until_rows("one→1 Open; three→3 Open pending").await;
}

#[tokio::test]
async fn accepted_and_closed_unsaved_is_pending_again() {
    let hands = opened().await;
    hands.act(accept(Target::All)).await;
    hands.documents.close(&at());
    hands.until_rows("one→1 Open pending; three→3 Open pending").await;
    assert!(hands.documents.watched(&at()).is_empty(), "nothing of it is kept for an editor that has gone");
    hands.act(accept(Target::All)).await;
    assert_eq!(hands.text(), LIST.replace("one", "1").replace("three", "3"));
    hands.until(|seen| seen.task.is_over()).await;
}

#[tokio::test]
async fn undo_and_redo_in_the_editor_reopen_and_accept() {
    let hands = opened().await;
    let first = ids(&hands.seen())[0].clone();
    hands.act(accept(Target::Hunks(vec![first]))).await;
    let accepted = hands.buffer();
    hands.documents.show(&at(), LIST);
    hands.until_rows("one→1 Open pending; three→3 Open pending").await;
    hands.documents.show(&at(), &accepted);
    hands.until_rows("one→1 Accepted unsaved pending; three→3 Open pending").await;
}

#[tokio::test]
async fn a_decision_is_taken_back_in_the_document() {
    let hands = opened().await;
    let first = ids(&hands.seen())[0].clone();
    hands.act(accept(Target::Hunks(vec![first.clone()]))).await;
    hands.saves();
    hands.until_rows("one→1 Accepted; three→3 Open pending").await;
    hands.act(undo(Target::Hunks(vec![first]))).await;
    assert_eq!((hands.buffer(), hands.text()), (LIST.to_owned(), LIST.replace("one", "1")));
    hands.until_rows("one→1 Open unsaved pending; three→3 Open pending").await;
}

#[tokio::test]
async fn a_rejected_hunk_that_was_accepted_and_saved_waits_for_the_disk() {
    let hands = opened().await;
    let first = ids(&hands.seen())[0].clone();
    hands.act(accept(Target::Hunks(vec![first.clone()]))).await;
    hands.saves();
    hands.until_rows("one→1 Accepted; three→3 Open pending").await;
    hands.act(reject(Target::Hunks(vec![first]))).await;
    hands.until_rows("one→1 Open unsaved pending; three→3 Open pending").await;
    // "All" means what waits for a decision, and not what waits to be saved.
    hands.act(accept(Target::All)).await;
    assert_eq!(hands.buffer(), LIST.replace("three", "3"));
    hands.saves();
    hands.until(|seen| seen.task.is_over()).await;
    assert_eq!(hands.text(), LIST.replace("three", "3"));
}

#[tokio::test]
async fn an_editor_that_lies_loses_and_doubles_nothing() {
    for (manner, said, state) in [
        (Manner::SaysSo, "does not show the edit", "one→1 Open pending; three→3 Open pending"),
        (Manner::Refuses, "did not apply the edit", "one→1 Open pending; three→3 Open pending"),
        (Manner::Misapplies, "in another way", "one→1 Open pending; three→3 Open pending"),
        (Manner::Closes, "no longer open", "one→1 Open pending; three→3 Open pending"),
    ] {
        let hands = opened().await;
        hands.documents.behave([manner]);
        let refusal = hands.ask(accept(Target::All)).await.unwrap_err();
        assert!(refusal.message.contains(said), "{manner:?}: {refusal:?}");
        hands.until_rows(state).await;
        assert_eq!(hands.text(), LIST, "{manner:?}");
    }
}

#[tokio::test]
async fn two_quick_decisions_are_carried_out_one_after_the_other() {
    let hands = opened().await;
    let all = ids(&hands.seen());
    let one = |at: usize| hands.ask(accept(Target::Hunks(vec![all[at].clone()])));
    let (first, second) = tokio::join!(one(0), one(1));
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    assert_eq!(hands.buffer(), LIST.replace("one", "1").replace("three", "3"));
    assert_eq!(hands.documents.orders().len(), 2);
}

#[tokio::test]
async fn a_stale_document_is_pending_again_and_nothing_is_doubled() {
    let hands = two().await;
    hands.run(None, reviewable).await;
    let first = ids(&hands.seen())[0].clone();
    hands.act(accept(Target::Hunks(vec![first.clone()]))).await;
    assert_eq!(hands.text(), LIST.replace("one", "1"));
    hands.documents.show(&at(), LIST);
    hands.until_rows("one→1 Open unsaved pending; three→3 Open pending").await;
    hands.act(accept(Target::Hunks(vec![first]))).await;
    assert_eq!((hands.buffer(), hands.text()), (LIST.replace("one", "1"), LIST.replace("one", "1")));
    hands.until_rows("one→1 Accepted; three→3 Open pending").await;
}

#[tokio::test]
async fn steps_and_checks_work_on_the_text_that_is_not_saved() {
    let checked = format!("{RAISE}- check: `tools/check`\n");
    let hands = Hands::new(plan(&[("raise", &checked)]), silent()).await;
    let typed = LIST.replace("b\n", "beta\n");
    hands.documents.show(&at(), &typed);
    hands.replaces("raise", "one", "1", None);
    let seen_by_check = hands.sees("tools/check");
    hands.run(None, reviewable).await;
    assert_eq!(*seen_by_check.lock().unwrap(), [typed.replace("one", "1")]);
    assert_eq!(rows(&hands.seen()), "one→1 Open pending");
    hands.act(accept(Target::All)).await;
    assert_eq!((hands.buffer(), hands.text()), (typed.replace("one", "1"), LIST.to_owned()));
}

#[tokio::test]
async fn a_document_beside_the_change_set_is_in_the_view() {
    let checked = format!("{RAISE}- check: `tools/check`\n");
    let hands = Hands::new(plan(&[("raise", &checked)]), silent()).await;
    let beside = WorkspacePath::new("src/beside.txt").unwrap();
    hands.workspace.change_behind(&beside, file("saved\n"));
    hands.documents.show(&beside, "typed\n");
    hands.replaces("raise", "one", "1", None);
    let seen_by_check = hands.sees_at("tools/check", &beside);
    hands.run(None, reviewable).await;
    assert_eq!(*seen_by_check.lock().unwrap(), ["typed\n"]);
    assert!(hands.seen().hunks.iter().all(|hunk| hunk.path == at()));
}

/// What is typed in the middle of a word says nothing of the change; the text of before it stands in.
#[tokio::test]
async fn a_document_with_new_errors_of_syntax_is_seen_as_it_was_saved() {
    let checked = format!("{RAISE}- check: `tools/check`\n");
    for (saved, typed, seen) in [
        // Nothing is laid over the disk.
        ("fn a() {}\n", "fn a( {\n", ""),
        // As broken as before: then it is the user's text that counts.
        ("fn a( {\n", "fn b( {\n", "fn b( {\n"),
        ("fn a() {}\n", "fn b() {}\n", "fn b() {}\n"),
    ] {
        let hands = Hands::new(plan(&[("raise", &checked)]), silent()).await;
        let beside = WorkspacePath::new("src/beside.rs").unwrap();
        hands.workspace.change_behind(&beside, file(saved));
        hands.documents.show(&beside, typed);
        hands.replaces("raise", "one", "1", None);
        let seen_by_check = hands.sees_at("tools/check", &beside);
        hands.run(None, reviewable).await;
        assert_eq!(*seen_by_check.lock().unwrap(), [seen], "{saved:?}, then {typed:?}");
    }
}

/// Not the saved text, where there is a later one that was whole.
#[tokio::test]
async fn the_last_text_without_new_errors_stands_in() {
    let checked = format!("{RAISE}- check: `tools/check`\n");
    let hands = Hands::new(plan(&[("raise", &checked)]), silent()).await;
    let beside = WorkspacePath::new("src/beside.rs").unwrap();
    hands.workspace.change_behind(&beside, file("fn a() {}\n"));
    let (whole, begun) = ("fn a() {}\nfn b() {}\n", "fn a() {}\nfn b( {\n");
    hands.documents.show(&beside, whole);
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while hands.sound(&beside) != Some(file(whole)) {
        assert!(std::time::Instant::now() < deadline, "nobody looked at the document");
        tokio::task::yield_now().await;
    }
    hands.documents.show(&beside, begun);
    hands.replaces("raise", "one", "1", None);
    let seen_by_check = hands.sees_at("tools/check", &beside);
    hands.run(None, reviewable).await;
    assert_eq!(*seen_by_check.lock().unwrap(), [whole]);
}

#[tokio::test]
async fn documents_carry_the_spots_of_what_is_proposed_for_them() {
    let hands = opened().await;
    let seen = hands.seen();
    let watched = hands.documents.watched(&at());
    assert_eq!((watched.len(), seen.changes.len()), (1, 1));
    assert!(std::sync::Arc::ptr_eq(&watched[0], &seen.changes[0]));
    hands.documents.close(&at());
    hands.act(Action::Pause { task: Which::TheOnlyOne }).await;
    assert!(hands.documents.watched(&at()).is_empty(), "a closed one carries none");
}

#[tokio::test]
async fn while_git_changes_files_nothing_is_derived_and_nothing_decided() {
    let hands = opened().await;
    hands.workspace.set_moving(true);
    let refusal = hands.ask(accept(Target::All)).await.unwrap_err();
    assert!(refusal.message.contains("git is in the middle"), "{refusal:?}");
    hands.documents.show(&at(), &LIST.replace("one", "1"));
    tokio::task::yield_now().await;
    assert_eq!(rows(&hands.seen()), "one→1 Open pending; three→3 Open pending");
    hands.workspace.set_moving(false);
    hands.until_rows("one→1 Accepted unsaved pending; three→3 Open pending").await;
}

#[tokio::test]
async fn a_decision_cut_short_is_settled_by_the_text() {
    for (manner, state) in [
        (Manner::Silent, "one→1 Open pending; three→3 Open pending"),
        (Manner::SilentlyDone, "one→1 Accepted unsaved pending; three→3 Accepted unsaved pending"),
    ] {
        let mut hands = opened().await;
        hands.documents.behave([manner]);
        let asked = tokio::spawn(hands.asking(accept(Target::All)));
        hands.until(|seen| seen.task.in_flight().next().is_some()).await;
        while hands.documents.orders().is_empty() {
            tokio::task::yield_now().await;
        }
        hands.restart().await;
        asked.abort();
        let seen = hands.seen();
        assert_eq!(rows(&seen), state, "{manner:?}");
        assert!(seen.task.in_flight().next().is_none(), "{manner:?}");
        assert_eq!(hands.text(), LIST);
    }
}

#[tokio::test]
async fn a_keystroke_costs_a_look_at_one_file_of_many() {
    let hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
    let paths: Vec<WorkspacePath> = (0..40).map(|n| WorkspacePath::new(&format!("src/made{n}.txt")).unwrap()).collect();
    hands.makes("raise", paths.clone());
    hands.run(None, reviewable).await;
    hands.workspace.take_reads();
    hands.documents.show(&paths[7], "typed\n");
    hands.until(|seen| seen.hunks.iter().any(|hunk| hunk.state == HunkState::Touched)).await;
    let reads = hands.workspace.take_reads();
    assert!(!reads.is_empty() && reads.iter().all(|path| path == &paths[7]), "{reads:?}");
}

#[tokio::test]
async fn a_task_does_not_end_on_texts_that_git_is_taking_away() {
    let hands = two().await;
    let seen = hands.run(None, reviewable).await;
    let all = ids(&seen);
    // The checks of what was kept run while git brings another state of the files.
    let disk = hands.workspace.clone();
    hands.arena.on("tools/accept", move |_, _| {
        disk.set_moving(true);
        disk.change_behind(&at(), file(LIST));
        Ok(Answer::exit(0, "fine\n"))
    });
    hands.act(accept(Target::Hunks(vec![all[0].clone()]))).await;
    hands.act(reject(Target::Hunks(vec![all[1].clone()]))).await;
    let judged = |seen: &Dossier| matches!(seen.task.acceptance.state, ProgressState::Done { .. });
    let seen = hands.until(|seen| judged(seen) && seen.task.acceptance.attempts == 2).await;
    assert!(!seen.task.is_over(), "{:?}", seen.state);
    hands.workspace.set_moving(false);
    hands.until_rows("one→1 Open pending; three→3 Open").await;
    assert!(!hands.seen().task.is_over());
}

#[tokio::test]
async fn a_decision_that_waits_for_another_is_carried_out_before_the_task_ends() {
    let hands = two().await;
    let seen = hands.run(None, reviewable).await;
    let all = ids(&seen);
    let (taken, back) = tokio::join!(
        hands.ask(accept(Target::Hunks(all.clone()))),
        hands.ask(undo(Target::Hunks(vec![all[0].clone()])))
    );
    assert!(taken.is_ok() && back.is_ok(), "{taken:?} {back:?}");
    assert_eq!(hands.text(), LIST.replace("three", "3"));
    let seen = hands.seen();
    assert_eq!((rows(&seen).as_str(), seen.task.is_over()), ("one→1 Open pending; three→3 Accepted", false));
    // One that is refused leaves nothing behind it.
    let (taken, again) = tokio::join!(
        hands.ask(accept(Target::Hunks(vec![all[0].clone()]))),
        hands.ask(accept(Target::Hunks(vec![HunkId::new("gone")])))
    );
    assert!(taken.is_ok() && again.is_err(), "{taken:?} {again:?}");
    hands.until(|seen| seen.task.is_over()).await;
}

#[tokio::test]
async fn a_decision_under_which_the_store_fails_is_answered() {
    let hands = opened().await;
    let page = hands.seen().page.clone().unwrap();
    let path = WorkspacePath::new(page.path.strip_prefix("/workspace").unwrap().to_str().unwrap()).unwrap();
    hands.documents.show(&path, &page.text.replace("Step raise", "Another step"));
    hands.act(Action::Pause { task: Which::TheOnlyOne }).await;
    hands.documents.behave([Manner::Silent]);
    let asked = tokio::spawn(hands.asking(accept(Target::All)));
    hands.until(|seen| seen.task.in_flight().next().is_some()).await;
    hands.documents.show(&path, &page.text);
    hands.store.stop_after(hands.store.event_count());
    // Whoever acts next reads the document, and that it says again what was approved is to be noted.
    let resumed = hands.ask(Action::Resume { task: Which::TheOnlyOne }).await;
    assert!(resumed.is_err());
    let answer = tokio::time::timeout(Duration::from_secs(20), asked).await.unwrap().unwrap();
    assert_eq!(answer.unwrap_err().kind, RefusalKind::Broken);
}

#[tokio::test]
async fn theirs_takes_the_place_of_exactly_what_stands_there_and_mine_comes_back() {
    for open in [true, false] {
        let hands = if open { opened().await } else { two().await };
        if !open {
            hands.run(None, reviewable).await;
        }
        let first = ids(&hands.seen())[0].clone();
        // The user has something else there, and their own line in the middle.
        let mine = LIST.replace("one", "eins").replace("two", "zwei");
        if open {
            hands.documents.show(&at(), &mine);
        } else {
            hands.workspace.change_behind(&at(), file(&mine));
        }
        let now = || if open { hands.buffer() } else { hands.text() };
        let refusal = hands.ask(accept(Target::Hunks(vec![first.clone()]))).await.unwrap_err();
        hands.until(|seen| rows(seen).starts_with("one→1 Touched")).await;
        assert!(refusal.next.contains("resolve") && now() == mine, "{refusal:?}");
        hands.act(resolve(&first, Side::Theirs)).await;
        assert_eq!(now(), mine.replace("eins", "1"), "open: {open}");
        let stands = if open { "Accepted unsaved pending" } else { "Accepted" };
        hands.until_rows(&format!("one→1 {stands}; three→3 Open pending")).await;
        let seen = hands.seen();
        let decided = &seen.task.decisions[&first];
        assert_eq!(decided.shown, crate::domain::change::settle::shown("eins\n", "1\n"), "what was shown");
        // Asked for again it is as it is; taken back, every byte of theirs is there again.
        hands.act(resolve(&first, Side::Theirs)).await;
        hands.act(undo(Target::Hunks(vec![first.clone()]))).await;
        assert_eq!(now(), mine, "open: {open}");
        hands.until(|seen| rows(seen).starts_with("one→1 Touched")).await;
        hands.act(resolve(&first, Side::Mine)).await;
        hands.until(|seen| rows(seen).starts_with("one→1 Touched") && !seen.hunks[0].pending).await;
        assert_eq!(now(), mine, "open: {open}");
    }
}

#[tokio::test]
async fn what_is_no_longer_as_it_was_shown_or_known_exactly_is_not_settled() {
    let hands = opened().await;
    let first = ids(&hands.seen())[0].clone();
    let refusal = hands.ask(resolve(&first, Side::Theirs)).await.unwrap_err();
    assert_eq!(refusal.message, format!("{first} fits: nothing else stands at its place in src/list.txt"));
    let mine = LIST.replace("one", "eins");
    hands.documents.show(&at(), &mine);
    hands.until(|seen| rows(seen).starts_with("one→1 Touched")).await;
    let shown = Some(crate::domain::change::settle::shown("uno\n", "1\n"));
    let old = Action::Resolve { task: Which::TheOnlyOne, hunk: Some(first.clone()), side: Side::Theirs, shown };
    let refusal = hands.ask(old).await.unwrap_err();
    assert!(refusal.message.contains("no longer what was shown"), "{refusal:?}");
    // The lines beside it have gone with it.
    hands.documents.show(&at(), "x\ny\n");
    hands.until(|seen| rows(seen) == "one→1 Touched unsaved pending; three→3 Touched unsaved pending").await;
    let refusal = hands.ask(resolve(&first, Side::Theirs)).await.unwrap_err();
    assert!(refusal.message.contains("not known exactly") && refusal.next.contains("mine"), "{refusal:?}");
    // Seen first when it is to be written, it stays so: no second try helps.
    let (seen, task) = (hands.seen(), hands.seen().task.id.clone());
    let now = |state: HunkState, exact: bool| {
        let (id, touching) = (first.clone(), seen.hunks[0].touching.clone());
        let standing = crate::domain::change::HunkStanding { id, state, range: 0..4, touching, exact };
        crate::engine::settle::misfit(&task, &seen.hunks[0], &standing, HunkState::Touched)
    };
    let refusal = now(HunkState::Touched, false).unwrap();
    assert!(refusal.message.contains("not known exactly") && refusal.next.contains("mine"), "{refusal:?}");
    assert_eq!(now(HunkState::Open, true).unwrap().next, "decide again");
    assert_eq!(now(HunkState::Touched, true), None);
    assert_eq!((hands.buffer(), hands.text()), ("x\ny\n".to_owned(), LIST.to_owned()));
}
