//! The comment that asked for a task goes with it: its removal is a hunk of the task, like any other.
//!
//! Invariant: it is proposed once, at the first approval, and only where the comment still stands as it was read; who
//! removed it themselves, or put the hunk aside, is not asked again. Absent: taking it out, which is a decision.

use super::case::Case;
use super::world::World;
use crate::domain::change::{Entry, Proposal, Stats, hunks};
use crate::domain::ids::*;
use crate::domain::problem::Replacement;
use crate::domain::task::action::Comment;
use crate::domain::task::event::{Event, Recorded};
use crate::domain::text::{self, LineIndex};
use crate::ports::StoreFault;
use std::ops::Range;

/// The proposal of its removal, if one is due.
///
/// # Errors
/// The store does not take it.
pub(super) async fn removal(world: &World, case: &Case) -> Result<Option<Event>, StoreFault> {
    let goal = &case.task.goal;
    let (Some(comment), Some(place)) = (&goal.comment, &goal.place) else { return Ok(None) };
    let author = StepId::new(hunks::GOAL);
    let proposed = |recorded: &Recorded| matches!(&recorded.event, Event::Proposed { step, .. } if *step == author);
    if !case.task.proposals.is_empty() || case.journal.iter().any(proposed) {
        return Ok(None);
    }
    let Ok(before) = world.workspace.read(&place.path).await else { return Ok(None) };
    let Entry::File { text: here, mode } = &before else { return Ok(None) };
    let Some(range) = find(here, comment) else { return Ok(None) };
    let Ok(without) = text::apply(here, &[Replacement { range, text: String::new() }]) else { return Ok(None) };
    let after = Entry::File { text: without.into(), mode: *mode };
    let change = hunks::file_change(place.path.clone(), &before, &after, &author, None);
    let proposal = Proposal { step: author.clone(), generation: 1, files: vec![change] };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let hunks = count(proposal.files.iter().map(|file| file.hunks.len()).sum());
    let lines = count(Stats::of_all(&proposal.files).lines());
    let stored = serde_json::to_string(&proposal).map_err(|error| StoreFault::Broken(error.to_string()))?;
    let hash = world.store.put_blob(stored.into_bytes()).await?;
    let paths = vec![place.path.clone()];
    Ok(Some(Event::Proposed { step: author, generation: 1, proposal: hash, paths, hunks, lines }))
}

/// Where it stands: at its line, else at the only place that has it.
fn find(here: &str, comment: &Comment) -> Option<Range<usize>> {
    if comment.text.is_empty() {
        return None;
    }
    let line = usize::try_from(comment.line.checked_sub(1)?).ok()?;
    let row = LineIndex::new(here).range(line).unwrap_or(0..0);
    let places: Vec<usize> = here.match_indices(&comment.text).map(|(at, _)| at).collect();
    let at = match places.as_slice() {
        [only] => *only,
        several => *several.iter().find(|at| row.contains(at))?,
    };
    Some(at..at + comment.text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(here: &str, line: u32, text: &str, left: Option<&str>) {
        let found = find(here, &Comment { line, text: text.to_owned() });
        let without =
            found.map(|range| text::apply(here, &[Replacement { range, text: String::new() }]).unwrap_or_default());
        assert_eq!(without.as_deref(), left);
    }

    #[test]
    fn it_is_found_where_it_stood_or_where_it_alone_stands() {
        let comment = "// agent: x\n";
        check("a\n// agent: x\nb\n", 2, comment, Some("a\nb\n"));
        check("a\nb\n// agent: x\nc\n", 2, comment, Some("a\nb\nc\n"));
        check("// agent: x\n// agent: x\n", 2, comment, Some("// agent: x\n"));
        check("// agent: x\na\n// agent: x\n", 2, comment, None);
        check("a\n// agent: y\n", 2, comment, None);
        check("f(); // agent: x\n", 1, " // agent: x", Some("f();\n"));
        check("a\n", 0, "", None);
    }
}
