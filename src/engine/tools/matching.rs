//! Where new text goes in an old one: exactly, or not at all.
//!
//! Invariant: bytes outside the item or the pairs stay as they are; a search text that is not there exactly once is
//! refused. Absent: every tolerance beyond the fence's own indentation and line endings.

use crate::domain::agent::order::{Placement, ToolError};
use std::ops::Range;

/// The text with a whole new item in place of the one at `item`.
pub(super) fn replace_item(text: &str, item: Range<usize>, new_item: &str) -> Result<String, ToolError> {
    let (head, tail) = around(text, &item)?;
    let fitted = fitted(new_item, indent_at(head), text);
    Ok(format!("{head}{fitted}{tail}"))
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
    let old = text.get(item).unwrap_or("");
    Ok(match place {
        Placement::Instead => format!("{head}{fitted}{tail}"),
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

/// The text with every pair replaced. All pairs are looked for in the text as it was.
pub(super) fn replace_pairs(text: &str, pairs: &[(String, String)]) -> Result<String, ToolError> {
    let ending = ending_of(text);
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    for (n, (search, replace)) in pairs.iter().enumerate() {
        let (search, replace) = (with_ending(search, ending), with_ending(replace, ending));
        if search.is_empty() {
            return Err(ToolError::new(
                format!("pair {} has nothing to search for", n + 1),
                "give the lines to replace",
            ));
        }
        let mut places = text.match_indices(&search).map(|(at, _)| at);
        match (places.next(), places.count()) {
            (Some(at), 0) => found.push((at..at + search.len(), replace)),
            (None, _) if !replace.is_empty() && text.contains(&replace) => {}
            (None, _) => {
                return Err(ToolError::new(
                    format!("the text of pair {} is not in the file", n + 1),
                    "`read` the place and copy the lines exactly",
                ));
            }
            (Some(_), more) => {
                return Err(ToolError::new(
                    format!("the text of pair {} is in the file {} times", n + 1, more + 1),
                    "add lines around it until it is unique",
                ));
            }
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, replace) in found {
        let Some(kept) = text.get(at..range.start) else {
            return Err(ToolError::new("two pairs overlap", "join them into one"));
        };
        out.push_str(kept);
        out.push_str(&replace);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    Ok(out)
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
