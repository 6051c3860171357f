//! What the rest of the program holds of the engine.
//!
//! Invariant: asking never blocks the engine; reads come from the desk's snapshot, and what it lacks from the ports.
//! Once an act is answered, the snapshot has what it changed.
//! Absent: the engine itself.

use super::pages::Published;
use super::reads::Reads;
use crate::desk::{Desk, Query, View};
use crate::domain::ids::TaskId;
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::ports::SessionId;
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
    /// In which of the editors that tell of documents here, if in one: its own text is the one that is decided on. Two
    /// editors of one name and version are two sessions.
    pub session: Option<SessionId>,
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
    reads: Option<Arc<Reads>>,
    /// What the engine made, and the serial of what is shown of it.
    making: Option<(watch::Receiver<Published>, watch::Receiver<u64>)>,
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
        Self { inbox, desk, updates, reads: None, making: None }
    }

    /// The same with what answers the reads that a snapshot alone cannot.
    #[must_use]
    pub(super) fn with_reads(self, reads: Arc<Reads>) -> Self {
        Self { reads: Some(reads), ..self }
    }

    /// The same with desks that are shown a moment after they are made.
    #[must_use]
    pub(super) fn after(self, made: watch::Receiver<Published>, shown: watch::Receiver<u64>) -> Self {
        Self { making: Some((made, shown)), ..self }
    }

    /// Completes when all that the engine has made by now is shown.
    async fn shown(&self) {
        let Some((made, shown)) = &self.making else { return };
        let made = made.borrow().serial;
        let mut shown = shown.clone();
        // An engine that has ended shows nothing more.
        let _ended = shown.wait_for(|shown| *shown >= made).await;
    }

    /// Reads from the newest snapshot; what is not in it is read now, beside the engine and never in its way.
    ///
    /// # Errors
    /// The desk's refusal; or `Broken`, when the store does not have the payload any more or a page cannot be written.
    pub async fn ask(&self, query: &Query) -> Result<View, Refusal> {
        let desk = self.desk();
        match &self.reads {
            Some(reads) => reads.answer(&desk, query).await,
            None => desk.answer(query),
        }
    }

    /// Hands an action to the engine and waits for its answer (not for what the action starts).
    ///
    /// # Errors
    /// The engine's refusal; or `Gone`, when the engine has ended.
    pub async fn act(&self, actor: Actor, action: Action) -> Result<Reply, Refusal> {
        self.act_in(None, actor, action).await
    }

    /// The same from an editor.
    ///
    /// # Errors
    /// As for [`Self::act`].
    pub async fn act_in(&self, session: Option<SessionId>, actor: Actor, action: Action) -> Result<Reply, Refusal> {
        let gone = || Refusal {
            kind: RefusalKind::Gone,
            message: "the engine has ended".to_owned(),
            next: "run the command again".to_owned(),
        };
        let (answer, reply) = oneshot::channel();
        self.inbox.send(Asked { actor, session, action, answer }).map_err(|_| gone())?;
        let answer = reply.await.map_err(|_| gone())?;
        self.shown().await;
        answer
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
