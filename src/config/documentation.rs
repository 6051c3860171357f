//! The keys of the configuration file as a Markdown table, for the README.
//!
//! Invariant: made from the schema alone, so it lists every key that the reader takes. Absent: defaults; `doctor` shows
//! the value of each key and where it comes from.

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// One row a key, the keys dotted.
pub fn documentation() -> String {
    let schema = super::schema();
    let mut page = "| key | value | meaning |\n|---|---|---|\n".to_owned();
    rows(&schema, &schema, "", &mut page);
    page
}

fn rows(schema: &Value, table: &Value, above: &str, page: &mut String) {
    let none = Map::new();
    let mut tables: Vec<(&Value, String)> = Vec::new();
    for (name, value) in table.get("properties").and_then(Value::as_object).unwrap_or(&none) {
        let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        let target = target(schema, value);
        let meaning = value.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
        if target.get("properties").is_some() {
            // A second table of the same shape, `fast` beside `strong`, is one row.
            if let Some((_, like)) = tables.iter().find(|(known, _)| *known == target) {
                let _infallible = writeln!(page, "| `{key}.…` | as `{like}.…` | {meaning} |");
            } else {
                rows(schema, target, &key, page);
                tables.push((target, key));
            }
            continue;
        }
        let (key, kind) = match target.get("additionalProperties") {
            Some(each) if each.is_object() => (format!("{key}.NAME"), kind(each)),
            Some(_) | None => (key, kind(target)),
        };
        let _infallible = writeln!(page, "| `{key}` | {kind} | {meaning} |");
    }
}

/// What stands behind a reference, and what is left of `… or null`.
fn target<'a>(schema: &'a Value, value: &'a Value) -> &'a Value {
    let choices = value.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let real = choices.into_iter().find(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    let value = real.unwrap_or(value);
    let reference = value.get("$ref").and_then(Value::as_str).and_then(|pointer| pointer.strip_prefix('#'));
    reference.and_then(|pointer| schema.pointer(pointer)).unwrap_or(value)
}

fn kind(value: &Value) -> &'static str {
    let kind = match value.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().find_map(|kind| kind.as_str().filter(|kind| *kind != "null")),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match kind {
        Some("string") => "text",
        Some("integer") => "whole number",
        Some("number") => "number",
        Some("boolean") => "true or false",
        Some("array") => "list of texts",
        Some(_) | None => "any",
    }
}
