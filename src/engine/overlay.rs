//! The change set laid over the user's files as they are at this moment.
//!
//! Invariant: only hunks that are open and not rejected are laid over; what the user has at every other place stays,
//! and what should have been laid over and could not be is named. Each file is read once, so that what is laid and
//! what the user has belong together. Absent: writing.

use super::buffered;
use super::case::Merged;
use super::sight;
use super::world::World;
use crate::domain::change::{Entry, HunkState, accept};
use crate::domain::ids::*;
use crate::domain::policy::paths;
use crate::ports::{ReadRefusal, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Entries that differ from what stands on disk, by path.
pub type Overlay = BTreeMap<WorkspacePath, Entry>;

/// What came of laying a change set over the files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Laid {
    /// What differs from the user's files.
    pub over: Overlay,
    /// Text of the user's that is not on disk: a copy of the disk lacks it.
    pub unsaved: Overlay,
    /// What the user has at each path of the change set and of an unsaved text, as it was read for these.
    pub user: BTreeMap<WorkspacePath, Entry>,
    /// The paths of the change set.
    own: BTreeSet<WorkspacePath>,
    /// Hunks with their authors that nobody rejected, and that the text has no place for any more.
    pub left_out: Vec<(HunkId, StepId)>,
}

impl Laid {
    /// What makes a copy of the disk the view.
    pub fn view(&self) -> Overlay {
        self.unsaved.iter().chain(&self.over).map(|(path, entry)| (path.clone(), entry.clone())).collect()
    }

    /// The same to be judged: a text beside the change set that the user is in the middle of typing, with errors of
    /// syntax that the saved one does not have, says nothing of anybody's work. The last one without them stands in
    /// for it, else the saved one.
    pub async fn judged(mut self, world: &World) -> Laid {
        let beside: Vec<WorkspacePath> = self.unsaved.keys().filter(|path| !self.own.contains(path)).cloned().collect();
        for path in beside {
            let saved = world.disk.read(&path).await.unwrap_or(Entry::Absent);
            let Some(typed) = self.unsaved.get(&path).cloned() else { continue };
            let (syntax, sound, at, known) = (world.syntax.clone(), world.sound.at(&path), path.clone(), saved.clone());
            let instead = tokio::task::spawn_blocking(move || {
                let errors =
                    |entry: &Entry| syntax.errors(&Source { path: at.clone(), text: Arc::from(entry.text()) }).len();
                let most = errors(&known);
                if errors(&typed) <= most {
                    return None;
                }
                Some(sound.filter(|entry| errors(entry) <= most).unwrap_or(known))
            });
            // Without an answer the text stays what the user has.
            let Some(instead) = instead.await.ok().flatten().filter(|instead| *instead != Entry::Absent) else {
                continue;
            };
            self.unsaved.remove(&path);
            if instead != saved {
                self.unsaved.insert(path.clone(), instead.clone());
            }
            self.user.insert(path, instead);
        }
        self
    }

    /// What the view has at a path of the change set or of an unsaved text.
    pub fn at(&self, path: &WorkspacePath) -> Option<&Entry> {
        self.over.get(path).or_else(|| self.user.get(path))
    }

    /// Why nothing can be said of this step's work by this view, or of the whole change set's without a step.
    pub fn unfit(&self, step: Option<&StepId>) -> Option<String> {
        let own = |(_, author): &&(HunkId, StepId)| step.is_none_or(|step| author == step);
        let left: Vec<&str> = self.left_out.iter().filter(own).map(|(hunk, _)| hunk.as_str()).collect();
        match left.as_slice() {
            [] => None,
            [hunk] => Some(format!("{hunk} no longer fits the text; settle it first")),
            [hunk, more @ ..] => {
                Some(format!("{hunk} and {} more no longer fit the text; settle them first", more.len()))
            }
        }
    }
}

/// Lays the change set over the files.
///
/// # Errors
/// A file of the change set can no longer be read.
pub async fn overlay(world: &World, merged: &Merged) -> Result<Laid, ReadRefusal> {
    let mut all = Laid::default();
    for (path, change) in merged.changes() {
        let sight = sight::see(world, &change).await?;
        let (mut wanted, mut left_out) = (Vec::new(), Vec::new());
        let standings = sight.standings();
        // Its editor shows the text of a file that was removed on a decision: nobody has it any more.
        let gone = change.after == Entry::Absent && sight.disk == Entry::Absent;
        let current = if gone { Entry::Absent } else { sight.current };
        for standing in standings.clone() {
            match standing.state {
                HunkState::Open | HunkState::Touched if merged.rejected.contains(&standing.id) => {}
                HunkState::Open => wanted.push(standing.id),
                HunkState::Touched => left_out.push(standing.id),
                HunkState::Accepted => {}
            }
        }
        // Hunks that are open can be written; a conflict here means that two of them overlap in the text of the
        // moment, and then the user's text stands.
        let laid = accept::plan_at_spots(&change, &current, &standings, &wanted, &[]).unwrap_or_else(|_| {
            left_out.append(&mut wanted);
            current.clone()
        });
        let authors = change.hunks.iter().filter(|hunk| left_out.contains(&hunk.id));
        all.left_out.extend(authors.map(|hunk| (hunk.id.clone(), hunk.author.clone())));
        if laid != current {
            all.over.insert(path.clone(), laid);
        }
        all.own.insert(path.clone());
        all.user.insert(path, current);
    }
    unsaved(world, &mut all).await;
    Ok(all)
}

/// Lays open documents under the change set where the disk has another text (D4). An ignored file is in no view.
async fn unsaved(world: &World, all: &mut Laid) {
    let open = world.documents.paths();
    if open.is_empty() {
        return;
    }
    let listed: BTreeSet<WorkspacePath> = world.workspace.list().await.into_iter().map(|file| file.path).collect();
    for path in open {
        let Ok(disk) = world.disk.read(&path).await else { continue };
        let hidden = path.as_str().split('/').any(|part| matches!(part, ".git" | ".planwright"));
        let seen = all.own.contains(&path) || listed.contains(&path) || disk == Entry::Absent;
        if hidden || !seen || paths::is_secret(&path) {
            continue;
        }
        let here = match (all.user.get(&path), world.documents.newest(&path)) {
            // As the change set has it.
            (Some(read), _) => read.clone(),
            (None, Some(document)) => buffered::entry(&document, &disk),
            (None, None) => continue,
        };
        if here != disk {
            all.user.entry(path.clone()).or_insert_with(|| here.clone());
            all.unsaved.insert(path, here);
        }
    }
}
