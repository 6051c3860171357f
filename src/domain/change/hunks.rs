//! From two entries to hunks.
//!
//! Invariant: the hunks of a change, all applied to `before`, give `after` byte for byte; between two hunks of a file
//! stand at least three lines that both sides share, so that a hunk can be found by what is around it; but for doubtful
//! lines and the comment that asked (`aside`), which a person decides on by themselves.
//! Absent: where a hunk stands in the user's text of the moment (`spot`).

use super::aside::Aside;
use super::model::{Entry, FileChange, Flag, Hunk, HunkKind};
use crate::domain::ids::{HunkId, StepId, WorkspacePath};
use crate::domain::text::lines;
use similar::{Algorithm, DiffTag, capture_diff_slices};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Changed runs with at most so many shared lines between them are one hunk: a person decides on them together.
pub const NEAR: usize = 2;

/// Whose hunk the removal of the comment is that asked for the task. No step can be called so: a step's id is one word.
pub const GOAL: &str = "the goal";

/// The change of one path.
///
/// An unchanged hunk of `earlier` (the same id, so the same texts) keeps its author and flags; all others are
/// `author`'s.
pub fn file_change(
    path: WorkspacePath,
    before: &Entry,
    after: &Entry,
    author: &StepId,
    earlier: Option<&FileChange>,
) -> FileChange {
    file_change_apart(path, before, after, author, earlier, &[])
}

/// The same, with doubtful lines as hunks of their own (I2): `doubts` are 0-based lines of `after`, each with its
/// reason. Only runs that replace line by line can be taken apart; in others the whole hunk is doubtful.
pub fn file_change_apart(
    path: WorkspacePath,
    before: &Entry,
    after: &Entry,
    author: &StepId,
    earlier: Option<&FileChange>,
    doubts: &[(u32, String)],
) -> FileChange {
    let mut doubts = doubts.to_vec();
    doubts.extend(earlier.map(|earlier| carried(earlier, after)).unwrap_or_default());
    let doubts = doubts.as_slice();
    let kinds = match (before, after) {
        (Entry::Absent, Entry::Absent) => Vec::new(),
        (Entry::Absent, Entry::File { .. }) => vec![HunkKind::Create],
        (Entry::File { .. }, Entry::Absent) => vec![HunkKind::Delete],
        (Entry::File { text: old, mode: was }, Entry::File { text: new, mode: is }) => {
            let mut kinds = apart(line_hunks(old, new, earlier), old, new, doubts);
            if was != is {
                kinds.push(HunkKind::Mode);
            }
            kinds
        }
    };
    let mut names = Names::default();
    let hunks = kinds
        .into_iter()
        .map(|kind| {
            let id = names.name(&path, before, after, &kind);
            let kept = earlier.and_then(|change| change.hunks.iter().find(|hunk| hunk.id == id));
            let author = kept.map_or_else(|| author.clone(), |hunk| hunk.author.clone());
            let flags = match kept {
                Some(hunk) => hunk.flags.clone(),
                None => doubted(&kind, after, doubts).into_iter().map(Flag::Uncertain).collect(),
            };
            Hunk { id, author, kind, flags }
        })
        .collect();
    FileChange { path, before: before.clone(), after: after.clone(), hunks }
}

impl FileChange {
    /// What a hunk replaces: whole lines, the whole text of a deleted file, nothing for a creation or a mode.
    pub fn old_text(&self, hunk: &Hunk) -> &str {
        match &hunk.kind {
            HunkKind::Lines { old, .. } => self.before.text().get(old.clone()).unwrap_or(""),
            HunkKind::Delete => self.before.text(),
            HunkKind::Create | HunkKind::Mode => "",
        }
    }

    /// What it puts there.
    pub fn new_text(&self, hunk: &Hunk) -> &str {
        match &hunk.kind {
            HunkKind::Lines { new, .. } => self.after.text().get(new.clone()).unwrap_or(""),
            HunkKind::Create => self.after.text(),
            HunkKind::Delete | HunkKind::Mode => "",
        }
    }

    /// The change as an editor shows it that leaves out the byte order mark at the head of a file; `None` where there is
    /// nothing to leave out or the text shows it.
    pub fn as_shown(&self, text: &str) -> Option<FileChange> {
        const MARK: char = '\u{feff}';
        if text.starts_with(MARK) || !(self.before.text().starts_with(MARK) || self.after.text().starts_with(MARK)) {
            return None;
        }
        let (was, is) = (self.before.text().starts_with(MARK), self.after.text().starts_with(MARK));
        let bare = |entry: &Entry| match entry {
            Entry::Absent => Entry::Absent,
            Entry::File { text, mode } => {
                Entry::File { text: text.strip_prefix(MARK).unwrap_or(text).into(), mode: *mode }
            }
        };
        let less = |range: &Range<usize>, marked: bool| {
            let by = if marked { MARK.len_utf8() } else { 0 };
            range.start.saturating_sub(by)..range.end.saturating_sub(by)
        };
        let hunks = self.hunks.iter().cloned().map(|mut hunk| {
            if let HunkKind::Lines { old, new, .. } = &mut hunk.kind {
                (*old, *new) = (less(old, was), less(new, is));
            }
            hunk
        });
        let hunks = hunks.collect();
        Some(FileChange { path: self.path.clone(), before: bare(&self.before), after: bare(&self.after), hunks })
    }

    /// The hunk of that id.
    pub fn hunk(&self, id: &HunkId) -> Option<&Hunk> {
        self.hunks.iter().find(|hunk| hunk.id == *id)
    }
}

/// Makes ids of one file: the same texts again get the next occurrence number, and a clash of two different
/// changes in 32 bits the next salt.
#[derive(Default)]
struct Names {
    seen: HashMap<blake3::Hash, u32>,
    taken: BTreeSet<String>,
}

impl Names {
    fn name(&mut self, path: &WorkspacePath, before: &Entry, after: &Entry, kind: &HunkKind) -> HunkId {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(bytes);
        };
        part(path.as_str().as_bytes());
        match kind {
            HunkKind::Lines { old, new, .. } => {
                part(b"lines");
                part(before.text().get(old.clone()).unwrap_or("").as_bytes());
                part(after.text().get(new.clone()).unwrap_or("").as_bytes());
            }
            HunkKind::Create => {
                part(b"create");
                part(after.text().as_bytes());
            }
            HunkKind::Delete => {
                part(b"delete");
                part(before.text().as_bytes());
            }
            HunkKind::Mode => {
                part(b"mode");
                part(&mode(before).to_le_bytes());
                part(&mode(after).to_le_bytes());
            }
        }
        let occurrence = self.seen.entry(hasher.finalize()).or_insert(0);
        hasher.update(&occurrence.to_le_bytes());
        *occurrence += 1;
        loop {
            let hex: String = hasher.finalize().to_hex().chars().take(8).collect();
            if self.taken.insert(hex.clone()) {
                return HunkId::new(format!("h{hex}"));
            }
            hasher.update(b"again");
        }
    }
}

fn mode(entry: &Entry) -> u32 {
    match entry {
        Entry::Absent => 0,
        Entry::File { mode, .. } => *mode,
    }
}

fn line_hunks(old: &str, new: &str, earlier: Option<&FileChange>) -> Vec<HunkKind> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let old_starts = starts(&old_lines);
    let new_starts = starts(&new_lines);
    let bytes = |starts: &[usize], range: &Range<usize>| {
        let at = |line: usize| starts.get(line).copied().unwrap_or(0);
        at(range.start)..at(range.end)
    };
    let aside = earlier.and_then(|earlier| Aside::find(earlier, old)?.runs(&old_lines, &new_lines));
    aside
        .unwrap_or_else(|| joined(changes(&old_lines, &new_lines)))
        .into_iter()
        .map(|changed| HunkKind::Lines {
            old: bytes(&old_starts, &changed.old),
            new: bytes(&new_starts, &changed.new),
            old_line: u32::try_from(changed.old.start).unwrap_or(u32::MAX),
            new_line: u32::try_from(changed.new.start).unwrap_or(u32::MAX),
        })
        .collect()
}

/// Runs that lie near each other as one.
pub(super) fn joined(runs: Vec<Changed>) -> Vec<Changed> {
    let mut joined: Vec<Changed> = Vec::new();
    for changed in runs {
        match joined.last_mut() {
            Some(last) if changed.old.start - last.old.end <= NEAR => {
                last.old.end = changed.old.end;
                last.new.end = changed.new.end;
            }
            _ => joined.push(changed),
        }
    }
    joined
}

/// Takes doubtful lines out of runs that replace line by line.
fn apart(kinds: Vec<HunkKind>, old_text: &str, new_text: &str, doubts: &[(u32, String)]) -> Vec<HunkKind> {
    if doubts.is_empty() {
        return kinds;
    }
    let mut out = Vec::new();
    for kind in kinds {
        let HunkKind::Lines { old, new, old_line, new_line } = &kind else {
            out.push(kind);
            continue;
        };
        let olds = lines(old_text.get(old.clone()).unwrap_or(""));
        let news = lines(new_text.get(new.clone()).unwrap_or(""));
        let is_doubtful = |at: u32| doubts.iter().any(|(line, _)| *line == new_line.saturating_add(at));
        if olds.len() != news.len() || !(0..).zip(&news).any(|(at, _)| is_doubtful(at)) {
            out.push(kind);
            continue;
        }
        let (mut old_at, mut new_at) = (old.start, new.start);
        let mut open: Option<(bool, HunkKind)> = None;
        for (at, (was, is)) in (0u32..).zip(olds.iter().zip(&news)) {
            let (old_end, new_end) = (old_at + was.len(), new_at + is.len());
            if was == is {
                out.extend(open.take().map(|(_, kind)| kind));
            } else {
                let doubtful = is_doubtful(at);
                match &mut open {
                    Some((same, HunkKind::Lines { old, new, .. })) if *same == doubtful => {
                        old.end = old_end;
                        new.end = new_end;
                    }
                    _ => {
                        out.extend(open.take().map(|(_, kind)| kind));
                        open = Some((
                            doubtful,
                            HunkKind::Lines {
                                old: old_at..old_end,
                                new: new_at..new_end,
                                old_line: old_line.saturating_add(at),
                                new_line: new_line.saturating_add(at),
                            },
                        ));
                    }
                }
            }
            (old_at, new_at) = (old_end, new_end);
        }
        out.extend(open.map(|(_, kind)| kind));
    }
    out
}

/// Doubtful lines of an earlier step's change, as lines of a later one that builds on it: a doubt stays with its line
/// until a person decides, whatever is changed around it.
fn carried(earlier: &FileChange, after: &Entry) -> Vec<(u32, String)> {
    let runs = changes(&lines(earlier.after.text()), &lines(after.text()));
    let moved = |line: usize| match runs.iter().take_while(|run| run.old.start <= line).last() {
        None => Some(line),
        // The line itself was changed again: the doubt is the run's, if anything is left of it.
        Some(run) if run.old.contains(&line) => (!run.new.is_empty()).then_some(run.new.start),
        Some(run) => Some(line.saturating_sub(run.old.end) + run.new.end),
    };
    let mut doubts = Vec::new();
    for hunk in &earlier.hunks {
        let HunkKind::Lines { new, new_line, .. } = &hunk.kind else { continue };
        let count = lines(earlier.after.text().get(new.clone()).unwrap_or("")).len();
        let first = usize::try_from(*new_line).unwrap_or(usize::MAX);
        for why in hunk.flags.iter().filter_map(|flag| if let Flag::Uncertain(why) = flag { Some(why) } else { None }) {
            let lines = (first..first.saturating_add(count)).filter_map(moved);
            doubts.extend(lines.map(|line| (u32::try_from(line).unwrap_or(u32::MAX), why.clone())));
        }
    }
    doubts
}

/// Why a hunk is doubtful, if one of its lines is.
fn doubted(kind: &HunkKind, after: &Entry, doubts: &[(u32, String)]) -> Option<String> {
    let HunkKind::Lines { new, new_line, .. } = kind else { return None };
    let count = lines(after.text().get(new.clone()).unwrap_or("")).len();
    let end = new_line.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    let mut reasons: Vec<&str> =
        doubts.iter().filter(|(line, _)| (*new_line..end).contains(line)).map(|(_, why)| why.as_str()).collect();
    reasons.dedup();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// First bytes of the lines, and the end of the last.
fn starts(lines: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let mut out = Vec::with_capacity(lines.len() + 1);
    out.push(0);
    for line in lines {
        at += line.len();
        out.push(at);
    }
    out
}

/// A run of lines that differ: which of the old, which of the new.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Changed {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// The runs that differ, in order. Lines are compared as numbers, and what both ends share is left out first: a
/// keystroke in a long file costs two passes over it, whatever the algorithm does with the rest.
pub(super) fn changes(old: &[&str], new: &[&str]) -> Vec<Changed> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old.iter().skip(head).rev().zip(new.iter().skip(head).rev()).take_while(|(a, b)| a == b).count();
    let middle_old = old.get(head..old.len() - tail).unwrap_or(&[]);
    let middle_new = new.get(head..new.len() - tail).unwrap_or(&[]);
    let mut numbers = Numbers::default();
    let a = numbers.of(middle_old);
    let b = numbers.of(middle_new);
    let mut out: Vec<Changed> = Vec::new();
    // Histogram: like patience it aligns by rare lines, so that braces and blank lines do not pull hunks about
    for op in capture_diff_slices(Algorithm::Histogram, &a, &b) {
        let (tag, old, new) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            continue;
        }
        let old = old.start + head..old.end + head;
        let new = new.start + head..new.end + head;
        match out.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                last.old.end = old.end;
                last.new.end = new.end;
            }
            _ => out.push(Changed { old, new }),
        }
    }
    out
}

/// The same line, the same number.
#[derive(Default)]
pub(super) struct Numbers<'a>(HashMap<&'a str, u32>);

impl<'a> Numbers<'a> {
    pub(super) fn of(&mut self, lines: &[&'a str]) -> Vec<u32> {
        lines
            .iter()
            .map(|line| {
                let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
                *self.0.entry(line).or_insert(next)
            })
            .collect()
    }
}
