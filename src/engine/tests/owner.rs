//! The owner's loop waits for nobody: whatever takes long, an act is answered meanwhile.

use super::hands::{Hands, LIST, RAISE, at, file, hunks, plan, reviewable, silent};
use crate::domain::change::HunkState;
use crate::domain::task::action::*;
use crate::domain::task::standing::TaskState;
use crate::testing::memory_arena::Answer;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Longer than any act takes; only a failing test waits for it.
const DEADLINE: Duration = Duration::from_secs(10);

impl Hands {
    /// Another task is opened.
    pub(super) async fn answers(&self) {
        let goal = Goal { words: "Another".to_owned(), place: None, references: Vec::new(), comment: None };
        let asked = self.ask(Action::Plan { goal, document: Some(plan(&[("lower", RAISE)])) });
        tokio::time::timeout(DEADLINE, asked).await.expect("an act is answered").unwrap();
    }

    /// A hunk in a document that is open, and lost in it: its search begins, which is told, and ends when it is let.
    async fn searched(text: &str) -> (Hands, Receiver<()>, Sender<()>) {
        let hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
        hands.replaces("raise", "one", "1", None);
        hands.documents.show(&at(), LIST);
        hands.run(None, reviewable).await;
        let ((tell, begun), (end, ended)) = (channel(), channel());
        hands.documents.lose(move || {
            tell.send(()).unwrap();
            ended.recv().unwrap();
        });
        hands.documents.show(&at(), text);
        (hands, begun, end)
    }
}

async fn heard(begun: Receiver<()>) {
    let heard = tokio::task::spawn_blocking(move || begun.recv_timeout(DEADLINE));
    heard.await.unwrap().expect("the search begins");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_for_lost_hunks_holds_nobody_up() {
    let (hands, begun, end) = Hands::searched(&format!("{LIST}four\n")).await;
    heard(begun).await;
    hands.answers().await;
    hands.until(|seen| hunks(seen) == [("one→1".to_owned(), HunkState::Touched)]).await;
    end.send(()).unwrap();
    hands.until(|seen| hunks(seen) == [("one→1".to_owned(), HunkState::Open)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_during_a_search_counts_when_it_has_ended() {
    let accepted = LIST.replace("one", "1");
    let (hands, begun, end) = Hands::searched(&accepted).await;
    heard(begun).await;
    hands.workspace.change_behind(&at(), file(&accepted));
    hands.documents.saved(&at());
    hands.until(|seen| hunks(seen) == [("one→1".to_owned(), HunkState::Touched)]).await;
    end.send(()).unwrap();
    hands.until(|seen| matches!(seen.state, TaskState::Done { .. })).await;
}

/// Every hunk of a document that is searched reads as touched, also one that is accepted.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_decided_while_lost_hunks_are_looked_for() {
    let (hands, begun, end) = Hands::searched(&LIST.replace("one", "1")).await;
    heard(begun).await;
    hands.until(|seen| hunks(seen) == [("one→1".to_owned(), HunkState::Touched)]).await;
    let (task, hunk) = (Which::TheOnlyOne, hands.seen().hunks[0].id.clone());
    let target = Target::Hunks(vec![hunk.clone()]);
    let undo = Action::Undo { task: task.clone(), target: target.clone() };
    let reject = Action::Reject { task: task.clone(), target, reason: None };
    let mine = Action::Resolve { task: task.clone(), hunk: Some(hunk), side: Side::Mine, shown: None };
    let every = Action::Reject { task, target: Target::All, reason: None };
    for action in [undo.clone(), reject, mine, every] {
        let refusal = hands.ask(action).await.unwrap_err();
        assert_eq!(refusal.message, "lost hunks are being looked for in src/list.txt");
    }
    assert!(hands.seen().task.decisions.is_empty());
    end.send(()).unwrap();
    hands.until(|seen| hunks(seen) == [("one→1".to_owned(), HunkState::Accepted)]).await;
    hands.act(undo).await;
    assert_eq!(hands.documents.text(&at()).as_deref(), Some(LIST));
}

/// A store that fails between a write and its result has the task stand still; whoever acts when it serves again has
/// the write looked at, in a process that started long ago.
#[tokio::test]
async fn what_a_late_mending_finds_is_told_to_those_who_watch() {
    let mut heard = 0;
    for events in 1..6 {
        let hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
        hands.replaces("raise", "one", "1", None);
        hands.run(None, reviewable).await;
        hands.store.stop_after(hands.store.event_count() + events);
        let accepted = hands.ask(Action::Accept { task: Which::TheOnlyOne, target: Target::All }).await;
        hands.store.stop_after(u64::MAX);
        let mut updates = hands.updates();
        hands.workspace.says_at_mending("a text is kept");
        let _refused_where_it_is_over = hands.ask(Action::Pause { task: Which::TheOnlyOne }).await;
        let told = std::iter::from_fn(|| updates.try_recv().ok()).filter(|told| told.line == "a text is kept").count();
        assert!(told == 0 || accepted.is_err(), "{events}: {accepted:?}");
        heard += told;
    }
    assert!(heard > 0);
}

#[tokio::test]
async fn a_probe_holds_nobody_up() {
    let tell = "- run: `tools/tell`\n- effect: outside\n- probe: `tools/was-sent`\n";
    let mut hands = Hands::new(plan(&[("tell", tell)]), silent()).await;
    for command in ["tools/tell", "tools/was-sent"] {
        hands.arena.answers(command, Answer::exit(0, "done\n"));
        hands.arena.hold(command);
    }
    hands.run(None, |seen| seen.task.in_flight().next().is_some()).await;
    hands.arena.started(1).await;
    hands.restart().await;
    let going = hands.asking(Action::Resume { task: Which::TheOnlyOne });
    tokio::time::timeout(DEADLINE, going).await.expect("going on is answered").unwrap();
    hands.arena.started(2).await;
    hands.answers().await;
    hands.arena.release();
    hands.until(|seen| seen.task.is_over()).await;
    assert_eq!((hands.arena.runs("tools/tell"), hands.arena.runs("tools/was-sent")), (1, 1));
}
