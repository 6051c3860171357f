//! Processes that run beside the test, and waiting for what they do.

use super::{Project, Said};
use std::process::Child;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// Longer than anything here takes on a busy machine; only a failing test waits for it.
const DEADLINE: Duration = Duration::from_secs(40);

/// Looks until it holds.
#[track_caller]
pub fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(in_time(holds), "still not so: {what}");
}

/// Looks until it holds; `false` = it never did.
pub fn in_time(mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() >= DEADLINE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// A command of the binary that has not ended yet. Killed when dropped.
pub struct Beside {
    child: Child,
    /// What it says, in files: a full pipe would hold it.
    out: NamedTempFile,
    err: NamedTempFile,
}

impl Beside {
    /// Starts it.
    pub fn start(project: &Project, arguments: &[&str]) -> Beside {
        let (out, err) = (NamedTempFile::new().unwrap(), NamedTempFile::new().unwrap());
        let mut command = project.command(arguments);
        command.stdout(out.reopen().unwrap()).stderr(err.reopen().unwrap());
        Beside { child: command.spawn().unwrap(), out, err }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Its progress up to now.
    pub fn said_so_far(&self) -> String {
        std::fs::read_to_string(self.err.path()).unwrap()
    }

    /// What it said by its end.
    #[track_caller]
    pub fn end(mut self) -> Said {
        until("the process beside has ended", || self.child.try_wait().unwrap().is_some());
        let read = |file: &NamedTempFile| std::fs::read_to_string(file.path()).unwrap();
        Said { out: read(&self.out), err: read(&self.err), code: self.child.wait().unwrap().code() }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended, and then there is nothing to end.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
