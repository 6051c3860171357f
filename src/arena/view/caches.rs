//! A task's own build folders: what stands in a view where the user's builds write.
//!
//! Invariant: a command never writes into a folder of the user's, nor into a file that one of these shares with it
//! (content is copied, which file systems that can do by sharing blocks). A folder is filled once, whole or not at all,
//! and only from one that nobody wrote meanwhile: half of a build would be taken for a fresh one. The folders belong
//! to one task: another one's texts would be judged by what was built of this one's.
//! Absent: an eye on how much a command adds (the cage's); what is too much goes at the next start.

use super::super::sources::Stamp;
use crate::domain::ids::{ContentHash, WorkspacePath};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the folders may take up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Caps {
    /// Bytes taken over from one folder of the user's; a larger one is not taken over.
    pub(crate) seed: u64,
    /// Entries of such a folder.
    pub(crate) entries: u64,
    /// Bytes of all tasks' folders together; what was used longest ago goes first.
    pub(crate) total: u64,
    /// Bytes that stay free on the disk.
    pub(crate) spare: u64,
}

impl Default for Caps {
    fn default() -> Self {
        // A `target` of 4 GB is copied in some ten seconds; a cold build of the same project takes minutes.
        Self { seed: 4 << 30, entries: 300_000, total: 20 << 30, spare: 2 << 30 }
    }
}

/// Not taken over: large, and no build reads them.
const LEFT: [&str; 3] = ["doc", "package", "criterion"];

/// The folder that stands at `path` in the view.
pub(super) fn folder_at(caches: &Path, path: &str) -> PathBuf {
    caches.join(ContentHash::of(path).short())
}

/// What came of providing the folders.
#[derive(Default, Debug)]
pub(super) struct Provided {
    /// At least one was filled just now.
    pub(super) seeded: bool,
    pub(super) notes: Vec<String>,
}

/// Makes each folder that is not there yet, filled from the user's.
pub(super) fn provide(
    caches: &Path,
    root: &Path,
    outputs: &BTreeSet<WorkspacePath>,
    caps: Caps,
) -> Result<Provided, String> {
    let mut provided = Provided::default();
    for path in outputs {
        let own = folder_at(caches, path.as_str());
        match fill(&own, Some(&root.join(path.as_str())), caps)? {
            Filled::Already | Filled::Empty => {}
            Filled::Now => provided.seeded = true,
            Filled::Left(why) => provided.notes.push(format!("{path} starts empty: {why}")),
        }
    }
    Ok(provided)
}

/// How a folder of ours came to be there.
pub(super) enum Filled {
    /// It was there.
    Already,
    /// Made, and there was nothing to take over.
    Empty,
    /// Made, with what the user's had.
    Now,
    /// Made and left empty, for this reason.
    Left(String),
}

/// Makes one folder if it is not there yet, filled from the user's if there is one.
pub(super) fn fill(own: &Path, users: Option<&Path>, caps: Caps) -> Result<Filled, String> {
    if own.is_dir() {
        return Ok(Filled::Already);
    }
    let failed = |error: io::Error| format!("{}: {error}", own.display());
    let filling = own.with_extension("filling");
    let empty = || {
        super::remove(&filling).map_err(failed)?;
        std::fs::create_dir_all(&filling).map_err(failed)
    };
    empty()?;
    // The user may keep it elsewhere, behind a link.
    let users = users.and_then(|users| users.canonicalize().ok()).filter(|users| users.is_dir());
    let filled = match users.map(|users| seed(&users, &filling, caps)) {
        None | Some(Ok(0)) => Filled::Empty,
        Some(Ok(_)) => Filled::Now,
        Some(Err(why)) => {
            empty()?;
            Filled::Left(why)
        }
    };
    std::fs::rename(&filling, own).map_err(failed)?;
    Ok(filled)
}

/// One entry of a folder of the user's.
struct Found {
    below: PathBuf,
    meta: std::fs::Metadata,
}

/// Copies a folder with its times and modes. Returns how many entries, or why nothing of it may be used.
fn seed(users: &Path, own: &Path, caps: Caps) -> Result<usize, String> {
    let text = |error: io::Error| error.to_string();
    let found = survey(users, caps)?;
    let bytes: u64 = found.iter().map(|found| found.meta.blocks().saturating_mul(512)).sum();
    if bytes > caps.seed {
        return Err(format!("the workspace's has {} MB, more than the {} MB taken over", bytes >> 20, caps.seed >> 20));
    }
    if free(own).is_some_and(|free| free < bytes.saturating_add(caps.spare)) {
        return Err("the disk is nearly full".to_owned());
    }
    // Build tools link an artefact under several names; these are links among ours, not to the user's.
    let mut named: HashMap<(u64, u64), PathBuf> = HashMap::new();
    for Found { below, meta } in &found {
        let (from, to) = (users.join(below), own.join(below));
        let again = (meta.is_file() && meta.nlink() > 1).then_some((meta.dev(), meta.ino()));
        if let Some(first) = again.and_then(|key| named.get(&key)) {
            std::fs::hard_link(first, &to).map_err(text)?;
            continue;
        }
        if meta.is_dir() {
            std::fs::create_dir(&to).map_err(text)?;
        } else if meta.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(&from).map_err(text)?, &to).map_err(text)?;
        } else if meta.is_file() {
            let (mut from, mut to) = (File::open(&from).map_err(text)?, File::create_new(&to).map_err(text)?);
            // One system call where the file system can share the blocks.
            io::copy(&mut from, &mut to).map_err(text)?;
            to.set_permissions(meta.permissions()).map_err(text)?;
            to.set_modified(meta.modified().map_err(text)?).map_err(text)?;
        }
        if let Some(key) = again {
            named.insert(key, to);
        }
    }
    // The deepest first, because what is made in a folder gives it a new time.
    for Found { below, meta } in found.iter().rev().filter(|found| found.meta.is_dir()) {
        let folder = File::open(own.join(below)).map_err(text)?;
        folder.set_modified(meta.modified().map_err(text)?).map_err(text)?;
    }
    let same = |a: &Found, b: &Found| a.below == b.below && Stamp::of(&a.meta) == Stamp::of(&b.meta);
    let after = survey(users, caps)?;
    if after.len() != found.len() || !found.iter().zip(&after).all(|(a, b)| same(a, b)) {
        return Err("a build was writing the workspace's while it was copied".to_owned());
    }
    Ok(found.len())
}

/// All entries, sorted, each folder before what it holds.
fn survey(users: &Path, caps: Caps) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(folder) = waiting.pop() {
        let at = users.join(&folder);
        let failed = |error: io::Error| format!("{}: {error}", at.display());
        for entry in std::fs::read_dir(&at).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if folder.as_os_str().is_empty() && LEFT.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let (below, meta) = (folder.join(entry.file_name()), entry.metadata().map_err(failed)?);
            if meta.is_dir() {
                waiting.push(below.clone());
            }
            found.push(Found { below, meta });
            if u64::try_from(found.len()).unwrap_or(u64::MAX) > caps.entries {
                return Err(format!("the workspace's has more than {} entries", caps.entries));
            }
        }
    }
    found.sort_by(|a, b| a.below.cmp(&b.below));
    Ok(found)
}

fn free(at: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(at).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Bytes on disk below a folder.
pub(super) fn size(folder: &Path) -> u64 {
    let mut bytes = 0_u64;
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(meta.blocks().saturating_mul(512));
            if meta.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    bytes
}
