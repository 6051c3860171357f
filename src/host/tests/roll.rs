//! A host that takes over hears the editors of the one before it first.

use super::shared::{Fake, editor, opened};
use super::*;
use crate::host::roll::{Entry, Roll};
use crate::ports::{Documents as _, SessionId};

/// A process that lives until it is dropped.
struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn editor(&self) -> lock::Editor {
        (self.0.id(), process::started(self.0.id()))
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn roll(place: &Place, editors: &[lock::Editor]) -> Arc<Roll> {
    let lock = Lock::take(&place.state.lock()).unwrap().unwrap();
    let own = Holder { editors: editors.to_vec(), ..Holder::this(PathBuf::new(), "test") };
    Arc::new(Roll::call(lock, own).unwrap())
}

fn noted(place: &Place) -> Vec<lock::Editor> {
    lock::read(&place.state.lock()).unwrap().editors
}

#[tokio::test]
async fn it_waits_for_those_who_live_and_not_for_ever() {
    let place = Place::new();
    let (here, away) = (Bystander::new(), Bystander::new());
    let dead = (here.0.id(), Some(1));
    let roll = roll(&place, &[here.editor(), away.editor(), dead, (std::process::id(), None)]);
    roll.note(|own| own.left.clear());
    assert!([here.editor(), away.editor()].iter().all(|one| noted(&place).contains(one)), "the next host waits, too");
    let began = Instant::now();
    let mut complete = Box::pin(roll.complete());
    Entry::new(Arc::downgrade(&roll), Some(here.0.id())).has_told();
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut complete).await.is_err(), "one is not back");
    Entry::new(Arc::downgrade(&roll), Some(away.0.id())).has_told();
    within(complete.as_mut()).await;
    drop(complete);
    assert!(began.elapsed() < Duration::from_secs(1), "everybody was back");

    drop(roll);
    let roll = self::roll(&place, &[away.editor()]);
    let began = Instant::now();
    within(roll.complete()).await;
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
}

#[tokio::test]
async fn the_note_names_who_has_documents() {
    let place = Place::new();
    let host = place.join_as(Seat::terminal("terminal", Arc::new(Fake::default())), engine()).await.unwrap();
    let own = (std::process::id(), process::started(std::process::id()));
    let _without = place.join("without documents").await.unwrap();
    let mut attached = Vec::new();
    for _ in 0..2 {
        let (documents, session) = editor(true);
        documents.tell(session, opened("a.rs", 1, "old\n"));
        attached.push(place.join_as(Seat::editor("vi 9", documents), engine()).await.unwrap());
    }
    assert_eq!(noted(&place), [own, own]);
    attached.pop();
    within(async {
        while noted(&place) != [own] {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(host);
    within(attached[0].lost()).await;
    assert_eq!(noted(&place), [own], "whoever takes over has to know of it");
}

#[tokio::test]
async fn what_is_open_is_heard_before_there_is_an_engine() {
    let place = Place::new();
    let (documents, session) = editor(true);
    documents.tell(session, opened("a.rs", 1, "typed\n"));
    let at_host = Arc::new(Fake::default());
    let heard = at_host.clone();
    let host = join(&place.state, Seat::terminal("terminal", at_host), |_| async move {
        assert_eq!(heard.heard(2).await, ["1 begins: vi 9", "1 opens a.rs 1 typed\n"]);
        Ok(engine())
    });
    let attached = async {
        while lock::read(&place.state.lock()).is_none() {
            tokio::task::yield_now().await;
        }
        place.join_as(Seat::editor("vi 9", documents).of(Some(SessionId(1))), engine()).await
    };
    let (host, attached) = within(async { tokio::join!(host, attached) }).await;
    assert!(host.unwrap().is_host() && !attached.unwrap().is_host());
}
