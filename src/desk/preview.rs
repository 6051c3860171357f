//! What the model saw, for someone who does not program.
//!
//! Invariant: the text is the request as it was journaled and redacted, not made anew. Absent: any request that was
//! not sent.

use super::Dossier;
use super::view::PreviewView;
use crate::domain::task::action::{Refusal, RefusalKind};
use crate::domain::task::event::{Event, Intent};

/// The newest request of some work; without a name, of the work that asked last.
pub fn view(dossier: &Dossier, work: Option<&str>) -> Result<PreviewView, Refusal> {
    let works: Vec<String> = dossier.requests.keys().cloned().collect();
    let work = match work {
        Some(named) if dossier.requests.contains_key(named) => named.to_owned(),
        Some(named) => {
            return Err(Refusal {
                kind: RefusalKind::NotFound,
                message: format!("`{named}` has sent nothing to a model"),
                next: match works.as_slice() {
                    [] => "no model has been asked in this task yet".to_owned(),
                    [..] => format!("planwright preview {} {}", dossier.task.id, works.join(" | ")),
                },
            });
        }
        None => asked_last(dossier).or_else(|| works.first().cloned()).unwrap_or_else(|| "planning".to_owned()),
    };
    Ok(PreviewView {
        task: dossier.task.id.clone(),
        text: dossier.requests.get(&work).map(|text| text.to_string()),
        work,
        works,
    })
}

fn asked_last(dossier: &Dossier) -> Option<String> {
    dossier.journal.iter().rev().find_map(|recorded| {
        let Event::Intended { effect, what: Intent::Model { .. }, .. } = &recorded.event else {
            return None;
        };
        let work = effect.work.to_string();
        dossier.requests.contains_key(&work).then_some(work)
    })
}
