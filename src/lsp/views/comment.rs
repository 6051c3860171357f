//! A goal that stands in the code: a comment that begins with `agent:`.
//!
//! Invariant: found in the text of the moment, by the marks that common languages put before a comment; no grammar is
//! asked, so that an unknown language has it too. Absent: the removal of the comment; the engine proposes it.

use crate::domain::text::body;
use regex::Regex;
use std::sync::LazyLock;

/// A comment that asks for something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comment {
    /// What it asks for.
    pub goal: String,
    /// 0-based first and last line.
    pub lines: (u32, u32),
    /// What is to go with it, as it stands: the whole lines with their endings where nothing else stands there, else
    /// the comment with the blanks that set it off.
    pub text: String,
}

/// `//`, `///`, `//!`, `#`, `--`, `;`, `%`, `"`, `'` (Visual Basic), `<!--`, `/*`, `/**`, `{-`, `(*`.
static OPENING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?P<mark>/{2,}!?|#+|--+|;+|%+|"+|'|<!--|/\*+|\{-|\(\*)[ \t]*agent:[ \t]*(?P<goal>.*)$"#).ok()
});

/// Lines of a block comment at most: what is not closed by then is no comment.
const LONGEST: usize = 40;

/// The comment on this 0-based line of the text; of a block, its first line counts or any below it.
pub fn at(text: &str, line: u32) -> Option<Comment> {
    let line = usize::try_from(line).ok()?;
    let first = line.saturating_sub(LONGEST);
    // A block that begins on the line ends so many below it; what lies farther off is not read.
    let rows: Vec<&str> = text.split_inclusive('\n').skip(first).take(2 * LONGEST + 2).collect();
    (0..=line - first).rev().find_map(|start| {
        let Comment { goal, lines: (from, to), text } = begins(&rows, start)?;
        let whole = |row: u32| u32::try_from(first).ok()?.checked_add(row);
        let found = Comment { goal, lines: (whole(from)?, whole(to)?), text };
        (usize::try_from(found.lines.1).ok()? >= line).then_some(found)
    })
}

fn begins(rows: &[&str], start: usize) -> Option<Comment> {
    let row = body(rows.get(start)?);
    let found = OPENING.as_ref()?.captures(row)?;
    let mark = found.name("mark")?;
    let before = row.get(..mark.start())?;
    // in the middle of a word or of a string it is no mark
    if before.chars().next_back().is_some_and(|before| !before.is_whitespace()) {
        return None;
    }
    let alone = before.trim().is_empty();
    let goal = found.name("goal")?.as_str();
    let whole = |last: usize| rows.get(start..=last).map(|rows| rows.concat());
    let at = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
    let Some(close) = closing(mark.as_str()) else {
        let goal = goal.trim().to_owned();
        let text = if alone { whole(start)? } else { row.get(before.trim_end().len()..)?.to_owned() };
        return (!goal.is_empty()).then_some(Comment { goal, lines: (at(start), at(start)), text });
    };
    let mut words = Vec::new();
    for (offset, row) in std::iter::once(goal).chain(rows.get(start + 1..)?.iter().map(|row| body(row))).enumerate() {
        let (said, rest) = match row.split_once(close) {
            Some((said, rest)) => (said, Some(rest)),
            None => (row, None),
        };
        // the stars down the side of a block are no words
        let said = if offset == 0 { said } else { said.trim_start().trim_start_matches(['*', '|']) };
        words.extend(Some(said.trim()).filter(|said| !said.is_empty()));
        if let Some(rest) = rest {
            let goal = words.join(" ");
            let last = start + offset;
            let text = if alone && rest.trim().is_empty() {
                whole(last)?
            } else {
                let all = whole(last)?;
                // Code before it keeps no blank at its end; code behind it moves to where the comment began.
                let from = if rest.trim().is_empty() { before.trim_end().len() } else { mark.start() };
                let behind = body(&all).len() - rest.trim_start().len();
                let to = if rest.trim().is_empty() { body(&all).len() - rest.len() } else { behind };
                all.get(from..to)?.to_owned()
            };
            return (!goal.is_empty()).then_some(Comment { goal, lines: (at(start), at(last)), text });
        }
        if offset == LONGEST {
            break;
        }
    }
    None
}

fn closing(mark: &str) -> Option<&'static str> {
    if mark.starts_with("/*") {
        return Some("*/");
    }
    match mark {
        "<!--" => Some("-->"),
        "{-" => Some("-}"),
        "(*" => Some("*)"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: u32, expect: &str) {
        let found = at(text, line).map(|found| {
            let (first, last) = found.lines;
            format!("{first}-{last} {} -{:?}", found.goal, found.text)
        });
        assert_eq!(found.as_deref().unwrap_or("none"), expect);
    }

    #[test]
    fn comments_of_common_languages_ask_for_something() {
        for mark in ["//", "///", "//!", "#", "##", "--", ";", ";;", "%", "\""] {
            let row = format!("  {mark} agent: make it so\r\n");
            check(&format!("a\n{row}b\n"), 1, &format!("1-1 make it so -{row:?}"));
        }
        check("<!-- agent: say it -->\n", 0, r#"0-0 say it -"<!-- agent: say it -->\n""#);
        check("/* Agent: say it */ x();\n", 0, r#"0-0 say it -"/* Agent: say it */ ""#);
        check("let a = 1; // agent: make it 2", 0, r#"0-0 make it 2 -" // agent: make it 2""#);
        check("f(1 /* agent: 2 */, 3)\n", 0, r#"0-0 2 -"/* agent: 2 */""#);
        check("f() /* agent: g */  \r\n", 0, r#"0-0 g -" /* agent: g */""#);
        check("(* agent: say it *)", 0, r#"0-0 say it -"(* agent: say it *)""#);
    }

    #[test]
    fn a_block_is_one_goal_from_each_of_its_lines() {
        let text = "x\n/** agent: make retries\n *  configurable\n */\ny\n";
        for line in 1..=3 {
            check(text, line, "1-3 make retries configurable -\"/** agent: make retries\\n *  configurable\\n */\\n\"");
        }
        check(text, 0, "none");
        check(text, 4, "none");
    }

    #[test]
    fn what_is_no_comment_asks_for_nothing() {
        check("agent: x\n", 0, "none");
        check("// agent:\n", 0, "none");
        check("// the agent: x\n", 0, "none");
        check("\"http://agent: x\"\n", 0, "none");
        check("/* agent: never closed\n", 0, "none");
        check("", 7, "none");
    }
}
