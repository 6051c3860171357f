//! Every way in which there can be no answer, and what a person is told about it.
//!
//! Invariant: each failure has a kind, a message with the provider's own words (redacted, shortened) and a next step.
//! Absent: deciding whether to try again.

use super::Whence;
use super::redact::{Secret, redact, shown_url};
use crate::domain::agent::dialogue::{ModelFault, ModelFaultKind};
use serde_json::Value;
use std::time::Duration;

/// Longest quotation of a provider, in characters.
const QUOTE: usize = 300;

/// Which limit ran out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// No connection.
    Connect(Duration),
    /// Connected, but not a byte of answer.
    FirstByte(Duration),
    /// It fell silent.
    Idle(Duration),
    /// One request in all.
    Total(Duration),
}

/// One request without an answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// Answered with a status that is no success.
    Status {
        /// The code.
        code: u16,
        /// As much of the body as was read.
        body: String,
        /// The pause it asked for.
        retry_after: Option<Duration>,
    },
    /// An error inside a stream that began well.
    Reported(String),
    /// Nobody listens there.
    Refused(String),
    /// The host's name is unknown.
    Dns(String),
    /// No secure connection.
    Tls(String),
    /// The connection broke.
    Reset(String),
    /// A limit ran out.
    Stalled(Limit),
    /// The stream ended without its terminal event.
    Truncated,
    /// No JSON where JSON must be, or an answer against the protocol.
    Nonsense(String),
    /// A web page; its title or beginning.
    Page(String),
    /// An answer with neither text nor call.
    Empty,
    /// The request could not be made at all.
    Setup(String),
}

/// What a message needs to know of whom was asked.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// As configured.
    pub base_url: &'a str,
    /// Which model.
    pub model: &'a str,
    /// Never quoted.
    pub secrets: Vec<&'a Secret>,
    /// It was sent a key.
    pub has_key: bool,
    /// Where its settings are.
    pub whence: &'a Whence,
}

/// The fault a person is told. `tries` is filled in by the caller.
pub fn explain(failure: &Failure, site: &Site<'_>) -> ModelFault {
    let url = shown_url(site.base_url);
    let Whence { base_url, .. } = site.whence;
    let quote = |text: &str| shorten(&redact(text, &site.secrets));
    let (kind, message, next) = match failure {
        Failure::Status { code, body, retry_after } => return explain_status(*code, body, *retry_after, site),
        Failure::Reported(body) => {
            let kind = if is_too_long(body) { ModelFaultKind::ContextTooLong } else { ModelFaultKind::Busy };
            (
                kind,
                format!("{url} broke its answer off: {}", quote(&words(body))),
                "run `planwright resume` in a while".to_owned(),
            )
        }
        Failure::Refused(_) => (
            ModelFaultKind::Connection,
            format!("nothing listens at {url} (connection refused)"),
            format!("start the model server, or correct {base_url}"),
        ),
        Failure::Dns(cause) => (
            ModelFaultKind::Connection,
            format!("the host of {url} cannot be found: {}", quote(cause)),
            format!("check the spelling of {base_url} and the network"),
        ),
        Failure::Tls(cause) => (
            ModelFaultKind::Connection,
            format!("no secure connection to {url}: {}", quote(cause)),
            format!("check https or http in {base_url}, the machine's certificates and its clock"),
        ),
        Failure::Reset(cause) => (
            ModelFaultKind::Connection,
            format!("the connection to {url} broke: {}", quote(cause)),
            "check the network and the server's own log, then `planwright resume`".to_owned(),
        ),
        Failure::Stalled(limit) => {
            let (what, key, span) = match limit {
                Limit::Connect(span) => ("did not take the connection", "connect", span),
                Limit::FirstByte(span) => ("sent not one byte of an answer", "first_byte", span),
                Limit::Idle(span) => ("fell silent in the middle of its answer", "idle", span),
                Limit::Total(span) => ("did not finish its answer", "total", span),
            };
            let message = format!("{url} {what} within {} s", span.as_secs());
            (ModelFaultKind::Stalled, message, format!("see whether the server is overloaded, or raise timeouts.{key}"))
        }
        Failure::Truncated => (
            ModelFaultKind::Malformed,
            format!("the answer of {url} ended without its end mark; nothing of it was used"),
            "check what stands between here and the server (a proxy with a time limit?)".to_owned(),
        ),
        Failure::Nonsense(what) => (
            ModelFaultKind::Malformed,
            format!("{url} does not speak Chat Completions: {}", quote(what)),
            format!("check that {base_url} ends where `/chat/completions` begins (mostly in `/v1`)"),
        ),
        Failure::Page(title) => (
            ModelFaultKind::Malformed,
            format!("{url} answered with a web page instead of JSON: {}", quote(title)),
            format!("check that {base_url} is the API and not a site or a login page (mostly it ends in `/v1`)"),
        ),
        Failure::Empty => (
            ModelFaultKind::Empty,
            format!("{} answered with neither text nor a call, twice", site.model),
            "raise max_output (reasoning may have used it up), or name another model".to_owned(),
        ),
        Failure::Setup(what) => (
            ModelFaultKind::Connection,
            format!("no request could be made to {url}: {}", quote(what)),
            "correct base_url and headers of the model's configuration".to_owned(),
        ),
    };
    ModelFault { kind, message, next, tries: 0 }
}

fn explain_status(code: u16, body: &str, retry_after: Option<Duration>, site: &Site<'_>) -> ModelFault {
    let url = shown_url(site.base_url);
    let model = site.model;
    let Whence { config, base_url, key } = site.whence;
    let page = page_title(body);
    let said = shorten(&redact(&page.clone().unwrap_or_else(|| words(body)), &site.secrets));
    let said = if said.is_empty() { "it gave no reason".to_owned() } else { said };
    let lower = body.to_ascii_lowercase();
    let (kind, next) = match code {
        _ if is_too_long(body) || code == 413 => (
            ModelFaultKind::ContextTooLong,
            match told_window(body) {
                Some(window) => {
                    format!("the server's window is {window} tokens: set `window = {window}`, or raise it there")
                }
                None => "set `window` to what the server can take, or narrow the step".to_owned(),
            },
        ),
        401 if site.has_key => (
            ModelFaultKind::Credentials,
            format!("check the key; it comes from {key} (`planwright doctor` says what is found)"),
        ),
        401 => (
            ModelFaultKind::Credentials,
            format!(
                "it wants a key: name its variable as key_env in {config} (`planwright doctor` says what is found)"
            ),
        ),
        403 => {
            (ModelFaultKind::Credentials, format!("check that the key from {key} may use {model}, and from this place"))
        }
        _ if is_quota(body) => (ModelFaultKind::Credentials, "see billing and limits at the provider".to_owned()),
        _ if lower.contains("v1/responses") => (
            ModelFaultKind::NoSuchModel,
            "this model speaks only the Responses API, which this release does not; name another".to_owned(),
        ),
        404 if lower.contains("model") && page.is_none() => (
            ModelFaultKind::NoSuchModel,
            format!("`{model}` is not there; name one of the server's list (`planwright doctor` shows it)"),
        ),
        404 | 405 => (
            ModelFaultKind::NoSuchModel,
            format!("check that {base_url} ends where `/chat/completions` begins (mostly in `/v1`)"),
        ),
        300..=399 => (ModelFaultKind::Rejected, "name the address it redirects to as base_url".to_owned()),
        400 if lower.contains("model") && (lower.contains("not exist") || lower.contains("not found")) => {
            (ModelFaultKind::NoSuchModel, format!("`{model}` is not there; name one of the server's list"))
        }
        408 | 409 | 425 | 429 | 500..=599 => (
            ModelFaultKind::Busy,
            match retry_after {
                Some(span) => format!("it asks to wait {} s; then `planwright resume`", span.as_secs()),
                None => "run `planwright resume` in a while, or name another model".to_owned(),
            },
        ),
        _ => (
            ModelFaultKind::Rejected,
            "see the provider's words; the request's settings are in the configuration".to_owned(),
        ),
    };
    ModelFault { kind, message: format!("{url} answered {code} for {model}: {said}"), next, tries: 0 }
}

/// Whether an error body says that the prompt does not fit. Providers differ in words; these cover OpenAI and its
/// like, llama.cpp, vLLM, Ollama, LM Studio, Mistral and gateways.
pub fn is_too_long(body: &str) -> bool {
    let lower = body.to_ascii_lowercase();
    [
        "exceed_context_size",
        "context_length_exceeded",
        "maximum context length",
        "exceeds the available context",
        "context window",
        "context length",
        "prompt is too long",
        "input is too long",
        "too many input tokens",
    ]
    .iter()
    .any(|sign| lower.contains(sign))
}

/// Money ran out: no waiting helps.
pub fn is_quota(body: &str) -> bool {
    let lower = body.to_ascii_lowercase();
    ["insufficient_quota", "exceeded your current quota", "billing", "insufficient balance", "credit balance"]
        .iter()
        .any(|sign| lower.contains(sign))
}

/// The window a server names in its complaint: `n_ctx`, or "maximum context length is 8192 tokens".
pub fn told_window(body: &str) -> Option<u64> {
    let json: Value = serde_json::from_str(body).unwrap_or_default();
    if let Some(window) = json.pointer("/error/n_ctx").and_then(Value::as_u64) {
        return Some(window);
    }
    let (_, after) = body.split_once("maximum context length is ")?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The provider's words in an error body, wherever this dialect puts them.
pub fn words(body: &str) -> String {
    let json: Value = match serde_json::from_str(body) {
        Ok(json) => json,
        Err(_) => return body.to_owned(),
    };
    let error = json.get("error").unwrap_or(&json);
    let candidates = [error.get("message"), error.get("detail"), json.get("message"), json.get("detail"), Some(error)];
    match candidates.into_iter().flatten().next() {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => body.to_owned(),
    }
}

/// The title of a web page, or its beginning; `None` when the body is none.
pub fn page_title(body: &str) -> Option<String> {
    if !body.trim_start().starts_with('<') {
        return None;
    }
    let title = body.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    Some(title.map_or_else(|| body.to_owned(), |(title, _)| title.trim().to_owned()))
}

/// One line of at most `QUOTE` characters without control characters.
fn shorten(text: &str) -> String {
    let line = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match line.char_indices().nth(QUOTE) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}
