//! Long text made short: head and tail, with what was left out and how to get it (C15).
//!
//! Invariant: text within the limits comes back as it is; what is shown is whole lines of the text. Absent: keeping the
//! rest; the caller does.

/// How much of a tool's result a model sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Lines in all.
    pub lines: usize,
    /// Bytes in all.
    pub bytes: usize,
}

/// About 4,000 tokens: a quarter of the smallest window (16k) that can do a step at all.
pub const RESULT: Limit = Limit { lines: 400, bytes: 16_000 };

/// Bytes of one line beyond which it is shown cut: minified files.
const LINE: usize = 1_000;

/// The text within the limit, two thirds from its head and the rest from its tail, with a line between that says how
/// many are left out; `more` says how to see them.
pub fn cut(text: &str, limit: Limit, more: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= limit.lines && text.len() <= limit.bytes {
        return None;
    }
    let (head_lines, head_bytes) = (limit.lines * 2 / 3, limit.bytes * 2 / 3);
    let head = take(lines.iter(), head_lines, head_bytes);
    let rest = lines.get(head.len()..).unwrap_or(&[]);
    let mut tail = take(rest.iter().rev(), limit.lines - head_lines, limit.bytes - head_bytes);
    tail.reverse();
    let left = rest.len() - tail.len();
    let mut shown = head.join("\n");
    if left > 0 {
        shown.push_str(&format!("\n… {left} more lines; {more}\n"));
    } else {
        shown.push('\n');
    }
    shown.push_str(&tail.join("\n"));
    shown.push('\n');
    Some(shown)
}

fn take<'a, 'b: 'a>(lines: impl Iterator<Item = &'a &'b str>, most: usize, bytes: usize) -> Vec<String> {
    let mut used = 0;
    let mut taken = Vec::new();
    for line in lines.take(most) {
        let line = short(line);
        used += line.len() + 1;
        if used > bytes {
            break;
        }
        taken.push(line);
    }
    taken
}

/// One line, at most 1,000 bytes of it.
fn short(line: &str) -> String {
    if line.len() <= LINE {
        return line.to_owned();
    }
    let end = (0..=LINE).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    format!("{}… ({} bytes more in this line)", line.get(..end).unwrap_or(""), line.len() - end)
}

/// The first characters of a text on one line, for reports.
pub fn one_line(text: &str, most: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= most { flat } else { flat.chars().take(most).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_keeps_head_and_tail() {
        let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let told = cut(&text, Limit { lines: 6, bytes: 1_000 }, "read src/a.rs from 5 to 18 for more");
        insta::assert_snapshot!(told.unwrap_or_default(), @r"
        line 1
        line 2
        line 3
        line 4
        … 14 more lines; read src/a.rs from 5 to 18 for more
        line 19
        line 20
        ");
        assert_eq!(cut("short\n", RESULT, ""), None);
    }

    #[test]
    fn a_single_endless_line_is_cut_at_a_character() {
        let text = "é".repeat(20_000);
        let told = cut(&text, RESULT, "").unwrap_or_default();
        assert!(told.len() < 1_200, "{}", told.len());
        assert!(told.contains("(39000 bytes more in this line)"));
    }
}
