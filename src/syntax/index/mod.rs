//! The symbols of the whole workspace, kept over restarts in one cache file.
//!
//! Invariant: what the table says of a file is what its text said when it was last read; a cache that cannot be read
//! is as good as none, and is made anew without a word. Absent: finding the files and watching them (the workspace
//! does), and open buffers as such: whoever owns them calls `update`, and again after a `refresh`.

mod codec;

use super::{languages, outline};
use crate::domain::ids::{ContentHash, WorkspacePath};
use crate::domain::symbols::{FileSymbols, SymbolTable};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Files over this are text to us: the workspace reads no larger ones either.
const LARGEST: u64 = 10_000_000;
/// A file changed so shortly before it was read can change again within the clock's grain, unseen. It is read again
/// the next time. Two seconds is the coarsest grain of a file system in use (FAT).
const GRAIN: i64 = 2_000_000_000;

/// A file as a walk over the workspace finds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stamped {
    /// Its name in the table.
    pub path: WorkspacePath,
    /// Where to read it.
    pub absolute: PathBuf,
    /// Nanoseconds since the Unix epoch.
    pub modified: i64,
    /// Bytes.
    pub size: u64,
}

/// What a refresh had to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Refreshed {
    /// Files whose text was parsed.
    pub parsed: usize,
    /// Files read again whose text was the same.
    pub unchanged: usize,
    /// Files not even read.
    pub kept: usize,
    /// Files that are gone.
    pub removed: usize,
}

/// When a file's text was what the table says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    modified: i64,
    size: u64,
}

#[derive(Default)]
struct State {
    table: SymbolTable,
    /// Files not in it are read at the next refresh whatever their time says.
    stamps: HashMap<WorkspacePath, Stamp>,
}

/// The index. Shared between threads; a reader never waits for a parse.
pub struct Index {
    cache: Option<PathBuf>,
    state: Mutex<State>,
}

impl Index {
    /// An index that is forgotten at the end.
    pub fn in_memory() -> Self {
        Self { cache: None, state: Mutex::default() }
    }

    /// Reads the cache file, if it is there, whole, and made by the same grammars.
    pub fn open(cache: PathBuf) -> Self {
        let state = std::fs::read(&cache).ok().and_then(|bytes| codec::read(&bytes, &version())).unwrap_or_default();
        Self { cache: Some(cache), state: Mutex::new(state) }
    }

    /// The table as of now.
    pub fn table(&self) -> SymbolTable {
        self.lock().table.clone()
    }

    /// Makes the table hold exactly these files. Reads those whose time or size is not as remembered, and parses
    /// those whose text is not, on all cores. Then writes the cache, if anything was new; that it could not be
    /// written costs only time at the next start.
    pub fn refresh(&self, files: &[Stamped]) -> Refreshed {
        let (known, stamps) = {
            let state = self.lock();
            (state.table.clone(), state.stamps.clone())
        };
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(0));
        let mut done = Refreshed::default();
        let mut next = BTreeMap::new();
        let mut stale = Vec::new();
        for file in files {
            let old = known.files.get(&file.path);
            let same = stamps.get(&file.path) == Some(&Stamp { modified: file.modified, size: file.size });
            match old {
                Some(old) if same => {
                    done.kept += 1;
                    next.insert(file.path.clone(), old.clone());
                }
                Some(_) | None => stale.push((file, old)),
            }
        }
        let read = in_parallel(&stale, |(file, old)| read(file, *old));
        for ((file, old), symbols) in stale.iter().zip(read) {
            let Some(symbols) = symbols else { continue };
            match old {
                Some(old) if Arc::ptr_eq(old, &symbols) => done.unchanged += 1,
                Some(_) | None => done.parsed += 1,
            }
            next.insert(file.path.clone(), symbols);
        }
        done.removed = known.files.keys().filter(|path| !next.contains_key(*path)).count();
        let stamps = files
            .iter()
            .filter(|file| file.modified.saturating_add(GRAIN) < now)
            .map(|file| (file.path.clone(), Stamp { modified: file.modified, size: file.size }))
            .collect();
        *self.lock() = State { table: SymbolTable { files: Arc::new(next) }, stamps };
        if done.parsed + done.unchanged + done.removed > 0 {
            self.save();
        }
        done
    }

    /// The text of one file as it is now (a save, a keystroke in a buffer), or that it is gone.
    pub fn update(&self, path: &WorkspacePath, text: Option<&str>) {
        let symbols = text.map(|text| Arc::new(of(path, text)));
        let mut state = self.lock();
        state.stamps.remove(path);
        let files = Arc::make_mut(&mut state.table.files);
        match symbols {
            Some(symbols) => files.insert(path.clone(), symbols),
            None => files.remove(path),
        };
    }

    fn save(&self) {
        let Some(cache) = &self.cache else { return };
        let bytes = {
            let state = self.lock();
            let (table, stamps) = (state.table.clone(), state.stamps.clone());
            drop(state);
            codec::write(&State { table, stamps }, &version())
        };
        let Some(folder) = cache.parent() else { return };
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| tempfile::NamedTempFile::new_in(folder))
            .and_then(|mut file| file.write_all(&bytes).map(|()| file))
            .and_then(|file| file.persist(cache).map_err(std::io::Error::from));
        if let Err(error) = written {
            tracing::debug!(%error, cache = %cache.display(), "the index was not kept");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Changes with every grammar and with what an outline says.
pub(super) fn version() -> String {
    languages::all().map(languages::Grammar::version).chain(["outline-1".to_owned()]).collect::<Vec<_>>().join("+")
}

/// The symbols of a text; none in an unknown language, whose content is not hashed either (nothing refers to it).
pub(super) fn of(path: &WorkspacePath, text: &str) -> FileSymbols {
    match languages::of(path) {
        Some(grammar) => outline::of(grammar, text),
        None => bare(ContentHash::of(text)),
    }
}

fn bare(content: ContentHash) -> FileSymbols {
    FileSymbols { content, symbols: Vec::new(), mentions: Vec::new() }
}

/// `None` when the file cannot be read: it went away since the walk.
fn read(file: &Stamped, old: Option<&Arc<FileSymbols>>) -> Option<Arc<FileSymbols>> {
    if languages::of(&file.path).is_none() || file.size > LARGEST {
        return Some(old.cloned().unwrap_or_else(|| Arc::new(bare(ContentHash::of("")))));
    }
    let bytes = std::fs::read(&file.absolute).ok()?;
    let content = ContentHash::of(&bytes);
    if let Some(old) = old.filter(|old| old.content == content) {
        return Some(old.clone());
    }
    Some(Arc::new(match std::str::from_utf8(&bytes) {
        Ok(text) => of(&file.path, text),
        Err(_) => bare(content),
    }))
}

/// Does `work` on each, on as many threads as there are cores, and gives the results in order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Option<R> + Sync) -> Vec<Option<R>> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get).min(items.len());
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let take = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return done };
            done.push((index, work(item)));
        }
    };
    let done: Vec<(usize, Option<R>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    for (index, result) in done {
        if let Some(slot) = results.get_mut(index) {
            *slot = result;
        }
    }
    results
}

#[cfg(test)]
mod tests;
