//! Text from outside as data within a Markdown page.
//!
//! Invariant: what comes out makes no heading, link, picture or tag, ends no fence or span that it stands in, and has no
//! character that changes what is seen. A page is read as text as often as it is rendered, so little is escaped. Absent:
//! our own marks.

use crate::domain::text::sanitize;

/// Characters of a text that stands in one line.
const LINE: usize = 400;

/// One line of prose. Code spans in it stay; links, pictures and tags become text.
pub(super) fn line(text: &str) -> String {
    let clean = sanitize::plain(text.trim());
    let mut said = String::with_capacity(clean.len());
    let mut rest = shortened(&clean);
    while let Some(at) = rest.find('`') {
        let (head, tail) = rest.split_at(at);
        plain(&mut said, head);
        let ticks = run(tail);
        match after_span(tail, ticks) {
            Some(end) => {
                said.push_str(tail.get(..end).unwrap_or_default());
                rest = tail.get(end..).unwrap_or_default();
            }
            None => {
                said.push_str(&"\\`".repeat(ticks));
                rest = tail.get(ticks..).unwrap_or_default();
            }
        }
    }
    plain(&mut said, rest);
    if rest.len() < clean.len() && shortened(&clean).len() < clean.len() {
        said.push('…');
    }
    said
}

fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(LINE).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// Backticks at the beginning.
fn run(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// Where the code span ends that begins here, if one does.
fn after_span(text: &str, ticks: usize) -> Option<usize> {
    let mut at = ticks;
    loop {
        at += text.get(at..)?.find('`')?;
        let closing = run(text.get(at..)?);
        at += closing;
        if closing == ticks {
            return Some(at);
        }
    }
}

fn plain(said: &mut String, text: &str) {
    let mut before = ' ';
    for character in text.chars() {
        match character {
            '\\' | '<' => said.push('\\'),
            '(' | '[' if before == ']' => said.push('\\'),
            '[' if before == '!' => said.push('\\'),
            _ => {}
        }
        said.push(character);
        before = character;
    }
}

/// One line of code: a span that nothing in it closes.
pub(super) fn code(text: &str) -> String {
    let clean = sanitize::visible(text).replace(['\n', '\t'], " ");
    let ticks = "`".repeat(longest(&clean) + 1);
    let edge = clean.is_empty() || clean.starts_with('`') || clean.ends_with('`');
    if edge { format!("{ticks} {clean} {ticks}") } else { format!("{ticks}{clean}{ticks}") }
}

/// A fenced block that nothing in it closes. Nothing is hidden in it: characters that are obeyed stand as numbers.
pub(super) fn fence(info: &str, text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| sanitize::visible(line).into_owned()).collect();
    let ticks = "`".repeat(lines.iter().map(|line| longest(line) + 1).max().unwrap_or(3).max(3));
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("{ticks}{info}\n{body}{ticks}\n")
}

/// The longest run of backticks.
fn longest(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// A link to a page in the same folder.
pub(super) fn link(name: &str) -> String {
    let safe = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | '/');
    if name.chars().all(safe) { format!("[{name}]({name})") } else { format!("{} ({})", line(name), code(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_makes_no_mark_of_its_own() {
        assert_eq!(line("make `Client::send` faster"), "make `Client::send` faster");
        assert_eq!(
            line("see [this](http://x) ![p][q] <img src=x>"),
            "see [this]\\(http://x) !\\[p]\\[q] \\<img src=x>"
        );
        assert_eq!(line("a `Vec<u8>` and a Vec<u8> and a lone `"), "a `Vec<u8>` and a Vec\\<u8> and a lone \\`");
        assert_eq!(line("``x` <b>`` <i>"), "``x` <b>`` \\<i>");
        assert_eq!(line("ends \\<b>"), "ends \\\\\\<b>");
        assert_eq!(line("two\n# lines\u{202e}\u{1b}[2J"), "two # lines");
        assert_eq!(line(&"x".repeat(500)).chars().count(), 401);
    }

    #[test]
    fn code_and_fences_cannot_be_closed_from_inside() {
        assert_eq!(code("cargo check"), "`cargo check`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("x\u{202e}y"), "`x<U+202E>y`");
        assert_eq!(fence("text", "a\n```\n# b"), "````text\na\n```\n# b\n````\n");
        assert_eq!(fence("diff", " ````\r\n"), "`````diff\n ````\n`````\n");
        assert_eq!(fence("", ""), "```\n```\n");
    }
}
