//! The item under the cursor, for the title of an action whose title is a contract (A12).
//!
//! Invariant: nobody waits for it. A client that asks on its own as the cursor moves makes it known before the menu is
//! opened; where it is not known the title says less, never something else. At most one question is on its way.
//! Absent: finding it; the engine parses.

use crate::desk::{ItemView, Query, View};
use crate::domain::ids::WorkspacePath;
use crate::domain::task::action::Place;
use crate::lsp::methods;
use crate::lsp::session::Session;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    asking: AtomicBool,
}

/// A question is on its way until this is dropped, however it ends.
struct Asked<'a>(&'a AtomicBool);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The item at 1-based lines of an open document, if it is known by now; otherwise it is asked for.
pub fn at(session: &Arc<Session>, path: &WorkspacePath, lines: (u32, u32)) -> Option<ItemView> {
    let version = session.documents().of(session.id()?, path)?.version;
    let spot = Spot { path: path.clone(), version, lines };
    let items = &session.views().items;
    if let Some((known, item)) = &*items.known.lock().unwrap_or_else(PoisonError::into_inner)
        && *known == spot
    {
        return Some(item.clone());
    }
    if !items.asking.swap(true, Ordering::AcqRel) {
        let session = session.clone();
        tokio::spawn(async move {
            let place = Place { path: spot.path.clone(), lines: Some(spot.lines) };
            let items = &session.views().items;
            let _asked = Asked(&items.asking);
            if let Some(View::Item(item)) = methods::ask(&session, Query::Item { place }).await {
                *items.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((spot, item));
            }
        });
    }
    None
}
