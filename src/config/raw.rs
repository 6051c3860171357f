//! The configuration file as written.
//!
//! Invariant: every key is optional here, and this is the only list of keys: the schema, the check for unknown keys
//! and the reader are made from it. Absent: defaults and checks.

use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `config.toml`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawConfig {
    /// Language models by tier.
    pub model: RawModels,
    /// Formatters by file extension: an argument vector that reads a text on standard input and writes it formatted to
    /// standard output. An empty one switches the formatter off.
    pub format: BTreeMap<String, Vec<String>>,
    /// Limits of the runtime.
    pub limits: RawLimits,
    /// In an editor, tasks that were running when their process ended go on by themselves: after 20 s, and once you did
    /// something. On where it is not set.
    pub resume: Option<bool>,
    /// Commands run isolated where this system can do it. On where it is not set; off, each command asks first.
    pub isolation: Option<bool>,
}

/// Tiers of models.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawModels {
    /// Plans, and does steps that need judgement.
    pub strong: Option<RawModel>,
    /// Does the rest. Unset: `strong` does it.
    pub fast: Option<RawModel>,
}

/// One model.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawModel {
    /// `openai` (and everything that speaks its Chat Completions).
    pub provider: Option<String>,
    /// Up to where `/chat/completions` begins, mostly ending in `/v1`.
    pub base_url: Option<String>,
    /// Its name at the server. Unset: one of the server's list.
    pub model: Option<String>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    /// A command (argument vector) that prints the key.
    pub key_command: Option<Vec<String>>,
    /// Longest answer, in tokens.
    pub max_output: Option<u32>,
    /// Context, in tokens. Unset: as the server tells.
    pub window: Option<u64>,
    /// Limits of time for one request.
    pub timeouts: RawTimeouts,
    /// For budgets in money; without them money is not enforced.
    pub prices: Option<RawPrices>,
    /// Further HTTP headers.
    pub headers: BTreeMap<String, String>,
}

/// Seconds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawTimeouts {
    /// Seconds to a connection.
    pub connect: Option<u64>,
    /// Seconds to the first byte of an answer.
    pub first_byte: Option<u64>,
    /// Seconds between two bytes.
    pub idle: Option<u64>,
    /// Seconds in all.
    pub total: Option<u64>,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawPrices {
    /// US dollars per million tokens of the prompt.
    pub input: f64,
    /// US dollars per million tokens of the answer.
    pub output: f64,
}

/// Limits of the runtime.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawLimits {
    /// Steps at once.
    pub parallel: Option<u32>,
    /// Turns with a model in one step.
    pub turns: Option<u32>,
    /// Seconds a command may take.
    pub command_timeout: Option<u64>,
    /// Seconds a tool may take.
    pub tool_timeout: Option<u64>,
    /// Bytes kept of a command's output.
    pub output_bytes: Option<u64>,
    /// Tokens of context that a step's first request may use.
    pub context: Option<u64>,
}

/// The JSON schema of the file, for `schema config` and for editors.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(RawConfig).to_value()
}
