//! Between the wire and the handlers: what tower-lsp does not do, or does otherwise than clients need it.
//!
//! Invariant: the part of a handler before its first wait has run before the next message is looked at, so what it
//! takes in is taken in in the client's order. What is said of a text is taken in, or the session ends. A panic in a
//! handler ends that request and nothing else. Absent: a task for each handler; it would give up that order.

use super::pipes::Ending;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tower_lsp::jsonrpc::{Error, Id, Request, Response};
use tower_lsp::lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    InitializeParams, Url,
};
use tower_service::Service;

/// Wraps the service.
pub struct Gate<S> {
    inner: S,
    /// Where the parameters of `initialize` go as the client wrote them.
    said: Arc<OnceLock<Value>>,
    ending: Ending,
    /// A text can no longer be followed: nothing more is looked at.
    lost: bool,
}

impl<S> Gate<S> {
    /// Around this one.
    pub fn new(inner: S, said: Arc<OnceLock<Value>>, ending: Ending) -> Self {
        Self { inner, said, ending, lost: false }
    }

    /// # Errors
    /// It tells of a text, and nobody can know what.
    fn mended(&self, request: Request) -> Result<Request, String> {
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
            (method, params) => readable(method, params)?,
        };
        let mut mended = Request::build(method);
        if let Some(params) = params {
            mended = mended.params(params);
        }
        if let Some(id) = id {
            mended = mended.id(id);
        }
        Ok(mended.finish())
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
        if self.lost {
            return std::future::ready(Ok(None)).boxed();
        }
        let request = match self.mended(request) {
            Ok(request) => request,
            Err(why) => {
                tracing::error!(why, "the session ends with code 1");
                self.lost = true;
                self.ending.now();
                let answer = Response::from_error(Id::Null, Error::invalid_params(why));
                return std::future::ready(Ok(Some(answer))).boxed();
            }
        };
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

/// What the types refuse of a notification about a text. tower-lsp would drop it: the text would be another from then
/// on, or open, without anybody knowing.
fn refused(method: &str, said: &Value) -> Option<serde_json::Error> {
    match method {
        "textDocument/didOpen" => DidOpenTextDocumentParams::deserialize(said).err(),
        "textDocument/didChange" => DidChangeTextDocumentParams::deserialize(said).err(),
        "textDocument/didSave" => DidSaveTextDocumentParams::deserialize(said).err(),
        "textDocument/didClose" => DidCloseTextDocumentParams::deserialize(said).err(),
        _ => None,
    }
}

/// The same as the types can take it, with what is not needed to follow the text left out.
///
/// # Errors
/// Nobody can know which text, or what stands in it.
fn readable(method: &str, params: Option<Value>) -> Result<Option<Value>, String> {
    let Some(error) = refused(method, params.as_ref().unwrap_or(&Value::Null)) else { return Ok(params) };
    tracing::error!(%error, method, "what the editor says of a text cannot be read");
    let said = params.unwrap_or_default();
    let at = |pointer: &str| said.pointer(pointer).cloned().unwrap_or_default();
    let lost = || format!("{method}: {error}; it told of a text, which can no longer be followed: the session ends");
    let uri = at("/textDocument/uri");
    if Url::deserialize(&uri).is_err() {
        // Under another scheme it is none of ours, and may be dropped.
        return if uri.as_str().is_some_and(names_no_file) { Ok(Some(said)) } else { Err(lost()) };
    }
    let version = whole(&at("/textDocument/version"));
    Ok(Some(match method {
        "textDocument/didOpen" => {
            let text = at("/textDocument/text");
            if !text.is_string() {
                return Err(lost());
            }
            let language = at("/textDocument/languageId");
            let language = language.as_str().unwrap_or_default();
            let version = version.unwrap_or_default();
            json!({"textDocument": {"uri": uri, "languageId": language, "version": version, "text": text}})
        }
        "textDocument/didChange" => changed(said, &uri, version),
        // The name is all that counts.
        _ => json!({"textDocument": {"uri": uri}}),
    }))
}

/// A change whose version alone was odd; else, in its place, one at a line that no text has.
fn changed(mut said: Value, uri: &Value, version: Option<i32>) -> Value {
    if let (Some(version), Some(slot)) = (version, said.pointer_mut("/textDocument/version")) {
        *slot = json!(version);
        if DidChangeTextDocumentParams::deserialize(&said).is_ok() {
            return said;
        }
    }
    let behind = json!({"line": u32::MAX, "character": 0});
    json!({
        "textDocument": {"uri": uri, "version": version.unwrap_or(i32::MAX)},
        "contentChanges": [{"range": {"start": behind, "end": behind}, "text": ""}],
    })
}

/// A whole number, also as languages write it that have no other than those with a point.
fn whole(value: &Value) -> Option<i32> {
    let digits = value.as_number()?.to_string();
    digits.strip_suffix(".0").unwrap_or(&digits).parse().ok()
}

/// It has a scheme, and that is not `file`.
fn names_no_file(uri: &str) -> bool {
    let is_scheme = |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    uri.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme) && !scheme.eq_ignore_ascii_case("file"))
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
