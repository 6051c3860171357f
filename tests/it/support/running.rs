//! Processes that run beside the test, and waiting for what they do.

use super::{Project, Said};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine; only a failing test waits for it.
const DEADLINE: Duration = Duration::from_secs(40);

/// Looks until it holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A command of the binary that has not ended yet. Killed when dropped.
pub struct Beside(Option<Child>);

impl Beside {
    /// Starts it.
    pub fn start(project: &Project, arguments: &[&str]) -> Beside {
        let mut command = project.command(arguments);
        Beside(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// What it said by its end.
    #[track_caller]
    pub fn end(mut self) -> Said {
        let mut child = self.0.take().unwrap();
        until("the process beside has ended", || child.try_wait().unwrap().is_some());
        Said::of(&child.wait_with_output().unwrap())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
