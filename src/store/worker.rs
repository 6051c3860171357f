//! The thread that owns the connection, and the group commit.
//!
//! Invariant: jobs are done in the order in which they came. Appends that wait together share a transaction, and are
//! answered only after its commit; one that was refused changes nothing and spoils no other. Absent: a bound on the
//! queue; each asker waits for its answer.

use super::broken;
use crate::domain::ids::{TaskId, Time};
use crate::domain::task::event::Event;
use crate::ports::{Durability, StoreFault};
use rusqlite::{Connection, TransactionBehavior, params};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc;
use tokio::sync::oneshot;

/// Appends in one transaction at most: bounds how long the first of them waits.
const GROUP: usize = 64;

/// What the thread owns.
#[derive(Debug)]
pub(super) struct Base {
    pub connection: Connection,
    /// The folder of large payloads.
    pub blobs: PathBuf,
    /// Payload files not yet synced. The next `Durability::Disk` append does it, so that no event on the disk names a
    /// payload that a power cut can take away.
    pub unsynced: BTreeSet<PathBuf>,
}

impl Base {
    pub(super) fn new(connection: Connection, blobs: PathBuf) -> Self {
        Self { connection, blobs, unsynced: BTreeSet::new() }
    }
}

/// Something to do on the thread.
pub(super) enum Job {
    Append(Append),
    Call(Box<dyn FnOnce(&mut Base) + Send>),
}

/// An append on its way.
pub(super) struct Append {
    pub task: TaskId,
    pub after: u64,
    pub at: Time,
    pub rows: Vec<Row>,
    pub how: Durability,
    pub answer: oneshot::Sender<Result<u64, StoreFault>>,
}

/// An event as the journal has it.
pub(super) struct Row {
    kind: String,
    body: String,
}

impl Row {
    /// Made on the asker's side, so that the thread only writes.
    pub(super) fn of(event: &Event) -> Result<Self, StoreFault> {
        #[derive(Deserialize)]
        struct Tag<'a> {
            #[serde(borrow)]
            kind: Cow<'a, str>,
        }
        let unwritable = |error| StoreFault::Broken(format!("an event cannot be written as JSON: {error}"));
        let body = event.to_json().map_err(unwritable)?;
        let kind = serde_json::from_str::<Tag<'_>>(&body).map_err(unwritable)?.kind.into_owned();
        Ok(Self { kind, body })
    }
}

/// Works until the last sender is gone. A panic ends one job: its asker's channel closes, an open transaction is rolled
/// back by its drop, and the next job goes on.
pub(super) fn run(mut base: Base, queue: &mpsc::Receiver<Job>) {
    while let Ok(job) = queue.recv() {
        let mut next = Some(job);
        while let Some(job) = next.take() {
            match job {
                Job::Call(work) => drop(catch_unwind(AssertUnwindSafe(|| work(&mut base)))),
                Job::Append(first) => {
                    let mut group = vec![first];
                    while group.len() < GROUP {
                        match queue.try_recv() {
                            Ok(Job::Append(append)) => group.push(append),
                            Ok(other) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    drop(catch_unwind(AssertUnwindSafe(|| commit(&mut base, group))));
                }
            }
        }
    }
}

fn commit(base: &mut Base, group: Vec<Append>) {
    let outcomes = write(base, &group);
    for (i, append) in group.into_iter().enumerate() {
        let outcome = match &outcomes {
            Ok(each) => each.get(i).cloned().unwrap_or_else(|| Err(StoreFault::Broken("not written".to_owned()))),
            Err(fault) => Err(fault.clone()),
        };
        // An asker that has gone away is no failure.
        drop(append.answer.send(outcome));
    }
}

/// The outer error is of the whole transaction; nothing was written then.
fn write(base: &mut Base, group: &[Append]) -> Result<Vec<Result<u64, StoreFault>>, StoreFault> {
    let disk = group.iter().any(|append| append.how == Durability::Disk);
    if disk {
        super::blobs::sync(base)?;
        // In WAL mode a commit under FULL syncs the whole log, earlier transactions included.
        base.connection.pragma_update(None, "synchronous", "FULL").map_err(broken)?;
    }
    let outcomes = transact(&mut base.connection, group).map_err(broken);
    if disk {
        base.connection.pragma_update(None, "synchronous", "NORMAL").map_err(broken)?;
    }
    outcomes
}

fn transact(connection: &mut Connection, group: &[Append]) -> rusqlite::Result<Vec<Result<u64, StoreFault>>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(group.len());
    for append in group {
        let task = append.task.as_str();
        let found: u64 = transaction
            .prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE task = ?1")?
            .query_row([task], |row| row.get(0))?;
        if found != append.after {
            outcomes.push(Err(StoreFault::Moved { task: append.task.clone(), expected: append.after, found }));
            continue;
        }
        if found == 0 && !append.rows.is_empty() {
            transaction.prepare_cached("INSERT INTO tasks (id) VALUES (?1)")?.execute([task])?;
        }
        let mut insert = transaction.prepare_cached(
            "INSERT INTO events (task, seq, at, kind, version, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let mut seq = found;
        for row in &append.rows {
            seq += 1;
            insert.execute(params![task, seq, append.at.0, row.kind, Event::VERSION, row.body])?;
        }
        outcomes.push(Ok(seq));
    }
    transaction.commit()?;
    Ok(outcomes)
}
