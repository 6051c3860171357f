//! `shutdown`.
//!
//! Invariant: answered at once; editors wait two or three seconds for it and some of them not at all. Absent: ending the
//! engine; that is done once the wire is closed.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;

/// Answers it.
pub async fn handle(_session: &Arc<Session>) -> Result<()> {
    Ok(())
}
