//! Every fault on the wire: what is tried again, what a person is told.

use super::{adapter, clock, outcome, quiet, render, request, run, settings};
use crate::domain::agent::dialogue::{Finish, ModelFaultKind};
use crate::model::faults::{Failure, Site};
use crate::model::retry::{Verdict, decide, retry_after};
use crate::model::{ModelSettings, Timeouts, Whence};
use crate::ports::{Clock, Model};
use crate::testing::clock::ManualClock;
use crate::testing::script::{Fault, Script, Turn};
use crate::testing::scripted_model::{ScriptedModel, refused_url};
use proptest::prelude::*;
use serde_json::json;
use std::time::{Duration, SystemTime};

/// These faults, then a good answer.
fn after(faults: impl IntoIterator<Item = Fault>) -> String {
    outcome(Script::in_order([Turn::text("done at last").after(faults)]))
}

/// This fault for ever.
fn always(fault: &Fault) -> String {
    after(std::iter::repeat_n(fault.clone(), 20))
}

#[test]
fn what_passes_by_itself_is_tried_again() {
    for code in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert_eq!(
            after([Fault::status(code, "busy"), Fault::status(code, "busy")]),
            "stop \"done at last\"\n3 calls",
            "{code}"
        );
    }
    for fault in [
        Fault::Reset(0),
        Fault::Reset(300),
        Fault::Truncated,
        Fault::ErrorChunk("overloaded".to_owned()),
        Fault::BadChunk,
        Fault::Empty,
    ] {
        assert_eq!(after([fault.clone()]), "stop \"done at last\"\n2 calls", "{fault:?}");
    }
    assert_eq!(after([Fault::WrongContentType]), "stop \"done at last\"\n1 calls");
}

#[test]
fn a_connection_that_was_closed_meanwhile_is_no_failure() {
    let clock = clock();
    let turns = [Turn::text("one"), Turn::text("two").after([Fault::Gone])];
    let server = ScriptedModel::start(Script::in_order(turns)).unwrap();
    let model = adapter(settings(&server.base_url()), &clock);
    run(async {
        model.complete(request("go"), quiet()).await.unwrap();
        assert_eq!(model.complete(request("go"), quiet()).await.unwrap().text, "two");
    });
    assert_eq!(clock.slept(), [], "no pause");
    assert!(after([Fault::Gone, Fault::Gone]).starts_with("stop"), "a server that does it again is tried later");
}

#[test]
fn what_does_not_pass_is_explained() {
    insta::assert_snapshot!(always(&Fault::status(529, "overloaded")), @r#"
    Busy after 4: http://SERVER/v1 answered 529 for m: overloaded
    -> run `planwright resume` in a while, or name another model
    4 calls
    "#);
    insta::assert_snapshot!(always(&Fault::Reset(300)), @r#"
    Connection after 4: the connection to http://SERVER/v1 broke: Connection reset by peer (os error 104)
    -> check the network and the server's own log, then `planwright resume`
    4 calls
    "#);
    insta::assert_snapshot!(always(&Fault::Truncated), @r#"
    Malformed after 4: the answer of http://SERVER/v1 ended without its end mark; nothing of it was used
    -> check what stands between here and the server (a proxy with a time limit?)
    4 calls
    "#);
    insta::assert_snapshot!(always(&Fault::BadChunk), @r#"
    Malformed after 2: http://SERVER/v1 does not speak Chat Completions: a chunk that cannot be read (EOF while parsing an object at line 1 column 21)
    -> check that base_url ends where `/chat/completions` begins (mostly in `/v1`)
    2 calls
    "#);
    insta::assert_snapshot!(always(&Fault::Empty), @r#"
    Empty after 2: m answered with neither text nor a call, twice
    -> raise max_output (reasoning may have used it up), or name another model
    2 calls
    "#);
    insta::assert_snapshot!(always(&Fault::Html), @r#"
    Malformed after 1: http://SERVER/v1 answered with a web page instead of JSON: Sign in
    -> check that base_url is the API and not a site or a login page (mostly it ends in `/v1`)
    1 calls
    "#);
}

#[test]
fn refusals_are_not_tried_again() {
    insta::assert_snapshot!(always(&Fault::status(401, "Incorrect API key provided: k-very-secret-1234")), @r#"
    Credentials after 1: http://SERVER/v1 answered 401 for m: Incorrect API key provided: [redacted]
    -> check the key; it comes from the configuration (`planwright doctor` says what is found)
    1 calls
    "#);
    insta::assert_snapshot!(always(&Fault::status(403, "no access")), @r#"
    Credentials after 1: http://SERVER/v1 answered 403 for m: no access
    -> check that the key from the configuration may use m, and from this place
    1 calls
    "#);
    insta::assert_snapshot!(always(&Fault::status(404, "model \"m\" not found, try pulling it first")), @r#"
    NoSuchModel after 1: http://SERVER/v1 answered 404 for m: model "m" not found, try pulling it first
    -> `m` is not there; name one of the server's list (`planwright doctor` shows it)
    1 calls
    "#);
    insta::assert_snapshot!(always(&Fault::Status { code: 404, headers: vec![], body: "<html><title>Not here</title></html>".to_owned() }), @r#"
    NoSuchModel after 1: http://SERVER/v1 answered 404 for m: Not here
    -> check that base_url ends where `/chat/completions` begins (mostly in `/v1`)
    1 calls
    "#);
    insta::assert_snapshot!(always(&Fault::status(404, "This model is only supported in v1/responses")), @r#"
    NoSuchModel after 1: http://SERVER/v1 answered 404 for m: This model is only supported in v1/responses
    -> this model speaks only the Responses API, which this release does not; name another
    1 calls
    "#);
    insta::assert_snapshot!(always(&Fault::status(422, "something odd")), @r#"
    Rejected after 1: http://SERVER/v1 answered 422 for m: something odd
    -> see the provider's words; the request's settings are in the configuration
    1 calls
    "#);
    insta::assert_snapshot!(always(&Fault::Status { code: 307, headers: vec![("location".to_owned(), "https://elsewhere/v1".to_owned())], body: String::new() }), @r#"
    Rejected after 1: http://SERVER/v1 answered 307 for m: it redirects to https://elsewhere/v1
    -> name the address it redirects to as base_url
    1 calls
    "#);
    insta::assert_snapshot!(always(&Fault::status(429, "You exceeded your current quota, please check your billing")), @r#"
    Credentials after 1: http://SERVER/v1 answered 429 for m: You exceeded your current quota, please check your billing
    -> see billing and limits at the provider
    1 calls
    "#);
}

#[test]
fn a_prompt_too_long_is_told_apart() {
    let llama = json!({ "error": { "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9030, "n_ctx": 8192,
        "message": "request (9030 tokens) exceeds the available context size (8192 tokens), try increasing it" } });
    insta::assert_snapshot!(always(&Fault::Status { code: 400, headers: vec![], body: llama.to_string() }), @r#"
    ContextTooLong after 1: http://SERVER/v1 answered 400 for m: request (9030 tokens) exceeds the available context size (8192 tokens), try increasing it
    -> the server's window is 8192 tokens: set `window = 8192`, or raise it there
    1 calls
    "#);
    let hosted =
        "This model's maximum context length is 16385 tokens. However, you requested 20000 tokens (max_tokens: 512).";
    insta::assert_snapshot!(always(&Fault::status(400, hosted)), @r#"
    ContextTooLong after 1: http://SERVER/v1 answered 400 for m: This model's maximum context length is 16385 tokens. However, you requested 20000 tokens (max_tokens: 512).
    -> the server's window is 16385 tokens: set `window = 16385`, or raise it there
    1 calls
    "#);
    let inside = Fault::ErrorChunk("maximum context length is 4096 tokens".to_owned());
    assert!(always(&inside).starts_with("ContextTooLong after 1"), "{}", always(&inside));
    insta::assert_snapshot!(always(&Fault::status(413, "too large")), @r#"
    ContextTooLong after 1: http://SERVER/v1 answered 413 for m: too large
    -> set `window` to what the server can take, or narrow the step
    1 calls
    "#);
}

#[test]
fn nothing_partial_comes_of_an_answer_cut_by_length() {
    let turn = Turn { text: "0123456789".to_owned(), ..Turn::call("read", json!({ "path": "a" })) };
    insta::assert_snapshot!(outcome(Script::in_order([turn.after([Fault::Length])])), @r#"
    length "01234"
    1 calls
    "#);
}

#[test]
fn a_content_filter_is_a_refusal() {
    let turn = Turn { finish: Some("content_filter".to_owned()), ..Turn::text("I") };
    insta::assert_snapshot!(outcome(Script::in_order([turn])), @r#"
    refusal: the provider's content filter stopped the answer "I"
    1 calls
    "#);
}

#[test]
fn broken_arguments_of_a_call_reach_the_caller_as_they_are() {
    let turn = Turn { calls: vec![("read".to_owned(), "{\"path\": \"a".to_owned())], ..Turn::default() };
    insta::assert_snapshot!(outcome(Script::in_order([turn])), @r#"
    calls "" read({"path": "a)
    1 calls
    "#);
}

#[test]
fn the_server_says_how_long_to_wait() {
    let server = ScriptedModel::start(Script::in_order([Turn::text("ok").after([Fault::busy("14")])])).unwrap();
    let clock = clock();
    let waited = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let sink = std::sync::Arc::clone(&waited);
    let tell = std::sync::Arc::new(move |line: &str| sink.lock().unwrap().push_str(line));
    run(adapter(settings(&server.base_url()), &clock).on_wait(tell).complete(request("go"), quiet())).unwrap();
    assert!(clock.slept().contains(&Duration::from_secs(14)));
    let line = waited.lock().unwrap().replace(&server.base_url(), "URL");
    assert_eq!(line, "waiting 14.0 s for m: URL answered 429 for m: slow down");
    // An hour is not waited for.
    insta::assert_snapshot!(after([Fault::busy("3600")]), @r#"
    Busy after 1: http://SERVER/v1 answered 429 for m: slow down
    -> it asks to wait 3600 s; then `planwright resume`
    1 calls
    "#);
}

#[test]
fn nobody_there() {
    let clock = clock();
    let url = refused_url().unwrap();
    let fault = run(adapter(settings(&url), &clock).complete(request("go"), quiet())).unwrap_err();
    assert_eq!(fault.kind, ModelFaultKind::Connection);
    assert_eq!(fault.message, format!("nothing listens at {url} (connection refused)"));
    for (url, kind) in
        [("http://no-such-host.invalid/v1", ModelFaultKind::Connection), ("not a url", ModelFaultKind::Connection)]
    {
        let fault = run(adapter(settings(url), &clock).complete(request("go"), quiet())).unwrap_err();
        assert_eq!(fault.kind, kind, "{fault:?}");
    }
    // A plain server where TLS is expected.
    let server = ScriptedModel::start(Script::default()).unwrap();
    let url = server.base_url().replace("http:", "https:");
    let fault = run(adapter(settings(&url), &clock).complete(request("go"), quiet())).unwrap_err();
    assert_eq!((fault.kind, fault.tries), (ModelFaultKind::Connection, 1), "{fault:?}");
    assert!(fault.message.starts_with("no secure connection"), "{fault:?}");
}

/// The clock moves by steps beyond the limit under test; the other limits are far.
fn stalled(at: usize, timeouts: Timeouts) -> String {
    let stall = std::iter::repeat_n(Fault::Stall(at), 20);
    let server = ScriptedModel::start(Script::in_order([Turn::text("never").after(stall)])).unwrap();
    let clock = clock();
    let model = adapter(ModelSettings { timeouts, ..settings(&server.base_url()) }, &clock);
    let step = Duration::from_secs(130);
    // Only while the server holds a request: else a slow machine would count one that never arrived.
    let held = || server.calls().iter().any(|call| !call.left);
    let outcome = run(clock.drive_when(held, step, model.complete(request("go"), quiet())));
    render(&outcome, &server)
}

#[test]
fn each_limit_has_its_own_words() {
    let far = Duration::from_secs(1_000_000);
    let near = Duration::from_secs(125);
    let all = Timeouts { connect: far, first_byte: far, idle: far, total: far };
    insta::assert_snapshot!(stalled(0, Timeouts { first_byte: near, ..all }), @r#"
    Stalled after 4: http://SERVER/v1 sent not one byte of an answer within 125 s
    -> see whether the server is overloaded, or raise timeouts.first_byte
    4 calls
    "#);
    insta::assert_snapshot!(stalled(40, Timeouts { idle: near, ..all }), @r#"
    Stalled after 4: http://SERVER/v1 fell silent in the middle of its answer within 125 s
    -> see whether the server is overloaded, or raise timeouts.idle
    4 calls
    "#);
    insta::assert_snapshot!(stalled(40, Timeouts { total: near, ..all }), @r#"
    Stalled after 4: http://SERVER/v1 did not finish its answer within 125 s
    -> see whether the server is overloaded, or raise timeouts.total
    4 calls
    "#);
}

/// A listener that accepts nothing and whose queue is full: Linux then lets further connections hang.
#[cfg(target_os = "linux")]
#[test]
fn a_connection_that_is_not_taken_is_given_up() {
    run(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut queue = Vec::new();
        while let Ok(stream) =
            tokio::time::timeout(Duration::from_millis(50), tokio::net::TcpStream::connect(address)).await
        {
            queue.push(stream.unwrap());
        }
        let url = format!("http://{address}/v1");
        let far = Duration::from_secs(1_000_000);
        let timeouts = Timeouts { connect: Duration::from_millis(50), first_byte: far, idle: far, total: far };
        let model = adapter(ModelSettings { timeouts, ..settings(&url) }, &clock());
        let fault = model.complete(request("go"), quiet()).await.unwrap_err();
        assert_eq!((fault.kind, fault.tries), (ModelFaultKind::Stalled, 4), "{fault:?}");
        assert!(fault.next.contains("timeouts.connect"), "{fault:?}");
    });
}

#[test]
fn comments_keep_a_slow_answer_alive() {
    let server =
        ScriptedModel::start(Script::in_order([Turn::text("slow").after([Fault::Comments(200, 120)])])).unwrap();
    let clock = ManualClock::new();
    let far = Duration::from_secs(1_000_000);
    let idle = Duration::from_secs(10);
    let timeouts = Timeouts { connect: idle, first_byte: far, idle, total: far };
    let model = adapter(ModelSettings { timeouts, ..settings(&server.base_url()) }, &clock);
    let start = clock.now();
    let reply = run(clock.drive(Duration::from_secs(1), model.complete(request("go"), quiet()))).unwrap();
    assert_eq!((reply.text.as_str(), &reply.finish), ("slow", &Finish::Stop));
    assert!(clock.now().since(start) > 10_000, "the test itself: more than the limit has passed");
}

#[test]
fn a_date_or_seconds_or_milliseconds() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let check = |millis, plain, expect: Option<u64>| {
        assert_eq!(retry_after(millis, plain, now), expect.map(Duration::from_millis));
    };
    check(None, Some("2"), Some(2_000));
    check(None, Some("0.5"), Some(500));
    check(Some("250"), Some("9"), Some(250));
    check(None, Some("Sun, 06 Nov 1994 08:49:40 GMT"), Some(3_000));
    check(None, Some("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
    check(None, Some("-1"), None);
    check(None, Some("soon"), None);
    check(None, None, None);
}

proptest! {
    #[test]
    fn pauses_are_bounded_and_tries_end(code in 100u16..1000, failures in 1u32..50, random in any::<u128>(), asked in proptest::option::of(0u64..10_000)) {
        let failure = Failure::Status { code, body: String::new(), retry_after: asked.map(Duration::from_secs) };
        let whence = Whence::default();
        let site = Site { base_url: "http://h/v1", model: "m", secrets: Vec::new(), has_key: true, whence: &whence };
        match decide(&failure, failures, random, &site) {
            Verdict::Retry(pause) => {
                prop_assert!(failures < 4);
                prop_assert!(pause <= Duration::from_secs(120));
            }
            Verdict::GiveUp(fault) => prop_assert!(!fault.message.is_empty() && !fault.next.is_empty()),
        }
    }
}
