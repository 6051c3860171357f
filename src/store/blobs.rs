//! Payloads by hash: small ones in the database, large ones as files.
//!
//! Invariant: a payload file stands under its name only when it is whole (written beside, then renamed). Absent:
//! checking the hash; whoever asks does it, off the store's thread.

use super::broken;
use super::worker::Base;
use crate::domain::ids::ContentHash;
use crate::ports::StoreFault;
use rusqlite::{OptionalExtension, params};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes up to which a payload is a row. Measured by SQLite's authors: below about 100 kB a row is read faster than a
/// file.
pub(super) const INLINE: usize = 64_000;

/// Stores bytes under their hash.
pub(super) fn put(base: &mut Base, hash: &ContentHash, bytes: &[u8]) -> Result<(), StoreFault> {
    if bytes.len() <= INLINE {
        base.connection
            .prepare_cached("INSERT OR IGNORE INTO blobs (hash, bytes) VALUES (?1, ?2)")
            .and_then(|mut row| row.execute(params![hash.as_str(), bytes]))
            .map_err(broken)?;
        return Ok(());
    }
    let Some(path) = file(&base.blobs, hash) else {
        return Err(StoreFault::Missing(hash.as_str().to_owned()));
    };
    // A power cut may have left a file of the right name and a shorter length; that one is written again.
    let whole = std::fs::metadata(&path).is_ok_and(|file| u64::try_from(bytes.len()) == Ok(file.len()));
    if !whole {
        write(&path, bytes)
            .map_err(|error| StoreFault::Broken(format!("{} cannot be written: {error}", path.display())))?;
        base.unsynced.insert(path);
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(folder)?;
    let mut beside = tempfile::NamedTempFile::new_in(folder)?;
    beside.write_all(bytes)?;
    beside.persist(path)?;
    Ok(())
}

/// Reads bytes back, unchecked.
pub(super) fn get(base: &mut Base, hash: &ContentHash) -> Result<Vec<u8>, StoreFault> {
    let row: Option<Vec<u8>> = base
        .connection
        .prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")
        .and_then(|mut row| row.query_row([hash.as_str()], |row| row.get(0)).optional())
        .map_err(broken)?;
    if let Some(bytes) = row {
        return Ok(bytes);
    }
    let missing = || StoreFault::Missing(hash.as_str().to_owned());
    let path = file(&base.blobs, hash).ok_or_else(missing)?;
    std::fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(),
        _ => StoreFault::Broken(format!("{} cannot be read: {error}", path.display())),
    })
}

/// Syncs the payload files written since the last time, and the folders that name them.
pub(super) fn sync(base: &mut Base) -> Result<(), StoreFault> {
    let mut all: BTreeSet<&Path> = base.unsynced.iter().map(PathBuf::as_path).collect();
    all.extend(base.unsynced.iter().filter_map(|file| file.parent()));
    if !all.is_empty() {
        all.insert(&base.blobs);
    }
    for path in all {
        File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(|error| StoreFault::Broken(format!("{} cannot be synced: {error}", path.display())))?;
    }
    base.unsynced.clear();
    Ok(())
}

/// `ab/abcd…`; nothing where the hash was read from a damaged journal and is none, so that no path is made of it.
fn file(blobs: &Path, hash: &ContentHash) -> Option<PathBuf> {
    let text = hash.as_str();
    let sound = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let folder = text.get(..2).filter(|_| sound)?;
    Some(blobs.join(folder).join(text))
}
