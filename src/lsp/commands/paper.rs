//! `.planwright/goal.md`: where a goal is written by whoever has no other place to write it.
//!
//! Invariant: reading it never fails; a page without words asks for nothing. The same page saved again asks for nothing
//! new. Absent: the disk, which is the engine's, and what becomes of the goal.

use super::errand::Wanted;
use crate::domain::ids::{ContentHash, HunkId, WorkspacePath};
use crate::domain::task::action::Place;

/// Below the root.
pub const PAGE: &str = ".planwright/goal.md";

/// What a page asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// What the words are for.
    pub wanted: Wanted,
    /// The place that they are about.
    pub place: Option<Place>,
    /// The words.
    pub words: String,
}

impl Asked {
    /// The same for the same page, however it is spaced.
    pub fn hash(&self) -> ContentHash {
        ContentHash::of(format!("{:?}\0{:?}\0{}", self.wanted, self.place, self.words))
    }
}

/// An empty page.
pub fn blank(wanted: Wanted, place: Option<&Place>) -> String {
    let (word, help) = match wanted {
        Wanted::Plan => (
            "plan",
            "Write below what you want and save with :w. It becomes a task and is planned; the task page opens here.",
        ),
        Wanted::Change => (
            "change",
            "Write below what to change there and save with :w. It is done as one step; the task page opens here.",
        ),
        Wanted::Ask => (
            "ask",
            "Write your question below and save with :w. The code is read and nothing changes; the task page opens here.",
        ),
    };
    let at = place.map_or_else(String::new, |place| format!("at: {}\n", written(place)));
    format!("do: {word}\n{at}\n<!-- {help} -->\n\n")
}

fn written(place: &Place) -> String {
    match place.lines {
        None => place.path.to_string(),
        Some((first, last)) if first == last => format!("{}:{first}", place.path),
        Some((first, last)) => format!("{}:{first}-{last}", place.path),
    }
}

/// What a page asks for; nothing without words.
pub fn read(text: &str) -> Option<Asked> {
    let text = without_remarks(text.trim_start_matches('\u{feff}'));
    let (mut wanted, mut place) = (Wanted::Plan, None);
    let mut words = Vec::new();
    let mut head = true;
    for line in text.lines() {
        let (name, value) = line.split_once(':').filter(|_| head).unwrap_or_default();
        match (name, word(value.trim()), read_place(value.trim())) {
            ("do", Some(word), _) => wanted = word,
            ("at", _, Some(at)) => place = Some(at),
            // Whatever does not say what a head says are words.
            (_, _, _) => {
                head = head && line.trim().is_empty() && words.is_empty();
                words.push(line.trim_end());
            }
        }
    }
    let words = words.join("\n").trim().to_owned();
    (!words.is_empty()).then_some(Asked { wanted, place, words })
}

fn word(text: &str) -> Option<Wanted> {
    match text {
        "plan" => Some(Wanted::Plan),
        "change" => Some(Wanted::Change),
        "ask" => Some(Wanted::Ask),
        _ => None,
    }
}

fn without_remarks(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("<!--") {
        left.push_str(before);
        rest = inside.split_once("-->").map_or("", |(_, after)| after);
    }
    left + rest
}

fn read_place(text: &str) -> Option<Place> {
    let lines = text.rsplit_once(':').and_then(|(path, lines)| {
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        Some((path, first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?))
    });
    match lines {
        Some((path, first, last)) if first > 0 && first <= last => {
            Some(Place { path: WorkspacePath::new(path).ok()?, lines: Some((first, last)) })
        }
        Some(_) => None,
        None => Some(Place { path: WorkspacePath::new(text).ok()?, lines: None }),
    }
}

/// The 0-based line of a review at which a hunk stands.
pub fn heading(review: &str, hunk: &HunkId) -> Option<u32> {
    let is_its = |line: &str| line.strip_prefix("## ").and_then(|rest| rest.split(' ').next()) == Some(hunk.as_str());
    review.lines().position(is_its).and_then(|line| u32::try_from(line).ok())
}
