//! Frames of the protocol: a header with a length, and JSON.
//!
//! Invariant: reads what the server writes by the protocol's own words, not by the server's code. Absent: other
//! headers than the length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A message as it goes over the wire.
pub fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The next message; `None` at the end of the pipe.
pub async fn read_frame(from: &mut (impl AsyncRead + Unpin)) -> Option<Value> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(from.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let mut body = vec![0; length.trim().parse().unwrap()];
    from.read_exact(&mut body).await.ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}
