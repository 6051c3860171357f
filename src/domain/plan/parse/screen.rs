//! Characters that a reader cannot see, or that make text look like other text.
//!
//! **Invariant:** what is approved is what was seen. **Absent:** look-alike letters; fonts differ.

use super::scan::fix;
use crate::domain::problem::{Problem, Severity};

/// One error for each run of characters that must not stand in a plan.
pub(super) fn findings(text: &str) -> Vec<Problem> {
    let mut out: Vec<Problem> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let line_end = c == '\r' && chars.peek().is_some_and(|(_, next)| *next == '\n');
        let mark = c == '\u{feff}' && at == 0;
        if line_end || mark || !hidden(c) {
            continue;
        }
        let end = at + c.len_utf8();
        if let Some(last) = out.last_mut().filter(|last| last.range.end == at) {
            last.range.end = end;
            last.fix = fix("delete them", last.range.clone(), "");
            continue;
        }
        out.push(Problem {
            code: "hidden-character".to_owned(),
            range: at..end,
            severity: Severity::Error,
            message: format!(
                "U+{:04X} cannot be seen, and what is approved must be what was seen; delete it",
                u32::from(c)
            ),
            fix: fix("delete it", at..end, ""),
        });
    }
    out
}

/// Control characters, bidirectional marks and invisible format characters. Joiners are not among them: emoji and
/// some scripts need them.
pub(crate) fn hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}
