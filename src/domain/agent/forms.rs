//! How a model writes its calls, and reading each of those ways.
//!
//! Invariant: code never stands inside JSON; the text of `edit` and `create` is taken from a closed fence. A call is
//! read from a complete answer only. Absent: whether a call is allowed or its arguments are right.

use super::dialogue::{ModelReply, ToolCall, ToolSpec};
use super::lenient::{self, JsonFault, Piece};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The way of writing calls that works with a model. Remembered for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallForm {
    /// The provider's own tool calls.
    #[default]
    Native,
    /// `{"name", "arguments"}` in the text: fenced, bare or in `<tool_call>` tags.
    Text,
    /// The whole answer is one action, constrained by a JSON schema.
    Schema,
}

/// A call as found, not yet checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundCall {
    /// The provider's id; empty when it stood in the text.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// JSON as written.
    pub arguments: String,
    /// Fenced code that belongs to it.
    pub code: Option<String>,
}

/// What an answer holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The form in which the calls were written.
    pub form: CallForm,
    /// In order.
    pub calls: Vec<FoundCall>,
    /// A call that was begun and is no complete JSON.
    pub broken: Option<JsonFault>,
    /// Closed fences that hold no call.
    pub fences: Vec<String>,
    /// The answer without thinking.
    pub text: String,
}

/// Reads an answer in whatever form it came. `fenced` says which tools take their text from a fence.
pub fn read(reply: &ModelReply, asked: CallForm, fenced: impl Fn(&str) -> bool) -> Found {
    let text = lenient::without_thinking(&reply.text);
    if !reply.calls.is_empty() {
        return native(&reply.calls, text, fenced);
    }
    let mut found = Found {
        form: CallForm::Text,
        calls: Vec::new(),
        broken: None,
        fences: Vec::new(),
        text: text.trim().to_owned(),
    };
    for piece in lenient::pieces(text) {
        match piece {
            Piece::Prose(prose) => found.prose(prose),
            Piece::Fence { lang, body, closed } => found.fence(lang, body, closed, &fenced),
        }
    }
    if asked == CallForm::Schema && found.calls.iter().all(|call| call.code.is_none()) {
        found.form = CallForm::Schema;
    }
    found
}

/// Fences go to native calls in order, if there is one for each call that needs one; else nobody can tell whose is
/// whose, and each is asked for.
fn native(calls: &[ToolCall], text: &str, fenced: impl Fn(&str) -> bool) -> Found {
    let fences: Vec<String> = lenient::pieces(text)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Fence { body, closed: true, .. } => Some(body.to_owned()),
            Piece::Fence { .. } | Piece::Prose(_) => None,
        })
        .collect();
    let need = calls.iter().filter(|call| fenced(&call.name)).count();
    let mut codes = if need == fences.len() { fences.clone().into_iter() } else { Vec::new().into_iter() };
    let calls = calls
        .iter()
        .map(|call| FoundCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            code: if fenced(&call.name) { codes.next() } else { None },
        })
        .collect();
    Found { form: CallForm::Native, calls, broken: None, fences, text: text.trim().to_owned() }
}

impl Found {
    fn prose(&mut self, prose: &str) {
        if let Some(at) = prose.find("<tool_call>") {
            for part in prose.get(at..).unwrap_or("").split("<tool_call>").skip(1) {
                self.json(part.split("</tool_call>").next().unwrap_or(part));
            }
            return;
        }
        let mut at = 0;
        for line in prose.split_inclusive('\n') {
            if line.trim_start().starts_with(['{', '[']) {
                self.json(prose.get(at..).unwrap_or(""));
                return;
            }
            at += line.len();
        }
    }

    fn fence(&mut self, lang: &str, body: &str, closed: bool, fenced: &impl Fn(&str) -> bool) {
        let may_call = matches!(lang, "" | "json" | "tool_call" | "tool_code" | "xml");
        let before = self.calls.len();
        if may_call && body.trim_start().starts_with(['{', '[']) {
            self.json(body);
        } else if may_call && body.contains("<tool_call>") {
            self.prose(body);
        }
        if self.calls.len() > before || !closed {
            return;
        }
        match self.calls.last_mut() {
            Some(call) if call.code.is_none() && fenced(&call.name) => call.code = Some(body.to_owned()),
            Some(_) | None => self.fences.push(body.to_owned()),
        }
    }

    fn json(&mut self, text: &str) {
        let (values, _, fault) = lenient::values(text);
        let before = self.calls.len();
        for value in values {
            match value {
                Value::Array(all) => self.calls.extend(all.iter().filter_map(call)),
                one => self.calls.extend(call(&one)),
            }
        }
        let begun = text.contains("\"name\"") || text.contains("\"tool\"");
        if self.calls.len() == before && begun {
            self.broken = self.broken.take().or(fault);
        }
    }
}

/// The shapes in which models write a call: `{name, arguments}`, `{name, parameters}`, `{function: {…}}`,
/// `{tool, …arguments}`. A `name` without arguments is data (a manifest, say), not a call.
fn call(value: &Value) -> Option<FoundCall> {
    let object = value.as_object()?;
    if let Some(inner) = object.get("function").filter(|inner| inner.is_object()) {
        return call(inner);
    }
    let (name, arguments) = match (object.get("name"), object.get("tool")) {
        (Some(Value::String(name)), _) => {
            (name, object.get("arguments").or_else(|| object.get("parameters")).cloned()?)
        }
        (None, Some(Value::String(name))) => match object.get("arguments") {
            Some(arguments) => (name, arguments.clone()),
            None => {
                let mut rest = object.clone();
                rest.shift_remove("tool");
                (name, Value::Object(rest))
            }
        },
        _ => return None,
    };
    let arguments = match arguments {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Some(FoundCall { id: String::new(), name: name.clone(), arguments, code: None })
}

/// The tools as one schema: an action is any of `{tool: NAME, …arguments}`. `replace` is left out, since it would put
/// code into JSON strings, which small models break off at the first quote.
pub fn schema(tools: &[ToolSpec]) -> Value {
    let actions: Vec<Value> = tools.iter().filter(|tool| tool.name != "replace").map(action).collect();
    json!({ "anyOf": actions })
}

fn action(tool: &ToolSpec) -> Value {
    let mut properties = serde_json::Map::new();
    properties.insert("tool".to_owned(), json!({ "const": tool.name }));
    if let Some(own) = tool.parameters.get("properties").and_then(Value::as_object) {
        properties.extend(own.clone());
    }
    let mut required = vec![json!("tool")];
    required.extend(tool.parameters.get("required").and_then(Value::as_array).cloned().unwrap_or_default());
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The tools in words, for models that get no native ones: a line each, with its arguments.
pub fn listed(tools: &[ToolSpec], form: CallForm) -> String {
    let hidden = |tool: &&ToolSpec| form != CallForm::Schema || tool.name != "replace";
    tools
        .iter()
        .filter(hidden)
        .map(|tool| format!("- {} {} {}\n", tool.name, arguments(tool), tool.description))
        .collect()
}

fn arguments(tool: &ToolSpec) -> String {
    let required: Vec<&str> = tool
        .parameters
        .get("required")
        .and_then(Value::as_array)
        .map(|all| all.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    let names: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let words = schema.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let words = words.collect::<Vec<_>>().join("|");
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            if words.is_empty() { format!("{name}{mark}") } else { format!("{name}{mark}: {words}") }
        })
        .collect();
    format!("{{{}}}", names.join(", "))
}

#[cfg(test)]
mod tests;
