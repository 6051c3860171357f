//! What the host has mounted below a workspace: volumes of a development container, mostly.
//!
//! Invariant: only reads. The kernel does not let a user lay an overlay over a tree that hides mounts, because that
//! would show what lies under them. Absent: a way around it; such a workspace has no cage.

use super::Why;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Why commands in this workspace cannot be caged, whatever the machine can do.
pub fn unfit(root: &Path) -> Option<Why> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points: BTreeSet<PathBuf> = table.lines().filter_map(|row| below(row, root)).collect();
    let first = points.first()?;
    Some(Why(format!("{} is mounted into the workspace, and an overlay cannot be laid over that", first.display())))
}

/// Where a row of `mountinfo` stands, if that is below this folder.
fn below(row: &str, root: &Path) -> Option<PathBuf> {
    let mut left = row.split(' ').nth(4)?.as_bytes();
    let mut path = Vec::with_capacity(left.len());
    // Blanks and backslashes are written as three octal digits.
    while let Some((first, rest)) = left.split_first() {
        let digits = rest.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        path.push(code.unwrap_or(*first));
        left = rest.get(if code.is_some() { 3 } else { 0 }..).unwrap_or_default();
    }
    let path = PathBuf::from(OsString::from_vec(path));
    (path.starts_with(root) && path != root).then_some(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is the test's finding")]

    use super::*;

    #[test]
    fn a_mount_is_read_from_its_row() {
        let row = |at: &str| format!("36 35 98:0 /mnt1 {at} rw,noatime master:1 - ext3 /dev/root rw");
        let read = |at: &str| below(&row(at), Path::new("/ws"));
        assert_eq!(read("/ws/node_modules"), Some("/ws/node_modules".into()));
        assert_eq!(read("/ws/a\\040b\\134c"), Some("/ws/a b\\c".into()));
        assert_eq!(read("/ws"), None);
        assert_eq!(read("/wsx/y"), None);
        assert_eq!(below("36 35", Path::new("/ws")), None);
    }

    #[test]
    fn a_folder_without_mounts_is_fit() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(unfit(folder.path()), None);
        assert!(unfit(Path::new("/")).is_none_or(|why| why.to_string().starts_with('/')));
    }
}
