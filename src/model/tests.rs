//! The adapter against a scripted server, on the real wire. No test waits: the clock is manual.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod faults;
mod negotiation;
mod streams;

use super::{Key, ModelSettings, OpenAi, Secret, ShortMemory, Timeouts};
use crate::domain::agent::dialogue::{Finish, Message, ModelFault, ModelReply, ModelRequest, ToolSpec};
use crate::domain::ids::TraceId;
use crate::ports::Model;
use crate::testing::clock::ManualClock;
use crate::testing::memory_model::MemoryModel;
use crate::testing::script::{Fault, Script, Turn};
use crate::testing::scripted_model::ScriptedModel;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECRET: &str = "k-very-secret-1234";

/// Pauses pass at once; of the limits only `idle` is within reach of a driven clock.
pub(super) fn settings(base_url: &str) -> ModelSettings {
    let far = Duration::from_secs(1_000_000);
    ModelSettings {
        model: Some("m".to_owned()),
        key: Key::Value(Secret::new(SECRET)),
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            first_byte: far,
            idle: Duration::from_secs(200),
            total: far,
        },
        ..ModelSettings::at(base_url)
    }
}

pub(super) fn clock() -> ManualClock {
    ManualClock::new().auto_advance(Duration::from_secs(121))
}

pub(super) fn request(text: &str) -> ModelRequest {
    ModelRequest {
        messages: vec![Message::System { text: "rules".to_owned() }, Message::User { text: text.to_owned() }],
        tools: Vec::new(),
        schema: None,
        max_tokens: 512,
        trace: Some(TraceId::new("0123456789abcdef0123456789abcdef")),
    }
}

pub(super) fn with_tools(text: &str) -> ModelRequest {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = ToolSpec { name: "read".to_owned(), description: "Reads a file.".to_owned(), parameters };
    ModelRequest { tools: vec![tool], ..request(text) }
}

pub(super) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(30), work).await.expect("a deadline") })
}

pub(super) fn adapter(settings: ModelSettings, clock: &ManualClock) -> OpenAi {
    OpenAi::new(settings, Arc::new(clock.clone()), Arc::new(ShortMemory::default()))
}

pub(super) fn quiet() -> crate::ports::Deltas {
    Arc::new(|_: &str| {})
}

/// What came of it, for people: text, calls, fault, and how often it was asked.
pub(super) fn render(outcome: &Result<ModelReply, ModelFault>, server: &ScriptedModel) -> String {
    let mut out = String::new();
    match outcome {
        Ok(reply) => {
            let finish = match &reply.finish {
                Finish::Stop => "stop".to_owned(),
                Finish::Calls => "calls".to_owned(),
                Finish::Length => "length".to_owned(),
                Finish::Refusal(why) => format!("refusal: {why}"),
            };
            let _ = write!(out, "{finish} {:?}", reply.text);
            if !reply.reasoning.is_empty() {
                let _ = write!(out, " thought {:?}", reply.reasoning);
            }
            for call in &reply.calls {
                let _ = write!(out, " {}({})", call.name, call.arguments);
            }
            if let Some(warning) = &reply.warning {
                let _ = write!(out, "\nwarning: {warning}");
            }
        }
        Err(fault) => {
            let _ = write!(out, "{:?} after {}: {}\n-> {}", fault.kind, fault.tries, fault.message, fault.next);
        }
    }
    let host = server.base_url();
    let _ = write!(out, "\n{} calls", server.calls().len());
    assert!(!out.contains(SECRET), "the key is shown: {out}");
    out.replace(&host, "http://SERVER/v1")
}

/// Asks once; the clock stands still but for pauses.
pub(super) fn outcome(script: Script) -> String {
    let server = ScriptedModel::start(script).unwrap();
    let clock = clock();
    let model = adapter(settings(&server.base_url()), &clock);
    let reply = run(model.complete(request("go"), quiet()));
    render(&reply, &server)
}

#[test]
fn text_streams_and_comes_whole() {
    let turn = Turn { reasoning: "hm, well".to_owned(), delta: 3, ..Turn::text("fn größer() {}\n") };
    let server = ScriptedModel::start(Script::in_order([Turn { write: 7, ..turn }])).unwrap();
    let clock = clock();
    let model = adapter(settings(&server.base_url()), &clock);
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&seen);
    let deltas: crate::ports::Deltas = Arc::new(move |text: &str| sink.lock().unwrap().push_str(text));
    let reply = run(model.complete(request("go"), deltas));
    insta::assert_snapshot!(render(&reply, &server), @r#"
    stop "fn größer() {}\n" thought "hm, well"
    1 calls
    "#);
    assert_eq!(*seen.lock().unwrap(), "fn größer() {}\n");
    assert_eq!(reply.unwrap().model, "m");
}

#[test]
fn a_request_carries_key_trace_and_tools() {
    let server = ScriptedModel::start(Script::in_order([
        Turn::call("read", json!({ "path": "a" })).and_call("read", json!({ "path": "b" }))
    ]))
    .unwrap();
    let clock = clock();
    let mut settings = settings(&server.base_url());
    settings.headers = vec![("x-team".to_owned(), Secret::new("blue"))];
    settings.max_output = Some(100);
    let reply = run(adapter(settings, &clock).complete(with_tools("go"), quiet()));
    insta::assert_snapshot!(render(&reply, &server), @r#"
    calls "" read({"path":"a"}) read({"path":"b"})
    1 calls
    "#);
    let call = server.calls().pop().unwrap();
    assert_eq!(call.header("authorization"), Some(&*format!("Bearer {SECRET}")));
    assert_eq!(call.header("x-team"), Some("blue"));
    let trace = call.header("traceparent").unwrap();
    assert!(trace.starts_with("00-0123456789abcdef0123456789abcdef-") && trace.ends_with("-01"), "{trace}");
    insta::assert_snapshot!(call.body, @r#"{"model":"m","messages":[{"role":"system","content":"rules"},{"role":"user","content":"go"}],"tools":[{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}],"tool_choice":"auto","parallel_tool_calls":true,"max_tokens":100,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}"#);
}

#[test]
fn one_json_answer_is_as_good_as_a_stream() {
    let turn = Turn { whole: true, ..Turn::call("read", json!({ "path": "a" })) };
    insta::assert_snapshot!(outcome(Script::in_order([turn])), @r#"
    calls "" read({"path":"a"})
    1 calls
    "#);
}

#[test]
fn concurrent_requests_get_their_own_answers() {
    let slow = Duration::from_millis(20);
    let script = Script::when("step one", [Turn::text("first").taking(slow)])
        .or_when("step two", [Turn::text("second"), Turn::text("second, turn two")])
        .otherwise(Turn::text("who?"));
    let server = ScriptedModel::start(script).unwrap();
    let clock = clock();
    let model = adapter(settings(&server.base_url()), &clock);
    let mut later = request("step two");
    later.messages.push(Message::Assistant { text: "second".to_owned(), calls: Vec::new() });
    later.messages.push(Message::User { text: "go on".to_owned() });
    let ask = |request| async { model.complete(request, quiet()).await.unwrap().text };
    let texts =
        run(async { tokio::join!(ask(request("step one")), ask(request("step two")), ask(later), ask(request("x"))) });
    assert_eq!(texts, ("first".into(), "second".into(), "second, turn two".into(), "who?".into()));
}

#[test]
fn dropping_the_future_cancels_the_request() {
    let server = ScriptedModel::start(Script::in_order([Turn::text("never").after([Fault::Stall(40)])])).unwrap();
    let clock = ManualClock::new();
    let model = adapter(settings(&server.base_url()), &clock);
    run(async {
        let work = model.complete(request("go"), quiet());
        let arrived = async {
            while server.calls().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = work => panic!("it stalls"), () = arrived => {} }
        while !server.calls().iter().all(|call| call.left) {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn no_model_named_means_one_of_the_list() {
    let models = json!({ "data": [{ "id": "embed-x" }, { "id": "qwen2.5-coder:7b", "meta": { "n_ctx": 8192 } }, { "id": "llama3" }] });
    let server = ScriptedModel::listing(Script::in_order([Turn::text("hi")]), models).unwrap();
    let clock = clock();
    let said = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&said);
    let tell = Arc::new(move |line: &str| sink.lock().unwrap().push(line.to_owned()));
    let model = adapter(ModelSettings { model: None, ..settings(&server.base_url()) }, &clock).on_wait(tell);
    run(async {
        model.complete(request("go"), quiet()).await.unwrap();
        model.complete(request("go"), quiet()).await.unwrap();
        let probe = model.probe().await;
        assert_eq!((probe.model.as_deref(), probe.window), (Some("qwen2.5-coder:7b"), Some(8192)));
        assert_eq!(probe.models.unwrap().len(), 3);
    });
    assert_eq!(model.info().unwrap().name, "openai/qwen2.5-coder:7b");
    assert_eq!(model.info().unwrap().window, Some(8192));
    assert_eq!(server.calls().first().unwrap().body["model"], "qwen2.5-coder:7b");
    let said = said.lock().unwrap().join("\n").replace(&server.base_url(), "URL");
    assert_eq!(said, "no model is named; taking qwen2.5-coder:7b of 3 at URL");
}

#[test]
fn a_prompt_that_the_server_cut_is_told() {
    let server =
        ScriptedModel::start(Script::in_order([Turn { usage: Some((4096, 5)), ..Turn::text("nonsense") }])).unwrap();
    let clock = clock();
    let reply = run(adapter(settings(&server.base_url()), &clock).complete(request(&"word ".repeat(9_000)), quiet()));
    insta::assert_snapshot!(render(&reply, &server), @r#"
    stop "nonsense"
    warning: the server counted 4096 tokens of a prompt of about 12505: it seems to have cut the front off. Raise its window (Ollama: OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size), or set `window = 4096` here
    1 calls
    "#);
}

#[test]
fn usage_that_is_not_told_is_estimated() {
    let server =
        ScriptedModel::start(Script::in_order([Turn { no_usage: true, ..Turn::text(&"x".repeat(360)) }])).unwrap();
    let clock = clock();
    let reply = run(adapter(settings(&server.base_url()), &clock).complete(request("go"), quiet())).unwrap();
    assert!(reply.usage.estimated);
    assert_eq!(reply.usage.output, 100);
}

#[test]
fn a_key_comes_from_a_command() {
    let server = ScriptedModel::start(Script::in_order([Turn::text("hi")])).unwrap();
    let clock = ManualClock::new();
    let argv = |words: &[&str]| Key::Command(words.iter().map(|w| (*w).to_owned()).collect());
    let with = |key| adapter(ModelSettings { key, ..settings(&server.base_url()) }, &clock);
    run(async {
        with(argv(&["echo", SECRET])).complete(request("go"), quiet()).await.unwrap();
        assert_eq!(server.calls().pop().unwrap().header("authorization"), Some(&*format!("Bearer {SECRET}")));
        for (key, expect) in [
            (argv(&["false"]), "the key command `false` failed (exit status: 1)"),
            (argv(&["/no/such"]), "the key command `/no/such` could not be started (entity not found)"),
            (argv(&["echo", "two", "words"]), "the key command `echo` did not print one key on one line"),
            (Key::Missing("MY_KEY".to_owned()), "the key for URL should be in $MY_KEY, which is not set"),
        ] {
            let fault = with(key).complete(request("go"), quiet()).await.unwrap_err();
            assert_eq!(fault.message.replace(&server.base_url(), "URL"), expect);
        }
        let slow = with(argv(&["sleep", "60"]));
        let fault = clock.drive(Duration::from_secs(11), slow.complete(request("go"), quiet())).await.unwrap_err();
        assert_eq!(fault.message, "the key command `sleep` did not end within 10 s");
    });
    assert_eq!(server.calls().len(), 1, "no key, no request");
}

#[test]
fn a_key_command_is_asked_again_when_its_key_has_expired() {
    let script = Script::in_order([Turn::text("hi").after([Fault::status(401, "expired")])]);
    let server = ScriptedModel::start(script).unwrap();
    let key = Key::Command(vec!["echo".to_owned(), SECRET.to_owned()]);
    let model = adapter(ModelSettings { key, ..settings(&server.base_url()) }, &ManualClock::new());
    assert_eq!(run(model.complete(request("go"), quiet())).unwrap().text, "hi");
    // A key from the environment stays what it is.
    assert!(
        outcome(Script::in_order([Turn::text("hi").after([Fault::status(401, "bad")])])).starts_with("Credentials")
    );
}

#[test]
fn the_model_in_memory_answers_as_the_wire_does() {
    let turns = [
        Turn::text("plain"),
        Turn { reasoning: "why".to_owned(), ..Turn::text("<think>deep</think>\nanswer") },
        Turn::call("read", json!({ "path": "a" })).and_call("list", json!({})),
        Turn { finish: Some("content_filter".to_owned()), ..Turn::text("x") },
        Turn { no_usage: true, ..Turn::text("unbilled") },
        Turn::text("0123456789").after([Fault::Length]),
        Turn::text("x").after([Fault::status(404, "no such model")]),
        Turn::text("x").after([Fault::Html]),
    ];
    for turn in turns {
        let wire = ScriptedModel::start(Script::in_order([turn.clone()])).unwrap();
        let memory = MemoryModel::new(Script::in_order([turn.clone()]));
        let over_wire = run(adapter(settings(&wire.base_url()), &clock()).complete(with_tools("go"), quiet()));
        let in_memory = run(memory.complete(with_tools("go"), quiet()));
        match (over_wire, in_memory) {
            (Ok(a), Ok(b)) => assert_eq!(ModelReply { model: b.model.clone(), ..a }, b, "{turn:?}"),
            (Err(a), Err(b)) => assert_eq!((a.kind, a.next.replace("`m`", "`scripted`")), (b.kind, b.next), "{turn:?}"),
            (a, b) => panic!("{turn:?}: {a:?} and {b:?}"),
        }
        assert_eq!(memory.calls(), 1);
    }
}
