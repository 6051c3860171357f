//! What passes between the host, the wrapper and the first process of a cage.
//!
//! Invariant: one socket pair each, which no other process has; a message is a length and JSON. A closed socket means
//! that the other side is gone, and is never taken for an end. Absent: standard output, which is the command's.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// More than any message: a command line of the largest size that Linux takes, as JSON numbers.
const LARGEST: u32 = 64 << 20;

/// How a caged command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum End {
    /// With this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Killed at its wall time.
    Timeout,
    /// Killed: its processes had more memory than the limit.
    Memory,
    /// Killed: more processes than the limit.
    Processes,
    /// Killed: it wrote more to disk than the limit.
    Disk,
    /// Killed by the kernel at the limit of processor time.
    Cpu,
}

/// What the wrapper tells.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Told {
    /// The command was started.
    Started,
    /// It ended; nothing of it is alive.
    Ended(End),
    /// It was never started.
    Fault(Fault),
}

/// Why a caged command was not started.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
pub enum Fault {
    /// Its program is not there.
    #[error("the program `{0}` was not found")]
    NoProgram(String),
    /// The system refused a part of the cage.
    #[error("{what}: {why}")]
    Refused {
        /// Which part.
        what: String,
        /// The system's reason.
        why: String,
    },
}

impl Fault {
    /// For `map_err`: what was tried.
    pub(super) fn at<E: std::fmt::Display>(what: impl Into<String>) -> impl FnOnce(E) -> Fault {
        move |error| Fault::Refused { what: what.into(), why: error.to_string() }
    }
}

/// The bytes of a message.
///
/// # Errors
/// It is larger than any can be.
pub fn pack<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= LARGEST);
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(body);
    Ok(bytes)
}

pub(super) fn send<T: Serialize>(mut to: impl Write, message: &T) -> io::Result<()> {
    to.write_all(&pack(message)?)
}

/// Waits for a whole message.
pub(super) fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut body = vec![0; body_length(length)?];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// How much follows these four bytes.
///
/// # Errors
/// More than any message has.
pub fn body_length(head: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(head);
    let length = Some(length).filter(|length| *length <= LARGEST).and_then(|length| usize::try_from(length).ok());
    length.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}
