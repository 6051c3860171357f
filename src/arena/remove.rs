//! Removes a folder that a command has written, whatever it looks like.
//!
//! Invariant: neither the stack nor the open descriptors grow with its depth: what lies two folders down is lifted to
//! the top, by names relative to open folders, so that no path is too long either. No link is followed. A folder
//! without the right to write (Go's module cache has such) is given it. Absent: anybody who writes there meanwhile.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::path::Path;

/// # Errors
/// As the system says.
pub(super) fn remove_folder(at: &Path) -> io::Result<()> {
    if !at.symlink_metadata()?.is_dir() {
        return std::fs::remove_file(at);
    }
    let mut emptying = Emptying { top: open(CWD, at)?, lifted: 0 };
    while emptying.pass()? {}
    std::fs::remove_dir(at)
}

struct Emptying {
    top: OwnedFd,
    /// How many names were given to what was lifted.
    lifted: u64,
}

impl Emptying {
    /// Whether there was anything.
    fn pass(&mut self) -> io::Result<bool> {
        let mut any = false;
        for entry in Dir::read_from(&self.top)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_dots(name) {
                continue;
            }
            any = true;
            if is_folder(&self.top, name, entry.file_type())? {
                self.empty(name)?;
                gone(rustix::fs::unlinkat(&self.top, name, AtFlags::REMOVEDIR))?;
            } else {
                gone(rustix::fs::unlinkat(&self.top, name, AtFlags::empty()))?;
            }
        }
        Ok(any)
    }

    /// Removes the files of a folder in the top one, and lifts its folders.
    fn empty(&mut self, name: &CStr) -> io::Result<()> {
        let folder = open(&self.top, name)?;
        loop {
            let mut any = false;
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if is_dots(name) {
                    continue;
                }
                any = true;
                if is_folder(&folder, name, entry.file_type())? {
                    // To be moved, a folder must be writable itself.
                    drop(open(&folder, name)?);
                    self.lift(&folder, name)?;
                } else {
                    gone(rustix::fs::unlinkat(&folder, name, AtFlags::empty()))?;
                }
            }
            if !any {
                return Ok(());
            }
        }
    }

    fn lift(&mut self, folder: &OwnedFd, name: &CStr) -> io::Result<()> {
        loop {
            self.lifted += 1;
            let to = CString::new(format!("lifted-{}", self.lifted))?;
            match rustix::fs::renameat(folder, name, &self.top, &to) {
                Ok(()) => return Ok(()),
                // The command had the same idea for a name.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

fn is_folder(folder: &OwnedFd, name: &CStr, told: FileType) -> io::Result<bool> {
    // Some file systems do not tell.
    let told = match told {
        FileType::Unknown => {
            FileType::from_raw_mode(rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
        }
        told => told,
    };
    Ok(told.is_dir())
}

/// Opens a folder and sees to it that it can be changed.
fn open(above: impl AsFd, name: impl rustix::path::Arg + Copy) -> io::Result<OwnedFd> {
    let above = above.as_fd();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match rustix::fs::openat(above, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(above, name, Mode::RWXU, AtFlags::empty())?;
            rustix::fs::openat(above, name, flags, Mode::empty())
        }
        opened => opened,
    }?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        rustix::fs::fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

/// A folder that is read while it changes may tell an entry twice.
fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is the test's finding")]

    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn whatever_was_made_goes_and_what_a_link_leads_to_stays() {
        let place = tempfile::tempdir().unwrap();
        let (folder, kept) = (place.path().join("made"), place.path().join("kept"));
        for path in ["a/b/c/d/e", "a/b/x", "lifted-1", "shut/in/deep"] {
            std::fs::create_dir_all(folder.join(path)).unwrap();
            std::fs::write(folder.join(path).join("file"), "x").unwrap();
        }
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(kept.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(&kept, folder.join("a/link")).unwrap();
        std::fs::write(folder.join("lifted-2"), "x").unwrap();
        for path in ["shut/in/deep", "shut/in", "shut"] {
            std::fs::set_permissions(folder.join(path), Permissions::from_mode(0o500)).unwrap();
        }
        remove_folder(&folder).unwrap();
        assert!(!folder.exists() && kept.join("file").exists());
        std::os::unix::fs::symlink(&kept, &folder).unwrap();
        remove_folder(&folder).unwrap();
        assert!(!folder.is_symlink() && kept.join("file").exists());
    }
}
