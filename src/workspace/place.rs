//! From a workspace path to a directory that is held open and a name in it.
//!
//! Invariant: the directory is inside the root, links resolved; whoever swaps a parent for a link afterwards swaps
//! nothing for us, because every later call goes through the open directory. Absent: what is done with the file.

use crate::domain::change::Entry;
use crate::domain::ids::WorkspacePath;
use crate::domain::policy::paths::is_secret;
use crate::ports::ReadRefusal;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the largest file that is read (E6).
pub const LIMIT: u64 = 10 * 1024 * 1024;
/// A NUL among so many first bytes makes a file binary; git looks as far.
const SNIFFED: usize = 8000;

/// A name in an open directory.
pub(super) struct Place {
    pub dir: OwnedFd,
    /// Where the directory is, links resolved.
    pub dir_path: PathBuf,
    pub name: OsString,
}

pub(super) fn failed(path: &WorkspacePath, error: impl ToString) -> ReadRefusal {
    ReadRefusal::Failed { path: path.clone(), reason: error.to_string() }
}

/// The place of a path, following a final link to its target; `None` if a parent is missing. A link to a secret, to
/// git's own files or to ours is refused.
pub(super) fn place(root: &Path, path: &WorkspacePath) -> Result<Option<Place>, ReadRefusal> {
    let full = root.join(path.as_str());
    let linked = full.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink());
    let full = if linked { full.canonicalize().map_err(|error| failed(path, link_reason(&error)))? } else { full };
    let (Some(parent), Some(name)) = (full.parent(), full.file_name()) else {
        return Err(ReadRefusal::Outside(path.clone()));
    };
    unprotected(root, path, &full)?;
    let parent = match parent.canonicalize() {
        Ok(parent) => parent,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return if inside_as_far_as_it_goes(root, parent) {
                Ok(None)
            } else {
                Err(ReadRefusal::Outside(path.clone()))
            };
        }
        Err(error) => return Err(failed(path, error)),
    };
    if !parent.starts_with(root) {
        return Err(ReadRefusal::Outside(path.clone()));
    }
    match open_dir(root, &parent, name) {
        Ok(place) => Ok(Some(place)),
        // a file stands where a folder would have to be: nothing stands below it
        Err(rustix::io::Errno::NOTDIR) => Ok(None),
        Err(error) => Err(failed(path, error)),
    }
}

/// Opens a directory that is already resolved. The kernel checks on the way down that no part has become a link.
pub(super) fn open_dir(root: &Path, dir: &Path, name: &OsStr) -> rustix::io::Result<Place> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let fd = {
        use rustix::fs::ResolveFlags;
        let below = dir.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
        let top = rustix::fs::open(root, flags, Mode::empty())?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&top, below.unwrap_or(Path::new(".")), flags, Mode::empty(), resolve) {
            // kernels before 5.6, and sandboxes that do not know the call
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => rustix::fs::open(dir, flags, Mode::empty())?,
            opened => opened?,
        }
    };
    #[cfg(not(target_os = "linux"))]
    let fd = {
        let _ = root;
        rustix::fs::open(dir, flags, Mode::empty())?
    };
    Ok(Place { dir: fd, dir_path: dir.to_owned(), name: name.to_owned() })
}

/// Where a path leads below the root, as far as it exists; the rest of it as written.
pub(super) fn resolved(root: &Path, full: &Path) -> Option<WorkspacePath> {
    let (part, found) = full.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)))?;
    let rest = full.strip_prefix(part).ok()?;
    // joining nothing would end the path in a slash
    let all = if rest.as_os_str().is_empty() { found } else { found.join(rest) };
    super::disk::relative(root, &all)
}

/// Refuses what is secret where a link leads. What its own name says is for callers to judge: they know for whom they
/// ask.
pub(super) fn unprotected(root: &Path, path: &WorkspacePath, full: &Path) -> Result<(), ReadRefusal> {
    match resolved(root, full) {
        Some(target) if target != *path && is_secret(&target) => {
            Err(ReadRefusal::Protected { path: path.clone(), target })
        }
        Some(_) | None => Ok(()),
    }
}

fn link_reason(error: &std::io::Error) -> String {
    if error.kind() == ErrorKind::NotFound { "a link to nothing".to_owned() } else { error.to_string() }
}

/// Whether the existing part of a path that is not there as a whole stays inside.
pub(super) fn inside_as_far_as_it_goes(root: &Path, path: &Path) -> bool {
    path.ancestors().find_map(|part| part.canonicalize().ok()).is_some_and(|part| part.starts_with(root))
}

impl Place {
    /// What stands there, without following a link.
    pub fn stat(&self, name: &OsStr) -> rustix::io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a regular file; a pipe or device is not waited for.
    pub fn open(&self, name: &OsStr, flags: OFlags) -> rustix::io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&self.dir, name, flags, Mode::empty()).map(File::from)
    }

    /// Reads what stands under a name of this directory.
    pub fn read(&self, path: &WorkspacePath, name: &OsStr) -> Result<Entry, ReadRefusal> {
        self.read_by(path, name, false)
    }

    /// The same, also where a NUL stands in it: in a page that is a fault to be shown, and no sign of a binary file.
    pub fn read_any(&self, path: &WorkspacePath, name: &OsStr) -> Result<Entry, ReadRefusal> {
        self.read_by(path, name, true)
    }

    fn read_by(&self, path: &WorkspacePath, name: &OsStr, nuls: bool) -> Result<Entry, ReadRefusal> {
        match self.open(name, OFlags::RDONLY) {
            Ok(mut file) => read_text(path, &mut file, nuls),
            Err(rustix::io::Errno::NOENT) => Ok(Entry::Absent),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => Err(ReadRefusal::NotAFile(path.clone())),
            Err(error) => Err(failed(path, error)),
        }
    }
}

/// Reads an open file whole, within the limits.
pub(super) fn read_file(path: &WorkspacePath, file: &mut File) -> Result<Entry, ReadRefusal> {
    read_text(path, file, false)
}

/// The same, NULs and all where the caller wants them.
fn read_text(path: &WorkspacePath, file: &mut File, nuls: bool) -> Result<Entry, ReadRefusal> {
    let stat = rustix::fs::fstat(&*file).map_err(|error| failed(path, error))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(ReadRefusal::NotAFile(path.clone()));
    }
    let too_large = |size| ReadRefusal::TooLarge { path: path.clone(), size, limit: LIMIT };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > LIMIT {
        return Err(too_large(size));
    }
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(|error| failed(path, error))?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > LIMIT) {
        return Err(too_large(LIMIT + 1));
    }
    if !nuls && bytes.iter().take(SNIFFED).any(|byte| *byte == 0) {
        return Err(ReadRefusal::Binary(path.clone()));
    }
    let text = String::from_utf8(bytes).map_err(|_| ReadRefusal::NotUtf8(path.clone()))?;
    Ok(Entry::File { text: Arc::from(text), mode: stat.st_mode & 0o7777 })
}
