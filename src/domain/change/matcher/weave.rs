//! Putting new lines into old ones so that every byte that may stay stays.
//!
//! Invariant: the result with LF endings is the new text. Absent: deciding what the new text is.

use crate::domain::change::hunks::changes;
use crate::domain::text::{Ending, body, lines};

/// The new text (LF endings) in place of `old`: an equal line keeps its bytes, a new one gets the ending of the line
/// it replaces, else of the one above, else `usual`.
pub(super) fn weave(old: &str, new: &str, usual: Ending) -> String {
    let (old, new) = (lines(old), lines(new));
    let old_bodies: Vec<&str> = old.iter().map(|line| body(line)).collect();
    let new_bodies: Vec<&str> = new.iter().map(|line| line.strip_suffix('\n').unwrap_or(line)).collect();
    let mut partner: Vec<Option<usize>> = vec![None; new.len()];
    let (mut at_old, mut at_new) = (0, 0);
    for run in changes(&old_bodies, &new_bodies) {
        pair_up(&mut partner, at_new..run.new.start, at_old);
        pair_up(&mut partner, run.new.start..run.new.end.min(run.new.start + run.old.len()), run.old.start);
        (at_old, at_new) = (run.old.end, run.new.end);
    }
    pair_up(&mut partner, at_new..new.len(), at_old);
    let mut out = String::new();
    let mut above = None;
    for ((line, body), partner) in new.iter().zip(&new_bodies).zip(partner) {
        out.push_str(body);
        if line.ends_with('\n') {
            let own = partner.and_then(|index| old.get(index)).and_then(|line| Ending::of(line));
            let ending = own.or(above).unwrap_or(usual);
            out.push_str(ending.as_str());
            above = Some(ending);
        }
    }
    out
}

fn pair_up(partner: &mut [Option<usize>], new: std::ops::Range<usize>, old: usize) {
    for (offset, slot) in partner.get_mut(new).into_iter().flatten().enumerate() {
        *slot = Some(old + offset);
    }
}
