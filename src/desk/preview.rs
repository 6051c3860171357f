//! What the model saw, for someone who does not program.
//!
//! Invariant: a request that was sent, found in the journal by work and not made anew. Absent: its text; the journal
//! names it by hash, and whoever answers reads it from the store when somebody asks.

use super::Dossier;
use super::view::PreviewView;
use crate::domain::ids::ContentHash;
use crate::domain::task::action::{Refusal, RefusalKind};
use crate::domain::task::event::{Event, Intent};
use std::collections::BTreeMap;

/// The newest request of some work; without a name, of the work that asked last.
pub fn view(dossier: &Dossier, work: Option<&str>) -> Result<PreviewView, Refusal> {
    let mut sent: BTreeMap<String, ContentHash> = BTreeMap::new();
    let mut last = None;
    for recorded in dossier.journal.iter() {
        if let Event::Intended { effect, what: Intent::Model { request, .. }, .. } = &recorded.event {
            let work = effect.work.to_string();
            sent.insert(work.clone(), request.clone());
            last = Some(work);
        }
    }
    let works: Vec<String> = sent.keys().cloned().collect();
    let work = match work {
        Some(named) if sent.contains_key(named) => named.to_owned(),
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
        None => last.unwrap_or_else(|| "planning".to_owned()),
    };
    Ok(PreviewView { task: dossier.task.id.clone(), request: sent.get(&work).cloned(), text: None, work, works })
}
