//! Methods that misbehave, for tests of what stands around the handlers.
//!
//! Invariant: not in the shipped binary. Absent: anything a client would call.

use crate::lsp::session::Session;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::WorkspaceEdit;
use tower_lsp::lsp_types::request::InlayHintRefreshRequest;

/// Panics.
#[allow(clippy::panic, reason = "it is what a test asks for")]
pub async fn panics(_: &Arc<Session>) -> Result<Value> {
    tokio::task::yield_now().await;
    std::panic::panic_any("a test asked for it")
}

/// Never answers.
pub async fn waits(_: &Arc<Session>) -> Result<Value> {
    std::future::pending().await
}

/// Asks the client for an empty edit, and says what it heard within a tenth of a second.
pub async fn asks(session: &Arc<Session>) -> Result<Value> {
    let asked = session.client().apply_edit("a test", WorkspaceEdit::default(), Duration::from_millis(100));
    Ok(match asked.await {
        Ok(said) => Value::Bool(said.applied),
        Err(unanswered) => Value::String(unanswered.to_string()),
    })
}

/// Asks for what not every client knows.
pub async fn unknown(session: &Arc<Session>) -> Result<Value> {
    Ok(match session.client().ask::<InlayHintRefreshRequest>((), Duration::from_secs(5)).await {
        Ok(()) => Value::Null,
        Err(unanswered) => Value::String(unanswered.to_string()),
    })
}

/// Says very much.
pub async fn floods(session: &Arc<Session>) -> Result<Value> {
    let line = "x".repeat(64 * 1024);
    for _ in 0..64 {
        session.client().log(line.clone());
    }
    Ok(Value::Null)
}
