//! The journal and what belongs to it, in one SQLite database per workspace.
//!
//! Invariant: what `append` has acknowledged is there after a kill of the process, and, where `Durability::Disk` was
//! asked for, after a power cut, together with every blob stored before it. One thread owns the connection, so
//! everything happens in the order in which it was asked for. SQL files are append-only.
//!
//! Deliberately absent: any knowledge of what an event means; the lock that makes this process the only writer (that
//! is `host`); compression and eviction of payloads.

mod blobs;
mod open;
mod schema;
mod worker;

#[cfg(test)]
mod tests;

pub use open::Opened;

use crate::domain::ids::{ContentHash, TaskId, Time};
use crate::domain::task::event::{Event, Recorded};
use crate::ports::{Durability, Fut, Snapshot, Store, StoreFault};
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use worker::{Append, Base, Job, Row};

/// The store on disk. Dropping it waits until what was asked for is written.
#[derive(Debug)]
pub struct Sqlite {
    /// `None` only while being dropped.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// Set where the file belongs to a newer release: nothing is written then.
    newer: Option<StoreFault>,
}

impl Sqlite {
    /// Opens the database, making or migrating it, and starts its thread. `blobs` is the folder for payloads over 64 kB.
    /// Reads the disk: a few milliseconds.
    ///
    /// # Errors
    /// `Broken` where the folder cannot be written, another program holds the database, or an SQL file of this
    /// release differs from the one that was applied. A newer or a corrupt database is no error; see [`Opened`].
    pub fn open(path: &Path, blobs: &Path) -> Result<(Self, Opened), StoreFault> {
        let (connection, opened) = open::open(path)?;
        let (jobs, queue) = mpsc::channel();
        let base = Base::new(connection, blobs.to_owned());
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || worker::run(base, &queue))
            .map_err(|error| StoreFault::Broken(format!("the store's thread could not be started: {error}")))?;
        let newer = match &opened {
            Opened::ReadOnlyNewer { found } => {
                Some(StoreFault::Newer { found: *found, known: schema::known(schema::MIGRATIONS) })
            }
            Opened::Fresh | Opened::Current | Opened::Migrated { .. } | Opened::SetAside { .. } => None,
        };
        Ok((Self { jobs: Some(jobs), thread: Some(thread), newer }, opened))
    }

    fn writable(&self) -> Result<(), StoreFault> {
        self.newer.clone().map_or(Ok(()), Err)
    }

    fn send(&self, job: Job) -> Result<(), StoreFault> {
        self.jobs.as_ref().ok_or_else(ended)?.send(job).map_err(|_| ended())
    }

    /// Runs on the store's thread.
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Base) -> Result<T, StoreFault> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let (answer, reply) = oneshot::channel();
        // An asker that has gone away is no failure.
        self.send(Job::Call(Box::new(move |base| drop(answer.send(work(base))))))?;
        reply.await.map_err(|_| ended())?
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The thread ends with its queue; a panic there has been logged by the panic hook.
            drop(thread.join());
        }
    }
}

impl Store for Sqlite {
    fn tasks(&self) -> Fut<'_, Result<Vec<TaskId>, StoreFault>> {
        Box::pin(self.call(|base| {
            let mut rows = base.connection.prepare_cached("SELECT id FROM tasks ORDER BY ordinal").map_err(broken)?;
            let ids = rows.query_map([], |row| row.get::<_, String>(0)).map_err(broken)?;
            ids.map(|id| id.map(TaskId::new).map_err(broken)).collect()
        }))
    }

    fn append<'a>(
        &'a self,
        task: &'a TaskId,
        after: u64,
        at: Time,
        events: &'a [Event],
        how: Durability,
    ) -> Fut<'a, Result<u64, StoreFault>> {
        Box::pin(async move {
            self.writable()?;
            let rows = events.iter().map(Row::of).collect::<Result<_, _>>()?;
            let (answer, reply) = oneshot::channel();
            self.send(Job::Append(Append { task: task.clone(), after, at, rows, how, answer }))?;
            reply.await.map_err(|_| ended())?
        })
    }

    fn events<'a>(&'a self, task: &'a TaskId, after: u64) -> Fut<'a, Result<Vec<Recorded>, StoreFault>> {
        let task = task.clone();
        Box::pin(self.call(move |base| read_events(&base.connection, &task, after)))
    }

    fn snapshot<'a>(&'a self, task: &'a TaskId) -> Fut<'a, Result<Option<Snapshot>, StoreFault>> {
        let task = task.clone();
        Box::pin(self.call(move |base| {
            base.connection
                .prepare_cached("SELECT seq, state FROM snapshots WHERE task = ?1")
                .and_then(|mut row| {
                    row.query_row([task.as_str()], |row| Ok(Snapshot { seq: row.get(0)?, state: row.get(1)? }))
                        .optional()
                })
                .map_err(broken)
        }))
    }

    fn keep_snapshot<'a>(&'a self, task: &'a TaskId, snapshot: Snapshot) -> Fut<'a, Result<(), StoreFault>> {
        Box::pin(async move {
            self.writable()?;
            let task = task.clone();
            self.call(move |base| {
                base.connection
                    .prepare_cached("INSERT OR REPLACE INTO snapshots (task, seq, state) VALUES (?1, ?2, ?3)")
                    .and_then(|mut row| row.execute(params![task.as_str(), snapshot.seq, snapshot.state]))
                    .map_err(broken)?;
                Ok(())
            })
            .await
        })
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Fut<'_, Result<ContentHash, StoreFault>> {
        Box::pin(async move {
            self.writable()?;
            // Hashed here, so that a large payload does not keep the store's thread from the journal.
            let hash = ContentHash::of(&bytes);
            self.call(move |base| blobs::put(base, &hash, &bytes).map(|()| hash)).await
        })
    }

    fn blob<'a>(&'a self, hash: &'a ContentHash) -> Fut<'a, Result<Vec<u8>, StoreFault>> {
        Box::pin(async move {
            let wanted = hash.clone();
            let bytes = self.call(move |base| blobs::get(base, &wanted)).await?;
            if ContentHash::of(&bytes) == *hash {
                Ok(bytes)
            } else {
                Err(StoreFault::Broken(format!("the payload {} is damaged: its hash is another", hash.as_str())))
            }
        })
    }

    fn remember<'a>(&'a self, key: &'a str, value: String) -> Fut<'a, Result<(), StoreFault>> {
        Box::pin(async move {
            self.writable()?;
            let key = key.to_owned();
            self.call(move |base| {
                base.connection
                    .prepare_cached("INSERT OR REPLACE INTO memory (key, value) VALUES (?1, ?2)")
                    .and_then(|mut row| row.execute([key, value]))
                    .map_err(broken)?;
                Ok(())
            })
            .await
        })
    }

    fn recall<'a>(&'a self, key: &'a str) -> Fut<'a, Result<Option<String>, StoreFault>> {
        let key = key.to_owned();
        Box::pin(self.call(move |base| {
            base.connection
                .prepare_cached("SELECT value FROM memory WHERE key = ?1")
                .and_then(|mut row| row.query_row([key], |row| row.get(0)).optional())
                .map_err(broken)
        }))
    }
}

fn read_events(connection: &Connection, task: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreFault> {
    let mut rows = connection
        .prepare_cached("SELECT seq, at, version, body FROM events WHERE task = ?1 AND seq > ?2 ORDER BY seq")
        .map_err(broken)?;
    let mut rows = rows.query(params![task.as_str(), after]).map_err(broken)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().map_err(broken)? {
        let seq = row.get(0).map_err(broken)?;
        let at = Time(row.get(1).map_err(broken)?);
        let version = row.get(2).map_err(broken)?;
        // Borrowed from SQLite's page: a long journal is read without a copy of each body.
        let body = row.get_ref(3).map_err(broken)?.as_str().map_err(|error| broken(error.into()))?;
        let event = Event::from_json(version, body)
            .map_err(|why| StoreFault::Broken(format!("event {seq} of {task} cannot be read: {why}")))?;
        events.push(Recorded { seq, at, event });
    }
    Ok(events)
}

fn ended() -> StoreFault {
    StoreFault::Broken("it gave no answer; the log says why; run the command again".to_owned())
}

fn broken(error: rusqlite::Error) -> StoreFault {
    StoreFault::Broken(explain(&error))
}

/// SQLite's failure in words, with the next step where there is an obvious one.
fn explain(error: &rusqlite::Error) -> String {
    let next = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => "; free some space and run the command again",
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            "; another program has the database open: close it and run the command again"
        }
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            "; the database is damaged: the next start sets it aside"
        }
        _ => "",
    };
    format!("{error}{next}")
}
