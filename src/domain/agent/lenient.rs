//! Reading what models really write: fences, thinking, JSON with harmless slips.
//!
//! Invariant: nothing is guessed. JSON that ends early is `Cut` and never completed; a fence that is not closed is told
//! apart from one that is. Absent: what the JSON means.

use serde_json::Value;
use std::borrow::Cow;

/// A part of a message, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// Text outside of fences.
    Prose(&'a str),
    /// A fenced block.
    Fence {
        /// The first word after the ticks.
        lang: &'a str,
        /// Whole lines between the fences.
        body: &'a str,
        /// Its end was seen.
        closed: bool,
    },
}

/// Why text is not read as JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JsonFault {
    /// It ends before the value does.
    Cut,
    /// It is no JSON; the parser's words.
    Wrong(String),
}

impl JsonFault {
    /// For the model.
    pub fn words(&self) -> String {
        match self {
            JsonFault::Cut => "JSON that ends before it is complete".to_owned(),
            JsonFault::Wrong(why) => format!("text that is no JSON ({why})"),
        }
    }
}

/// A message without the reasoning that some servers leave in its head: `<think>…</think>`, or everything before a
/// lone `</think>` (templates that open the tag themselves). Reasoning that never ends leaves nothing.
pub fn without_thinking(text: &str) -> &str {
    let start = text.trim_start();
    let opened = start.starts_with("<think>");
    match start.find("</think>") {
        Some(end) if opened || !start.get(..end).unwrap_or("").contains("```") => {
            start.get(end + "</think>".len()..).unwrap_or("").trim_start()
        }
        Some(_) | None if opened => "",
        Some(_) | None => text,
    }
}

/// Cuts a message into prose and fenced blocks (three or more backticks or tildes, at any indentation).
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(char, usize, &str, usize)> = None;
    let mut from = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let (mark, ticks, rest) = ticks(line.trim());
        match open {
            None if ticks >= 3 && !rest.contains('`') => {
                push_prose(&mut found, text.get(from..at));
                open = Some((mark, ticks, rest.split_whitespace().next().unwrap_or(""), end));
            }
            Some((opener, count, lang, body)) if mark == opener && ticks >= count && rest.is_empty() => {
                found.push(Piece::Fence { lang, body: text.get(body..at).unwrap_or(""), closed: true });
                open = None;
                from = end;
            }
            None | Some(_) => {}
        }
        at = end;
    }
    match open {
        Some((_, _, lang, body)) => {
            found.push(Piece::Fence { lang, body: text.get(body..).unwrap_or(""), closed: false });
        }
        None => push_prose(&mut found, text.get(from..)),
    }
    found
}

fn push_prose<'a>(found: &mut Vec<Piece<'a>>, prose: Option<&'a str>) {
    if let Some(prose) = prose.filter(|prose| !prose.trim().is_empty()) {
        found.push(Piece::Prose(prose));
    }
}

fn ticks(line: &str) -> (char, usize, &str) {
    let mark = line.chars().next().unwrap_or(' ');
    if mark != '`' && mark != '~' {
        return (mark, 0, line);
    }
    let rest = line.trim_start_matches(mark);
    (mark, line.len() - rest.len(), rest.trim())
}

/// Values that stand one after the other at the head of a text, with the number of trailing commas that were dropped,
/// and what stopped the reading if it was not the text's end.
pub fn values(text: &str) -> (Vec<Value>, u32, Option<JsonFault>) {
    let (mended, commas) = without_trailing_commas(text);
    let mut found = Vec::new();
    let stream = serde_json::Deserializer::from_str(&mended).into_iter::<Value>();
    for value in stream {
        match value {
            Ok(value) => found.push(value),
            Err(fault) if fault.is_eof() => return (found, commas, Some(JsonFault::Cut)),
            Err(fault) => return (found, commas, Some(JsonFault::Wrong(fault.to_string()))),
        }
    }
    (found, commas, None)
}

/// The JSON value that a whole answer means: bare, in a fence, or after some prose. For structured answers.
///
/// # Errors
/// `Cut`, when the value ends early; else why no value was found.
pub fn whole(text: &str) -> Result<Value, JsonFault> {
    let text = without_thinking(text);
    let starts = |part: &str| part.trim_start().starts_with(['{', '[']);
    let fenced = pieces(text).into_iter().find_map(|piece| match piece {
        Piece::Fence { body, .. } if starts(body) => Some(body),
        Piece::Fence { .. } | Piece::Prose(_) => None,
    });
    let part = if starts(text) { Some(text) } else { fenced.or_else(|| text.find('{').and_then(|at| text.get(at..))) };
    let Some(part) = part else {
        return Err(JsonFault::Wrong("there is no `{` in the answer".to_owned()));
    };
    let (values, _, fault) = values(part);
    match (values.into_iter().next(), fault) {
        (Some(value), _) => Ok(value),
        (None, Some(fault)) => Err(fault),
        (None, None) => Err(JsonFault::Wrong("the answer is empty".to_owned())),
    }
}

fn without_trailing_commas(text: &str) -> (Cow<'_, str>, u32) {
    let mut drop: Vec<usize> = Vec::new();
    let (mut quoted, mut escaped, mut comma) = (false, false, None);
    for (at, c) in text.char_indices() {
        if quoted {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => (quoted, comma) = (true, None),
            ',' => comma = Some(at),
            '}' | ']' => drop.extend(comma.take()),
            c if c.is_whitespace() => {}
            _ => comma = None,
        }
    }
    if drop.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    let kept = text.char_indices().filter(|(at, _)| drop.binary_search(at).is_err()).map(|(_, c)| c).collect();
    (Cow::Owned(kept), u32::try_from(drop.len()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fences_are_found_as_models_write_them() {
        let told = |text| format!("{:?}", pieces(text));
        insta::assert_snapshot!(told("Here:\n```rust\nfn a() {}\n```\nDone."), @r#"[Prose("Here:\n"), Fence { lang: "rust", body: "fn a() {}\n", closed: true }, Prose("Done.")]"#);
        insta::assert_snapshot!(told("````md\n```\nx\n```\n````"), @r#"[Fence { lang: "md", body: "```\nx\n```\n", closed: true }]"#);
        // Qwen2.5-Coder with `tool_choice: required`: a second fence that never ends
        insta::assert_snapshot!(told("```json\n{}\n```\n```\n\n\n"), @r#"[Fence { lang: "json", body: "{}\n", closed: true }, Fence { lang: "", body: "\n\n", closed: false }]"#);
    }

    #[test]
    fn thinking_is_no_answer() {
        assert_eq!(without_thinking("<think>{\"a\":1}</think>\n{\"b\":2}"), "{\"b\":2}");
        assert_eq!(without_thinking("so I will\n</think>\nyes"), "yes");
        assert_eq!(without_thinking("<think>and on"), "");
        assert_eq!(without_thinking("```html\n</think>\n```"), "```html\n</think>\n```");
    }

    #[test]
    fn json_is_read_but_never_completed() {
        let told = |text| match whole(text) {
            Ok(value) => value.to_string(),
            Err(fault) => format!("{fault:?}"),
        };
        assert_eq!(told("Sure!\n```json\n{\"a\": [1, 2,],}\n```\nok"), r#"{"a":[1,2]}"#);
        assert_eq!(told("The plan is {\"a\": \"x,}\"} as you see"), r#"{"a":"x,}"}"#);
        assert_eq!(told("{\n  \"goal\": \"Make Store::load return Result<_, StoreError"), "Cut");
        assert_eq!(told("{\"a\": 1,"), "Cut");
        assert_eq!(told("no"), "Wrong(\"there is no `{` in the answer\")");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        /// No prefix of an object is taken for the object.
        #[test]
        fn a_prefix_is_never_whole(words in prop::collection::vec("[a-z\"\\\\,}]{0,6}", 1..4), keep in 0.0..1.0f64) {
            let text = serde_json::json!({ "a": words, "b": { "c": 1 } }).to_string();
            let at = ((text.len() as f64) * keep) as usize;
            if let Some(prefix) = text.get(..at.min(text.len() - 1)) {
                prop_assert!(whole(prefix).is_err());
            }
        }

        /// Pieces lose nothing between fences, and any text can be cut.
        #[test]
        fn any_text_has_pieces(text in "[ab`~\n ]{0,40}") {
            let _ = pieces(&text);
            let _ = whole(&text);
        }
    }
}
