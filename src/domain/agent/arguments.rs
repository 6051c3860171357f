//! Arguments against a schema: harmless slips mended and counted, everything else sent back with path, expected and
//! received.
//!
//! Invariant: a mend never changes what was meant; what is returned satisfies the schema. JSON that ends early is never
//! mended. Absent: what the arguments mean.

use super::lenient::{self, JsonFault, Piece};
use jsonschema::JsonType;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Arguments that satisfy their schema.
#[derive(Clone, PartialEq, Debug)]
pub struct Checked {
    /// Ready to be read into the tool's own type.
    pub value: Value,
    /// What had to be mended, one each.
    pub slips: Vec<Slip>,
}

/// A harmless slip that was mended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slip {
    /// The JSON stood in a code fence.
    Fence,
    /// So many commas before a closing bracket.
    TrailingCommas(u32),
    /// A number or truth value written as a string, at this path.
    Quoted(String),
    /// A single value where a list must be, at this path.
    NoList(String),
    /// `null` for "absent", at this path.
    Null(String),
    /// A field that the tool does not know, dropped (reads only).
    Unknown(String),
}

/// One thing wrong, for the model to mend.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Violation {
    /// A JSON pointer; `/` is the whole.
    pub path: String,
    /// What must stand there.
    pub expected: String,
    /// What does.
    pub received: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at `{}`: expected {}, received {}", self.path, self.expected, self.received)
    }
}

/// What is done with fields that the schema does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// Dropped and counted: calls that only read.
    Drop,
    /// Refused: an unknown field of a change may be a condition that would be lost.
    Refuse,
}

/// Rounds of mending: a string in a list of one needs two, nothing needs four.
const ROUNDS: u32 = 3;

/// Reads and checks arguments as a model wrote them. Nothing at all counts as `{}`.
///
/// # Errors
/// Everything that is wrong, in the order of the schema.
pub fn check(raw: &str, schema: &Value, unknown: Unknown) -> Result<Checked, Vec<Violation>> {
    let mut slips = Vec::new();
    let text = match lenient::pieces(raw).as_slice() {
        [Piece::Fence { body, closed: true, .. }] => {
            slips.push(Slip::Fence);
            *body
        }
        _ => raw,
    };
    if text.trim().is_empty() {
        return check_value(Value::Object(serde_json::Map::new()), schema, unknown, slips);
    }
    let (mut values, commas, fault) = lenient::values(text);
    if commas > 0 {
        slips.push(Slip::TrailingCommas(commas));
    }
    let whole =
        |received| vec![Violation { path: "/".to_owned(), expected: "one complete JSON object".to_owned(), received }];
    match (values.pop(), values.is_empty(), fault) {
        (Some(value), true, None) => check_value(value, schema, unknown, slips),
        (_, _, Some(fault)) => Err(whole(fault.words())),
        (Some(_), false, None) => Err(whole("several JSON values".to_owned())),
        (None, _, None) => Err(whole(JsonFault::Cut.words())),
    }
}

/// Checks a value that was read already.
///
/// # Errors
/// Everything that is wrong.
pub fn check_value(
    mut value: Value,
    schema: &Value,
    unknown: Unknown,
    mut slips: Vec<Slip>,
) -> Result<Checked, Vec<Violation>> {
    let validator = jsonschema::validator_for(schema).map_err(|fault| {
        vec![Violation {
            path: "/".to_owned(),
            expected: "a usable schema".to_owned(),
            received: format!("a schema that is none ({fault}); this is a defect of planwright"),
        }]
    })?;
    for _ in 0..ROUNDS {
        let mends: Vec<(String, Mend)> = validator
            .iter_errors(&value)
            .filter_map(|error| Some((error.instance_path().as_str().to_owned(), mend(error.kind(), unknown)?)))
            .collect();
        let before = slips.len();
        for (path, mend) in mends {
            apply(&mut value, &path, mend, &mut slips);
        }
        if slips.len() == before {
            break;
        }
    }
    let wrong: Vec<Violation> = validator.iter_errors(&value).map(|error| violation(&error)).collect();
    if wrong.is_empty() { Ok(Checked { value, slips }) } else { Err(wrong) }
}

enum Mend {
    Retype(Vec<JsonType>),
    Drop(Vec<String>),
}

fn mend(kind: &ValidationErrorKind, unknown: Unknown) -> Option<Mend> {
    match kind {
        ValidationErrorKind::Type { kind } => Some(Mend::Retype(types(kind))),
        ValidationErrorKind::AdditionalProperties { unexpected } if unknown == Unknown::Drop => {
            Some(Mend::Drop(unexpected.clone()))
        }
        _ => None,
    }
}

fn types(kind: &TypeKind) -> Vec<JsonType> {
    match kind {
        TypeKind::Single(one) => vec![*one],
        TypeKind::Multiple(set) => set.iter().collect(),
    }
}

fn apply(root: &mut Value, path: &str, mend: Mend, slips: &mut Vec<Slip>) {
    match mend {
        Mend::Drop(fields) => {
            let Some(object) = root.pointer_mut(path).and_then(Value::as_object_mut) else { return };
            for field in fields {
                object.shift_remove(&field);
                slips.push(Slip::Unknown(format!("{path}/{field}")));
            }
        }
        Mend::Retype(types) => retype(root, path, &types, slips),
    }
}

fn retype(root: &mut Value, path: &str, types: &[JsonType], slips: &mut Vec<Slip>) {
    let Some(value) = root.pointer_mut(path) else { return };
    let wants = |wanted: JsonType| types.contains(&wanted);
    if let Value::String(text) = value {
        let read = serde_json::from_str::<Value>(text.trim()).ok().filter(|read| match read {
            Value::Number(number) => wants(JsonType::Number) || (wants(JsonType::Integer) && !number.is_f64()),
            Value::Bool(_) => wants(JsonType::Boolean),
            Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => false,
        });
        if let Some(read) = read {
            *value = read;
            slips.push(Slip::Quoted(path.to_owned()));
            return;
        }
    }
    if wants(JsonType::Array) && !value.is_null() {
        *value = Value::Array(vec![value.take()]);
        slips.push(Slip::NoList(path.to_owned()));
    } else if value.is_null()
        && let Some((parent, field)) = path.rsplit_once('/')
        && let Some(object) = root.pointer_mut(parent).and_then(Value::as_object_mut)
        && object.shift_remove(field).is_some()
    {
        slips.push(Slip::Null(path.to_owned()));
    }
}

fn violation(error: &jsonschema::ValidationError<'_>) -> Violation {
    let path = match error.instance_path().as_str() {
        "" => "/".to_owned(),
        path => path.to_owned(),
    };
    let received = received(error.instance());
    let (path, expected, received) = match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let wanted = types(kind);
            let names: Vec<String> =
                wanted.iter().filter(|one| **one != JsonType::Null).map(ToString::to_string).collect();
            (path, names.join(" or "), received)
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            (format!("{}/{name}", path.trim_end_matches('/')), "a value (the field is required)".to_owned(), {
                "nothing".to_owned()
            })
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            (path, "only fields of the schema".to_owned(), format!("also `{}`", unexpected.join("`, `")))
        }
        // An object that takes no fields refuses each of them with a schema that nothing fits.
        ValidationErrorKind::FalseSchema => {
            (path, "nothing here: the call takes no such argument".to_owned(), received)
        }
        ValidationErrorKind::Enum { options } => (path, format!("one of {options}"), received),
        ValidationErrorKind::Constant { expected_value } => (path, expected_value.to_string(), received),
        ValidationErrorKind::MinLength { limit } => (path, format!("at least {limit} characters"), received),
        ValidationErrorKind::MaxLength { limit } => (path, format!("at most {limit} characters"), received),
        ValidationErrorKind::MinItems { limit } => (path, format!("at least {limit} items"), received),
        ValidationErrorKind::MaxItems { limit } => (path, format!("at most {limit} items"), received),
        ValidationErrorKind::Pattern { pattern } => (path, format!("text that matches `{pattern}`"), received),
        other => (path, format!("what `{}` asks for", other.keyword()), received),
    };
    Violation { path, expected, received }
}

/// A value for an error message: its type, and the value where it is short.
fn received(value: &Value) -> String {
    let shown = super::cut::one_line(&value.to_string(), 60);
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => format!("boolean {shown}"),
        Value::Number(_) => format!("number {shown}"),
        Value::String(_) => format!("string {shown}"),
        Value::Array(_) => format!("array {shown}"),
        Value::Object(_) => format!("object {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::policy::tools::row;

    #[track_caller]
    fn told(tool: &str, raw: &str) -> String {
        let Some(row) = row(tool) else { return "no such tool".to_owned() };
        let unknown = match row.class {
            crate::domain::policy::tools::EffectClass::Reads => Unknown::Drop,
            _ => Unknown::Refuse,
        };
        match check(raw, &row.schema, unknown) {
            Ok(checked) => format!("{} {:?}", checked.value, checked.slips),
            Err(wrong) => wrong.iter().map(|one| format!("! {one}\n")).collect(),
        }
    }

    #[test]
    fn harmless_slips_are_mended_and_counted() {
        let all = [
            told("read", r#"{"path": "a.rs", "from": "3", "to": 9,}"#),
            told("read", "```json\n{\"path\": \"a.rs\", \"symbol\": null}\n```"),
            told("read", r#"{"path": "a.rs", "reason": "to see"}"#),
            told("replace", r#"{"path": "a.rs", "pairs": {"search": "a", "replace": "b"}}"#),
            told("ask", r#"{"question": "may I?", "scope": "src/b.rs"}"#),
            told("list", ""),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        {"path":"a.rs","from":3,"to":9} [TrailingCommas(1), Quoted("/from")]
        {"path":"a.rs","symbol":null} [Fence]
        {"path":"a.rs"} [Unknown("/reason")]
        {"path":"a.rs","pairs":[{"search":"a","replace":"b"}]} [NoList("/pairs")]
        {"question":"may I?","scope":["src/b.rs"]} [NoList("/scope")]
        {} []
        "#);
    }

    #[test]
    fn the_rest_goes_back_with_path_expected_received() {
        let all = [
            told("read", r#"{"file": "a.rs", "from": "three"}"#),
            told("replace", r#"{"path": "a.rs", "pairs": [{"search": 1}]}"#),
            told("delete", r#"{"path": "a.rs", "only_if_empty": true}"#),
            told("edit", r#"{"path": "a.rs", "symbol": "f", "place": "inside"}"#),
            told("run", r#"{"command": ["cargo", "test"]}"#),
            told("read", r#"{"path": "a.r"#),
            told("read", "read a.rs please"),
            told("read", r#"{"path":"a.rs"}{"path":"b.rs"}"#),
        ];
        insta::assert_snapshot!(all.concat(), @r#"
        ! at `/from`: expected integer, received string "three"
        ! at `/path`: expected a value (the field is required), received nothing
        ! at `/pairs/0/replace`: expected a value (the field is required), received nothing
        ! at `/pairs/0/search`: expected string, received number 1
        ! at `/`: expected only fields of the schema, received also `only_if_empty`
        ! at `/place`: expected one of ["instead","before","after"], received string "inside"
        ! at `/command`: expected string, received array ["cargo","test"]
        ! at `/`: expected one complete JSON object, received JSON that ends before it is complete
        ! at `/`: expected one complete JSON object, received text that is no JSON (expected value at line 1 column 1)
        ! at `/`: expected one complete JSON object, received several JSON values
        "#);
    }
}
