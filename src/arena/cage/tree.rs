//! The processes of a cage, seen from its first one, whose `/proc` shows no others.
//!
//! Invariant: only reads, and signals that go to nobody outside. Absent: telling whose memory it is that no process
//! maps (files in memory, detached segments). The machine's figure of it is watched, and a command during which it
//! grows by the limit is taken for the one who made it grow.

use super::CageLimits;
use super::wire::End;
use rustix::process::{Pid, Signal, kill_process};

/// Bytes of the machine's memory that belong to files in memory and shared segments.
pub(super) fn unmapped() -> u64 {
    let table = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    kilobytes(&table, "Shmem:").unwrap_or(0).saturating_mul(1024)
}

/// Which limit the processes are over, together. `before` is what `unmapped` said at the start.
pub(super) fn over(limits: &CageLimits, before: u64) -> Option<End> {
    if unmapped().saturating_sub(before) > limits.memory {
        return Some(End::Memory);
    }
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let (mut threads, mut pages) = (0_u64, 0_u64);
    for id in ids() {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{id}/stat")) else { continue };
        // The name in parentheses may hold blanks and parentheses.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let mut fields = rest.split_ascii_whitespace();
        let mut number = |skip: usize| fields.nth(skip).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        // Fields 20 (threads) and 24 (resident pages) of proc(5); the first after the name is 3.
        threads = threads.saturating_add(number(17).max(1));
        pages = pages.saturating_add(number(3));
    }
    if threads > limits.processes {
        return Some(End::Processes);
    }
    // What processes share is counted once for each, so a second look tells it apart; it is too slow for a first.
    let over = pages.saturating_mul(page) > limits.memory && shares() > limits.memory;
    over.then_some(End::Memory)
}

/// Resident bytes, each page divided among those who share it. Who hides that counts in full.
fn shares() -> u64 {
    let share = |id: i32| {
        let rollup = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok();
        let share = rollup.as_deref().and_then(|text| kilobytes(text, "Pss:"));
        let status = || std::fs::read_to_string(format!("/proc/{id}/status")).ok();
        share.or_else(|| kilobytes(&status()?, "VmRSS:")).unwrap_or(0).saturating_mul(1024)
    };
    ids().map(share).fold(0, u64::saturating_add)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// Asks every process but the first to end.
pub(super) fn terminate() {
    for id in ids().filter(|id| *id != 1) {
        if let Some(id) = Pid::from_raw(id) {
            let _ = kill_process(id, Signal::TERM);
        }
    }
}

fn ids() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
