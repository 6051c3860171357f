//! `textDocument/definition`.
//!
//! Invariant: a place is answered in whole lines, which mean the same in every encoding, unless it lies in the document
//! itself. Absent: state of its own.

use crate::lsp::plan_doc::jump::{self, Destination, wanted};
use crate::lsp::plan_doc::say::Ruler;
use crate::lsp::plan_doc::task_of_page;
use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{GotoDefinitionParams, GotoDefinitionResponse, Location, Position, Range};

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
    let at = params.text_document_position_params;
    let uri = at.text_document.uri;
    let Some(path) = session.path_of(&uri) else { return Ok(None) };
    if let Some(reading) = session.plans().read(session, &path).await {
        let Some(ruler) = reading.ruler(session) else { return Ok(None) };
        return Ok(match wanted(&reading.moment(), ruler.offset(at.position)) {
            None => None,
            Some(Destination::Here(range)) => Some(Location { uri, range: ruler.range(&range) }.into()),
            Some(Destination::Code { path, symbol }) => {
                let found = super::code_at(session, path, symbol).await;
                found.and_then(|code| Some(line(session.uri_of(&code.path)?, code.line).into()))
            }
        });
    }
    let Some(task) = task_of_page(&path) else { return Ok(None) };
    let Some(document) = session.id().and_then(|id| session.documents().of(id, &path)) else { return Ok(None) };
    let desk = session.desk();
    let dossier = desk.tasks.iter().find(|dossier| dossier.task.id == task);
    let ruler = Ruler::new(&document.text, session.encoding(), uri, document.version);
    let found = dossier.and_then(|dossier| {
        let to = jump::from_page(&document.text, ruler.offset(at.position), dossier)?;
        Some(line(session.uri_of_file(&dossier.page.as_ref()?.path)?, to).into())
    });
    Ok(found)
}

fn line(uri: tower_lsp::lsp_types::Url, line: u32) -> Location {
    let start = Position { line, character: 0 };
    Location { uri, range: Range { start, end: start } }
}
