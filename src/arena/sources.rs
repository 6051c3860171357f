//! What a view consists of: the workspace's tracked and unignored files with the change set laid over them, each with
//! its hash.
//!
//! Invariant: a hash is remembered only with the file's stamp, and only when the file was at rest while it was read;
//! else it is read again. The hash of a text is the same whether it comes from disk or from the change set.
//! Absent: empty folders, and anything of git.

use super::tracked::tracked;
use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, WorkspacePath};
use ignore::gitignore::Gitignore;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Timestamps come from a clock of at most 10 ms and, on some file systems, 2 s: a file changed so shortly before it
/// was read may change again without its stamp showing it.
const REST_NS: i64 = 2_000_000_000;

/// Names what planwright must not touch or show, tracked or not.
const OWN_IGNORE: &str = ".planwrightignore";

/// Folders that builds and package managers fill. They are a copy's own and outlive a command.
const BUILD_FOLDERS: [&str; 22] = [
    "target",
    "node_modules",
    "dist",
    "build",
    "out",
    ".venv",
    "venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".tox",
    ".nox",
    ".eggs",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".nyc_output",
    "coverage",
];

/// Whether a folder of this name is taken for a build's, unless inputs lie in it.
pub(super) fn is_build_folder(name: &str) -> bool {
    BUILD_FOLDERS.contains(&name)
}

/// Nanoseconds since the epoch.
pub(super) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Tells whether a file was written since. The change time cannot be set by a program, so a file whose stamp is equal
/// was not written, and not given an old time either.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Stamp {
    size: u64,
    inode: u64,
    changed_ns: i64,
    /// The time that build tools compare.
    pub(super) modified_ns: i64,
}

impl Stamp {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self {
            size: meta.size(),
            inode: meta.ino(),
            changed_ns: meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec()),
            modified_ns: meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec()),
        }
    }

    /// The content is at most this new. Whoever puts an old time on a file (`cp -a`, rsync) cannot set this one.
    pub(super) fn latest_ns(&self) -> i64 {
        self.modified_ns.max(self.changed_ns)
    }
}

/// One path of a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Input {
    pub(super) content: Content,
    /// As `Entry::hash` writes it.
    pub(super) hash: String,
}

/// Where its content comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// The user's file.
    Disk { mode: u32, stamp: Stamp },
    /// The change set.
    Text { text: Arc<str>, mode: u32 },
    /// A link; in a copy one whose target, read at its place, stays inside.
    Link { target: PathBuf },
}

/// All paths of a view, and what was left out of it.
#[derive(Default, Debug)]
pub(super) struct Inputs {
    pub(super) files: BTreeMap<WorkspacePath, Input>,
    pub(super) notes: Vec<String>,
}

impl Inputs {
    /// The hash of the sorted paths with their hashes.
    pub(super) fn hash(&self) -> ContentHash {
        view_hash(self.files.iter().map(|(path, input)| (path, input.hash.as_str())))
    }
}

/// The hash of a view. `rows` are sorted by path.
pub(super) fn view_hash<'a>(rows: impl Iterator<Item = (&'a WorkspacePath, &'a str)>) -> ContentHash {
    let mut all = String::new();
    for (path, hash) in rows {
        all.push_str(path.as_str());
        all.push('\0');
        all.push_str(hash);
        all.push('\n');
    }
    ContentHash::of(all)
}

/// What becomes of the user's links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Links {
    /// They must stay inside, and an absolute one becomes relative: the view stands elsewhere.
    Inside,
    /// As they are: the view stands at the workspace's own path.
    Kept,
}

/// The user's files, with the hashes that are still good.
pub(super) struct Sources {
    root: PathBuf,
    links: Links,
    known: Mutex<BTreeMap<WorkspacePath, (Stamp, u32, String)>>,
}

impl Sources {
    pub(super) fn new(root: PathBuf, links: Links) -> Self {
        Self { root, links, known: Mutex::default() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace as it is now, under `overlay`.
    pub(super) fn scan(&self, overlay: &[(WorkspacePath, Entry)]) -> Result<Inputs, String> {
        let mut inputs = Inputs::default();
        let mut left_out = Vec::new();
        let laid: BTreeSet<&WorkspacePath> = overlay.iter().map(|(path, _)| path).collect();
        let mut private = Vec::new();
        let what = match self.links {
            Links::Inside => "not in the copy",
            Links::Kept => "seen as it is at the moment",
        };
        for found in walk(&self.root, true).build() {
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    inputs.notes.push(format!("{what}: {error}"));
                    continue;
                }
            };
            if found.file_type().is_none_or(|kind| kind.is_dir()) {
                continue;
            }
            let Some(path) = workspace_path(&self.root, found.path()) else {
                left_out.push(format!("{} (its name)", found.path().display()));
                continue;
            };
            if path.file_name() == OWN_IGNORE {
                private.push(Gitignore::new(found.path()).0);
            }
            if !laid.contains(&path) {
                self.take(path, &mut inputs, &mut left_out);
            }
        }
        // Git goes on tracking a file that a rule added later ignores (lock files, vendored builds).
        let hidden = |path: &WorkspacePath| {
            let at = self.at(path);
            private
                .iter()
                .any(|rules| at.starts_with(rules.path()) && rules.matched_path_or_any_parents(&at, false).is_ignore())
        };
        for path in tracked(&self.root) {
            let known = laid.contains(&path) || inputs.files.contains_key(&path);
            // Not where a folder has become a link since: that would read what lies behind it.
            let behind = || Path::new(path.as_str()).ancestors().skip(1).any(|at| self.root.join(at).is_symlink());
            let there = || std::fs::symlink_metadata(self.at(&path)).is_ok_and(|meta| !meta.is_dir()) && !behind();
            if !known && !hidden(&path) && there() {
                self.take(path, &mut inputs, &mut left_out);
            }
        }
        for (path, entry) in overlay {
            match entry {
                Entry::Absent => drop(inputs.files.remove(path)),
                Entry::File { text, mode } => {
                    let content = Content::Text { text: text.clone(), mode: *mode };
                    let hash = entry.hash().as_str().to_owned();
                    drop(inputs.files.insert(path.clone(), Input { content, hash }));
                }
            }
        }
        clear_ways(&mut inputs)?;
        left_out.sort();
        if !left_out.is_empty() {
            inputs.notes.push(format!("{what}: {}", left_out.join(", ")));
        }
        Ok(inputs)
    }

    fn take(&self, path: WorkspacePath, inputs: &mut Inputs, left_out: &mut Vec<String>) {
        let is_link = self.at(&path).is_symlink();
        match if is_link { self.link(&path) } else { self.file(&path) } {
            Ok(input) => drop(inputs.files.insert(path, input)),
            Err(reason) => left_out.push(format!("{path} ({reason})")),
        }
    }

    fn file(&self, path: &WorkspacePath) -> Result<Input, String> {
        let meta = std::fs::symlink_metadata(self.at(path)).map_err(|error| error.to_string())?;
        if !meta.is_file() {
            return Err("not a regular file".to_owned());
        }
        let (stamp, mode) = (Stamp::of(&meta), meta.mode() & 0o7777);
        if let Some((_, _, hash)) = self.known().get(path).filter(|row| row.0 == stamp && row.1 == mode) {
            return Ok(Input { content: Content::Disk { mode, stamp }, hash: hash.clone() });
        }
        let (hash, _) = self.read(path, &mut std::io::sink())?;
        Ok(Input { content: Content::Disk { mode, stamp }, hash })
    }

    /// Whether the user removed it meanwhile.
    pub(super) fn is_gone(&self, path: &WorkspacePath) -> bool {
        !self.at(path).exists()
    }

    /// Copies the bytes and returns the hash of what was really copied, and the file's mode.
    pub(super) fn read(&self, path: &WorkspacePath, into: &mut dyn Write) -> Result<(String, u32), String> {
        let text = |error: std::io::Error| format!("{path}: {error}");
        let mut file = std::fs::File::open(self.at(path)).map_err(text)?;
        let meta = file.metadata().map_err(text)?;
        let mode = meta.mode() & 0o7777;
        let hash = pour(&mut file, mode, into).map_err(text)?;
        let (before, after) = (Stamp::of(&meta), Stamp::of(&file.metadata().map_err(text)?));
        let mut known = self.known();
        if before == after && now_ns().saturating_sub(after.changed_ns) > REST_NS {
            known.insert(path.clone(), (after, mode, hash.clone()));
        } else {
            known.remove(path);
        }
        Ok((hash, mode))
    }

    fn link(&self, path: &WorkspacePath) -> Result<Input, String> {
        let at = self.at(path);
        let target = std::fs::read_link(&at).map_err(|error| error.to_string())?;
        if self.links == Links::Kept {
            let hash = ContentHash::of(format!("link\0{}", target.display())).as_str().to_owned();
            return Ok(Input { content: Content::Link { target }, hash });
        }
        let inside = if target.is_absolute() {
            // An absolute link would lead from the copy to the user's file; its relative twin does not.
            let below = target.strip_prefix(&self.root).map_err(|_| "a link that leads out".to_owned())?;
            let ups = Path::new(path.as_str()).components().count().saturating_sub(1);
            (0..ups).map(|_| Path::new("..")).collect::<PathBuf>().join(below)
        } else {
            target
        };
        let folder = Path::new(path.as_str()).parent().unwrap_or(Path::new(""));
        if !stays_inside(&folder.join(&inside)) {
            return Err("a link that leads out".to_owned());
        }
        let hash = ContentHash::of(format!("link\0{}", inside.display())).as_str().to_owned();
        Ok(Input { content: Content::Link { target: inside }, hash })
    }

    fn at(&self, path: &WorkspacePath) -> PathBuf {
        self.root.join(path.as_str())
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<WorkspacePath, (Stamp, u32, String)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file of the change set may stand where the user has a link or a folder, or below what the user has as a file:
/// what is laid over wins, and what cannot stand beside it is refused.
fn clear_ways(inputs: &mut Inputs) -> Result<(), String> {
    let mut hidden = Vec::new();
    for path in inputs.files.keys() {
        let mut above = path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            above = folder;
            let Ok(folder) = WorkspacePath::new(folder) else { break };
            match inputs.files.get(&folder).map(|input| &input.content) {
                None => {}
                Some(Content::Disk { .. }) => hidden.push(folder),
                Some(Content::Link { .. }) => {
                    return Err(format!("`{path}` lies behind the link `{folder}`; name the file by its real path"));
                }
                Some(Content::Text { .. }) => return Err(format!("`{folder}` would be a file and a folder")),
            }
        }
    }
    inputs.files.retain(|path, _| !hidden.contains(path));
    Ok(())
}

/// The walk that `Workspace::list` makes: hidden files too, ignore files honoured, never git's or our own folder.
/// `user` = the user's tree, where rules above the root and of the user count as well.
pub(super) fn walk(root: &Path, user: bool) -> ignore::WalkBuilder {
    let mut walk = ignore::WalkBuilder::new(root);
    walk.hidden(false)
        .parents(user)
        .ignore(false)
        .git_exclude(user)
        .require_git(false)
        .follow_links(false)
        .add_custom_ignore_filename(OWN_IGNORE)
        .filter_entry(|entry| !matches!(entry.file_name().to_str(), Some(".git" | ".planwright")));
    walk
}

/// `at` relative to `root`, if its name is one.
pub(super) fn workspace_path(root: &Path, at: &Path) -> Option<WorkspacePath> {
    WorkspacePath::new(at.strip_prefix(root).ok()?.to_str()?).ok()
}

/// Hashes as `Entry::hash` does while copying.
pub(super) fn pour(from: &mut dyn Read, mode: u32, into: &mut dyn Write) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(if mode & 0o111 == 0 { b"file\0" } else { b"program\0" });
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize().to_hex().to_string()),
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let part = buffer.get(..n).unwrap_or_default();
        hasher.update(part);
        into.write_all(part)?;
    }
}

fn stays_inside(path: &Path) -> bool {
    let mut depth = 0_i32;
    for part in path.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => return false,
        }
        if depth < 0 {
            return false;
        }
    }
    true
}
