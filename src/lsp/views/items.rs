//! The item under the cursor, for the title of an action whose title is a contract (A12).
//!
//! Invariant: nobody waits for it. A client that asks on its own as the cursor moves makes it known before the menu is
//! opened; where it is not known the title says less, never something else. At most one question is on its way, and none
//! while a long text is being typed. Absent: finding it; the engine parses.

use crate::desk::{ItemView, Query, View};
use crate::domain::ids::WorkspacePath;
use crate::domain::task::action::Place;
use crate::lsp::methods;
use crate::lsp::session::Session;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A place in one version of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Spot {
    path: WorkspacePath,
    version: i32,
    lines: (u32, u32),
}

/// What was asked last.
#[derive(Debug, Default)]
pub struct Items {
    known: Mutex<Option<(Spot, ItemView)>>,
    /// Where the client was last, if nobody has asked about it yet.
    wanted: Mutex<Option<Spot>>,
    asking: AtomicBool,
}

/// Bytes of a text that is parsed as often as its client asks: a few milliseconds. A longer one is, when it rests.
const AT_ONCE: usize = 256 * 1024;

/// How long a text stands as it is to rest: a person who types pauses less.
const REST: Duration = Duration::from_millis(200);

/// A question is on its way until this is dropped, however it ends.
struct Asked<'a>(&'a AtomicBool);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A value that is replaced as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The item at 1-based lines of an open document, if it is known by now; otherwise it is asked for.
pub fn at(session: &Arc<Session>, path: &WorkspacePath, lines: (u32, u32)) -> Option<ItemView> {
    let version = session.documents().of(session.id()?, path)?.version;
    let spot = Spot { path: path.clone(), version, lines };
    let items = &session.views().items;
    if let Some((known, item)) = &*lock(&items.known)
        && *known == spot
    {
        return Some(item.clone());
    }
    *lock(&items.wanted) = Some(spot);
    if !items.asking.swap(true, Ordering::AcqRel) {
        tokio::spawn(ask(session.clone()));
    }
    None
}

/// Asks about where the client was last, until it has been nowhere else meanwhile.
async fn ask(session: Arc<Session>) {
    let items = &session.views().items;
    let _asked = Asked(&items.asking);
    while let Some(spot) = next(items) {
        if !stands(&session, &spot).await {
            continue;
        }
        let place = Place { path: spot.path.clone(), lines: Some(spot.lines) };
        if let Some(View::Item(item)) = methods::ask(&session, Query::Item { place }).await {
            *lock(&items.known) = Some((spot, item));
        }
    }
}

fn next(items: &Items) -> Option<Spot> {
    lock(&items.wanted).take()
}

/// The text is still the one that the client was in; a long one, after a moment.
async fn stands(session: &Session, spot: &Spot) -> bool {
    let now = || session.documents().of(session.id()?, &spot.path).filter(|now| now.version == spot.version);
    if now().is_some_and(|document| document.text.len() > AT_ONCE) {
        tokio::time::sleep(REST).await;
    }
    now().is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a broken fixture is to fail its test")]
    use super::*;
    use crate::testing::editor::{Editor, Profile, Shared, TestGround, TestPort, buffers};

    /// How often an item is asked for while one letter after the other is typed, and where the client was last.
    async fn asked(text: &str) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let port = Arc::new(TestPort::default());
        let ground = TestGround::with_port(folder.path(), buffers(), port.clone());
        let editor = Editor::start(Profile::neovim_0_11(), folder.path(), Arc::new(Shared(ground))).await;
        editor.allow_views();
        editor.open("a.rs", "rust", text);
        for _ in 0..5 {
            editor.replace("a.rs", 0..0, "/");
            editor.actions("a.rs", "fn").await;
        }
        port.asks(|query| matches!(query, Query::Item { .. })).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_text_is_parsed_when_it_rests() {
        assert_eq!(asked(&"\nfn a() {}\n".repeat(AT_ONCE / 10)).await, 1);
    }
}
