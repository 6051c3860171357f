//! The language server: the whole job over stock LSP, for any editor that speaks it.
//!
//! Invariant: the only module that imports tower_lsp. No handler waits for a person, a model, a process, the disk or
//! the client; reads come from the desk and from open documents, decisions go to the host. One exception: what is taken
//! in in the client's order must know its file at once, so the links of a name are followed as it is first named
//! (`Session::path_of`), and those of the root in `initialize`. Absent: any rule about tasks, plans or hunks.

mod backend;
mod client;
mod commands;
mod editor;
mod facts;
mod frames;
mod from_proto;
mod gate;
pub mod ground;
mod methods;
mod open;
mod parent;
mod pipes;
mod plan_doc;
mod resume;
mod session;
mod to_proto;
pub mod views;

#[cfg(test)]
mod tests;

pub use client::{Answer, Client, PATIENCE, Progress, Unanswered};
pub use editor::SessionEditor;
pub use facts::ClientFacts;
pub use ground::{Ground, Workplace};
pub use session::Session;

use backend::Backend;
use frames::Frames;
use gate::Gate;
use pipes::{Ending, Queued, Watched};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::{LspService, Server};

/// Handlers at work at the same time. Far above what a client asks for at once: at tower-lsp's own 4, four slow answers
/// would keep a cancellation from being read.
const HANDLERS: usize = 1024;

/// How long answers that are ready may take on their way out, once the session is over. It does not end by itself while
/// a handler waits or the client holds the pipe.
const DRAIN: Duration = Duration::from_millis(50);

/// Serves one client to its end. Gives the exit code that the protocol asks for: 0 after `shutdown`, else 1. The
/// caller ends the process; standard input may be held open by the client for ever.
pub async fn serve<I, O>(reader: I, writer: O, ground: Arc<dyn Ground>) -> u8
where
    I: AsyncRead + Unpin + Send,
    O: AsyncWrite + Send + 'static,
{
    let (ending, said) = (Ending::new(), Arc::new(OnceLock::new()));
    let service = LspService::build(|wire| Backend::new(Session::new(wire, said.clone(), ground)))
        .custom_method("window/workDoneProgress/cancel", Backend::work_done_progress_cancel);
    #[cfg(any(test, feature = "testing"))]
    let service = service
        .custom_method("planwright/test/panics", Backend::test_panics)
        .custom_method("planwright/test/waits", Backend::test_waits)
        .custom_method("planwright/test/asks", Backend::test_asks)
        .custom_method("planwright/test/unknown", Backend::test_unknown)
        .custom_method("planwright/test/floods", Backend::test_floods);
    let (service, socket) = service.finish();
    let session = service.inner().session().clone();
    let (output, writing) = Queued::new(writer, ending.clone());
    let input = Frames::new(Watched::new(reader, ending.clone()), output.queue(), ending.clone());
    let server = Server::new(input, output, socket).concurrency_level(HANDLERS);
    {
        let mut serving = std::pin::pin!(server.serve(Gate::new(service, said, ending.clone())));
        let editor_gone = async {
            match session.editor_process().await {
                Some(editor) => editor.gone().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = &mut serving => {}
            () = editor_gone => tracing::info!("the editor's process has ended"),
            () = ending.wait() => {
                let _drained_or_held = tokio::time::timeout(DRAIN, &mut serving).await;
            }
        }
    }
    writing.end().await;
    session.end().await;
    ending.code()
}
