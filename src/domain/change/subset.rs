//! The entry with some hunks of a change kept.
//!
//! Invariant: all kept gives `after`, none kept gives `before`. Absent: the user's own edits (`accept`).

use super::model::{Entry, FileChange, HunkKind};
use crate::domain::ids::HunkId;
use crate::domain::problem::Replacement;
use crate::domain::text;

/// `before` with the hunks that `kept` names.
pub fn apply_subset(change: &FileChange, kept: impl Fn(&HunkId) -> bool) -> Entry {
    let mut edits = Vec::new();
    let mut new_mode_kept = false;
    for hunk in change.hunks.iter().filter(|hunk| kept(&hunk.id)) {
        match &hunk.kind {
            HunkKind::Create | HunkKind::Delete => return change.after.clone(),
            HunkKind::Mode => new_mode_kept = true,
            HunkKind::Lines { old, .. } => {
                edits.push(Replacement { range: old.clone(), text: change.new_text(hunk).to_owned() });
            }
        }
    }
    match (&change.before, &change.after) {
        (Entry::File { text, mode }, Entry::File { mode: new_mode, .. }) => Entry::File {
            // a change that was read back from a damaged store may not fit its own text; then nothing is applied
            text: text::apply(text, &edits).map_or_else(|_| text.clone(), Into::into),
            mode: if new_mode_kept { *new_mode } else { *mode },
        },
        (before, _) => before.clone(),
    }
}
