//! What a scripted model says: turns, faults, and which turn answers which request.
//!
//! Invariant: a turn is chosen by the content of the request alone (or by the call's number, where a test says so), so
//! that concurrent steps and resumed processes get their own answers. Absent: the wire (`scripted_model`) and its
//! absence (`memory_model`); both play the same script.

use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// One answer.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// Content.
    pub text: String,
    /// Sent as `reasoning_content`.
    pub reasoning: String,
    /// Name and arguments (raw text, so that broken JSON can be sent).
    pub calls: Vec<(String, String)>,
    /// Default: `tool_calls` with calls, else `stop`.
    pub finish: Option<String>,
    /// Prompt and completion tokens. Default: estimated from the bytes.
    pub usage: Option<(u64, u64)>,
    /// No usage at all.
    pub no_usage: bool,
    /// Before the first byte, in real time.
    pub latency: Duration,
    /// From one write to the next, in real time: 5 ms with a delta of four characters are 200 tokens a second.
    pub pace: Duration,
    /// Characters of text or arguments in one delta; 0 = 16.
    pub delta: usize,
    /// Bytes in one write to the socket; 0 = one event a write.
    pub write: usize,
    /// One JSON body instead of a stream.
    pub whole: bool,
    /// What goes wrong the first times this turn is asked for; afterwards it is given as it should be.
    pub faults: Vec<Fault>,
}

/// What goes wrong on the wire.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A status with headers and body.
    Status {
        /// The code.
        code: u16,
        /// For example `retry-after`.
        headers: Vec<(String, String)>,
        /// Sent as it stands.
        body: String,
    },
    /// The connection is reset after so many bytes of the body.
    Reset(usize),
    /// The connection is closed without a byte of an answer.
    Gone,
    /// Nothing more comes after so many bytes of the body (0: not even the head).
    Stall(usize),
    /// Only comments come after at most so many bytes of the body (whole events), so many of them, then the rest.
    Comments(usize, usize),
    /// The stream ends cleanly without finish reason and `[DONE]`.
    Truncated,
    /// A chunk that is no JSON.
    BadChunk,
    /// An error object inside the stream.
    ErrorChunk(String),
    /// Neither text nor calls.
    Empty,
    /// Cut at half its text, finish reason `length`.
    Length,
    /// 200 with a web page.
    Html,
    /// The right stream, called `text/html`.
    WrongContentType,
    /// 400 naming this parameter, if the request holds it; else the turn as it should be.
    Refuses(String),
}

impl Fault {
    /// A status with an OpenAI error body.
    pub fn status(code: u16, message: &str) -> Self {
        let body = serde_json::json!({ "error": { "message": message, "type": "scripted", "code": code } });
        Self::Status { code, headers: Vec::new(), body: body.to_string() }
    }

    /// 429 with this `Retry-After`.
    pub fn busy(retry_after: &str) -> Self {
        let headers = vec![("retry-after".to_owned(), retry_after.to_owned())];
        Self::Status { code: 429, headers, body: r#"{"error":{"message":"slow down"}}"#.to_owned() }
    }
}

impl Turn {
    /// Says this.
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Calls one tool.
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// Calls one more.
    #[must_use]
    pub fn and_call(mut self, name: &str, arguments: Value) -> Self {
        self.calls.push((name.to_owned(), arguments.to_string()));
        self
    }

    /// These go wrong first, one after the other.
    #[must_use]
    pub fn after(mut self, faults: impl IntoIterator<Item = Fault>) -> Self {
        self.faults = faults.into_iter().collect();
        self
    }

    /// Takes so long.
    #[must_use]
    pub fn taking(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The finish reason this turn ends with.
    pub fn finish_reason(&self) -> &str {
        match &self.finish {
            Some(finish) => finish,
            None if self.calls.is_empty() => "stop",
            None => "tool_calls",
        }
    }
}

type Chooser = Arc<dyn Fn(&Value, u32) -> Turn + Send + Sync>;

#[derive(Clone)]
enum Rule {
    /// By the call's number, counted over all requests of this rule; the last one stays.
    InOrder(Vec<Turn>),
    /// When the request holds the text: by how many assistant messages it has; the last one stays.
    When(String, Vec<Turn>),
    /// Whatever the closure says.
    By(Chooser),
}

/// Rules, tried from first to last. Cloning shares the counters.
#[derive(Clone, Default)]
pub struct Script {
    rules: Vec<Rule>,
    counters: Arc<Mutex<Counters>>,
}

#[derive(Default)]
struct Counters {
    calls: u32,
    in_rule: BTreeMap<usize, usize>,
    of_turn: BTreeMap<(usize, usize), usize>,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Script of {} rules", self.rules.len())
    }
}

impl Script {
    /// These turns one after the other, whatever is asked; the last one for ever.
    pub fn in_order(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { rules: vec![Rule::InOrder(turns.into_iter().collect())], ..Self::default() }
    }

    /// A closure decides, from the request's JSON and the call's number (from 0).
    pub fn by(choose: impl Fn(&Value, u32) -> Turn + Send + Sync + 'static) -> Self {
        Self { rules: vec![Rule::By(Arc::new(choose))], ..Self::default() }
    }

    /// When any text in the request's messages contains `part`: the n-th turn for a request with n assistant messages.
    /// A request sent again gets the same answer again.
    pub fn when(part: &str, turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::default().or_when(part, turns)
    }

    /// One more rule, tried when the former do not fit.
    #[must_use]
    pub fn or_when(mut self, part: &str, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.rules.push(Rule::When(part.to_owned(), turns.into_iter().collect()));
        self
    }

    /// For everything else.
    #[must_use]
    pub fn otherwise(self, turn: Turn) -> Self {
        self.or_when("", [turn])
    }

    /// The turn for this request and the fault that comes first. No rule fits: a status 400 that says so.
    pub fn answer(&self, request: &Value) -> (Turn, Option<Fault>) {
        let messages = request.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let said = |part: &str| {
            messages.iter().any(|m| m.get("content").and_then(Value::as_str).is_some_and(|t| t.contains(part)))
        };
        let turns_so_far =
            messages.iter().filter(|m| m.get("role").and_then(Value::as_str) == Some("assistant")).count();
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let call = counters.calls;
        counters.calls += 1;
        for (at, rule) in self.rules.iter().enumerate() {
            let (turn, n) = match rule {
                Rule::InOrder(turns) => {
                    let count = counters.in_rule.entry(at).or_default();
                    let n = (*count).min(turns.len().saturating_sub(1));
                    // A turn whose faults are not used up is asked for again: it comes once more.
                    let turn = turns.get(n).cloned();
                    let used = counters.of_turn.get(&(at, n)).copied().unwrap_or(0);
                    if turn.as_ref().is_some_and(|turn| used >= turn.faults.len()) {
                        *counters.in_rule.entry(at).or_default() += 1;
                    }
                    (turn, n)
                }
                Rule::When(part, turns) if said(part) => {
                    let n = turns_so_far.min(turns.len().saturating_sub(1));
                    (turns.get(n).cloned(), n)
                }
                Rule::When(..) => continue,
                Rule::By(choose) => (Some(choose(request, call)), usize::try_from(call).unwrap_or(usize::MAX)),
            };
            let Some(turn) = turn else { continue };
            let used = counters.of_turn.entry((at, n)).or_default();
            let fault = turn.faults.get(*used).cloned();
            *used += 1;
            return (turn, fault);
        }
        (Turn::default(), Some(Fault::status(400, "the script has no answer to this request")))
    }
}
