//! The person at the terminal: two streams out, lines in, and Ctrl-C.
//!
//! Invariant: a stream that is gone (a closed pipe) ends nothing. Absent: colours' yes or no; renderers always style,
//! and `anstream` strips where the stream, `NO_COLOR` or `CLICOLOR` say so.

use crate::domain::ids::Time;
use crate::domain::task::action::Actor;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncBufRead, AsyncBufReadExt};
use tokio::sync::Notify;

/// The person at the terminal.
pub struct Terminal {
    /// Results.
    pub out: Box<dyn Write + Send>,
    /// Progress and errors.
    pub err: Box<dyn Write + Send>,
    /// What is typed.
    pub input: Box<dyn AsyncBufRead + Send + Unpin>,
    /// A person reads and types: both sides are terminals.
    pub interactive: bool,
    /// Notified at Ctrl-C.
    pub interrupt: Arc<Notify>,
    /// Now, UTC.
    pub now: fn() -> Time,
    /// Who.
    pub actor: Actor,
}

impl Terminal {
    /// The process's own streams. To be called inside the runtime: Ctrl-C is listened to from now on. A read that was
    /// given up keeps its thread until the process ends, so the caller ends the process and not only the runtime.
    pub fn of_process(actor: Actor) -> Self {
        let interrupt = Arc::new(Notify::new());
        let notified = interrupt.clone();
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                notified.notify_one();
            }
        });
        Self {
            out: Box::new(anstream::stdout()),
            err: Box::new(anstream::stderr()),
            input: Box::new(tokio::io::BufReader::new(tokio::io::stdin())),
            interactive: std::io::stdin().is_terminal() && std::io::stdout().is_terminal(),
            interrupt,
            now: || {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
                Time(i64::try_from(since).unwrap_or(i64::MAX))
            },
            actor,
        }
    }

    /// Writes a rendered text as it is.
    pub fn print(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }

    /// The same, beside the result.
    pub fn remark(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush());
    }

    /// Writes a value as JSON. Serde escapes the C0 controls; the others that a terminal obeys or a reader is misled by
    /// are escaped here, which JSON allows and which loses nothing.
    pub fn json(&mut self, value: &impl Serialize) {
        let text = serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"));
        let mut safe = String::with_capacity(text.len() + 1);
        for character in text.chars() {
            if crate::domain::text::sanitize::is_obeyed(character) {
                safe.push_str(&format!("\\u{:04x}", u32::from(character)));
            } else {
                safe.push(character);
            }
        }
        safe.push('\n');
        self.print(&safe);
    }

    /// The next line that is typed, without its end; nothing at the end of input or at Ctrl-C.
    pub async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let interrupt = self.interrupt.clone();
        let read = tokio::select! {
            read = self.input.read_line(&mut line) => read.ok()?,
            () = interrupt.notified() => return None,
        };
        (read > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned())
    }
}
