//! The page of a task's hunks: each with where it belongs, why it is there, and what the checks say.
//!
//! Invariant: a heading begins with the hunk's id; every byte of a hunk is seen. Absent: deciding, and rejected hunks'
//! removal: a page lists them all.

use super::super::review::counts;
use super::super::status::words_of;
use super::markdown::{code, fence, line};
use crate::desk::{Dossier, ReviewHunk};
use crate::domain::change::{Decision, Flag, HunkState};
use crate::domain::ids::StepId;
use crate::domain::plan::small;
use std::fmt::Write;

/// The whole page.
pub fn review(dossier: &Dossier) -> String {
    let task = &dossier.task;
    let counts = counts(dossier);
    let mut page = format!("# Review: {}\n\n", line(&small::title(&task.goal.words)));
    let _ = writeln!(page, "**{}** · task {} · {}", words_of(dossier), code(task.id.as_str()), counts.words());
    if dossier.hunks.is_empty() {
        page.push_str("\nThere is no hunk.\n");
    }
    for one in dossier.hunks.iter() {
        hunk(&mut page, dossier, one);
    }
    if counts.pending > 0 {
        let _ = write!(
            page,
            "\nTo accept all pending hunks but uncertain ones: {} · {}\n",
            code(&format!("planwright.accept \"{}\" \"--all\"", task.id)),
            code(&format!("planwright accept {} --all", task.id))
        );
    }
    page
}

fn hunk(page: &mut String, dossier: &Dossier, hunk: &ReviewHunk) {
    let _ = write!(page, "\n## {} {}:{}\n\n", hunk.id, line(hunk.path.as_str()), hunk.line);
    let reason = title(dossier, &hunk.step).map(|title| format!(": {}", line(title))).unwrap_or_default();
    let _ = writeln!(page, "- step {}{reason}", code(hunk.step.as_str()));
    let _ = writeln!(page, "- {}", state(hunk));
    if !hunk.verdict.is_empty() {
        let _ = writeln!(page, "- {}", line(&hunk.verdict));
    }
    if hunk.kind != "lines" {
        let what = match hunk.kind.as_str() {
            "create" => "the file is new",
            "delete" => "the file goes",
            _ => "its mode changes",
        };
        let _ = writeln!(page, "- {what}");
    }
    for flag in &hunk.flags {
        let said = match flag {
            Flag::OutsideFocus(focus) => format!("outside the focus {}", code(focus)),
            Flag::Uncertain(reason) => format!("uncertain: {}", line(reason)),
            Flag::Measure(what) => format!("changes what a check measures by: {}", line(what)),
        };
        let _ = writeln!(page, "- **mind** {said}");
    }
    let mut diff = String::new();
    marked(&mut diff, ' ', &hunk.context.0);
    marked(&mut diff, '-', &hunk.old);
    marked(&mut diff, '+', &hunk.new);
    marked(&mut diff, ' ', &hunk.context.1);
    let _ = write!(page, "\n{}", fence("diff", &diff));
    if let Some(instead) = &hunk.touching {
        let _ = write!(page, "\nWhat stands there now:\n\n{}", fence("text", instead));
        if hunk.pending {
            settling(page, dossier, hunk);
        }
    }
}

/// How a hunk is settled where something else stands: by an editor only as this page shows it.
fn settling(page: &mut String, dossier: &Dossier, hunk: &ReviewHunk) {
    let way = |side: &str| {
        let (task, id) = (&dossier.task.id, &hunk.id);
        let editor = code(&format!("planwright.resolve \"{task}\" \"{id}\" \"{side}\" \"{}\"", hunk.shown.as_str()));
        format!("{editor} · {}", code(&format!("planwright resolve {task} {id} {side}")))
    };
    let _ = writeln!(page, "\n- keep mine: {}", way("mine"));
    if hunk.exact {
        let _ = writeln!(page, "- take theirs, in the place of exactly that: {}", way("theirs"));
    } else {
        page.push_str("- where it belongs is not known exactly, so it cannot be put there\n");
    }
    page.push_str("- or edit that place as you want it, and keep mine\n");
}

fn title<'a>(dossier: &'a Dossier, step: &StepId) -> Option<&'a str> {
    let plan = &dossier.page.as_ref()?.plan;
    let titled = plan.steps.iter().find(|planned| &planned.id == step)?;
    (!titled.title.is_empty()).then_some(titled.title.as_str())
}

fn state(hunk: &ReviewHunk) -> String {
    let by = hunk.decision.as_ref().map(|(_, actor)| format!(" by {}", line(&super::super::view::by(actor))));
    let by = by.unwrap_or_default();
    let words = hunk.words();
    match (hunk.state, hunk.decision.as_ref().map(|(decision, _)| decision)) {
        (HunkState::Open, Some(Decision::Reject(reason))) => {
            let why = reason.as_ref().map(|why| format!(": {}", line(why))).unwrap_or_default();
            format!("**{words}**{by}{why}")
        }
        (HunkState::Open, Some(Decision::Accept | Decision::Undo) | None) => format!("**{words}**"),
        (HunkState::Accepted, _) if !hunk.on_disk => format!("**{words}**{by}; save the file"),
        (HunkState::Accepted, _) => format!("**{words}**{by}"),
        (HunkState::Touched, Some(Decision::Reject(_))) => format!("**{words}**, yours is kept{by}"),
        (HunkState::Touched, Some(Decision::Accept | Decision::Undo) | None) => {
            format!("**{words}**: something else stands there now")
        }
    }
}

fn marked(diff: &mut String, mark: char, text: &str) {
    for one in text.split_inclusive('\n') {
        let body = one.strip_suffix('\n').unwrap_or(one);
        let _ = writeln!(diff, "{mark}{body}");
        if !one.ends_with('\n') && mark != ' ' {
            diff.push_str("\\ no newline at the end\n");
        }
    }
}
