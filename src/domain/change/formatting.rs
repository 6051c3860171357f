//! What a formatter may change: only what lies inside items that the step itself changed.
//!
//! Invariant: every other byte of the step's text stays, so that a formatter's opinion never becomes a hunk in code
//! that nobody meant to touch. Line ends belong to the file and not to an item: each line keeps its own, and a last
//! line without one stays so. Absent: running the formatter.

use super::hunks::changes;
use crate::domain::symbols::FileSymbols;
use crate::domain::text::lines;
use std::ops::Range;

/// The step's text with those of the formatter's changes that lie inside changed items.
///
/// `items` is the outline of `made`. Outside of all items (imports, module docs) a formatter's change is kept where it
/// touches a line that the step changed.
pub fn within_changed(base: &str, made: &str, formatted: &str, items: &FileSymbols) -> String {
    let (base, made_lines, formatted_lines) = (lines(base), lines(made), lines(formatted));
    let starts = starts(&made_lines);
    let byte = |line: usize| starts.get(line).copied().unwrap_or(made.len());
    let own: Vec<Range<usize>> =
        changes(&base, &made_lines).into_iter().map(|run| byte(run.new.start)..byte(run.new.end)).collect();
    let mut allowed = own.clone();
    for range in &own {
        let around = items
            .symbols
            .iter()
            .filter(|item| item.range.start <= range.start && range.end <= item.range.end.saturating_add(1));
        allowed.extend(
            around.min_by_key(|item| item.range.len()).map(|item| item.range.start..item.range.end.saturating_add(1)),
        );
        // A new item is an own range as a whole; items inside it are covered by it.
    }
    let (made_bodies, formatted_bodies) = (bodies(&made_lines), bodies(&formatted_lines));
    let end = |line: usize| {
        let mut known = made_lines.get(..=line).unwrap_or(&made_lines).iter().rev().map(|line| split(line).1);
        known.find(|end| !end.is_empty()).unwrap_or("\n")
    };
    let mut out = String::with_capacity(made.len());
    let mut at = 0;
    for run in changes(&made_bodies, &formatted_bodies) {
        let range = byte(run.old.start)..byte(run.old.end);
        let inside = allowed.iter().any(|allowed| allowed.start <= range.start && range.end <= allowed.end);
        if !inside {
            continue;
        }
        out.push_str(made.get(at..range.start).unwrap_or(""));
        for (line, body) in formatted_bodies.get(run.new).unwrap_or(&[]).iter().enumerate() {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(end(run.old.start));
            }
            out.push_str(body);
            out.push_str(end((run.old.start + line).min(run.old.end.saturating_sub(1).max(run.old.start))));
        }
        at = range.end;
    }
    out.push_str(made.get(at..).unwrap_or(""));
    if !made.ends_with('\n') {
        let whole = split(&out).0.len();
        out.truncate(whole);
    }
    out
}

fn bodies<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().map(|line| split(line).0).collect()
}

/// A line, or a text, and its last line end.
fn split(line: &str) -> (&str, &str) {
    let body = line.strip_suffix('\n').map_or(line, |body| body.strip_suffix('\r').unwrap_or(body));
    line.split_at(body.len())
}

fn starts(lines: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let mut starts = vec![0];
    for line in lines {
        at += line.len();
        starts.push(at);
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::ContentHash;

    #[track_caller]
    fn check(base: &str, made: &str, formatted: &str, expect: &str) {
        let items = FileSymbols { content: ContentHash::of(made), symbols: Vec::new(), mentions: Vec::new() };
        assert_eq!(within_changed(base, made, formatted, &items), expect);
    }

    #[test]
    fn only_changed_lines_are_formatted() {
        check("a( )\nb( )\n", "a( )\nb( 1 )\n", "a()\nb(1)\n", "a( )\nb( 1 )\n");
        check("a( )\nx\ny\nb( )\n", "a( )\nx\ny\nb( 1 )\n", "a()\nx\ny\nb(1)\n", "a( )\nx\ny\nb(1)\n");
    }
    #[test]
    fn each_line_keeps_its_own_end() {
        check("a( )\r\nb\n", "a( 1 )\r\nb\n", "a(1)\nb\n", "a(1)\r\nb\n");
        check("a( )\nb\r\n", "a( 1 )\nb\r\n", "a(\r\n 1)\r\nb\r\n", "a(\n 1)\nb\r\n");
        check("a\r\nb( )", "a\r\nb( 1 )", "a\nb(1)\n", "a\r\nb(1)");
        check("a\r\nb( )", "a\r\nb( 1 )", "a\nb(\n1)\n", "a\r\nb(\r\n1)");
        check("b( )", "b( 1 )", "b(1)\n", "b(1)");
    }
}
