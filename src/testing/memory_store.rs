//! The store's twin in memory, which can stop as a killed process does.
//!
//! Invariant: it keeps what SQLite would: bodies as JSON with their version, appends whole or not at all. Absent:
//! damage and newer releases; those are the real store's own.

use crate::domain::ids::{ContentHash, TaskId, Time};
use crate::domain::task::event::{Event, Recorded};
use crate::ports::{Durability, Fut, Snapshot, Store, StoreFault};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle to a journal in memory. Clones belong to the same process life and stop together; [`Self::reopen`] begins
/// the next life on the same data.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    core: Arc<Mutex<Core>>,
    life: Arc<Life>,
}

/// One process's access to the data.
#[derive(Debug)]
struct Life {
    /// Events in the store at which this life ends.
    ends_at: AtomicU64,
}

impl Default for Life {
    fn default() -> Self {
        Self { ends_at: AtomicU64::new(u64::MAX) }
    }
}

#[derive(Debug, Default)]
struct Core {
    order: Vec<TaskId>,
    journals: HashMap<TaskId, Vec<Line>>,
    snapshots: HashMap<TaskId, Snapshot>,
    blobs: HashMap<ContentHash, Vec<u8>>,
    memory: HashMap<String, String>,
    events: u64,
    appends: u64,
    synced: u64,
}

#[derive(Debug)]
struct Line {
    at: Time,
    version: u32,
    body: String,
}

impl MemoryStore {
    /// Empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// From the moment the store holds `events` events (of all tasks), this handle and its clones write nothing more:
    /// each write fails with `Broken("stopped")`. An append that would go beyond is refused as a whole.
    pub fn stop_after(&self, events: u64) {
        self.life.ends_at.store(events, Ordering::SeqCst);
    }

    /// The same data for the next process; this handle and its clones are stopped for good.
    #[must_use]
    pub fn reopen(&self) -> Self {
        // Taken under the core's lock: a write of the old life is either in the data already or refused.
        let _core = self.core();
        self.stop_after(0);
        Self { core: Arc::clone(&self.core), life: Arc::default() }
    }

    /// True once a write would be refused.
    pub fn stopped(&self) -> bool {
        self.core().events >= self.life.ends_at.load(Ordering::SeqCst)
    }

    /// True once a write was refused: everything that this life could still do to the world before it noticed its end
    /// is done.
    pub fn refused(&self) -> bool {
        self.life.ends_at.load(Ordering::SeqCst) == 0
    }

    /// Appends acknowledged in all lives.
    pub fn appends(&self) -> u64 {
        self.core().appends
    }

    /// Of these, with `Durability::Disk`.
    pub fn synced_appends(&self) -> u64 {
        self.core().synced
    }

    /// Events stored in all lives.
    pub fn event_count(&self) -> u64 {
        self.core().events
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The data, if this life may add `more` events to it.
    fn writing(&self, more: u64) -> Result<MutexGuard<'_, Core>, StoreFault> {
        let core = self.core();
        let ends_at = self.life.ends_at.load(Ordering::SeqCst);
        if core.events >= ends_at || core.events.saturating_add(more) > ends_at {
            // What comes after a refused append is refused too, a smaller one included.
            self.stop_after(0);
            return Err(StoreFault::Broken("stopped".to_owned()));
        }
        Ok(core)
    }

    fn append_now(
        &self,
        task: &TaskId,
        after: u64,
        at: Time,
        events: &[Event],
        how: Durability,
    ) -> Result<u64, StoreFault> {
        let more = u64::try_from(events.len()).unwrap_or(u64::MAX);
        let mut core = self.writing(more)?;
        let found = core.journals.get(task).map_or(0, |lines| u64::try_from(lines.len()).unwrap_or(u64::MAX));
        if found != after {
            return Err(StoreFault::Moved { task: task.clone(), expected: after, found });
        }
        let lines = events
            .iter()
            .map(|event| Ok(Line { at, version: Event::VERSION, body: event.to_json()? }))
            .collect::<serde_json::Result<Vec<_>>>()
            .map_err(|error| StoreFault::Broken(format!("an event cannot be written as JSON: {error}")))?;
        if found == 0 && !lines.is_empty() {
            core.order.push(task.clone());
        }
        core.journals.entry(task.clone()).or_default().extend(lines);
        core.events += more;
        core.appends += 1;
        core.synced += u64::from(how == Durability::Disk);
        Ok(found + more)
    }

    fn events_now(&self, task: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreFault> {
        let core = self.core();
        let lines = core.journals.get(task).map_or(&[][..], Vec::as_slice);
        (1..)
            .zip(lines)
            .filter(|(seq, _)| *seq > after)
            .map(|(seq, line)| {
                let event = Event::from_json(line.version, &line.body)
                    .map_err(|why| StoreFault::Broken(format!("event {seq} of {task} cannot be read: {why}")))?;
                Ok(Recorded { seq, at: line.at, event })
            })
            .collect()
    }
}

/// An answer that is there already: nothing in memory waits.
fn ready<'a, T: Send + 'a>(value: T) -> Fut<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Store for MemoryStore {
    fn tasks(&self) -> Fut<'_, Result<Vec<TaskId>, StoreFault>> {
        ready(Ok(self.core().order.clone()))
    }

    fn append<'a>(
        &'a self,
        task: &'a TaskId,
        after: u64,
        at: Time,
        events: &'a [Event],
        how: Durability,
    ) -> Fut<'a, Result<u64, StoreFault>> {
        // In the future, not before it: an append that is never awaited never happens, as with SQLite.
        Box::pin(async move { self.append_now(task, after, at, events, how) })
    }

    fn events<'a>(&'a self, task: &'a TaskId, after: u64) -> Fut<'a, Result<Vec<Recorded>, StoreFault>> {
        ready(self.events_now(task, after))
    }

    fn snapshot<'a>(&'a self, task: &'a TaskId) -> Fut<'a, Result<Option<Snapshot>, StoreFault>> {
        ready(Ok(self.core().snapshots.get(task).cloned()))
    }

    fn keep_snapshot<'a>(&'a self, task: &'a TaskId, snapshot: Snapshot) -> Fut<'a, Result<(), StoreFault>> {
        Box::pin(async move {
            self.writing(0)?.snapshots.insert(task.clone(), snapshot);
            Ok(())
        })
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Fut<'_, Result<ContentHash, StoreFault>> {
        Box::pin(async move {
            let hash = ContentHash::of(&bytes);
            self.writing(0)?.blobs.insert(hash.clone(), bytes);
            Ok(hash)
        })
    }

    fn blob<'a>(&'a self, hash: &'a ContentHash) -> Fut<'a, Result<Vec<u8>, StoreFault>> {
        let found = self.core().blobs.get(hash).cloned();
        ready(found.ok_or_else(|| StoreFault::Missing(hash.as_str().to_owned())))
    }

    fn remember<'a>(&'a self, key: &'a str, value: String) -> Fut<'a, Result<(), StoreFault>> {
        Box::pin(async move {
            self.writing(0)?.memory.insert(key.to_owned(), value);
            Ok(())
        })
    }

    fn recall<'a>(&'a self, key: &'a str) -> Fut<'a, Result<Option<String>, StoreFault>> {
        ready(Ok(self.core().memory.get(key).cloned()))
    }
}
