//! One key from the person who watches.
//!
//! Invariant: the terminal is left in the mode it was found in, also after Ctrl-C. Absent: what a key means.

use crate::cli::Terminal;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use tokio::io::AsyncBufReadExt;

/// Waits for a key, its whole sequence; without an input that could give one it does not wait.
///
/// # Errors
/// Ctrl-C came instead.
pub(super) async fn wait(io: &mut Terminal) -> Result<(), ()> {
    let _mode = KeyByKey::enter();
    let interrupt = io.interrupt.clone();
    tokio::select! {
        typed = io.input.fill_buf() => {
            let length = typed.map_or(0, <[u8]>::len);
            io.input.consume(length);
            Ok(())
        }
        () = interrupt.notified() => Err(()),
    }
}

/// Keys come at once and are not echoed; Ctrl-C still is a signal.
struct KeyByKey {
    before: Termios,
}

impl KeyByKey {
    fn enter() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut mode = before.clone();
        mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        mode.special_codes[SpecialCodeIndex::VMIN] = 1;
        mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &mode).ok()?;
        Some(Self { before })
    }
}

impl Drop for KeyByKey {
    fn drop(&mut self) {
        let _terminal_is_gone = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
