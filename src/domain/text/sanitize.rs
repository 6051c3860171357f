//! Makes text from outside harmless for whoever shows it: a terminal, an editor, a page.
//!
//! Invariant: what comes out holds no character that a terminal obeys, and none that shows text in another order than
//! it is stored. Absent: styles and marks of our own; whoever adds them does so afterwards.

use std::borrow::Cow;

/// A terminal obeys it, or it reorders what is shown. Newline and tab count as obeyed; callers that want them keep
/// them. JSON's own line ends are no text from outside, see [`is_obeyed`].
fn is_control(character: char) -> bool {
    character.is_control() || is_bidirectional(character)
}

/// Like a control, but for the line ends and tabs that layout is made of.
pub fn is_obeyed(character: char) -> bool {
    character != '\n' && character != '\t' && is_control(character)
}

fn is_bidirectional(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line: escape sequences, controls and bidirectional marks are gone; line ends and tabs are blanks.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_parameters(&mut rest),
            '\n' | '\t' => clean.push(' '),
            other if is_control(other) => {}
            other => clean.push(other),
        }
    }
    Cow::Owned(clean)
}

/// One line in which nothing may be hidden (a hunk, a plan): each such character is shown by its number instead.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|character| {
        if is_obeyed(character) { format!("<U+{:04X}>", u32::from(character)) } else { character.to_string() }
    });
    Cow::Owned(shown.collect())
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// After ESC: a control sequence up to its final byte, a string up to its terminator, or two characters.
fn skip_escape(rest: &mut Rest<'_>) {
    match rest.next() {
        Some('[') => skip_parameters(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(character) = rest.next() {
                let terminated = match character {
                    '\u{7}' | '\u{9c}' => true,
                    '\u{1b}' => rest.next_if_eq(&'\\').is_some(),
                    _ => false,
                };
                if terminated {
                    return;
                }
            }
        }
        Some(' '..='/') => {
            rest.next();
        }
        Some(_) | None => {}
    }
}

fn skip_parameters(rest: &mut Rest<'_>) {
    while let Some(character) = rest.next_if(|character| (' '..='~').contains(character)) {
        if ('@'..='~').contains(&character) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_stripped_with_their_arguments() {
        assert_eq!(plain("a\u{1b}[31;1mred\u{1b}[0mb"), "aredb");
        assert_eq!(plain("\u{1b}]0;title\u{7}x\u{1b}]8;;http://e\u{1b}\\link"), "xlink");
        assert_eq!(plain("\u{9b}2Jx\u{1b}(By\rz\u{8}"), "xyz");
        assert_eq!(plain("two\nlines\there"), "two lines here");
        assert_eq!(plain("ab\u{202e}cd\u{2069}"), "abcd");
        assert_eq!(plain("größe 👩‍💻"), "größe 👩‍💻");
    }

    #[test]
    fn nothing_is_hidden_in_a_hunk() {
        assert_eq!(visible("if a\u{202e} // x\u{1b}[2K\r"), "if a<U+202E> // x<U+001B>[2K<U+000D>");
    }

    proptest! {
        #[test]
        fn nothing_that_is_obeyed_comes_out(text in "[\\PC\u{0}-\u{9f}\u{200e}\u{202a}-\u{202e}\u{2066}-\u{2069}]{0,60}") {
            prop_assert!(!plain(&text).chars().any(is_control));
            prop_assert!(!visible(&text).chars().any(is_obeyed));
        }
    }
}
