//! `workspace/didChangeWorkspaceFolders`.
//!
//! Invariant: a server serves one root. Files of another are left alone, and that is said once for each. Absent: serving
//! several; an editor starts a server for each.

use crate::lsp::commands::complain;
use crate::lsp::session::Session;
use std::sync::Arc;
use tower_lsp::lsp_types::{DidChangeWorkspaceFoldersParams, Url};

/// Takes it in.
pub async fn handle(session: &Arc<Session>, params: DidChangeWorkspaceFoldersParams) {
    leave_alone(session, params.event.added.into_iter().map(|folder| folder.uri).collect());
}

/// Says of each folder of another root that it is not served. Which root a folder has is asked of the disk, and so
/// beside whoever calls this.
pub fn leave_alone(session: &Arc<Session>, folders: Vec<Url>) {
    let session = session.clone();
    let _goes_on = tokio::task::spawn_blocking(move || {
        let Some(root) = session.root() else { return };
        let named = folders.iter().filter_map(|uri| uri.to_file_path().ok());
        let others = named.filter_map(|folder| session.ground().root_of(&folder)).filter(|other| other != root);
        for other in others {
            if session.commands().is_left_alone_first(&other) {
                let message = format!("{} is not served here, only {} is", other.display(), root.display());
                complain(&session, &message, "open it in a window of its own");
            }
        }
    });
}
