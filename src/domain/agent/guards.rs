//! What stops a loop that goes nowhere: repetition, silence, answers cut by length.
//!
//! Invariant: a guard only counts; the same history gives the same counts. Absent: turns and tokens, which are bounds
//! of the machine itself.

use crate::domain::ids::ContentHash;
use std::collections::BTreeMap;

/// The same call with the same result so often ends the attempt (B9).
pub const REPEATS: u32 = 3;

/// Counts calls with their results, in a row or in alternation.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    changes: BTreeMap<(ContentHash, ContentHash), u32>,
    others: BTreeMap<(ContentHash, ContentHash), u32>,
}

impl Repeats {
    /// Counts this one and says how often it has been seen. A change that is new is progress: reads and checks after it
    /// count anew. A change that comes back (A, B, A, B …) is none.
    pub fn record(&mut self, call: &str, result: &str, changes: bool) -> u32 {
        let key = (ContentHash::of(call), ContentHash::of(result));
        if changes && !self.changes.contains_key(&key) {
            self.others.clear();
        }
        let count = if changes { self.changes.entry(key) } else { self.others.entry(key) }.or_insert(0);
        *count += 1;
        *count
    }
}

/// Answers in a row that could not be used, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Misses {
    /// Neither text nor call.
    pub empty: u32,
    /// Cut by length.
    pub length: u32,
    /// Text that is no call where a call was asked for.
    pub wordy: u32,
    /// A call that is no complete JSON.
    pub broken: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternation_counts_as_repetition() {
        let mut repeats = Repeats::default();
        let counts: Vec<u32> =
            ["a", "b", "a", "b", "a"].iter().map(|call| repeats.record(call, "same", false)).collect();
        assert_eq!(counts, [1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_new_change_is_progress_and_an_old_one_is_not() {
        let mut repeats = Repeats::default();
        assert_eq!(repeats.record("check", "red", false), 1);
        assert_eq!(repeats.record("edit a", "ok", true), 1);
        assert_eq!(repeats.record("check", "red", false), 1);
        assert_eq!(repeats.record("edit b", "ok", true), 1);
        assert_eq!(repeats.record("edit a", "ok", true), 2);
        assert_eq!(repeats.record("check", "red", false), 1);
        assert_eq!(repeats.record("edit b", "ok", true), 2);
        assert_eq!(repeats.record("check", "red", false), 2);
    }
}
