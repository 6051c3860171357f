//! Server-sent events out of bytes, without IO: why a stream can be cut anywhere and still mean the same.
//!
//! Invariant: the events depend on the bytes alone, never on how the network split them (inside a line, a CRLF or a
//! UTF-8 character); what ends without a line end is still an event. Absent: what an event says, time, retries.

use serde::de::IgnoredAny;

/// A line longer than this is an attack or a fault, not an answer. The longest honest line is one whole reply with
/// its code, some hundred kilobytes.
const LONGEST_LINE: usize = 8 << 20;

/// What the bytes so far have brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SseEvent {
    /// The data of one event.
    Data(String),
    /// A comment: nothing but a sign of life, which slow servers send while they read the prompt.
    Comment,
    /// Bytes that are no UTF-8, or a line without end. No answer can be trusted after it.
    Broken(&'static str),
}

/// Takes bytes, gives events.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    data: Option<String>,
    after_cr: bool,
    begun: bool,
    broken: bool,
}

impl Decoder {
    /// The events that these bytes complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for &byte in bytes {
            if self.broken {
                break;
            }
            let second_half = self.after_cr && byte == b'\n';
            self.after_cr = byte == b'\r';
            match byte {
                _ if second_half => {}
                b'\n' | b'\r' => self.end_line(&mut events),
                _ if self.line.len() >= LONGEST_LINE => self.give_up("a line without end", &mut events),
                byte => self.line.push(byte),
            }
        }
        events
    }

    /// The events that the end of the stream completes. Some servers leave out the last blank line.
    pub fn finish(mut self) -> Vec<SseEvent> {
        let mut events = Vec::new();
        if !self.line.is_empty() && !self.broken {
            self.end_line(&mut events);
        }
        self.dispatch(&mut events);
        events
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) {
        let mut bytes = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && bytes.starts_with("\u{feff}".as_bytes()) {
            bytes.drain(..'\u{feff}'.len_utf8());
        }
        let Ok(line) = String::from_utf8(bytes) else {
            return self.give_up("bytes that are not UTF-8", events);
        };
        if line.is_empty() {
            return self.dispatch(events);
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => events.push(SseEvent::Comment),
            "data" => {
                // The standard joins neighbouring data lines. Servers that forget the blank line send one whole
                // JSON value a line instead; a value that is complete cannot be meant to go on.
                if self.data.as_deref().is_some_and(is_whole) {
                    self.dispatch(events);
                }
                match &mut self.data {
                    Some(data) if data.len() < LONGEST_LINE => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    Some(_) => self.give_up("an event without end", events),
                    None => self.data = Some(value.to_owned()),
                }
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, events: &mut Vec<SseEvent>) {
        if let Some(data) = self.data.take().filter(|data| !data.trim().is_empty()) {
            events.push(SseEvent::Data(data));
        }
    }

    fn give_up(&mut self, why: &'static str, events: &mut Vec<SseEvent>) {
        self.broken = true;
        self.data = None;
        self.line = Vec::new();
        events.push(SseEvent::Broken(why));
    }
}

fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok()
}
