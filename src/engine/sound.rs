//! What an open document said last before it had new errors of syntax.
//!
//! Somebody who is in the middle of a word should fail nobody's check. Invariant: what is kept for a path was its text
//! once, with no more errors than the saved one had then. Absent: a text that came and went within a moment; the saved
//! one stands in for it.

use super::buffered;
use super::world::World;
use crate::domain::change::Entry;
use crate::domain::ids::WorkspacePath;
use crate::ports::{DocumentEvent, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// What is told within this time is looked at once.
const QUIET: Duration = Duration::from_millis(200);

/// By path; of documents that are open.
#[derive(Default)]
pub struct Sound(Mutex<BTreeMap<WorkspacePath, Entry>>);

impl Sound {
    /// The last one.
    pub(super) fn at(&self, path: &WorkspacePath) -> Option<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    fn keep(&self, path: &WorkspacePath, entry: Option<Entry>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match entry {
            Some(entry) => drop(kept.insert(path.clone(), entry)),
            None => drop(kept.remove(path)),
        }
    }
}

/// Looks at documents as they change, for as long as somebody else has this world.
pub(super) fn follow(world: &Arc<World>) {
    let (told, mut events) = mpsc::unbounded_channel::<WorkspacePath>();
    world.documents.listen(Arc::new(move |_, event: &DocumentEvent| {
        let _nobody_looks = told.send(event.path().clone());
    }));
    let (clock, world) = (world.clock.clone(), Arc::downgrade(world));
    tokio::spawn(async move {
        while let Some(first) = events.recv().await {
            clock.sleep(QUIET).await;
            let mut paths = BTreeSet::from([first]);
            while let Ok(more) = events.try_recv() {
                paths.insert(more);
            }
            let Some(world) = world.upgrade() else { return };
            for path in paths {
                look(&world, path).await;
            }
        }
    });
}

async fn look(world: &World, path: WorkspacePath) {
    let Some(document) = world.documents.newest(&path) else {
        return world.sound.keep(&path, None);
    };
    let Ok(saved) = world.disk.read(&path).await else { return };
    let (syntax, now) = (world.syntax.clone(), buffered::entry(&document, &saved));
    let at = path.clone();
    let sound = tokio::task::spawn_blocking(move || {
        let errors = |entry: &Entry| syntax.errors(&Source { path: at.clone(), text: Arc::from(entry.text()) }).len();
        (errors(&now) <= errors(&saved)).then_some(now)
    });
    if let Ok(Some(entry)) = sound.await {
        world.sound.keep(&path, Some(entry));
    }
}
