//! What a killed write has left beside and in the user's file, brought to its end.
//!
//! Looked at are the places of writes that the journal has an intent of and no result. A text that somebody saved in
//! the moment of the kill, and that the exchange displaced, is put back; a text torn by a write in place is completed;
//! what is nobody's is removed.
//!
//! **Invariant:** no text is removed that does not stand elsewhere, what a completed one gives way to included, and none
//! is put anywhere but where it was saved. A file is completed only as the very file that was looked into.
//! Doing it again changes nothing. Absent: whether the write counts; the caller compares what stands there.

use super::temporary::Left;
use super::torn::{Record, Records};
use super::write::{Circumstances, Job, place_for, put};
use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, WorkspacePath};
use crate::ports::{Mended, ReadRefusal};
use rustix::fs::{Mode, OFlags, RenameFlags, Stat};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Ends a write that was to replace the entry of the first hash by that of the second.
pub(super) fn mend(root: &Path, records: Option<Records<'_>>, path: &WorkspacePath, texts: [ContentHash; 2]) -> Mended {
    mend_in(root, path, texts, Circumstances { records, ..Circumstances::real() })
}

/// The same under given circumstances.
pub(super) fn mend_in(root: &Path, path: &WorkspacePath, texts: [ContentHash; 2], around: Circumstances<'_>) -> Mended {
    let removing = texts[1] == Entry::Absent.hash();
    let spot = match place_for(root, path, removing) {
        Ok(Some(spot)) => spot,
        Ok(None) => return Mended { found: Ok(Entry::Absent.hash()), said: Vec::new() },
        Err(refusal) => return Mended { found: Err(refusal), said: Vec::new() },
    };
    let job = Job { root, path, spot, texts, around };
    let mut said = job.settle_leftovers();
    said.extend(around.records.and_then(|records| job.complete(records)));
    Mended { found: job.stands().map(|entry| entry.hash()), said }
}

impl Job<'_> {
    fn removes(&self) -> bool {
        self.texts[1] == Entry::Absent.hash()
    }

    /// A link that is to go away is known by what it leads to.
    fn look(&self, name: &OsStr) -> Result<Entry, ReadRefusal> {
        if self.removes() { self.read_through(name) } else { self.spot.read(self.path, name) }
    }

    fn stands(&self) -> Result<Entry, ReadRefusal> {
        self.look(&self.spot.name)
    }

    fn settle_leftovers(&self) -> Vec<String> {
        let mut said = Vec::new();
        for (name, left) in self.leftovers() {
            let found = self.look(&name);
            let hash = found.as_ref().map(Entry::hash);
            let nobodys = match &left {
                // Its text was not whole; it was exchanged with nothing.
                Left::Unfinished => true,
                Left::One(texts) => hash.as_ref().is_ok_and(|hash| texts.iter().any(|text| text == hash.short())),
            };
            let stands = self.stands();
            if nobodys || (found.is_ok() && found == stands) {
                self.discard(&name);
                continue;
            }
            let ours = left == Left::One(self.texts.each_ref().map(|text| text.short().to_owned()));
            let untouched = stands.is_ok_and(|entry| entry.hash() == self.texts[1]);
            said.push(if ours && untouched && self.put_back(&name).is_ok() {
                format!(
                    "{}: what was saved there while planwright was killed writing it had been displaced, and stands there again",
                    self.path
                )
            } else {
                let kept = self.spot.dir_path.join(&name);
                format!(
                    "{}: a text saved while planwright was killed writing it is kept as {}; look at it and remove it",
                    self.path,
                    kept.display()
                )
            });
        }
        said
    }

    /// Gives a displaced text its name again, if what stands there is still what displaced it.
    fn put_back(&self, name: &OsStr) -> Result<(), ()> {
        let own = self.spot.name.as_os_str();
        if self.removes() {
            self.rename(name, own, RenameFlags::NOREPLACE).map_err(drop)?;
            return self.sync_dir().map_err(drop);
        }
        self.rename(name, own, RenameFlags::EXCHANGE).map_err(drop)?;
        if self.spot.read(self.path, name).is_ok_and(|entry| entry.hash() == self.texts[1]) {
            self.discard(name);
            return self.sync_dir().map_err(drop);
        }
        // Somebody saved in this moment; theirs is the newest.
        self.rename(name, own, RenameFlags::EXCHANGE).map_err(drop)?;
        Err(())
    }

    /// Completes a text that a write in place left torn. What a person must know of it.
    fn complete(&self, records: Records<'_>) -> Option<String> {
        let (record, kept) = records.find(self.path, &self.texts)?;
        let said = match self.opened() {
            // A whole text needs no bytes, whatever its bits are by now.
            Ok(standing) if standing.is(&record.before) => None,
            Ok(standing) if standing.is(&record.after) => {
                standing.complete_bits(&record);
                None
            }
            Ok(mut standing) if record.explains(&kept, &standing.bytes, &standing.stat) => {
                let aside = records.set_aside(&record, "found", &standing.bytes).ok()?;
                (self.around.meanwhile)();
                if let Err(error) = standing.put(&record) {
                    return Some(format!("{} was left torn and cannot be completed: {error}", self.path));
                }
                Some(format!(
                    "{}: planwright was killed writing it, and its text is whole now; what stood there is kept as {}",
                    self.path,
                    aside.display()
                ))
            }
            Ok(_) | Err(_) => {
                let aside = records.set_aside(&record, "before", record.before.text().as_bytes()).ok()?;
                Some(format!(
                    "{}: planwright was killed writing it, and its text has changed since; the text before is kept as {}",
                    self.path,
                    aside.display()
                ))
            }
        };
        records.forget(self.path, &self.texts);
        said
    }

    /// The file under the name; what is found in it and what is done to it afterwards are of one file.
    fn opened(&self) -> std::io::Result<Standing> {
        let open = |flags| self.spot.open(&self.spot.name, flags);
        let mut file = open(OFlags::RDWR).or_else(|_| open(OFlags::RDONLY))?;
        let stat = rustix::fs::fstat(&file)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Standing { file, stat, bytes })
    }
}

/// What stands where a write in place was killed.
struct Standing {
    file: File,
    stat: Stat,
    bytes: Vec<u8>,
}

impl Standing {
    fn is(&self, entry: &Entry) -> bool {
        matches!(entry, Entry::File { text, .. } if text.as_bytes() == self.bytes)
    }

    fn put(&mut self, record: &Record) -> std::io::Result<()> {
        put(&mut self.file, record.after.text())?;
        self.complete_bits(record);
        Ok(())
    }

    /// The bits come after the text. Those that somebody else has set stay.
    fn complete_bits(&self, record: &Record) {
        if let (&Entry::File { mode: was, .. }, &Entry::File { mode: is, .. }) = (&record.before, &record.after)
            && was != is
            && self.stat.st_mode & 0o7777 == was
        {
            // Where it fails they are as they were, and the caller sees that.
            let _ = rustix::fs::fchmod(&self.file, Mode::from_raw_mode(is));
        }
    }
}
