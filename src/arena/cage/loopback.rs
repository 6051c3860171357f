//! Switches on the one device of a new network namespace.
//!
//! Invariant: the message is written out as `rtnetlink(7)` has it, and the kernel's answer is read. Absent: addresses
//! and routes; loopback has both from birth.

use rustix::io::{self, Errno};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

const NEW_LINK: u16 = 16;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const FLAGS: u16 = 1 | 4;
const ANSWER: u16 = 2;
/// `lo` is the first device of each namespace.
const LOOPBACK: i32 = 1;
const UP: u32 = 1;

/// # Errors
/// As the kernel says.
pub(super) fn up() -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    // nlmsghdr: length, type, flags, sequence, port; ifinfomsg: family, pad, type, index, flags, change.
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(FLAGS.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend([0_u8; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0_u8; 256];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let error = answer.get(16..20).filter(|_| length >= 20).and_then(|bytes| bytes.try_into().ok());
    match (kind, error.map(i32::from_ne_bytes)) {
        (Some(ANSWER), Some(0)) => Ok(()),
        (Some(ANSWER), Some(error)) => Err(Errno::from_raw_os_error(error.saturating_neg())),
        (_, _) => Err(Errno::PROTO),
    }
}
