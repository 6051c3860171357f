//! What lies in the user's tree beside the inputs: ignored files and folders, which a view shows as they are.
//!
//! Invariant: each such entry is one of: hidden (secrets, our own pages, what `.planwrightignore` names), an output of
//! builds (a folder of the task's own stands in its place), a dependency (seen, never judged by time), or loose, and
//! then its newest time is known or taken for newer than anything. Absent: what lies deeper in an ignored folder, except for its times; a secret or a
//! rule for something there hides nothing.

use super::rules::Rules;
use crate::arena::sources::{Stamp, is_build_folder};
use crate::domain::ids::WorkspacePath;
use crate::domain::policy::paths;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Folders of what is installed, not built: tools look into them, and compare no source with them by time. Python's
/// byte code is kept elsewhere (`PYTHONPYCACHEPREFIX`).
const DEPENDENCIES: [&str; 7] = ["node_modules", ".venv", "venv", "bower_components", ".git", ".direnv", "__pycache__"];

/// Folders of builds beyond those of the copy. CMake's name their kind behind a dash.
const OUTPUTS: [&str; 7] = ["cmake-build-", "builddir", "_build", ".svelte-kit", ".vite", ".angular", ".cache"];

/// Caches that tools keep inside an installation.
const INSIDE: [(&str, [&str; 2]); 1] = [("node_modules", [".cache", ".vite"])];

/// What a tool makes beside a file of this name, so that there is a place for it though the user has none yet.
const MADE: [(&str, &[&str]); 4] = [
    ("Cargo.toml", &["target"]),
    ("package.json", &["node_modules"]),
    ("pyproject.toml", &[".pytest_cache", ".mypy_cache", ".ruff_cache"]),
    ("setup.py", &[".pytest_cache", ".mypy_cache", ".ruff_cache"]),
];

/// Entries of a loose folder that are looked at; of a larger one the time is not known.
const LOOKED_AT: usize = 5_000;

/// What was found.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Beside {
    pub(super) hidden: BTreeSet<WorkspacePath>,
    /// Folders that get a place of the task's own.
    pub(super) outputs: BTreeSet<WorkspacePath>,
    /// The newest time of a loose entry.
    pub(super) newest_ns: i64,
}

/// Looks beside these inputs. `given` are all paths that the view shows or removes, `folders` those above what it
/// shows.
pub(super) fn look(root: &Path, given: &BTreeSet<WorkspacePath>, folders: &BTreeSet<String>) -> Beside {
    let mut beside = Beside::default();
    let mut rules = Rules::new(root, |path| Some(root.join(path)).filter(|at| at.is_file()));
    for folder in folders.iter().map(String::as_str).chain([""]) {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        for entry in entries.flatten() {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let text = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let Ok(path) = WorkspacePath::new(&text) else { continue };
            if given.contains(&path) || folders.contains(path.as_str()) {
                continue;
            }
            match kind(&path, &entry.path()) {
                Kind::Loose if rules.withhold(path.as_str(), entry.path().is_dir()) => drop(beside.hidden.insert(path)),
                kind => beside.take(kind, &path, &entry.path()),
            }
        }
    }
    let tops = tops(given);
    for (marker, made) in MADE {
        let folder = tops.get(marker).into_iter().flatten();
        for path in folder.flat_map(|folder| made.iter().map(move |name| below(folder, name))).flatten() {
            // The user's own installation is seen where there is one; a missing one is a place to install into.
            if !DEPENDENCIES.contains(&path.file_name()) || !root.join(path.as_str()).exists() {
                beside.outputs.insert(path);
            }
        }
    }
    let shown = |path: &WorkspacePath| given.contains(path) || folders.contains(path.as_str());
    beside.outputs.retain(|path| !shown(path));
    beside
}

/// What an entry beside the inputs is.
enum Kind {
    Hidden,
    Output,
    Dependency,
    Loose,
}

fn kind(path: &WorkspacePath, at: &Path) -> Kind {
    let name = path.file_name();
    let builds = || is_build_folder(name) || OUTPUTS.iter().any(|known| name.starts_with(known));
    if name == ".planwright" || (name != ".git" && paths::is_secret(path)) {
        Kind::Hidden
    } else if DEPENDENCIES.contains(&name) || name.ends_with(".egg-info") {
        Kind::Dependency
    } else if builds() && at.is_dir() {
        Kind::Output
    } else {
        Kind::Loose
    }
}

impl Beside {
    fn take(&mut self, kind: Kind, path: &WorkspacePath, at: &Path) {
        match kind {
            Kind::Hidden => drop(self.hidden.insert(path.clone())),
            Kind::Output => drop(self.outputs.insert(path.clone())),
            Kind::Loose => self.newest_ns = self.newest_ns.max(newest(at)),
            // A folder of ours on the way to a cache inside would stand in the place of a link.
            Kind::Dependency if at.is_symlink() => {}
            Kind::Dependency => {
                let inside = INSIDE.iter().filter(|(name, _)| *name == path.file_name());
                self.outputs
                    .extend(inside.flat_map(|(_, caches)| caches).filter_map(|name| below(path.as_str(), name)));
            }
        }
    }
}

/// The folders of each marker that have no folder with the same marker above them.
fn tops(given: &BTreeSet<WorkspacePath>) -> BTreeMap<&str, Vec<&str>> {
    let mut tops: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in given {
        let (folder, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        if MADE.iter().any(|(marker, _)| *marker == name) {
            tops.entry(name).or_default().push(folder);
        }
    }
    for folders in tops.values_mut() {
        let all = folders.clone();
        folders.retain(|folder| !all.iter().any(|above| above != folder && is_above(above, folder)));
    }
    tops
}

fn is_above(above: &str, folder: &str) -> bool {
    above.is_empty() || folder.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

fn below(folder: &str, name: &str) -> Option<WorkspacePath> {
    WorkspacePath::new(&if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }).ok()
}

/// The newest time in a file or folder.
fn newest(at: &Path) -> i64 {
    let mut newest_ns = 0;
    let mut left = LOOKED_AT;
    let mut waiting = vec![at.to_owned()];
    while let Some(at) = waiting.pop() {
        let Ok(meta) = std::fs::symlink_metadata(&at) else { continue };
        newest_ns = newest_ns.max(Stamp::of(&meta).latest_ns());
        if left == 0 {
            return i64::MAX;
        }
        left -= 1;
        if meta.is_dir() {
            waiting.extend(std::fs::read_dir(&at).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    newest_ns
}
