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
//! to another one; an exchange would cut the links or change the owner. A kill in the middle leaves a torn file; the
//! caller has journaled both texts. Absent: journaling, and asking.
//!
//! A kill can leave a temporary file behind. Its name says whether it was finished and what two texts it may hold, so
//! the next write to the path removes it, or, if it holds a text that somebody saved in that moment, keeps it and says
//! where it is.

use super::place::{Place, failed, inside_as_far_as_it_goes, place, read_file};
use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, WorkspacePath};
use crate::ports::{ReadRefusal, WriteRefusal};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Stands in the name of every temporary file.
const TEMPORARY: &str = ".planwright-";
/// Its name goes on so until its text is whole and synced.
const UNFINISHED: &str = "new";

/// Whether a file's name is one that a killed write left; such files are no one's work.
pub(super) fn is_temporary(name: &str) -> bool {
    let random = name.rsplit('-').next().unwrap_or("");
    name.starts_with('.') && name.contains(TEMPORARY) && random.len() == 16
}

/// Replaces `before` by `after` at a path of the root.
pub(super) fn write(root: &Path, path: &WorkspacePath, before: &Entry, after: &Entry) -> Result<(), WriteRefusal> {
    write_while(root, path, before, after, &|| {})
}

/// The same, and what somebody else does between the first look and the act; the tests' way into the race.
pub(super) fn write_while(
    root: &Path,
    path: &WorkspacePath,
    before: &Entry,
    after: &Entry,
    meanwhile: &dyn Fn(),
) -> Result<(), WriteRefusal> {
    if path.as_str().split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(refused(path, "git's own files are never written"));
    }
    // a link that is to go away is removed itself; its target is another path
    let removing = matches!(after, Entry::Absent);
    let found = if removing { place_of_link(root, path) } else { place(root, path) };
    let spot = match found.map_err(WriteRefusal::Unreadable)? {
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
    let job = Job { root, path, spot, texts: [before.hash(), after.hash()], meanwhile };
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

fn place_of_link(root: &Path, path: &WorkspacePath) -> Result<Option<Place>, ReadRefusal> {
    let full = root.join(path.as_str());
    let outside = || ReadRefusal::Outside(path.clone());
    let (Some(parent), Some(name)) = (full.parent(), full.file_name()) else { return Err(outside()) };
    let Ok(parent) = parent.canonicalize() else { return place(root, path) };
    if !parent.starts_with(root) {
        return Err(outside());
    }
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

struct Job<'a> {
    root: &'a Path,
    path: &'a WorkspacePath,
    spot: Place,
    /// Of the entries before and after.
    texts: [ContentHash; 2],
    meanwhile: &'a dyn Fn(),
}

impl Job<'_> {
    fn fail(&self, error: impl ToString) -> WriteRefusal {
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

    fn read_through(&self, name: &OsStr) -> Result<Entry, ReadRefusal> {
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

    /// What the names of this file's temporary files start with: hidden, and telling who made them.
    fn prefix(&self) -> String {
        let mut own = self.spot.name.to_string_lossy().into_owned();
        // a name may have 255 bytes; a cut one is told apart by its hash
        if own.len() > 120 {
            own = format!("{}~{}", own.chars().take(24).collect::<String>(), ContentHash::of(&own).short());
        }
        format!(".{own}{TEMPORARY}")
    }

    /// A name beside the file that nothing has. What stands under it is not finished yet, or one of the two texts.
    fn beside(&self, finished: bool) -> OsString {
        use std::hash::{BuildHasher, Hasher};
        // the standard library's map keys are random per call; no crate is needed for a name
        let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
        let [before, after] = &self.texts;
        let texts = if finished { format!("{}-{}", before.short(), after.short()) } else { UNFINISHED.to_owned() };
        OsString::from(format!("{}{texts}-{random:016x}", self.prefix()))
    }

    /// Removes what killed writes to this path have left, unless it is a text that nobody else has.
    fn sweep(&self) -> Result<(), WriteRefusal> {
        let prefix = self.prefix();
        // a folder that cannot be listed can still be written
        let entries = std::fs::read_dir(&self.spot.dir_path).into_iter().flatten().filter_map(Result::ok);
        for name in entries.map(|entry| entry.file_name()) {
            let Some(label) = name.to_str().and_then(|name| name.strip_prefix(&prefix)) else { continue };
            let ours = label.starts_with(UNFINISHED)
                || self.spot.read(self.path, &name).is_ok_and(|entry| {
                    let hash = entry.hash();
                    label.split('-').take(2).any(|text| text == hash.short())
                });
            if !ours {
                let kept = self.spot.dir_path.join(&name);
                let message = "a text saved while an earlier write was killed is kept as";
                return Err(self.fail(format!("{message} {}; look at it and remove it", kept.display())));
            }
            self.discard(&name);
        }
        Ok(())
    }

    /// Makes the temporary file, synced.
    fn temporary(&self, text: &str, like: Option<&Stat>, mode: u32) -> Result<(OsString, File), WriteRefusal> {
        let name = self.beside(false);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd =
            rustix::fs::openat(&self.spot.dir, &name, flags, Mode::from_raw_mode(0o600)).map_err(|e| self.fail(e))?;
        let mut file = File::from(fd);
        let made = (|| -> std::io::Result<()> {
            file.write_all(text.as_bytes())?;
            if let Some(stat) = like {
                let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
                let own = rustix::fs::fstat(&file)?;
                if (own.st_uid, own.st_gid) != (stat.st_uid, stat.st_gid) {
                    rustix::fs::fchown(&file, Some(uid), Some(gid))?;
                }
                let old = self.spot.open(&self.spot.name, OFlags::RDONLY)?;
                copy_attributes(&old, &file)?;
            }
            // after the attributes: an access list sets mode bits of its own
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
            file.sync_all()
        })();
        let finished = self.beside(true);
        match made.and_then(|()| self.rename(&name, &finished, RenameFlags::empty()).map_err(Into::into)) {
            Ok(()) => Ok((finished, file)),
            Err(error) => {
                self.discard(&name);
                Err(self.fail(error))
            }
        }
    }

    fn discard(&self, name: &OsStr) {
        // a temporary file that cannot be removed is litter, not a failure of the write
        let _ = rustix::fs::unlinkat(&self.spot.dir, name, AtFlags::empty());
    }

    fn sync_dir(&self) -> Result<(), WriteRefusal> {
        match rustix::fs::fsync(&self.spot.dir) {
            // file systems without it (FUSE, some network ones) say so
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn rename(&self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> rustix::io::Result<()> {
        rustix::fs::renameat_with(&self.spot.dir, from, &self.spot.dir, to, flags)
    }

    fn create(&self, text: &str, mode: u32) -> Result<(), WriteRefusal> {
        let (temp, _file) = self.temporary(text, None, mode)?;
        let name = self.spot.name.as_os_str();
        (self.meanwhile)();
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
        (self.meanwhile)();
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
        let temporary = self.temporary(text, Some(&stat), mode.unwrap_or(stat.st_mode & 0o7777));
        let (temp, _file) = match temporary {
            // a group we cannot give, an attribute we cannot set: the file itself keeps them
            Err(WriteRefusal::Failed { .. }) if self.writable(name) => {
                return self.replace_in_place(before, text, mode);
            }
            temporary => temporary?,
        };
        (self.meanwhile)();
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
        (self.meanwhile)();
        let mut file = self.spot.open(&self.spot.name, OFlags::RDWR).map_err(|error| self.fail(error))?;
        let found = read_file(self.path, &mut file).map_err(WriteRefusal::Unreadable)?;
        if found.hash() != before.hash() {
            return Err(self.changed(&found));
        }
        let len = u64::try_from(text.len()).unwrap_or(u64::MAX);
        (|| -> std::io::Result<()> {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text.as_bytes())?;
            file.set_len(len)?;
            if let Some(mode) = mode {
                rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
            }
            file.sync_all()
        })()
        .map_err(|error| self.fail(error))
    }
}

fn unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Extended attributes with them access lists. What only the kernel's security module may set is left to it.
fn copy_attributes(from: &File, to: &File) -> std::io::Result<()> {
    let size = match rustix::fs::flistxattr_query(from) {
        Ok(size) => size,
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut names = vec![0_u8; size];
    let size = rustix::fs::flistxattr(from, names.as_mut_slice())?;
    for name in names.get(..size).unwrap_or(&[]).split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let size = rustix::fs::fgetxattr_query(from, name)?;
        let mut value = vec![0_u8; size];
        let size = rustix::fs::fgetxattr(from, name, value.as_mut_slice())?;
        let value = value.get(..size).unwrap_or(&[]);
        match rustix::fs::fsetxattr(to, name, value, rustix::fs::XattrFlags::empty()) {
            Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP) if name.starts_with(b"security.") => {}
            done => done?,
        }
    }
    Ok(())
}
