//! The first process of a cage: it makes the mounts, gives up all power, starts the command and collects the dead.
//!
//! Invariant: when it ends, however it ends, the kernel kills everything in its namespace; it ends with the wrapper, by
//! a death signal and by the closed socket. The command cannot reach it: it is not dumpable, so nobody without power
//! over its namespace can trace it or look at its descriptors, and the kernel keeps signals from a first process.
//! Absent: wall time and disk; they are watched from outside.

use super::wire::{self, End, Fault, Told};
use super::{Cage, mounts, power, raw, tree};
use crate::arena::environment::find_program;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How often the dead are collected and the living counted. A fork bomb makes some thousand processes in the meantime.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 25_000_000 };

/// What the first process is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Birth {
    pub(super) cage: Cage,
    /// Sockets of the host, by path.
    pub(super) sockets: Vec<PathBuf>,
}

/// What the wrapper orders later.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Ask every process to end.
    Terminate,
}

/// The whole life of the first process.
pub(super) fn main() -> u8 {
    let Ok(wrapper) = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return 1 };
    if rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_err() {
        return 1;
    }
    // Had the wrapper died before that signal was set, its end of the socket would be closed.
    let Ok(birth) = wire::receive::<Birth>(&wrapper) else { return 1 };
    let told = match start(&birth) {
        Ok(command) => match wire::send(&wrapper, &Told::Started) {
            Ok(()) => keep(&birth.cage, command, &wrapper).map(Told::Ended),
            Err(_) => None,
        },
        Err(fault) => Some(Told::Fault(fault)),
    };
    match told.map(|told| wire::send(&wrapper, &told)) {
        Some(Ok(())) => 0,
        Some(Err(_)) | None => 1,
    }
}

fn start(birth: &Birth) -> Result<Pid, Fault> {
    let cage = &birth.cage;
    raw::leave(UnshareFlags::NEWNS).map_err(Fault::at("mounts of its own"))?;
    mounts::make(cage, &birth.sockets)?;
    std::env::set_current_dir(&cage.directory).map_err(Fault::at(cage.directory.display().to_string()))?;
    rustix::process::setsid().map_err(Fault::at("a session of its own"))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Fault::at("not dumpable"))?;
    raw::close_on_exec().map_err(Fault::at("the descriptors"))?;
    let (word, arguments) = cage.argv.split_first().ok_or_else(|| Fault::NoProgram(String::new()))?;
    let named = word.to_string_lossy().into_owned();
    let env = cage.env.iter().cloned().collect();
    let program = find_program(&named, &env, &cage.directory).ok_or(Fault::NoProgram(named))?;
    let null = File::open("/dev/null").map_err(Fault::at("/dev/null"))?;
    power::give_up(&cage.limits)?;
    let child = Command::new(program)
        .arg0(word)
        .args(arguments)
        .env_clear()
        .envs(env)
        .stdin(Stdio::from(null))
        .process_group(0)
        .spawn()
        .map_err(Fault::at(word.to_string_lossy()))?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| Fault::Refused { what: "the command".to_owned(), why: "it has no process id".to_owned() })
}

/// Until the command has ended. `None`: the wrapper is gone.
fn keep(cage: &Cage, command: Pid, wrapper: &UnixStream) -> Option<End> {
    let before = tree::unmapped();
    let handle = rustix::process::pidfd_open(command, PidfdFlags::empty()).ok();
    loop {
        while let Ok(Some((dead, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if dead == command {
                return Some(of_status(status));
            }
        }
        if let Some(end) = tree::over(&cage.limits, before) {
            return Some(end);
        }
        let mut fds = vec![PollFd::new(wrapper, PollFlags::IN)];
        fds.extend(handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
        if poll(&mut fds, Some(&TICK)).is_err() || fds.first().is_none_or(|fd| fd.revents().is_empty()) {
            continue;
        }
        match wire::receive::<Order>(wrapper) {
            Ok(Order::Terminate) => tree::terminate(),
            Err(_) => return None,
        }
    }
}

fn of_status(status: WaitStatus) -> End {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => End::Exit(code),
        (None, Some(signal)) if signal == Signal::XCPU.as_raw() => End::Cpu,
        (None, Some(signal)) => End::Signal(signal),
        (None, None) => End::Signal(0),
    }
}
