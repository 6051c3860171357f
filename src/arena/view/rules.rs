//! Whether a path that a command made would be ignored in the workspace.
//!
//! Invariant: the rules are those of the view after the command, so a folder that a tool made with a `.gitignore` of
//! its own is ignored; they are read as git reads them, the deepest first. Absent: what git tracks; a path that stands
//! among the inputs is never asked about.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The names of files with rules, the stronger first.
const NAMES: [&str; 2] = [".planwrightignore", ".gitignore"];

/// Bytes of a file with rules; a larger one has none. A command may have written it, and each line becomes a pattern.
const LARGEST: u64 = 1 << 20;

/// Where the file at a path stands now. `None` = there is none.
type Standing<'a> = dyn Fn(&str) -> Option<PathBuf> + 'a;

/// Rules of a root, read as they are needed.
pub(super) struct Rules<'a> {
    root: &'a Path,
    standing: Box<Standing<'a>>,
    /// By folder, in the order of the names.
    read: HashMap<String, Vec<Option<Gitignore>>>,
    /// What holds in every folder: those above the root from the nearest on, the repository's own, the user's.
    outer: Vec<Gitignore>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(root: &'a Path, standing: impl Fn(&str) -> Option<PathBuf> + 'a) -> Self {
        let mut outer: Vec<Gitignore> = root
            .ancestors()
            .skip(1)
            .flat_map(|folder| NAMES.map(|name| folder.join(name)))
            .filter(|file| file.is_file())
            .map(|file| Gitignore::new(file).0)
            .collect();
        let mut own = GitignoreBuilder::new(root);
        let _ = own.add(root.join(".git/info/exclude"));
        outer.extend(own.build().ok());
        outer.push(GitignoreBuilder::new(root).build_global().0);
        Self { root, standing: Box::new(standing), read: HashMap::new(), outer }
    }

    /// Whether a file at this path is ignored, by itself or with a folder above it.
    pub(super) fn ignore(&mut self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| (at, true)).chain([(path.len(), false)]);
        ends.into_iter().any(|(end, is_folder)| path.get(..end).is_some_and(|part| self.names(part, is_folder)))
    }

    /// Whether our own rules keep this path, or a folder above it, from us.
    pub(super) fn withhold(&mut self, path: &str, is_folder: bool) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| (at, true)).chain([(path.len(), is_folder)]);
        ends.into_iter()
            .any(|(end, is_folder)| path.get(..end).and_then(|part| self.ranked(0, part, is_folder)) == Some(true))
    }

    /// What the nearest file of this rank says, if it says something.
    fn ranked(&mut self, rank: usize, path: &str, is_folder: bool) -> Option<bool> {
        let at = self.root.join(path);
        let mut folder = path;
        while !folder.is_empty() {
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
            let Some(rules) = self.folder(folder).get(rank).and_then(Option::as_ref) else { continue };
            match rules.matched(&at, is_folder) {
                Match::None => {}
                Match::Ignore(_) => return Some(true),
                Match::Whitelist(_) => return Some(false),
            }
        }
        None
    }

    fn names(&mut self, path: &str, is_folder: bool) -> bool {
        if let Some(ignored) = (0..NAMES.len()).find_map(|rank| self.ranked(rank, path, is_folder)) {
            return ignored;
        }
        let at = self.root.join(path);
        let found = self.outer.iter().map(|rules| rules.matched(&at, is_folder)).find(|found| !found.is_none());
        found.is_some_and(|found| found.is_ignore())
    }

    fn folder(&mut self, folder: &str) -> &[Option<Gitignore>] {
        let (root, standing) = (self.root, &self.standing);
        self.read.entry(folder.to_owned()).or_insert_with(|| {
            let file = |name: &str| {
                let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                let mut rules = GitignoreBuilder::new(root.join(folder));
                let at = standing(&path)?;
                if at.metadata().is_ok_and(|meta| meta.len() > LARGEST) {
                    return None;
                }
                let _ = rules.add(at);
                rules.build().ok()
            };
            NAMES.into_iter().map(file).collect()
        })
    }
}
