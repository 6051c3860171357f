//! Changes as unified diffs: a patch for git, and a diff for people.
//!
//! Invariant: `git apply --unidiff-zero` of [`patch`] on the `before` entries gives what `apply_subset` gives for the
//! same hunks. Line numbers are counted for the kept hunks alone; git goes by them when a hunk has no context.
//! Absent: colours, and word marks within a line.

use super::hunks::changes;
use super::model::{Entry, FileChange, HunkKind};
use crate::domain::ids::HunkId;
use crate::domain::text::lines;
use std::fmt::Write;
use std::ops::Range;

/// One git patch with the kept hunks in file order, without context lines. Empty if none is kept.
pub fn patch(changes: &[FileChange], kept: impl Fn(&HunkId) -> bool) -> String {
    changes.iter().map(|change| file_patch(change, &kept)).collect()
}

fn file_patch(change: &FileChange, kept: &impl Fn(&HunkId) -> bool) -> String {
    let mut mode = String::new();
    let mut body = String::new();
    let mut names = (format!("a/{}", change.path), format!("b/{}", change.path));
    // lines that the kept hunks above have added, less those they took away
    let mut shift: i64 = 0;
    for hunk in change.hunks.iter().filter(|hunk| kept(&hunk.id)) {
        let old = lines(change.old_text(hunk));
        let new = lines(change.new_text(hunk));
        match &hunk.kind {
            HunkKind::Create => {
                mode = format!("new file mode {}\n", git_mode(&change.after));
                names.0 = "/dev/null".to_owned();
                push_hunk(&mut body, &old, &new, 0, 0);
            }
            HunkKind::Delete => {
                mode = format!("deleted file mode {}\n", git_mode(&change.before));
                names.1 = "/dev/null".to_owned();
                push_hunk(&mut body, &old, &new, 0, 0);
            }
            HunkKind::Mode => {
                let (old, new) = (git_mode(&change.before), git_mode(&change.after));
                if old != new {
                    mode = format!("old mode {old}\nnew mode {new}\n");
                }
            }
            HunkKind::Lines { old_line, .. } => {
                push_hunk(&mut body, &old, &new, i64::from(*old_line), i64::from(*old_line) + shift);
                shift += count(new.len()) - count(old.len());
            }
        }
    }
    if mode.is_empty() && body.is_empty() {
        return String::new();
    }
    let quoted = |side: &str| quote(&format!("{side}/{}", change.path));
    let mut out = format!("diff --git {} {}\n{mode}", quoted("a"), quoted("b"));
    if body.is_empty() {
        // git asks for this line where an empty file comes or goes
        if matches!((&change.before, &change.after), (Entry::Absent, _) | (_, Entry::Absent)) {
            let new = matches!(change.before, Entry::Absent);
            out.push_str(if new { "index 0000000..e69de29\n" } else { "index e69de29..0000000\n" });
        }
        return out;
    }
    // a name with a blank is ended by a tab, as git writes it
    let ended = |name: &str| if name.contains(' ') { format!("{}\t", quote(name)) } else { quote(name) };
    let _ = write!(out, "--- {}\n+++ {}\n{body}", ended(&names.0), ended(&names.1));
    out
}

fn count(lines: usize) -> i64 {
    i64::try_from(lines).unwrap_or(i64::MAX)
}

fn git_mode(entry: &Entry) -> &'static str {
    match entry {
        Entry::File { mode, .. } if mode & 0o111 != 0 => "100755",
        Entry::File { .. } | Entry::Absent => "100644",
    }
}

/// A name as git reads it: in quotes if it holds a quote or a backslash. Control characters no path has.
fn quote(name: &str) -> String {
    if name.contains(['"', '\\']) {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        name.to_owned()
    }
}

/// A hunk without context; positions are lines above it. A side without lines names the line above.
fn push_hunk(out: &mut String, old: &[&str], new: &[&str], old_at: i64, new_at: i64) {
    if old.is_empty() && new.is_empty() {
        return;
    }
    let side = |at: i64, lines: usize| format!("{},{lines}", if lines == 0 { at } else { at + 1 });
    let _ = writeln!(out, "@@ -{} +{} @@", side(old_at, old.len()), side(new_at, new.len()));
    push_lines(out, '-', old);
    push_lines(out, '+', new);
}

fn push_lines(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// A diff of two texts for reading, with so many lines of context; empty if they are equal.
pub fn diff(old: &str, new: &str, context: usize) -> String {
    let (old, new) = (lines(old), lines(new));
    let changed = changes(&old, &new);
    let part = |lines: &'_ [&str], range: Range<usize>, sign: char, out: &mut String| {
        push_lines(out, sign, lines.get(range).unwrap_or(&[]));
    };
    let mut out = String::new();
    let mut rest = changed.as_slice();
    while let Some(first) = rest.first() {
        // changes whose contexts meet are shown as one
        let joined =
            rest.iter().zip(rest.iter().skip(1)).take_while(|(a, b)| b.old.start - a.old.end <= 2 * context).count();
        let (group, later) = rest.split_at(joined + 1);
        rest = later;
        let Some(last) = group.last() else { break };
        let head = context.min(first.old.start);
        let tail = context.min(old.len() - last.old.end);
        let from = (first.old.start - head, first.new.start - head);
        let to = (last.old.end + tail, last.new.end + tail);
        let side = |from: usize, to: usize| format!("{},{}", if from == to { from } else { from + 1 }, to - from);
        let _ = writeln!(out, "@@ -{} +{} @@", side(from.0, to.0), side(from.1, to.1));
        let mut at = from.0;
        for run in group {
            part(&old, at..run.old.start, ' ', &mut out);
            part(&old, run.old.clone(), '-', &mut out);
            part(&new, run.new.clone(), '+', &mut out);
            at = run.old.end;
        }
        part(&old, at..to.0, ' ', &mut out);
    }
    out
}

/// The diff of one hunk as a reviewer sees it, with context from `before` around it.
pub fn hunk_diff(change: &FileChange, id: &HunkId, context: usize) -> String {
    let Some(hunk) = change.hunk(id) else { return String::new() };
    let (before, after) = (change.before.text(), change.after.text());
    match &hunk.kind {
        HunkKind::Create | HunkKind::Delete => diff(before, after, context),
        HunkKind::Mode => format!("mode {} -> {}\n", git_mode(&change.before), git_mode(&change.after)),
        HunkKind::Lines { old, .. } => {
            let above = before.get(..old.start).unwrap_or("");
            let below = before.get(old.end..).unwrap_or("");
            diff(before, &format!("{above}{}{below}", change.new_text(hunk)), context)
        }
    }
}
