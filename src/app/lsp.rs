//! The language server's ground: what `planwright lsp` stands on.
//!
//! Invariant: standard output belongs to the protocol; nothing else is written to it. Absent: any method of the
//! protocol.

use super::joined::{Hosted, Joined};
use super::{Site, actor, log_to};
use crate::cli::Exit;
use crate::config::{Arguments, Environment};
use crate::domain::task::action::{Refusal, RefusalKind};
use crate::domain::task::decide::refuse;
use crate::host::{Port, Seat};
use crate::lsp::{Ground, Workplace};
use crate::ports::{Documents, Fut, SessionId, Workspace as _};
use crate::workspace::{Buffers, root_of};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Serves the editor at the other end of standard input, to its end.
pub(super) async fn run(environment: &Environment) -> Exit {
    let ground = Arc::new(EditorGround {
        environment: environment.clone(),
        documents: Arc::new(Buffers::new()),
        hosted: Hosted::default(),
    });
    let code = crate::lsp::serve(tokio::io::stdin(), tokio::io::stdout(), ground.clone()).await;
    // An engine that was just starting when the editor left has no place yet that would have closed it.
    ground.hosted.leave().await;
    if code == 0 { Exit::Done } else { Exit::Failed }
}

struct EditorGround {
    environment: Environment,
    documents: Arc<Buffers>,
    hosted: Hosted,
}

impl Ground for EditorGround {
    fn documents(&self) -> Arc<dyn Documents> {
        self.documents.clone()
    }

    fn root_of(&self, folder: &Path) -> Option<PathBuf> {
        folder.canonicalize().ok().filter(|folder| folder.is_dir()).map(|folder| root_of(&folder))
    }

    fn working_directory(&self) -> PathBuf {
        std::env::current_dir().unwrap_or_default()
    }

    fn open(
        &self,
        folder: PathBuf,
        client: String,
        session: Option<SessionId>,
    ) -> Fut<'_, Result<Arc<dyn Workplace>, Refusal>> {
        Box::pin(async move {
            let config = crate::config::load(&self.environment, &Arguments::default()).map_err(|fault| {
                refuse(RefusalKind::Broken, fault.to_string(), "mend the configuration; nothing was started")
            })?;
            let resumes = config.resume.value;
            let site = Arc::new(Site::open(config, self.environment.clone(), folder, self.documents.clone())?);
            log_to(&site.state.folder().join("planwright.log"), &site.config.log.value);
            let root = site.disk.root().to_path_buf();
            let seat = Seat::editor(&client, self.documents.clone()).of(session);
            let urgent = site.urgent.clone();
            let port = Joined::join(site, seat, self.hosted.clone()).await?.staying();
            let user = actor(&self.environment).user;
            let place: Arc<dyn Workplace> =
                Arc::new(EditorPlace { root, port, user, resumes, hosted: self.hosted.clone(), urgent });
            Ok(place)
        })
    }
}

struct EditorPlace {
    root: PathBuf,
    port: Joined,
    user: String,
    resumes: bool,
    hosted: Hosted,
    urgent: Arc<Mutex<Vec<String>>>,
}

impl Workplace for EditorPlace {
    fn root(&self) -> &Path {
        &self.root
    }

    fn port(&self) -> &dyn Port {
        &self.port
    }

    fn user(&self) -> &str {
        &self.user
    }

    fn resumes(&self) -> bool {
        self.resumes
    }

    fn is_temporary(&self) -> bool {
        let temporary = std::env::temp_dir();
        self.root.starts_with(temporary.canonicalize().unwrap_or(temporary))
    }

    fn urgent(&self) -> Vec<String> {
        std::mem::take(&mut *self.urgent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn close(&self) -> Fut<'_, ()> {
        Box::pin(self.hosted.leave())
    }
}
