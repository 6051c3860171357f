//! `textDocument/foldingRange`.
//!
//! Invariant: whole lines only. Absent: state of its own.

use crate::lsp::plan_doc::outline::folds;
use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{FoldingRange, FoldingRangeKind, FoldingRangeParams};

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
    let Some(path) = session.path_of(&params.text_document.uri) else { return Ok(None) };
    let Some(reading) = session.plans().read(session, &path).await else { return Ok(None) };
    let folds = folds(&reading.moment()).into_iter().map(|(start_line, end_line, comment)| FoldingRange {
        start_line,
        end_line,
        kind: comment.then_some(FoldingRangeKind::Comment),
        ..FoldingRange::default()
    });
    Ok(Some(folds.collect()))
}
