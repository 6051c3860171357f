//! How views say what came from files, commands and models.
//!
//! Invariant: what is shown holds no character that is obeyed or that reorders text, and no line that is longer than
//! [`WIDTH`]. A message has at most [`HEIGHT`] lines: one client ends at a pop-up that is taller than its screen.
//! Absent: what the words mean.

use crate::domain::text::{Encoding, body, lines, sanitize};

/// Characters of a line of a message. A pop-up of 80 columns has no room for more.
pub const WIDTH: usize = 100;

/// Lines of a message.
pub const HEIGHT: usize = 12;

/// Characters of outside text in a title.
pub const TITLE: usize = 60;

/// One line, cut at so many characters. A tab stays two blanks wide; what is obeyed is shown by its number.
pub fn line(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len().min(width * 2));
    let mut room = width;
    for character in body(text).chars() {
        let shown = match character {
            '\t' => "  ".to_owned(),
            other if other == '\n' || sanitize::is_obeyed(other) => format!("<U+{:04X}>", u32::from(other)),
            other => other.to_string(),
        };
        let wide = shown.chars().count();
        if wide > room {
            out.push('…');
            break;
        }
        room -= wide;
        out.push_str(&shown);
    }
    out
}

/// A sentence in lines of so many characters at most; a longer word is cut.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = line(word, width.saturating_sub(1));
        match out.last_mut() {
            Some(last) if last.chars().count() + 1 + word.chars().count() <= width => {
                last.push(' ');
                last.push_str(&word);
            }
            Some(_) | None => out.push(word),
        }
    }
    out
}

/// The first line of some outside words, for a title.
pub fn title(text: &str) -> String {
    let text = text.trim();
    let first = text.lines().next().unwrap_or("");
    let mut cut = line(first, TITLE);
    if first.len() < text.len() && !cut.ends_with('…') {
        cut.push('…');
    }
    cut
}

/// Every line of a text, each cut; at most so many, of which the last then says how many are left out.
pub fn some(text: &str, mark: &str, most: usize) -> Vec<String> {
    let all = lines(text);
    let shown = if all.len() > most { most.saturating_sub(1) } else { all.len() };
    let mut out: Vec<String> = all.iter().take(shown).map(|one| format!("{mark}{}", line(one, WIDTH))).collect();
    if all.len() > shown && most > 0 {
        out.push(format!("{mark}… {} more", crate::domain::text::counted(all.len() - shown, "line")));
    }
    out
}

/// Two texts one under the other in so many lines: what the one does not need the other has.
pub fn two_sides(old: &str, new: &str, most: usize) -> Vec<String> {
    let (olds, news) = (lines(old).len(), lines(new).len());
    let for_old = olds.min((most / 2).max(most.saturating_sub(news)));
    let for_new = news.min(most.saturating_sub(for_old));
    let mut out = some(old, "- ", for_old);
    out.extend(some(new, "+ ", for_new));
    out
}

/// Lines of a message as one text, with no more than [`HEIGHT`] of them.
pub fn message(lines: Vec<String>) -> String {
    let mut kept = lines;
    kept.truncate(HEIGHT);
    kept.join("\n")
}

/// How wide a line without its ending is, as the client counts.
pub fn width(text: &str, encoding: Encoding) -> u32 {
    let width: usize = match encoding {
        Encoding::Utf8 => body(text).len(),
        Encoding::Utf16 => body(text).encode_utf16().count(),
        Encoding::Utf32 => body(text).chars().count(),
    };
    u32::try_from(width).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_and_shows_what_would_be_obeyed() {
        assert_eq!(line("\tlet a = 1;\r\n", 100), "  let a = 1;");
        assert_eq!(line("abcdef", 3), "abc…");
        assert_eq!(line("a\u{1b}[2J\u{202e}b", 100), "a<U+001B>[2J<U+202E>b");
        assert_eq!(title("first\nsecond"), "first…");
    }

    #[test]
    fn a_sentence_is_wrapped_and_no_line_is_too_wide() {
        assert_eq!(wrapped("write it into the file now", 10), ["write it", "into the", "file now"]);
        assert_eq!(wrapped("/a/very/long/path it is", 10), ["/a/very/l…", "it is"]);
    }

    #[test]
    fn two_sides_share_the_room() {
        let text = |n: usize| (0..n).map(|i| format!("l{i}\n")).collect::<String>();
        assert_eq!(two_sides(&text(2), &text(2), 8).join(" "), "- l0 - l1 + l0 + l1");
        assert_eq!(two_sides(&text(9), &text(1), 4).join(" "), "- l0 - l1 - … 7 lines more + l0");
        assert_eq!(two_sides("", &text(9), 4).join(" "), "+ l0 + l1 + l2 + … 6 lines more");
        assert_eq!(two_sides(&text(9), &text(9), 4).join(" "), "- l0 - … 8 lines more + l0 + … 8 lines more");
    }

    #[test]
    fn widths_are_in_the_units_of_the_client() {
        assert_eq!([Encoding::Utf8, Encoding::Utf16, Encoding::Utf32].map(|e| width("a😀\r\n", e)), [5, 3, 2]);
    }
}
