//! HTTP as far as the model needs it: a client, one request under four limits, causes of its failures.
//!
//! Invariant: every wait is bounded by a limit of its own; dropping a future closes the connection, which is how a
//! server learns that its answer is no longer wanted. Absent: what bytes mean.

use super::Timeouts;
use super::faults::{Failure, Limit};
use super::retry::retry_after;
use crate::ports::Clock;
use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// As much of an error's body as is read: enough for its words, too little to hurt.
const ERROR_BODY: usize = 64 << 10;
/// How long the end of a body is waited for after its end mark.
const DRAIN: Duration = Duration::from_millis(20);

/// A client that is made when it is first needed: reading the machine's certificates takes time that a start without
/// a model call need not spend.
pub struct Wire {
    client: OnceLock<Result<reqwest::Client, String>>,
    timeouts: Timeouts,
    /// On this machine.
    local: bool,
    /// Without TLS.
    plain: bool,
    clock: Arc<dyn Clock>,
}

/// Bytes of an answer as they come, each wait bounded.
pub struct Body {
    response: reqwest::Response,
    begun: bool,
    timeouts: Timeouts,
    clock: Arc<dyn Clock>,
}

impl Wire {
    /// Nothing is opened yet.
    pub fn new(base_url: &str, timeouts: Timeouts, clock: Arc<dyn Clock>) -> Self {
        let host = reqwest::Url::parse(base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let local = host.is_some_and(|host| host == "localhost" || host.starts_with("127.") || host == "[::1]");
        Self { client: OnceLock::new(), timeouts, local, plain: base_url.starts_with("http:"), clock }
    }

    /// The client, for building requests.
    ///
    /// # Errors
    /// TLS could not be set up.
    pub fn client(&self) -> Result<&reqwest::Client, Failure> {
        let made = self.client.get_or_init(|| {
            // A second installation fails and changes nothing: somebody was faster.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let builder = reqwest::Client::builder()
                .connect_timeout(self.timeouts.connect)
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("planwright/", env!("CARGO_PKG_VERSION")));
            // A proxy of the office cannot reach a server on this machine.
            let builder = if self.local { builder.no_proxy() } else { builder };
            // Nor does a plain one need certificates, whose reading is most of the time that making a client takes.
            let builder = if self.local && self.plain { builder.tls_certs_only([]) } else { builder };
            builder.build().map_err(|error| causes(&error))
        });
        made.as_ref().map_err(|cause| Failure::Setup(cause.clone()))
    }

    /// Sends and waits for a successful answer's head.
    ///
    /// # Errors
    /// No connection, no answer in time, or a status that is no success (with its body).
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Result<Body, Failure> {
        let again = request.try_clone();
        let response = match (self.head(request).await, again) {
            // Between two turns a server may close the connection that is kept for the next one (llama.cpp does). Most
            // likely nobody saw that request, and a model call may be repeated in any case: once more, on a new
            // connection, without a pause. A break after the head is a try of its own.
            (Err(Failure::Reset(_)), Some(again)) => self.head(again).await?,
            (head, _) => head?,
        };
        let status = response.status();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let asked = retry_after(header("retry-after-ms").as_deref(), header("retry-after").as_deref(), self.now());
        let location = header("location");
        let mut body = Body { response, begun: false, timeouts: self.timeouts, clock: Arc::clone(&self.clock) };
        if status.is_success() {
            return Ok(body);
        }
        let mut bytes = Vec::new();
        // What the status says is worth more than how its body ended.
        while let Ok(Some(piece)) = body.next().await {
            bytes.extend_from_slice(&piece);
            if bytes.len() >= ERROR_BODY {
                bytes.truncate(ERROR_BODY);
                break;
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let text =
            if status.is_redirection() { location.map_or(text, |to| format!("it redirects to {to}")) } else { text };
        Err(Failure::Status { code: status.as_u16(), body: text, retry_after: asked })
    }

    async fn head(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, Failure> {
        let limit = self.timeouts.first_byte;
        let sent = within(&*self.clock, limit, Limit::FirstByte(limit), request.send()).await?;
        sent.map_err(|error| failure(&error, self.timeouts.connect))
    }

    /// Bounds one request as a whole.
    ///
    /// # Errors
    /// The limit, or what the work itself returns.
    pub async fn in_total<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let limit = self.timeouts.total;
        within(&*self.clock, limit, Limit::Total(limit), work).await?
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(self.clock.now().0).unwrap_or(0))
    }
}

impl Body {
    /// The next bytes; `None` at a clean end.
    ///
    /// # Errors
    /// Silence, or a broken connection.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let (span, limit) = match self.begun {
            true => (self.timeouts.idle, Limit::Idle(self.timeouts.idle)),
            false => (self.timeouts.first_byte, Limit::FirstByte(self.timeouts.first_byte)),
        };
        let piece = within(&*self.clock, span, limit, self.response.chunk()).await?;
        self.begun = true;
        Ok(piece.map_err(|error| failure(&error, self.timeouts.connect))?.map(|bytes| bytes.to_vec()))
    }

    /// Reads what is left for a moment, so that the connection can be kept.
    pub async fn drain(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        // Real time: no decision hangs on it, and a test's clock should not move for it.
        let _ = tokio::time::timeout(DRAIN, rest).await;
    }
}

async fn within<T>(
    clock: &dyn Clock,
    span: Duration,
    limit: Limit,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = clock.sleep(span) => Err(Failure::Stalled(limit)),
    }
}

/// What broke, from the chain of causes: the libraries beneath keep the kinds to themselves, so their words decide.
fn failure(error: &reqwest::Error, connect: Duration) -> Failure {
    let text = causes(error);
    let lower = text.to_ascii_lowercase();
    let mut source: Option<&(dyn Error + 'static)> = error.source();
    while let Some(cause) = source {
        if cause.is::<rustls::Error>() {
            return Failure::Tls(text);
        }
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            if io.kind() == std::io::ErrorKind::ConnectionRefused {
                return Failure::Refused(text);
            }
            if io.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
                return Failure::Tls(text);
            }
        }
        source = cause.source();
    }
    if error.is_builder() {
        Failure::Setup(text)
    } else if error.is_connect() && error.is_timeout() {
        Failure::Stalled(Limit::Connect(connect))
    } else if lower.contains("dns error") || lower.contains("failed to lookup address") {
        Failure::Dns(text)
    } else if error.is_connect()
        && (lower.contains("certificate") || lower.contains("tls") || lower.contains("corrupt message"))
    {
        Failure::Tls(text)
    } else {
        Failure::Reset(text)
    }
}

/// The innermost cause, which says most; without the URL, which may hold a key.
fn causes(error: &reqwest::Error) -> String {
    let mut text = None;
    let mut source = error.source();
    while let Some(cause) = source {
        text = Some(cause.to_string());
        source = cause.source();
    }
    text.unwrap_or_else(|| error.to_string().split(" for url").next().unwrap_or_default().to_owned())
}
