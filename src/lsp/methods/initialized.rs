//! `initialized`.
//!
//! Invariant: from here on the client is spoken to. The root is opened in a task of its own; a refusal is said once and
//! leaves a server that answers with nothing, and tries again. No part of a session ends with the fault of another.
//! Absent: prompts.

use super::did_change_workspace_folders::leave_alone;
use crate::domain::ids::WorkspacePath;
use crate::lsp::commands::{self, complain, complain_of};
use crate::lsp::session::Session;
use crate::lsp::{ground::Workplace, plan_doc, resume, views};
use futures_util::FutureExt;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower_lsp::lsp_types::Url;

/// Between two attempts to find a host, to open a root, to go on after a fault.
const PAUSE: Duration = Duration::from_secs(1);

/// Takes it in.
pub async fn handle(session: &Arc<Session>) {
    session.client().open();
    session.begin(live(session.clone(), plan_doc::listen(session)));
}

/// The life of a session on its root.
async fn live(session: Arc<Session>, plans: plan_doc::Heard) {
    let begun = Instant::now();
    let Some(root) = session.root().map(Path::to_path_buf) else {
        complain(&session, "the editor works in no folder that exists", "open a folder");
        return;
    };
    leave_alone(&session, folders(&session));
    let place = opened(&session, root).await;
    session.set_place(place.clone());
    announce(&session, place.as_ref());
    session.commands().root(None);
    commands::left_over(&session, place.as_ref()).await;
    // They end with this task.
    let mut parts = JoinSet::new();
    let with = || (session.clone(), place.clone());
    let (s, p) = with();
    parts.spawn(watched(session.clone(), "what is shown", move || views::run(s.clone(), p.clone())));
    let (s, p) = with();
    // What was heard since the first message; who begins again hears first what is open.
    let mut plans = Some(plans);
    parts.spawn(watched(session.clone(), "plan documents", move || {
        let heard = plans.take().unwrap_or_else(|| plan_doc::listen(&s));
        plan_doc::run(s.clone(), p.clone(), heard)
    }));
    let (s, p) = with();
    parts.spawn(watched(session.clone(), "the host's watch", move || keep(s.clone(), p.clone(), begun)));
    while parts.join_next().await.is_some() {}
}

/// Every folder that the client named.
fn folders(session: &Session) -> Vec<Url> {
    let named = session.said().and_then(|said| said.pointer("/workspaceFolders")).and_then(Value::as_array);
    let uris = named.into_iter().flatten().filter_map(|folder| folder.get("uri")?.as_str());
    uris.filter_map(|uri| Url::parse(uri).ok()).collect()
}

/// Opens the root, however long that takes: what is in the way may go. Each reason is said once.
async fn opened(session: &Session, root: PathBuf) -> Arc<dyn Workplace> {
    let mut said = None;
    loop {
        let refusal = match session.ground().open(root.clone(), session.actor().client, session.id()).await {
            Ok(place) => return place,
            Err(refusal) => refusal,
        };
        session.commands().root(Some(refusal.clone()));
        if said.as_ref() != Some(&refusal) {
            complain(session, &refusal.message, &refusal.next);
            said = Some(refusal);
        }
        sleep(PAUSE).await;
    }
}

/// Lets a part go on to its end. After a panic it begins again, as after a start: its views are made of the desk and of
/// the open texts, and what it remembered is lost.
async fn watched<F>(session: Arc<Session>, what: &'static str, mut begin: impl FnMut() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut said = false;
    while AssertUnwindSafe(begin()).catch_unwind().await.is_err() {
        tracing::error!(what, "a panic");
        if !std::mem::replace(&mut said, true) {
            complain(&session, &format!("a fault in {what}; begun again"), "please report this fault");
        }
        sleep(PAUSE).await;
    }
}

/// Joins again whenever the host is gone.
async fn keep(session: Arc<Session>, place: Arc<dyn Workplace>, begun: Instant) {
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
        announce(&session, place.as_ref());
    }
}

/// Says what the engine's start has found, where it started in this process.
fn announce(session: &Session, place: &dyn Workplace) {
    for said in place.urgent() {
        let file = said.split_once(": ").and_then(|(file, _)| WorkspacePath::new(file).ok());
        complain_of(session, file.as_ref(), &said, "planwright doctor");
    }
}
