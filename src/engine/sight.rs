//! What the text of the moment says about one change: the open document's, else the disk's.
//!
//! Invariant: the states belong to the text that they come with. The removal of a file and its bits are matters of the
//! disk, whoever has the file open; everything else in an open document is the document's. Absent: decisions.

use super::buffered::{self, Buffered};
use super::world::World;
use crate::domain::change::{Entry, FileChange, Hunk, HunkKind, HunkStanding, HunkState, spot};
use crate::domain::ids::WorkspacePath;
use crate::ports::{ReadRefusal, Standings};

/// Bytes of a text in which a lost spot is looked for whenever it is looked at.
const SEARCHED: usize = 256 * 1024;

/// A change in the text of the moment.
pub(super) struct Sight {
    /// What the user has.
    pub current: Entry,
    /// What stands on disk.
    pub disk: Entry,
    /// The name of the document that an editor has open, if one has.
    pub open: Option<WorkspacePath>,
    /// In the order of the change's hunks.
    pub hunks: Vec<Seen>,
}

/// One hunk.
pub(super) struct Seen {
    /// What the user's text says.
    pub standing: HunkStanding,
    /// The disk says so too.
    pub on_disk: bool,
}

/// Whether a decision on this hunk is carried out in an open document, and not on disk.
pub(super) fn is_text(hunk: &Hunk) -> bool {
    match hunk.kind {
        HunkKind::Lines { .. } | HunkKind::Create => true,
        HunkKind::Delete | HunkKind::Mode => false,
    }
}

/// Looks.
///
/// # Errors
/// The file cannot be read.
pub(super) async fn see(world: &World, change: &FileChange) -> Result<Sight, ReadRefusal> {
    let disk = world.disk.read(&change.path).await?;
    let found = Buffered::find(world.disk.as_ref(), world.documents.as_ref(), &change.path).await;
    let Some((path, document)) = found else {
        let seen = |standing| Seen { standing, on_disk: true };
        let hunks = spot::derive(change, &disk).into_iter().map(seen).collect();
        return Ok(Sight { current: disk.clone(), disk, open: None, hunks });
    };
    // The document's own spots tell equal lines apart. They are of no use for a text that differs from what it has open,
    // or for a link to it; a mark at the file's head, which editors do not show, only moves them.
    let carried = world.documents.standings(change);
    let document = carried.as_ref().map_or(document, |carried| carried.document.clone());
    let current = buffered::entry(&document, &disk);
    let carried = carried.and_then(|carried| in_file(carried, current.text()));
    // A long text is searched only where nothing is carried.
    let lines = |hunk: &Hunk| matches!(hunk.kind, HunkKind::Lines { .. });
    let derived = match &carried {
        Some(carried) if change.hunks.iter().all(lines) => carried.clone(),
        Some(_) | None => spot::derive(change, &current),
    };
    let is_lost = |hunks: &Vec<HunkStanding>| hunks.iter().any(|hunk| !hunk.exact && hunk.touching.is_some());
    let found = match &carried {
        Some(carried) if is_lost(carried) && current.text().len() <= SEARCHED => spot::derive(change, &current),
        Some(_) | None => Vec::new(),
    };
    let saved = current.text() == disk.text() && (current == Entry::Absent) == (disk == Entry::Absent);
    let on_disk = if saved { None } else { Some(spot::derive(change, &disk)) };
    let whole = 0..current.text().len();
    let mut hunks = Vec::with_capacity(change.hunks.len());
    for (at, (hunk, derived)) in change.hunks.iter().zip(derived).enumerate() {
        let disks = || on_disk.as_ref().and_then(|all| all.get(at)).cloned();
        hunks.push(match hunk.kind {
            HunkKind::Lines { .. } => {
                let carried = carried.as_ref().and_then(|all| all.iter().find(|one| one.id == hunk.id)).cloned();
                let standing = match (carried, found.get(at)) {
                    // Lost by the edits, and the text alone says from where to where it goes.
                    (Some(carried), Some(found)) if !carried.exact && found.exact && found.touching.is_some() => {
                        found.clone()
                    }
                    (carried, _) => carried.unwrap_or(derived),
                };
                let on_disk = disks().is_none_or(|disk| disk.state == standing.state);
                Seen { standing, on_disk }
            }
            HunkKind::Create => {
                Seen { on_disk: disks().is_none_or(|disk| disk.state == derived.state), standing: derived }
            }
            HunkKind::Delete | HunkKind::Mode => {
                let standing = disks().map_or(derived, |disk| HunkStanding { range: whole.clone(), ..disk });
                Seen { standing, on_disk: true }
            }
        });
    }
    Ok(Sight { current, disk, open: Some(path), hunks })
}

/// Standings of a document as those of the file, where the two differ by nothing but the mark at its head.
fn in_file(Standings { document, mut hunks }: Standings, text: &str) -> Option<Vec<HunkStanding>> {
    let mark = text.len().checked_sub(document.text.len())?;
    let same = text.strip_suffix(&*document.text).is_some_and(|head| head.is_empty() || head == buffered::MARK);
    if mark > 0 {
        for HunkStanding { range, .. } in &mut hunks {
            // the first line has the mark in it
            let start = if range.start == 0 { 0 } else { range.start + mark };
            *range = start..range.end + mark;
        }
    }
    same.then_some(hunks)
}

impl Sight {
    /// Nothing is unsaved.
    pub(super) fn is_clean(&self) -> bool {
        self.current.text() == self.disk.text()
    }

    /// The hunks' standings.
    pub(super) fn standings(&self) -> Vec<HunkStanding> {
        self.hunks.iter().map(|seen| seen.standing.clone()).collect()
    }

    /// What a file that cannot be read is seen as: its hunks are touched. That nothing can be read is no proof that a
    /// file which was to go has gone.
    pub(super) fn of_nothing(change: &FileChange) -> Sight {
        let seen = |standing| Seen { standing: HunkStanding { state: HunkState::Touched, ..standing }, on_disk: false };
        let hunks = spot::derive(change, &Entry::Absent).into_iter().map(seen).collect();
        Sight { current: Entry::Absent, disk: Entry::Absent, open: None, hunks }
    }

    /// Whether a hunk's new text is on disk, whatever the editor shows.
    pub(super) fn disk_has(&self, change: &FileChange, hunk: &Hunk) -> bool {
        let found = spot::derive(change, &self.disk).into_iter().find(|standing| standing.id == hunk.id);
        found.is_some_and(|standing| standing.state == HunkState::Accepted)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a broken path is to fail its test")]
    use super::*;
    use crate::domain::change::file_change;
    use crate::domain::ids::StepId;

    #[test]
    fn a_file_that_cannot_be_read_has_not_gone() {
        let there = Entry::File { text: "a\n".into(), mode: 0o644 };
        for (before, after) in [(&there, &Entry::Absent), (&Entry::Absent, &there)] {
            let path = WorkspacePath::new("a.txt").unwrap();
            let seen = Sight::of_nothing(&file_change(path, before, after, &StepId::new("it"), None)).hunks;
            let said: Vec<_> = seen.iter().map(|seen| (seen.standing.state, seen.on_disk)).collect();
            assert_eq!(said, [(HunkState::Touched, false)]);
        }
    }
}
