//! What planwright keeps where, and removing it.
//!
//! Invariant: only what is listed is removed, in its order and only on `--yes`; a link is removed, never what it leads
//! to. Absent: knowing the places, and keeping hosts away; `app` does both.

use super::render::{Paper, Tone};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A file or folder that planwright made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Kept {
    /// What it is for, in a few words.
    pub what: String,
    /// Where.
    pub path: PathBuf,
}

/// A kept thing as it was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Found {
    /// What and where.
    #[serde(flatten)]
    pub kept: Kept,
    /// Bytes; absent where nothing is.
    pub bytes: Option<u64>,
    /// It is gone now.
    pub removed: bool,
    /// Why it could not be removed.
    pub problem: Option<String>,
}

/// Looks, and removes if told so.
pub fn clean(kept: &[Kept], remove: bool) -> Vec<Found> {
    kept.iter()
        .map(|kept| {
            let bytes = kept.path.symlink_metadata().ok().map(|_| size(&kept.path));
            let outcome = if remove && bytes.is_some() { remove_at(&kept.path) } else { Ok(()) };
            Found {
                kept: kept.clone(),
                bytes,
                removed: remove && bytes.is_some() && outcome.is_ok(),
                problem: outcome.err().map(|error| error.to_string()),
            }
        })
        .collect()
}

fn remove_at(path: &Path) -> std::io::Result<()> {
    if !path.symlink_metadata()?.is_dir() {
        return std::fs::remove_file(path);
    }
    // Out of the way in one step: a process that starts meanwhile makes its own folder there and loses nothing.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!("{name}.removed-{}", std::process::id()));
    match std::fs::rename(path, &aside) {
        Ok(()) => std::fs::remove_dir_all(aside),
        // A mount point, or a parent folder of somebody else: where it is.
        Err(_) => std::fs::remove_dir_all(path),
    }
}

/// Bytes of the files below, links not followed; what cannot be read counts nothing.
fn size(path: &Path) -> u64 {
    let Ok(meta) = path.symlink_metadata() else {
        return 0;
    };
    if !meta.is_dir() {
        return meta.len();
    }
    std::fs::read_dir(path).map_or(0, |entries| entries.flatten().map(|entry| size(&entry.path())).sum())
}

/// The list for a person.
pub fn render(found: &[Found]) -> Paper {
    let mut paper = Paper::new();
    for found in found {
        let state = match (&found.problem, found.removed, found.bytes) {
            (Some(problem), _, _) => format!("not removed: {problem}"),
            (None, true, _) => "removed".to_owned(),
            (None, false, Some(bytes)) => in_units(bytes),
            (None, false, None) => "nothing there".to_owned(),
        };
        paper.put(Tone::Strong, &found.kept.what).put(Tone::Plain, "  ");
        paper.put(Tone::Plain, &found.kept.path.display().to_string()).put(Tone::Plain, "  ");
        paper.put(if found.problem.is_some() { Tone::Bad } else { Tone::Faint }, &state).end();
    }
    let left = found.iter().any(|found| found.bytes.is_some() && !found.removed);
    if left && found.iter().all(|found| !found.removed && found.problem.is_none()) {
        paper.next("planwright clean --yes", "removes all of it, with every task and its history");
    }
    paper
}

fn in_units(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
