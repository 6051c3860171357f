//! Parameters that a server refuses: once, and remembered.

use super::{clock, quiet, request, run, settings, with_tools};
use crate::domain::agent::dialogue::{Message, ModelRequest, ToolCall};
use crate::model::negotiate::{Parameter, Quirks};
use crate::model::{Memory, OpenAi, ShortMemory, request as wire_request};
use crate::ports::Model;
use crate::testing::script::{Fault, Script, Turn};
use crate::testing::scripted_model::ScriptedModel;
use serde_json::{Value, json};
use std::sync::Arc;

#[test]
fn each_refusal_costs_one_request_once() {
    let everything = [
        "max_tokens",
        "temperature",
        "stream_options",
        "response_format",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
    ];
    let script = Script::by(move |request, _| {
        let refused = everything.iter().find(|name| request.get(**name).is_some());
        match refused {
            Some(name) => Turn::default().after([Fault::Refuses((*name).to_owned())]),
            None => Turn::text("fine"),
        }
    });
    let server = ScriptedModel::start(script).unwrap();
    let clock = clock();
    let memory = Arc::new(ShortMemory::default());
    let fresh =
        || OpenAi::new(settings(&server.base_url()), Arc::new(clock.clone()), Arc::clone(&memory) as Arc<dyn Memory>);
    let full = ModelRequest { schema: Some(json!({ "type": "object" })), ..with_tools("go") };
    run(async {
        let reply = fresh().complete(full.clone(), quiet()).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.usage.estimated), ("fine", true));
        // tool_choice and parallel_tool_calls went with the tools.
        assert_eq!(server.calls().len(), 6);
        fresh().complete(full, quiet()).await.unwrap();
    });
    assert_eq!(server.calls().len(), 7, "remembered by another adapter");
    insta::assert_snapshot!(server.calls().pop().unwrap().body, @r#"{"model":"m","messages":[{"role":"system","content":"rules\n\nTo use a tool, answer with one fenced block: ```json\n{\"name\": …, \"arguments\": {…}}\n```\nTools:\n- read: Reads a file. Arguments: {\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}"},{"role":"user","content":"go\n\nAnswer with one JSON value of this schema and nothing else:\n{\"type\":\"object\"}"}],"max_completion_tokens":512,"stream":true}"#);
}

#[test]
fn a_complaint_about_something_else_is_no_negotiation() {
    #[track_caller]
    fn check(error: &Value, sent: &Value, expect: Option<Parameter>) {
        let adapted = Quirks::default().adapted(&json!({ "error": error }).to_string(), sent);
        let all = [Parameter::Temperature, Parameter::Tools, Parameter::ResponseFormat, Parameter::ParallelToolCalls];
        let refused = adapted.as_ref().and_then(|quirks| all.into_iter().find(|p| quirks.refuses(*p)));
        assert_eq!(refused, expect);
        assert_eq!(adapted.is_some(), expect.is_some());
    }
    let sent = json!({ "temperature": 0, "tools": [], "parallel_tool_calls": true, "response_format": {} });
    check(&json!({ "message": "temperature: only 1 is supported" }), &sent, Some(Parameter::Temperature));
    check(
        &json!({ "message": "odd", "param": "response_format.json_schema.strict" }),
        &sent,
        Some(Parameter::ResponseFormat),
    );
    check(&json!("parallel_tool_calls is unknown"), &sent, Some(Parameter::ParallelToolCalls));
    check(&json!({ "message": "registry.ollama.ai/x does not support tools" }), &sent, Some(Parameter::Tools));
    check(&json!({ "message": "temperature" }), &json!({}), None);
    check(&json!({ "message": "mytools_x and temperatures" }), &sent, None);
}

#[test]
fn max_tokens_is_renamed_before_it_is_dropped() {
    let renamed =
        Quirks::default().adapted(r#"{"error":{"param":"max_tokens"}}"#, &json!({ "max_tokens": 1 })).unwrap();
    assert!(renamed.renamed && !renamed.refuses(Parameter::MaxTokens));
    let dropped =
        renamed.adapted("unknown field max_completion_tokens", &json!({ "max_completion_tokens": 1 })).unwrap();
    assert!(dropped.refuses(Parameter::MaxTokens));
    assert_eq!(Quirks::read(&dropped.write()), dropped);
    assert_eq!(Quirks::read("rubbish"), Quirks::default());
}

#[test]
fn later_messages_never_change_earlier_ones() {
    let call = ToolCall { id: "c".to_owned(), name: "read".to_owned(), arguments: r#"{"path":"a"}"#.to_owned() };
    let mut longer = with_tools("go");
    longer.messages.push(Message::Assistant { text: String::new(), calls: vec![call] });
    longer.messages.push(Message::Tool { call: "c".to_owned(), name: "read".to_owned(), text: "content".to_owned() });
    let body = |request: &ModelRequest| wire_request::body(request, "m", &Quirks::default());
    let (short, long) = (body(&with_tools("go")), body(&longer));
    let messages = |body: &Value| body["messages"].as_array().unwrap().clone();
    // The same when tools have to be said in words.
    let refused = Quirks::default().adapted("tools", &json!({ "tools": [] })).unwrap();
    let in_words = |request: &ModelRequest| messages(&wire_request::body(request, "m", &refused));
    assert!(in_words(&longer).starts_with(&in_words(&with_tools("go"))));
    insta::assert_snapshot!(json!(in_words(&longer)), @r#"[{"role":"system","content":"rules\n\nTo use a tool, answer with one fenced block: ```json\n{\"name\": …, \"arguments\": {…}}\n```\nTools:\n- read: Reads a file. Arguments: {\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}"},{"role":"user","content":"go"},{"role":"assistant","content":"```json\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n```"},{"role":"user","content":"Result of read:\ncontent"}]"#);
    assert!(messages(&long).starts_with(&messages(&short)));
    assert_eq!(messages(&long).last().unwrap()["tool_call_id"], "c");
    assert!(body(&request("go")).get("tools").is_none());
}

#[test]
fn strict_only_where_the_schema_is_closed() {
    let strict = |schema: Value| {
        let request = ModelRequest { schema: Some(schema), ..request("go") };
        wire_request::body(&request, "m", &Quirks::default())["response_format"]["json_schema"]["strict"].clone()
    };
    let closed = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false });
    let open = json!({ "type": "object", "properties": { "a": closed.clone() }, "required": ["a"] });
    assert_eq!(
        (strict(closed), strict(open), strict(json!({ "type": "object" }))),
        (json!(true), json!(false), json!(false))
    );
}
