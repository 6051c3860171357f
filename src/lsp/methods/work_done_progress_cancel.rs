//! `window/workDoneProgress/cancel`.
//!
//! Invariant: a cancellation is the user's command like any other. Absent: state of its own.

use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::lsp_types::WorkDoneProgressCancelParams;

/// Takes it in.
pub async fn handle(_session: &Arc<Session>, _params: WorkDoneProgressCancelParams) {}
