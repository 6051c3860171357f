//! What the server says to the client, and what it asks it.
//!
//! Invariant: a message is on its way before the call returns, in the order of the calls. Nothing is said before the
//! client has said `initialized`. A request runs to its end in a task of its own, whoever waits for the answer: a late
//! answer to a waiter that is gone would end the process (tower-lsp#417). Every wait has an end. Absent:
//! `window/showMessageRequest`; it takes the keys of whoever is typing.

use super::facts::ClientFacts;
use futures_util::FutureExt;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc;
use tower_lsp::lsp_types::notification::{self, Notification};
use tower_lsp::lsp_types::request::{self, Request};
use tower_lsp::lsp_types::*;

/// How long an answer is waited for that no person has to give.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Why a request has no answer.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Unanswered {
    /// The client has not said `initialized`, or it has gone.
    #[error("the editor is not there")]
    Away,
    /// It does not know the request.
    #[error("the editor does not know `{0}`")]
    Unknown(&'static str),
    /// It said nothing in time.
    #[error("the editor did not answer `{0}`")]
    Late(&'static str),
    /// It answered with an error.
    #[error("the editor answered: {0}")]
    Failed(String),
}

/// The client's end of the wire. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    wire: tower_lsp::Client,
    facts: Arc<OnceLock<ClientFacts>>,
    ready: AtomicBool,
    /// Requests that it answered with -32601.
    unknown: Mutex<HashSet<&'static str>>,
    tokens: AtomicU64,
}

impl Client {
    /// Silent until [`Self::open`].
    pub(super) fn new(wire: tower_lsp::Client, facts: Arc<OnceLock<ClientFacts>>) -> Self {
        let inner = Inner {
            wire,
            facts,
            ready: AtomicBool::default(),
            unknown: Mutex::default(),
            tokens: AtomicU64::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The client has said `initialized`.
    pub(super) fn open(&self) {
        self.inner.ready.store(true, Ordering::Release);
    }

    fn is_open(&self) -> bool {
        self.inner.ready.load(Ordering::Acquire)
    }

    /// Sends a notification.
    pub fn notify<N: Notification>(&self, params: N::Params)
    where
        N::Params: Send,
    {
        if self.is_open() {
            let wire = self.inner.wire.clone();
            // The first poll puts the message into the queue, which has a place for each sender of its own; what is left
            // to wait for is the writer.
            let _queued = async move { wire.send_notification::<N>(params).await }.now_or_never();
        }
    }

    /// Sends a request. It is on its way when this returns; the answer may be waited for or not.
    pub fn ask<R>(&self, params: R::Params, patience: Duration) -> Answer<R::Result>
    where
        R: Request + 'static,
        R::Params: Send + 'static,
        R::Result: Send + 'static,
    {
        let (told, answer) = oneshot::channel();
        let answer = Answer { answer, patience, method: R::METHOD };
        if !self.is_open() {
            let _waits_below = told.send(Err(Unanswered::Away));
            return answer;
        }
        if self.lock_unknown().contains(R::METHOD) {
            let _waits_below = told.send(Err(Unanswered::Unknown(R::METHOD)));
            return answer;
        }
        let this = self.clone();
        let mut asking = async move {
            let found = match this.inner.wire.send_request::<R>(params).await {
                Ok(found) => Ok(found),
                Err(error) if error.code == jsonrpc::ErrorCode::MethodNotFound => {
                    this.lock_unknown().insert(R::METHOD);
                    Err(Unanswered::Unknown(R::METHOD))
                }
                Err(error) => Err(Unanswered::Failed(error.message.into_owned())),
            };
            // Whoever asked may have given up.
            let _gone = told.send(found);
        }
        .boxed();
        if (&mut asking).now_or_never().is_none() {
            tokio::spawn(asking);
        }
        answer
    }

    fn lock_unknown(&self) -> std::sync::MutexGuard<'_, HashSet<&'static str>> {
        self.inner.unknown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn can(&self, fact: impl Fn(&ClientFacts) -> bool) -> bool {
        self.inner.facts.get().is_some_and(fact)
    }

    /// Asks for an edit. What it answers proves nothing; the text does.
    pub fn apply_edit(
        &self,
        label: &str,
        edit: WorkspaceEdit,
        patience: Duration,
    ) -> Answer<ApplyWorkspaceEditResponse> {
        let params = ApplyWorkspaceEditParams { label: Some(label.to_owned()), edit };
        self.ask::<request::ApplyWorkspaceEdit>(params, patience)
    }

    /// Shows a document. Only directly after a command of the user: it may take their focus. Tried whatever the client
    /// says that it can: Helix 25.07 opens documents and does not say so.
    pub fn show_document(&self, uri: Url, selection: Option<Range>, take_focus: bool) -> Answer<ShowDocumentResult> {
        let params = ShowDocumentParams { uri, external: None, take_focus: Some(take_focus), selection };
        self.ask::<request::ShowDocument>(params, PATIENCE)
    }

    /// Replaces what is said of a document.
    pub fn publish_diagnostics(&self, uri: Url, diagnostics: Vec<Diagnostic>, version: Option<i32>) {
        self.notify::<notification::PublishDiagnostics>(PublishDiagnosticsParams { uri, diagnostics, version });
    }

    /// One line that the user sees. Errors only: anything less opens a prompt in Neovim and takes the next key.
    pub fn show_error(&self, line: &str) {
        let message = line.lines().collect::<Vec<_>>().join(" ");
        self.notify::<notification::ShowMessage>(ShowMessageParams { typ: MessageType::ERROR, message });
    }

    /// A line for the client's log.
    pub fn log(&self, message: impl Into<String>) {
        let message = message.into();
        self.notify::<notification::LogMessage>(LogMessageParams { typ: MessageType::INFO, message });
    }

    /// Begins to show progress; `None` where the client shows none. It is told of the token before anything is said with
    /// it.
    pub async fn begin_progress(&self, title: &str, message: Option<String>, cancellable: bool) -> Option<Progress> {
        if !self.can(|facts| facts.progress) {
            return None;
        }
        let number = self.inner.tokens.fetch_add(1, Ordering::Relaxed) + 1;
        let token = NumberOrString::String(format!("planwright-{number}"));
        let params = WorkDoneProgressCreateParams { token: token.clone() };
        self.ask::<request::WorkDoneProgressCreate>(params, PATIENCE).await.ok()?;
        let progress = Progress { client: self.clone(), token, ended: false };
        progress.say(WorkDoneProgress::Begin(WorkDoneProgressBegin {
            title: title.to_owned(),
            cancellable: Some(cancellable),
            message,
            percentage: None,
        }));
        Some(progress)
    }

    /// Has lenses asked for again, where the client can.
    pub fn refresh_code_lenses(&self) {
        if self.can(|facts| facts.code_lens_refresh) {
            drop(self.ask::<request::CodeLensRefresh>((), PATIENCE));
        }
    }

    /// Has hints asked for again, where the client can.
    pub fn refresh_inlay_hints(&self) {
        if self.can(|facts| facts.inlay_hint_refresh) {
            drop(self.ask::<request::InlayHintRefreshRequest>((), PATIENCE));
        }
    }

    /// One of our own notifications, to glue that opted in.
    pub fn tell_glue<N>(&self, params: Value)
    where
        N: Notification<Params = Value>,
    {
        if self.can(|facts| facts.glue) {
            self.notify::<N>(params);
        }
    }
}

/// An answer that is on its way. Dropping it abandons the wait, not the request.
pub struct Answer<T> {
    answer: oneshot::Receiver<Result<T, Unanswered>>,
    patience: Duration,
    method: &'static str,
}

impl<T: Send + 'static> IntoFuture for Answer<T> {
    type Output = Result<T, Unanswered>;
    type IntoFuture = futures_util::future::BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            match tokio::time::timeout(self.patience, self.answer).await {
                Ok(Ok(found)) => found,
                Ok(Err(_)) => Err(Unanswered::Away),
                Err(_) => Err(Unanswered::Late(self.method)),
            }
        }
        .boxed()
    }
}

/// Progress that is shown until it is ended or dropped.
pub struct Progress {
    client: Client,
    token: NumberOrString,
    ended: bool,
}

impl Progress {
    /// As `window/workDoneProgress/cancel` names it.
    pub fn token(&self) -> &NumberOrString {
        &self.token
    }

    /// What goes on now.
    pub fn report(&self, message: impl Into<String>, percentage: Option<u32>) {
        let report = WorkDoneProgressReport { cancellable: None, message: Some(message.into()), percentage };
        self.say(WorkDoneProgress::Report(report));
    }

    /// It is over.
    pub fn end(mut self, message: Option<String>) {
        self.ended = true;
        self.say(WorkDoneProgress::End(WorkDoneProgressEnd { message }));
    }

    fn say(&self, value: WorkDoneProgress) {
        let params = ProgressParams { token: self.token.clone(), value: ProgressParamsValue::WorkDone(value) };
        self.client.notify::<notification::Progress>(params);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if !self.ended {
            self.say(WorkDoneProgress::End(WorkDoneProgressEnd { message: None }));
        }
    }
}
