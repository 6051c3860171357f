//! The editor's process, watched: one that dies may leave the pipe held open by somebody else.
//!
//! Invariant: a process that cannot be seen from here (another container) is not taken for dead, and one that got the
//! number of a dead one is not taken for it. Absent: any other process.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::path::Path;
use std::time::Duration;
use tokio::time::sleep;

/// How often is looked. The end of the pipe tells sooner, mostly.
const EVERY: Duration = Duration::from_millis(500);

/// A process as it was when it was named.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    id: u32,
    /// None where it could not be seen.
    first: Option<u64>,
}

impl Seen {
    /// Looks at it. To be called before whoever named it has an answer: from then on it may end.
    pub fn now(id: u32) -> Self {
        Self { id, first: look(id) }
    }

    /// Completes when it has ended; never for one that was not to be seen.
    pub async fn gone(self) {
        let Some(first) = self.first else { return std::future::pending().await };
        while look(self.id) == Some(first) {
            sleep(EVERY).await;
        }
    }
}

/// A living process: when it was started, where the system tells (in clock ticks since the boot).
fn look(id: u32) -> Option<u64> {
    if Path::new("/proc/self/stat").exists() {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name before it may hold anything, brackets too.
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let ended = matches!(fields.next(), Some("Z" | "X"));
        return fields.nth(18)?.parse().ok().filter(|_| !ended);
    }
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw)?;
    (!matches!(test_kill_process(pid), Err(Errno::SRCH))).then_some(0)
}

#[tokio::test]
async fn a_process_that_ends_is_missed() {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
    assert!(look(std::process::id()).is_some());
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let watching = tokio::spawn(Seen::now(child.id()).gone());
    child.kill().unwrap();
    // Not waited for before: a zombie is gone as well.
    watching.await.unwrap();
    child.wait().unwrap();
}
