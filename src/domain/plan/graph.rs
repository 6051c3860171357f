//! The order of steps as sets of ancestors.
//!
//! **Invariant:** a cycle makes its members each other's ancestors and nothing runs on for ever. **Absent:** names;
//! steps are numbers in document order here.

/// Who must come before whom.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    before: Vec<Vec<usize>>,
    /// For each step one bit a step: its ancestors.
    ancestors: Vec<Vec<u64>>,
}

impl Graph {
    /// From the direct predecessors of each step.
    pub(super) fn new(before: Vec<Vec<usize>>) -> Self {
        let words = before.len().div_ceil(64);
        let mut graph = Self { ancestors: vec![vec![0; words]; before.len()], before };
        // A pass in document order settles all edges that lead forward; further passes are for those that lead back.
        loop {
            let mut changed = false;
            for step in 0..graph.before.len() {
                for before in graph.before.get(step).cloned().unwrap_or_default() {
                    changed |= graph.take(step, before);
                }
            }
            if !changed {
                return graph;
            }
        }
    }

    fn take(&mut self, step: usize, before: usize) -> bool {
        let mut more = self.ancestors.get(before).cloned().unwrap_or_default();
        if let Some(word) = more.get_mut(before / 64) {
            *word |= 1 << (before % 64);
        }
        let mut changed = false;
        for (own, more) in self.ancestors.get_mut(step).into_iter().flatten().zip(more) {
            changed |= *own | more != *own;
            *own |= more;
        }
        changed
    }

    /// Whether `first` comes before `second`, directly or not.
    pub(super) fn precedes(&self, first: usize, second: usize) -> bool {
        let bits = self.ancestors.get(second).and_then(|bits| bits.get(first / 64));
        bits.is_some_and(|word| word & (1 << (first % 64)) != 0)
    }

    /// Adds that `first` comes right before `second`.
    pub(super) fn order(&mut self, first: usize, second: usize) {
        if let Some(before) = self.before.get_mut(second) {
            before.push(first);
        }
        let later: Vec<usize> = (0..self.before.len()).filter(|step| self.precedes(second, *step)).collect();
        self.take(second, first);
        for step in later {
            self.take(step, second);
        }
    }

    /// The direct predecessors of a step.
    pub(super) fn before(&self, step: usize) -> &[usize] {
        self.before.get(step).map_or(&[], Vec::as_slice)
    }
}
