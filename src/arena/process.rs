//! Finding and ending every process that a command started.
//!
//! Invariant: after `Tree::end` no process that descends from the command, is in its group or carries its mark is
//! alive. Own children are started with `posix_spawn` (no `pre_exec`: forking a host with much memory costs tens of
//! milliseconds), so the marks in the environment do what a death signal would.
//! Absent: a process that has left its parent and its group and emptied its environment is not found; that takes a
//! pid namespace. Outside Linux only the group is ended.

use super::environment::{COMMAND_MARK, HOST_MARK, host_marker};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;

/// The processes of one command. Dropping it ends them there and then, for the milliseconds that takes: a cancelled
/// command must not run on because no worker was free.
pub(super) struct Tree {
    leader: Pid,
    token: String,
    ended: bool,
}

impl Tree {
    /// `leader` leads a group of its own.
    pub(super) fn new(leader: Pid, token: String) -> Self {
        Self { leader, token, ended: false }
    }

    /// Asks the group to end.
    pub(super) fn terminate(&self) {
        let _ = kill_process_group(self.leader, Signal::TERM);
    }

    /// Ends them all. Takes some milliseconds: it reads the process table.
    pub(super) fn end(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        // Before the sweep, so that the tree cannot outgrow it. The number cannot have gone to another group: it is
        // free only when the group is empty, and numbers are handed out round the whole range.
        let _ = kill_process_group(self.leader, Signal::KILL);
        let leader = self.leader.as_raw_nonzero().get();
        sweep(|process, doomed| {
            process.pid == leader
                || process.group == leader
                || doomed.contains(&process.parent)
                || process.carries(COMMAND_MARK, &self.token)
        });
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends what a host that died left running, by the marker it had (`host_marker`). Returns how many processes.
/// Does nothing for the marker of this very process.
pub fn end_leftovers(marker: &str) -> usize {
    if marker.is_empty() || marker == host_marker() {
        return 0;
    }
    sweep(|process, _| process.carries(HOST_MARK, marker))
}

/// When a process started, in clock ticks since boot. `None` = there is none, or the system does not tell.
pub(super) fn start_of(pid: u32) -> Option<u64> {
    let pid = i32::try_from(pid).ok()?;
    table::read(pid).map(|process| process.start)
}

/// Kills what `doomed` picks until a round finds nothing new: a process forked behind a round's back is in the next.
fn sweep(doomed: impl Fn(&table::Process, &BTreeSet<i32>) -> bool) -> usize {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut killed = BTreeSet::new();
    // Bounded, because a fork bomb must not hold us here; its mark is found again by the next host.
    for _ in 0..32 {
        let all = table::all();
        let mut picked = BTreeSet::new();
        // Children of children: the table is in no order of descent.
        loop {
            let before = picked.len();
            for process in &all {
                if process.pid != own && !picked.contains(&process.pid) && doomed(process, &picked) {
                    picked.insert(process.pid);
                }
            }
            if picked.len() == before {
                break;
            }
        }
        let mut new = 0;
        for process in all.iter().filter(|process| picked.contains(&process.pid)) {
            if !killed.contains(&process.pid) && table::kill(process) {
                new += 1;
                killed.insert(process.pid);
            }
        }
        if new == 0 {
            break;
        }
    }
    killed.len()
}

#[cfg(target_os = "linux")]
mod table {
    //! `/proc`.

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    use std::cell::OnceCell;

    /// Milliseconds that a program which is being started may take.
    const STARTING: u32 = 50;

    pub(super) struct Process {
        pub(super) pid: i32,
        pub(super) parent: i32,
        pub(super) group: i32,
        pub(super) start: u64,
        environ: OnceCell<Vec<u8>>,
    }

    impl Process {
        /// Whether the environment it was started with has `word` among the words of `name`.
        pub(super) fn carries(&self, name: &str, word: &str) -> bool {
            let environ = self.environ.get_or_init(|| environment(self.pid));
            environ.split(|byte| *byte == 0).any(|row| {
                let value = row.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
                value.is_some_and(|value| value.split(|byte| *byte == b' ').any(|found| found == word.as_bytes()))
            })
        }
    }

    /// Whoever starts a program goes on before the system has laid out its environment: for a moment there is nothing
    /// to be read. A thread of the kernel has no program.
    fn environment(pid: i32) -> Vec<u8> {
        for _ in 0..STARTING {
            // Unreadable = another user's, so not ours.
            let found = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if !found.is_empty() || std::fs::read_link(format!("/proc/{pid}/exe")).is_err() {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Vec::new()
    }

    /// Every living process; those that only wait to be collected are none.
    pub(super) fn all() -> Vec<Process> {
        let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
        folder.flatten().filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    pub(super) fn read(pid: i32) -> Option<Process> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold blanks and parentheses.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<i64>().ok();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        Some(Process {
            pid,
            parent: i32::try_from(number(1)?).ok()?,
            group: i32::try_from(number(2)?).ok()?,
            start: u64::try_from(number(19)?).ok()?,
            environ: OnceCell::new(),
        })
    }

    /// Kills exactly the process that was read, not one that has taken its number since.
    pub(super) fn kill(process: &Process) -> bool {
        let Some(pid) = Pid::from_raw(process.pid) else { return false };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        read(process.pid).is_some_and(|now| now.start == process.start)
            && pidfd_send_signal(&handle, Signal::KILL).is_ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod table {
    //! No process table that std can read: only the group is ended.

    pub(super) struct Process {
        pub(super) pid: i32,
        pub(super) parent: i32,
        pub(super) group: i32,
        pub(super) start: u64,
    }

    impl Process {
        pub(super) fn carries(&self, _: &str, _: &str) -> bool {
            false
        }
    }

    pub(super) fn all() -> Vec<Process> {
        Vec::new()
    }

    pub(super) fn read(_: i32) -> Option<Process> {
        None
    }

    pub(super) fn kill(_: &Process) -> bool {
        false
    }
}
