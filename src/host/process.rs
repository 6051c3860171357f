//! What the system tells about a process, and ending one without hitting another.
//!
//! Invariant: a process is ended only through a handle (pidfd) taken before its start time was compared, so a reused
//! pid is never hit. Absent: judging whether it should be ended; a person does that.

use super::lock::Holder;
use std::path::Path;

/// The environment variable by which a child of a host is known; its value is the host's pid. Whoever starts a command
/// sets it.
pub const MARK: &str = "PLANWRIGHT_HOST";

/// The name that the system's user table has for this process's user. `None` where the table is a directory service's:
/// asking that takes the C library.
pub fn user() -> Option<String> {
    let id = rustix::process::getuid().as_raw().to_string();
    name_in(&std::fs::read_to_string("/etc/passwd").unwrap_or_default(), &id).map(str::to_owned)
}

fn name_in<'a>(table: &'a str, id: &str) -> Option<&'a str> {
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)? == id).then_some(name)
    })
}

/// Milliseconds that a program which is being started may take to have an environment.
#[cfg(target_os = "linux")]
const STARTING: u32 = 50;

/// Where a process stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It is gone, or a zombie: it holds nothing any more.
    Gone,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// It runs, sleeps or waits.
    Alive,
}

/// When a process started, in clock ticks since boot. `None` where it is gone or the system does not say.
pub(super) fn started(pid: u32) -> Option<u64> {
    stat(pid)?.get(19)?.parse().ok()
}

/// The state of exactly this holder's process.
pub(super) fn state(holder: &Holder) -> State {
    if !Path::new("/proc/self/stat").exists() {
        // Without /proc nothing is known; the socket tells.
        return State::Alive;
    }
    let fields = stat(holder.pid).unwrap_or_default();
    let same = fields.get(19).and_then(|ticks| ticks.parse().ok()) == holder.started;
    match fields.first().map(String::as_str) {
        Some("T" | "t") if same => State::Stopped,
        None | Some("Z" | "X") => State::Gone,
        Some(_) if same => State::Alive,
        Some(_) => State::Gone,
    }
}

/// The fields of `/proc/PID/stat` from the third on, the state. The second is the program's name in brackets, which
/// may itself hold blanks and brackets: what counts is the last bracket.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Kills the holder's process if it is still the one that wrote the note. `Ok(false)`: it is gone already.
#[cfg(target_os = "linux")]
pub(super) fn kill(holder: &Holder) -> std::io::Result<bool> {
    kill_if(holder.pid, || holder.started.is_some() && started(holder.pid) == holder.started)
}

/// Kills the processes that carry the holder's mark. Gives their number.
#[cfg(target_os = "linux")]
pub(super) fn kill_children(holder: &Holder) -> usize {
    let mark = format!("{MARK}={}", holder.mark());
    let marked = |pid: u32| {
        // One that is older than the host was marked by an earlier process with the same pid.
        started(pid) >= holder.started && environment(pid).split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
    };
    // A process that was killed a moment ago may still be listed in the next round.
    let mut killed = std::collections::BTreeSet::new();
    // A child may be starting another while it is looked for; five rounds end any that does not race on purpose.
    for _ in 0..5 {
        let Ok(all) = std::fs::read_dir("/proc") else { break };
        let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let own = std::process::id();
        let round: Vec<u32> =
            pids.filter(|pid| *pid != own && matches!(kill_if(*pid, || marked(*pid)), Ok(true))).collect();
        if round.is_empty() {
            break;
        }
        killed.extend(round);
    }
    killed.len()
}

/// What a process was started with. Whoever starts one goes on before the system has laid that out: for a moment there
/// is nothing to be read, of a program all the same (a thread of the kernel has none, and a dead process neither).
#[cfg(target_os = "linux")]
fn environment(pid: u32) -> Vec<u8> {
    for _ in 0..STARTING {
        // Unreadable: another user's, so not ours.
        let found = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if !found.is_empty() || std::fs::read_link(format!("/proc/{pid}/exe")).is_err() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Vec::new()
}

/// Takes a handle to the process, then asks whether it is the right one, then kills it through the handle.
#[cfg(target_os = "linux")]
fn kill_if(pid: u32, right: impl Fn() -> bool) -> std::io::Result<bool> {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Err(rustix::io::Errno::SRCH) => return Ok(false),
        other => other?,
    };
    if !right() {
        return Ok(false);
    }
    match pidfd_send_signal(&handle, Signal::KILL) {
        Err(rustix::io::Errno::SRCH) => Ok(false),
        other => other.map(|()| true).map_err(Into::into),
    }
}

/// Without process handles nothing is ended; the person is told the pid.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill(_holder: &Holder) -> std::io::Result<bool> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// The same.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill_children(_holder: &Holder) -> usize {
    0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]
    use super::*;

    #[test]
    fn a_child_is_found_while_it_is_being_started() {
        // No process of this test run carries the mark of process 1.
        let started = started(std::process::id());
        let host = Holder { pid: 1, started, ..Holder::this(std::path::PathBuf::new(), "a host") };
        for _ in 0..20 {
            let mut child = std::process::Command::new("sleep").arg("100").env(MARK, host.mark()).spawn().unwrap();
            let killed = kill_children(&host);
            let _ended = child.kill();
            child.wait().unwrap();
            assert_eq!(killed, 1);
        }
    }

    #[test]
    fn a_user_is_known_by_number() {
        let table = "root:x:0:0:root:/root:/bin/sh\n:x:7:7::/:\n# 8\nann:x:1000:0:Ann:/home/ann:/bin/sh\n";
        let told = ["0", "1000", "7", "8", "x"].map(|id| name_in(table, id));
        assert_eq!(told, [Some("root"), Some("ann"), None, None, None]);
    }
}
