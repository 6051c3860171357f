//! Writing one file so that nothing somebody saved in between is lost.
//!
//! The new content is a temporary file in the same directory. It is *exchanged* with the user's file in one step of
//! the kernel, and what the exchange displaced is compared with what the decision was made on. If it is something
//! else, the two are exchanged back.
//!
//! **Invariant:** when a write is refused, the newest content that anyone saved under the path stands there.
//! What remains: a program that holds the displaced file open and writes to it *after* the comparison writes to a
//! file that is then removed. No call can close that gap.
//!
//! In place, without an exchange, are written: a file with several hard links, and a file whose owner we cannot give
//! to another one; an exchange would cut the links or change the owner. A kill in the middle leaves a torn file; both
//! texts are kept before (`torn`), and the next start completes it (`mend`). Absent: journaling, and asking.

use super::place::{Place, failed, inside_as_far_as_it_goes, place, read_file, unprotected};
use super::torn::Records;
use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, WorkspacePath};
use crate::ports::{ReadRefusal, WriteRefusal};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

/// Replaces `before` by `after` at a path of the root.
pub(super) fn write(
    root: &Path,
    records: Option<Records<'_>>,
    path: &WorkspacePath,
    before: &Entry,
    after: &Entry,
) -> Result<(), WriteRefusal> {
    write_in(root, path, before, after, Circumstances { records, ..Circumstances::real() })
}

/// The world around a write, and what a test makes of it.
#[derive(Clone, Copy)]
pub(super) struct Circumstances<'a> {
    /// Where both texts of a write in place are kept until it is done.
    pub records: Option<Records<'a>>,
    /// What somebody else does between a look and the act that follows it.
    pub meanwhile: &'a dyn Fn(),
    /// Whether the file system can exchange two names and refuse to replace one.
    pub exchange: bool,
}

impl Circumstances<'_> {
    /// Those of a user.
    pub fn real() -> Self {
        Circumstances { records: None, meanwhile: &|| {}, exchange: true }
    }
}

/// The same under given circumstances.
pub(super) fn write_in(
    root: &Path,
    path: &WorkspacePath,
    before: &Entry,
    after: &Entry,
    around: Circumstances<'_>,
) -> Result<(), WriteRefusal> {
    if path.as_str().split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(refused(path, "git's own files are never written"));
    }
    let removing = matches!(after, Entry::Absent);
    let spot = match place_for(root, path, removing).map_err(WriteRefusal::Unreadable)? {
        Some(spot) => spot,
        None => match (before, after) {
            (Entry::Absent, Entry::Absent) => return Ok(()),
            (Entry::File { .. }, _) => return Err(changed(path, &Entry::Absent)),
            (Entry::Absent, Entry::File { .. }) => {
                make_parents(root, path)?;
                place(root, path)
                    .map_err(WriteRefusal::Unreadable)?
                    .ok_or_else(|| refused(path, "its folder went away while it was made"))?
            }
        },
    };
    let job = Job { root, path, spot, texts: [before.hash(), after.hash()], around };
    job.sweep()?;
    let found = job.current(removing)?;
    if found.hash() != before.hash() {
        return Err(changed(path, &found));
    }
    match (before, after) {
        (Entry::Absent, Entry::Absent) => Ok(()),
        (Entry::Absent, Entry::File { text, mode }) => job.create(text, *mode),
        (Entry::File { .. }, Entry::Absent) => job.remove(before),
        (Entry::File { text: old, mode: was }, Entry::File { text: new, mode: is }) => {
            let mode = (was != is).then_some(*is);
            if old == new { job.set_mode(mode) } else { job.replace(before, new, mode) }
        }
    }
}

fn refused(path: &WorkspacePath, reason: impl ToString) -> WriteRefusal {
    WriteRefusal::Failed { path: path.clone(), reason: reason.to_string() }
}

fn changed(path: &WorkspacePath, found: &Entry) -> WriteRefusal {
    WriteRefusal::Changed { path: path.clone(), found: found.hash() }
}

/// The place of a write. A link that is to go away is removed itself; its target is another path.
pub(super) fn place_for(root: &Path, path: &WorkspacePath, removing: bool) -> Result<Option<Place>, ReadRefusal> {
    if removing { place_of_link(root, path) } else { place(root, path) }
}

fn place_of_link(root: &Path, path: &WorkspacePath) -> Result<Option<Place>, ReadRefusal> {
    let full = root.join(path.as_str());
    let outside = || ReadRefusal::Outside(path.clone());
    let (Some(parent), Some(name)) = (full.parent(), full.file_name()) else { return Err(outside()) };
    let Ok(parent) = parent.canonicalize() else { return place(root, path) };
    if !parent.starts_with(root) {
        return Err(outside());
    }
    unprotected(root, path, &parent.join(name))?;
    super::place::open_dir(root, &parent, name).map(Some).map_err(|error| failed(path, error))
}

/// Folders for a new file. They stay when the file is undone: git does not see an empty folder, and it may not be
/// ours any more.
fn make_parents(root: &Path, path: &WorkspacePath) -> Result<(), WriteRefusal> {
    let full = root.join(path.as_str());
    let parent = full.parent().unwrap_or(root);
    if !inside_as_far_as_it_goes(root, parent) {
        return Err(WriteRefusal::Unreadable(ReadRefusal::Outside(path.clone())));
    }
    std::fs::create_dir_all(parent).map_err(|error| refused(path, error))
}

/// One write under way.
pub(super) struct Job<'a> {
    pub(super) root: &'a Path,
    pub(super) path: &'a WorkspacePath,
    pub(super) spot: Place,
    /// Of the entries before and after.
    pub(super) texts: [ContentHash; 2],
    pub(super) around: Circumstances<'a>,
}

impl Job<'_> {
    pub(super) fn fail(&self, error: impl ToString) -> WriteRefusal {
        refused(self.path, error)
    }

    fn changed(&self, found: &Entry) -> WriteRefusal {
        changed(self.path, found)
    }

    /// What stands there now; a link that is to be removed is read through.
    fn current(&self, through: bool) -> Result<Entry, WriteRefusal> {
        let read =
            if through { self.read_through(&self.spot.name) } else { self.spot.read(self.path, &self.spot.name) };
        read.map_err(WriteRefusal::Unreadable)
    }

    pub(super) fn read_through(&self, name: &OsStr) -> Result<Entry, ReadRefusal> {
        let link = self.spot.stat(name).is_ok_and(|stat| {
            stat.is_some_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink)
        });
        if !link {
            return self.spot.read(self.path, name);
        }
        let target = self.spot.dir_path.join(name).canonicalize().map_err(|error| failed(self.path, error))?;
        if !target.starts_with(self.root) {
            return Err(ReadRefusal::Outside(self.path.clone()));
        }
        File::open(target)
            .map_err(|error| failed(self.path, error))
            .and_then(|mut file| read_file(self.path, &mut file))
    }

    pub(super) fn discard(&self, name: &OsStr) {
        // a temporary file that cannot be removed is litter, not a failure of the write
        let _ = rustix::fs::unlinkat(&self.spot.dir, name, AtFlags::empty());
    }

    pub(super) fn sync_dir(&self) -> Result<(), WriteRefusal> {
        match rustix::fs::fsync(&self.spot.dir) {
            // file systems without it (FUSE, some network ones) say so
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(self.fail(error)),
        }
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> rustix::io::Result<()> {
        if !self.around.exchange && !flags.is_empty() {
            return Err(Errno::INVAL);
        }
        rustix::fs::renameat_with(&self.spot.dir, from, &self.spot.dir, to, flags)
    }

    fn create(&self, text: &str, mode: u32) -> Result<(), WriteRefusal> {
        let temp = self.temporary(text, None, mode).map_err(|error| self.fail(error))?;
        let name = self.spot.name.as_os_str();
        (self.around.meanwhile)();
        let done = match self.rename(&temp, name, RenameFlags::NOREPLACE) {
            // a hard link never replaces either
            Err(error) if unsupported(error) => {
                rustix::fs::linkat(&self.spot.dir, &temp, &self.spot.dir, name, AtFlags::empty())
            }
            done => done,
        };
        self.discard(&temp);
        match done {
            Ok(()) => self.sync_dir(),
            Err(Errno::EXIST) => Err(self.changed(&self.current(false)?)),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn remove(&self, before: &Entry) -> Result<(), WriteRefusal> {
        let (name, temp) = (self.spot.name.as_os_str(), self.beside(true));
        (self.around.meanwhile)();
        self.rename(name, &temp, RenameFlags::empty()).map_err(|error| self.fail(error))?;
        let displaced = self.read_through(&temp);
        if displaced.as_ref().is_ok_and(|entry| entry.hash() == before.hash()) {
            self.discard(&temp);
            return self.sync_dir();
        }
        match self.rename(&temp, name, RenameFlags::NOREPLACE) {
            Err(error) if unsupported(error) => {
                self.rename(&temp, name, RenameFlags::empty()).map_err(|error| self.fail(error))?;
            }
            Err(Errno::EXIST) => {
                let kept = self.spot.dir_path.join(&temp);
                return Err(self
                    .fail(format!("it was saved twice while it was removed; one text is kept as {}", kept.display())));
            }
            done => done.map_err(|error| self.fail(error))?,
        }
        Err(self.changed(&displaced.map_err(WriteRefusal::Unreadable)?))
    }

    fn set_mode(&self, mode: Option<u32>) -> Result<(), WriteRefusal> {
        let Some(mode) = mode else { return Ok(()) };
        let file = self.spot.open(&self.spot.name, OFlags::RDONLY).map_err(|error| self.fail(error))?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(|error| self.fail(error))?;
        file.sync_all().map_err(|error| self.fail(error))
    }

    fn replace(&self, before: &Entry, text: &str, mode: Option<u32>) -> Result<(), WriteRefusal> {
        let name = self.spot.name.as_os_str();
        let stat = self.spot.stat(name).map_err(|error| self.fail(error))?;
        let Some(stat) = stat else { return Err(self.changed(&Entry::Absent)) };
        let root_user = rustix::process::geteuid().is_root();
        let foreign = !root_user && stat.st_uid != rustix::process::geteuid().as_raw();
        if stat.st_nlink > 1 || foreign {
            return self.replace_in_place(before, text, mode);
        }
        let temp = match self.temporary(text, Some(&stat), mode.unwrap_or(stat.st_mode & 0o7777)) {
            Ok(temp) => temp,
            // a folder we may not write, an owner or attribute we may not set: the file itself keeps them. Not for any
            // other reason: on a full disk a write in place would tear the file
            Err(error) if error.kind() == ErrorKind::PermissionDenied && self.writable(name) => {
                return self.replace_in_place(before, text, mode);
            }
            Err(error) => return Err(self.fail(error)),
        };
        (self.around.meanwhile)();
        match self.rename(&temp, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(error) if unsupported(error) => return self.replace_over(&temp, &stat, before),
            Err(error) => {
                self.discard(&temp);
                return Err(self.fail(error));
            }
        }
        let displaced = self.spot.read(self.path, &temp);
        if displaced.as_ref().is_ok_and(|entry| entry.hash() == before.hash()) {
            self.discard(&temp);
            return self.sync_dir();
        }
        self.rename(&temp, name, RenameFlags::EXCHANGE).map_err(|error| {
            let kept = self.spot.dir_path.join(&temp);
            self.fail(format!("{error}; the text that was saved meanwhile is kept as {}", kept.display()))
        })?;
        // what came back must be ours; else somebody saved over ours in this moment, and theirs is the newest
        if self.spot.read(self.path, &temp).is_ok_and(|entry| entry.text() != text) {
            self.rename(&temp, name, RenameFlags::EXCHANGE).map_err(|error| self.fail(error))?;
        }
        self.discard(&temp);
        Err(self.changed(&displaced.map_err(WriteRefusal::Unreadable)?))
    }

    fn writable(&self, name: &OsStr) -> bool {
        self.spot.open(name, OFlags::RDWR).is_ok()
    }

    /// For file systems that cannot exchange. A second name holds on to the old file, so that a save into it is
    /// noticed after the rename; a save by rename between the comparison and ours is not.
    fn replace_over(&self, temp: &OsStr, stat: &Stat, before: &Entry) -> Result<(), WriteRefusal> {
        let name = self.spot.name.as_os_str();
        let held = self.beside(true);
        let holds = rustix::fs::linkat(&self.spot.dir, name, &self.spot.dir, &held, AtFlags::empty()).is_ok();
        let same = self.spot.stat(name).is_ok_and(|now| now.is_some_and(|now| now.st_ino == stat.st_ino));
        let found = self.spot.read(self.path, name).map_err(WriteRefusal::Unreadable);
        let fresh = found.as_ref().is_ok_and(|entry| entry.hash() == before.hash());
        if !same || !fresh {
            self.discard(temp);
            self.discard(&held);
            return Err(self.changed(&found?));
        }
        (self.around.meanwhile)();
        if let Err(error) = self.rename(temp, name, RenameFlags::empty()) {
            self.discard(temp);
            self.discard(&held);
            return Err(self.fail(error));
        }
        if !holds {
            return self.sync_dir();
        }
        let displaced = self.spot.read(self.path, &held);
        if displaced.as_ref().is_ok_and(|entry| entry.hash() == before.hash()) {
            self.discard(&held);
            return self.sync_dir();
        }
        self.rename(&held, name, RenameFlags::empty()).map_err(|error| self.fail(error))?;
        Err(self.changed(&displaced.map_err(WriteRefusal::Unreadable)?))
    }

    fn replace_in_place(&self, before: &Entry, text: &str, mode: Option<u32>) -> Result<(), WriteRefusal> {
        (self.around.meanwhile)();
        let mut file = self.spot.open(&self.spot.name, OFlags::RDWR).map_err(|error| self.fail(error))?;
        let found = read_file(self.path, &mut file).map_err(WriteRefusal::Unreadable)?;
        let (true, Entry::File { mode: was, .. }) = (found.hash() == before.hash(), &found) else {
            return Err(self.changed(&found));
        };
        let after = Entry::File { text: text.into(), mode: mode.unwrap_or(*was) };
        if let Some(records) = self.around.records {
            let stat = rustix::fs::fstat(&file).map_err(|error| self.fail(error))?;
            records.keep(self.path, &stat, &found, &after).map_err(|error| self.fail(error))?;
        }
        let torn = match put(&mut file, text) {
            Ok(()) => None,
            // the old text has its room still, for nothing was cut off before the new one was written whole
            Err(error) => Some(match put(&mut file, found.text()) {
                Ok(()) => self.fail(error),
                Err(again) => self.fail(format!("{error}; its text could not be put back: {again}")),
            }),
        };
        let done = torn.map_or_else(|| self.set_mode(mode), Err);
        if let Some(records) = self.around.records {
            records.forget(self.path, &self.texts);
        }
        done
    }
}

/// Nothing is cut off before the new text stands there whole.
pub(super) fn put(file: &mut File, text: &str) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())?;
    file.set_len(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
    file.sync_all()
}

fn unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}
