//! What a server refuses as a parameter: dropped or renamed once, and remembered.
//!
//! Invariant: each complaint changes the quirks, so negotiation ends after at most as many rounds as there are
//! parameters; only what led to an answer is remembered. Absent: guessing by model name, which ages badly.

use crate::ports::Fut;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// A parameter that a server may refuse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// Newer models of OpenAI call it `max_completion_tokens`.
    MaxTokens,
    /// Reasoning models know only 1.
    Temperature,
    /// Unknown to older servers; usage is then estimated.
    StreamOptions,
    /// The schema is then said in words.
    ResponseFormat,
    /// The tools are then said in words.
    Tools,
    /// `auto` is the default anyway.
    ToolChoice,
    /// A wish only.
    ParallelToolCalls,
}

/// Names as a complaint writes them. Longer names stand before those they contain.
const NAMES: [(&str, Parameter); 10] = [
    ("parallel_tool_calls", Parameter::ParallelToolCalls),
    ("max_completion_tokens", Parameter::MaxTokens),
    ("response_format", Parameter::ResponseFormat),
    ("stream_options", Parameter::StreamOptions),
    ("tool_choice", Parameter::ToolChoice),
    ("max_tokens", Parameter::MaxTokens),
    ("json_schema", Parameter::ResponseFormat),
    ("temperature", Parameter::Temperature),
    ("tools", Parameter::Tools),
    ("tool use", Parameter::Tools),
];

/// What is known of one model at one base URL.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Quirks {
    /// Not sent.
    #[serde(default)]
    refused: BTreeSet<Parameter>,
    /// `max_tokens` goes as `max_completion_tokens`.
    #[serde(default)]
    pub renamed: bool,
}

impl Quirks {
    /// Whether it is left out.
    pub fn refuses(&self, parameter: Parameter) -> bool {
        self.refused.contains(&parameter)
    }

    /// As remembered; anything unreadable is as good as nothing.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// For remembering.
    pub fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The quirks to try next, if this error body of a 400, 404 or 422 complains of a parameter that `sent` holds.
    pub fn adapted(&self, body: &str, sent: &Value) -> Option<Self> {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let error = json.get("error").unwrap_or(&json);
        let param = error.get("param").and_then(Value::as_str).unwrap_or_default();
        let message = match error {
            Value::String(text) => text.clone(),
            other => other.get("message").or_else(|| other.get("detail")).map(Value::to_string).unwrap_or_default(),
        };
        let message = if message.is_empty() { body.to_ascii_lowercase() } else { message.to_ascii_lowercase() };
        let named = |text: &str| {
            NAMES
                .iter()
                .filter(|(name, parameter)| has_word(text, name) && self.is_sent(*parameter, sent))
                .map(|n| n.1)
                .next()
        };
        let parameter = named(param).or_else(|| named(&message))?;
        let mut next = self.clone();
        match parameter {
            Parameter::MaxTokens if !self.renamed => next.renamed = true,
            other => {
                next.refused.insert(other);
            }
        }
        Some(next)
    }

    fn is_sent(&self, parameter: Parameter, sent: &Value) -> bool {
        let name = match parameter {
            Parameter::MaxTokens if self.renamed => "max_completion_tokens",
            Parameter::MaxTokens => "max_tokens",
            Parameter::Temperature => "temperature",
            Parameter::StreamOptions => "stream_options",
            Parameter::ResponseFormat => "response_format",
            Parameter::Tools => "tools",
            Parameter::ToolChoice => "tool_choice",
            Parameter::ParallelToolCalls => "parallel_tool_calls",
        };
        sent.get(name).is_some()
    }
}

/// `tools` is not named by `parallel_tools_x`.
fn has_word(text: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|t| t.chars().next());
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

/// Where quirks are kept between processes. The composition root puts the store behind it.
pub trait Memory: Send + Sync {
    /// What was kept under the key.
    fn recall<'a>(&'a self, key: &'a str) -> Fut<'a, Option<String>>;
    /// Keeps it. A memory that fails forgets: negotiation is then done again.
    fn remember<'a>(&'a self, key: &'a str, value: String) -> Fut<'a, ()>;
}

/// Remembers as long as the process lives.
#[derive(Debug, Default)]
pub struct ShortMemory(Mutex<BTreeMap<String, String>>);

impl Memory for ShortMemory {
    fn recall<'a>(&'a self, key: &'a str) -> Fut<'a, Option<String>> {
        Box::pin(async move { self.0.lock().ok().and_then(|map| map.get(key).cloned()) })
    }

    fn remember<'a>(&'a self, key: &'a str, value: String) -> Fut<'a, ()> {
        Box::pin(async move {
            if let Ok(mut map) = self.0.lock() {
                map.insert(key.to_owned(), value);
            }
        })
    }
}
