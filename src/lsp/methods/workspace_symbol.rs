//! `workspace/symbol`.
//!
//! Invariant: answered from the desk. Absent: state of its own.

use crate::lsp::plan_doc::find::find;
use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Location, Position, Range, SymbolInformation, SymbolKind, WorkspaceSymbolParams};

/// Answers it.
#[allow(deprecated, reason = "the type has no other constructor, and the field must be written")]
pub async fn handle(session: &Arc<Session>, params: WorkspaceSymbolParams) -> Result<Option<Vec<SymbolInformation>>> {
    let found = find(&session.desk(), &params.query).into_iter().filter_map(|found| {
        let start = Position { line: found.line, character: 0 };
        Some(SymbolInformation {
            name: found.name,
            kind: if found.step { SymbolKind::EVENT } else { SymbolKind::NAMESPACE },
            tags: None,
            deprecated: None,
            location: Location { uri: session.uri_of_file(&found.page)?, range: Range { start, end: start } },
            container_name: Some(found.container),
        })
    });
    Ok(Some(found.collect()))
}
