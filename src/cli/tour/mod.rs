//! (being written)

use super::{Exit, Parsed, Terminal};

/// (being written)
pub async fn run(_parsed: &Parsed, _io: &mut Terminal) -> Exit {
    Exit::Failed
}
