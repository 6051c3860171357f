//! Between the wire and the handlers.
//!
//! Invariant: the part of a handler before its first wait has run before the next message is looked at. Absent: what a
//! method does.

use tower_lsp::jsonrpc::{Request, Response};
use tower_service::Service;

/// Wraps the service.
pub struct Gate<S> {
    inner: S,
}

impl<S> Gate<S> {
    /// Around this one.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S: Service<Request, Response = Option<Response>>> Service<Request> for Gate<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.inner.call(request)
    }
}
