//! An exchange with a model as values: what is asked, what is answered, why there is no answer.
//!
//! Invariant: a reply is complete (a terminal event was seen); nothing partial has this type. Absent: the wire.

use crate::domain::ids::TraceId;
use crate::domain::task::event::Cause;
use crate::domain::task::facts::Usage;
use serde::{Deserialize, Serialize};

/// Who says a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "role")]
pub enum Message {
    /// Rules of the house.
    System {
        /// Text.
        text: String,
    },
    /// Us.
    User {
        /// Text.
        text: String,
    },
    /// The model.
    Assistant {
        /// Text outside of calls.
        text: String,
        /// What it called.
        calls: Vec<ToolCall>,
    },
    /// A call's result.
    Tool {
        /// The call's id.
        call: String,
        /// The tool's name.
        name: String,
        /// What is sent back.
        text: String,
    },
}

/// A call as the model wrote it. Arguments are the raw text: checking them is the domain's business.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id, or one made by us.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// JSON, as received.
    pub arguments: String,
}

/// A tool offered to the model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: serde_json::Value,
}

/// What a model is asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModelRequest {
    /// In order; the prefix of a step stays the same byte for byte (G4).
    pub messages: Vec<Message>,
    /// Offered tools; empty = none.
    pub tools: Vec<ToolSpec>,
    /// The answer must be JSON of this schema.
    pub schema: Option<serde_json::Value>,
    /// Upper bound of the answer, tokens.
    pub max_tokens: u32,
    /// `TRACEPARENT` of the request.
    pub trace: Option<TraceId>,
}

/// Why the answer ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was complete.
    Stop,
    /// It calls tools.
    Calls,
    /// It was cut at `max_tokens`: nothing of it is executed.
    Length,
    /// The provider or model refused.
    Refusal(String),
}

/// A complete answer: a terminal event was seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModelReply {
    /// Text without reasoning.
    pub text: String,
    /// Reasoning text, kept apart and never parsed.
    pub reasoning: String,
    /// Native calls, complete.
    pub calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: Finish,
    /// Billed.
    pub usage: Usage,
    /// The model's own name.
    pub model: String,
    /// What a person should know although there is an answer: the server seems to have cut the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Why there is no answer. `kind` decides what happens next, the message tells a person.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ModelFault {
    /// What kind.
    pub kind: ModelFaultKind,
    /// What happened, with the provider's words, redacted.
    pub message: String,
    /// What a person can do.
    pub next: String,
    /// Requests that reached the wire before giving up.
    pub tries: u32,
}

/// Kinds of model faults (G2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFaultKind {
    /// No model is configured: a normal state (G6).
    NotConfigured,
    /// The key is missing or refused (401, 403).
    Credentials,
    /// 404 or an unknown model.
    NoSuchModel,
    /// The request is wrong in the provider's eyes (other 4xx).
    Rejected,
    /// The prompt does not fit; compact and try once more.
    ContextTooLong,
    /// 408, 409, 429, 5xx, 529 beyond the retries.
    Busy,
    /// Refused, reset, DNS, TLS.
    Connection,
    /// Connect, first byte, idle or total limit.
    Stalled,
    /// A stream without its terminal event, or no JSON where JSON must be.
    Malformed,
    /// An answer with neither text nor call.
    Empty,
}

impl ModelFaultKind {
    /// The named cause of a failure that this fault ends in (B16).
    pub fn cause(self) -> Cause {
        match self {
            Self::NotConfigured | Self::Credentials | Self::NoSuchModel => Cause::MissingDependency,
            Self::Rejected | Self::Busy | Self::Connection => Cause::Transport,
            Self::ContextTooLong => Cause::Budget,
            Self::Stalled => Cause::Timeout,
            Self::Malformed | Self::Empty => Cause::ModelOutput,
        }
    }
}

/// What is known of the configured model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModelInfo {
    /// `provider/model`.
    pub name: String,
    /// Base URL without credentials.
    pub base_url: String,
    /// Tokens of context, as configured or told by the server.
    pub window: Option<u64>,
    /// Hundredths of a cent per million input and output tokens, if configured.
    pub prices: Option<(u64, u64)>,
}
