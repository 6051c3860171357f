#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;
use crate::domain::problem::Replacement;
use proptest::prelude::*;

fn edit(range: std::ops::Range<usize>, text: &str) -> Replacement {
    Replacement { range, text: text.to_owned() }
}

#[track_caller]
fn check_apply(text: &str, edits: &[Replacement], expect: &str) {
    let got = apply(text, edits).unwrap_or_else(|problem| format!("! {problem}"));
    assert_eq!(got, expect);
}

#[test]
fn edits_are_made_or_refused() {
    check_apply("abc", &[edit(0..1, "X"), edit(3..3, "!")], "Xbc!");
    check_apply("abc", &[edit(1..1, "1"), edit(1..1, "2"), edit(1..2, "")], "a12c");
    check_apply(
        "abc",
        &[edit(1..2, ""), edit(1..3, "")],
        "! the edit of bytes 1..3 overlaps the one before it or stands out of order",
    );
    check_apply("abc", &[edit(2..9, "")], "! the edit of bytes 2..9 lies outside the text");
    check_apply("é", &[edit(1..2, "")], "! the edit of bytes 1..2 cuts a character in two");
    check_apply("é", &[edit(0..1, "")], "! the edit of bytes 0..1 cuts a character in two");
}

/// `[` and `]` mark the range before and after.
#[track_caller]
fn check_map(marked: &str, edits: &[Replacement], expect: &str) {
    let start = marked.find('[').unwrap();
    let end = marked.find(']').unwrap() - 1;
    let text = marked.replace(['[', ']'], "");
    let mut after = apply(&text, edits).unwrap();
    let range = map_range(&(start..end), edits);
    after.insert(range.end, ']');
    after.insert(range.start, '[');
    assert_eq!(after, expect);
}

#[test]
fn ranges_are_carried_through_edits() {
    check_map("ab[cd]ef", &[edit(0..1, "")], "b[cd]ef");
    check_map("ab[cd]ef", &[edit(2..2, "++"), edit(4..4, "--")], "ab++[cd]--ef");
    check_map("ab[cd]ef", &[edit(3..3, "++")], "ab[c++d]ef");
    check_map("ab[cd]ef", &[edit(1..3, "++")], "a[++d]ef");
    check_map("ab[cd]ef", &[edit(3..5, "++")], "ab[c++]f");
    check_map("ab[cd]ef", &[edit(1..2, "++"), edit(2..4, "x")], "a++[x]ef");
    check_map("ab[]ef", &[edit(2..2, "++")], "ab[]++ef");
    check_map("ab[]ef", &[edit(1..2, "++")], "a++[]ef");
    check_map("ab[cd]ef", &[edit(0..6, "")], "[]");
    assert_eq!(map_offset(2, &[edit(2..2, "++")], true), 4);
    assert_eq!(map_offset(2, &[edit(2..2, "++")], false), 2);
}

#[track_caller]
fn check_position(text: &str, byte: usize, expect: [(u32, u32); 3]) {
    let index = LineIndex::new(text);
    for (encoding, (line, column)) in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32].into_iter().zip(expect) {
        let position = index.position(text, byte, encoding);
        assert_eq!((position.line, position.column), (line, column), "{encoding:?}");
        assert_eq!(index.offset(text, position, encoding), byte, "{encoding:?}");
    }
}

#[test]
fn a_byte_is_a_line_and_a_column_in_every_encoding() {
    check_position("a\r\nb🦀c\rd", 8, [(1, 5), (1, 3), (1, 2)]);
    // a lone CR is a character of its line
    check_position("a\r\nb🦀c\rd", 10, [(1, 7), (1, 5), (1, 4)]);
    check_position("a\r\r\nb", 2, [(0, 2), (0, 2), (0, 2)]);
    check_position("é\n", 3, [(1, 0), (1, 0), (1, 0)]);
    let index = LineIndex::new("🦀\r\nx");
    let at = |line, column| index.offset("🦀\r\nx", Position { line, column }, Encoding::Utf16);
    assert_eq!([at(0, 1), at(0, 2), at(0, 99), at(1, 7), at(9, 0)], [0, 4, 4, 7, 7]);
    assert_eq!(LineIndex::new("a\rb").count(), 1);
    assert_eq!(seek("a\rb\nc", Position { line: 1, column: 1 }, Encoding::Utf16), 5);
}

#[track_caller]
fn check_style(text: &str, expect: &str) {
    let Style { ending, mixed, indent, bom, final_newline } = Style::of(text);
    assert_eq!(format!("{ending:?} mixed={mixed} {indent:?} bom={bom} final={final_newline}"), expect);
}

#[test]
fn a_text_shows_how_it_is_written() {
    check_style("", "Lf mixed=false None bom=false final=true");
    check_style("\u{feff}a\r\nb\r\nc\n", "CrLf mixed=true None bom=true final=true");
    check_style("a {\n    b {\n        c\n    }\n}", "Lf mixed=false Some(Spaces(4)) bom=false final=false");
    check_style("a:\n  b:\n    c\n", "Lf mixed=false Some(Spaces(2)) bom=false final=true");
    check_style("a\n\tb\n\t\tc\n", "Lf mixed=false Some(Tabs) bom=false final=true");
}

/// A text and edits that fit it.
fn case() -> impl Strategy<Value = (String, Vec<Replacement>)> {
    ("[a-cé🦀\r\n]{0,24}", prop::collection::vec((any::<prop::sample::Index>(), "[xé\n]{0,3}"), 0..6)).prop_map(
        |(text, cuts)| {
            let bounds: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
            let mut places: Vec<usize> = cuts.iter().map(|(at, _)| *at.get(&bounds)).collect();
            places.sort_unstable();
            let edits = places
                .chunks_exact(2)
                .zip(&cuts)
                .map(|(pair, (_, put))| Replacement { range: pair[0]..pair[1], text: put.clone() })
                .collect();
            (text, edits)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_inverted_edit_leads_back((text, edits) in case()) {
        let after = apply(&text, &edits).unwrap();
        prop_assert_eq!(apply(&after, &invert(&text, &edits)).unwrap(), text);
    }

    #[test]
    fn an_untouched_range_keeps_its_text((text, edits) in case(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let bounds: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let (a, b) = (*a.get(&bounds), *b.get(&bounds));
        let range = a.min(b)..a.max(b);
        let after = apply(&text, &edits).unwrap();
        let mapped = map_range(&range, &edits);
        let found = after.get(mapped);
        prop_assert!(found.is_some());
        if edits.iter().all(|edit| edit.range.end <= range.start || edit.range.start >= range.end) {
            prop_assert_eq!(found, text.get(range));
        }
    }

    #[test]
    fn positions_lead_back(text in "[aé🦀\r\n]{0,24}", at in any::<prop::sample::Index>()) {
        prop_assert_eq!(lines(&text).concat(), text.clone());
        let index = LineIndex::new(&text);
        let bounds: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let byte = *at.get(&bounds);
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let position = index.position(&text, byte, encoding);
            let back = index.offset(&text, position, encoding);
            // inside an ending there is no column of its own: the line's end is meant
            prop_assert!(back == byte || text[back..byte].bytes().all(|b| b == b'\r'));
        }
    }
    #[test]
    fn a_place_is_sought_as_an_index_finds_it(text in "[aé🦀\r\n]{0,24}", line in 0..9_u32, column in 0..9_u32, long in any::<bool>()) {
        let text = if long { format!("{}{text}", "abc\n".repeat(3_000)) } else { text };
        let line = if long { line + 2_999 } else { line };
        let index = LineIndex::new(&text);
        let position = Position { line, column };
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let (sought, found) = (seek(&text, position, encoding), index.offset(&text, position, encoding));
            prop_assert!(sought == found || (sought == found + 1 && text[found..].starts_with("\r\n")));
        }
    }
}
