//! `textDocument/codeLens`.
//!
//! Invariant: a lens names a command of the table. Absent: state of its own; resolving.

use crate::lsp::plan_doc;
use crate::lsp::session::Session;
use crate::lsp::views::{OfSession, menu};
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CodeLens, CodeLensParams};

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
    let Some(path) = session.path_of(&params.text_document.uri) else { return Ok(None) };
    let texts = OfSession { documents: session.documents().as_ref(), session: session.id() };
    let mut lenses = plan_doc::lenses(session, &path).await;
    lenses.extend(menu::lenses(&session.desk(), &texts, &path, session.encoding()));
    Ok(Some(lenses))
}
