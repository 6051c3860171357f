//! A revision by the agent, shown as changes of the plan document that is open.
//!
//! Invariant: a change is taken over by the person's word for it, in one edit of this document; what they typed beside
//! it stays. Absent: the sending of that edit.

use super::acts::{Act, Does};
use super::moment::Moment;
use crate::actions::Verb;
use crate::domain::change::{Entry, FileChange, Hunk, HunkKind, file_change};
use crate::domain::ids::{HunkId, RevisionRef, StepId, WorkspacePath};
use crate::domain::text::counted;
use crate::lsp::views::words;
use serde_json::json;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Who writes the changes of an offered revision.
const AUTHOR: &str = "planning";

/// An offered revision against the text of the moment.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its name.
    pub revision: RevisionRef,
    /// From the text of the moment to the offered one.
    pub change: FileChange,
}

impl Offered {
    /// The changes that are left; `None` when there are none.
    pub fn new(
        path: &WorkspacePath,
        text: &Arc<str>,
        offered: &(RevisionRef, Arc<str>),
        declined: &HashSet<HunkId>,
    ) -> Option<Self> {
        let file = |text: &Arc<str>| Entry::File { text: text.clone(), mode: 0o644 };
        let author = StepId::new(AUTHOR);
        let mut change = file_change(path.clone(), &file(text), &file(&offered.1), &author, None);
        change.hunks.retain(|hunk| !declined.contains(&hunk.id));
        (!change.hunks.is_empty()).then(|| Self { revision: offered.0.clone(), change })
    }

    /// Each change: its name, where it stands in the text, and what it says.
    pub fn hunks(&self) -> Vec<(HunkId, Range<usize>, String)> {
        let all = self.change.hunks.iter();
        all.filter_map(|hunk| {
            let range = place(hunk)?;
            let mut said = vec![format!("the agent's {}:", self.revision)];
            let (old, new) = (self.change.old_text(hunk), self.change.new_text(hunk));
            said.extend(words::two_sides(old, new, words::HEIGHT - 1));
            Some((hunk.id.clone(), range, words::message(said)))
        })
        .collect()
    }

    /// What can be done at a range: with the change there, and with all.
    pub fn acts(&self, moment: &Moment<'_>, at: &Range<usize>) -> Vec<Act> {
        let Some(dossier) = moment.dossier else { return vec![] };
        let task = &dossier.task.id;
        let act = |title: String, verb, hunks: Vec<&HunkId>| Act {
            title: format!("Agent: {title}"),
            does: Does::Command { verb, arguments: json!({ "task": task, "hunks": hunks, "plan": true }) },
        };
        let here = self
            .change
            .hunks
            .iter()
            .filter(|hunk| place(hunk).is_some_and(|range| range.start <= at.end && at.start <= range.end));
        let mut out = Vec::new();
        for hunk in here {
            out.push(act(format!("accept this change of the plan ({})", hunk.id), Verb::Accept, vec![&hunk.id]));
            out.push(act(format!("decline this change of the plan ({})", hunk.id), Verb::Reject, vec![&hunk.id]));
        }
        let all: Vec<&HunkId> = self.change.hunks.iter().map(|hunk| &hunk.id).collect();
        let count = counted(all.len(), "change");
        out.push(act(format!("accept {} ({count})", self.revision), Verb::Accept, all.clone()));
        out.push(act(format!("decline {} ({count})", self.revision), Verb::Reject, all));
        out
    }
}

/// Where a change stands in the text of the moment.
fn place(hunk: &Hunk) -> Option<Range<usize>> {
    match &hunk.kind {
        HunkKind::Lines { old, .. } => Some(old.clone()),
        HunkKind::Create | HunkKind::Delete | HunkKind::Mode => None,
    }
}
