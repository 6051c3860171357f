//! What an open document said last before it had new errors of syntax.
//!
//! Somebody who is in the middle of a word should fail nobody's check. Invariant: what is kept for a path was its text
//! once, with no more errors than the saved one had then. While no task goes on nothing is looked at, and a long text
//! only when it rests. Absent: a text that came and went within a moment; the saved one stands in for it.

use super::buffered;
use super::world::World;
use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, WorkspacePath};
use crate::ports::{Document, DocumentEvent, Documents, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedSender};

/// What is told within this time is looked at once; a long text that stands for it rests.
const QUIET: Duration = Duration::from_millis(200);

/// Bytes of a text that is parsed after every pause of typing: a few milliseconds.
const AT_ONCE: usize = 256 * 1024;

/// By path; of documents that are open.
#[derive(Default)]
pub struct Sound {
    kept: Mutex<BTreeMap<WorkspacePath, Entry>>,
    /// Errors of saved texts, which change less often than what is typed.
    counted: Mutex<BTreeMap<WorkspacePath, (ContentHash, usize)>>,
    /// Some task goes on.
    wanted: AtomicBool,
    told: OnceLock<UnboundedSender<WorkspacePath>>,
}

/// Both maps are valid at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sound {
    /// The last one.
    pub(super) fn at(&self, path: &WorkspacePath) -> Option<Entry> {
        lock(&self.kept).get(path).cloned()
    }

    /// Looks at documents from now on, or no more. Those that are open already are looked at once.
    pub(super) fn want(&self, documents: &dyn Documents, wanted: bool) {
        let before = self.wanted.swap(wanted, Ordering::AcqRel);
        if wanted && !before {
            for path in documents.paths() {
                self.tell(path);
            }
        } else if before && !wanted {
            lock(&self.kept).clear();
            lock(&self.counted).clear();
        }
    }

    fn tell(&self, path: WorkspacePath) {
        if let Some(told) = self.told.get() {
            let _nobody_looks = told.send(path);
        }
    }

    fn keep(&self, path: &WorkspacePath, entry: Entry) {
        lock(&self.kept).insert(path.clone(), entry);
    }

    fn forget(&self, path: &WorkspacePath) {
        lock(&self.kept).remove(path);
        lock(&self.counted).remove(path);
    }
}

/// Errors of syntax in a text. A long one takes a while, which no task of the runtime should.
pub(super) async fn errors(world: &World, path: &WorkspacePath, entry: &Entry) -> usize {
    let (syntax, source) = (world.syntax.clone(), Source { path: path.clone(), text: Arc::from(entry.text()) });
    // A parser that panics has nothing to say for the text.
    tokio::task::spawn_blocking(move || syntax.errors(&source).len()).await.unwrap_or(usize::MAX)
}

/// The same of the text on disk, counted once.
pub(super) async fn errors_saved(world: &World, path: &WorkspacePath, saved: &Entry) -> usize {
    let hash = saved.hash();
    let known = lock(&world.sound.counted).get(path).filter(|(of, _)| *of == hash).map(|(_, count)| *count);
    if let Some(count) = known {
        return count;
    }
    let count = errors(world, path, saved).await;
    lock(&world.sound.counted).insert(path.clone(), (hash, count));
    count
}

/// Looks at documents as they change, for as long as somebody else has this world.
pub(super) fn follow(world: &Arc<World>) {
    let (told, mut events) = mpsc::unbounded_channel::<WorkspacePath>();
    let listened = told.clone();
    world.documents.listen(Arc::new(move |_, event: &DocumentEvent| {
        let _nobody_looks = listened.send(event.path().clone());
    }));
    let _followed_twice = world.sound.told.set(told);
    let (clock, world) = (world.clock.clone(), Arc::downgrade(world));
    tokio::spawn(async move {
        while let Some(first) = events.recv().await {
            clock.sleep(QUIET).await;
            let mut paths = BTreeSet::from([first]);
            while let Ok(more) = events.try_recv() {
                paths.insert(more);
            }
            let Some(world) = world.upgrade() else { return };
            // The program's own pages are in no view.
            paths.retain(|path| !path.as_str().starts_with(".planwright/"));
            for path in paths {
                if world.sound.wanted.load(Ordering::Acquire) {
                    look(&world, path).await;
                }
            }
        }
    });
}

async fn look(world: &World, path: WorkspacePath) {
    let Some(document) = world.documents.newest(&path) else {
        return world.sound.forget(&path);
    };
    if !rests(world, &path, &document).await {
        return;
    }
    let Ok(saved) = world.disk.read(&path).await else { return };
    let now = buffered::entry(&document, &saved);
    if errors(world, &path, &now).await <= errors_saved(world, &path, &saved).await {
        world.sound.keep(&path, now);
    }
}

/// The text is short, or stands for a moment; of a later one is told again.
async fn rests(world: &World, path: &WorkspacePath, document: &Document) -> bool {
    if document.text.len() <= AT_ONCE {
        return true;
    }
    world.clock.sleep(QUIET).await;
    let same = |now: Document| (now.session, now.version) == (document.session, document.version);
    world.documents.newest(path).is_some_and(same)
}
