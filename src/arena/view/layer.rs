//! The folder that lies over the user's tree in a task's view: every unignored file as it was when the check started.
//!
//! Invariant: after `sync` the layer shows each input with its content and mode, hides what is to be hidden, and holds
//! nothing else. Content that the layer shows anew at a path, whoever changed it and also when it changes back, has a
//! modification time newer than any the layer showed before, and of a later whole second than the path had here and
//! has in the user's tree: cargo compares times, Python's byte code whole seconds and sizes. What never changed keeps
//! the time the user's build saw (the later of the file's two times, because `cp -a` puts old times on new content).
//! Nothing but this writes here, and no link is followed.
//! Absent: ignored files, which show through from the user's tree as they are at the moment.

use crate::arena::copy::folders;
use crate::arena::remove::remove_folder;
use crate::arena::sources::{Content, Input, Inputs, Sources, Stamp, now_ns, pour, view_hash, workspace_path};
use crate::domain::ids::{ContentHash, WorkspacePath};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Raised when the record's meaning changes.
const FORMAT: u32 = 1;
const SECOND_NS: i64 = 1_000_000_000;

/// What is known of the layer, kept beside it so that a later process finds builds warm.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    format: u32,
    /// No content gets a modification time up to this one again. 0 = nothing was ever shown.
    newest_ns: i64,
    rows: BTreeMap<WorkspacePath, Row>,
}

/// A path that is or once was shown.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    there: Option<There>,
    /// The last modification time it had.
    modified_ns: i64,
}

/// What is shown at a path.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct There {
    pub(super) hash: String,
    pub(super) mode: u32,
    stamp: Stamp,
    pub(super) link: bool,
}

/// What a sync is to show besides the inputs.
#[derive(Default, Debug)]
pub(super) struct Shown {
    /// Paths of the user's tree that must not be seen.
    pub(super) hidden: BTreeSet<WorkspacePath>,
    /// Folders over which something is mounted.
    pub(super) mounts: BTreeSet<WorkspacePath>,
    /// When the newest build output was made that the user's own builds wrote and commands see: what lies under other
    /// content than it was made from must be newer. `i64::MAX` where that is not known.
    pub(super) outputs_ns: i64,
}

/// What a sync came to.
pub(super) struct Given {
    /// Of the bytes that were really laid down.
    pub(super) hash: ContentHash,
    pub(super) notes: Vec<String>,
    /// Files that were written.
    #[cfg(test)]
    pub(super) written: usize,
}

/// A task's layer.
pub(super) struct Layer {
    tree: PathBuf,
    record_at: PathBuf,
    record: Record,
    dirty: bool,
}

impl Layer {
    /// The layer in a task's folder. Without a readable record nothing that was built over it can be trusted; then
    /// `is_new`, and the caller empties the folder.
    pub(super) fn open(folder: &Path) -> Self {
        let record_at = folder.join("layer.json");
        let record = std::fs::read(&record_at)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok())
            .filter(|record| record.format == FORMAT)
            .unwrap_or_default();
        let mut layer = Self { tree: folder.join("layer"), record_at, record, dirty: false };
        let ended = std::fs::metadata(layer.ended_at()).map_or(0, |meta| Stamp::of(&meta).modified_ns);
        layer.record.newest_ns = layer.record.newest_ns.max(ended);
        layer
    }

    pub(super) fn is_new(&self) -> bool {
        self.record.format != FORMAT
    }

    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    /// What it shows.
    pub(super) fn inputs(&self) -> impl Iterator<Item = (&WorkspacePath, &There)> {
        self.record.rows.iter().filter_map(|(path, row)| row.there.as_ref().map(|there| (path, there)))
    }

    /// What it shows at a path.
    pub(super) fn at(&self, path: &WorkspacePath) -> Option<&There> {
        self.record.rows.get(path)?.there.as_ref()
    }

    /// What it shows below a folder.
    pub(super) fn below(&self, folder: &str) -> impl Iterator<Item = &WorkspacePath> {
        let prefix = format!("{folder}/");
        self.inputs().map(|(path, _)| path).filter(move |path| path.as_str().starts_with(&prefix))
    }

    /// What builds wrote is at most this new; content shown from now on is newer, whatever becomes of the clock. A
    /// file keeps it, which costs less than the record.
    pub(super) fn command_ended(&mut self) {
        let _ = std::fs::File::create(self.ended_at());
        self.record.newest_ns = self.record.newest_ns.max(now_ns());
    }

    fn ended_at(&self) -> PathBuf {
        self.record_at.with_file_name("ended")
    }

    /// Makes the layer show exactly this.
    pub(super) fn sync(&mut self, sources: &Sources, inputs: Inputs, shown: &Shown) -> Result<Given, String> {
        let Inputs { files, mut notes } = inputs;
        let failed = |error: io::Error| format!("{}: {error}", self.tree.display());
        std::fs::create_dir_all(&self.tree).map_err(failed)?;
        let mut ways = folders(files.keys().chain(&shown.hidden).chain(&shown.mounts));
        ways.extend(shown.mounts.iter().map(|path| path.as_str().to_owned()));
        let mut sweep = Sweep { files: &files, hidden: &shown.hidden, ways, kept: BTreeSet::new() };
        let tree = self.tree.clone();
        sweep.folder(self, &tree).map_err(|error| format!("{}: {error}", tree.display()))?;
        let kept = sweep.kept;
        for (path, row) in &mut self.record.rows {
            if row.there.is_some() && !kept.contains(path) {
                row.there = None;
                self.dirty = true;
            }
        }
        let mut written = 0;
        // The first text a task sees is what the user's own build saw; later ones are news.
        let first = self.is_new();
        for (path, input) in files.iter().filter(|(path, _)| !kept.contains(*path)) {
            match self.put(sources, path, input, first) {
                Ok(()) => written += 1,
                Err(reason) if matches!(input.content, Content::Disk { .. }) && sources.is_gone(path) => {
                    let _ = std::fs::remove_file(self.place(path));
                    notes.push(format!("not in the view: {reason}"));
                }
                Err(reason) => return Err(reason),
            }
        }
        self.renew(sources, &files, &kept, shown.outputs_ns)?;
        for path in &shown.mounts {
            self.folder(sources, path.as_str())?;
        }
        for path in &shown.hidden {
            self.hide(sources, path)?;
        }
        self.record.format = FORMAT;
        if self.dirty {
            self.save()?;
        }
        let hash = view_hash(self.inputs().map(|(path, there)| (path, there.hash.as_str())));
        Ok(Given {
            hash,
            notes,
            #[cfg(test)]
            written,
        })
        .inspect(|_| tracing::debug!(written, "the layer is in step"))
    }

    /// A layer without its record would be taken for another; so this must succeed before a command runs.
    fn save(&mut self) -> Result<(), String> {
        let failed = |error: io::Error| format!("{}: {error}", self.record_at.display());
        let text = serde_json::to_vec(&self.record).map_err(|error| error.to_string())?;
        let new = self.record_at.with_extension("new");
        std::fs::write(&new, text).map_err(failed)?;
        std::fs::rename(&new, &self.record_at).map_err(failed)?;
        self.dirty = false;
        Ok(())
    }

    fn place(&self, path: &WorkspacePath) -> PathBuf {
        self.tree.join(path.as_str())
    }

    fn put(&mut self, sources: &Sources, path: &WorkspacePath, input: &Input, first: bool) -> Result<(), String> {
        self.dirty = true;
        self.ways(sources, path)?;
        let at = self.place(path);
        let failed = |error: io::Error| format!("{}: {error}", at.display());
        // `create_new` never follows a link, and the sweep left nothing at this path.
        let new = || OpenOptions::new().write(true).create_new(true).open(&at).map_err(failed);
        let fresh = self.fresh_time(sources, path);
        let (hash, mode, modified_ns) = match &input.content {
            Content::Link { target } => {
                std::os::unix::fs::symlink(target, &at).map_err(failed)?;
                (input.hash.clone(), 0o777, fresh)
            }
            Content::Text { text, mode } => {
                let mut file = new()?;
                let hash = pour(&mut text.as_bytes(), *mode, &mut file).map_err(failed)?;
                settle(&file, *mode, fresh).map_err(failed)?;
                (hash, *mode, fresh)
            }
            Content::Disk { stamp, .. } => {
                let mut file = new()?;
                let (hash, mode) = sources.read(path, &mut file)?;
                // Written since it was looked at = not what a build of the user's can have seen by that time.
                let modified_ns = if first && hash == input.hash { stamp.latest_ns() } else { fresh };
                settle(&file, mode, modified_ns).map_err(failed)?;
                (hash, mode, modified_ns)
            }
        };
        let stamp = Stamp::of(&std::fs::symlink_metadata(&at).map_err(failed)?);
        self.record.newest_ns = self.record.newest_ns.max(modified_ns);
        let link = matches!(input.content, Content::Link { .. });
        let there = Some(There { hash, mode, stamp, link });
        self.record.rows.insert(path.clone(), Row { there, modified_ns });
        Ok(())
    }

    /// Puts content that outputs of the user's builds were not made from above their times.
    fn renew(
        &mut self,
        sources: &Sources,
        files: &BTreeMap<WorkspacePath, Input>,
        kept: &BTreeSet<WorkspacePath>,
        outputs_ns: i64,
    ) -> Result<(), String> {
        let mut due = Vec::new();
        for path in kept {
            let Some(row) = self.record.rows.get(path).filter(|row| row.modified_ns <= outputs_ns) else { continue };
            match files.get(path).map(|input| &input.content) {
                Some(Content::Text { .. }) => due.push((path.clone(), self.fresh_time(sources, path))),
                // What was built of it since it last became this text may have been built of another one before.
                Some(Content::Disk { stamp, .. }) if stamp.latest_ns() > row.modified_ns => {
                    due.push((path.clone(), stamp.latest_ns()));
                }
                Some(Content::Disk { .. } | Content::Link { .. }) | None => {}
            }
        }
        for (path, modified_ns) in due {
            let at = self.place(&path);
            let failed = |error: io::Error| format!("{}: {error}", at.display());
            let file = std::fs::File::open(&at).map_err(failed)?;
            file.set_modified(time(modified_ns)).map_err(failed)?;
            let stamp = Stamp::of(&file.metadata().map_err(failed)?);
            self.record.newest_ns = self.record.newest_ns.max(modified_ns);
            if let Some(row) = self.record.rows.get_mut(&path) {
                row.modified_ns = modified_ns;
                if let Some(there) = &mut row.there {
                    there.stamp = stamp;
                }
            }
            self.dirty = true;
        }
        Ok(())
    }

    fn fresh_time(&self, sources: &Sources, path: &WorkspacePath) -> i64 {
        let users = std::fs::symlink_metadata(sources.root().join(path.as_str())).ok();
        let own = self.record.rows.get(path).map(|row| row.modified_ns);
        let seconds = users.map(|meta| Stamp::of(&meta).modified_ns).into_iter().chain(own);
        let later = seconds.map(|had| had.div_euclid(SECOND_NS).saturating_add(1).saturating_mul(SECOND_NS));
        later.chain([self.record.newest_ns.saturating_add(1), now_ns()]).max().unwrap_or(0)
    }

    /// Makes the folders above a path.
    fn ways(&self, sources: &Sources, path: &WorkspacePath) -> Result<(), String> {
        match path.as_str().rsplit_once('/') {
            Some((folder, _)) => self.folder(sources, folder),
            None => Ok(()),
        }
    }

    /// Makes a folder, with the mode of the user's: the view shows the topmost one's.
    fn folder(&self, sources: &Sources, folder: &str) -> Result<(), String> {
        let at = self.tree.join(folder);
        if at.is_dir() {
            return Ok(());
        }
        if let Some((above, _)) = folder.rsplit_once('/') {
            self.folder(sources, above)?;
        }
        let failed = |error: io::Error| format!("{}: {error}", at.display());
        std::fs::create_dir(&at).map_err(failed)?;
        match std::fs::symlink_metadata(sources.root().join(folder)) {
            Ok(meta) if meta.is_dir() => {
                std::fs::set_permissions(&at, Permissions::from_mode(meta.mode() & 0o777 | 0o700)).map_err(failed)
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn hide(&self, sources: &Sources, path: &WorkspacePath) -> Result<(), String> {
        self.ways(sources, path)?;
        let at = self.place(path);
        if std::fs::symlink_metadata(&at).is_ok() {
            return Ok(());
        }
        mknodat(CWD, &at, FileType::CharacterDevice, Mode::empty(), rustix::fs::makedev(0, 0))
            .map_err(|error| format!("{}: {error}", at.display()))
    }

    fn is_good(&self, path: &WorkspacePath, input: &Input, stamp: Stamp) -> bool {
        let mode = match &input.content {
            Content::Disk { mode, .. } | Content::Text { mode, .. } => Some(*mode),
            Content::Link { .. } => None,
        };
        self.at(path).is_some_and(|there| {
            there.stamp == stamp && there.hash == input.hash && mode.is_none_or(|mode| mode == there.mode)
        })
    }

    fn saw_time(&mut self, path: &WorkspacePath, modified_ns: i64) {
        let row = self.record.rows.entry(path.clone()).or_insert(Row { there: None, modified_ns });
        row.modified_ns = row.modified_ns.max(modified_ns);
    }
}

fn settle(file: &std::fs::File, mode: u32, modified_ns: i64) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode & 0o777))?;
    file.set_modified(time(modified_ns))
}

fn time(ns: i64) -> std::time::SystemTime {
    UNIX_EPOCH + Duration::from_nanos(u64::try_from(ns).unwrap_or(0))
}

/// Removes what is not to be shown, from the top down and never through a link.
struct Sweep<'a> {
    files: &'a BTreeMap<WorkspacePath, Input>,
    hidden: &'a BTreeSet<WorkspacePath>,
    ways: BTreeSet<String>,
    kept: BTreeSet<WorkspacePath>,
}

impl Sweep<'_> {
    fn folder(&mut self, layer: &mut Layer, folder: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let at = entry?.path();
            let meta = std::fs::symlink_metadata(&at)?;
            let path = workspace_path(&layer.tree, &at);
            if meta.is_dir() {
                match path.is_some_and(|path| self.ways.contains(path.as_str())) {
                    true => self.folder(layer, &at)?,
                    false => remove_folder(&at)?,
                }
                continue;
            }
            let Some(path) = path else {
                std::fs::remove_file(&at)?;
                continue;
            };
            if meta.file_type().is_char_device() {
                if !self.hidden.contains(&path) {
                    std::fs::remove_file(&at)?;
                }
                continue;
            }
            let stamp = Stamp::of(&meta);
            match self.files.get(&path) {
                Some(input) if layer.is_good(&path, input, stamp) => drop(self.kept.insert(path)),
                Some(_) | None => {
                    layer.saw_time(&path, stamp.modified_ns);
                    std::fs::remove_file(&at)?;
                }
            }
        }
        Ok(())
    }
}
