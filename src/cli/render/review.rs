//! Hunks as coloured differences.
//!
//! Invariant: every byte of a hunk is seen: characters that a terminal would obey are shown by number. Absent: the
//! question what to do with it; `walk` asks it.

use super::{Paper, Tone};
use crate::desk::{ReviewHunk, ReviewView, WhyView};
use crate::domain::change::{Decision, Flag, HunkState};

/// The list.
pub fn review(paper: &mut Paper, view: &ReviewView) {
    if view.hunks.is_empty() {
        paper.put(Tone::Plain, &format!("{}  {}: no hunk to show", view.task, view.words)).end();
    }
    for listed in &view.hunks {
        hunk(paper, listed);
        paper.end();
    }
    let counts = &view.counts;
    paper.field("hunks", Tone::Strong, &counts.words());
    if view.hidden > 0 {
        paper.next(&format!("planwright review {} --all", view.task), "lists the rejected ones too");
    }
    if counts.pending > 0 {
        paper.next(
            &format!("planwright accept {} HUNK…", view.task),
            "or reject, with --reason; or --file, --step, --all",
        );
    }
}

/// One hunk with all that a decision needs.
pub fn hunk(paper: &mut Paper, hunk: &ReviewHunk) {
    paper.put(Tone::Strong, &format!("{} {}:{}", hunk.id, hunk.path, hunk.line));
    paper.put(Tone::Faint, &format!("  step {}", hunk.step));
    if hunk.kind != "lines" {
        paper.put(Tone::Warn, &format!("  {}", hunk.kind));
    }
    let (tone, state) = state(hunk);
    paper.put(tone, &format!("  {state}")).end();
    if !hunk.verdict.is_empty() {
        paper.put(Tone::Faint, &format!("  {}", hunk.verdict)).end();
    }
    for flag in &hunk.flags {
        let said = match flag {
            Flag::OutsideFocus(focus) => format!("outside the focus {focus}"),
            Flag::Uncertain(reason) => format!("uncertain: {reason}"),
            Flag::Measure(what) => format!("changes what a check measures by: {what}"),
        };
        paper.put(Tone::Warn, &format!("  ! {said}")).end();
    }
    let whole = [&hunk.old, &hunk.new];
    let dos = whole.iter().all(|text| text.split_inclusive('\n').all(ends_as_dos));
    lines(paper, Tone::Plain, ' ', &hunk.context.0, dos);
    lines(paper, Tone::Bad, '-', &hunk.old, dos);
    lines(paper, Tone::Good, '+', &hunk.new, dos);
    if let Some(instead) = &hunk.touching {
        paper.put(Tone::Warn, "  stands there now:").end();
        lines(paper, Tone::Warn, '|', instead, dos);
    }
    lines(paper, Tone::Plain, ' ', &hunk.context.1, dos);
}

/// One hunk and its story.
pub fn why(paper: &mut Paper, view: &WhyView) {
    hunk(paper, &view.hunk);
    paper.end();
    let of_step = if view.reason.is_empty() { String::new() } else { format!(": {}", view.reason) };
    paper.field("step", Tone::Plain, &format!("{}{of_step}", view.hunk.step));
    for row in &view.decisions {
        let why = row.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        paper.field("decided", Tone::Plain, &format!("{}{why}", row.what));
    }
    for choice in &view.choices {
        paper.next(&choice.command, &choice.means);
    }
}

/// A line in CR LF, or a last one without an end.
fn ends_as_dos(line: &str) -> bool {
    line.ends_with("\r\n") || !line.ends_with(['\n', '\r'])
}

fn state(hunk: &ReviewHunk) -> (Tone, String) {
    let words = hunk.words();
    match (hunk.state, hunk.decision.as_ref().map(|(decision, _)| decision)) {
        (HunkState::Open, Some(Decision::Reject(Some(reason)))) => (Tone::Faint, format!("{words}: {reason}")),
        (HunkState::Open, Some(Decision::Reject(None))) => (Tone::Faint, words.to_owned()),
        (HunkState::Open, None | Some(Decision::Accept | Decision::Undo)) => (Tone::Warn, words.to_owned()),
        (HunkState::Accepted, _) => (if hunk.on_disk { Tone::Good } else { Tone::Warn }, words.to_owned()),
        (HunkState::Touched, _) => (Tone::Bad, format!("{words}: something else stands there now")),
    }
}

/// Lines with their mark; a last line without an end says so, as `diff` does. Where all lines end in CR LF the CR goes
/// without saying; where only some do, it is part of the change and is seen.
fn lines(paper: &mut Paper, tone: Tone, mark: char, text: &str, dos: bool) {
    for line in text.split_inclusive('\n') {
        let body = line.strip_suffix('\n').unwrap_or(line);
        let body = if dos { body.strip_suffix('\r').unwrap_or(body) } else { body };
        paper.put_visibly(tone, &format!("{mark}{body}")).end();
        if !line.ends_with('\n') && mark != ' ' {
            paper.put(Tone::Faint, "\\ no newline at the end").end();
        }
    }
}
