//! What a client is given for a plan document when it asks: actions, lenses, hints.
//!
//! Invariant: answered at once, from what is known of the text of the moment; while that is not compiled yet, nothing
//! that needs it is offered. Absent: whatever does not belong to the document; the views have that.

use super::{acts, findings, say};
use crate::domain::ids::{Work, WorkspacePath};
use crate::lsp::session::Session;
use crate::lsp::views::offers;
use tower_lsp::lsp_types::{CodeAction, CodeActionKind, CodeLens, InlayHint, Range};

/// What can be done at a range of a plan document: mends first, then what the step waits for, then the rest. Empty
/// where it is no plan document. `asked`: a person opened the menu; a client that asks on its own gets mends only.
pub async fn actions(session: &Session, path: &WorkspacePath, range: Range, asked: bool) -> Vec<CodeAction> {
    let Some(reading) = session.plans().read(session, path).await else { return vec![] };
    let Some(ruler) = reading.ruler(session) else { return vec![] };
    let (moment, at, facts) = (reading.moment(), ruler.bytes(range), session.facts());
    let mends = findings::mends(&findings::problems(&moment), moment.text, &at);
    let mut out: Vec<CodeAction> = mends.iter().map(|mend| ruler.mend(mend, facts)).collect();
    if let Some(written) = findings::right_approval(&moment, &at) {
        out.push(ruler.act(&written, facts));
    }
    if !asked {
        return out;
    }
    if let (Some(dossier), Some((_, place))) = (&reading.dossier, moment.step_at(at.start)) {
        let work = Work::Step(place.step.clone());
        let gates = dossier.task.open_gates().filter(|gate| gate.work == work);
        out.extend(gates.flat_map(|gate| offers::at_gate(dossier, &gate.id)).map(|offer| offer.to_action()));
    }
    if let Some(offer) = reading.offer(session) {
        out.extend(offer.acts(&moment, &at).iter().map(|act| ruler.act(act, facts)));
    }
    out.extend(acts::acts(&moment, &at).iter().map(|act| ruler.act(act, facts)));
    // A command that the table does not have in this release is no action.
    out.retain(|action| action.command.is_some() || action.edit.is_some());
    out.dedup_by(|one, other| one.title == other.title);
    debug_assert!(out.iter().all(|one| one.edit.is_none() || one.command.is_none()));
    debug_assert!(out.iter().all(|one| one.kind != Some(CodeActionKind::QUICKFIX) || one.command.is_none()));
    out
}

/// States and acts above the headings of a plan document.
pub async fn lenses(session: &Session, path: &WorkspacePath) -> Vec<CodeLens> {
    let Some(reading) = session.plans().read(session, path).await else { return vec![] };
    let Some(ruler) = reading.ruler(session) else { return vec![] };
    let lenses = acts::lenses(&reading.moment()).into_iter();
    lenses
        .filter_map(|lens| {
            let command = say::command(&lens.act)?;
            Some(CodeLens { range: ruler.range(&lens.range), command: Some(command), data: None })
        })
        .collect()
}

/// States behind the headings of a plan document.
pub async fn hints(session: &Session, path: &WorkspacePath, range: Range) -> Vec<InlayHint> {
    let Some(reading) = session.plans().read(session, path).await else { return vec![] };
    let Some(ruler) = reading.ruler(session) else { return vec![] };
    let at = ruler.bytes(range);
    let hints = acts::hints(&reading.moment()).into_iter().filter(|(place, _)| at.start <= *place && *place <= at.end);
    hints.map(|(place, words)| ruler.hint(place, &words)).collect()
}
