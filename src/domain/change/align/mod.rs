//! Where the lines of a change stand in a text that may have gone on.
//!
//! The change is a graph: shared lines (a *gap*), then the old or the new lines of a hunk, then the next gap. The
//! wanted thing is the path through it that is nearest to the text, in lines added and taken away. A text that is
//! some subset of the hunks has a path at distance 0, so such texts are read exactly.
//!
//! Lines of gaps that occur once in the graph and once in the text cut the problem into small ones; each is solved by
//! a shortest-path search that walks equal lines for nothing. Braces and blank lines are never cuts, so they cannot
//! pull a hunk to a wrong place (a plain diff misplaced 2 of 97,000 on realistic lines).
//!
//! **Invariant:** ranges come back in order and clean ones do not overlap. Absent: bytes, and what a state means.

mod search;

use super::hunks::Numbers;
use search::search;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Which of a hunk's texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Side {
    Old,
    New,
}

/// Where one hunk stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    /// Whose lines stand there, all of them and nothing between; `None` if neither's.
    pub clean: Option<Side>,
    /// Lines of the text.
    pub lines: Range<usize>,
}

/// The change as lines: `gaps` is one longer than `hunks`.
pub(super) struct Graph<'a> {
    pub gaps: Vec<&'a [&'a str]>,
    /// Old and new lines.
    pub hunks: Vec<(&'a [&'a str], &'a [&'a str])>,
}

/// Search steps for one text; beyond them a hunk is called clean only where its text stands once. Keeps
/// the worst text of 10,000 lines at some tens of milliseconds.
const STEPS: usize = 100_000;

/// Letters of a line that nobody writes twice by chance.
const LONG: usize = 10;

/// Lines that one line must have changed places with, for it to be the one that was moved.
const CLEARLY: usize = 4;

/// A gap line that stands once on both sides.
#[derive(Clone, Copy)]
struct Anchor {
    gap: usize,
    offset: usize,
    at: usize,
}

/// Places every hunk of the graph in `text`.
pub(super) fn align(graph: &Graph<'_>, text: &[&str]) -> Vec<Placed> {
    let mut numbers = Numbers::default();
    let gaps: Vec<Vec<u32>> = graph.gaps.iter().map(|gap| numbers.of(gap)).collect();
    let hunks: Vec<[Vec<u32>; 2]> = graph.hunks.iter().map(|(old, new)| [numbers.of(old), numbers.of(new)]).collect();
    let here = numbers.of(text);
    let matched = gaps.iter().map(|gap| vec![None; gap.len()]).collect();
    let firm = graph.gaps.iter().map(|gap| gap.iter().map(|line| is_telling(line)).collect()).collect();
    let mut view = View { gaps, hunks, here, matched, firm, sure: HashSet::new(), moved: HashSet::new() };
    let (anchors, moved) = anchors(&view);
    for anchor in &anchors {
        view.set(anchor.gap, anchor.offset, anchor.at);
        if let Some(firm) = view.firm.get_mut(anchor.gap).and_then(|gap| gap.get_mut(anchor.offset)) {
            *firm = true;
        }
    }
    for (gap, offset) in &moved {
        if let Some(firm) = view.firm.get_mut(*gap).and_then(|gap| gap.get_mut(*offset)) {
            *firm = false;
        }
    }
    let places = anchors.iter().map(|anchor| (anchor.gap, anchor.offset));
    view.sure = places.filter(|place| !moved.contains(place)).collect();
    view.moved = moved;
    let mut placed = Vec::with_capacity(view.hunks.len());
    let mut steps = STEPS;
    let ends = anchors.iter().copied().map(Some).chain([None]);
    let mut from: Option<Anchor> = None;
    for to in ends {
        let first = from.map_or((0, 0), |anchor| (anchor.gap, anchor.offset + 1));
        let last_gap = view.gaps.len().saturating_sub(1);
        let last = to.map_or((last_gap, view.gaps.last().map_or(0, Vec::len)), |anchor| (anchor.gap, anchor.offset));
        let lines = from.map_or(0, |anchor| anchor.at + 1)..to.map_or(view.here.len(), |anchor| anchor.at);
        if first.0 < last.0 {
            placed.extend(piece(&mut view, text, first, last, lines, &mut steps));
        }
        from = to;
    }
    placed
}

/// Everything as numbers, and the text line each gap line was matched with.
struct View {
    gaps: Vec<Vec<u32>>,
    hunks: Vec<[Vec<u32>; 2]>,
    here: Vec<u32>,
    matched: Vec<Vec<Option<usize>>>,
    /// Gap lines that say where they are: about something, or once-only.
    firm: Vec<Vec<bool>>,
    /// Gap lines that stand once on both sides and were not moved.
    sure: HashSet<(usize, usize)>,
    /// Gap lines and others changed places, and too few to tell which of them were moved.
    moved: HashSet<(usize, usize)>,
}

impl View {
    fn set(&mut self, gap: usize, offset: usize, at: usize) {
        if let Some(slot) = self.matched.get_mut(gap).and_then(|gap| gap.get_mut(offset)) {
            *slot = Some(at);
        }
    }

    fn gap(&self, gap: usize) -> &[u32] {
        self.gaps.get(gap).map_or(&[], Vec::as_slice)
    }

    fn side(&self, hunk: usize, side: Side) -> &[u32] {
        let pair = self.hunks.get(hunk);
        pair.map_or(&[], |[old, new]| match side {
            Side::Old => old,
            Side::New => new,
        })
    }

    fn matches(&self, gap: usize) -> &[Option<usize>] {
        self.matched.get(gap).map_or(&[], Vec::as_slice)
    }
}

/// The longest run of once-only gap lines that stand in the same order on both sides (patience), and those of them of
/// which it is not clear that the others were moved.
fn anchors(view: &View) -> (Vec<Anchor>, HashSet<(usize, usize)>) {
    let mut counts: HashMap<u32, (u32, u32, usize)> = HashMap::new();
    let sides = view.hunks.iter().flat_map(|[old, new]| old.iter().chain(new));
    for number in view.gaps.iter().flatten().chain(sides) {
        counts.entry(*number).or_default().0 += 1;
    }
    for (at, number) in view.here.iter().enumerate() {
        let entry = counts.entry(*number).or_default();
        entry.1 += 1;
        entry.2 = at;
    }
    let mut all: Vec<Anchor> = Vec::new();
    for (gap, numbers) in view.gaps.iter().enumerate() {
        for (offset, number) in numbers.iter().enumerate() {
            if let Some((1, 1, at)) = counts.get(number) {
                all.push(Anchor { gap, offset, at: *at });
            }
        }
    }
    // patience sorting: the last anchor of the best chain of each length, and who stands before whom
    let mut tops: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(all.len());
    for (index, anchor) in all.iter().enumerate() {
        let pile = tops.partition_point(|top| all.get(*top).is_some_and(|other| other.at < anchor.at));
        before.push(pile.checked_sub(1).and_then(|left| tops.get(left)).copied());
        match tops.get_mut(pile) {
            Some(top) => *top = index,
            None => tops.push(index),
        }
    }
    let mut chain = Vec::with_capacity(tops.len());
    let mut at = tops.last().copied();
    while let Some(index) = at {
        chain.extend(all.get(index).map(|anchor| (index, *anchor)));
        at = before.get(index).copied().flatten();
    }
    chain.reverse();
    let mut moved = HashSet::new();
    let mut next = chain.iter().map(|(index, _)| *index).peekable();
    for (index, other) in all.iter().enumerate() {
        if next.next_if_eq(&index).is_some() {
            continue;
        }
        let (above, over) =
            (chain.partition_point(|(at, _)| *at < index), chain.partition_point(|(_, anchor)| anchor.at < other.at));
        let crossed = above.min(over)..above.max(over);
        if crossed.len() < CLEARLY {
            let crossed = chain.get(crossed).into_iter().flatten().map(|(_, anchor)| anchor);
            moved.extend(crossed.filter(|anchor| !in_company(view, anchor)).map(|anchor| (anchor.gap, anchor.offset)));
        }
    }
    (chain.into_iter().map(|(_, anchor)| anchor).collect(), moved)
}

/// A telling line beside it stands beside it here as well: a line that was put somewhere else comes alone.
fn in_company(view: &View, anchor: &Anchor) -> bool {
    let same = |offset: Option<usize>, at: Option<usize>| {
        let (Some(offset), Some(at)) = (offset, at) else { return false };
        let line = view.gap(anchor.gap).get(offset);
        let firm = view.firm.get(anchor.gap).and_then(|gap| gap.get(offset)) == Some(&true);
        firm && line.is_some() && line == view.here.get(at)
    };
    same(anchor.offset.checked_sub(1), anchor.at.checked_sub(1)) || same(Some(anchor.offset + 1), Some(anchor.at + 1))
}

/// Places the hunks between two anchors. `first` and `last` are (gap, offset): the piece's gap lines are those from
/// `first` to before `last`, its text lines are `lines`.
fn piece(
    view: &mut View,
    text: &[&str],
    first: (usize, usize),
    last: (usize, usize),
    lines: Range<usize>,
    steps: &mut usize,
) -> Vec<Placed> {
    let hunks = first.0..last.0;
    let (found, exact) = match search(view, first, last, lines.clone(), steps) {
        Some(found) => {
            for (gap, offset, at) in &found.gaps {
                view.set(*gap, *offset, *at);
            }
            (found.hunks, found.cost == 0)
        }
        None => (vec![None; hunks.len()], false),
    };
    let mut placed: Vec<Placed> = found
        .into_iter()
        .map(|clean| match clean {
            Some((side, lines)) => Placed { clean: Some(side), lines },
            None => Placed { clean: None, lines: 0..0 },
        })
        .collect();
    if exact {
        return placed;
    }
    for (index, hunk) in hunks.clone().enumerate() {
        let region = region(view, &placed, index, hunk, &hunks, &lines);
        let known = |gap: usize, beside: Option<usize>| {
            beside.is_none_or(|other| placed.get(other).is_none_or(|other| other.clean.is_some()))
                || has_match(view, gap)
        };
        // a region that another touched hunk shares says nothing about either
        let alone = known(hunk, index.checked_sub(1)) && known(hunk + 1, Some(index + 1));
        let sure = match placed.get(index) {
            Some(Placed { clean: Some(side), lines }) => supported(view, text, hunk, *side, lines)
                .then(|| Placed { clean: Some(*side), lines: settle(view, hunk, lines.clone()) }),
            _ if alone => fits(view, hunk, &region)
                .filter(|placed| placed.clean.is_some_and(|side| supported(view, text, hunk, side, &placed.lines))),
            _ => None,
        };
        if let Some(slot) = placed.get_mut(index) {
            *slot = sure.unwrap_or(Placed { clean: None, lines: region });
        }
    }
    placed
}

fn has_match(view: &View, gap: usize) -> bool {
    view.matches(gap).iter().any(Option::is_some)
}

/// What stands between the nearest lines that are known: those of gaps and of clean hunks.
fn region(
    view: &View,
    placed: &[Placed],
    index: usize,
    hunk: usize,
    hunks: &Range<usize>,
    lines: &Range<usize>,
) -> Range<usize> {
    let clean = |index: usize| placed.get(index).filter(|placed| placed.clean.is_some()).map(|placed| &placed.lines);
    let above = (hunks.start..=hunk).rev().find_map(|gap| {
        let line = view.matches(gap).iter().rev().flatten().next().map(|at| at + 1);
        line.or_else(|| clean(gap.checked_sub(hunks.start + 1)?).map(|lines| lines.end))
    });
    let below = (hunk + 1..=hunks.end).find_map(|gap| {
        let line = view.matches(gap).iter().flatten().next().copied();
        line.or_else(|| clean(gap - hunks.start).map(|lines| lines.start))
    });
    debug_assert_eq!(hunk, hunks.start + index);
    let start = above.unwrap_or(lines.start).max(lines.start);
    start..below.unwrap_or(lines.end).min(lines.end).max(start)
}

/// A hunk's text at the very start or end of what stands in its region: there the search has only chosen another of
/// several equal lines. The longer text wins, so that a new text that begins with the old one is not taken for it.
fn fits(view: &View, hunk: usize, region: &Range<usize>) -> Option<Placed> {
    let here = view.here.get(region.clone())?;
    let fit = |side: Side| {
        let wanted = view.side(hunk, side);
        let len = wanted.len();
        if wanted.is_empty() || (!here.starts_with(wanted) && !here.ends_with(wanted)) {
            return None;
        }
        let start = if here.starts_with(wanted) { region.start } else { region.end - len };
        Some((len, Placed { clean: Some(side), lines: start..start + len }))
    };
    let (old, new) = (fit(Side::Old), fit(Side::New));
    [old, new].into_iter().flatten().max_by_key(|(len, _)| *len).map(|(_, placed)| placed)
}

/// An empty side has no lines of its own: it stands directly below the line above it, else above the one below.
fn settle(view: &View, hunk: usize, lines: Range<usize>) -> Range<usize> {
    if !lines.is_empty() {
        return lines;
    }
    let above = view.matches(hunk).last().copied().flatten().map(|at| at + 1);
    let below = view.matches(hunk + 1).first().copied().flatten();
    let at = above.or(below).unwrap_or(lines.start);
    at..at
}

/// Whether enough says that the hunk stands there and not at another equal line. A side that says something needs a
/// telling line reached without a break above or below it, the end of the file, or a text of its own that stands once.
/// One without lines, or of braces only, needs both of its neighbours, and from one of them a line that stands once:
/// where the line above is gone, the braces below may be another function's.
fn supported(view: &View, text: &[&str], hunk: usize, side: Side, lines: &Range<usize>) -> bool {
    let lines = settle(view, hunk, lines.clone());
    let own = text.get(lines.clone()).unwrap_or(&[]);
    let mute = !own.iter().any(|line| is_telling(line));
    let (first, last) = (hunk == 0, hunk + 1 == view.hunks.len());
    let ends = (lines.start == 0, lines.end == text.len());
    let (above, below) = (view.matches(hunk).last(), view.matches(hunk + 1).first());
    let (above_at, below_at) = ((hunk, view.gap(hunk).len().saturating_sub(1)), (hunk + 1, 0));
    let there = |line: Option<&Option<usize>>, place, end| match line {
        Some(line) => line.is_some() && !view.moved.contains(&place),
        None => end,
    };
    if mute && !(there(above, above_at, !first || ends.0) && there(below, below_at, !last || ends.1)) {
        return false;
    }
    // lines put in beside it that are its neighbours' equals may be those neighbours
    let from = above.copied().flatten().map_or(0, |at| at + 1);
    let to = below.copied().flatten().unwrap_or(text.len());
    let around = [from..lines.start, lines.end..to];
    // something stands between: then the line above is the one known only if it did not come alone
    let second = view.matches(hunk).iter().rev().nth(1).copied().flatten();
    let alone = above_at.1 > 0 && second.map(|at| at + 2) != Some(from);
    if mute && alone && around.iter().any(|part| !part.is_empty()) {
        return false;
    }
    let equals = |line: &&u32| view.gap(hunk).last() == Some(*line) || view.gap(hunk + 1).first() == Some(*line);
    if mute && around.into_iter().any(|part| view.here.get(part).unwrap_or(&[]).iter().any(|line| equals(&line))) {
        return false;
    }
    // of equal lines at its edge one is missing, and it may be its own
    let wanted = view.side(hunk, side);
    if missing(view, hunk, hunk.checked_sub(1), wanted.first())
        || missing(view, hunk + 1, Some(hunk + 1), wanted.last())
    {
        return false;
    }
    let firm = |gap: usize, offset: usize| {
        let firm = || view.firm.get(gap).and_then(|gap| gap.get(offset)) == Some(&true);
        if mute { view.sure.contains(&(gap, offset)) } else { firm() }
    };
    let up = view.matches(hunk).iter().enumerate().rev();
    let down = view.matches(hunk + 1).iter().enumerate();
    let up = walk(up, lines.start.checked_sub(1), |at| at.checked_sub(1), |offset| firm(hunk, offset));
    let down = walk(down, Some(lines.end), |at| Some(at + 1), |offset| firm(hunk + 1, offset));
    let leads = |walk: Walk, edge: bool, end: Option<usize>| match walk {
        Walk::Firm => true,
        Walk::Broken => false,
        Walk::Through(at) => edge && at == end,
    };
    if leads(up, first, None) || leads(down, last, Some(text.len())) {
        return true;
    }
    let beside = view.sure.contains(&above_at) || view.sure.contains(&below_at);
    let says = !mute && (beside || own.iter().any(|line| letters(line) >= LONG));
    says && view.here.windows(wanted.len()).filter(|window| *window == wanted).count() == 1
}

/// This line is among those of a gap that are missing next to a hunk, or beyond it where all of them are.
fn missing(view: &View, gap: usize, beyond: Option<usize>, line: Option<&u32>) -> bool {
    let Some(line) = line else { return false };
    let above = beyond != Some(gap);
    let lines = view.gap(gap).iter().zip(view.matches(gap));
    let gone = |(_, found): &(&u32, &Option<usize>)| found.is_none();
    let run: Vec<&u32> = if above {
        lines.rev().take_while(gone).map(|(line, _)| line).collect()
    } else {
        lines.take_while(gone).map(|(line, _)| line).collect()
    };
    if run.contains(&line) {
        return true;
    }
    let Some(other) = beyond.filter(|_| run.len() == view.gap(gap).len()) else { return false };
    let far = if above { other } else { other + 1 };
    [view.side(other, Side::Old), view.side(other, Side::New), view.gap(far)].iter().any(|lines| lines.contains(line))
}

/// How a walk from a hunk along lines that stand beside each other ended.
enum Walk {
    /// At a line that says where it is.
    Firm,
    /// At a line that is not there.
    Broken,
    /// Through the whole gap, up to this line of the text.
    Through(Option<usize>),
}

fn walk<'m>(
    gap: impl Iterator<Item = (usize, &'m Option<usize>)>,
    from: Option<usize>,
    next: impl Fn(usize) -> Option<usize>,
    firm: impl Fn(usize) -> bool,
) -> Walk {
    let mut at = from;
    for (offset, found) in gap {
        let Some(here) = at.filter(|here| *found == Some(*here)) else { return Walk::Broken };
        if firm(offset) {
            return Walk::Firm;
        }
        at = next(here);
    }
    Walk::Through(at)
}

/// Enough letters to be about something: no brace, no blank line, no `*/`.
fn is_telling(line: &str) -> bool {
    letters(line) >= 3
}

fn letters(line: &str) -> usize {
    line.chars().filter(|c| c.is_alphanumeric()).count()
}
