//! Where everything stands in a plan document: what findings, fixes and edits refer to.
//!
//! **Invariant:** ranges are byte ranges of the parsed text on character boundaries, and every byte belongs to exactly
//! one [`Piece`]. **Absent:** meaning; that is the plan.

use super::notes::Remark;
use super::scan::Part;
use crate::domain::ids::{RevisionRef, StepId};
use crate::domain::plan::keys::KEYS;
use std::ops::Range;

/// What a byte of the document is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Piece {
    /// Prose for people: never sent, never hashed.
    Prose,
    /// Part of the plan: hashed, and what a model is told is made from it.
    Meaning,
    /// A note, question or answer, or the approval.
    Note,
    /// A comment.
    Comment,
}

/// A setting of the contract or of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its key's name.
    pub name: &'static str,
    /// The whole item without the blanks behind it.
    pub item: Range<usize>,
    /// The key.
    pub key: Range<usize>,
    /// All behind the colon.
    pub value: Range<usize>,
    /// The single values in order.
    pub parts: Vec<Part>,
}

/// A step's place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepLayout {
    /// Of which step, as far as an id could be told.
    pub step: StepId,
    /// From the heading up to the next step or section.
    pub range: Range<usize>,
    /// The heading's line.
    pub heading: Range<usize>,
    /// The id, if the heading has one.
    pub id: Option<Range<usize>>,
    /// The title.
    pub title: Range<usize>,
    /// In document order.
    pub settings: Vec<Setting>,
    /// Blocks of the instruction.
    pub instruction: Vec<Range<usize>>,
    /// Notes, questions and answers under it.
    pub remarks: Vec<Remark>,
}

impl StepLayout {
    /// The settings of a key.
    pub fn settings_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Setting> {
        debug_assert!(KEYS.iter().any(|key| key.name == name), "no key is called {name}");
        self.settings.iter().filter(move |setting| setting.name == name)
    }

    /// The n-th value of a key, over all its items.
    pub fn part(&self, name: &str, n: usize) -> Option<&Part> {
        self.settings.iter().filter(|setting| setting.name == name).flat_map(|setting| &setting.parts).nth(n)
    }

    /// The first item of a key, else the heading.
    pub fn key_range(&self, name: &str) -> Range<usize> {
        self.settings_of(name).next().map_or_else(|| self.heading.clone(), |setting| setting.item.clone())
    }
}

/// The Contract section's place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContractLayout {
    /// The heading's line.
    pub heading: Range<usize>,
    /// In document order, without `approved`.
    pub settings: Vec<Setting>,
    /// Where a further item goes: behind the last item, or behind the heading.
    pub end: usize,
}

/// Where everything stands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The title's text.
    pub title: Option<Range<usize>>,
    /// Blocks of the goal.
    pub goal: Vec<Range<usize>>,
    /// The Contract section.
    pub contract: Option<ContractLayout>,
    /// The heading of the Steps section.
    pub steps_heading: Option<Range<usize>>,
    /// In document order, one for each step of the plan.
    pub steps: Vec<StepLayout>,
    /// The text-only approval, and its item.
    pub approved: Option<(RevisionRef, Range<usize>)>,
    /// Notes, questions and answers of the whole document, in order.
    pub remarks: Vec<Remark>,
    /// Comments.
    pub comments: Vec<Range<usize>>,
    /// Length of the text in bytes.
    pub length: usize,
    /// What of the text is not prose; later ones win.
    pub(super) marks: Vec<(Range<usize>, Piece)>,
}

impl Layout {
    /// The whole text in runs, each of one piece.
    pub fn pieces(&self) -> Vec<(Range<usize>, Piece)> {
        let mut of = vec![Piece::Prose; self.length];
        for (range, piece) in &self.marks {
            if let Some(run) = of.get_mut(range.clone()) {
                run.fill(*piece);
            }
        }
        let mut out: Vec<(Range<usize>, Piece)> = Vec::new();
        for (at, piece) in of.into_iter().enumerate() {
            match out.last_mut() {
                Some((range, last)) if *last == piece => range.end = at + 1,
                Some(_) | None => out.push((at..at + 1, piece)),
            }
        }
        out
    }

    /// The place of the first step of that id.
    pub fn step(&self, id: &StepId) -> Option<&StepLayout> {
        self.steps.iter().find(|step| step.step == *id)
    }
}
