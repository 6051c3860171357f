//! Hunks of a task with what the text of the moment says of them, kept by file.
//!
//! Invariant: a file is looked at again only when something was told of it, or of all; a keystroke in one of five
//! hundred changed files costs one look. While git is in the middle of a checkout nobody looks: what stands then is
//! nobody's wish. A search for lost hunks goes on beside the loop; while it does, nothing is begun, ended or
//! decided on the word of that file. Absent: how text and hunks are compared (`sight`).

use super::case::{Case, Drive};
use super::input::Input;
use super::owner::Owner;
use super::sight::{self, Seen, Sight};
use super::world::World;
use crate::desk::ReviewHunk;
use crate::domain::change::{Decision, FileChange, Hunk, HunkKind, HunkState, settle};
use crate::domain::ids::*;
use crate::domain::task::event::Verdict;
use crate::domain::task::facts;
use crate::domain::task::state::{Decided, Task};
use crate::ports::{Clock, DocumentEvent, Documents};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Lines shown before and after a hunk.
const CONTEXT: usize = 3;

/// How long after git was seen at work somebody looks again.
const SECOND_LOOK: Duration = Duration::from_millis(250);

/// What is told of documents within this time is one report: nobody reads a list of hunks at the speed of typing.
const QUIET: Duration = Duration::from_millis(100);

/// What must be looked at again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stale {
    all: bool,
    paths: BTreeSet<WorkspacePath>,
    /// Nothing of the text, but what is said beside it.
    words: bool,
}

impl Stale {
    /// All files.
    pub fn all() -> Self {
        Stale { all: true, ..Stale::default() }
    }

    /// These files.
    pub fn paths(paths: impl IntoIterator<Item = WorkspacePath>) -> Self {
        Stale { paths: paths.into_iter().collect(), ..Stale::default() }
    }

    /// Decisions and verdicts.
    pub fn words() -> Self {
        Stale { words: true, ..Stale::default() }
    }

    /// Both.
    pub fn add(&mut self, other: Stale) {
        self.all |= other.all;
        self.words |= other.words;
        self.paths.extend(other.paths);
    }

    fn concerns(&self, path: &WorkspacePath) -> bool {
        self.all || self.paths.contains(path)
    }

    fn is_fresh(&self) -> bool {
        !self.all && !self.words && self.paths.is_empty()
    }
}

/// What was told of an open document while it is searched for lost hunks.
#[derive(Debug, Default)]
pub struct Meanwhile {
    changed: bool,
    saved: bool,
}

/// One file as it was looked at last.
#[derive(Debug, Default)]
pub struct Looked {
    /// What it was looked at for: the change in force first, then those that hold accepted hunks besides.
    changes: Vec<Arc<FileChange>>,
    hunks: Vec<ReviewHunk>,
}

impl Owner {
    /// Derives the hunks of a task again, as far as anything may have changed them. False where git is in the middle of
    /// changing files, or lost hunks are being looked for: what is shown then is not what stands there, and nothing may
    /// be begun or ended on its word.
    pub(super) async fn refresh_hunks(&mut self, id: &TaskId) -> bool {
        self.derive_hunks(id).await && !self.is_searched(id)
    }

    /// A document is searched that the task has hunks in.
    fn is_searched(&self, id: &TaskId) -> bool {
        let Some(case) = self.cases.get(id).filter(|_| !self.searching.is_empty()) else { return false };
        case.changes.iter().any(|change| self.searching.contains_key(&change.path))
    }

    /// A document among these in which lost hunks are looked for, or are to be: the search begins when the loop hears of
    /// the change.
    pub(super) fn searched_of(&self, id: &TaskId, meant: &Stale) -> Option<WorkspacePath> {
        let lost = |path: &&WorkspacePath| self.searching.contains_key(*path) || self.world.documents.owes(path);
        let paths = self.cases.get(id)?.changes.iter().map(|change| &change.path);
        paths.filter(|path| meant.concerns(path)).find(lost).cloned()
    }

    async fn derive_hunks(&mut self, id: &TaskId) -> bool {
        let world = self.world.clone();
        let Some(case) = self.cases.get_mut(id) else { return true };
        if case.stale.is_fresh() {
            return true;
        }
        let mut wanted: BTreeMap<WorkspacePath, Vec<Arc<FileChange>>> = BTreeMap::new();
        for change in case.changes.iter() {
            wanted.entry(change.path.clone()).or_default().push(change.clone());
        }
        let known = |path: &WorkspacePath, changes: &[Arc<FileChange>]| {
            let looked = case.looked.get(path).filter(|looked| same(&looked.changes, changes));
            looked.is_some() && !case.stale.all && !case.stale.paths.contains(path)
        };
        let missing: Vec<WorkspacePath> =
            wanted.iter().filter(|(path, changes)| !known(path, changes)).map(|(path, _)| path.clone()).collect();
        let moving = !missing.is_empty() && world.disk.moving().await;
        if moving {
            self.look_again();
        }
        let Some(case) = self.cases.get_mut(id) else { return true };
        // The first look is better than none, and not the last.
        if moving && !case.looked.is_empty() {
            return false;
        }
        case.stale = if moving { Stale::all() } else { Stale::default() };
        case.looked.retain(|path, _| wanted.contains_key(path));
        for path in missing {
            let changes = wanted.remove(&path).unwrap_or_default();
            let hunks = look(&world, case, &changes).await;
            case.looked.insert(path, Looked { changes, hunks });
        }
        let task = case.task.clone();
        let mut hunks = Vec::new();
        for (path, looked) in &mut case.looked {
            looked.hunks.iter_mut().for_each(|hunk| reword(hunk, &task));
            let in_force = looked.changes.first().filter(|_| case.proposed.contains(path));
            hunks.extend(looked.hunks.iter().filter(|hunk| stays(hunk, in_force)).cloned());
        }
        if *case.hunks != hunks {
            case.hunks = Arc::new(hunks);
        }
        !moving
    }

    /// Whether some task has hunks in one of these files.
    pub(super) fn concern_anybody(&self, paths: &[WorkspacePath]) -> bool {
        self.cases.values().flat_map(|case| case.changes.iter()).any(|change| paths.contains(&change.path))
    }

    /// Tasks whose plan document is among these files.
    fn documents_of<'a>(&'a self, paths: &'a [WorkspacePath]) -> impl Iterator<Item = &'a TaskId> {
        let root = self.world.disk.root();
        let is_page = move |case: &&Case| {
            let page = case.page.as_ref().and_then(|page| page.path.strip_prefix(root).ok()?.to_str());
            page.is_some_and(|page| paths.iter().any(|path| path.as_str() == page))
        };
        self.cases.values().filter(is_page).map(|case| &case.task.id)
    }

    /// Whether a save of these files says something to some task.
    pub(super) fn saves_anything(&self, paths: &[WorkspacePath]) -> bool {
        self.concern_anybody(paths) || self.documents_of(paths).next().is_some()
    }

    /// Files changed on disk or in an editor. Where that settles what a task waited for, it goes on.
    pub(super) async fn changed(&mut self, paths: &[WorkspacePath]) {
        for path in paths {
            self.unwatch(path);
            self.search(path);
        }
        self.look_at(paths).await;
    }

    /// Has lost hunks looked for, one search of a document at a time.
    fn search(&mut self, path: &WorkspacePath) {
        if let Some(meanwhile) = self.searching.get_mut(path) {
            meanwhile.changed = true;
            return;
        }
        let documents = self.world.documents.clone();
        if !documents.owes(path) {
            return;
        }
        self.searching.insert(path.clone(), Meanwhile::default());
        let (inbox, searched) = (self.inbox.clone(), path.clone());
        let search = tokio::task::spawn_blocking({
            let path = path.clone();
            move || documents.seek(&path)
        });
        tokio::spawn(async move {
            // What was not found stays touched.
            let _not_searched = search.await;
            let _engine_gone = inbox.send(Input::Searched(searched));
        });
    }

    /// A search has ended: what was held back for it goes on.
    pub(super) async fn searched(&mut self, path: WorkspacePath) {
        let Some(Meanwhile { changed, saved }) = self.searching.remove(&path) else { return };
        if changed {
            self.search(&path);
        }
        if let Some(again) = self.searching.get_mut(&path) {
            again.saved |= saved;
            return;
        }
        let paths = [path];
        self.look_at(&paths).await;
        for id in self.order.clone() {
            let Some(case) = self.cases.get(&id) else { continue };
            if case.changes.iter().any(|change| paths.contains(&change.path)) {
                self.advance(&id).await;
            }
        }
        if saved {
            self.saved(&paths).await;
        }
    }

    async fn look_at(&mut self, paths: &[WorkspacePath]) {
        for id in self.order.clone() {
            let Some(case) = self.cases.get_mut(&id) else { continue };
            let own: Vec<WorkspacePath> =
                paths.iter().filter(|path| case.changes.iter().any(|change| &change.path == *path)).cloned().collect();
            if own.is_empty() {
                continue;
            }
            let pending = case.pending();
            case.stale.add(Stale::paths(own));
            self.refresh_hunks(&id).await;
            if self.cases.get(&id).is_some_and(|case| case.pending() < pending) {
                self.advance(&id).await;
            }
        }
    }

    /// An editor saved files: an act of a person. A task of theirs that waits for nothing else there is judged and ends,
    /// also where nobody has it carried on in this process.
    pub(super) async fn saved(&mut self, paths: &[WorkspacePath]) {
        self.changed(paths).await;
        for path in paths {
            if let Some(meanwhile) = self.searching.get_mut(path) {
                meanwhile.saved = true;
            }
        }
        // A plan that a person saved is what they mean: whoever looks now sees that revision. And where it says again
        // what was approved, nothing else would come to have the task go on.
        let edited: Vec<TaskId> = self.documents_of(paths).cloned().collect();
        for id in edited {
            self.read_page(&id).await;
            self.advance(&id).await;
        }
        for id in self.order.clone() {
            let Some(case) = self.cases.get(&id).filter(|case| !case.task.is_over()) else { continue };
            let settled = |hunk: &ReviewHunk| paths.contains(&hunk.path) && !hunk.pending;
            if case.hunks.iter().any(settled) {
                self.drive(&id, Drive::Judged);
                self.advance(&id).await;
            }
        }
    }

    /// Has the documents carry the spots of what is proposed for them.
    pub(super) fn watch_documents(&mut self) {
        let open: BTreeSet<WorkspacePath> = self.world.documents.paths().into_iter().collect();
        let closed: Vec<WorkspacePath> = self.watched.keys().filter(|path| !open.contains(*path)).cloned().collect();
        closed.iter().for_each(|path| self.unwatch(path));
        for path in open {
            let of_tasks = self.order.iter().filter_map(|id| self.cases.get(id)).filter(|case| !case.task.is_over());
            let changes: Vec<Arc<FileChange>> =
                of_tasks.flat_map(|case| case.changes.iter()).filter(|change| change.path == path).cloned().collect();
            if self.watched.get(&path).is_none_or(|watched| !same(watched, &changes)) {
                self.world.documents.watch(&path, &changes);
                self.watched.insert(path, changes);
            }
        }
    }

    /// What a document carries is told to it anew, if it is still open; a closed one carries nothing.
    fn unwatch(&mut self, path: &WorkspacePath) {
        let documents = &self.world.documents;
        if self.watched.remove(path).is_some() && documents.newest(path).is_none() {
            documents.watch(path, &[]);
        }
    }

    fn look_again(&mut self) {
        let due = self.world.clock.now().0.saturating_add(i64::try_from(SECOND_LOOK.as_millis()).unwrap_or(0));
        self.wake_at(Time(due));
    }
}

/// Tells of documents that changed, in reports of a moment each.
pub(super) fn follow(documents: &dyn Documents, clock: Arc<dyn Clock>, tell: impl Fn(Input) -> bool + Send + 'static) {
    let (told, mut events) = mpsc::unbounded_channel::<(WorkspacePath, bool)>();
    documents.listen(Arc::new(move |_, event: &DocumentEvent| {
        let path = event.path();
        let saved = matches!(event, DocumentEvent::Saved { .. });
        // What is typed into a task's own pages is read when it is saved, or when somebody acts on the task.
        if saved || !path.as_str().starts_with(".planwright/") {
            let _engine_gone = told.send((path.clone(), saved));
        }
    }));
    tokio::spawn(async move {
        while let Some(first) = events.recv().await {
            clock.sleep(QUIET).await;
            let mut paths = BTreeSet::from([first]);
            while let Ok(more) = events.try_recv() {
                paths.insert(more);
            }
            let (saved, changed): (Vec<_>, Vec<_>) = paths.into_iter().partition(|(_, saved)| *saved);
            let named = |paths: Vec<(WorkspacePath, bool)>| paths.into_iter().map(|(path, _)| path).collect::<Vec<_>>();
            for (paths, told) in
                [(named(changed), Input::Changed as fn(Vec<WorkspacePath>) -> Input), (named(saved), Input::Saved)]
            {
                if !paths.is_empty() && !tell(told(paths)) {
                    return;
                }
            }
        }
    });
}

fn same(some: &[Arc<FileChange>], others: &[Arc<FileChange>]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| Arc::ptr_eq(one, other))
}

/// One file's hunks: those of the change in force, and accepted ones of changes no longer in force. Those are judged by
/// their own change; the one in force was made for a text that has them already.
async fn look(world: &World, case: &Case, changes: &[Arc<FileChange>]) -> Vec<ReviewHunk> {
    let mut hunks: Vec<ReviewHunk> = Vec::new();
    for change in changes {
        // A file that cannot be read any more shows its hunks as touched by what the reader says.
        let sight = sight::see(world, change).await.unwrap_or_else(|_| Sight::of_nothing(change));
        for hunk in review_hunks(&case.task, change, &sight) {
            if !hunks.iter().any(|listed| listed.id == hunk.id) {
                hunks.push(hunk);
            }
        }
    }
    hunks
}

/// A hunk of a change no longer in force is shown as long as it was accepted and its text stands.
fn stays(hunk: &ReviewHunk, in_force: Option<&Arc<FileChange>>) -> bool {
    let in_force = in_force.is_some_and(|change| change.hunk(&hunk.id).is_some());
    in_force || (hunk.state == HunkState::Accepted && matches!(hunk.decision, Some((Decision::Accept, _))))
}

/// A file's hunks with what its text says of them.
fn review_hunks(task: &Task, change: &FileChange, sight: &Sight) -> Vec<ReviewHunk> {
    let here = sight.current.text();
    let mut ruler = Ruler { text: here, at: 0, line: 1 };
    let seen = sight.hunks.iter().filter_map(|Seen { standing, on_disk }| {
        let hunk = change.hunk(&standing.id)?;
        let (old, new) = (change.old_text(hunk).to_owned(), change.new_text(hunk).to_owned());
        let shown = settle::shown(standing.touching.as_deref().unwrap_or(&old), &new);
        let mut seen = ReviewHunk {
            id: hunk.id.clone(),
            step: hunk.author.clone(),
            path: change.path.clone(),
            kind: kind(hunk).to_owned(),
            line: ruler.line_at(standing.range.start),
            context: around(here, &standing.range),
            touching: standing.touching.clone(),
            exact: standing.exact,
            state: standing.state,
            on_disk: *on_disk,
            pending: false,
            decision: None,
            flags: hunk.flags.clone(),
            verdict: String::new(),
            old,
            new,
            shown,
        };
        reword(&mut seen, task);
        Some(seen)
    });
    seen.collect()
}

/// What is said of a hunk beside its text.
fn reword(hunk: &mut ReviewHunk, task: &Task) {
    let decided = task.decisions.get(&hunk.id);
    hunk.pending = is_pending(hunk.state, hunk.on_disk, decided);
    hunk.decision = decided.map(|decided| (decided.decision.clone(), decided.by.clone()));
    hunk.verdict = verdict(task, &hunk.step);
}

fn kind(hunk: &Hunk) -> &'static str {
    match hunk.kind {
        HunkKind::Lines { .. } => "lines",
        HunkKind::Create => "create",
        HunkKind::Delete => "delete",
        HunkKind::Mode => "mode",
    }
}

/// Invariant 6: open or touched and not rejected, accepted and not on disk. What was rejected and taken out again waits
/// for the disk, too; what was rejected and stands there all the same waits for somebody to see it.
fn is_pending(state: HunkState, on_disk: bool, decided: Option<&Decided>) -> bool {
    let rejected = decided.is_some_and(|decided| matches!(decided.decision, Decision::Reject(_)));
    match state {
        HunkState::Open => !rejected || !on_disk,
        HunkState::Touched => !rejected,
        HunkState::Accepted => !on_disk || rejected,
    }
}

/// Counts lines on from the place that was asked for last: a long text has many hunks, in order but for touched ones.
struct Ruler<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Ruler<'_> {
    /// 1-based.
    fn line_at(&mut self, byte: usize) -> u32 {
        let ended = |range: std::ops::Range<usize>| self.text.get(range).map_or(0, |part| part.matches('\n').count());
        self.line = if byte < self.at { 1 + ended(0..byte) } else { self.line + ended(self.at..byte) };
        self.at = byte;
        u32::try_from(self.line).unwrap_or(u32::MAX)
    }
}

fn around(text: &str, range: &std::ops::Range<usize>) -> (String, String) {
    let head = text.get(..range.start).unwrap_or_default();
    let tail = text.get(range.end..).unwrap_or_default();
    // Only the lines shown are walked: a file has many hunks and many lines.
    let whole = head.strip_suffix('\n').unwrap_or(head);
    let from = whole.rmatch_indices('\n').nth(CONTEXT - 1).map_or(0, |(at, _)| at + 1);
    (head.get(from..).unwrap_or_default().to_owned(), tail.split_inclusive('\n').take(CONTEXT).collect())
}

/// What the verifier says of a step's work, in a few words.
fn verdict(task: &Task, step: &StepId) -> String {
    let own = task.judgements.iter().filter(|judgement| judgement.work == Work::Step(step.clone()));
    let all: Vec<String> = own
        .map(|judgement| {
            let how = facts::beside(judgement.rung, judgement.remark.as_deref());
            let how = how.map(|how| format!(" ({how})")).unwrap_or_default();
            let check = super::checks::name(&judgement.check);
            match &judgement.verdict {
                Verdict::Passed => format!("{check} passes{how}"),
                Verdict::Failed { why } => format!("{check} fails{how}: {why}"),
                Verdict::NotJudged { why } => format!("{check} not judged{how}: {why}"),
            }
        })
        .collect();
    if all.is_empty() { "not judged".to_owned() } else { all.join("; ") }
}
