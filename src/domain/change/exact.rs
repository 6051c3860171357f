//! Reading a text that is `before` with some of the hunks made.
//!
//! **Invariant:** hunks that are clean already keep state and place; a reading explains every byte of the text.
//! **Absent:** texts in which a person changed anything else (`align`).

use super::carry::{Held, sides};
use super::model::{FileChange, HunkKind, HunkState};
use std::ops::Range;

/// Readings followed at once. More than two need runs of equal lines as long as a hunk.
const ABREAST: usize = 16;

/// A reading that has come so far: where it stands, what it said last, and from which reading it comes.
#[derive(Clone)]
struct Reading {
    at: usize,
    from: usize,
    state: HunkState,
    range: Range<usize>,
}

/// All hunks, if the text can be read so.
pub(super) fn exact(change: &FileChange, text: &str, held: &[Held]) -> Option<Vec<Held>> {
    let before = change.before.text();
    let mut rounds: Vec<Vec<Reading>> = Vec::with_capacity(held.len());
    let mut heads = vec![0_usize];
    let mut gap_start = 0;
    for held in held {
        let HunkKind::Lines { old: place, .. } = &change.hunks.get(held.hunk)?.kind else { return None };
        let gap = before.get(gap_start..place.start)?;
        gap_start = place.end;
        let (old, new) = sides(change, held);
        let known = (held.state != HunkState::Touched).then_some((held.state, held.range.start));
        let mut round: Vec<Reading> = Vec::new();
        for (from, head) in heads.iter().enumerate() {
            let at = head + gap.len();
            if text.get(*head..at) != Some(gap) {
                continue;
            }
            for (state, side) in [(HunkState::Open, old), (HunkState::Accepted, new)] {
                let range = at..at + side.len();
                let fits = known.is_none_or(|known| known == (state, at)) && text.get(range.clone()) == Some(side);
                if fits && round.len() < ABREAST && round.iter().all(|other| other.at != range.end) {
                    round.push(Reading { at: range.end, from, state, range });
                }
            }
        }
        heads = round.iter().map(|reading| reading.at).collect();
        rounds.push(round);
        if heads.is_empty() {
            return None;
        }
    }
    let rest = before.get(gap_start..)?;
    let mut reading = heads.iter().position(|head| text.get(*head..) == Some(rest))?;
    let mut found = Vec::with_capacity(held.len());
    for (held, round) in held.iter().zip(&rounds).rev() {
        let Reading { from, state, range, .. } = round.get(reading)?.clone();
        found.push(Held { hunk: held.hunk, range, state, loose: false, bare: false, last: Some(state) });
        reading = from;
    }
    found.reverse();
    Some(found)
}
