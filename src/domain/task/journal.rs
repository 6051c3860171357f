//! The events of a task in memory: a list that is only ever added to, and that is cheap to share.
//!
//! Whoever looks at a task holds its journal as it was, while the engine goes on appending; with a plain shared vector
//! each append would copy all that went before.
//!
//! Invariant: a clone never changes; cloning and appending cost the same at 10,000 events as at ten (one pointer for
//! each 256 events, and at most 256 more). Absent: taking anything out.

use super::event::Recorded;
use std::sync::Arc;

/// Events in one shared piece.
const PIECE: usize = 256;

/// All events of a task, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// All but the last have `PIECE` events; none is empty.
    pieces: Vec<Arc<Vec<Arc<Recorded>>>>,
}

impl Journal {
    /// Puts an event at the end.
    pub fn push(&mut self, recorded: Recorded) {
        match self.pieces.last_mut().filter(|last| last.len() < PIECE) {
            Some(last) => Arc::make_mut(last).push(Arc::new(recorded)),
            None => self.pieces.push(Arc::new(vec![Arc::new(recorded)])),
        }
    }

    /// From the first to the last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Recorded> {
        self.pieces.iter().flat_map(|piece| piece.iter()).map(Arc::as_ref)
    }

    /// The newest event.
    pub fn last(&self) -> Option<&Recorded> {
        self.pieces.last().and_then(|piece| piece.last()).map(Arc::as_ref)
    }

    /// How many.
    pub fn len(&self) -> usize {
        let full = self.pieces.len().saturating_sub(1) * PIECE;
        self.pieces.last().map_or(0, |last| full + last.len())
    }

    /// Nothing was appended yet.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

impl FromIterator<Recorded> for Journal {
    fn from_iter<T: IntoIterator<Item = Recorded>>(events: T) -> Self {
        let mut journal = Self::default();
        for recorded in events {
            journal.push(recorded);
        }
        journal
    }
}

#[cfg(test)]
mod tests {
    use super::{Journal, PIECE};
    use crate::domain::ids::Time;
    use crate::domain::task::event::{Event, Recorded};
    use proptest::prelude::*;

    fn event(seq: usize) -> Recorded {
        Recorded { seq: seq as u64, at: Time(0), event: Event::Restored }
    }

    fn numbers(journal: &Journal) -> Vec<u64> {
        journal.iter().map(|recorded| recorded.seq).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_clone_stays_as_it_was_while_the_journal_grows(before in 0..3 * PIECE, more in 0..2 * PIECE) {
            let mut journal: Journal = (0..before).map(event).collect();
            let seen = journal.clone();
            (before..before + more).for_each(|seq| journal.push(event(seq)));
            prop_assert_eq!(numbers(&seen), (0..before as u64).collect::<Vec<_>>());
            prop_assert_eq!(numbers(&journal), (0..(before + more) as u64).collect::<Vec<_>>());
            prop_assert_eq!((journal.len(), journal.is_empty()), (before + more, before + more == 0));
            prop_assert_eq!(journal.last().map(|last| last.seq), numbers(&journal).last().copied());
            prop_assert_eq!(journal.iter().rev().count(), journal.len());
        }
    }
}
