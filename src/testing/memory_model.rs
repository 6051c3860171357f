//! A model without a wire: the port itself, playing the same script as the server does.
//!
//! Invariant: what comes out is what the adapter would have made of the same turn: reasoning apart, nothing partial,
//! faults as the adapter reports them when it has given up. Absent: retries; a scripted fault is final here.

use super::script::{Fault, Script, Turn};
use crate::domain::agent::dialogue::{ModelFault, ModelInfo, ModelReply, ModelRequest};
use crate::model::Whence;
use crate::model::faults::{Failure, Site, explain};
use crate::model::negotiate::Quirks;
use crate::model::reply::{Assembly, estimate};
use crate::model::request;
use crate::model::stream::Decoder;
use crate::ports::{Deltas, Fut, Model};
use std::sync::{Arc, Mutex, PoisonError};

/// Cloning shares the record.
#[derive(Clone, Debug)]
pub struct MemoryModel {
    script: Script,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    info: ModelInfo,
}

impl MemoryModel {
    /// Plays this.
    pub fn new(script: Script) -> Self {
        let info = ModelInfo {
            name: "memory/scripted".to_owned(),
            base_url: "memory:".to_owned(),
            window: Some(32_768),
            prices: None,
        };
        Self { script, requests: Arc::default(), info }
    }

    /// The same with prices, for budgets in money.
    #[must_use]
    pub fn priced(mut self, input: u64, output: u64) -> Self {
        self.info.prices = Some((input, output));
        self
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many.
    pub fn calls(&self) -> usize {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    async fn play(&self, request: ModelRequest, deltas: Deltas) -> Result<ModelReply, ModelFault> {
        let body = request::body(&request, "scripted", &Quirks::default());
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let (turn, fault) = self.script.answer(&body);
        if !turn.latency.is_zero() {
            tokio::time::sleep(turn.latency).await;
        }
        let whence = Whence::default();
        let (base_url, model, secrets) = ("memory:", "scripted", Vec::new());
        let site = Site { base_url, model, secrets, has_key: true, whence: &whence };
        answer(&body, &turn, fault.as_ref(), &deltas)
            .map_err(|failure| ModelFault { tries: 1, ..explain(&failure, &site) })
    }
}

fn answer(
    body: &serde_json::Value,
    turn: &Turn,
    fault: Option<&Fault>,
    deltas: &Deltas,
) -> Result<ModelReply, Failure> {
    match fault {
        Some(Fault::Status { code, body, .. }) => {
            return Err(Failure::Status { code: *code, body: body.clone(), retry_after: None });
        }
        Some(Fault::Reset(_) | Fault::Gone) => return Err(Failure::Reset("scripted".to_owned())),
        Some(Fault::Stall(_)) => {
            let limit = crate::model::Timeouts::default().idle;
            return Err(Failure::Stalled(crate::model::faults::Limit::Idle(limit)));
        }
        Some(Fault::Html) => return Err(Failure::Page("scripted".to_owned())),
        Some(_) | None => {}
    }
    let mut decoder = Decoder::default();
    let mut assembly = Assembly::default();
    let bytes = super::scripted_model::events(body, turn, fault).concat();
    let events = decoder.push(bytes.as_bytes());
    for event in events.into_iter().chain(decoder.finish()) {
        let shown = assembly.take(event)?;
        if !shown.is_empty() {
            deltas(&shown);
        }
    }
    assembly.finish(|written| estimate(body, written))
}

impl Model for MemoryModel {
    fn info(&self) -> Option<ModelInfo> {
        Some(self.info.clone())
    }

    fn complete(&self, request: ModelRequest, deltas: Deltas) -> Fut<'_, Result<ModelReply, ModelFault>> {
        Box::pin(self.play(request, deltas))
    }
}
