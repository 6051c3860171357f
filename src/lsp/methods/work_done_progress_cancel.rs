//! `window/workDoneProgress/cancel`.
//!
//! Invariant: a cancellation is the user's command like any other. Absent: state of its own.

use crate::domain::task::action::{Action, Which};
use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::lsp_types::WorkDoneProgressCancelParams;

/// Takes it in. What it ends may take a while; the bar says when it has.
pub async fn handle(session: &Arc<Session>, params: WorkDoneProgressCancelParams) {
    let Some(task) = session.views().task_of(&params.token) else { return };
    session.acted();
    let session = session.clone();
    tokio::spawn(async move {
        let Some(place) = session.place() else { return };
        let action = Action::Cancel { task: Which::Task(task) };
        if let Err(refusal) = place.port().act(session.actor(), action).await {
            session.client().log(format!("planwright: {}; {}", refusal.message, refusal.next));
        }
    });
}
