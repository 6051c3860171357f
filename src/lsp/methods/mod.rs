//! One file a method of the protocol.
//!
//! Invariant: a handler changes state before its first wait only, and waits for no person, model, process or client.
//! Absent: what is said without being asked; `views` has it.

pub mod code_action;
pub mod code_lens;
pub mod completion;
pub mod did_change;
pub mod did_change_workspace_folders;
pub mod did_close;
pub mod did_open;
pub mod did_save;
pub mod document_symbol;
pub mod execute_command;
pub mod folding_range;
pub mod goto_definition;
pub mod hover;
pub mod initialize;
pub mod initialized;
pub mod inlay_hint;
#[cfg(any(test, feature = "testing"))]
pub mod probe;
pub mod shutdown;
pub mod work_done_progress_cancel;
pub mod workspace_symbol;

use super::session::Session;
use crate::desk::{CodeView, Query, View};
use crate::domain::ids::WorkspacePath;
use std::time::Duration;

/// How long a read is waited for. One client stops until it has the answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the engine's reads say, if they say it in time.
pub(super) async fn ask(session: &Session, query: Query) -> Option<View> {
    let place = session.place()?;
    tokio::time::timeout(PATIENCE, place.port().ask(query)).await.ok()?.ok()
}

/// The code of a file or a symbol, as the engine's reads have it. A symbol without a file is not guessed.
async fn code_at(session: &Session, path: Option<WorkspacePath>, symbol: Option<String>) -> Option<CodeView> {
    let path = match (path, &symbol) {
        (Some(path), _) => path,
        (None, Some(_)) | (None, None) => return None,
    };
    match ask(session, Query::Code { path, symbol }).await {
        Some(View::Code(code)) => code,
        Some(_) | None => None,
    }
}
