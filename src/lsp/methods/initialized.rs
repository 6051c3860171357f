//! `initialized`.
//!
//! Invariant: from here on the client is spoken to. The root is opened in a task of its own; a refusal is said once and
//! leaves a server that answers with nothing. Absent: prompts.

use crate::lsp::session::Session;
use crate::lsp::{plan_doc, views};
use std::sync::Arc;

/// Takes it in.
pub async fn handle(session: &Arc<Session>) {
    session.client().open();
    let session = session.clone();
    tokio::spawn(async move {
        let Some(root) = session.root().map(std::path::Path::to_path_buf) else {
            session.client().show_error("planwright: the editor works in no folder that exists");
            return;
        };
        let client = session.actor().client;
        match session.ground().open(root, client).await {
            Ok(place) => {
                session.set_place(place.clone());
                tokio::join!(views::run(session.clone(), place.clone()), plan_doc::run(session, place));
            }
            Err(refusal) => {
                session.client().show_error(&format!("planwright: {} — {}", refusal.message, refusal.next));
            }
        }
    });
}
