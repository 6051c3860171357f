//! `textDocument/didSave`.
//!
//! Invariant: taken in before anything is awaited, so in the order of the client. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::lsp_types::DidSaveTextDocumentParams;

/// Takes it in.
pub async fn handle(_session: &Arc<Session>, _params: DidSaveTextDocumentParams) {}
