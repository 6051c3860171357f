//! The language server: the whole job over stock LSP, for any editor that speaks it.
//!
//! Invariant: the only module that imports tower_lsp. No handler waits for a person, a model, a process, the disk or
//! the client; reads come from the desk and from open documents, decisions go to the host. Absent: any rule about
//! tasks, plans or hunks.

mod backend;
mod client;
mod editor;
mod facts;
mod from_proto;
mod gate;
pub mod ground;
mod methods;
mod plan_doc;
mod session;
mod to_proto;
pub mod views;

pub use client::{Client, Unanswered};
pub use editor::SessionEditor;
pub use facts::ClientFacts;
pub use ground::{Ground, Place};
pub use session::Session;

use gate::Gate;
use std::sync::{Arc, OnceLock};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::{LspService, Server};

/// Handlers at work at the same time. Far above what a client asks for at once: at tower-lsp's own 4, four slow answers
/// would keep a cancellation from being read.
const HANDLERS: usize = 1024;

/// Serves one client to its end. Gives the exit code that the protocol asks for.
pub async fn serve<I, O>(reader: I, writer: O, ground: Arc<dyn Ground>) -> u8
where
    I: AsyncRead + Unpin + Send,
    O: AsyncWrite + Send + 'static,
{
    let said = Arc::new(OnceLock::new());
    let (service, socket) = LspService::build(|wire| backend::Backend::new(Session::new(wire, said.clone(), ground)))
        .custom_method("window/workDoneProgress/cancel", backend::Backend::work_done_progress_cancel)
        .finish();
    Server::new(reader, writer, socket).concurrency_level(HANDLERS).serve(Gate::new(service)).await;
    0
}
