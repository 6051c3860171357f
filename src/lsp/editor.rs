//! Carries out decisions in the documents of this session.
//!
//! Invariant: as of the port `Editor`. Absent: which hunks; an order names them.

use super::session::Session;
use crate::ports::{Editor, EditorFault, EditorOrder, Fut};
use std::sync::Weak;

/// The editor of one session.
pub struct SessionEditor {
    session: Weak<Session>,
}

impl SessionEditor {
    /// Of this session, as long as there is one.
    pub fn new(session: Weak<Session>) -> Self {
        Self { session }
    }
}

impl Editor for SessionEditor {
    fn carry_out(&self, order: EditorOrder) -> Fut<'_, Result<(), EditorFault>> {
        let _session = self.session.upgrade();
        Box::pin(std::future::ready(Err(EditorFault::NotOpen(order.change.path))))
    }
}
