//! What a front end holds of the host: the terminal and the language server the same.
//!
//! Invariant: once `act` has answered, `ask` and `desk` see what the action changed, in whichever process the engine
//! is. Absent: how the engine is found; `app` joins it.

use super::Update;
use crate::desk::{Desk, Query, View};
use crate::domain::task::action::{Action, Actor, Refusal, Reply};
use crate::ports::Fut;
use std::sync::Arc;
use tokio::sync::{broadcast, watch};

/// The engine of a root, here or in another process.
pub trait Port: Send + Sync {
    /// Hands over an action; answers when it is decided, not when what it starts has ended.
    fn act(&self, actor: Actor, action: Action) -> Fut<'_, Result<Reply, Refusal>>;
    /// Asks for what the snapshot alone does not have, or what another process has.
    fn ask(&self, query: Query) -> Fut<'_, Result<View, Refusal>>;
    /// The snapshot as it changes. The same channel for the whole life of this port, also over [`Self::rejoin`].
    fn desks(&self) -> watch::Receiver<Arc<Desk>>;
    /// Progress from now on.
    fn updates(&self) -> broadcast::Receiver<Update>;
    /// The engine lives in this process and stops with it.
    fn is_host(&self) -> bool;
    /// Completes when the host is gone. Never, where this process is the host.
    fn lost(&self) -> Fut<'_, ()>;
    /// Joins whoever is host now, or becomes host.
    fn rejoin(&self) -> Fut<'_, Result<(), Refusal>>;
}
