//! What a command wrote, read from the folder that took its writes.
//!
//! Invariant: an entry stands here only if its hash differs from what the layer showed; what a command removed is told
//! by a character device 0:0 in its place, what it replaced as a whole by an opaque folder. Read after every process
//! of the command is gone, and no further than limits allow: the command decides how much there is. Absent: build
//! folders, ignored files and git's own (dropped with the folder).

use super::layer::Layer;
use super::rules::Rules;
use crate::arena::copy::folders;
use crate::arena::sources::is_build_folder;
use crate::arena::wrote::{Wrote, read};
use crate::domain::change::Entry;
use crate::domain::ids::WorkspacePath;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// As overlayfs writes it for a folder that hides the one below it, in a user namespace.
const OPAQUE: &str = "user.overlay.opaque";

/// Folders in folders that are read. No project of people's nests half as deep; a path has room for two thousand.
const DEEPEST: usize = 64;
/// New or changed files that are taken. Everything is held in memory until a person has seen it.
const MOST_FILES: usize = 5_000;
/// Bytes of them together.
const MOST_BYTES: usize = 64 << 20;

/// Compares the folder with what the layer shows.
pub(super) fn collect(upper: &Path, layer: &Layer, root: &Path) -> Wrote {
    let standing = |path: &str| {
        let (above, below) = (upper.join(path), layer.tree().join(path));
        match above.symlink_metadata() {
            Ok(meta) => meta.is_file().then_some(above),
            Err(_) => below.is_file().then_some(below),
        }
    };
    let mut reading = Reading {
        upper,
        layer,
        leads: folders(layer.inputs().map(|(path, _)| path)),
        rules: Rules::new(root, standing),
        wrote: Wrote::default(),
        gone: BTreeSet::new(),
        standing: BTreeSet::new(),
        bytes: 0,
        left_out: 0,
    };
    let mut waiting = vec![String::new()];
    while let Some(folder) = waiting.pop() {
        reading.folder(&folder, &mut waiting);
    }
    let Reading { mut wrote, gone, standing, left_out, .. } = reading;
    if left_out > 0 {
        let most = MOST_BYTES >> 20;
        wrote.notes.push(format!("dropped: more than {MOST_FILES} files or more than {most} MB: {left_out} files"));
    }
    wrote.entries.extend(gone.difference(&standing).map(|path| (path.clone(), Entry::Absent)));
    wrote.entries.sort_by(|a, b| a.0.cmp(&b.0));
    wrote.notes.sort();
    wrote
}

struct Reading<'a> {
    upper: &'a Path,
    layer: &'a Layer,
    /// Folders above what the layer shows.
    leads: BTreeSet<String>,
    rules: Rules<'a>,
    wrote: Wrote,
    /// Shown before, and gone unless it stands in the upper folder.
    gone: BTreeSet<WorkspacePath>,
    standing: BTreeSet<WorkspacePath>,
    /// Of the entries.
    bytes: usize,
    /// Files beyond the limits.
    left_out: u64,
}

impl Reading<'_> {
    fn folder(&mut self, folder: &str, waiting: &mut Vec<String>) {
        let entries = match std::fs::read_dir(self.upper.join(folder)) {
            Ok(entries) => entries,
            Err(error) => {
                self.wrote.notes.push(format!("what was written in `{folder}` cannot be read: {error}"));
                return;
            }
        };
        for entry in entries.flatten() {
            let (name, Ok(meta)) = (entry.file_name(), entry.metadata()) else { continue };
            let path = name.to_str().map(|name| match folder {
                "" => name.to_owned(),
                _ => format!("{folder}/{name}"),
            });
            match path.as_deref().and_then(|path| WorkspacePath::new(path).ok()) {
                Some(path) if matches!(path.file_name(), ".git" | ".planwright") => {}
                Some(path) => self.entry(&path, &meta, waiting),
                None => self.wrote.notes.push(format!("dropped: {} was made (its name)", name.display())),
            }
        }
    }

    fn entry(&mut self, path: &WorkspacePath, meta: &Metadata, waiting: &mut Vec<String>) {
        let is_whiteout = meta.file_type().is_char_device() && meta.rdev() == 0;
        if meta.is_dir() {
            if self.layer.at(path).is_some() {
                self.gone.insert(path.clone());
            }
            let leads = self.leads.contains(path.as_str());
            if leads && is_opaque(&self.upper.join(path.as_str())) {
                self.gone.extend(self.layer.below(path.as_str()).cloned());
            }
            if leads || !is_build_folder(path.file_name()) {
                match path.as_str().matches('/').count() < DEEPEST {
                    true => waiting.push(path.as_str().to_owned()),
                    false => self.wrote.notes.push(format!("dropped: what lies deeper in {path}")),
                }
            }
            return;
        }
        if self.leads.contains(path.as_str()) {
            self.gone.extend(self.layer.below(path.as_str()).cloned());
        }
        match self.layer.at(path) {
            Some(_) if is_whiteout => drop(self.gone.insert(path.clone())),
            None if is_whiteout => {}
            Some(there) => {
                self.standing.insert(path.clone());
                let same = |a: &Path, b: &Path| a.read_link().ok() == b.read_link().ok();
                match read(self.upper, path) {
                    _ if there.link => {
                        let (now, then) = (self.upper.join(path.as_str()), self.layer.tree().join(path.as_str()));
                        if !meta.is_symlink() || !same(&now, &then) {
                            self.wrote.notes.push(format!("dropped: the link {path} was replaced"));
                        }
                    }
                    Ok(entry) if entry.hash().as_str() == there.hash => {}
                    Ok(entry) => self.take(path, entry),
                    Err(why) => self.wrote.notes.push(format!("dropped: {path} was written, but {why}")),
                }
            }
            None if self.rules.ignore(path.as_str()) => {}
            None if self.is_full() => self.left_out += 1,
            None => match read(self.upper, path) {
                Ok(entry) => self.take(path, entry),
                Err(why) => self.wrote.notes.push(format!("dropped: {path} was made, but {why}")),
            },
        }
    }

    fn is_full(&self) -> bool {
        self.wrote.entries.len() >= MOST_FILES || self.bytes >= MOST_BYTES
    }

    fn take(&mut self, path: &WorkspacePath, entry: Entry) {
        let bytes = match &entry {
            Entry::File { text, .. } => text.len(),
            Entry::Absent => 0,
        };
        if self.is_full() || self.bytes.saturating_add(bytes) > MOST_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += bytes;
        self.wrote.entries.push((path.clone(), entry));
    }
}

fn is_opaque(folder: &Path) -> bool {
    let mut value = [0_u8; 1];
    rustix::fs::getxattr(folder, OPAQUE, &mut value).is_ok_and(|n| n == 1 && value == *b"y")
}
