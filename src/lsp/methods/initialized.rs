//! `initialized`.
//!
//! Invariant: from here on the client is spoken to. The root is opened in a task of its own; a refusal is said once and
//! leaves a server that answers with nothing. Absent: prompts.

use crate::lsp::session::Session;
use crate::lsp::{ground::Place, plan_doc, resume, views};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Between two attempts to find a host.
const PAUSE: Duration = Duration::from_secs(1);

/// Takes it in.
pub async fn handle(session: &Arc<Session>) {
    session.client().open();
    session.begin(live(session.clone()));
}

/// The life of a session on its root.
async fn live(session: Arc<Session>) {
    let begun = Instant::now();
    let Some(root) = session.root().map(Path::to_path_buf) else {
        session.client().show_error("planwright: the editor works in no folder that exists");
        return;
    };
    let client = session.actor().client;
    let place = match session.ground().open(root, client, session.id()).await {
        Ok(place) => place,
        Err(refusal) => {
            session.client().show_error(&format!("planwright: {} — {}", refusal.message, refusal.next));
            return;
        }
    };
    session.set_place(place.clone());
    tokio::join!(
        views::run(session.clone(), place.clone()),
        plan_doc::run(session.clone(), place.clone()),
        keep(session, place, begun),
    );
}

/// Joins again whenever the host is gone.
async fn keep(session: Arc<Session>, place: Arc<dyn Place>, begun: Instant) {
    loop {
        tokio::select! {
            () = place.port().lost() => {}
            () = async {
                resume::run(session.clone(), place.clone(), begun).await;
                std::future::pending().await
            } => {}
        }
        while let Err(refusal) = place.port().rejoin().await {
            tracing::warn!(%refusal, "no host was found");
            sleep(PAUSE).await;
        }
    }
}
