//! The temporary files of a write: their names, their making, and what a killed write has left.
//!
//! A kill can leave a temporary file behind. Its name says whether it was finished and what two texts it may hold, so
//! the next start (`mend`) or the next write to the path removes it, or, if it holds a text that somebody saved in that
//! moment, puts it back or keeps it and says where it is.
//!
//! **Invariant:** a text that stands nowhere else is never removed. Absent: looking for leftovers anywhere but beside
//! the path of a write; they are hidden from lists and reports.

use super::write::Job;
use crate::domain::ids::ContentHash;
use crate::ports::WriteRefusal;
use rustix::fs::{Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;

/// Stands in the name of every temporary file.
const TEMPORARY: &str = ".planwright-";
/// Its name goes on so until its text is whole and synced.
const UNFINISHED: &str = "new";

/// Whether a file's name is one that a killed write left; such files are no one's work.
pub(super) fn is_temporary(name: &str) -> bool {
    let random = name.rsplit('-').next().unwrap_or("");
    name.starts_with('.') && name.contains(TEMPORARY) && random.len() == 16
}

/// What a temporary file that was left may hold, by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Left {
    /// A text that was not whole yet.
    Unfinished,
    /// One of these two, by their short hashes; else a text that somebody saved in that moment.
    One([String; 2]),
}

impl Left {
    /// From what follows the file's own part of the name; nothing where we give no such name.
    fn of(label: &str) -> Option<Self> {
        let (texts, random) = label.rsplit_once('-')?;
        let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if random.len() != 16 || !hexadecimal(random) {
            return None;
        }
        if texts == UNFINISHED {
            return Some(Left::Unfinished);
        }
        let (before, after) = texts.split_once('-')?;
        let both = !before.is_empty() && !after.is_empty() && hexadecimal(before) && hexadecimal(after);
        both.then(|| Left::One([before.to_owned(), after.to_owned()]))
    }
}

impl Job<'_> {
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
    pub(super) fn beside(&self, finished: bool) -> OsString {
        use std::hash::{BuildHasher, Hasher};
        // the standard library's map keys are random per call; no crate is needed for a name
        let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
        let [before, after] = &self.texts;
        let texts = if finished { format!("{}-{}", before.short(), after.short()) } else { UNFINISHED.to_owned() };
        OsString::from(format!("{}{texts}-{random:016x}", self.prefix()))
    }

    /// What killed writes to this path have left beside it.
    pub(super) fn leftovers(&self) -> Vec<(OsString, Left)> {
        let prefix = self.prefix();
        // a folder that cannot be listed can still be written
        let entries = std::fs::read_dir(&self.spot.dir_path).into_iter().flatten().filter_map(Result::ok);
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()));
        let names = files.map(|entry| entry.file_name());
        names
            .filter_map(|name| Some((Left::of(name.to_str()?.strip_prefix(&prefix)?)?, name)))
            .map(|(l, n)| (n, l))
            .collect()
    }

    /// Removes what killed writes to this path have left, unless it is a text that nobody else has.
    pub(super) fn sweep(&self) -> Result<(), WriteRefusal> {
        for (name, left) in self.leftovers() {
            let ours = match &left {
                Left::Unfinished => true,
                Left::One(texts) => self.spot.read(self.path, &name).is_ok_and(|entry| {
                    let hash = entry.hash();
                    texts.iter().any(|text| text == hash.short())
                }),
            };
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
    pub(super) fn temporary(&self, text: &str, like: Option<&Stat>, mode: u32) -> std::io::Result<OsString> {
        let name = self.beside(false);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.spot.dir, &name, flags, Mode::from_raw_mode(0o600))?;
        let finished = self.beside(true);
        let made = self.fill(File::from(fd), text, like, mode);
        match made.and_then(|()| Ok(self.rename(&name, &finished, RenameFlags::empty())?)) {
            Ok(()) => Ok(finished),
            Err(error) => {
                self.discard(&name);
                Err(error)
            }
        }
    }

    fn fill(&self, mut file: File, text: &str, like: Option<&Stat>, mode: u32) -> std::io::Result<()> {
        file.write_all(text.as_bytes())?;
        if let Some(stat) = like {
            let own = rustix::fs::fstat(&file)?;
            if (own.st_uid, own.st_gid) != (stat.st_uid, stat.st_gid) {
                rustix::fs::fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)))?;
            }
            copy_attributes(&self.spot.open(&self.spot.name, OFlags::RDONLY)?, &file)?;
        }
        // after the attributes: an access list sets mode bits of its own
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        file.sync_all()
    }
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
