//! Opening a database that may be missing, old, new or damaged.
//!
//! Invariant: nothing a person could still want is deleted or overwritten: a newer database is not written to, a
//! damaged one is renamed, with its log, and kept. Absent: repair.

use super::explain;
use super::schema::{self, MIGRATIONS};
use crate::ports::StoreFault;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long to wait for another program that has the database open (a person with an SQL prompt).
const BUSY: Duration = Duration::from_secs(5);

/// Up to this size the whole file is checked at each start (1 to 2 ms a megabyte); above, only after a host that did
/// not close it, which leaves its log behind. A start is to be quick.
const CHECKED_ALWAYS: u64 = 8_000_000;

/// What was found at the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Opened {
    /// Nothing; a new database was made.
    Fresh,
    /// A database of this release.
    Current,
    /// One of an older release, brought up to this one's schema.
    Migrated {
        /// The schema it had.
        from: u32,
    },
    /// One of a newer release. It is open read-only; every write is refused with `StoreFault::Newer`.
    ReadOnlyNewer {
        /// The schema it has.
        found: u32,
    },
    /// A damaged one. It was renamed, and a new one was made.
    SetAside {
        /// Where the damaged one is now; its log, if there was one, lies beside it.
        copy: PathBuf,
    },
}

impl Opened {
    /// What a person must be told, if anything.
    pub fn remark(&self) -> Option<String> {
        match self {
            Opened::Fresh | Opened::Current | Opened::Migrated { .. } => None,
            Opened::ReadOnlyNewer { found } => Some(format!(
                "the tasks of this workspace were written by a newer planwright (schema {found}, this one knows {}); \
                 they can be read, not changed; update planwright",
                schema::known(MIGRATIONS)
            )),
            Opened::SetAside { copy } => Some(format!(
                "the database of this workspace was damaged; it was kept as {} and a new one was started, so its \
                 tasks are not listed",
                copy.display()
            )),
        }
    }
}

/// Opens, checks and migrates.
pub(super) fn open(path: &Path) -> Result<(Connection, Opened), StoreFault> {
    match attempt(path) {
        Ok(done) => Ok(done),
        Err(Trouble::Fault(why)) => Err(named(path, &why)),
        Err(Trouble::Damaged) => {
            let copy = set_aside(path).map_err(|error| {
                StoreFault::Broken(format!(
                    "{} is damaged and could not be renamed: {error}; move it away yourself",
                    path.display()
                ))
            })?;
            match attempt(path) {
                Ok((connection, _)) => Ok((connection, Opened::SetAside { copy })),
                Err(Trouble::Fault(why)) => Err(named(path, &why)),
                Err(Trouble::Damaged) => Err(StoreFault::Broken(format!(
                    "{} is damaged again right after it was made; the disk may be failing",
                    path.display()
                ))),
            }
        }
    }
}

fn named(path: &Path, why: &str) -> StoreFault {
    StoreFault::Broken(format!("{}: {why}", path.display()))
}

/// Why a database cannot be used.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The file is there and is no sound database.
    Damaged,
    /// Anything else, in words; the file may be well.
    Fault(String),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Trouble::Damaged,
            _ => Trouble::Fault(explain(&error)),
        }
    }
}

fn attempt(path: &Path) -> Result<(Connection, Opened), Trouble> {
    let before = std::fs::metadata(path).map(|file| file.len()).unwrap_or(0);
    let left_open = std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    let found = schema::found(&connection)?;
    if found > schema::known(MIGRATIONS) {
        drop(connection);
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(BUSY)?;
        return Ok((connection, Opened::ReadOnlyNewer { found }));
    }
    if before > 0 && !sound(&connection, before <= CHECKED_ALWAYS || left_open)? {
        return Err(Trouble::Damaged);
    }
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Trouble::Fault(format!(
            "the file system has no shared memory (SQLite says `{mode}`); set PLANWRIGHT_STATE_DIR to a local folder"
        )));
    }
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    schema::migrate(&mut connection, MIGRATIONS)?;
    let opened = match found {
        0 => Opened::Fresh,
        from if from < schema::known(MIGRATIONS) => Opened::Migrated { from },
        _ => Opened::Current,
    };
    Ok((connection, opened))
}

/// Whether the pages hang together. The quick form reads the schema only.
fn sound(connection: &Connection, whole: bool) -> Result<bool, rusqlite::Error> {
    let check = if whole { "PRAGMA quick_check(1)" } else { "SELECT 'ok' FROM (SELECT count(*) FROM sqlite_schema)" };
    let verdict: String = connection.query_row(check, [], |row| row.get(0))?;
    Ok(verdict == "ok")
}

/// Renames the database with its log. The log goes first: a kill in between then loses neither.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let copy = (0..1_000)
        .map(|n| beside(path, &if n == 0 { format!(".damaged-{seconds}") } else { format!(".damaged-{seconds}-{n}") }))
        .find(|copy| !copy.exists())
        .ok_or(io::ErrorKind::AlreadyExists)?;
    for tail in ["-wal", "-shm", ""] {
        match std::fs::rename(beside(path, tail), beside(&copy, tail)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(copy)
}

fn beside(path: &Path, tail: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(tail);
    name.into()
}
