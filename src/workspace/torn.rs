//! What a write in place leaves when its process is killed in it, and how that is told from a person's text.
//!
//! Before such a write both texts are put into the state folder, synced. A text that is explained by the two, the new
//! one as far as it came and the old one from there on, has nobody's bytes but theirs, and is completed.
//!
//! **Invariant:** a text with a byte that is in neither place of the two, in another file, or of another time, is
//! somebody's and stays. Absent: when anybody looks (`mend`).

use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, WorkspacePath};
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of records, in the state folder.
const FOLDER: &str = "writes";
/// A write follows its record at once; a text of a later time is another's. Seconds; clocks of files are coarse, hence
/// the look back, and a record may take a moment to be synced.
const WITHIN: std::ops::RangeInclusive<i64> = -1..=3;

/// Both texts of a write in place, and the file that it goes to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    path: WorkspacePath,
    inode: u64,
    pub before: Entry,
    pub after: Entry,
}

/// Where the records of one root are.
#[derive(Clone, Copy)]
pub(super) struct Records<'a>(pub &'a Path);

impl Records<'_> {
    fn file(&self, path: &WorkspacePath, [before, after]: &[ContentHash; 2]) -> PathBuf {
        let key = ContentHash::of(format!("{path}\0{}\0{}", before.as_str(), after.as_str()));
        self.0.join(FOLDER).join(key.as_str())
    }

    /// Keeps what a write is about to change.
    pub fn keep(&self, path: &WorkspacePath, stat: &Stat, before: &Entry, after: &Entry) -> std::io::Result<()> {
        let record = Record { path: path.clone(), inode: stat.st_ino, before: before.clone(), after: after.clone() };
        let file = self.file(path, &[before.hash(), after.hash()]);
        self.put(&file, serde_json::to_string(&record)?.as_bytes())
    }

    fn put(&self, file: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let folder = self.0.join(FOLDER);
        std::fs::create_dir_all(&folder)?;
        let mut beside = tempfile::NamedTempFile::new_in(&folder)?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        beside.persist(file)?;
        std::fs::File::open(&folder)?.sync_all()
    }

    /// The record of a write, if it was made and is whole.
    pub fn find(&self, path: &WorkspacePath, texts: &[ContentHash; 2]) -> Option<(Record, Stat)> {
        let file = self.file(path, texts);
        let stat = rustix::fs::stat(&file).ok()?;
        let record: Record = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        let whole = record.path == *path && [record.before.hash(), record.after.hash()] == *texts;
        whole.then_some((record, stat))
    }

    /// The write is over.
    pub fn forget(&self, path: &WorkspacePath, texts: &[ContentHash; 2]) {
        // One that stays is looked at by nobody: its write has a result.
        let _ = std::fs::remove_file(self.file(path, texts));
    }

    /// Keeps a text where a person finds it, under a name that no other text gets.
    pub fn set_aside(&self, record: &Record, which: &str, text: &[u8]) -> std::io::Result<PathBuf> {
        let file = self.file(&record.path, &[record.before.hash(), record.after.hash()]);
        let file = file.with_extension(format!("{}.{which}", ContentHash::of(text).short()));
        self.put(&file, text)?;
        Ok(file)
    }
}

impl Record {
    /// Whether these bytes, in a file of which the system says this, are what the write left half done.
    pub fn explains(&self, kept: &Stat, found: &[u8], stat: &Stat) -> bool {
        let later = seconds(stat).saturating_sub(seconds(kept));
        stat.st_ino == self.inode && WITHIN.contains(&later) && is_torn(found, self.before.text(), self.after.text())
    }
}

#[allow(clippy::useless_conversion, reason = "the type differs between systems")]
fn seconds(stat: &Stat) -> i64 {
    stat.st_mtime.into()
}

/// The new text as far as it came, then the old one; whole, cut to the new one's length, or on its way beyond the old
/// one's.
fn is_torn(found: &[u8], old: &str, new: &str) -> bool {
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let came = found.iter().zip(new).take_while(|(one, other)| one == other).count();
    let rest = found.get(came..) == old.get(came..found.len());
    match found.len() {
        length if length == old.len() || length == new.len() => rest || came == length,
        length => length > old.len() && came == length,
    }
}

#[cfg(test)]
mod tests {
    use super::is_torn;

    #[test]
    fn a_torn_text_has_nothing_but_the_two() {
        let told = [
            ("long old text", "new", ["long old text", "nong old text", "neng old text", "nXng old text", "new"]),
            ("old", "long new text", ["old", "lld", "lod", "long new", "long new text"]),
            ("same old end", "same new end", ["same old end", "same nld end", "same new end", "same old", ""]),
            ("old", "long new text", ["oldx", "xld", "long old", "ol", "mine"]),
        ]
        .map(|(old, new, texts)| texts.map(|found| is_torn(found.as_bytes(), old, new)));
        let (yes, no) = (true, false);
        let wanted =
            [[yes, yes, yes, no, yes], [yes, yes, yes, yes, yes], [yes, yes, yes, no, no], [no, no, no, no, no]];
        assert_eq!(told, wanted);
    }
}
