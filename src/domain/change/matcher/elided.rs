//! Comments that stand for code a model left out (`// ... existing code ...`).
//!
//! Invariant: a line that the old text has too is never one. Absent: a guess at what was left out.

use super::{EditRefusal, RefusalKind};
use std::collections::BTreeSet;

/// Comment openings of the languages edited most.
const OPENINGS: [&str; 7] = ["///", "//", "/*", "<!--", "#", "--", ";;"];
/// Words with which models say that something goes on as before. They count only next to an ellipsis, or as a phrase.
const WORDS: [&str; 9] =
    ["existing", "rest", "unchanged", "remaining", "remainder", "same", "omitted", "previous", "before"];
const PHRASES: [&str; 7] = [
    "existing code",
    "rest of the code",
    "rest of code",
    "rest of the function",
    "rest of the file",
    "remains unchanged",
    "omitted for brevity",
];

/// Refuses the new text if a line of it stands for code of the old.
pub(super) fn check(old: &str, new: &str) -> Result<(), EditRefusal> {
    let known: BTreeSet<&str> = old.lines().map(str::trim).collect();
    match new.lines().map(str::trim).find(|line| stands_for_code(line) && !known.contains(line)) {
        None => Ok(()),
        Some(line) => Err(EditRefusal::new(
            RefusalKind::Elided,
            format!(
                "`{line}` stands for code that was left out; write every line, or replace only the lines that change"
            ),
        )),
    }
}

fn stands_for_code(line: &str) -> bool {
    let Some(said) = OPENINGS.iter().find_map(|opening| line.strip_prefix(opening)) else { return false };
    let said = said.trim_end_matches("*/").trim_end_matches("-->").trim().to_lowercase();
    let dots = |text: &str| text.starts_with("...") || text.starts_with('…');
    let ends = said.ends_with("...") || said.ends_with('…');
    let words = || said.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word));
    let bare = !said.is_empty() && said.chars().all(|c| matches!(c, '.' | '…' | ' ')) && (dots(&said) || ends);
    bare || ((dots(&said) || ends) && words()) || PHRASES.iter().any(|phrase| said.starts_with(phrase))
}
