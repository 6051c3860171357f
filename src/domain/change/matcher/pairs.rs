//! Search and replace: each search stands in the text exactly once.
//!
//! Invariant: pairs are judged on the original text together; either all are carried out or none. Absent: order; the
//! result does not depend on it.

use super::weave::weave;
use super::{EditRefusal, Edited, Nearest, Pair, RefusalKind, elided, with_lf};
use crate::domain::problem::Replacement;
use crate::domain::text::{self, Style};
use std::collections::HashMap;
use std::ops::Range;

/// Lines of a search that are compared when the nearest region is looked for; more say nothing new.
const COMPARED: usize = 200;

pub(super) fn replace(text: &str, list: &[Pair]) -> Result<Edited, EditRefusal> {
    if list.is_empty() {
        return Err(EditRefusal::new(
            RefusalKind::Empty,
            "no pair was given; give at least one search and its replacement",
        ));
    }
    let file = Normal::of(text);
    let usual = Style::of(text).ending;
    let mut edits: Vec<(usize, Replacement)> = Vec::new();
    for (index, pair) in list.iter().enumerate() {
        let number = index + 1;
        let found = locate(&file, &with_lf(&pair.search), &with_lf(&pair.replace));
        let found = found.map_err(|refusal| numbered(refusal, number, list.len()))?;
        if let Some((range, put)) = found {
            let range = file.original(range);
            let old = text.get(range.clone()).unwrap_or("");
            edits.push((number, Replacement { text: weave(old, &put, usual), range }));
        }
    }
    edits.sort_by_key(|(_, edit)| (edit.range.start, edit.range.end));
    let clash = edits.iter().zip(edits.iter().skip(1)).find(|((_, a), (_, b))| b.range.start < a.range.end);
    if let Some(((first, _), (second, edit))) = clash {
        let line = file.line(edit.range.start.min(text.len()), text);
        let message = format!("pairs {first} and {second} both replace text at line {line}; make them one pair");
        return Err(EditRefusal { pair: Some(*second), ..EditRefusal::new(RefusalKind::Overlap, message) });
    }
    let edits: Vec<Replacement> = edits.into_iter().map(|(_, edit)| edit).collect();
    match text::apply(text, &edits) {
        Ok(done) if done == text => Ok(Edited::AlreadyThere),
        Ok(done) => Ok(Edited::Text(done)),
        Err(problem) => Err(EditRefusal::new(RefusalKind::Overlap, problem.to_string())),
    }
}

fn numbered(mut refusal: EditRefusal, number: usize, of: usize) -> EditRefusal {
    refusal.pair = Some(number);
    if of > 1 {
        refusal.message = format!("pair {number}: {}", refusal.message);
    }
    refusal
}

/// Where one pair goes in the normal text and what it puts there; `None` if it is already there.
fn locate(file: &Normal, search: &str, replace: &str) -> Result<Option<(Range<usize>, String)>, EditRefusal> {
    if search.is_empty() {
        return Err(EditRefusal::new(
            RefusalKind::Empty,
            "the search is empty; give the lines to replace, or create the file",
        ));
    }
    elided::check(&file.text, replace)?;
    let places = occurrences(&file.text, search);
    if let [at] = places.as_slice() {
        if is_there(file, *at, search, replace) {
            return Ok(None);
        }
        return Ok(Some((*at..at + search.len(), replace.to_owned())));
    }
    if !places.is_empty() {
        let candidates: Vec<usize> = places.iter().map(|at| file.line(*at, &file.text)).collect();
        let shown: Vec<String> = candidates.iter().take(8).map(usize::to_string).collect();
        let message = format!(
            "the search stands {} times, at lines {}; add lines around it until it stands once",
            places.len(),
            shown.join(", ")
        );
        return Err(EditRefusal { candidates, ..EditRefusal::new(RefusalKind::Ambiguous, message) });
    }
    // a search ends with a newline by habit; the file's last line may have none
    let cut = search.strip_suffix('\n').filter(|cut| !cut.is_empty() && file.text.ends_with(cut));
    if let Some(cut) = cut
        && occurrences(&file.text, cut).len() == 1
    {
        let put = replace.strip_suffix('\n').unwrap_or(replace);
        return Ok(Some((file.text.len() - cut.len()..file.text.len(), put.to_owned())));
    }
    let telling = replace.lines().any(|line| line.chars().filter(|c| c.is_alphanumeric()).count() >= 3);
    if telling && occurrences(&file.text, replace).len() == 1 {
        return Ok(None);
    }
    Err(not_found(&file.text, search))
}

/// The replacement contains the search, and all of it stands around the place already: done once is enough.
fn is_there(file: &Normal, at: usize, search: &str, replace: &str) -> bool {
    search != replace
        && occurrences(replace, search).iter().any(|offset| {
            let start = at.checked_sub(*offset);
            start.and_then(|start| file.text.get(start..start + replace.len())) == Some(replace)
        })
}

fn occurrences(text: &str, search: &str) -> Vec<usize> {
    let step = search.chars().next().map_or(1, char::len_utf8);
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(search)) {
        out.push(from + found);
        from += found + step;
    }
    out
}

fn not_found(text: &str, search: &str) -> EditRefusal {
    let nearest = nearest(text, search);
    let message = match &nearest {
        None => "the search stands nowhere in the file, and no line of it does; read the file again".to_owned(),
        Some(near) if near.wanted.trim() == near.found.trim() => format!(
            "the search stands nowhere; the nearest is at line {}, where line {} differs only in its blanks: the file has {:?}, the search {:?}",
            near.line, near.differs_at, near.found, near.wanted
        ),
        Some(near) => format!(
            "the search stands nowhere; the nearest is at line {}, where line {} is {:?} and the search has {:?}; copy the lines as they stand",
            near.line, near.differs_at, near.found, near.wanted
        ),
    };
    EditRefusal { nearest: nearest.map(Box::new), ..EditRefusal::new(RefusalKind::NotFound, message) }
}

/// The window of the file in which most lines equal those of the search, blanks at their ends apart.
fn nearest(text: &str, search: &str) -> Option<Nearest> {
    let have: Vec<&str> = text.lines().collect();
    let want: Vec<&str> = search.lines().take(COMPARED).collect();
    let mut at: HashMap<&str, Vec<usize>> = HashMap::new();
    for (offset, line) in want.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        at.entry(line.trim()).or_default().push(offset);
    }
    let mut scores: HashMap<usize, usize> = HashMap::new();
    for (line, text) in have.iter().enumerate() {
        for offset in at.get(text.trim()).into_iter().flatten() {
            if let Some(start) = line.checked_sub(*offset) {
                // a line with words tells more than a brace
                let weight = 1 + text.chars().filter(|c| c.is_alphanumeric()).count().min(20);
                *scores.entry(start).or_default() += weight;
            }
        }
    }
    let (start, _) = scores.into_iter().max_by_key(|(start, score)| (*score, std::cmp::Reverse(*start)))?;
    let pairs =
        want.iter().enumerate().map(|(offset, want)| (offset, *want, have.get(start + offset).copied().unwrap_or("")));
    let (offset, wanted, found) = pairs.into_iter().find(|(_, want, have)| want != have)?;
    Some(Nearest {
        line: start + 1,
        differs_at: start + offset + 1,
        wanted: wanted.to_owned(),
        found: found.to_owned(),
    })
}

/// A text with LF endings, and the way back to its own bytes.
struct Normal {
    text: String,
    /// LF offsets of the newlines that had a CR before them.
    cuts: Vec<usize>,
}

impl Normal {
    fn of(original: &str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut cuts = Vec::new();
        for line in text::lines(original) {
            text.push_str(text::body(line));
            if line.ends_with("\r\n") {
                cuts.push(text.len());
            }
            if line.ends_with('\n') {
                text.push('\n');
            }
        }
        Self { text, cuts }
    }

    fn original(&self, range: Range<usize>) -> Range<usize> {
        let map = |at: usize| at + self.cuts.partition_point(|cut| *cut < at);
        map(range.start)..map(range.end)
    }

    /// 1-based.
    fn line(&self, at: usize, text: &str) -> usize {
        text.as_bytes().get(..at).unwrap_or(&[]).iter().filter(|byte| **byte == b'\n').count() + 1
    }
}
