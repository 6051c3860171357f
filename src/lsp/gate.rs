//! Between the wire and the handlers: what tower-lsp does not do, or does otherwise than clients need it.
//!
//! Invariant: the part of a handler before its first wait has run before the next message is looked at, so what it
//! takes in is taken in in the client's order. A panic in a handler ends that request and nothing else. Absent: a task
//! for each handler; it would give up that order.

use super::pipes::Ending;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tower_lsp::jsonrpc::{Error, Request, Response};
use tower_lsp::lsp_types::{DidChangeTextDocumentParams, InitializeParams};
use tower_service::Service;

/// Wraps the service.
pub struct Gate<S> {
    inner: S,
    /// Where the parameters of `initialize` go as the client wrote them.
    said: Arc<OnceLock<Value>>,
    ending: Ending,
}

impl<S> Gate<S> {
    /// Around this one.
    pub fn new(inner: S, said: Arc<OnceLock<Value>>, ending: Ending) -> Self {
        Self { inner, said, ending }
    }

    fn mended(&self, request: Request) -> Request {
        let (method, id, params) = request.into_parts();
        let params = match params {
            None | Some(Value::Null) => None,
            Some(Value::Object(members)) => Some(Value::Object(without_nulls(members))),
            Some(other) => Some(other),
        };
        let params = match (method.as_ref(), params) {
            ("initialize", Some(said)) => {
                let understood = understood(&said);
                self.said.get_or_init(|| said);
                understood
            }
            ("textDocument/didChange", Some(said)) => Some(readable(said)),
            (_, params) => params,
        };
        let mut mended = Request::build(method);
        if let Some(params) = params {
            mended = mended.params(params);
        }
        if let Some(id) = id {
            mended = mended.id(id);
        }
        mended.finish()
    }
}

impl<S> Service<Request> for Gate<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Error: Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Option<Response>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match request.method() {
            "shutdown" => self.ending.shutdown_seen(),
            "exit" => self.ending.now(),
            _ => {}
        }
        let id = request.id().cloned();
        let method = request.method().to_owned();
        // tower-lsp drops both; whoever asks waits for an answer.
        if let Some(id) = id.clone().filter(|_| method.starts_with("$/")) {
            return std::future::ready(Ok(Some(Response::from_error(id, unknown(method))))).boxed();
        }
        let request = self.mended(request);
        let call = AssertUnwindSafe(self.inner.call(request)).catch_unwind();
        let mut answer = call
            .map(move |answered| match answered {
                Ok(answer) => answer,
                Err(_) => {
                    tracing::error!(method, "a handler panicked");
                    Ok(id.map(|id| Response::from_error(id, Error::internal_error())))
                }
            })
            .boxed();
        // Polled here and now, whatever tower-lsp does with it: this is what the order rests on.
        match (&mut answer).now_or_never() {
            Some(answer) => std::future::ready(answer).boxed(),
            None => answer,
        }
    }
}

fn unknown(method: String) -> Error {
    Error { data: Some(Value::String(method)), ..Error::method_not_found() }
}

/// Clients write null where the protocol lets a member be left out, and the types refuse it.
fn without_nulls(members: Map<String, Value>) -> Map<String, Value> {
    members.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// tower-lsp drops a change that its types cannot take, and the text would be another from then on without anybody
/// knowing. In its place stands a change at a line that no text has.
fn readable(said: Value) -> Value {
    let Err(error) = DidChangeTextDocumentParams::deserialize(&said) else { return said };
    tracing::error!(%error, "a change of a text cannot be read");
    let uri = said.pointer("/textDocument/uri").cloned().unwrap_or_default();
    let version = said.pointer("/textDocument/version").and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok());
    let behind = json!({"line": u32::MAX, "character": 0});
    json!({
        "textDocument": {"uri": uri, "version": version.unwrap_or(i32::MAX)},
        "contentChanges": [{"range": {"start": behind, "end": behind}, "text": ""}],
    })
}

/// What the types can take of the parameters of `initialize`: they know a closed list of words, and one new word would
/// refuse the whole client.
fn understood(said: &Value) -> Option<Value> {
    let fits = |part: &Value| {
        let mut whole = part.clone();
        if let Some(members) = whole.as_object_mut() {
            members.entry("capabilities").or_insert_with(|| Value::Object(Map::new()));
        }
        serde_json::from_value::<InitializeParams>(whole).is_ok()
    };
    let mut understood = pruned(said, &fits)?;
    understood.as_object_mut()?.entry("capabilities").or_insert_with(|| Value::Object(Map::new()));
    Some(understood)
}

/// The largest part that fits, found member by member.
fn pruned(value: &Value, fits: &dyn Fn(&Value) -> bool) -> Option<Value> {
    if fits(value) {
        return Some(value.clone());
    }
    let rest = match value {
        Value::Object(members) => {
            let alone = |key: &str, part: &Value| Value::Object(Map::from_iter([(key.to_owned(), part.clone())]));
            let kept = members.iter().filter_map(|(key, member)| {
                let part = pruned(member, &|part| fits(&alone(key, part)))?;
                Some((key.clone(), part))
            });
            Value::Object(kept.collect())
        }
        Value::Array(elements) => {
            let kept = elements.iter().filter(|element| fits(&Value::Array(vec![(*element).clone()])));
            Value::Array(kept.cloned().collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    fits(&rest).then_some(rest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use super::*;

    #[track_caller]
    fn check(said: Value, expected: Value) {
        assert_eq!(understood(&said), Some(expected));
    }

    /// Notes each request before its first wait, and then waits for ever.
    struct Notes(Arc<std::sync::Mutex<Vec<Request>>>);

    impl Service<Request> for Notes {
        type Response = Option<Response>;
        type Error = std::convert::Infallible;
        type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request) -> Self::Future {
            let noted = self.0.clone();
            async move {
                noted.lock().unwrap().push(request);
                std::future::pending().await
            }
            .boxed()
        }
    }

    #[test]
    fn a_handler_has_begun_before_the_next_message_is_looked_at() {
        let noted = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut gate = Gate::new(Notes(noted.clone()), Arc::default(), Ending::new());
        let sent: Vec<Request> = (0..300).map(|n| Request::build("note").params(json!([n])).finish()).collect();
        let _never_polled: Vec<_> = sent.iter().map(|request| gate.call(request.clone())).collect();
        assert_eq!(*noted.lock().unwrap(), sent);
    }

    #[test]
    fn nulls_are_left_out() {
        let noted = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut gate = Gate::new(Notes(noted.clone()), Arc::default(), Ending::new());
        for params in [json!(null), json!({"command": "x", "arguments": null, "kept": [null]})] {
            drop(gate.call(Request::build("x").params(params).id(1).finish()));
        }
        let plain = Request::build("x").id(1).finish();
        let kept = Request::build("x").params(json!({"command": "x", "kept": [null]})).id(1).finish();
        assert_eq!(*noted.lock().unwrap(), [plain, kept]);
    }

    #[test]
    fn an_unknown_word_takes_only_itself_away() {
        let known = json!({"capabilities": {"workspace": {"applyEdit": true}}, "processId": 7});
        check(known.clone(), known);
        let edits = |operations: &[&str]| json!({"capabilities": {"workspace": {"applyEdit": true, "workspaceEdit": {"resourceOperations": operations}}}});
        check(edits(&["create", "copy"]), edits(&["create"]));
        check(
            json!({"capabilities": {"workspace": {"workspaceEdit": {"failureHandling": "new", "documentChanges": true}}}}),
            json!({"capabilities": {"workspace": {"workspaceEdit": {"documentChanges": true}}}}),
        );
        check(
            json!({"capabilities": {"textDocument": {"hover": {"contentFormat": ["asciidoc"], "dynamicRegistration": true}}}}),
            json!({"capabilities": {"textDocument": {"hover": {"contentFormat": [], "dynamicRegistration": true}}}}),
        );
        check(
            json!({"capabilities": {}, "trace": "compact", "rootUri": "relative/path", "processId": 1}),
            json!({"capabilities": {}, "processId": 1}),
        );
        check(json!({"capabilities": 7}), json!({"capabilities": {}}));
    }
}
