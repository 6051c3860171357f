//! A tool call whose arguments are valid, and what came of it.
//!
//! Invariant: an order exists only for arguments that passed the tool's schema; a result is text or the structure of
//! C3, never both. Absent: doing it.

use crate::domain::ids::WorkspacePath;
use crate::domain::plan::Command;
use crate::domain::policy::paths::Refusal;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What the caller does for the machine: one call, in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolOrder {
    /// The call's id within the step.
    pub call: String,
    /// What to do.
    pub act: Act,
    /// The model's line on why this call and which safer one it weighed (C11). It grants nothing.
    pub why: Option<String>,
}

/// What to do. `ask` and `finish` are moves of their own and have no order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "tool")]
pub enum Act {
    /// Names and sizes of files.
    List(ListArguments),
    /// A regular expression over file texts.
    Search(SearchArguments),
    /// Signatures of one file.
    Outline(OutlineArguments),
    /// A file, a range of it, or one item.
    Read(ReadArguments),
    /// Uses of a name.
    References(ReferencesArguments),
    /// A whole new item in place of an old one, or beside it.
    Edit {
        /// Which file.
        path: WorkspacePath,
        /// Which item; none means the whole of a small file without items.
        symbol: Option<String>,
        /// Instead of it, before it, after it.
        place: Placement,
        /// The item, from a fence.
        code: String,
    },
    /// Exact replacements.
    Replace {
        /// Which file.
        path: WorkspacePath,
        /// Judged together.
        pairs: Vec<Pair>,
    },
    /// A new file.
    Create {
        /// Where.
        path: WorkspacePath,
        /// Its text, from a fence.
        text: String,
    },
    /// A file under another path.
    Rename {
        /// From.
        from: WorkspacePath,
        /// To.
        to: WorkspacePath,
    },
    /// A file goes away.
    Delete {
        /// Which.
        path: WorkspacePath,
    },
    /// A command of the allow-list.
    Run {
        /// What.
        command: Command,
    },
    /// The step's own check, now.
    Check,
    /// A finding to keep.
    Note {
        /// What.
        text: String,
    },
}

impl Act {
    /// The tool's name.
    pub fn name(&self) -> &'static str {
        match self {
            Act::List(_) => "list",
            Act::Search(_) => "search",
            Act::Outline(_) => "outline",
            Act::Read(_) => "read",
            Act::References(_) => "references",
            Act::Edit { .. } => "edit",
            Act::Replace { .. } => "replace",
            Act::Create { .. } => "create",
            Act::Rename { .. } => "rename",
            Act::Delete { .. } => "delete",
            Act::Run { .. } => "run",
            Act::Check => "check",
            Act::Note { .. } => "note",
        }
    }

    /// The paths it would change.
    pub fn writes(&self) -> Vec<&WorkspacePath> {
        match self {
            Act::Edit { path, .. } | Act::Replace { path, .. } | Act::Create { path, .. } | Act::Delete { path } => {
                vec![path]
            }
            Act::Rename { from, to } => vec![from, to],
            Act::List(_)
            | Act::Search(_)
            | Act::Outline(_)
            | Act::Read(_)
            | Act::References(_)
            | Act::Run { .. }
            | Act::Check
            | Act::Note { .. } => Vec::new(),
        }
    }
}

/// What came of an order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolResult {
    /// It was done.
    Ok {
        /// What the model sees: small first, cut where long.
        text: String,
        /// The whole, where `text` was cut; kept as an artifact.
        full: Option<String>,
    },
    /// It was not done, and nothing changed.
    Err(ToolError),
}

impl ToolResult {
    /// A result that is whole.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Ok { text: text.into(), full: None }
    }
}

/// Why a tool did not do it (C3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolError {
    /// What happened.
    pub what: String,
    /// Whether the same call may succeed when it is made again.
    pub retry: bool,
    /// What to try instead.
    pub instead: String,
}

impl ToolError {
    /// An error that the same call would meet again.
    pub fn new(what: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { what: what.into(), retry: false, instead: instead.into() }
    }
}

impl From<Refusal> for ToolError {
    fn from(no: Refusal) -> Self {
        Self { what: no.what, retry: no.retry, instead: no.instead }
    }
}

/// Where a new item goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// In place of the item.
    #[default]
    Instead,
    /// Above it.
    Before,
    /// Below it.
    After,
}

/// As three plain words: the derived form is a `oneOf`, which says less in an error.
fn placement(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["instead", "before", "after"] })
}

/// Text to find and text to put there.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Pair {
    /// Lines as they stand in the file, enough to be unique
    pub search: String,
    /// Lines to put there
    pub replace: String,
}

/// Arguments of `list`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListArguments {
    /// A folder (`src/net/`) or a glob (`src/**/*.rs`); absent = everything
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// Arguments of `search`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchArguments {
    /// A regular expression, matched line by line
    #[schemars(length(min = 1))]
    pub regex: String,
    /// A folder or a glob; absent = everything
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Lines to show, 20 if absent; counts are always shown
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Arguments of `outline`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutlineArguments {
    /// A file
    pub path: String,
}

/// Arguments of `read`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadArguments {
    /// A file
    pub path: String,
    /// One item of it, as `outline` names it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// First line, from 1
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// Last line
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
}

/// Arguments of `references`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferencesArguments {
    /// An identifier, without its path
    #[schemars(length(min = 1))]
    pub name: String,
}

/// Arguments of `edit`, as the model writes them; the code comes in a fence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditArguments {
    /// A file
    pub path: String,
    /// The item, as `outline` names it (`Client::send`)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// `instead` of that item (default), or a new one `before` or `after` it
    #[serde(default)]
    #[schemars(schema_with = "placement")]
    pub place: Placement,
    /// One line: why this call, and which safer one you weighed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Arguments of `replace`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaceArguments {
    /// A file
    pub path: String,
    /// Each `search` must stand in the file exactly once
    #[schemars(length(min = 1))]
    pub pairs: Vec<Pair>,
    /// One line: why this call, and which safer one you weighed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Arguments of `create` and `delete`; the text of `create` comes in a fence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileArguments {
    /// A file
    pub path: String,
    /// One line: why this call, and which safer one you weighed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Arguments of `rename`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenameArguments {
    /// The file as it is called
    pub from: String,
    /// As it shall be called
    pub to: String,
    /// One line: why this call, and which safer one you weighed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Arguments of `run`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunArguments {
    /// Program and arguments; no pipes, no redirection, no `&&`
    #[schemars(length(min = 1))]
    pub command: String,
    /// One line: why this call, and which safer one you weighed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Arguments of `check`: none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckArguments {}

/// Arguments of `note`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteArguments {
    /// A finding worth keeping after this step
    #[schemars(length(min = 1))]
    pub text: String,
}

/// Arguments of `ask`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskArguments {
    /// What you cannot find out yourself
    #[schemars(length(min = 1))]
    pub question: String,
    /// Paths this step would need to write beyond its write set; absent = an ordinary question
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
}

/// Arguments of `finish`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishArguments {
    /// What was done, in two or three sentences
    pub summary: String,
}
