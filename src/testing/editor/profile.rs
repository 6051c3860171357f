//! The editors that the in-memory client can be, as they were seen to behave.
//!
//! Invariant: capabilities are what the named version sent, unchanged. Absent: what an editor shows.

use serde_json::{Value, json};
use std::time::Duration;

/// An editor of a version.
#[derive(Clone, Debug)]
pub struct Profile {
    /// As `clientInfo` says it.
    pub name: &'static str,
    /// The same.
    pub version: &'static str,
    /// As it sends them.
    pub capabilities: Value,
    /// The version it gives a document at `didOpen`.
    pub first_version: i32,
    /// What it does with an edit.
    pub edits: Edits,
    /// What it does with an edit for another version of the text.
    pub stale: Stale,
    /// When it tells of the change that an edit made.
    pub tells: Tells,
    /// Between the answer to an edit and the `didChange`, where that comes afterwards.
    pub debounce: Duration,
    /// It shows no diagnostics for a text that is not its newest.
    pub drops_old_diagnostics: bool,
    /// It may miss the end of a bar, and is told of it again.
    pub may_miss_ends: bool,
    /// It opens documents on request, whatever it says that it can.
    pub shows_documents: bool,
    /// Other requests that it answers with null; all further ones it does not know.
    pub knows: &'static [&'static str],
}

/// What is done with an edit that fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edits {
    /// Made, and said so.
    Made,
    /// Said to be made, and not made.
    Pretended,
    /// Not made, and said so.
    Refused,
    /// Made, and said not to be.
    Denied,
    /// Not made, and nothing said.
    Ignored,
    /// Made one line below its place, and said to be made.
    Misplaced,
    /// Made and told of at once, and said so only after so long.
    Late(Duration),
}

/// What is done with an edit for another version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stale {
    /// Dropped, and said to be made; versions of 0 and of the future are not compared at all (Neovim).
    Pretended,
    /// Refused.
    Refused,
}

/// When `didChange` comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tells {
    /// Before the answer.
    Before,
    /// After it.
    After,
    /// With the next change that the user makes, in one message.
    WithTheNext,
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

const REFRESHES: &[&str] = &[
    "window/workDoneProgress/create",
    "workspace/codeLens/refresh",
    "workspace/inlayHint/refresh",
    "client/registerCapability",
];

impl Profile {
    /// Helix 25.07.1, as distributions have it. Opens documents and does not say so.
    pub fn helix_25_07() -> Self {
        Self {
            name: "helix",
            version: "25.07.1 (a05c151b)",
            capabilities: parsed(include_str!("capabilities/helix-25.07.json")),
            first_version: 0,
            edits: Edits::Made,
            stale: Stale::Refused,
            tells: Tells::Before,
            debounce: Duration::ZERO,
            drops_old_diagnostics: true,
            may_miss_ends: true,
            shows_documents: true,
            knows: &["window/workDoneProgress/create", "client/registerCapability"],
        }
    }

    /// Helix's head of July 2026; prints the same version.
    pub fn helix_head() -> Self {
        Self {
            version: "25.07.1 (079a789e)",
            capabilities: parsed(include_str!("capabilities/helix-head.json")),
            ..Self::helix_25_07()
        }
    }

    /// VS Code 1.100 with languageclient 9.
    pub fn vscode_1_100() -> Self {
        Self {
            name: "Visual Studio Code",
            version: "1.100.3",
            capabilities: parsed(include_str!("capabilities/vscode-1.100.json")),
            first_version: 1,
            edits: Edits::Made,
            stale: Stale::Refused,
            tells: Tells::After,
            debounce: Duration::from_millis(26),
            drops_old_diagnostics: false,
            may_miss_ends: false,
            shows_documents: true,
            knows: REFRESHES,
        }
    }

    /// VS Code 1.139 with languageclient 10.
    pub fn vscode_1_139() -> Self {
        Self {
            version: "1.139.1",
            capabilities: parsed(include_str!("capabilities/vscode-1.139.json")),
            ..Self::vscode_1_100()
        }
    }

    /// Neovim 0.11.4.
    pub fn neovim_0_11() -> Self {
        Self {
            name: "Neovim",
            version: "0.11.4",
            capabilities: parsed(include_str!("capabilities/neovim-0.11.json")),
            first_version: 0,
            edits: Edits::Made,
            stale: Stale::Pretended,
            tells: Tells::After,
            debounce: Duration::from_millis(150),
            drops_old_diagnostics: false,
            may_miss_ends: false,
            shows_documents: true,
            knows: &["window/workDoneProgress/create", "workspace/inlayHint/refresh", "client/registerCapability"],
        }
    }

    /// All of them.
    pub fn all() -> [Self; 5] {
        [Self::helix_25_07(), Self::helix_head(), Self::vscode_1_100(), Self::vscode_1_139(), Self::neovim_0_11()]
    }

    /// The parameters of `initialize`, in this folder.
    pub fn initialize(&self, root: &str) -> Value {
        json!({
            "processId": null,
            "clientInfo": {"name": self.name, "version": self.version},
            "rootUri": root,
            "workspaceFolders": [{"name": "work", "uri": root}],
            "capabilities": self.capabilities,
        })
    }
}
