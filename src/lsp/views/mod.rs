//! What the user sees without asking: diagnostics, progress, and what glue is told.
//!
//! Invariant: derived from the desk and the open documents; it can be thrown away and made again. Absent: decisions.

use super::ground::Place;
use super::session::Session;
use std::sync::Arc;

/// Shows what there is to see, until the session ends. Begun once the root is open.
pub async fn run(_session: Arc<Session>, _place: Arc<dyn Place>) {}
