//! Hunks at their places: what is pending in a file, as diagnostics.
//!
//! Invariant: where the file is open, place and state are read from that session's text of the moment; only what a lost
//! hunk would replace may be older, as the engine found it last, and a decision on it is refused where that is no longer
//! so. Deletions, modes, and files that are not open are as the desk says. A rejected hunk is not shown, nor an accepted one that is on disk.
//! Absent: deciding; code actions offer that (`offers`).
//!
//! Who shows what of a diagnostic, as measured:
//!
//! | | Neovim 0.11 | Helix 25.07 | Helix after 25.07 | VS Code |
//! |---|---|---|---|---|
//! | sign and underline at an open file | yes | yes | yes | yes |
//! | the message's lines under the code | with `virtual_lines` | no | on the cursor's line | no |
//! | the message at the cursor | `<C-W>d` | top right, in the range only | pop-up | hover |
//! | at an unopened file | quickfix list | `space D` | `space D` | Problems |
//! | at a file that does not exist | quickfix list | `space D` | `space D` | Problems |
//! | ranges move with edits before we publish | yes, lost on undo | yes | yes | yes |
//! | a version that is not the newest | shown | dropped | dropped | shown |
//!
//! So a range covers the lines without the last ending (a range that ends on the next line would be found there), an
//! insertion stands before the line it goes before, and at the end of a file at the end of the last line that exists.

use super::words;
use super::{Texts, diagnostic};
use crate::desk::{Desk, Dossier, ReviewHunk, word};
use crate::domain::change::{Decision, Flag, HunkStanding, HunkState};
use crate::domain::ids::{HunkId, StepId, WorkspacePath};
use crate::domain::text::{Encoding, LineIndex, body, lines};
use crate::lsp::to_proto;
use crate::ports::{Document, Standings};
use std::collections::HashMap;
use std::sync::Arc;
use tower_lsp::lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Position, Range, Url,
};

/// Lines of a message that the two sides may have.
const SIDES: usize = 8;
/// Lines of the proposal's side where it stands alone.
const THEIR_LINES: usize = 40;
/// Where a diagnostic keeps that.
const THEIRS: &str = "theirs";
/// Remarks of a message.
const REMARKS: usize = 2;

/// A hunk where it stands now.
#[derive(Clone, Debug)]
pub struct Placed<'a> {
    /// Whose.
    pub dossier: &'a Arc<Dossier>,
    /// What the desk knows of it.
    pub hunk: &'a ReviewHunk,
    /// What the text of the moment says.
    pub state: HunkState,
    /// That it stands on disk.
    pub saved: bool,
    /// Where.
    pub range: Range,
    /// What stands there instead, where it is touched.
    pub touching: Option<String>,
    /// That is known exactly, from its first line to its last.
    pub exact: bool,
}

impl Placed<'_> {
    /// It waits for a decision, or for the disk.
    pub fn is_pending(&self) -> bool {
        match self.state {
            HunkState::Open | HunkState::Touched => !self.is_rejected(),
            HunkState::Accepted => !self.saved,
        }
    }

    /// A person decides on it next: not yet accepted, not rejected.
    pub fn is_undecided(&self) -> bool {
        self.state != HunkState::Accepted && !self.is_rejected()
    }

    /// It was rejected and that was not taken back.
    pub fn is_rejected(&self) -> bool {
        matches!(self.hunk.decision, Some((Decision::Reject(_), _)))
    }

    /// It is no run of lines but makes, removes or alters the file.
    pub fn is_of_file(&self) -> bool {
        self.hunk.kind != "lines"
    }

    /// Some line of the range is one of these, both inclusive and 0-based.
    pub fn meets(&self, first: u32, last: u32) -> bool {
        self.range.start.line <= last && first <= self.range.end.line
    }

    /// The state in the words of the vocabulary.
    pub fn state_words(&self) -> &'static str {
        word(self.state, self.hunk.decision.as_ref().map(|(decision, _)| decision), self.saved)
    }
}

/// Every hunk of a path, of all tasks that are not over, in the order of tasks and lines.
pub fn placed<'a>(desk: &'a Desk, path: &WorkspacePath, texts: &dyn Texts, encoding: Encoding) -> Vec<Placed<'a>> {
    let mut index: Option<LineIndex> = None;
    let mut found = Vec::new();
    for dossier in desk.tasks.iter().filter(|dossier| !dossier.task.is_over()) {
        let mut here = dossier.hunks.iter().filter(|hunk| hunk.path == *path).peekable();
        if here.peek().is_none() {
            continue;
        }
        let live: Vec<Standings> =
            dossier.changes.iter().filter(|change| change.path == *path).filter_map(|c| texts.standings(c)).collect();
        let mut standing: HashMap<&HunkId, (&Document, &HunkStanding)> = HashMap::new();
        for Standings { document, hunks } in &live {
            for one in hunks {
                standing.entry(&one.id).or_insert((document, one));
            }
        }
        found.extend(here.map(|hunk| match standing.get(&hunk.id) {
            Some((document, standing)) => {
                let index = index.get_or_insert_with(|| LineIndex::new(&document.text));
                in_document(dossier, hunk, standing, &document.text, index, encoding)
            }
            None => on_disk(dossier, hunk, encoding),
        }));
    }
    found
}

/// In an open document: as its text says.
fn in_document<'a>(
    dossier: &'a Arc<Dossier>,
    hunk: &'a ReviewHunk,
    standing: &HunkStanding,
    text: &str,
    index: &LineIndex,
    encoding: Encoding,
) -> Placed<'a> {
    let at = |byte: usize| to_proto::position(index, text, byte, encoding);
    let (start, end) = (standing.range.start, standing.range.end);
    let range = if hunk.kind != "lines" {
        Range::default()
    } else if start == end && start == text.len() && text.ends_with('\n') {
        let last = body(text.get(..start).unwrap_or("")).len();
        Range { start: at(last), end: at(last) }
    } else {
        let covered = body(text.get(start..end).unwrap_or("")).len();
        Range { start: at(start), end: at(start + covered) }
    };
    // Where edits lost it the engine may have found it by the text; what it would replace is what is shown.
    let found = hunk.touching.as_ref().filter(|_| hunk.exact && !standing.exact);
    let (touching, exact) = match (&standing.touching, found) {
        (Some(_), Some(found)) => (Some(found.clone()), true),
        (touching, _) => (touching.clone(), standing.exact),
    };
    // Those are matters of the disk, whoever has the file open; the text says nothing of them.
    let of_disk = matches!(hunk.kind.as_str(), "delete" | "mode");
    Placed {
        dossier,
        hunk,
        state: if of_disk { hunk.state } else { standing.state },
        saved: hunk.state == HunkState::Accepted && hunk.on_disk,
        range,
        touching,
        exact,
    }
}

/// In a file that nobody has open: as the desk says.
fn on_disk<'a>(dossier: &'a Arc<Dossier>, hunk: &'a ReviewHunk, encoding: Encoding) -> Placed<'a> {
    let first = hunk.line.saturating_sub(1);
    let stands = match hunk.state {
        HunkState::Open => hunk.old.as_str(),
        HunkState::Accepted => hunk.new.as_str(),
        HunkState::Touched => hunk.touching.as_deref().unwrap_or(""),
    };
    let rows = lines(stands);
    let range = if hunk.kind != "lines" {
        Range::default()
    } else if let Some(last) = rows.last() {
        let below = u32::try_from(rows.len() - 1).unwrap_or(u32::MAX);
        let end = Position { line: first.saturating_add(below), character: words::width(last, encoding) };
        Range { start: Position { line: first, character: 0 }, end }
    } else if hunk.context.1.is_empty() && first > 0 {
        let above = lines(&hunk.context.0).last().map_or(0, |line| words::width(line, encoding));
        let end = Position { line: first - 1, character: above };
        Range { start: end, end }
    } else {
        let start = Position { line: first, character: 0 };
        Range { start, end: start }
    };
    let (state, saved, touching, exact) = (hunk.state, hunk.on_disk, hunk.touching.clone(), hunk.exact);
    Placed { dossier, hunk, state, saved, range, touching, exact }
}

/// One diagnostic a pending hunk.
pub fn diagnostics(placed: &[Placed<'_>]) -> Vec<Diagnostic> {
    placed.iter().filter(|placed| placed.is_pending()).map(one).collect()
}

/// The diagnostic of a hunk.
pub fn one(placed: &Placed<'_>) -> Diagnostic {
    let severity = match placed.state {
        HunkState::Open => DiagnosticSeverity::INFORMATION,
        HunkState::Touched => DiagnosticSeverity::WARNING,
        // decided: only the disk is behind
        HunkState::Accepted => DiagnosticSeverity::HINT,
    };
    let theirs = || {
        let mut said = vec!["the proposal:".to_owned()];
        said.extend(words::some(&placed.hunk.new, "+ ", THEIR_LINES));
        serde_json::json!({ THEIRS: said.join("\n") })
    };
    Diagnostic {
        code: Some(NumberOrString::String(placed.hunk.id.to_string())),
        data: (placed.state == HunkState::Touched).then(theirs),
        ..diagnostic(placed.range, severity, message(placed))
    }
}

/// Gives the proposal's side of touched hunks a place of its own, for clients that show such.
pub fn with_related(uri: &Url, said: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let related = |mut one: Diagnostic| {
        let theirs = one.data.as_ref().and_then(|data| data.get(THEIRS)).and_then(serde_json::Value::as_str);
        one.related_information = theirs.map(|theirs| {
            let location = Location { uri: uri.clone(), range: one.range };
            vec![DiagnosticRelatedInformation { location, message: theirs.to_owned() }]
        });
        one
    };
    said.into_iter().map(related).collect()
}

fn message(placed: &Placed<'_>) -> String {
    let hunk = placed.hunk;
    let mut said = vec![format!("{} ({})", of_step(placed.dossier, &hunk.step), placed.state_words())];
    match (hunk.kind.as_str(), placed.state) {
        (_, HunkState::Touched) => {
            said.push("neither the old nor the new text stands here; below, yours (-) and the proposal (+)".to_owned());
            said.extend(words::two_sides(placed.touching.as_deref().unwrap_or(""), &hunk.new, SIDES - 1));
        }
        ("mode", _) => said.push("the file's permissions change".to_owned()),
        ("create", HunkState::Open) => {
            said.push("the file is new".to_owned());
            said.extend(words::some(&hunk.new, "+ ", SIDES - 1));
        }
        ("delete", HunkState::Open) => {
            said.push("the file goes".to_owned());
            said.extend(words::some(&hunk.old, "- ", SIDES - 1));
        }
        (_, HunkState::Open) => said.extend(words::two_sides(&hunk.old, &hunk.new, SIDES)),
        (_, HunkState::Accepted) => said.push("save the file to make it last".to_owned()),
    }
    if placed.state != HunkState::Accepted {
        said.extend(hunk.flags.iter().take(REMARKS).map(flag));
        said.push(words::line(&format!("verdict: {}", hunk.verdict), words::WIDTH));
    }
    words::message(said)
}

/// A remark in words.
pub fn flag(flag: &Flag) -> String {
    let said = match flag {
        Flag::OutsideFocus(focus) => format!("outside the focus {focus}"),
        Flag::Uncertain(reason) => format!("uncertain: {reason}; \"all\" leaves it out"),
        Flag::Measure(what) => format!("changes what a check measures by: {what}"),
    };
    words::line(&said, words::WIDTH)
}

/// A step with its title; one that the plan does not have belongs to the goal itself.
fn of_step(dossier: &Dossier, step: &StepId) -> String {
    let known = dossier.page.iter().any(|page| page.plan.steps.iter().any(|known| known.id == *step));
    let title = if known { step_title(dossier, step) } else { dossier.task.goal.words.clone() };
    match words::title(&title) {
        none if none.is_empty() => step.to_string(),
        title => format!("{step}: {title}"),
    }
}

/// The title of a step, as the plan has it; empty where it has none of that name any more.
pub fn step_title(dossier: &Dossier, step: &StepId) -> String {
    let plan = dossier.page.as_ref().map(|page| &page.plan);
    let known = plan.and_then(|plan| plan.steps.iter().find(|known| known.id == *step));
    known.map(|step| step.title.clone()).unwrap_or_default()
}
