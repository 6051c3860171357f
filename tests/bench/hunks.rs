//! Hunks of a file of 10,000 lines (L7): made at a step's end, and found again after a keystroke.

use crate::harness::{Guide, Row, in_turn, time};
use planwright::domain::change::{Entry, FileChange, HunkState, Spots, derive, file_change};
use planwright::domain::ids::{StepId, WorkspacePath};
use planwright::domain::problem::Replacement;
use similar::{Algorithm, TextDiff};
use std::sync::Arc;
use std::time::Duration;

const LINES: usize = 10_000;
/// A file that long with so many places to review is a wide rename.
const HUNKS: usize = 50;
const ROUNDS: usize = 21;
const KEYSTROKE: Guide = Guide::Within(Duration::from_millis(10));

pub fn rows() -> Vec<Row> {
    let before = text(|_| None);
    let after = text(|n| (n % (LINES / HUNKS) == 7).then(|| format!("    changed({n});\n")));
    // One letter typed in a line that no hunk touches.
    let at = before.find("    line_5003").unwrap() + 8;
    let typed = format!("{}x{}", &before[..at], &before[at..]);
    let (path, author) = (WorkspacePath::new("src/long.rs").unwrap(), StepId::new("s"));
    let made = || file_change(path.clone(), &entry(&before), &entry(&after), &author, None);
    let change = made();
    assert_eq!(change.hunks.len(), HUNKS);
    let now = entry(&typed);
    assert!(derive(&change, &now).iter().all(|standing| standing.state == HunkState::Open));
    let spots = Spots::find(&change, &before);
    let edit = Replacement { range: at..at, text: "x".to_owned() };
    vec![
        Row::of(
            "hunks of 10,000 lines: made",
            "similar, old to new",
            Guide::Free,
            in_turn(ROUNDS, || time(made), || bare(&before, &after)),
        ),
        Row::of(
            "hunks of 10,000 lines: found anew after a keystroke",
            "similar, old to text",
            KEYSTROKE,
            in_turn(ROUNDS, || time(|| derive(&change, &now)), || bare(&before, &typed)),
        ),
        Row::of(
            "hunks of 10,000 lines: carried through a keystroke",
            "similar, old to text",
            KEYSTROKE,
            in_turn(ROUNDS, || carried(&change, &spots, &before, &typed, &edit), || bare(&before, &typed)),
        ),
    ]
}

fn carried(change: &FileChange, spots: &Spots, before: &str, typed: &str, edit: &Replacement) -> Duration {
    let mut spots = spots.clone();
    time(|| {
        spots.carry(change, before, edit);
        spots.settle(change, before, typed);
        spots.standings(change, typed)
    })
}

fn bare(old: &str, new: &str) -> Duration {
    time(|| TextDiff::configure().algorithm(Algorithm::Histogram).diff_lines(old, new).ops().to_vec())
}

fn text(change: impl Fn(usize) -> Option<String>) -> String {
    let line = |n: usize| match n % 10 {
        0 => format!("fn item_{n}() {{\n"),
        9 => "}\n".to_owned(),
        _ => format!("    line_{n}();\n"),
    };
    (0..LINES).map(|n| change(n).unwrap_or_else(|| line(n))).collect()
}

fn entry(text: &str) -> Entry {
    Entry::File { text: Arc::from(text), mode: 0o644 }
}
