//! The numbered SQL files and how they are applied.
//!
//! Invariant: numbers run from 1 without a gap, and the text of an applied file never changes: each database keeps the
//! hash of what was applied to it, and a difference is a hard error, not a guess. Absent: going back to an older
//! schema.

use super::open::Trouble;
use crate::domain::ids::ContentHash;
use rusqlite::{Connection, OptionalExtension, params};

/// One SQL file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Migration {
    /// Its number, also that of the file name.
    pub n: u32,
    /// The file name.
    pub name: &'static str,
    /// The file's text.
    pub sql: &'static str,
}

/// All of them, oldest first. Append only.
pub(super) const MIGRATIONS: &[Migration] =
    &[Migration { n: 1, name: "0001_journal.sql", sql: include_str!("migrations/0001_journal.sql") }];

/// The schema that these files make.
pub(super) fn known(migrations: &[Migration]) -> u32 {
    migrations.last().map_or(0, |last| last.n)
}

/// The schema of a database; 0 where nothing was applied yet.
pub(super) fn found(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Compares what was applied with today's files, then applies what is missing, each file in its own transaction.
pub(super) fn migrate(connection: &mut Connection, migrations: &[Migration]) -> Result<(), Trouble> {
    let from = found(connection)?;
    for migration in migrations {
        let hash = ContentHash::of(migration.sql);
        if migration.n <= from {
            let applied: Option<String> = connection
                .query_row("SELECT hash FROM migrations WHERE n = ?1", [migration.n], |row| row.get(0))
                .optional()?;
            if applied.as_deref() != Some(hash.as_str()) {
                return Err(Trouble::Fault(format!(
                    "{} is not the text that was applied to this database; use the release that made it, or move the \
                     database away",
                    migration.name
                )));
            }
            continue;
        }
        let transaction = connection.transaction()?;
        transaction
            .execute_batch(migration.sql)
            .and_then(|()| {
                transaction.execute(
                    "INSERT INTO migrations (n, name, hash, applied_at)
                     VALUES (?1, ?2, ?3, CAST(unixepoch('subsec') * 1000 AS INTEGER))",
                    params![migration.n, migration.name, hash.as_str()],
                )
            })
            .and_then(|_| transaction.pragma_update(None, "user_version", migration.n))
            .and_then(|()| transaction.commit())
            .map_err(|error| Trouble::Fault(format!("{} could not be applied: {error}", migration.name)))?;
    }
    Ok(())
}
