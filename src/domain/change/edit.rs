//! One edit of a text, as small as it can be said, and the places where it could as well have been made.
//!
//! Put `b` behind `a` in `ab`, or before the `b`: the text is the same. Clients choose freely (one sends a new line as
//! `"\nx"` at the end of the line above), so a spot must be compared with all places that lead to the same text.
//!
//! **Invariant:** every place in [`Edit::slide`] gives the same text. **Absent:** hunks.

use crate::domain::problem::Replacement;
use std::ops::{Range, RangeInclusive};

/// How far an edit is slid: further than any run of equal lines that people write.
const REACH: usize = 4_000;

/// An edit without what it leaves equal at both ends.
pub(super) struct Edit<'a> {
    pub range: Range<usize>,
    pub put: &'a str,
}

impl<'a> Edit<'a> {
    /// `None` if it changes nothing or lies outside of the text.
    pub(super) fn narrowed(text: &str, edit: &'a Replacement) -> Option<Self> {
        let replaced = text.get(edit.range.clone())?;
        let head = common_prefix(replaced, &edit.text);
        let (old, new) = (replaced.get(head..)?, edit.text.get(head..)?);
        let tail = common_suffix(old, new);
        let put = new.get(..new.len() - tail)?;
        let range = edit.range.start + head..edit.range.end - tail;
        (!range.is_empty() || !put.is_empty()).then_some(Self { range, put })
    }

    pub(super) fn is_insertion(&self) -> bool {
        self.range.is_empty()
    }

    pub(super) fn is_deletion(&self) -> bool {
        self.put.is_empty()
    }

    /// Bytes of the longer of the two texts, the one that has what is put in or taken out.
    fn longer(&self, text: &str, at: usize) -> Option<u8> {
        let text = text.as_bytes();
        if self.is_deletion() || at < self.range.start {
            return text.get(at).copied();
        }
        match self.put.as_bytes().get(at - self.range.start) {
            Some(byte) => Some(*byte),
            None => text.get(at - self.put.len()).copied(),
        }
    }

    /// Bytes of the shorter one.
    fn shorter(&self, text: &str, at: usize) -> Option<u8> {
        let skip = if self.is_deletion() && at >= self.range.start { self.range.len() } else { 0 };
        text.as_bytes().get(at + skip).copied()
    }

    fn len(&self) -> usize {
        self.range.len().max(self.put.len())
    }

    /// Where a pure insertion or deletion can begin.
    pub(super) fn slide(&self, text: &str) -> RangeInclusive<usize> {
        let (mut from, mut to) = (self.range.start, self.range.start);
        let len = self.len();
        for _ in 0..REACH {
            let Some(left) = from.checked_sub(1) else { break };
            match (self.longer(text, left + len), self.shorter(text, left)) {
                (Some(a), Some(b)) if a == b => from = left,
                _ => break,
            }
        }
        for _ in 0..REACH {
            match (self.longer(text, to), self.shorter(text, to)) {
                (Some(a), Some(b)) if a == b => to += 1,
                _ => break,
            }
        }
        from..=to
    }

    /// An insertion at `place` puts exactly this there.
    pub(super) fn puts(&self, text: &str, place: usize, wanted: &str) -> bool {
        wanted.bytes().enumerate().all(|(at, byte)| self.longer(text, place + at) == Some(byte))
    }

    /// The places at which whole lines are put in or taken out.
    pub(super) fn line_places(&self, text: &str, slide: RangeInclusive<usize>) -> impl Iterator<Item = usize> {
        let len = self.len();
        let ends = move |at: usize| at == 0 || self.longer(text, at - 1) == Some(b'\n');
        slide.filter(move |at| ends(*at) && len > 0 && self.longer(text, at + len - 1) == Some(b'\n'))
    }

    /// The nearest of them that is not `avoided`, else the nearest; `None` for an edit within lines.
    pub(super) fn whole_lines(
        &self,
        text: &str,
        slide: RangeInclusive<usize>,
        avoided: &dyn Fn(usize) -> bool,
    ) -> Option<usize> {
        let here = self.range.start;
        self.line_places(text, slide).min_by_key(|at| (avoided(*at), at.abs_diff(here)))
    }

    /// It makes or takes a line break, and more than that: a line broken in two or joined with the next does not count.
    pub(super) fn spans_lines(&self, text: &str) -> bool {
        let gone = text.get(self.range.clone()).unwrap_or("");
        let says = |text: &str| !text.trim().is_empty();
        (gone.contains('\n') || self.put.contains('\n')) && (says(gone) || says(self.put))
    }
}

/// Bytes that two texts share at their start, whole characters.
pub(super) fn common_prefix(a: &str, b: &str) -> usize {
    const CHUNK: usize = 256;
    let (left, right) = (a.as_bytes(), b.as_bytes());
    let chunks = left.chunks_exact(CHUNK).zip(right.chunks_exact(CHUNK)).take_while(|(a, b)| a == b).count();
    let mut at = chunks * CHUNK;
    at += left.iter().skip(at).zip(right.iter().skip(at)).take_while(|(a, b)| a == b).count();
    while !a.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The same at their end.
fn common_suffix(a: &str, b: &str) -> usize {
    const CHUNK: usize = 256;
    let (left, right) = (a.as_bytes(), b.as_bytes());
    let chunks = left.rchunks_exact(CHUNK).zip(right.rchunks_exact(CHUNK)).take_while(|(a, b)| a == b).count();
    let mut at = chunks * CHUNK;
    at += left.iter().rev().skip(at).zip(right.iter().rev().skip(at)).take_while(|(a, b)| a == b).count();
    while !a.is_char_boundary(a.len() - at) {
        at -= 1;
    }
    at
}
