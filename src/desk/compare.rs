//! Two revisions of a plan side by side.
//!
//! Invariant: only stored revisions are compared; the document on disk is one as soon as the host has read it.
//! Absent: what the difference means for steps that are done; approving says that.

use super::Dossier;
use super::view::CompareView;
use crate::domain::ids::RevisionRef;
use crate::domain::plan;
use crate::domain::task::action::{Refusal, RefusalKind};
use std::sync::Arc;

/// The difference between two revisions, by number.
pub fn view(dossier: &Dossier, from: Option<u32>, to: Option<u32>) -> Result<CompareView, Refusal> {
    let to = match to {
        Some(number) => numbered(dossier, number)?,
        None => dossier.revisions.last().ok_or_else(|| refusal(dossier, "no plan is written yet".to_owned()))?,
    };
    let from = match from {
        Some(number) => numbered(dossier, number)?,
        None => former(dossier, &to.0)
            .ok_or_else(|| refusal(dossier, format!("{} is the only revision; there is nothing beside it", to.0)))?,
    };
    Ok(CompareView {
        task: dossier.task.id.clone(),
        from: from.0.clone(),
        to: to.0.clone(),
        difference: difference(&from.1, &to.1),
    })
}

type Stored = (RevisionRef, Arc<str>);

/// What a newer revision is measured by: the approved one, else the one just before it.
fn former<'a>(dossier: &'a Dossier, to: &RevisionRef) -> Option<&'a Stored> {
    let approved = dossier.task.approval.as_ref().map(|approval| &approval.revision);
    let older = || dossier.revisions.iter().filter(|(name, _)| name.number < to.number);
    older().find(|(name, _)| Some(name) == approved).or_else(|| older().next_back())
}

fn numbered(dossier: &Dossier, number: u32) -> Result<&Stored, Refusal> {
    dossier
        .revisions
        .iter()
        .find(|(name, _)| name.number == number)
        .ok_or_else(|| refusal(dossier, format!("there is no revision r{number}")))
}

fn refusal(dossier: &Dossier, message: String) -> Refusal {
    let names: Vec<String> = dossier.revisions.iter().map(|(name, _)| name.to_string()).collect();
    Refusal {
        kind: RefusalKind::NotFound,
        message,
        next: match names.as_slice() {
            [] => format!("planwright status {}", dossier.task.id),
            [..] => format!("planwright show {}; its revisions are {}", dossier.task.id, names.join(", ")),
        },
    }
}

/// What differs between two plan texts by meaning: layout, comments and notes are no difference (A7).
fn difference(from: &str, to: &str) -> Vec<String> {
    let changes = plan::compare::compare(&plan::parse(from).plan, &plan::parse(to).plan);
    plan::compare::describe(&changes).lines().map(str::to_owned).collect()
}
