//! The shortest path through a piece of the graph.
//!
//! Invariant: the path reads the piece's text lines exactly, and no path has fewer edits. Absent: whether what it
//! says about a hunk can be relied on.

use super::{Side, View};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

/// One edit. The lower bits rank paths of the same length: an added line belongs outside a hunk if it can, a missing
/// one inside.
const EDIT: u64 = 1 << 20;

/// What a path says.
pub(super) struct Found {
    /// 0 = the text is one of the graph's own.
    pub cost: u64,
    /// Gap, offset in it, line of the text.
    pub gaps: Vec<(usize, usize, usize)>,
    /// Of each hunk of the piece: the side that stands there whole.
    pub hunks: Vec<Option<(Side, Range<usize>)>>,
}

/// A part of the graph: a gap, or a side of the hunk below it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Gap(usize),
    Hunk(usize, Side),
}

/// A point reached: `offset` lines of the part are done and the text is read up to `at`; before the run of equal
/// lines that led here they were `ran` less.
struct Node {
    part: Part,
    offset: usize,
    at: usize,
    ran: usize,
    parent: Option<usize>,
}

/// The cheapest path from `first` to `last` that reads the lines exactly; `None` when the steps are used up.
pub(super) fn search(
    view: &View,
    first: (usize, usize),
    last: (usize, usize),
    lines: Range<usize>,
    steps: &mut usize,
) -> Option<Found> {
    let here = view.here.get(..lines.end)?;
    let part_lines = |part: Part| match part {
        Part::Gap(gap) if gap == last.0 => view.gap(gap).get(..last.1).unwrap_or(&[]),
        Part::Gap(gap) => view.gap(gap),
        Part::Hunk(hunk, side) => view.side(hunk, side),
    };
    let mut nodes: Vec<Node> = Vec::new();
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    // the furthest point of a diagonal is at least as good as any before it
    let mut furthest: HashMap<(Part, usize), usize> = HashMap::new();
    let reach = |nodes: &mut Vec<Node>, heap: &mut BinaryHeap<_>, cost: u64, part, offset, at, parent| {
        let rest = part_lines(part).get(offset..).unwrap_or(&[]);
        let ran = rest.iter().zip(here.get(at..).unwrap_or(&[])).take_while(|(a, b)| a == b).count();
        let (offset, at) = (offset + ran, at + ran);
        nodes.push(Node { part, offset, at, ran, parent });
        heap.push(Reverse((cost, nodes.len() - 1)));
    };
    reach(&mut nodes, &mut heap, 0, Part::Gap(first.0), first.1, lines.start, None);
    let end = loop {
        let Reverse((cost, index)) = heap.pop()?;
        *steps = steps.checked_sub(1)?;
        let Some(&Node { part, offset, at, .. }) = nodes.get(index) else { continue };
        let whole = part_lines(part).len();
        if part == Part::Gap(last.0) && offset == whole && at == lines.end {
            break (cost, index);
        }
        // `offset - at`, kept positive
        let diagonal = offset + lines.end - at;
        match furthest.get(&(part, diagonal)) {
            Some(seen) if *seen >= offset => continue,
            _ => furthest.insert((part, diagonal), offset),
        };
        let (missing, added) = match part {
            Part::Gap(_) => (EDIT + 1, EDIT + 1),
            Part::Hunk(..) => (EDIT, EDIT + 2),
        };
        if offset == whole {
            match part {
                Part::Gap(gap) if gap < last.0 => {
                    reach(&mut nodes, &mut heap, cost, Part::Hunk(gap, Side::Old), 0, at, Some(index));
                    reach(&mut nodes, &mut heap, cost, Part::Hunk(gap, Side::New), 0, at, Some(index));
                }
                Part::Gap(_) => {}
                Part::Hunk(hunk, _) => reach(&mut nodes, &mut heap, cost, Part::Gap(hunk + 1), 0, at, Some(index)),
            }
        } else {
            reach(&mut nodes, &mut heap, cost + missing, part, offset + 1, at, Some(index));
        }
        if at < lines.end {
            reach(&mut nodes, &mut heap, cost + added, part, offset, at + 1, Some(index));
        }
    };
    Some(trace(view, &nodes, end, first.0..last.0))
}

/// Reads the path back from its end.
fn trace(view: &View, nodes: &[Node], (cost, end): (u64, usize), hunks: Range<usize>) -> Found {
    let mut gaps = Vec::new();
    let mut passed: Vec<Option<Passed>> = vec![None; hunks.len()];
    let mut at = Some(end);
    while let Some(node) = at.and_then(|index| nodes.get(index)) {
        let run = node.at - node.ran..node.at;
        match node.part {
            Part::Gap(gap) => {
                gaps.extend(run.clone().enumerate().map(|(k, at)| (gap, node.offset - node.ran + k, at)));
            }
            Part::Hunk(hunk, side) => {
                if let Some(slot) = passed.get_mut(hunk - hunks.start) {
                    let passed = slot.get_or_insert(Passed { side, equal: 0, lines: run.end..run.end });
                    if passed.equal == 0 {
                        passed.lines.end = run.end;
                    }
                    if node.ran > 0 || passed.equal == 0 {
                        passed.lines.start = run.start;
                    }
                    passed.equal += node.ran;
                }
            }
        }
        at = node.parent;
    }
    let hunks = passed
        .into_iter()
        .zip(hunks)
        .map(|(passed, hunk)| {
            let Passed { side, equal, lines } = passed?;
            let whole = view.side(hunk, side).len();
            (equal == whole && lines.len() == whole).then_some((side, lines))
        })
        .collect();
    Found { cost, gaps, hunks }
}

/// How a path went through a hunk: which side, how many of its lines were equal, and from where to where they stand.
#[derive(Clone)]
struct Passed {
    side: Side,
    equal: usize,
    lines: Range<usize>,
}
