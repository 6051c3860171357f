//! What a client means by lines and columns, as bytes.
//!
//! **Invariant:** a place is always one of the text: what lies behind an end means that end, a range that runs backwards
//! means the same bytes. A change at a line that the text does not have is given as one outside of it, for whoever
//! follows the text: the client's is another by now. Absent: URIs, which only the session can tell (it knows the root and its links).

use crate::domain::problem::Replacement;
use crate::domain::text::{self, Encoding};
use crate::ports::DocumentChange;
use std::ops;
use tower_lsp::lsp_types::{Position, Range, TextDocumentContentChangeEvent};

/// The byte that a position means in a text.
pub fn offset(text: &str, position: Position, encoding: Encoding) -> usize {
    text::seek(text, text::Position { line: position.line, column: position.character }, encoding)
}

/// The bytes that a range means.
pub fn range(text: &str, range: Range, encoding: Encoding) -> ops::Range<usize> {
    let (one, other) = (offset(text, range.start, encoding), offset(text, range.end, encoding));
    one.min(other)..one.max(other)
}

/// The bytes that a change replaces; bytes behind the end, where the text has no such lines. The line behind the last
/// is how clients name the end, and a whole text may be replaced as if it were longer.
fn changed(text: &str, place: Range, encoding: Encoding) -> ops::Range<usize> {
    let below = text.bytes().filter(|byte| *byte == b'\n').count().saturating_add(1);
    let (first, last) = (place.start.min(place.end), place.start.max(place.end));
    let is_there = |position: Position| usize::try_from(position.line).is_ok_and(|line| line <= below);
    if is_there(last) || first == Position::default() {
        return range(text, place, encoding);
    }
    let outside = text.len().saturating_add(1);
    outside..outside
}

/// The changes of one notification, each meant on the text that the one before it left.
pub fn changes(text: &str, changes: Vec<TextDocumentContentChangeEvent>, encoding: Encoding) -> Vec<DocumentChange> {
    let mut left = changes.len();
    let mut scratch: Option<String> = None;
    let mut out = Vec::with_capacity(left);
    for change in changes {
        left -= 1;
        let now = scratch.as_deref().unwrap_or(text);
        let change = match change.range {
            Some(place) => {
                DocumentChange::Edit(Replacement { range: changed(now, place, encoding), text: change.text })
            }
            None => DocumentChange::Whole(change.text),
        };
        if left > 0 {
            // only a further change needs to know what this one leaves
            let scratch = scratch.get_or_insert_with(|| text.to_owned());
            match &change {
                DocumentChange::Edit(edit) if scratch.get(edit.range.clone()).is_some() => {
                    scratch.replace_range(edit.range.clone(), &edit.text);
                }
                // as whoever follows the text does with what does not fit
                DocumentChange::Edit(edit) => scratch.push_str(&edit.text),
                DocumentChange::Whole(whole) => scratch.clone_from(whole),
            }
        }
        out.push(change);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "a test may stop at the first surprise"
    )]

    use super::*;
    use crate::lsp::to_proto;
    use proptest::prelude::*;

    fn change(place: Option<(u32, u32, u32, u32)>, text: &str) -> TextDocumentContentChangeEvent {
        let range = place.map(|(a, b, c, d)| Range::new(Position::new(a, b), Position::new(c, d)));
        TextDocumentContentChangeEvent { range, range_length: None, text: text.to_owned() }
    }

    fn applied(text: &str, list: &[DocumentChange]) -> String {
        list.iter().fold(text.to_owned(), |text, change| match change {
            DocumentChange::Edit(edit) => text::apply(&text, std::slice::from_ref(edit)).unwrap(),
            DocumentChange::Whole(whole) => whole.clone(),
        })
    }

    #[track_caller]
    fn check(text: &str, list: Vec<TextDocumentContentChangeEvent>, encoding: Encoding, expect: &str) {
        assert_eq!(applied(text, &changes(text, list, encoding)), expect);
    }

    #[test]
    fn changes_follow_each_other() {
        use Encoding::{Utf8, Utf16, Utf32};
        check("a\nb\n", vec![change(Some((0, 0, 0, 0)), "x\n"), change(Some((2, 0, 2, 1)), "B")], Utf16, "x\na\nB\n");
        check("🦀é\r\nb", vec![change(Some((0, 2, 0, 3)), "e")], Utf16, "🦀e\r\nb");
        check("🦀é\r\nb", vec![change(Some((0, 4, 0, 6)), "e")], Utf8, "🦀e\r\nb");
        check("🦀é\r\nb", vec![change(Some((0, 1, 0, 2)), "e")], Utf32, "🦀e\r\nb");
        // a backwards range, a column behind the end, a line below the last
        check("ab\nc", vec![change(Some((0, 99, 0, 1)), "")], Utf16, "a\nc");
        check("ab\nc", vec![change(Some((2, 0, 2, 9)), "!")], Utf16, "ab\nc!");
        check("ab\nc", vec![change(Some((0, 0, u32::MAX, u32::MAX)), "!")], Utf16, "!");
        check(
            "ab",
            vec![change(Some((0, 0, 0, 1)), ""), change(None, "é"), change(Some((0, 1, 0, 1)), "!")],
            Utf16,
            "é!",
        );
        // a lone CR breaks no line for any editor; behind a CR that its editor shows there is a place
        check("a\rb\nc\n", vec![change(Some((1, 0, 1, 1)), "C")], Utf16, "a\rb\nC\n");
        check("a\rb\n", vec![change(Some((0, 2, 0, 3)), "B")], Utf16, "a\rB\n");
        check("a\r\nb\n", vec![change(Some((0, 2, 0, 2)), "x")], Utf16, "a\rx\nb\n");
        check("\u{feff}a\n", vec![change(Some((0, 1, 0, 2)), "b")], Utf16, "\u{feff}b\n");
    }

    fn texts() -> impl Strategy<Value = String> {
        "(\u{feff})?[aé🦀\r\n]{0,30}"
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// Edits said to a client, and said back by it one by one from the last to the first, make the same text.
        #[test]
        fn edits_survive_the_way_to_the_client_and_back(
            text in texts(),
            cuts in prop::collection::vec((any::<prop::sample::Index>(), "[xé\n]{0,3}"), 0..6),
        ) {
            // no place between CR and LF: the protocol has no name for it
            let named = |at: &usize| text.is_char_boundary(*at) && !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n'));
            let bounds: Vec<usize> = (0..=text.len()).filter(named).collect();
            let mut places: Vec<usize> = cuts.iter().map(|(at, _)| *at.get(&bounds)).collect();
            places.sort_unstable();
            places.dedup();
            let edits: Vec<Replacement> = places
                .chunks_exact(2)
                .zip(&cuts)
                .map(|(pair, (_, put))| Replacement { range: pair[0]..pair[1], text: put.clone() })
                .collect();
            let expect = text::apply(&text, &edits).unwrap();
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let said = to_proto::text_edits(&text, &edits, encoding);
                let list = said.into_iter().rev().map(|edit| TextDocumentContentChangeEvent {
                    range: Some(edit.range),
                    range_length: None,
                    text: edit.new_text,
                });
                prop_assert_eq!(&applied(&text, &changes(&text, list.collect(), encoding)), &expect);
            }
        }

        #[test]
        fn whatever_a_client_sends_fits_the_text_or_lies_outside_of_it(text in texts(), list in prop::collection::vec((0..9_u32, 0..9_u32, 0..9_u32, 0..9_u32), 1..2)) {
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let lines = u32::try_from(text.matches('\n').count()).unwrap() + 1;
                for place in &list {
                    let (a, b, c, d) = *place;
                    let there = a.max(c) <= lines || (a, b).min((c, d)) == (0, 0);
                    let list = changes(&text, vec![change(Some(*place), "é\n")], encoding);
                    let DocumentChange::Edit(edit) = &list[0] else { panic!("an edit stays one") };
                    prop_assert_eq!(text.get(edit.range.clone()).is_some(), there, "{:?}", place);
                }
            }
        }

        /// Far ends, wide columns, several in one notification: nothing of it stops anything.
        #[test]
        fn hostile_ranges_stop_nothing(text in texts(), list in prop::collection::vec(prop::array::uniform4(prop_oneof![0..4_u32, Just(u32::MAX), any::<u32>()]), 0..5)) {
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let list: Vec<_> = list.iter().map(|[a, b, c, d]| change(Some((*a, *b, *c, *d)), "é\n")).collect();
                prop_assert_eq!(changes(&text, list.clone(), encoding).len(), list.len());
            }
        }
    }
}
