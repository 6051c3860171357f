//! The outline of a plan document, and what of it folds.
//!
//! Invariant: every part lies within the part that holds it, and its name within itself. Absent: the document's own
//! structure where it is no plan's; headings of prose appear by their words.

use super::moment::Moment;
use crate::domain::plan::parse::RemarkKind;
use crate::domain::plan::parse::Setting;
use crate::domain::text::LineIndex;
use std::ops::Range;

/// What a part is, for the client's icon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// The Contract, Notes, any other section.
    Section,
    /// A step.
    Step,
    /// A setting.
    Setting,
}

/// A part of the document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// In the list.
    pub name: String,
    /// Beside it: a step's state, a setting's value.
    pub detail: Option<String>,
    /// What it is.
    pub sort: Sort,
    /// All of it.
    pub range: Range<usize>,
    /// Its name.
    pub selection: Range<usize>,
    /// In document order.
    pub children: Vec<Part>,
}

/// The Contract with its settings, the steps with their states, and the other sections.
pub fn outline(moment: &Moment<'_>) -> Vec<Part> {
    let layout = &moment.parsed.layout;
    let mut parts: Vec<Part> = sections(moment)
        .into_iter()
        .map(|(name, heading, range)| {
            let contract = layout.contract.as_ref().filter(|contract| contract.heading.start == heading.start);
            let children = contract.map(|contract| settings(moment, &contract.settings)).unwrap_or_default();
            Part { name, detail: None, sort: Sort::Section, range, selection: heading, children }
        })
        .filter(|part| layout.steps_heading.as_ref().is_none_or(|steps| steps.start != part.selection.start))
        .collect();
    parts.extend(moment.parsed.plan.steps.iter().zip(&layout.steps).map(|(step, place)| {
        let selection = super::cursor::trimmed(moment, &place.heading);
        Part {
            name: format!("{}: {}", step.id, step.title),
            detail: Some(moment.state(&step.id).map_or_else(|| step.kind.key().to_owned(), str::to_owned)),
            sort: Sort::Step,
            range: settled(moment.text, &place.range),
            selection,
            children: settings(moment, &place.settings),
        }
    }));
    parts.sort_by_key(|part| part.range.start);
    parts
}

fn settings(moment: &Moment<'_>, settings: &[Setting]) -> Vec<Part> {
    let value = |setting: &Setting| moment.text.get(setting.value.clone()).unwrap_or("").trim().to_owned();
    let part = |setting: &Setting| Part {
        name: setting.name.to_owned(),
        detail: Some(value(setting)),
        sort: Sort::Setting,
        range: setting.item.clone(),
        selection: setting.key.clone(),
        children: vec![],
    };
    settings.iter().map(part).collect()
}

/// Second-level headings with what stands under each: name, heading, all of it.
fn sections(moment: &Moment<'_>) -> Vec<(String, Range<usize>, Range<usize>)> {
    let mut fence: Option<&str> = None;
    let mut found: Vec<(String, Range<usize>, Range<usize>)> = Vec::new();
    let mut at = 0;
    for line in moment.text.split_inclusive('\n') {
        let (start, body) = (at, line.trim_end());
        at += line.len();
        match fence {
            Some(open) if body.trim_start().starts_with(open) => fence = None,
            Some(_) => continue,
            None => fence = ["```", "~~~"].into_iter().find(|open| body.trim_start().starts_with(open)),
        }
        let level = body.len() - body.trim_start_matches('#').len();
        let name = body.get(level..).unwrap_or("");
        if !(level == 1 || level == 2) || !name.starts_with([' ', '\t']) {
            continue;
        }
        if let Some((_, _, range)) = found.last_mut().filter(|(_, _, range)| range.end == usize::MAX) {
            range.end = start;
        }
        if level == 2 {
            found.push((name.trim().to_owned(), start..start + body.len(), start..usize::MAX));
        }
    }
    for (_, _, range) in &mut found {
        range.end = range.end.min(moment.text.len());
        *range = settled(moment.text, range);
    }
    found
}

/// Without the blank lines at its end.
fn settled(text: &str, range: &Range<usize>) -> Range<usize> {
    range.start..range.start + text.get(range.clone()).unwrap_or("").trim_end().len()
}

/// What folds: first and last line, 0-based, and whether it is a comment.
pub fn folds(moment: &Moment<'_>) -> Vec<(u32, u32, bool)> {
    let lines = LineIndex::new(moment.text);
    let layout = &moment.parsed.layout;
    let sections = sections(moment).into_iter().map(|(_, _, range)| (range, false));
    let steps = layout.steps.iter().map(|step| (settled(moment.text, &step.range), false));
    let notes = layout.remarks.iter().filter(|remark| remark.kind == RemarkKind::Note);
    let notes = notes.map(|note| (settled(moment.text, &note.range), true));
    let comments = layout.comments.iter().map(|range| (range.clone(), true));
    let mut out: Vec<(u32, u32, bool)> = sections
        .chain(steps)
        .chain(notes)
        .chain(comments)
        .filter_map(|(range, comment)| {
            let first = lines.line_of(range.start);
            let last = lines.line_of(range.end.saturating_sub(1).max(range.start));
            (last > first).then_some((u32::try_from(first).ok()?, u32::try_from(last).ok()?, comment))
        })
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}
