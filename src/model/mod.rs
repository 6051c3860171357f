//! Models over HTTP: the OpenAI-compatible Chat Completions wire, which hosted and local servers share.
//!
//! Invariant: a reply is whole or there is none; every failure is explained; no key reaches a message, a log or the
//! journal. What a server refuses, its limits and its window are learned from it, never from a table of names.
//! Absent: the Anthropic wire, backups and routing (later); conversations, which are the domain's; journaling.
//!
//! Layers, each testable without the next: `stream` (bytes to events) and `thinking`, `reply` (events to a reply),
//! `request` (a request to JSON), `negotiate`, `retry`, `faults`, `list`, `redact` (pure decisions), and `openai`, the
//! only file that does IO besides `key`.

pub mod faults;
pub mod key;
pub mod list;
pub mod negotiate;
mod openai;
pub mod redact;
pub mod reply;
pub mod request;
pub mod retry;
pub mod stream;
pub mod thinking;
mod wire;

pub use key::Key;
pub use negotiate::{Memory, ShortMemory};
pub use openai::{OpenAi, Probe};
pub use redact::{Secret, redact};

use crate::domain::agent::dialogue::{ModelFault, ModelFaultKind, ModelInfo, ModelReply, ModelRequest};
use crate::domain::connect;
use crate::ports::{Deltas, Fut, Model};
use std::time::Duration;

/// How long each part of one request may take. Four limits, because they fail for different reasons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// To a connection.
    pub connect: Duration,
    /// From there to the first byte of an answer. A local server reads the prompt first: over 40 s on a small machine.
    pub first_byte: Duration,
    /// Between two bytes. Comments count: they are how a slow server says that it lives.
    pub idle: Duration,
    /// One request in all.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first_byte: seconds(300), idle: seconds(120), total: seconds(1800) }
    }
}

/// One model as configured: plain values.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelSettings {
    /// Up to where `/chat/completions` begins.
    pub base_url: String,
    /// `None`: choose from the server's list, and say which.
    pub model: Option<String>,
    /// Its key.
    pub key: Key,
    /// Upper bound of an answer, tokens, whatever a request asks for.
    pub max_output: Option<u32>,
    /// Tokens of context; `None`: as the server tells, if it does.
    pub window: Option<u64>,
    /// Limits of time.
    pub timeouts: Timeouts,
    /// Hundredths of a cent per million input and output tokens.
    pub prices: Option<(u64, u64)>,
    /// Further headers; their values count as secrets.
    pub headers: Vec<(String, Secret)>,
    /// Where a person mends them.
    pub whence: Whence,
}

/// Where settings were written, as a message names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Whence {
    /// The configuration file.
    pub config: String,
    /// What says the address.
    pub base_url: String,
    /// What has the key, or says where it is.
    pub key: String,
}

impl Default for Whence {
    fn default() -> Self {
        let config = || "the configuration".to_owned();
        Self { config: config(), base_url: "base_url".to_owned(), key: config() }
    }
}

impl ModelSettings {
    /// A server at this address, all else as by default.
    pub fn at(base_url: &str) -> Self {
        Self {
            base_url: base_url.to_owned(),
            model: None,
            key: Key::None,
            max_output: None,
            window: None,
            timeouts: Timeouts::default(),
            prices: None,
            headers: Vec::new(),
            whence: Whence::default(),
        }
    }
}

/// No model is configured: a normal state, in which all that needs none works (G6).
#[derive(Clone, Debug)]
pub struct NoModel {
    config: String,
}

impl NoModel {
    /// `config`: the file that would name one.
    pub fn new(config: String) -> Self {
        Self { config }
    }
}

impl Model for NoModel {
    fn info(&self) -> Option<ModelInfo> {
        None
    }

    fn connect(&self) -> String {
        connect::how(Some(&self.config))
    }

    fn complete(&self, _: ModelRequest, _: Deltas) -> Fut<'_, Result<ModelReply, ModelFault>> {
        Box::pin(std::future::ready(Err(ModelFault {
            kind: ModelFaultKind::NotConfigured,
            message: format!("{}; steps without a model work all the same", connect::NONE),
            next: self.connect(),
            tries: 0,
        })))
    }
}

#[cfg(test)]
mod tests;
