//! Appends to the journal against the bare inserts they end in (L4).

use crate::harness::{Guide, Row, Samples, in_turn, time};
use planwright::domain::ids::*;
use planwright::domain::task::event::*;
use planwright::ports::{Durability, Store};
use planwright::store::Sqlite;
use rusqlite::{Connection, params};
use std::path::Path;
use std::time::Duration;

pub fn rows() -> Vec<Row> {
    vec![
        Row::of(
            "journal append that survives a kill",
            "rusqlite insert, WAL, synchronous = NORMAL",
            Guide::Free,
            appends(Durability::Process, "NORMAL", 2_000),
        ),
        Row::of(
            "journal append that survives a power cut",
            "rusqlite insert, WAL, synchronous = FULL",
            Guide::Free,
            appends(Durability::Disk, "FULL", 200),
        ),
    ]
}

fn appends(how: Durability, mode: &str, rounds: usize) -> Samples {
    let keep = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (store, _) = Sqlite::open(&keep.path().join("journal.db"), &keep.path().join("blobs")).unwrap();
    let bare = bare(&keep.path().join("bare.db"), mode);
    let task = TaskId::new("abcd");
    let (mut ours, mut floor) = (0_u64, 0_u64);
    in_turn(
        rounds,
        || {
            let event = event(ours);
            // On a worker of the runtime, as the engine is.
            let (took, seq) = runtime.block_on(async {
                let started = std::time::Instant::now();
                let seq = store.append(&task, ours, Time(1), &[event], how).await.unwrap();
                (started.elapsed(), seq)
            });
            ours = seq;
            took
        },
        || {
            floor += 1;
            let event = event(floor);
            time(|| {
                let body = event.to_json().unwrap();
                let mut insert = bare
                    .prepare_cached(
                        "INSERT INTO events (task, seq, at, kind, version, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )
                    .unwrap();
                insert.execute(params![task.as_str(), floor, 1, "settled", Event::VERSION, body]).unwrap()
            })
        },
    )
}

/// A tool's result of 500 bytes.
fn event(n: u64) -> Event {
    let effect = EffectId { work: Work::Step(StepId::new("policy")), attempt: 1, n: u32::try_from(n).unwrap() };
    let result = Payload::Inline("fn total(values: &[u32]) -> u32;\n".repeat(15));
    Event::Settled { effect, result: Settlement::Returned { result, usage: None } }
}

fn bare(path: &Path, mode: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {mode};
             CREATE TABLE events (task TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
             version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (task, seq)) STRICT;"
        ))
        .unwrap();
    connection
}
