//! Random texts in which a third of the lines is blank or a lone brace, and changes of them.

use super::*;
use crate::domain::change::subset::apply_subset;
use proptest::prelude::*;

/// A line: often a brace or blank, sometimes one of a few that repeat, sometimes with CRLF.
pub(crate) fn line() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        3 => prop::sample::select(vec!["", "}", "    }", "{", "});"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec!["    return x;", "    let x = 1;", "else {"]).prop_map(str::to_owned),
        4 => (0..400_u32).prop_map(|n| format!("    call_{n}(é);")),
    ];
    (text, prop::bool::weighted(0.1)).prop_map(|(text, crlf)| format!("{text}{}", if crlf { "\r\n" } else { "\n" }))
}

fn cut(mut lines: Vec<String>, newline: bool) -> String {
    if !newline && let Some(last) = lines.last_mut() {
        *last = last.trim_end_matches(['\r', '\n']).to_owned();
        if last.is_empty() {
            lines.pop();
        }
    }
    lines.concat()
}

/// What an edit does to a run of lines: skip so many, take out so many, put these in.
pub(crate) type Script = Vec<(usize, usize, Vec<String>)>;

pub(crate) fn script(size: usize) -> impl Strategy<Value = Script> {
    prop::collection::vec((0..14_usize, 0..4_usize, prop::collection::vec(line(), 0..4)), 0..size)
}

pub(crate) fn edited(lines: &[String], script: &Script) -> Vec<String> {
    let mut rest = lines.iter().cloned();
    let mut out = Vec::new();
    for (skip, drop, put) in script {
        out.extend(rest.by_ref().take(*skip));
        rest.by_ref().take(*drop).for_each(drop_line);
        out.extend(put.iter().cloned());
    }
    out.extend(rest);
    out
}

fn drop_line(_: String) {}

/// A file's lines before and after, with and without a final newline.
pub(crate) fn changes() -> impl Strategy<Value = FileChange> {
    (prop::collection::vec(line(), 0..60), script(8), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2)).prop_map(
        |(lines, script, a, b, mode)| {
            let after = cut(edited(&lines, &script), b);
            let before = cut(lines, a);
            change(&file(&before), &if mode { program(&after) } else { file(&after) })
        },
    )
}

/// The ids that the bits choose.
pub(crate) fn chosen(change: &FileChange, bits: u32) -> Vec<HunkId> {
    let hunks = change.hunks.iter().enumerate().filter(|(n, _)| bits >> (n % 32) & 1 == 1);
    hunks.map(|(_, hunk)| hunk.id.clone()).collect()
}

pub(crate) fn subset(change: &FileChange, kept: &[HunkId]) -> Entry {
    apply_subset(change, |id| kept.contains(id))
}
