//! From a tool's arguments to the edit matcher, and its refusals as what a model can act on.
//!
//! Invariant: bytes outside the item or the pairs stay as they are. Absent: matching itself (`domain::change::matcher`);
//! only a new item beside an old one is placed here, since it replaces nothing.

use crate::domain::agent::order::{Pair, Placement, ToolError};
use crate::domain::change::matcher::{self, EditRefusal, EditRequest, Edited, RefusalKind};
use std::ops::Range;

/// The byte order mark.
const MARK: &str = "\u{feff}";
/// Lines shown on both sides of the region that a search nearly matched.
const AROUND: usize = 3;

/// The text with a whole new item in place of the one at `item`.
pub(super) fn replace_item(text: &str, item: Range<usize>, new_item: &str) -> Result<String, ToolError> {
    edited(text, &EditRequest::Symbol { range: item, item: new_item.to_owned() })
}

/// A whole new text in the manner of the old one: its byte order mark, its line endings, its last line's end (C4). An
/// empty file has no manner yet.
pub(super) fn replace_whole(text: &str, new: &str) -> String {
    let mark = if text.starts_with(MARK) { MARK } else { "" };
    let ending = ending_of(text);
    let body = with_ending(bare(new), ending);
    let body = body.strip_suffix(ending).unwrap_or(&body);
    let last = if bare(text).is_empty() || text.ends_with('\n') { ending } else { "" };
    format!("{mark}{body}{last}")
}

/// The text with every pair replaced, or none.
pub(super) fn replace_pairs(text: &str, pairs: &[Pair]) -> Result<String, ToolError> {
    let pairs = pairs.iter().map(|pair| matcher::Pair { search: pair.search.clone(), replace: pair.replace.clone() });
    edited(text, &EditRequest::Pairs(pairs.collect()))
}

fn bare(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

fn edited(text: &str, request: &EditRequest) -> Result<String, ToolError> {
    match matcher::edit(text, request) {
        Ok(Edited::Text(text)) => Ok(text),
        Ok(Edited::AlreadyThere) => Ok(text.to_owned()),
        Err(refusal) => Err(refused(text, &refusal)),
    }
}

/// A refusal with the lines that are there, so that the next call can copy them.
fn refused(text: &str, refusal: &EditRefusal) -> ToolError {
    let mut what = refusal.message.clone();
    if let Some(near) = &refusal.nearest {
        let first = near.line.min(near.differs_at).saturating_sub(1 + AROUND);
        let count = near.differs_at.max(near.line) + AROUND - first;
        let lines = text.lines().enumerate().skip(first).take(count);
        what.push_str("\nthe file has there:");
        what.extend(lines.map(|(at, line)| format!("\n{}: {line}", at + 1)));
    }
    let instead = match refusal.kind {
        RefusalKind::NotFound => "copy the lines as they stand in the file, or `edit` the whole item",
        RefusalKind::Ambiguous => "add lines around it until it stands once, or `edit` the whole item",
        RefusalKind::Overlap => "join the pairs into one",
        RefusalKind::Empty => "give the lines",
        RefusalKind::Elided => "write the whole item, every line of it",
        RefusalKind::Indentation => "indent the item as it is indented in the file",
        RefusalKind::Stale => "call `outline` again",
    };
    ToolError::new(what, instead)
}

/// The text with a new item above or below the one at `item`, an empty line between them.
pub(super) fn insert_item(
    text: &str,
    item: Range<usize>,
    new_item: &str,
    place: Placement,
) -> Result<String, ToolError> {
    let (head, tail) = around(text, &item)?;
    let indent = indent_at(head);
    let (fitted, ending) = (fitted(new_item, indent, text), ending_of(text));
    let old = text.get(item.clone()).unwrap_or("");
    Ok(match place {
        Placement::Instead => return replace_item(text, item, new_item),
        Placement::Before => format!("{head}{fitted}{ending}{ending}{indent}{old}{tail}"),
        Placement::After => {
            // what stands behind the item on its last line stays with it
            let line = tail.find('\n').unwrap_or(tail.len());
            let line = if tail.get(..line).is_some_and(|rest| rest.ends_with('\r')) { line - 1 } else { line };
            let (rest, below) = (tail.get(..line).unwrap_or(""), tail.get(line..).unwrap_or(""));
            format!("{head}{old}{rest}{ending}{ending}{indent}{fitted}{below}")
        }
    })
}

fn around<'a>(text: &'a str, item: &Range<usize>) -> Result<(&'a str, &'a str), ToolError> {
    match (text.get(..item.start), text.get(item.end..)) {
        (Some(head), Some(tail)) => Ok((head, tail)),
        _ => Err(ToolError::new("the item lies outside the text", "call `outline` again")),
    }
}

/// The blanks between the last line break and the end.
fn indent_at(head: &str) -> &str {
    let line = head.rsplit('\n').next().unwrap_or("");
    if line.trim().is_empty() { line } else { "" }
}

/// The line ending that most lines have.
fn ending_of(text: &str) -> &'static str {
    let crlf = text.matches("\r\n").count();
    if crlf * 2 > text.matches('\n').count() { "\r\n" } else { "\n" }
}

fn with_ending(text: &str, ending: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    if ending == "\n" { plain } else { plain.replace('\n', ending) }
}

/// The item as it stands at its place: first line without indentation, the others moved by what the fence lacks.
fn fitted(item: &str, indent: &str, text: &str) -> String {
    let plain = item.replace("\r\n", "\n");
    let lines: Vec<&str> = plain.trim_end().lines().skip_while(|line| line.trim().is_empty()).collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let (first, rest) = lines.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
    let own = depth(first);
    // models often cut the indentation of the first line alone: then the last line tells where the item stands
    let lonely = own == 0 && !indent.is_empty() && rest.last().is_some_and(|last| depth(last) == indent.len());
    let mut out = first.trim_start().to_owned();
    for line in rest {
        out.push('\n');
        if line.trim().is_empty() {
            continue;
        }
        if lonely {
            out.push_str(line);
        } else {
            out.push_str(indent);
            out.push_str(line.get(own.min(depth(line))..).unwrap_or(""));
        }
    }
    with_ending(&out, ending_of(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "a test that cannot go on has failed")]

    use super::*;

    const TEXT: &str = "fn a() {\n    one();\n    two();\n}\n\nfn b() {\n    two();\n}\n";

    #[track_caller]
    fn refusal(search: &str) -> String {
        let pair = Pair { search: search.to_owned(), replace: "x();\n".to_owned() };
        let ToolError { what, retry, instead } = replace_pairs(TEXT, &[pair]).expect_err("it must not match");
        format!("{what}\nretry {retry}: {instead}")
    }

    #[test]
    fn a_near_miss_shows_what_is_there() {
        insta::assert_snapshot!(refusal("fn a() {\n    one();\n    three();\n"), @r#"
        the search stands nowhere; the nearest is at line 1, where line 3 is "    two();" and the search has "    three();"; copy the lines as they stand
        the file has there:
        1: fn a() {
        2:     one();
        3:     two();
        4: }
        5: 
        6: fn b() {
        retry false: copy the lines as they stand in the file, or `edit` the whole item
        "#);
    }

    #[test]
    fn several_places_are_named() {
        insta::assert_snapshot!(refusal("    two();\n"), @"
        the search stands 2 times, at lines 3, 7; add lines around it until it stands once
        retry false: add lines around it until it stands once, or `edit` the whole item
        ");
    }
}
