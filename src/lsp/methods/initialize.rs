//! `initialize`.
//!
//! Invariant: answered at once; the root is opened afterwards. The same capabilities for every client. Absent: resolving
//! of actions and lenses; a client that waits for it waits with its editor.

use crate::actions::ACTIONS;
use crate::lsp::facts::{ClientFacts, encoding_name};
use crate::lsp::session::Session;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::*;

/// Answers it.
pub async fn handle(session: &Arc<Session>, params: InitializeParams) -> Result<InitializeResult> {
    // The gate keeps what the client wrote; what is typed here may be less.
    let said = session.said().cloned().unwrap_or_else(|| serde_json::to_value(&params).unwrap_or_default());
    let facts = ClientFacts::read(&said);
    let answer = InitializeResult {
        capabilities: capabilities(&facts),
        server_info: Some(ServerInfo {
            name: "planwright".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    };
    session.initialize(facts, folder(&said));
    Ok(answer)
}

/// Where the client works: the first of the ways to say so that names a folder.
fn folder(said: &Value) -> Option<PathBuf> {
    let text = |pointer: &str| said.pointer(pointer).and_then(Value::as_str);
    let named = |uri: &str| Url::parse(uri).ok()?.to_file_path().ok();
    let root = || text("/rootUri").and_then(named);
    let first = || text("/workspaceFolders/0/uri").and_then(named);
    let path = || text("/rootPath").filter(|path| !path.is_empty()).map(PathBuf::from);
    root().or_else(first).or_else(path)
}

/// What the server can do.
fn capabilities(facts: &ClientFacts) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
        ..TextDocumentSyncOptions::default()
    };
    let actions = CodeActionOptions {
        code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::REFACTOR]),
        resolve_provider: Some(false),
        ..CodeActionOptions::default()
    };
    let completion = CompletionOptions {
        // Nothing that is typed in every line of every language: a client asks at each.
        trigger_characters: Some(vec!["`".to_owned()]),
        resolve_provider: Some(false),
        ..CompletionOptions::default()
    };
    ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::new(encoding_name(facts.encoding))),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        code_action_provider: Some(CodeActionProviderCapability::Options(actions)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        completion_provider: Some(completion),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: ACTIONS.iter().filter_map(|row| row.command_id()).collect(),
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                // Only to be told of folders that are not served.
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}
