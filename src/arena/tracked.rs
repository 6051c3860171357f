//! Which paths git tracks, read from its index.
//!
//! Invariant: reading only, and no program is started: `git ls-files` could run what the repository's configuration
//! names. An index that is not understood (SHA-256, split) tracks nothing, and the view is then the unignored files.
//! Absent: everything else the index knows.

use crate::domain::ids::WorkspacePath;
use std::path::{Path, PathBuf};

/// Of an entry before its name: times, device, inode, mode, owner, size, SHA-1 and flags.
const FIXED: usize = 62;

/// The tracked paths of the worktree at `root`; those whose names are no paths of ours are left out.
pub(super) fn tracked(root: &Path) -> Vec<WorkspacePath> {
    let Some(folder) = git_folder(root) else { return Vec::new() };
    let Ok(bytes) = std::fs::read(folder.join("index")) else { return Vec::new() };
    let names = entries(&bytes).unwrap_or_default();
    names.iter().filter_map(|name| WorkspacePath::new(std::str::from_utf8(name).ok()?).ok()).collect()
}

/// `.git`, or where the file `.git` of a further worktree points.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let at = root.join(".git");
    if at.is_dir() {
        return Some(at);
    }
    let text = std::fs::read_to_string(&at).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// The names, as gitformat-index(5) of versions 2 to 4 writes them. `None` = it is something else.
fn entries(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?));
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut at = 12_usize;
    for _ in 0..count {
        let extended = bytes.get(at.checked_add(60)?)? & 0x40 != 0;
        let start = at.checked_add(if extended { FIXED + 2 } else { FIXED })?;
        let mut rest = bytes.get(start..)?;
        let mut name = Vec::new();
        if version == 4 {
            let (cut, after) = offset(rest)?;
            let last = names.last().map(Vec::as_slice).unwrap_or_default();
            name.extend_from_slice(last.get(..last.len().checked_sub(cut)?)?);
            rest = after;
        }
        let length = rest.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(rest.get(..length)?);
        let end = bytes.len().checked_sub(rest.len())?.checked_add(length)?;
        // Before version 4 an entry is filled with NULs, at least one, to a multiple of eight.
        at = if version == 4 { end + 1 } else { at + (end - at + 8) / 8 * 8 };
        names.push(name);
    }
    Some(names)
}

/// The variable-length number of version 4, as in pack files.
fn offset(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
        value = value.checked_add(1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index(version: u32, entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(entries.len()).unwrap_or(0).to_be_bytes());
        for (name, cut) in entries {
            let start = bytes.len();
            bytes.extend([0; FIXED]);
            bytes.extend(*cut);
            bytes.extend(name.as_bytes());
            bytes.push(0);
            while version < 4 && !(bytes.len() - start).is_multiple_of(8) {
                bytes.push(0);
            }
        }
        bytes
    }

    fn check(bytes: &[u8], expect: Option<&[&str]>) {
        let got = entries(bytes);
        let expect = expect.map(|names| names.iter().map(|name| name.as_bytes().to_vec()).collect());
        assert_eq!(got, expect);
    }

    #[test]
    fn names_of_each_version_are_read() {
        // Lengths around the padding: 62 + 1 + 1 = 64 is full with one NUL, 62 + 2 needs eight more.
        let names = ["a", "bc", "src/lib.rs", "src/long-enough-name.rs"];
        check(&index(2, &names.map(|name| (name, &[][..]))), Some(&names));
        let cut = [("src/lib.rs", &[0][..]), ("main.rs", &[6]), ("Z", &[11])];
        check(&index(4, &cut), Some(&["src/lib.rs", "src/main.rs", "Z"]));
        check(&index(4, &[("a", &[3])]), None);
        check(&index(5, &[]), None);
        check(b"DIRC", None);
        // 128 + 2: the second byte of the number counts from one.
        assert_eq!(offset(&[0x80, 0x02, 9]), Some((130, &[9][..])));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn no_bytes_break_the_reader(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), version in 2_u8..5) {
            let head = [b'D', b'I', b'R', b'C', 0, 0, 0, version, 0, 0, 0, 3];
            bytes.splice(..0, head);
            let _ = entries(&bytes);
        }
    }
}
