//! A model server that plays a script over real HTTP: what the adapter's tests, and whole processes, talk to.
//!
//! Invariant: bytes go out as the script says, fault included, and every request is on record before its answer
//! begins. Absent: TLS, HTTP/2, any check of the request; tests look at the record.

use super::script::{Fault, Script, Turn};
use crate::model::reply::estimated_tokens;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// The model that the server lists and answers as.
pub const MODEL: &str = "scripted-coder:7b";

/// Between two comments: slow enough that a test's clock can move in between.
const COMMENT_PACE: Duration = Duration::from_millis(5);

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// `POST /v1/chat/completions`.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// JSON, or null.
    pub body: Value,
    /// Since the server started.
    pub at: Duration,
    /// The client went before the answer was out.
    pub left: bool,
    /// The answer is out.
    pub answered: bool,
}

impl Request {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A running server. It ends when dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    models: Value,
    started: Instant,
    requests: Mutex<Vec<Request>>,
}

impl ScriptedModel {
    /// Starts on a free port of 127.0.0.1, on a thread of its own.
    ///
    /// # Errors
    /// No port, no thread.
    pub fn start(script: Script) -> std::io::Result<Self> {
        Self::listing(script, json!({ "object": "list", "data": [{ "id": MODEL, "meta": { "n_ctx": 32_768 } }] }))
    }

    /// The same with another answer to `GET /models`.
    ///
    /// # Errors
    /// No port, no thread.
    pub fn listing(script: Script, models: Value) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { script, models, started: Instant::now(), requests: Mutex::default() });
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("scripted-model".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, served) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All requests so far, lists of models included.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those for completions.
    pub fn calls(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.line.contains("/chat/completions")).collect()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It panicked: the test that saw its connection die has more to say about it.
            let _ = thread.join();
        }
    }
}

/// An address where nobody listens.
///
/// # Errors
/// No port.
pub fn refused_url() -> std::io::Result<String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(format!("http://{}/v1", listener.local_addr()?))
}

async fn accept(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let mut stream = stream;
            let _ = stream.set_nodelay(true);
            // An error here is a client that went: part of the game.
            while let Ok(true) = serve(&mut stream, &shared).await {}
        });
    }
}

/// One request. `false` = the connection is over.
async fn serve(stream: &mut TcpStream, shared: &Shared) -> std::io::Result<bool> {
    let Some((line, headers, body)) = read_request(stream).await? else { return Ok(false) };
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let request = Request { line, headers, body, at: shared.started.elapsed(), left: false, answered: false };
    let at = {
        let mut requests = shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(request.clone());
        requests.len() - 1
    };
    let mark = |change: fn(&mut Request)| {
        if let Some(request) = shared.requests.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
            change(request);
        }
    };
    let sent = if request.line.starts_with("GET") && request.line.contains("/models") {
        send_whole(stream, 200, "application/json", &[], &shared.models.to_string()).await.map(|()| true)
    } else {
        let (turn, fault) = shared.script.answer(&request.body);
        answer(stream, &request.body, &turn, fault.as_ref(), &mark).await
    };
    match sent {
        Ok(_) => mark(|request| request.answered = true),
        Err(_) => mark(|request| request.left = true),
    }
    sent
}

type Head = (String, Vec<(String, String)>, Vec<u8>);

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<Head>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
        // The first byte of a TLS handshake, among others.
        if !bytes.first().is_some_and(u8::is_ascii_uppercase) {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await?;
            return Ok(None);
        }
    };
    let body = bytes.split_off(end + 4);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, v)| v.parse().ok()).unwrap_or(0);
    let mut body = body;
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some((line, headers, body)))
}

async fn answer(
    stream: &mut TcpStream,
    request: &Value,
    turn: &Turn,
    fault: Option<&Fault>,
    mark: &impl Fn(fn(&mut Request)),
) -> std::io::Result<bool> {
    if !turn.latency.is_zero() {
        tokio::time::sleep(turn.latency).await;
    }
    match fault {
        Some(Fault::Status { code, headers, body }) => {
            return send_whole(stream, *code, "application/json", headers, body).await.map(|()| true);
        }
        Some(Fault::Refuses(parameter)) if request.get(parameter).is_some() => {
            let message = format!("Unsupported parameter: '{parameter}' is not supported with this model.");
            let body = json!({ "error": { "message": message, "type": "invalid_request_error", "param": parameter } });
            return send_whole(stream, 400, "application/json", &[], &body.to_string()).await.map(|()| true);
        }
        Some(Fault::Html) => {
            let page = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>…</body></html>";
            return send_whole(stream, 200, "text/html", &[], page).await.map(|()| true);
        }
        Some(Fault::Gone) => return Ok(false),
        Some(Fault::Stall(0)) => return wait_for_leaving(stream, mark).await,
        Some(_) | None => {}
    }
    if turn.whole {
        return send_whole(stream, 200, "application/json", &[], &whole(request, turn).to_string())
            .await
            .map(|()| true);
    }
    let kind = if matches!(fault, Some(Fault::WrongContentType)) { "text/html" } else { "text/event-stream" };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let (mut sent, mut fault) = (0, fault);
    let mut due = tokio::time::Instant::now();
    for piece in pieces(events(request, turn, fault), turn.write) {
        if !turn.pace.is_zero() {
            due += turn.pace;
            tokio::time::sleep_until(due).await;
        }
        let room = match fault {
            Some(Fault::Reset(at) | Fault::Stall(at) | Fault::Comments(at, _)) => at.saturating_sub(sent),
            Some(_) | None => usize::MAX,
        };
        // A comment may stand between events only; bytes may be missing anywhere.
        let whole_events = matches!(fault, Some(Fault::Comments(..)));
        let (now, rest) = piece.split_at(if whole_events && piece.len() > room { 0 } else { piece.len().min(room) });
        send_chunk(stream, now).await?;
        sent += now.len();
        if rest.is_empty() {
            continue;
        }
        match fault {
            Some(Fault::Reset(_)) => {
                stream.set_zero_linger()?;
                return Ok(false);
            }
            Some(Fault::Stall(_)) => return wait_for_leaving(stream, mark).await,
            Some(Fault::Comments(_, count)) => {
                for _ in 0..*count {
                    send_chunk(stream, b":\n\n").await?;
                    tokio::time::sleep(COMMENT_PACE).await;
                }
                send_chunk(stream, rest).await?;
                fault = None;
            }
            Some(_) | None => {}
        }
    }
    stream.write_all(b"0\r\n\r\n").await?;
    Ok(true)
}

/// Holds the answer until the client closes; anything else would end by itself.
async fn wait_for_leaving(stream: &mut TcpStream, mark: &impl Fn(fn(&mut Request))) -> std::io::Result<bool> {
    let mut byte = [0];
    let _ = stream.read(&mut byte).await;
    mark(|request| request.left = true);
    Ok(false)
}

async fn send_whole(
    stream: &mut TcpStream,
    code: u16,
    kind: &str,
    headers: &[(String, String)],
    body: &str,
) -> std::io::Result<()> {
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let text =
        format!("HTTP/1.1 {code} Scripted\r\ncontent-type: {kind}\r\n{more}content-length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await
}

async fn send_chunk(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    // An empty chunk would end the body.
    if bytes.is_empty() {
        return Ok(());
    }
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    stream.write_all(&framed).await
}

fn pieces(events: Vec<String>, write: usize) -> Vec<Vec<u8>> {
    if write == 0 {
        return events.into_iter().map(String::into_bytes).collect();
    }
    events.concat().into_bytes().chunks(write).map(<[u8]>::to_vec).collect()
}

/// The server-sent events of a turn, as llama.cpp and OpenAI word them. Public so that the decoder's tests can cut
/// them anywhere without a wire.
pub fn events(request: &Value, turn: &Turn, fault: Option<&Fault>) -> Vec<String> {
    let model = request.get("model").and_then(Value::as_str).unwrap_or(MODEL);
    let chunk = |choices: Value| json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices });
    let event = |value: Value| format!("data: {value}\n\n");
    let delta = |delta: Value| event(chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }])));
    let empty = matches!(fault, Some(Fault::Empty));
    let cut = matches!(fault, Some(Fault::Length));
    let mut out = vec![":\n\n".to_owned(), delta(json!({ "role": "assistant", "content": null }))];
    let size = if turn.delta == 0 { 16 } else { turn.delta };
    if !empty {
        out.extend(parts(&turn.reasoning, size).map(|part| delta(json!({ "reasoning_content": part }))));
        let half = turn.text.char_indices().nth(turn.text.chars().count() / 2).map_or(0, |(at, _)| at);
        let text = if cut { turn.text.get(..half).unwrap_or_default() } else { &turn.text };
        out.extend(parts(text, size).map(|part| delta(json!({ "content": part }))));
        for (index, (name, arguments)) in turn.calls.iter().enumerate() {
            let function = json!({ "name": name, "arguments": "" });
            out.push(delta(json!({ "tool_calls": [{ "index": index, "id": format!("call_{index}"), "type": "function", "function": function }] })));
            let pieces = parts(arguments, size);
            out.extend(
                pieces.map(|part| {
                    delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": part } }] }))
                }),
            );
        }
    }
    match fault {
        Some(Fault::Truncated) => return out,
        Some(Fault::BadChunk) => out.push("data: {\"choices\": [{\"delta\"\n\n".to_owned()),
        Some(Fault::ErrorChunk(message)) => out.push(event(json!({ "error": { "message": message } }))),
        Some(_) | None => {}
    }
    let finish = if cut { "length" } else { turn.finish_reason() };
    out.push(event(chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }]))));
    let wanted = request.pointer("/stream_options/include_usage").and_then(Value::as_bool) == Some(true);
    if wanted && !turn.no_usage {
        let mut last = chunk(json!([]));
        if let Some(object) = last.as_object_mut() {
            object.insert("usage".to_owned(), usage(request, turn));
        }
        out.push(event(last));
    }
    out.push("data: [DONE]\n\n".to_owned());
    out
}

fn whole(request: &Value, turn: &Turn) -> Value {
    let call = |(n, (name, arguments)): (usize, &(String, String))| json!({ "id": format!("call_{n}"), "type": "function", "function": { "name": name, "arguments": arguments } });
    let calls: Vec<Value> = turn.calls.iter().enumerate().map(call).collect();
    let mut message = json!({ "role": "assistant", "content": turn.text });
    if let Some(object) = message.as_object_mut().filter(|_| !calls.is_empty()) {
        object.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": turn.finish_reason() });
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage(request, turn) })
}

fn usage(request: &Value, turn: &Turn) -> Value {
    let (input, output) = turn.usage.unwrap_or_else(|| {
        let prompt = request.get("messages").map_or(0, |messages| messages.to_string().len());
        let written =
            turn.text.len() + turn.calls.iter().map(|(name, arguments)| name.len() + arguments.len()).sum::<usize>();
        (estimated_tokens(prompt), estimated_tokens(written))
    });
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": 0 } })
}

fn parts(text: &str, size: usize) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let parts: Vec<String> = chars.chunks(size).map(|part| part.iter().collect()).collect();
    parts.into_iter()
}
