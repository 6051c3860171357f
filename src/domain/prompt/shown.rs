//! A request to a model as a person reads it (H3).
//!
//! Invariant: every text that was sent is in it, in order, with secrets of known shapes masked. Absent: the schema of
//! an answer and of the tools' arguments, which are named and not spelled out.

use crate::domain::agent::dialogue::{Message, ModelRequest};
use crate::domain::context::tokens::estimate_tokens;
use crate::domain::redact::redact;

/// The request in words.
pub fn shown(request: &ModelRequest) -> String {
    let mut texts = String::new();
    for message in &request.messages {
        texts.push_str(&match message {
            Message::System { text } => part("The rules", text),
            Message::User { text } => part("planwright says", text),
            Message::Tool { name, text, .. } => part(&format!("What `{name}` gave"), text),
            Message::Assistant { text, calls } => {
                let calls: Vec<String> =
                    calls.iter().map(|call| format!("calls `{}` {}", call.name, call.arguments)).collect();
                let said = [text.trim_end().to_owned(), calls.join("\n")];
                part(
                    "The model said",
                    &said.iter().filter(|said| !said.is_empty()).cloned().collect::<Vec<_>>().join("\n"),
                )
            }
        });
    }
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut head = format!(
        "{} messages, about {} tokens; the answer may have {}.\n",
        request.messages.len(),
        estimate_tokens(&texts),
        request.max_tokens
    );
    if !tools.is_empty() {
        head.push_str(&format!("Tools offered: {}.\n", tools.join(", ")));
    }
    if request.schema.is_some() {
        head.push_str("The answer must be JSON of a given schema.\n");
    }
    redact(&format!("{head}{texts}"))
}

fn part(title: &str, text: &str) -> String {
    format!("\n== {title}\n{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::agent::dialogue::ToolCall;

    #[test]
    fn a_request_reads_from_top_to_bottom_and_hides_secrets() {
        let call =
            ToolCall { id: "c1".to_owned(), name: "read".to_owned(), arguments: "{\"path\":\"a.rs\"}".to_owned() };
        let request = ModelRequest {
            messages: vec![
                Message::System { text: "Do one step.\n".to_owned() },
                Message::User { text: "key: sk-abcdefgh12345678".to_owned() },
                Message::Assistant { text: "First I look.".to_owned(), calls: vec![call] },
                Message::Tool { call: "c1".to_owned(), name: "read".to_owned(), text: "fn a() {}".to_owned() },
            ],
            tools: Vec::new(),
            schema: Some(serde_json::json!({})),
            max_tokens: 100,
            trace: None,
        };
        insta::assert_snapshot!(shown(&request), @r#"
        4 messages, about 46 tokens; the answer may have 100.
        The answer must be JSON of a given schema.

        == The rules
        Do one step.

        == planwright says
        key: [redacted]

        == The model said
        First I look.
        calls `read` {"path":"a.rs"}

        == What `read` gave
        fn a() {}
        "#);
    }
}
