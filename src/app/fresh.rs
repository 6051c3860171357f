//! What follows the user's files while a process runs: the symbol index, and whoever wants to be told.
//!
//! Invariant: symbols are those of the text of the moment, an editor's where one has the file open (D2). Absent: what is
//! made of it.

use crate::domain::change::Entry;
use crate::domain::ids::WorkspacePath;
use crate::ports::{DocumentEvent, Documents, Workspace};
use crate::syntax::TreeSitter;
use crate::workspace::{Burst, Changes};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Typing is one report for each such time: a parse of the file is spared for each key.
const QUIET: Duration = Duration::from_millis(100);

/// So many files are parsed before anybody notices.
const LONG: usize = 32;

/// Keeps the index as the files and documents are. `files` shows documents laid over the disk.
pub(super) struct Fresh {
    pub(super) files: Arc<dyn Workspace>,
    pub(super) syntax: Arc<TreeSitter>,
}

impl Fresh {
    async fn update(&self, paths: &BTreeSet<WorkspacePath>) {
        for path in paths {
            let text = match self.files.read(path).await {
                Ok(Entry::File { text, .. }) => Some(text),
                Ok(Entry::Absent) | Err(_) => None,
            };
            let (syntax, path) = (self.syntax.clone(), path.clone());
            let parsed = tokio::task::spawn_blocking(move || syntax.index().update(&path, text.as_deref()));
            if let Err(error) = parsed.await {
                tracing::warn!(%error, "the symbols of a file were not read");
            }
        }
    }

    /// Follows the disk; `tell` hears of each burst when the index has it, of a long one before: what a checkout did to
    /// hunks is not to wait until everything else is parsed. `tell_more` hears when something changed that has no name.
    pub(super) async fn follow_disk(
        self: Arc<Self>,
        mut changes: Changes,
        tell: impl Fn(Vec<WorkspacePath>),
        tell_more: impl Fn(),
    ) {
        while let Some(Burst { mut paths, more }) = changes.next().await {
            if more {
                tell_more();
                paths.extend(self.files.list().await.into_iter().map(|file| file.path));
                paths.extend(self.syntax.index().table().files.keys().cloned());
            }
            let long = paths.len() > LONG;
            if long {
                tell(paths.iter().cloned().collect());
            }
            self.update(&paths).await;
            if !long {
                tell(paths.into_iter().collect());
            }
        }
    }

    /// Follows the documents, as long as `documents` has events.
    pub(super) fn follow_documents(self: Arc<Self>, documents: &dyn Documents) {
        let (told, mut events) = mpsc::unbounded_channel();
        documents.listen(Arc::new(move |_, event: &DocumentEvent| {
            // A save changes no text.
            if !matches!(event, DocumentEvent::Saved { .. }) && !event.path().as_str().starts_with(".planwright/") {
                let _nobody_follows = told.send(event.path().clone());
            }
        }));
        tokio::spawn(async move {
            while let Some(first) = events.recv().await {
                tokio::time::sleep(QUIET).await;
                let mut paths = BTreeSet::from([first]);
                while let Ok(more) = events.try_recv() {
                    paths.insert(more);
                }
                self.update(&paths).await;
            }
        });
    }
}
