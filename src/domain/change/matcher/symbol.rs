//! A whole item anew.
//!
//! Invariant: the item stands at the old one's indentation, in the old one's kind of indentation, or the edit is
//! refused; documentation and attributes that the new item does not bring stay. Absent: whether it is still the same
//! item; the syntax gate sees that.

use super::weave::weave;
use super::{EditRefusal, Edited, RefusalKind, elided, with_lf};
use crate::domain::text::{Indent, Style};
use std::ops::Range;

pub(super) fn replace(text: &str, range: Range<usize>, item: &str) -> Result<Edited, EditRefusal> {
    let stale = || {
        EditRefusal::new(RefusalKind::Stale, "the item's place does not fit the text; ask for the file's outline again")
    };
    let start =
        if text.get(range.start..).ok_or_else(stale)?.starts_with('\u{feff}') { range.start + 3 } else { range.start };
    let above = text.get(..start).ok_or_else(stale)?;
    let line = above.rfind('\n').map_or(if text.starts_with('\u{feff}') { 3 } else { 0 }, |at| at + 1).min(start);
    let before = text.get(line..start).unwrap_or("");
    let base = blanks(text.get(line..).unwrap_or(""));
    // an item that stands alone on its line is taken with its indentation
    let start = if before.trim().is_empty() { line } else { start };
    let old = text.get(start..range.end).ok_or_else(stale)?;

    let new = with_lf(item);
    let new: Vec<&str> = new.lines().collect();
    let first = new.iter().position(|line| !line.trim().is_empty());
    let last = new.iter().rposition(|line| !line.trim().is_empty());
    let (Some(first), Some(last)) = (first, last) else {
        return Err(EditRefusal::new(
            RefusalKind::Empty,
            "the new item is empty; to remove an item, replace its lines by nothing",
        ));
    };
    let new = new.get(first..=last).unwrap_or(&[]);
    elided::check(old, &new.join("\n"))?;
    let style = Style::of(old).indent.or(Style::of(text).indent);
    let mut lines = indented(new, base, style)?;
    if start != line
        && let Some(first) = lines.first_mut()
    {
        *first = first.trim_start().to_owned();
    }
    let old_lines: Vec<String> = with_lf(old).lines().map(str::to_owned).collect();
    let mut new_text = with_old_lead(&old_lines, lines).join("\n");
    if old.ends_with('\n') {
        new_text.push('\n');
    }
    let put = weave(old, &new_text, Style::of(text).ending);
    if put == old {
        return Ok(Edited::AlreadyThere);
    }
    let below = text.get(range.end..).unwrap_or("");
    Ok(Edited::Text(format!("{}{put}{below}", text.get(..start).unwrap_or(""))))
}

fn blanks(line: &str) -> &str {
    let end = line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len());
    line.get(..end).unwrap_or("")
}

/// The lines at another indentation.
fn indented(lines: &[&str], base: &str, style: Option<Indent>) -> Result<Vec<String>, EditRefusal> {
    let own = lines.first().map_or("", |line| blanks(line));
    if own.is_empty() && !base.is_empty() && is_all_but_first(lines, base) {
        let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        if let Some(first) = out.first_mut() {
            first.insert_str(0, base);
        }
        return Ok(out);
    }
    let unit = Style::of(&lines.join("\n")).indent;
    let mut moved = false;
    let mut out = Vec::with_capacity(lines.len());
    for line in lines {
        if line.trim().is_empty() {
            out.push(String::new());
            continue;
        }
        let refuse = |why: &str| {
            EditRefusal::new(
                RefusalKind::Indentation,
                format!(
                    "`{}` {why}; send the item with the indentation it has in the file ({:?} before its first line)",
                    line.trim(),
                    base
                ),
            )
        };
        let inner = blanks(line).strip_prefix(own).ok_or_else(|| refuse("stands left of the item's first line"))?;
        let inner = match (style, unit) {
            (Some(Indent::Tabs), Some(Indent::Spaces(width))) if inner.contains(' ') => {
                if inner.contains('\t') || inner.len() % width != 0 {
                    return Err(refuse("has an indentation that is no whole number of tabs"));
                }
                "\t".repeat(inner.len() / width)
            }
            (Some(Indent::Spaces(width)), _) if inner.contains('\t') => {
                if inner.contains(' ') {
                    return Err(refuse("mixes tabs and spaces"));
                }
                " ".repeat(width * inner.len())
            }
            (Some(Indent::Tabs | Indent::Spaces(_)) | None, _) => inner.to_owned(),
        };
        let line_out = format!("{base}{inner}{}", line.trim_start_matches([' ', '\t']));
        moved |= line_out != **line;
        out.push(line_out);
    }
    if moved && let Some(line) = lines.iter().find(|line| opens_string(line)) {
        let message = format!(
            "`{}` seems to start a text of several lines, whose blanks must not change; send the item with the indentation it has in the file ({base:?} before its first line)",
            line.trim()
        );
        return Err(EditRefusal::new(RefusalKind::Indentation, message));
    }
    Ok(out)
}

/// Only the first line lacks the indentation, as when a model copies from where the item's name starts: the closing
/// bracket stands where it must.
fn is_all_but_first(lines: &[&str], base: &str) -> bool {
    let closes =
        lines.last().is_some_and(|line| blanks(line) == base && line.trim_start().starts_with(['}', ')', ']']));
    lines.len() > 1 && closes && lines.iter().skip(1).all(|line| line.trim().is_empty() || line.starts_with(base))
}

/// An odd number of quotes: a string that goes on in the next line. Quotes in a character or behind a backslash are
/// none, nor are those in a comment; `//` may also stand in a string, so the whole line must be odd as well.
fn opens_string(line: &str) -> bool {
    let odd = |text: &str| text.matches('"').count() % 2 == 1 || text.matches('`').count() % 2 == 1;
    let line = line.replace("\\\\", "").replace("\\\"", "").replace("'\"'", "");
    odd(&line) && odd(line.split("//").next().unwrap_or(&line))
}

/// What a leading line of an item is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    Documentation,
    Attribute,
}

/// The new item below the documentation or the attributes of the old one, where it brings none of its own.
fn with_old_lead(old: &[String], new: Vec<String>) -> Vec<String> {
    let (old_lead, new_lead) = (lead(old), lead(&new));
    let has = |lead: &[Lead], kind| lead.contains(&kind);
    let missing: Vec<Lead> = [Lead::Documentation, Lead::Attribute]
        .into_iter()
        .filter(|kind| has(&old_lead, *kind) && !has(&new_lead, *kind))
        .collect();
    let of = |lines: &[String], lead: &[Lead], kind: Lead| -> Vec<String> {
        lines.iter().zip(lead).filter(|(_, own)| **own == kind).map(|(line, _)| line.clone()).collect()
    };
    match missing.as_slice() {
        [] => new,
        [Lead::Documentation] => [of(old, &old_lead, Lead::Documentation), new].concat(),
        [Lead::Attribute] => {
            let rest = new.get(new_lead.len()..).unwrap_or(&[]).to_vec();
            let own = new.get(..new_lead.len()).unwrap_or(&[]).to_vec();
            [own, of(old, &old_lead, Lead::Attribute), rest].concat()
        }
        [..] => [old.get(..old_lead.len()).unwrap_or(&[]).to_vec(), new].concat(),
    }
}

/// The kinds of an item's leading lines. An attribute on the line of the item itself belongs to the item.
fn lead(lines: &[String]) -> Vec<Lead> {
    let mut out = Vec::new();
    let mut rest = lines.iter().map(|line| line.trim()).peekable();
    while let Some(line) = rest.next() {
        let (kind, open, close) = if line.starts_with("//") {
            out.push(Lead::Documentation);
            continue;
        } else if line.starts_with("/*") {
            (Lead::Documentation, "/*", "*/")
        } else if line.starts_with("#[") {
            (Lead::Attribute, "[", "]")
        } else if line.starts_with('@') {
            (Lead::Attribute, "(", ")")
        } else {
            break;
        };
        let mut depth = 0_usize;
        let mut taken = 0;
        let mut line = line;
        loop {
            taken += 1;
            depth = (depth + line.matches(open).count()).saturating_sub(line.matches(close).count());
            if depth == 0 {
                break;
            }
            match rest.next() {
                Some(next) => line = next,
                None => return out,
            }
        }
        let ends = kind == Lead::Attribute && open == "(" || line.ends_with(close);
        if !ends {
            break;
        }
        out.extend(std::iter::repeat_n(kind, taken));
    }
    out
}
