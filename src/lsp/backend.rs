//! From the methods of the protocol to one file each.
//!
//! Invariant: forwards, and nothing else. Absent: everything else.

use super::methods;
use super::session::Session;
use serde_json::Value;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::*;
use tower_lsp::{LanguageServer, async_trait};

/// The methods that are served.
pub struct Backend {
    session: Arc<Session>,
}

impl Backend {
    /// Of this session.
    pub fn new(session: Arc<Session>) -> Self {
        Self { session }
    }

    /// Whose methods these are.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// tower-lsp has no method of its own for it.
    pub async fn work_done_progress_cancel(&self, params: WorkDoneProgressCancelParams) {
        methods::work_done_progress_cancel::handle(&self.session, params).await;
    }
}

#[cfg(any(test, feature = "testing"))]
impl Backend {
    /// See `methods::probe`.
    pub async fn test_panics(&self) -> Result<Value> {
        methods::probe::panics(&self.session).await
    }

    /// The same.
    pub async fn test_waits(&self) -> Result<Value> {
        methods::probe::waits(&self.session).await
    }

    /// The same.
    pub async fn test_asks(&self) -> Result<Value> {
        methods::probe::asks(&self.session).await
    }

    /// The same.
    pub async fn test_unknown(&self) -> Result<Value> {
        methods::probe::unknown(&self.session).await
    }

    /// The same.
    pub async fn test_floods(&self) -> Result<Value> {
        methods::probe::floods(&self.session).await
    }
}

#[async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        methods::initialize::handle(&self.session, params).await
    }

    async fn initialized(&self, _: InitializedParams) {
        methods::initialized::handle(&self.session).await;
    }

    async fn shutdown(&self) -> Result<()> {
        methods::shutdown::handle(&self.session).await
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        methods::did_open::handle(&self.session, params).await;
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        methods::did_change::handle(&self.session, params).await;
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        methods::did_change_workspace_folders::handle(&self.session, params).await;
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        methods::did_save::handle(&self.session, params).await;
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        methods::did_close::handle(&self.session, params).await;
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        methods::code_action::handle(&self.session, params).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        methods::code_lens::handle(&self.session, params).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        methods::execute_command::handle(&self.session, params).await
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        methods::hover::handle(&self.session, params).await
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        methods::completion::handle(&self.session, params).await
    }

    async fn goto_definition(&self, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
        methods::goto_definition::handle(&self.session, params).await
    }

    async fn document_symbol(&self, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
        methods::document_symbol::handle(&self.session, params).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        methods::folding_range::handle(&self.session, params).await
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        methods::inlay_hint::handle(&self.session, params).await
    }

    async fn symbol(&self, params: WorkspaceSymbolParams) -> Result<Option<Vec<SymbolInformation>>> {
        methods::workspace_symbol::handle(&self.session, params).await
    }
}
