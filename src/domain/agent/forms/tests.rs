//! Replies of a real 1.5B model (Qwen2.5-Coder-1.5B-Instruct behind llama.cpp), shortened to what matters.

use super::*;
use crate::domain::agent::dialogue::Finish;
use crate::domain::policy::tools;
use crate::domain::task::facts::Usage;

fn reply(text: &str, calls: Vec<ToolCall>) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        reasoning: String::new(),
        calls,
        finish: Finish::Stop,
        usage: Usage::default(),
        model: "test".to_owned(),
        warning: None,
    }
}

fn told(asked: CallForm, text: &str) -> String {
    show(&read(&reply(text, Vec::new()), asked, |name| tools::row(name).is_some_and(|row| row.fenced)))
}

fn show(found: &Found) -> String {
    let mut out = format!("{:?}\n", found.form);
    for call in &found.calls {
        out.push_str(&format!("call {} {} code {:?}\n", call.name, call.arguments, call.code));
    }
    if let Some(fault) = &found.broken {
        out.push_str(&format!("broken {fault:?}\n"));
    }
    for fence in &found.fences {
        out.push_str(&format!("fence {fence:?}\n"));
    }
    out
}

#[test]
fn a_call_in_a_json_fence() {
    let text = "```json\n{\n  \"name\": \"run_command\",\n  \"arguments\": {\n    \"cmd\": \"cargo test\",\n    \"timeout_s\": 60\n  }\n}\n```";
    insta::assert_snapshot!(told(CallForm::Native, text), @r#"
    Text
    call run_command {"cmd":"cargo test","timeout_s":60} code None
    "#);
}

#[test]
fn two_objects_in_one_fence() {
    let text = "```json\n{\n  \"name\": \"read\",\n  \"arguments\": {\n    \"path\": \"src/lib.rs\"\n  }\n}\n{\n  \"name\": \"read\",\n  \"arguments\": {\n    \"path\": \"Cargo.toml\"\n  }\n}\n```";
    insta::assert_snapshot!(told(CallForm::Native, text), @r#"
    Text
    call read {"path":"src/lib.rs"} code None
    call read {"path":"Cargo.toml"} code None
    "#);
}

#[test]
fn an_action_by_schema() {
    insta::assert_snapshot!(told(CallForm::Schema, "{\n  \"tool\": \"read\",\n  \"path\": \"src/lib.rs\"\n}"), @r#"
    Schema
    call read {"path":"src/lib.rs"} code None
    "#);
}

#[test]
fn tags_arrays_strings_and_prose() {
    let all = [
        told(CallForm::Text, "<tool_call>\n{\"name\": \"list\", \"arguments\": {}}\n</tool_call>"),
        told(CallForm::Text, "[{\"name\": \"list\", \"arguments\": \"{}\"}]"),
        told(
            CallForm::Text,
            "I will look.\n\n{\"name\": \"outline\", \"parameters\": {\"path\": \"a.rs\"}}\nThen edit.",
        ),
        told(CallForm::Text, "{\"function\": {\"name\": \"list\", \"arguments\": {}}}"),
        told(CallForm::Text, "<think>{\"name\": \"delete\", \"arguments\": {\"path\": \"a\"}}</think>Nothing to do."),
    ];
    insta::assert_snapshot!(all.concat(), @r#"
    Text
    call list {} code None
    Text
    call list {} code None
    Text
    call outline {"path":"a.rs"} code None
    Text
    call list {} code None
    Text
    "#);
}

#[test]
fn the_code_is_the_next_fence() {
    let text = "```json\n{\"name\": \"edit\", \"arguments\": {\"path\": \"src/lib.rs\", \"symbol\": \"Store::save\"}}\n```\n\n```rust\n    pub fn save(&self) {\n        out.push_str(&format!(\"{}={}\\n\", k, v));\n    }\n```\n";
    insta::assert_snapshot!(told(CallForm::Text, text), @r#"
    Text
    call edit {"path":"src/lib.rs","symbol":"Store::save"} code Some("    pub fn save(&self) {\n        out.push_str(&format!(\"{}={}\\n\", k, v));\n    }\n")
    "#);
}

#[test]
fn what_is_no_call_stays_text() {
    let all = [
        told(CallForm::Native, "```json\n{\"name\": \"planwright\", \"version\": \"1.0\"}\n```"),
        told(CallForm::Native, "{\n  \"pass\": false\n}"),
        told(CallForm::Native, "```rust\nfn a() {}\n```"),
        told(CallForm::Native, "{\"name\": \"read\", \"arguments\": {\"path\": \"src/li"),
        told(CallForm::Native, "```rust\nsrc/lib.rs\n<<<<<<< SEARCH\nuse std::fs;\n"),
    ];
    insta::assert_snapshot!(all.concat(), @r#"
    Text
    fence "{\"name\": \"planwright\", \"version\": \"1.0\"}\n"
    Text
    Text
    fence "fn a() {}\n"
    Text
    broken Cut
    Text
    "#);
}

#[test]
fn native_calls_share_fences_only_when_it_is_clear_whose_is_whose() {
    let call = |id: &str, name: &str| ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: "{}".to_owned() };
    let fenced = |name: &str| name == "edit";
    let one = read(&reply("```rust\nA\n```", vec![call("1", "read"), call("2", "edit")]), CallForm::Native, fenced);
    let two = read(&reply("```rust\nA\n```", vec![call("1", "edit"), call("2", "edit")]), CallForm::Native, fenced);
    insta::assert_snapshot!(format!("{}{}", show(&one), show(&two)), @r#"
    Native
    call read {} code None
    call edit {} code Some("A\n")
    fence "A\n"
    Native
    call edit {} code None
    call edit {} code None
    fence "A\n"
    "#);
}

#[test]
fn one_schema_for_all_tools() {
    let specs: Vec<ToolSpec> = tools::table()
        .iter()
        .filter(|row| ["read", "replace", "finish"].contains(&row.name))
        .map(|row| row.spec())
        .collect();
    let schema = schema(&specs);
    assert_eq!(schema["anyOf"].as_array().map(Vec::len), Some(2), "replace is left out");
    let validator = jsonschema::validator_for(&schema).map_err(|fault| fault.to_string());
    let valid = |value| validator.as_ref().is_ok_and(|validator| validator.is_valid(&value));
    assert!(valid(json!({"tool": "read", "path": "a.rs", "from": 3})));
    assert!(!valid(json!({"tool": "read"})));
    assert!(!valid(json!({"tool": "finish", "path": "a.rs"})));
    insta::assert_snapshot!(listed(&specs, CallForm::Text), @"
    - read {path, symbol?, from?, to?} One item (`symbol`), a range of lines (`from`, `to`), or a whole file.
    - replace {path, pairs, why?} Replace exact pieces of a file. For changes that are no whole item.
    - finish {summary} The step is done; the check judges it.
    ");
}
