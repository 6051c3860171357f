//! Carries out decisions in the documents of this session.
//!
//! Clients say that they applied an edit that they dropped, say nothing, say it late, and tell of the new text before or
//! after they answer, together with what the user typed meanwhile. So the answer only says when to begin to doubt.
//!
//! **Invariant:** one edit is in flight in a document; all hunks of an order are in it; a decision counts when the
//! document's text shows it ([`attempt`]). An edit that was never answered holds back the next one of its document, since
//! it may still come. Those of other documents need not wait for it: each is for one document, by its number, which is
//! what clients compare. Absent: which hunks; an order names them.

mod attempt;
mod heard;

use super::client::{PATIENCE, Unanswered};
use super::session::Session;
use super::to_proto;
use crate::domain::ids::WorkspacePath;
use crate::domain::problem::Replacement;
use crate::ports::{Document, Documents, Editor, EditorFault, EditorOrder, Fut, SENDING, SessionId};
use attempt::{Attempts, Patience};
use heard::Heard;
use std::collections::HashMap;
use std::sync::{Arc, Mutex as Plain, OnceLock, PoisonError, Weak};
use std::time::SystemTime;
use tokio::sync::{Mutex, oneshot};
use tower_lsp::lsp_types::{
    DocumentChangeOperation, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit,
    WorkspaceEdit,
};

/// What is put to a client: edits of one version of a document.
pub(super) struct Asked {
    pub path: WorkspacePath,
    pub document: Document,
    /// In the order of the text, all meant on it.
    pub edits: Vec<Replacement>,
    pub label: String,
}

/// What it says to that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Said {
    /// That it did.
    Applied,
    /// That it did not, or cannot.
    Refused(String),
    /// Nothing that can be read.
    Nothing,
}

/// The way to a client.
pub(super) trait Wire: Send + Sync {
    /// Sends the edit before it returns. The receiver fails where no answer will ever come.
    fn ask(&self, asked: Asked) -> oneshot::Receiver<Said>;

    /// The client, for the user.
    fn name(&self) -> String;
}

/// The editor of one session.
pub struct SessionEditor {
    session: Weak<Session>,
    /// Since the first order; the documents have no way to stop listening.
    heard: OnceLock<Arc<Heard>>,
    /// By document.
    flights: Plain<HashMap<WorkspacePath, Arc<Mutex<Attempts>>>>,
}

impl SessionEditor {
    /// Of this session, as long as there is one.
    pub fn new(session: Weak<Session>) -> Self {
        Self { session, heard: OnceLock::new(), flights: Plain::default() }
    }

    fn heard(&self, documents: &Arc<dyn Documents>, session: SessionId) -> Arc<Heard> {
        self.heard.get_or_init(|| Heard::listen(documents, session)).clone()
    }

    fn flight(&self, path: &WorkspacePath) -> Arc<Mutex<Attempts>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        flights.entry(path.clone()).or_default().clone()
    }
}

impl Editor for SessionEditor {
    fn carry_out(&self, order: EditorOrder) -> Fut<'_, Result<(), EditorFault>> {
        Box::pin(async move {
            // Counted from now: it may be long until the one before it has landed.
            let until = order.until.or_else(|| SystemTime::now().checked_add(SENDING));
            let order = EditorOrder { until, ..order };
            let path = order.change.path.clone();
            let Some((session, id)) = self.session.upgrade().and_then(|session| Some((session.clone(), session.id()?)))
            else {
                return Err(EditorFault::NotOpen(path));
            };
            let text = session.documents().of(id, &path).map(|document| document.text);
            if let Some(other) = text.and_then(|text| session.differs(&path, &text)) {
                let reason = format!("it is open as {other} too, with another text; close one of the two");
                return Err(EditorFault::Refused { path, reason });
            }
            let heard = self.heard(session.documents(), id);
            let _until_it_is_done = session.ordered();
            let flight = self.flight(&path);
            let mut flight = flight.lock().await;
            let wire = OfSession(Arc::downgrade(&session));
            let documents = session.documents().clone();
            drop(session);
            flight.carry_out(documents.as_ref(), &heard, &wire, &order, Patience::default()).await
        })
    }
}

struct OfSession(Weak<Session>);

impl Wire for OfSession {
    fn ask(&self, asked: Asked) -> oneshot::Receiver<Said> {
        let (told, answer) = oneshot::channel();
        let Some((session, uri)) =
            self.0.upgrade().and_then(|session| Some((session.clone(), session.uri_of(&asked.path)?)))
        else {
            let _waits_below = told.send(Said::Refused("its name is not known to the editor".to_owned()));
            return answer;
        };
        let edits = to_proto::text_edits(&asked.document.text, &asked.edits, session.encoding());
        let text_document =
            OptionalVersionedTextDocumentIdentifier { uri, version: Some(compared(&session, asked.document.version)) };
        let edits = edits.into_iter().map(OneOf::Left).collect();
        let operation = DocumentChangeOperation::Edit(TextDocumentEdit { text_document, edits });
        let edit = WorkspaceEdit {
            document_changes: Some(DocumentChanges::Operations(vec![operation])),
            ..WorkspaceEdit::default()
        };
        let asking = session.client().apply_edit(&asked.label, edit, PATIENCE.saturating_mul(6));
        tokio::spawn(async move {
            let said = match asking.await {
                Ok(response) if response.applied => Said::Applied,
                Ok(response) => {
                    Said::Refused(response.failure_reason.unwrap_or_else(|| "it gave no reason".to_owned()))
                }
                Err(unanswered @ (Unanswered::Away | Unanswered::Unknown(_))) => Said::Refused(unanswered.to_string()),
                Err(Unanswered::Late(_) | Unanswered::Failed(_)) => Said::Nothing,
            };
            // Whoever asked may have given up.
            let _gone = told.send(said);
        });
        answer
    }

    fn name(&self) -> String {
        let session = self.0.upgrade();
        let name = session.and_then(|session| Some(session.facts()?.name.clone()));
        name.unwrap_or_else(|| "the editor".to_owned())
    }
}

/// Neovim gives every buffer the number 0 until its first change, and its tick from then on. It drops an edit for a lower
/// number than the buffer's, but takes one for 0 whatever the buffer is: 1 fits the unchanged one and no other.
fn compared(session: &Session, version: i32) -> i32 {
    let is_neovim = session.facts().is_some_and(|facts| facts.name.eq_ignore_ascii_case("neovim"));
    if is_neovim { version.max(1) } else { version }
}

#[cfg(test)]
mod tests;
