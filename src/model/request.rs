//! The body of a Chat Completions request.
//!
//! Invariant: the same request and quirks give the same bytes, and earlier messages never change with later ones.
//! What a server refuses as a parameter is said in words instead, so that nothing the model must know is lost (the
//! words about a schema stand in the last message and move with it).
//! Absent: sending.

use super::negotiate::{Parameter, Quirks};
use crate::domain::agent::dialogue::{Message, ModelRequest, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

/// The JSON body for this model, minus what its server is known to refuse.
pub fn body(request: &ModelRequest, model: &str, quirks: &Quirks) -> Value {
    let native = !quirks.refuses(Parameter::Tools);
    let mut messages: Vec<Value> = request.messages.iter().map(|m| message(m, native)).collect();
    if !native {
        messages = merged(messages);
        if !request.tools.is_empty() {
            // At the front: the tools stay the same within a step, and so does the prefix.
            say_first(&mut messages, &tools_in_words(&request.tools));
        }
    }
    let native_tools = native && !request.tools.is_empty();
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    if let Some(schema) = &request.schema {
        if quirks.refuses(Parameter::ResponseFormat) {
            say_last(&mut messages, &format!("Answer with one JSON value of this schema and nothing else:\n{schema}"));
        } else {
            let format = json!({ "name": "answer", "strict": is_strict(schema), "schema": schema });
            body.insert("response_format".to_owned(), json!({ "type": "json_schema", "json_schema": format }));
        }
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    if native_tools {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        if !quirks.refuses(Parameter::ToolChoice) {
            body.insert("tool_choice".to_owned(), json!("auto"));
        }
        if !quirks.refuses(Parameter::ParallelToolCalls) {
            body.insert("parallel_tool_calls".to_owned(), json!(true));
        }
    }
    if !quirks.refuses(Parameter::MaxTokens) {
        let name = if quirks.renamed { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.to_owned(), json!(request.max_tokens));
    }
    if !quirks.refuses(Parameter::Temperature) {
        // The likeliest answer: a repair round should come from what we say, not from chance.
        body.insert("temperature".to_owned(), json!(0));
    }
    body.insert("stream".to_owned(), json!(true));
    if !quirks.refuses(Parameter::StreamOptions) {
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    Value::Object(body)
}

fn message(message: &Message, native: bool) -> Value {
    match message {
        Message::System { text } => json!({ "role": "system", "content": text }),
        Message::User { text } => json!({ "role": "user", "content": text }),
        Message::Assistant { text, calls } if calls.is_empty() => json!({ "role": "assistant", "content": text }),
        Message::Assistant { text, calls } if native => {
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            json!({ "role": "assistant", "content": content, "tool_calls": calls.iter().map(call).collect::<Value>() })
        }
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(call_in_words);
            let parts: Vec<String> = std::iter::once(text.clone()).filter(|t| !t.is_empty()).chain(calls).collect();
            json!({ "role": "assistant", "content": parts.join("\n") })
        }
        Message::Tool { call, text, .. } if native => json!({ "role": "tool", "tool_call_id": call, "content": text }),
        Message::Tool { name, text, .. } => json!({ "role": "user", "content": format!("Result of {name}:\n{text}") }),
    }
}

fn call(call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}

fn tool(tool: &ToolSpec) -> Value {
    let function = json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters });
    json!({ "type": "function", "function": function })
}

/// Templates of small models want user and assistant in turns; results in words would break that.
fn merged(messages: Vec<Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for message in messages {
        let text = message.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
        match out.last_mut().filter(|last| is_from(last, "user") && is_from(&message, "user")) {
            Some(last) => append(last, &text),
            None => out.push(message),
        }
    }
    out
}

fn say_first(messages: &mut Vec<Value>, words: &str) {
    match messages.first_mut().filter(|first| is_from(first, "system")) {
        Some(first) => append(first, words),
        None => messages.insert(0, json!({ "role": "system", "content": words })),
    }
}

fn say_last(messages: &mut Vec<Value>, words: &str) {
    match messages.last_mut().filter(|last| is_from(last, "user")) {
        Some(last) => append(last, words),
        None => messages.push(json!({ "role": "user", "content": words })),
    }
}

fn is_from(message: &Value, role: &str) -> bool {
    message.get("role").and_then(Value::as_str) == Some(role)
}

fn append(message: &mut Value, words: &str) {
    if let Some(Value::String(text)) = message.get_mut("content") {
        text.push_str("\n\n");
        text.push_str(words);
    }
}

/// The form in which small models write calls by themselves.
fn call_in_words(call: &ToolCall) -> String {
    let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
    format!("```json\n{}\n```", json!({ "name": call.name, "arguments": arguments }))
}

fn tools_in_words(tools: &[ToolSpec]) -> String {
    let list: Vec<String> =
        tools.iter().map(|t| format!("- {}: {} Arguments: {}", t.name, t.description, t.parameters)).collect();
    format!(
        "To use a tool, answer with one fenced block: ```json\n{{\"name\": …, \"arguments\": {{…}}}}\n```\nTools:\n{}",
        list.join("\n")
    )
}

/// Whether OpenAI's strict mode takes this schema: every object closed, every property required. Sending `strict` for
/// any other schema is refused there; leaving it out costs only the guarantee, and replies are validated anyway.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let closed = match map.get("properties").and_then(Value::as_object) {
                Some(properties) => {
                    let required = map.get("required").and_then(Value::as_array);
                    let named = |key: &String| required.is_some_and(|r| r.iter().any(|v| v.as_str() == Some(key)));
                    map.get("additionalProperties") == Some(&Value::Bool(false)) && properties.keys().all(named)
                }
                None => map.get("type").and_then(Value::as_str) != Some("object"),
            };
            closed && map.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
