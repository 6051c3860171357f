//! `textDocument/codeAction`.
//!
//! Invariant: answered from the desk and the open documents, without waiting for anything: some clients ask at every
//! move of the cursor, and one stops until it has the answer. Nothing is listed that does not apply. Absent: state of
//! its own; resolving.

use crate::lsp::plan_doc;
use crate::lsp::session::Session;
use crate::lsp::views::menu::{self, Here};
use crate::lsp::views::{OfSession, items};
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CodeActionOrCommand, CodeActionParams, CodeActionResponse, CodeActionTriggerKind};

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
    let Some(path) = session.path_of(&params.text_document.uri) else { return Ok(None) };
    let texts = OfSession { documents: session.documents().as_ref(), session: session.id() };
    let mut here = Here {
        path: &path,
        range: params.range,
        encoding: session.encoding(),
        asked: params.context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC),
        problems: &params.context.diagnostics,
        item: None,
    };
    let (first, last) = here.lines();
    let ours = path.as_str().starts_with(".planwright/");
    let item = (!ours).then(|| items::at(session, &path, (first.saturating_add(1), last.saturating_add(1)))).flatten();
    here.item = item.as_ref();
    let mut actions = plan_doc::actions(session, &path, params.range, here.asked).await;
    actions.extend(menu::actions(&session.desk(), &texts, &here));
    actions.retain(|action| menu::is_wanted(action, params.context.only.as_deref()));
    let actions: Vec<CodeActionOrCommand> = actions.into_iter().map(CodeActionOrCommand::CodeAction).collect();
    Ok((!actions.is_empty()).then_some(actions))
}
