//! What a command changed in its view, compared with what it was given.
//!
//! Invariant: an entry stands here only if its hash differs from the input's. Absent: build folders and ignored files
//! (no change of the project), and whatever planwright cannot hold as text, which is named in a note instead.

use super::copy::View;
use super::sources::{Stamp, is_build_folder, walk, workspace_path};
use crate::domain::change::Entry;
use crate::domain::ids::WorkspacePath;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The limit of the workspace's own reads.
const LARGEST: u64 = 10 << 20;
/// Where a NUL byte makes a file binary, as in the workspace's own reads.
const SNIFFED: usize = 8_000;

#[derive(Default)]
pub(super) struct Wrote {
    /// Sorted by path.
    pub(super) entries: Vec<(WorkspacePath, Entry)>,
    pub(super) notes: Vec<String>,
}

/// Looks at every input by its stamp, and walks the copy for files that are none.
pub(super) fn collect(view: &View) -> Wrote {
    let mut wrote = Wrote::default();
    let mut given = BTreeSet::new();
    for (path, there) in view.inputs() {
        given.insert(path.clone());
        match std::fs::symlink_metadata(view.tree().join(path.as_str())) {
            Ok(meta) if Stamp::of(&meta) == there.stamp => {}
            Ok(_) if there.link => wrote.notes.push(format!("dropped: the link {path} was replaced")),
            Ok(_) => match read(view.tree(), path) {
                Ok(entry) if entry.hash().as_str() == there.hash => {}
                Ok(entry) => wrote.entries.push((path.clone(), entry)),
                Err(reason) => wrote.notes.push(format!("dropped: {path} was written, but {reason}")),
            },
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                wrote.entries.push((path.clone(), Entry::Absent));
            }
            Err(error) => wrote.notes.push(format!("{path} cannot be looked at: {error}")),
        }
    }
    for path in made(view).into_iter().filter(|path| !given.contains(path)) {
        match read(view.tree(), &path) {
            Ok(entry) => wrote.entries.push((path, entry)),
            Err(reason) => wrote.notes.push(format!("dropped: {path} was made, but {reason}")),
        }
    }
    wrote.entries.sort_by(|a, b| a.0.cmp(&b.0));
    wrote.notes.sort();
    wrote
}

fn made(view: &View) -> Vec<WorkspacePath> {
    let (tree, folders) = (view.tree().to_owned(), view.folders());
    let mut walk = walk(&tree, false);
    let root = tree.clone();
    walk.filter_entry(move |entry| {
        let name = entry.file_name().to_str().unwrap_or_default();
        let builds = is_build_folder(name)
            && entry.file_type().is_some_and(|kind| kind.is_dir())
            && workspace_path(&root, entry.path()).is_some_and(|path| !folders.contains(path.as_str()));
        !builds && !matches!(name, ".git" | ".planwright")
    });
    walk.build()
        .flatten()
        .filter(|found| found.file_type().is_some_and(|kind| !kind.is_dir()))
        .filter_map(|found| workspace_path(&tree, found.path()))
        .collect()
}

/// The entry at a path of a folder that no command writes to any more, or why it is none.
pub(super) fn read(tree: &Path, path: &WorkspacePath) -> Result<Entry, String> {
    let at = tree.join(path.as_str());
    let folders = Path::new(path.as_str()).ancestors().skip(1);
    if folders.into_iter().any(|folder| tree.join(folder).is_symlink()) {
        return Err("lies behind a link that the command made".to_owned());
    }
    let meta = std::fs::symlink_metadata(&at).map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("is no regular file".to_owned());
    }
    if meta.size() > LARGEST {
        return Err(format!("has {} bytes; the limit is {LARGEST}", meta.size()));
    }
    let bytes = std::fs::read(&at).map_err(|error| error.to_string())?;
    if bytes.iter().take(SNIFFED).any(|byte| *byte == 0) {
        return Err("is binary".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    Ok(Entry::File { text: text.into(), mode: meta.mode() & 0o7777 })
}
