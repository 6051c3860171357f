//! A reply put together from the chunks of a stream, or from one whole JSON answer.
//!
//! Invariant: a `ModelReply` comes out only when a finish reason was seen and the stream ended well; whatever a stream
//! held before it broke is dropped. Absent: bytes (`stream`), what a failure means (`retry`, `faults`).

use super::faults::Failure;
use super::stream::SseEvent;
use super::thinking::Thinking;
use crate::domain::agent::dialogue::{Finish, ModelReply, ToolCall};
use crate::domain::task::facts::Usage;
use serde::Deserialize;
use serde_json::Value;

/// A reply bigger than this has run away: no `max_tokens` allows it.
const LARGEST_REPLY: usize = 16 << 20;

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Tokens>,
    model: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    delta: Option<Piece>,
    message: Option<Piece>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Piece {
    content: Option<Content>,
    reasoning: Option<String>,
    reasoning_content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

/// Most send a string; some send a list of typed parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

/// The reply so far.
#[derive(Debug, Default)]
pub struct Assembly {
    content: Thinking,
    reasoning: String,
    refusal: String,
    calls: Vec<(Option<u64>, ToolCall)>,
    finish: Option<String>,
    usage: Option<Usage>,
    model: String,
    size: usize,
    done: bool,
}

impl Assembly {
    /// Takes an event of the stream; returns the text that may be shown.
    ///
    /// # Errors
    /// What makes the whole stream worthless.
    pub fn take(&mut self, event: SseEvent) -> Result<String, Failure> {
        match event {
            SseEvent::Comment => Ok(String::new()),
            SseEvent::Broken(why) => Err(Failure::Nonsense(why.to_owned())),
            SseEvent::Data(_) if self.done => Ok(String::new()),
            SseEvent::Data(data) if data.trim() == "[DONE]" => {
                self.done = true;
                Ok(String::new())
            }
            SseEvent::Data(data) => {
                self.size = self.size.saturating_add(data.len());
                if self.size > LARGEST_REPLY {
                    return Err(Failure::Nonsense("an answer without end".to_owned()));
                }
                self.take_json(&data)
            }
        }
    }

    /// Whether the end mark `[DONE]` was seen.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Takes one JSON value: a chunk, or a whole answer, which has the same shape with `message` for `delta`.
    ///
    /// # Errors
    /// No JSON, no chunk, or an error reported inside.
    pub fn take_json(&mut self, json: &str) -> Result<String, Failure> {
        let chunk: Chunk = serde_json::from_str(json)
            .map_err(|error| Failure::Nonsense(format!("a chunk that cannot be read ({error})")))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            // Gateways send the status of whoever stands behind them inside an answer that began with 200.
            let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
            return Err(match code {
                Some(code @ 400..=599) => Failure::Status { code, body: json.to_owned(), retry_after: None },
                Some(_) | None => Failure::Reported(json.to_owned()),
            });
        }
        if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
            self.model = model;
        }
        if let Some(tokens) = chunk.usage {
            let cached = tokens.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
            let (input, output) = (tokens.prompt_tokens, tokens.completion_tokens);
            self.usage = Some(Usage { input, cached, output, estimated: false });
        }
        let mut shown = String::new();
        // One answer is asked for; a server that gives several is read for its first.
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            if let Some(piece) = choice.delta.or(choice.message) {
                shown.push_str(&self.take_piece(piece));
            }
            self.finish = choice.finish_reason.filter(|reason| !reason.is_empty()).or(self.finish.take());
        }
        Ok(shown)
    }

    fn take_piece(&mut self, piece: Piece) -> String {
        // Some servers fill both fields with the same text.
        self.reasoning.push_str(&piece.reasoning_content.or(piece.reasoning).unwrap_or_default());
        self.refusal.push_str(&piece.refusal.unwrap_or_default());
        for call in piece.tool_calls.into_iter().flatten() {
            self.take_call(call);
        }
        let text = match piece.content {
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => parts.into_iter().filter_map(|part| part.text).collect(),
            None => return String::new(),
        };
        self.content.push(&text)
    }

    fn take_call(&mut self, piece: CallPiece) {
        let id = piece.id.unwrap_or_default();
        // The index tells which call goes on; servers that give every call index 0, or none, tell by the id.
        let goes_on = |(index, call): &(Option<u64>, ToolCall)| {
            (piece.index.is_none() || *index == piece.index) && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        let at = match self.calls.iter().rposition(goes_on) {
            Some(at) => at,
            None => {
                let call = ToolCall { id: String::new(), name: String::new(), arguments: String::new() };
                self.calls.push((piece.index, call));
                self.calls.len() - 1
            }
        };
        let Some((_, call)) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            call.id = id;
        }
        let Some(function) = piece.function else { return };
        if let Some(name) = function.name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        match function.arguments {
            Some(Value::String(text)) => call.arguments.push_str(&text),
            Some(Value::Null) | None => {}
            Some(whole) => call.arguments = whole.to_string(),
        }
    }

    /// The reply, now that the stream has ended cleanly. `estimate` stands in for usage that was not told.
    ///
    /// # Errors
    /// No finish reason, or one that says there is no answer.
    pub fn finish(self, estimate: impl FnOnce(&str) -> Usage) -> Result<ModelReply, Failure> {
        let reason = self.finish.ok_or(Failure::Truncated)?.to_ascii_lowercase();
        let (text, thought) = self.content.finish();
        let mut reasoning = self.reasoning;
        if !thought.is_empty() && !reasoning.is_empty() {
            reasoning.push('\n');
        }
        reasoning.push_str(&thought);
        let mut calls: Vec<ToolCall> = self.calls.into_iter().map(|(_, call)| call).collect();
        for (n, call) in calls.iter_mut().enumerate() {
            if call.id.is_empty() {
                call.id = format!("call_{n}");
            }
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".to_owned();
            }
        }
        let finish = match reason.as_str() {
            "content_filter" => Finish::Refusal(or(self.refusal, "the provider's content filter stopped the answer")),
            _ if !self.refusal.is_empty() => Finish::Refusal(self.refusal),
            "stop" | "end_turn" | "eos" | "stop_sequence" | "tool_calls" | "tool_use" | "function_call" => {
                if calls.is_empty() { Finish::Stop } else { Finish::Calls }
            }
            "length" | "max_tokens" | "model_length" => {
                // The last call is cut, and one that is whole may lack its companion: none of them is to be carried out.
                calls.clear();
                Finish::Length
            }
            "error" | "abort" | "cancelled" | "insufficient_system_resource" => {
                return Err(Failure::Reported(format!("the answer ended with `{reason}`")));
            }
            _ => return Err(Failure::Nonsense(format!("the unknown finish reason `{reason}`"))),
        };
        if text.trim().is_empty() && calls.is_empty() && finish == Finish::Stop {
            return Err(Failure::Empty);
        }
        let written = calls.iter().fold(format!("{text}{reasoning}"), |all, call| all + &call.name + &call.arguments);
        let usage = self.usage.filter(|usage| usage.input > 0).unwrap_or_else(|| estimate(&written));
        Ok(ModelReply { text, reasoning, calls, finish, usage, model: self.model, warning: None })
    }
}

fn or(text: String, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text }
}

/// Tokens of a text, where nobody counts them: 3.6 bytes a token, as measured on mixed code and prose.
pub fn estimated_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(10).div_ceil(36)
}

/// Usage where the server does not tell it: of this request's body and of what the model wrote.
pub fn estimate(body: &Value, written: &str) -> Usage {
    let prompt = ["messages", "tools"].iter().filter_map(|part| body.get(part)).map(texts).sum();
    Usage { input: estimated_tokens(prompt), cached: 0, output: estimated_tokens(written.len()), estimated: true }
}

/// Bytes of the texts in a value: roughly what a model sees of it, without the JSON around, which no tokenizer meets.
fn texts(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(texts).sum(),
        Value::Object(map) => map.values().map(texts).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
