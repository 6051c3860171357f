//! The host's desk as an attached process has it: what changed since the last time, and no long text twice.
//!
//! Invariant: both sides hold the same desk after each difference, so the next one may refer to it by place. A change
//! set crosses once, as [`FromHost::Change`] lines before the difference that first names it; a hunk crosses without
//! its texts, which its change has. Absent: the journal, which grows without end (what pages need of it crosses,
//! timelines and previews are asked for); pace and order, which are the writer's.

use super::wire::{FRAME, FromHost, encode};
use crate::desk::{Desk, Dossier, Page, ReviewHunk, Surroundings, Told};
use crate::domain::change::{Entry, FileChange};
use crate::domain::ids::{RevisionRef, StepId, TaskId};
use crate::domain::plan;
use crate::domain::problem::Problem;
use crate::domain::task::Journal;
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::Task;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// What makes the desk of the other side the newest one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Difference {
    place: Kept<Surroundings>,
    /// Every task there is; those that `changed` does not have are as before.
    order: Vec<TaskId>,
    changed: Vec<Part>,
}

/// A value, or word that it is as before.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept<T> {
    Same,
    Now(T),
}

impl<T> Kept<T> {
    fn of(same: bool, now: impl FnOnce() -> T) -> Self {
        if same { Kept::Same } else { Kept::Now(now()) }
    }

    fn or(self, former: impl FnOnce() -> T) -> T {
        match self {
            Kept::Same => former(),
            Kept::Now(value) => value,
        }
    }
}

/// A dossier of which something changed.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    id: TaskId,
    task: Kept<Arc<Task>>,
    state: TaskState,
    carried: bool,
    steps: Vec<(StepId, String)>,
    told: Kept<Arc<Told>>,
    page: Kept<Option<PageText>>,
    /// In order. Without a text: the one that the former dossier has under this name.
    revisions: Kept<Vec<(RevisionRef, Option<Arc<str>>)>>,
    changes: Kept<Vec<ChangeAt>>,
    hunks: Kept<Vec<HunkAt>>,
    offered: Kept<Option<(RevisionRef, Arc<str>)>>,
}

/// A page without its plan, which is a function of the text.
#[derive(Debug, Serialize, Deserialize)]
struct PageText {
    path: PathBuf,
    text: Arc<str>,
    problems: Vec<Problem>,
    revision: RevisionRef,
    contract: Vec<String>,
}

/// Where a change is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChangeAt {
    /// In the former dossier, so many before it.
    Former(usize),
    /// Among those sent since the last difference, so many before it.
    Sent(usize),
}

/// A hunk; its texts are left out where they are those of a hunk of `changes`: which change, which of its hunks.
#[derive(Debug, Serialize, Deserialize)]
struct HunkAt {
    hunk: ReviewHunk,
    of: Option<(usize, usize)>,
}

/// The host's side: what the other side has.
#[derive(Debug, Default)]
pub(super) struct Sent(Option<Arc<Desk>>);

impl Sent {
    /// The other side has exactly this.
    pub(super) fn is(&self, desk: &Arc<Desk>) -> bool {
        self.0.as_ref().is_some_and(|sent| Arc::ptr_eq(sent, desk))
    }

    /// The lines that bring the other side up to this desk; none where it would see no difference.
    pub(super) fn lines(&mut self, desk: &Arc<Desk>) -> io::Result<Vec<Vec<u8>>> {
        let nothing = Desk::default();
        let first = self.0.is_none();
        let former = self.0.as_deref().unwrap_or(&nothing);
        let known: HashMap<&TaskId, &Arc<Dossier>> =
            former.tasks.iter().map(|dossier| (&dossier.task.id, dossier)).collect();
        let mut lines = Vec::new();
        let mut changed = Vec::new();
        for dossier in &desk.tasks {
            let was = known.get(&dossier.task.id).copied();
            if was.is_none_or(|was| !Arc::ptr_eq(was, dossier) && !same(was, dossier)) {
                changed.push(part(was.map(Arc::as_ref), dossier, &mut lines)?);
            }
        }
        let difference = Difference {
            place: Kept::of(!first && former.place == desk.place, || desk.place.clone()),
            order: desk.tasks.iter().map(|dossier| dossier.task.id.clone()).collect(),
            changed,
        };
        let order = former.tasks.iter().map(|dossier| &dossier.task.id);
        let quiet = difference.changed.is_empty()
            && matches!(difference.place, Kept::Same)
            && order.eq(difference.order.iter());
        if first || !quiet {
            let line = encode(&FromHost::Desk(Box::new(difference)))?;
            if line.len() > FRAME {
                // Only some hundred thousand hunks come to this; the other side keeps what it has.
                tracing::warn!(bytes = line.len(), "a desk is too large to be mirrored");
                return Ok(Vec::new());
            }
            lines.push(line);
        }
        self.0 = Some(desk.clone());
        Ok(lines)
    }
}

fn same(was: &Dossier, is: &Dossier) -> bool {
    was.state == is.state
        && was.carried == is.carried
        && was.steps == is.steps
        && same_value(&was.told, &is.told)
        && same_value(&was.task, &is.task)
        && same_page(was, is)
        && same_value(&was.revisions, &is.revisions)
        && same_changes(was, is)
        && same_value(&was.hunks, &is.hunks)
        && was.offered == is.offered
}

fn same_value<T: PartialEq>(was: &Arc<T>, is: &Arc<T>) -> bool {
    Arc::ptr_eq(was, is) || was == is
}

fn same_page(was: &Dossier, is: &Dossier) -> bool {
    match (&was.page, &is.page) {
        (Some(was), Some(is)) => same_value(was, is),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn same_changes(was: &Dossier, is: &Dossier) -> bool {
    Arc::ptr_eq(&was.changes, &is.changes)
        || was.changes.len() == is.changes.len()
            && was.changes.iter().zip(is.changes.iter()).all(|(was, is)| same_value(was, is))
}

/// What is different in a dossier. `lines` takes the changes that the other side does not have yet.
fn part(was: Option<&Dossier>, is: &Dossier, lines: &mut Vec<Vec<u8>>) -> io::Result<Part> {
    let like = |same: &dyn Fn(&Dossier) -> bool| was.is_some_and(same);
    let changes = if like(&|was| same_changes(was, is)) {
        Kept::Same
    } else {
        let former = was.map(|was| was.changes.as_slice()).unwrap_or_default();
        let mut at = Vec::new();
        for change in is.changes.iter() {
            match former.iter().position(|known| same_value(known, change)) {
                Some(place) => at.push(ChangeAt::Former(place)),
                None => {
                    at.push(ChangeAt::Sent(lines.len()));
                    lines.push(change_line(change)?);
                }
            }
        }
        Kept::Now(at)
    };
    let revisions = |known: &[(RevisionRef, Arc<str>)]| {
        let text_of = |(name, text): &(RevisionRef, Arc<str>)| {
            let has = known.iter().any(|(known, _)| known == name);
            (name.clone(), (!has).then(|| text.clone()))
        };
        is.revisions.iter().map(text_of).collect()
    };
    Ok(Part {
        id: is.task.id.clone(),
        task: Kept::of(like(&|was| same_value(&was.task, &is.task)), || is.task.clone()),
        state: is.state.clone(),
        carried: is.carried,
        steps: is.steps.clone(),
        told: Kept::of(like(&|was| same_value(&was.told, &is.told)), || is.told.clone()),
        page: Kept::of(like(&|was| same_page(was, is)), || is.page.as_deref().map(page_text)),
        revisions: Kept::of(like(&|was| same_value(&was.revisions, &is.revisions)), || {
            revisions(was.map(|was| was.revisions.as_slice()).unwrap_or_default())
        }),
        changes,
        hunks: Kept::of(like(&|was| same_value(&was.hunks, &is.hunks)), || hunks(is)),
        offered: Kept::of(like(&|was| was.offered == is.offered), || is.offered.clone()),
    })
}

/// A change as a line. One that is too long, which takes a 10 MB file of control characters, crosses as an empty one:
/// the places of the others stay right.
fn change_line(change: &Arc<FileChange>) -> io::Result<Vec<u8>> {
    let line = encode(&FromHost::Change(change.clone()))?;
    if line.len() <= FRAME {
        return Ok(line);
    }
    tracing::warn!(path = %change.path, bytes = line.len(), "a change is too large to be mirrored");
    let path = change.path.clone();
    let empty = FileChange { path, before: Entry::Absent, after: Entry::Absent, hunks: Vec::new() };
    encode(&FromHost::Change(Arc::new(empty)))
}

fn page_text(page: &Page) -> PageText {
    PageText {
        path: page.path.clone(),
        text: page.text.clone(),
        problems: page.problems.clone(),
        revision: page.revision.clone(),
        contract: page.contract.clone(),
    }
}

fn hunks(dossier: &Dossier) -> Vec<HunkAt> {
    let mut places = HashMap::new();
    for (c, change) in dossier.changes.iter().enumerate() {
        for (h, hunk) in change.hunks.iter().enumerate() {
            // A later change of the path has the same texts for the same id.
            places.entry(&hunk.id).or_insert((c, h));
        }
    }
    let without_texts = |hunk: &ReviewHunk| {
        let of = places.get(&hunk.id).copied().filter(|&(c, h)| {
            let texts = texts(&dossier.changes, (c, h));
            texts.is_some_and(|(old, new)| old == hunk.old && new == hunk.new)
        });
        let text = |text: &String| if of.is_some() { String::new() } else { text.clone() };
        let hunk = ReviewHunk {
            id: hunk.id.clone(),
            step: hunk.step.clone(),
            path: hunk.path.clone(),
            kind: hunk.kind.clone(),
            line: hunk.line,
            old: text(&hunk.old),
            new: text(&hunk.new),
            context: hunk.context.clone(),
            touching: hunk.touching.clone(),
            exact: hunk.exact,
            state: hunk.state,
            on_disk: hunk.on_disk,
            decision: hunk.decision.clone(),
            pending: hunk.pending,
            flags: hunk.flags.clone(),
            verdict: hunk.verdict.clone(),
            shown: hunk.shown.clone(),
        };
        HunkAt { hunk, of }
    };
    dossier.hunks.iter().map(without_texts).collect()
}

fn texts(changes: &[Arc<FileChange>], (change, hunk): (usize, usize)) -> Option<(&str, &str)> {
    let change = changes.get(change)?;
    let hunk = change.hunks.get(hunk)?;
    Some((change.old_text(hunk), change.new_text(hunk)))
}

/// The attached side: the host's desk as it was told last.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    desk: Arc<Desk>,
    sent: Vec<Arc<FileChange>>,
}

impl Mirror {
    /// A change that the next difference names.
    pub(super) fn take(&mut self, change: Arc<FileChange>) {
        self.sent.push(change);
    }

    /// The desk with this difference.
    pub(super) fn apply(&mut self, difference: Difference) -> Arc<Desk> {
        let sent = std::mem::take(&mut self.sent);
        let known: HashMap<&TaskId, &Arc<Dossier>> =
            self.desk.tasks.iter().map(|dossier| (&dossier.task.id, dossier)).collect();
        let mut changed: HashMap<TaskId, Part> =
            difference.changed.into_iter().map(|part| (part.id.clone(), part)).collect();
        let dossier = |id: &TaskId| {
            let was = known.get(id).copied();
            match changed.remove(id) {
                None => was.cloned(),
                Some(part) => dossier(was.map(Arc::as_ref), part, &sent).map(Arc::new),
            }
        };
        let tasks = difference.order.iter().filter_map(dossier).collect();
        let place = difference.place.or(|| self.desk.place.clone());
        self.desk = Arc::new(Desk { place, tasks });
        self.desk.clone()
    }
}

/// `None` for a part that refers to a dossier which is not there; equal releases do not send one.
fn dossier(was: Option<&Dossier>, part: Part, sent: &[Arc<FileChange>]) -> Option<Dossier> {
    let task = match part.task {
        Kept::Now(task) => task,
        Kept::Same => was?.task.clone(),
    };
    let changes = match part.changes {
        Kept::Same => was.map(|was| was.changes.clone()).unwrap_or_default(),
        Kept::Now(places) => {
            let former = was.map(|was| was.changes.as_slice()).unwrap_or_default();
            let change = |place: &ChangeAt| match place {
                ChangeAt::Former(at) => former.get(*at).cloned(),
                ChangeAt::Sent(at) => sent.get(*at).cloned(),
            };
            Arc::new(places.iter().filter_map(change).collect())
        }
    };
    let hunks = match part.hunks {
        Kept::Same => was.map(|was| was.hunks.clone()).unwrap_or_default(),
        Kept::Now(hunks) => {
            let with_texts = |HunkAt { hunk, of }| match of.and_then(|of| texts(&changes, of)) {
                Some((old, new)) => ReviewHunk { old: old.to_owned(), new: new.to_owned(), ..hunk },
                None => hunk,
            };
            Arc::new(hunks.into_iter().map(with_texts).collect())
        }
    };
    let revisions = match part.revisions {
        Kept::Same => was.map(|was| was.revisions.clone()).unwrap_or_default(),
        Kept::Now(revisions) => {
            let former = |name: &RevisionRef| {
                was?.revisions.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone())
            };
            let text_of = |(name, text): (RevisionRef, Option<Arc<str>>)| {
                let text = text.or_else(|| former(&name))?;
                Some((name, text))
            };
            Arc::new(revisions.into_iter().filter_map(text_of).collect())
        }
    };
    Some(Dossier {
        task,
        state: part.state,
        journal: Journal::default(),
        told: match part.told {
            Kept::Now(told) => told,
            Kept::Same => was.map(|was| was.told.clone()).unwrap_or_default(),
        },
        page: match part.page {
            Kept::Same => was.and_then(|was| was.page.clone()),
            Kept::Now(page) => page.map(|page| Arc::new(read(page))),
        },
        revisions,
        hunks,
        changes,
        offered: part.offered.or(|| was?.offered.clone()),
        carried: part.carried,
        steps: part.steps,
    })
}

fn read(page: PageText) -> Page {
    Page {
        plan: Arc::new(plan::parse(&page.text).plan),
        path: page.path,
        text: page.text,
        problems: page.problems,
        revision: page.revision,
        contract: page.contract,
    }
}
