//! A model behind an OpenAI-compatible server.
//!
//! Invariant: one `complete` is one answer or one explained fault, whatever it took; nothing of a failed try is
//! returned. Text of a failed try may have been shown while it streamed: views show, they do not keep. Absent:
//! conversations, compaction, journaling; the caller owns those.

use super::faults::{Failure, Site, explain, is_too_long, page_title, told_window};
use super::key::Key;
use super::list::{self, Offered};
use super::negotiate::{Memory, Quirks};
use super::redact::{Secret, shown_url};
use super::reply::{Assembly, estimate};
use super::retry::{Verdict, decide};
use super::stream::Decoder;
use super::wire::{Body, Wire};
use super::{ModelSettings, request};
use crate::domain::agent::dialogue::{ModelFault, ModelFaultKind, ModelInfo, ModelReply, ModelRequest};
use crate::ports::{Clock, Deltas, Fut, Model};
use std::sync::{Arc, Mutex};
use tokio::sync::OnceCell;

/// More rounds of negotiation than there are parameters mean that a server complains at random.
const ROUNDS: u32 = 8;
/// A prompt shorter than this is not judged: templates and estimates weigh too much in it.
const JUDGED_FROM: u64 = 2_000;
/// A whole JSON answer larger than this has run away.
const LARGEST_ANSWER: usize = 16 << 20;

/// The adapter. Cheap until the first request.
pub struct OpenAi {
    settings: ModelSettings,
    clock: Arc<dyn Clock>,
    memory: Arc<dyn Memory>,
    wire: Wire,
    /// Resolved once; asked for again when a server refuses what a command printed.
    key: tokio::sync::Mutex<Option<Option<Secret>>>,
    chosen: OnceCell<String>,
    told_window: Mutex<Option<u64>>,
    on_wait: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What `doctor` learns of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probe {
    /// Without credentials.
    pub base_url: String,
    /// The model in use, if one is named or could be chosen.
    pub model: Option<String>,
    /// The server's list, or why there is none.
    pub models: Result<Vec<Offered>, ModelFault>,
    /// Tokens of context of that model, if configured or told.
    pub window: Option<u64>,
}

impl OpenAi {
    /// Puts it together; opens nothing.
    pub fn new(settings: ModelSettings, clock: Arc<dyn Clock>, memory: Arc<dyn Memory>) -> Self {
        let wire = Wire::new(&settings.base_url, settings.timeouts, Arc::clone(&clock));
        Self {
            settings,
            clock,
            memory,
            wire,
            key: tokio::sync::Mutex::new(None),
            chosen: OnceCell::new(),
            told_window: Mutex::new(None),
            on_wait: Arc::new(|_| {}),
        }
    }

    /// Told in one line whenever it waits, negotiates or chooses, so that the wait can be seen (G2).
    #[must_use]
    pub fn on_wait(mut self, tell: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        self.on_wait = tell;
        self
    }

    /// Asks the server for what `doctor` shows. Sends no prompt.
    pub async fn probe(&self) -> Probe {
        let models = self.models().await;
        let offered = models.as_deref().unwrap_or_default();
        let model = self.settings.model.clone().or_else(|| list::choose(offered).map(|m| m.id.clone()));
        let window = offered.iter().find(|m| Some(&m.id) == model.as_ref()).and_then(|m| m.window);
        self.learn_window(window);
        Probe { base_url: shown_url(&self.settings.base_url), model, models, window: self.window() }
    }

    /// The server's models.
    async fn models(&self) -> Result<Vec<Offered>, ModelFault> {
        let key = self.key().await?;
        let mut failures = 0;
        loop {
            match self.wire.in_total(self.fetch_models(key.as_ref())).await {
                Ok(models) => return Ok(models),
                Err(failure) => {
                    failures += 1;
                    self.pause(&failure, failures, failures, &self.site("the list of models", key.as_ref())).await?;
                }
            }
        }
    }

    async fn fetch_models(&self, key: Option<&Secret>) -> Result<Vec<Offered>, Failure> {
        let get = self.wire.client()?.get(self.url("models"));
        let mut body = self.wire.send(self.dressed(get, key)).await?;
        let mut bytes = Vec::new();
        while let Some(piece) = body.next().await? {
            extend(&mut bytes, &piece)?;
        }
        let text = String::from_utf8_lossy(&bytes);
        match page_title(&text) {
            Some(title) => Err(Failure::Page(title)),
            None => list::read(&text).map_err(Failure::Nonsense),
        }
    }

    async fn exchange(&self, request: ModelRequest, deltas: Deltas) -> Result<ModelReply, ModelFault> {
        let model = self.model().await?;
        let (mut key, mut renewed) = (self.key().await?, false);
        let place = format!("model/{}/{model}", shown_url(&self.settings.base_url));
        let known = self.memory.recall(&place).await.map(|text| Quirks::read(&text)).unwrap_or_default();
        let mut request = request;
        if let Some(most) = self.settings.max_output {
            request.max_tokens = request.max_tokens.min(most);
        }
        let (mut quirks, mut tries, mut failures, mut rounds) = (known.clone(), 0, 0, 0);
        loop {
            let body = request::body(&request, model, &quirks);
            tries += 1;
            let trace = request.trace.as_ref().map(|trace| trace.as_str());
            let failure = match self.wire.in_total(self.attempt(&body, key.as_ref(), trace, &deltas)).await {
                Ok(reply) => {
                    if quirks != known {
                        self.memory.remember(&place, quirks.write()).await;
                    }
                    return Ok(self.finished(reply, &body, model));
                }
                Err(failure) => failure,
            };
            if let Failure::Status { code: 400 | 404 | 422, body: said, .. } = &failure {
                self.learn_window(told_window(said));
                if let Some(next) = quirks.adapted(said, &body).filter(|_| rounds < ROUNDS && !is_too_long(said)) {
                    rounds += 1;
                    tracing::info!(%model, ?next, "the server refused a parameter; asking without it");
                    quirks = next;
                    continue;
                }
            }
            if let (Failure::Status { code: 401, .. }, Key::Command(_), false) = (&failure, &self.settings.key, renewed)
            {
                // Tokens of key commands expire, mostly within the hour.
                renewed = true;
                *self.key.lock().await = None;
                key = self.key().await?;
                continue;
            }
            failures += 1;
            self.pause(&failure, failures, tries, &self.site(model, key.as_ref())).await?;
        }
    }

    /// Waits until it is time for another try, visibly; or says why there is none.
    async fn pause(&self, failure: &Failure, failures: u32, tries: u32, site: &Site<'_>) -> Result<(), ModelFault> {
        match decide(failure, failures, self.clock.fresh(), site) {
            Verdict::GiveUp(fault) => Err(ModelFault { tries, ..fault }),
            Verdict::Retry(pause) => {
                let why = explain(failure, site).message;
                self.say(&format!("waiting {:.1} s for {}: {why}", pause.as_secs_f64(), site.model));
                self.clock.sleep(pause).await;
                Ok(())
            }
        }
    }

    fn say(&self, line: &str) {
        tracing::info!("{line}");
        (self.on_wait)(line);
    }

    /// One request, one answer.
    async fn attempt(
        &self,
        body: &serde_json::Value,
        key: Option<&Secret>,
        trace: Option<&str>,
        deltas: &Deltas,
    ) -> Result<ModelReply, Failure> {
        let mut post = self.wire.client()?.post(self.url("chat/completions")).json(body);
        if let Some(trace) = trace {
            // The span id is ours alone; all zeroes would be invalid.
            let span = (self.clock.fresh() as u64).max(1);
            post = post.header("traceparent", format!("00-{trace}-{span:016x}-01"));
        }
        let answer = self.wire.send(self.dressed(post, key)).await?;
        read(answer, deltas).await?.finish(|written| estimate(body, written))
    }

    fn finished(&self, mut reply: ModelReply, body: &serde_json::Value, asked: &str) -> ModelReply {
        if reply.model.is_empty() {
            reply.model = asked.to_owned();
        }
        let expected = estimate(body, "").input;
        let told = reply.usage.input;
        if !reply.usage.estimated && expected > JUDGED_FROM && told.saturating_mul(10) < expected.saturating_mul(6) {
            reply.warning = Some(format!(
                "the server counted {told} tokens of a prompt of about {expected}: it seems to have cut the front off. Raise \
                 its window (Ollama: OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size), or set `window = {told}` here"
            ));
        }
        reply
    }

    /// The named model, or one of the server's list, chosen once.
    async fn model(&self) -> Result<&str, ModelFault> {
        let choose = || async {
            if let Some(model) = &self.settings.model {
                return Ok(model.clone());
            }
            let offered = self.models().await?;
            let url = shown_url(&self.settings.base_url);
            let Some(model) = list::choose(&offered) else {
                return Err(ModelFault {
                    kind: ModelFaultKind::NoSuchModel,
                    message: format!("no model is named, and {url} offers none that can chat"),
                    next: "load a model there, or set `model` (or OPENAI_MODEL)".to_owned(),
                    tries: 1,
                });
            };
            self.learn_window(model.window);
            self.say(&format!("no model is named; taking {} of {} at {url}", model.id, offered.len()));
            Ok(model.id.clone())
        };
        self.chosen.get_or_try_init(choose).await.map(String::as_str)
    }

    async fn key(&self) -> Result<Option<Secret>, ModelFault> {
        let mut held = self.key.lock().await;
        if let Some(key) = &*held {
            return Ok(key.clone());
        }
        let key = self.settings.key.resolve(&self.settings, &*self.clock).await?;
        *held = Some(key.clone());
        Ok(key)
    }

    fn site<'a>(&'a self, model: &'a str, key: Option<&'a Secret>) -> Site<'a> {
        let headers = self.settings.headers.iter().map(|(_, value)| value);
        Site {
            base_url: &self.settings.base_url,
            model,
            secrets: key.into_iter().chain(headers).collect(),
            has_key: key.is_some(),
            whence: &self.settings.whence,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.settings.base_url.trim_end_matches('/'))
    }

    fn dressed(&self, request: reqwest::RequestBuilder, key: Option<&Secret>) -> reqwest::RequestBuilder {
        let request = match key {
            Some(key) => request.bearer_auth(key.reveal()),
            None => request,
        };
        self.settings.headers.iter().fold(request, |request, (name, value)| request.header(name, value.reveal()))
    }

    fn window(&self) -> Option<u64> {
        self.settings.window.or_else(|| self.told_window.lock().ok().and_then(|told| *told))
    }

    fn learn_window(&self, window: Option<u64>) {
        if let (Some(window), Ok(mut told)) = (window, self.told_window.lock()) {
            *told = Some(window);
        }
    }
}

impl Model for OpenAi {
    fn info(&self) -> Option<ModelInfo> {
        let model = self.settings.model.as_deref().or(self.chosen.get().map(String::as_str));
        Some(ModelInfo {
            name: format!("openai/{}", model.unwrap_or("(the server's choice)")),
            base_url: shown_url(&self.settings.base_url),
            window: self.window(),
            prices: self.settings.prices,
        })
    }

    fn complete(&self, request: ModelRequest, deltas: Deltas) -> Fut<'_, Result<ModelReply, ModelFault>> {
        Box::pin(self.exchange(request, deltas))
    }
}

/// Reads an answer to its end: a stream, or one JSON value from servers that do not stream. The first byte tells;
/// content types are often wrong.
async fn read(mut body: Body, deltas: &Deltas) -> Result<Assembly, Failure> {
    let mut assembly = Assembly::default();
    let mut decoder = Decoder::default();
    let mut whole = Vec::new();
    let mut streams = None;
    while let Some(piece) = body.next().await? {
        if streams.is_none() {
            whole.extend_from_slice(&piece);
            streams = whole.iter().find(|b| !b.is_ascii_whitespace()).map(|first| !matches!(first, b'{' | b'[' | b'<'));
            if streams != Some(true) {
                continue;
            }
            feed(&mut assembly, decoder.push(&std::mem::take(&mut whole)), deltas)?;
        } else if streams == Some(true) {
            feed(&mut assembly, decoder.push(&piece), deltas)?;
        } else {
            extend(&mut whole, &piece)?;
        }
        if assembly.is_done() {
            // Nothing more is to come, but reading the end of the body lets the connection be used again. A server that
            // holds it open is not waited for.
            body.drain().await;
            return Ok(assembly);
        }
    }
    if streams == Some(true) {
        feed(&mut assembly, decoder.finish(), deltas)?;
        return Ok(assembly);
    }
    let text = String::from_utf8(whole).map_err(|_| Failure::Nonsense("bytes that are not UTF-8".to_owned()))?;
    if let Some(title) = page_title(&text) {
        return Err(Failure::Page(title));
    }
    if text.trim().is_empty() {
        return Err(Failure::Truncated);
    }
    let shown = assembly.take_json(&text)?;
    if !shown.is_empty() {
        deltas(&shown);
    }
    Ok(assembly)
}

fn feed(assembly: &mut Assembly, events: Vec<super::stream::SseEvent>, deltas: &Deltas) -> Result<(), Failure> {
    for event in events {
        let shown = assembly.take(event)?;
        if !shown.is_empty() {
            deltas(&shown);
        }
    }
    Ok(())
}

fn extend(bytes: &mut Vec<u8>, piece: &[u8]) -> Result<(), Failure> {
    if bytes.len().saturating_add(piece.len()) > LARGEST_ANSWER {
        return Err(Failure::Nonsense("an answer without end".to_owned()));
    }
    bytes.extend_from_slice(piece);
    Ok(())
}
