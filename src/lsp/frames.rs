//! Messages as they come in, each looked at before tower-lsp sees it: one that it cannot read would be its last.
//!
//! Invariant: what goes on from here is a sequence of whole messages that tower-lsp can read, in the client's order. What
//! is no message is answered and left out, and the session goes on, unless it may have told of a text: a text that is
//! not followed to the letter is worse than a server that is started again. Absent: what a message means.

use super::pipes::Ending;
use serde_json::{Value, json};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc::UnboundedSender;
use tower_lsp::jsonrpc::{Request, Response};

/// Bytes read at once.
const CHUNK: usize = 1 << 14;

/// Bytes of a header without an end: whoever writes more speaks another protocol.
const HEADER: usize = 1 << 12;

/// Bytes of a message: ten times the largest file that anybody edits.
const MESSAGE: usize = 1 << 30;

/// Characters of a bad message in the log.
const QUOTED: usize = 160;

/// What every notification about a text is called.
const OF_TEXTS: &str = "textDocument/did";

/// A reader of whole messages.
pub struct Frames<R> {
    inner: R,
    ending: Ending,
    answers: UnboundedSender<Vec<u8>>,
    chunk: Box<[u8]>,
    raw: Vec<u8>,
    /// The length of the message whose header was read.
    length: Option<usize>,
    /// On its way to tower-lsp, from here on.
    ready: (Vec<u8>, usize),
    over: bool,
}

/// What the bytes so far come to.
enum Step {
    /// Nothing yet.
    More,
    /// A message, as it goes on.
    Message(Vec<u8>),
    /// Something that is left out.
    Fault(Fault),
    /// Where the next message begins is not known.
    Lost(String),
}

/// Why a message is none.
struct Fault {
    code: i64,
    why: String,
    /// Of whoever waits for an answer.
    id: Value,
    quoted: String,
    /// It may have told of a text.
    of_a_text: bool,
}

impl<R> Frames<R> {
    /// Over this reader. What is answered goes into the queue as a whole message.
    pub fn new(inner: R, answers: UnboundedSender<Vec<u8>>, ending: Ending) -> Self {
        let chunk = vec![0; CHUNK].into_boxed_slice();
        Self { inner, ending, answers, chunk, raw: Vec::new(), length: None, ready: (Vec::new(), 0), over: false }
    }

    fn step(&mut self) -> Step {
        if self.length.is_none() {
            match head(&self.raw) {
                Ok(None) => return Step::More,
                Ok(Some((read, length))) => {
                    self.raw.drain(..read);
                    self.length = Some(length);
                }
                Err(why) => return Step::Lost(why),
            }
        }
        let Some(length) = self.length.filter(|length| *length <= self.raw.len()) else { return Step::More };
        self.length = None;
        let rest = self.raw.split_off(length);
        let body = std::mem::replace(&mut self.raw, rest);
        match fault(&body) {
            None => {
                let mut message = format!("Content-Length: {length}\r\n\r\n").into_bytes();
                message.extend(body);
                Step::Message(message)
            }
            Some(fault) => Step::Fault(fault),
        }
    }

    fn answer(&self, id: &Value, code: i64, why: &str) {
        let error = json!({"code": code, "message": why});
        let body = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
        // A client that reads no more ends the session elsewhere.
        let _gone = self.answers.send(format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes());
    }

    fn end(&mut self) {
        self.over = true;
        self.ending.now();
    }

    fn left_out(&mut self, fault: Fault) {
        let Fault { code, why, id, quoted, of_a_text } = fault;
        tracing::error!(why, message = quoted, "the editor sent what is no message");
        if of_a_text {
            let why = format!("{why}; it told of a text, which can no longer be followed: the session ends");
            self.answer(&id, code, &why);
            tracing::error!("it told of a text, which can no longer be followed: the session ends with code 1");
            self.end();
        } else {
            self.answer(&id, code, &why);
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Frames<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let (bytes, at) = &mut this.ready;
            if let Some(left) = bytes.get(*at..).filter(|left| !left.is_empty()) {
                let (now, _) = left.split_at(left.len().min(into.remaining()));
                into.put_slice(now);
                *at += now.len();
                return Poll::Ready(Ok(()));
            }
            if this.over {
                return Poll::Ready(Ok(()));
            }
            match this.step() {
                Step::Message(message) => this.ready = (message, 0),
                Step::Fault(fault) => this.left_out(fault),
                Step::Lost(why) => {
                    tracing::error!(why, message = quoted(&this.raw), "the session ends with code 1");
                    this.answer(&Value::Null, -32700, &format!("{why}; the session ends"));
                    this.end();
                }
                Step::More => {
                    let mut chunk = ReadBuf::new(&mut this.chunk);
                    ready!(Pin::new(&mut this.inner).poll_read(context, &mut chunk))?;
                    if chunk.filled().is_empty() {
                        if !this.raw.is_empty() || this.length.is_some() {
                            tracing::warn!(bytes = this.raw.len(), "the editor's last message has no end");
                        }
                        this.over = true;
                    }
                    this.raw.extend_from_slice(chunk.filled());
                }
            }
        }
    }
}

/// The header at the beginning: its bytes, and the length that it says. None until it is whole.
fn head(raw: &[u8]) -> Result<Option<(usize, usize)>, String> {
    // Line ends behind a message belong to none.
    let skipped = raw.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let rest = raw.get(skipped..).unwrap_or_default();
    let ends = [&b"\r\n\r\n"[..], b"\n\n"];
    let whole = ends.iter().filter_map(|end| {
        let at = rest.windows(end.len()).take(HEADER).position(|window| window == *end)?;
        Some((at, at + end.len()))
    });
    let Some((end, behind)) = whole.min() else {
        return if rest.len() > HEADER { Err("the header of a message has no end".to_owned()) } else { Ok(None) };
    };
    let lines = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned();
    let said = lines.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = said.filter(|(name, _)| name.trim().eq_ignore_ascii_case("content-length"));
    let Some((_, length)) = lengths.next() else {
        return Err("the header of a message has no Content-Length".to_owned());
    };
    match length.trim().parse::<usize>() {
        Ok(length) if length <= MESSAGE => Ok(Some((skipped + behind, length))),
        Ok(length) => Err(format!("a message of {length} bytes is too long")),
        Err(_) => Err(format!("`Content-Length: {}` is no length", sanitized(length.trim()))),
    }
}

/// Why tower-lsp could not read it. The types are its own.
fn fault(body: &[u8]) -> Option<Fault> {
    let fault = |code, why, id| {
        let of_a_text = unescaped(body).windows(OF_TEXTS.len()).any(|window| window == OF_TEXTS.as_bytes());
        Some(Fault { code, why, id, quoted: quoted(body), of_a_text })
    };
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => return fault(-32700, format!("a message is no UTF-8: {error}"), Value::Null),
    };
    if serde_json::from_str::<Request>(text).is_ok_and(|request| !request.method().is_empty())
        || serde_json::from_str::<Response>(text).is_ok()
    {
        return None;
    }
    match serde_json::from_str::<Value>(text) {
        Err(error) => fault(-32700, format!("a message is no JSON: {error}"), Value::Null),
        Ok(value) => {
            // Without a method it is an answer to us, and nobody waits for one to it.
            let id = value.get("id").filter(|id| value.get("method").is_some() && (id.is_number() || id.is_string()));
            let why = "a message is neither a request nor a notification nor an answer".to_owned();
            fault(-32600, why, id.cloned().unwrap_or_default())
        }
    }
}

/// With the escapes of JSON resolved as far as they stand for ASCII, in whatever it is.
fn unescaped(mut body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(body.len());
    loop {
        body = match body {
            [] => return plain,
            [b'\\', b'u', digits @ ..] => {
                let hex = digits.get(..4).and_then(|hex| std::str::from_utf8(hex).ok());
                let code = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
                plain.extend(code);
                digits.get(if code.is_some() { 4 } else { 0 }..).unwrap_or_default()
            }
            [b'\\', next, rest @ ..] => {
                plain.push(*next);
                rest
            }
            [byte, rest @ ..] => {
                plain.push(*byte);
                rest
            }
        };
    }
}

fn quoted(bytes: &[u8]) -> String {
    sanitized(&String::from_utf8_lossy(bytes))
}

fn sanitized(text: &str) -> String {
    super::views::words::line(text, QUOTED)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::mpsc::unbounded_channel;

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    /// Everything that goes on, and what is answered, with the bytes written piece by piece.
    async fn read(bytes: &[u8], piece: usize) -> (String, Vec<String>, Ending) {
        let (reader, mut writer) = tokio::io::duplex(64);
        let (answers, mut answered) = unbounded_channel();
        let ending = Ending::new();
        let bytes = bytes.to_vec();
        tokio::spawn(async move {
            for part in bytes.chunks(piece) {
                // Nobody reads behind the end.
                if writer.write_all(part).await.is_err() {
                    return;
                }
            }
        });
        let mut frames = Frames::new(reader, answers, ending.clone());
        let mut out = String::new();
        frames.read_to_string(&mut out).await.unwrap();
        drop(frames);
        let mut said = Vec::new();
        while let Some(answer) = answered.recv().await {
            let answer = String::from_utf8(answer).unwrap();
            said.push(answer.split_once("\r\n\r\n").unwrap().1.to_owned());
        }
        (out, said, ending)
    }

    async fn check(bytes: &str, through: &str, answers: &[&str]) {
        for piece in [1, 7, 4096] {
            let (out, said, _) = read(bytes.as_bytes(), piece).await;
            assert_eq!(out, through, "{bytes}");
            let codes: Vec<String> = said
                .iter()
                .map(|body| {
                    let body: Value = serde_json::from_str(body).unwrap();
                    format!("{} {}", body["id"], body["error"]["code"])
                })
                .collect();
            assert_eq!(codes, answers, "{bytes}");
        }
    }

    const TOLD: &str = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;
    const ASKED: &str = r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#;
    const ANSWERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":null}"#;

    #[tokio::test]
    async fn whole_messages_go_on() {
        let all = [TOLD, ASKED, ANSWERED].map(framed).concat();
        check(&all, &all, &[]).await;
        // As other clients write them.
        let odd = format!(
            "\r\nContent-Type: application/vscode-jsonrpc\r\nX: 1\r\ncontent-length:{}\r\n\r\n{TOLD}\n",
            TOLD.len()
        );
        check(&odd, &framed(TOLD), &[]).await;
        check(&format!("Content-Length: {}\n\n{TOLD}", TOLD.len()), &framed(TOLD), &[]).await;
    }

    #[tokio::test]
    async fn what_is_no_message_is_answered_and_left_out() {
        let bad = |body: &str, answer: &'static str| (framed(body), answer);
        for (bad, answer) in [
            bad("{[", "null -32700"),
            bad("", "null -32700"),
            bad("[]", "null -32600"),
            bad("7", "null -32600"),
            bad(r#"{"jsonrpc":"2.0","id":5}"#, "null -32600"),
            bad(r#"{"id":5,"method":"shutdown"}"#, "5 -32600"),
            bad(r#"{"jsonrpc":"2.0","id":"\ud800","method":"x"}"#, "null -32700"),
            bad(&"[".repeat(5000), "null -32700"),
        ] {
            let text = format!("{}{bad}{}", framed(TOLD), framed(ASKED));
            check(&text, &[TOLD, ASKED].map(framed).concat(), &[answer]).await;
        }
        let (out, said, _) = read(&[framed(TOLD).as_bytes(), b"Content-Length: 2\r\n\r\n\xff\xfe"].concat(), 9).await;
        assert_eq!((out, said.len()), (framed(TOLD), 1));
    }

    #[tokio::test]
    async fn a_header_without_a_length_is_the_end_and_says_so() {
        for header in ["X: 1\r\n\r\n", "Content-Length: two\r\n\r\n", "Content-Length: 99999999999\r\n\r\n"] {
            let text = format!("{}{header}{}", framed(TOLD), framed(ASKED));
            check(&text, &framed(TOLD), &["null -32700"]).await;
        }
        check(&"x".repeat(HEADER + 9), "", &["null -32700"]).await;
    }

    #[tokio::test]
    async fn a_text_that_cannot_be_followed_is_the_end() {
        let lost = r#"{"jsonrpc":"2.0","method":"textDocument/didChange","params":"\ud800"}"#;
        let text = [TOLD, lost, ASKED].map(framed).concat();
        check(&text, &framed(TOLD), &["null -32700"]).await;
        // A writer of JSON may escape any character.
        for lost in [lost.replace('/', "\\/"), lost.replace('t', "\\u0074")] {
            let text = [TOLD, &lost, ASKED].map(framed).concat();
            check(&text, &framed(TOLD), &["null -32700"]).await;
        }
        let (_, said, ending) = read(text.as_bytes(), 64).await;
        assert!(said.concat().contains("can no longer be followed"), "{said:?}");
        ending.wait().await;
        assert_eq!(ending.code(), 1);
    }
}
