//! What the rest of the program holds of the engine.
//!
//! Invariant: asking never blocks the engine; reads come from the desk's snapshot. Absent: the engine itself.

use crate::desk::Desk;
use crate::domain::ids::TaskId;
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
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
#[derive(Clone, Debug)]
pub struct EngineHandle {
    inbox: mpsc::UnboundedSender<Asked>,
    desk: watch::Receiver<Arc<Desk>>,
    updates: broadcast::Sender<Update>,
}

impl EngineHandle {
    /// Put together by the engine (and by tests of the host).
    pub fn new(
        inbox: mpsc::UnboundedSender<Asked>,
        desk: watch::Receiver<Arc<Desk>>,
        updates: broadcast::Sender<Update>,
    ) -> Self {
        Self { inbox, desk, updates }
    }

    /// Hands an action to the engine and waits for its answer (not for what the action starts).
    ///
    /// # Errors
    /// The engine's refusal; or `Broken`, when the engine has ended.
    pub async fn act(&self, actor: Actor, action: Action) -> Result<Reply, Refusal> {
        let gone = || Refusal {
            kind: RefusalKind::Broken,
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
