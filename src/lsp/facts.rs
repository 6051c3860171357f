//! What the client can do, as far as it changes what the server does.
//!
//! Invariant: read from the raw JSON of `initialize`, so that a capability this release has no type for takes nothing
//! else with it. Absent: the client's version as a reason for anything; Helix 25.07 and its head print the same one.

use crate::domain::text::Encoding;
use serde_json::Value;

/// What the client said of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientFacts {
    /// `Neovim`, `helix`, `Visual Studio Code`; `an editor`, where it gives no name.
    pub name: String,
    /// As it gives it.
    pub version: Option<String>,
    /// Ends with this process, if the client says so.
    pub process: Option<u32>,
    /// In what columns are counted: the first of its list, UTF-16 if it has none.
    pub encoding: Encoding,
    /// It says that it takes edits with versions. Neovim takes them and does not say so.
    pub document_changes: bool,
    /// It shows progress that the server begins.
    pub progress: bool,
    /// Lenses can be called for again.
    pub code_lens_refresh: bool,
    /// Hints can be called for again.
    pub inlay_hint_refresh: bool,
    /// Symbols of a document may have children.
    pub hierarchical_symbols: bool,
    /// Hovers may be Markdown.
    pub markdown: bool,
    /// A diagnostic may name other places.
    pub related_information: bool,
    /// `initializationOptions.glue`: our notifications are wanted.
    pub glue: bool,
    /// `initializationOptions.resume`, where it is given.
    pub resume: Option<bool>,
    /// `initializationOptions.goalInput`: the glue asks for words itself.
    pub goal_input: bool,
}

/// Editors that show a message on a line of the terminal, in lower case. Those like vi stop until a key is pressed where
/// it does not fit.
const IN_TERMINALS: [&str; 4] = ["vim", "helix", "kak", "emacs"];

impl ClientFacts {
    /// A message has a window of its own, and room for several lines. Not known is no.
    pub fn is_roomy(&self) -> bool {
        let name = self.name.to_lowercase();
        name != "an editor" && !IN_TERMINALS.iter().any(|known| name.contains(known))
    }

    /// From the parameters of `initialize`.
    pub fn read(params: &Value) -> Self {
        let at = |pointer: &str| params.pointer(pointer);
        let yes = |pointer: &str| at(pointer).and_then(Value::as_bool).unwrap_or(false);
        let can = |path: &str| yes(&format!("/capabilities/{path}"));
        let text = |pointer: &str| at(pointer).and_then(Value::as_str).map(str::to_owned);
        let formats = at("/capabilities/textDocument/hover/contentFormat").and_then(Value::as_array);
        Self {
            name: text("/clientInfo/name").filter(|name| !name.is_empty()).unwrap_or_else(|| "an editor".to_owned()),
            version: text("/clientInfo/version").filter(|version| !version.is_empty()),
            process: at("/processId").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok()),
            encoding: encoding(at("/capabilities/general/positionEncodings")),
            document_changes: can("workspace/workspaceEdit/documentChanges"),
            progress: can("window/workDoneProgress"),
            code_lens_refresh: can("workspace/codeLens/refreshSupport"),
            inlay_hint_refresh: can("workspace/inlayHint/refreshSupport"),
            hierarchical_symbols: can("textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            markdown: formats.is_some_and(|formats| formats.iter().any(|format| format == "markdown")),
            related_information: can("textDocument/publishDiagnostics/relatedInformation"),
            glue: yes("/initializationOptions/glue"),
            resume: at("/initializationOptions/resume").and_then(Value::as_bool),
            goal_input: yes("/initializationOptions/goalInput"),
        }
    }

    /// Name and version, as decisions and the list of sessions name it.
    pub fn client(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The first that is known.
fn encoding(offered: Option<&Value>) -> Encoding {
    let offered = offered.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut known = offered.filter_map(|name| match name {
        "utf-8" => Some(Encoding::Utf8),
        "utf-16" => Some(Encoding::Utf16),
        "utf-32" => Some(Encoding::Utf32),
        _ => None,
    });
    known.next().unwrap_or(Encoding::Utf16)
}

/// As the protocol writes it.
pub fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
        Encoding::Utf32 => "utf-32",
    }
}
