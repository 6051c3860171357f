//! What the rest of the program holds of the engine.
//!
//! Invariant: asking never blocks the engine; reads come from the desk's snapshot, and payloads that it names from the
//! store. Absent: the engine itself.

use crate::desk::{Desk, PreviewView, Query, View};
use crate::domain::agent::dialogue::ModelRequest;
use crate::domain::ids::TaskId;
use crate::domain::prompt::shown::shown;
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::ports::Store;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

/// A short human sentence about a change, for progress.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Update {
    /// Whose.
    pub task: TaskId,
    /// What.
    pub line: String,
}

/// An action on its way to the engine, with where its answer goes.
#[derive(Debug)]
pub struct Asked {
    /// Who.
    pub actor: Actor,
    /// What.
    pub action: Action,
    /// Where to.
    pub answer: oneshot::Sender<Result<Reply, Refusal>>,
}

/// A handle to an engine in this process. Cheap to clone.
#[derive(Clone)]
pub struct EngineHandle {
    inbox: mpsc::UnboundedSender<Asked>,
    desk: watch::Receiver<Arc<Desk>>,
    updates: broadcast::Sender<Update>,
    payloads: Option<Arc<dyn Store>>,
}

impl std::fmt::Debug for EngineHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineHandle").finish_non_exhaustive()
    }
}

impl EngineHandle {
    /// Put together by the engine (and by tests of the host).
    pub fn new(
        inbox: mpsc::UnboundedSender<Asked>,
        desk: watch::Receiver<Arc<Desk>>,
        updates: broadcast::Sender<Update>,
    ) -> Self {
        Self { inbox, desk, updates, payloads: None }
    }

    /// The same with the store that has what the journal names by hash.
    #[must_use]
    pub fn with_payloads(self, store: Arc<dyn Store>) -> Self {
        Self { payloads: Some(store), ..self }
    }

    /// Reads from the newest snapshot; a payload that the answer is about is read now, and only now.
    ///
    /// # Errors
    /// The desk's refusal; or `Broken`, when the store does not have the payload any more.
    pub async fn ask(&self, query: &Query) -> Result<View, Refusal> {
        match self.desk().answer(query)? {
            View::Preview(view) => self.with_text(view).await.map(View::Preview),
            view => Ok(view),
        }
    }

    async fn with_text(&self, view: PreviewView) -> Result<PreviewView, Refusal> {
        let (Some(store), Some(hash)) = (&self.payloads, &view.request) else { return Ok(view) };
        let gone = |why: String| Refusal {
            kind: RefusalKind::Broken,
            message: format!("the request of {} cannot be shown: {why}", view.work),
            next: format!("planwright timeline {} says what came of it", view.task),
        };
        let bytes = store.blob(hash).await.map_err(|fault| gone(fault.to_string()))?;
        let request: ModelRequest = serde_json::from_slice(&bytes).map_err(|error| gone(error.to_string()))?;
        Ok(PreviewView { text: Some(shown(&request)), ..view })
    }

    /// Hands an action to the engine and waits for its answer (not for what the action starts).
    ///
    /// # Errors
    /// The engine's refusal; or `Gone`, when the engine has ended.
    pub async fn act(&self, actor: Actor, action: Action) -> Result<Reply, Refusal> {
        let gone = || Refusal {
            kind: RefusalKind::Gone,
            message: "the engine has ended".to_owned(),
            next: "run the command again".to_owned(),
        };
        let (answer, reply) = oneshot::channel();
        self.inbox.send(Asked { actor, action, answer }).map_err(|_| gone())?;
        reply.await.map_err(|_| gone())?
    }

    /// The newest snapshot.
    pub fn desk(&self) -> Arc<Desk> {
        self.desk.borrow().clone()
    }

    /// The snapshot as it changes.
    pub fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        self.desk.clone()
    }

    /// Progress from now on.
    pub fn updates(&self) -> broadcast::Receiver<Update> {
        self.updates.subscribe()
    }
}
