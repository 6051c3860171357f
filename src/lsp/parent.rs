//! The editor's process, watched: one that dies may leave the pipe held open by somebody else.
//!
//! Invariant: a process that cannot be seen from here (another container) is not taken for dead. Absent: any other
//! process.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::time::Duration;

/// How often is looked where the kernel cannot tell.
const EVERY: Duration = Duration::from_secs(2);

/// Completes when the process has ended; never for one that is not to be seen.
pub async fn gone(id: u32) {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let Some(pid) = pid.filter(|pid| is_there(*pid)) else { return std::future::pending().await };
    #[cfg(target_os = "linux")]
    if let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::NONBLOCK)
        && let Ok(handle) = tokio::io::unix::AsyncFd::register_with_interest(handle, tokio::io::Interest::READABLE)
        && handle.readable().await.is_ok()
    {
        return;
    }
    while is_there(pid) {
        tokio::time::sleep(EVERY).await;
    }
}

fn is_there(pid: Pid) -> bool {
    !matches!(test_kill_process(pid), Err(Errno::SRCH))
}
