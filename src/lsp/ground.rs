//! What the language server stands on: the root that a client names becomes an engine to talk to.
//!
//! Invariant: nothing of a root is touched before a client has named it. Absent: how hosts are joined; `app` knows.

use crate::domain::task::action::Refusal;
use crate::host::Port;
use crate::ports::{Documents, Fut, SessionId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes places out of roots.
pub trait Ground: Send + Sync {
    /// Open documents of this process, from before the first join to the end.
    fn documents(&self) -> Arc<dyn Documents>;
    /// The canonical root that this folder belongs to: the top of its git worktree, else itself. `None` where it is no
    /// folder. Looks at names only, and is quick.
    fn root_of(&self, folder: &Path) -> Option<PathBuf>;
    /// Where the process was started.
    fn working_directory(&self) -> PathBuf;
    /// Joins or becomes the host of the root that this folder belongs to. `client` is the editor's name and version,
    /// `session` which of those that have documents here acts through the place.
    fn open(
        &self,
        folder: PathBuf,
        client: String,
        session: Option<SessionId>,
    ) -> Fut<'_, Result<Arc<dyn Workplace>, Refusal>>;
}

/// A root with its engine.
pub trait Workplace: Send + Sync {
    /// Canonical.
    fn root(&self) -> &Path;
    /// The engine, here or in another process.
    fn port(&self) -> &dyn Port;
    /// The OS user, as decisions name them.
    fn user(&self) -> &str;
    /// The setting `resume`: tasks that were running go on by themselves, after an act in a session of 20 s (B2).
    fn resumes(&self) -> bool;
    /// The root lies below the system's folder for temporary files; nothing goes on by itself there.
    fn is_temporary(&self) -> bool;
    /// What the user must hear of the engine's start, each thing once. What is about a file begins with its path and a
    /// colon.
    fn urgent(&self) -> Vec<String> {
        Vec::new()
    }
    /// Lets the engine end in order, so that what is in flight is dropped and not cut.
    fn close(&self) -> Fut<'_, ()>;
}
