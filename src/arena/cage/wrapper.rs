//! The wrapper: our own binary again, between the host and the cage. It makes the namespaces, starts their first
//! process, and watches over wall time and disk from outside of them.
//!
//! Invariant: it ends when the host does or lets go of the socket, at once, and the first process with it; the kernel
//! kills whatever lives in a process namespace whose first process is gone. It has one thread: a user namespace can be
//! made by no other. Absent: mounts, and everything the command could touch.

use super::first::{Birth, Order};
use super::wire::{self, End, Fault, Told};
use super::{Cage, Network, raw};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::AsFd;
use rustix::thread::{
    CapabilitySets, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities,
};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often the disk is looked at.
const TICK: Duration = Duration::from_millis(200);

/// The whole life of the wrapper. The code is for whoever looks at the process table; the host reads the socket.
pub(super) fn main() -> u8 {
    let Ok(host) = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return 1 };
    let Ok(cage) = wire::receive::<Cage>(&host) else { return 1 };
    let told = match begin(&cage) {
        Ok((child, inside)) => Watch::new(&cage, &host, child, inside).see_out(),
        Err(fault) => Some(Told::Fault(fault)),
    };
    match told.map(|told| wire::send(&host, &told)) {
        Some(Ok(())) => 0,
        Some(Err(_)) | None => 1,
    }
}

/// Makes the namespaces and starts their first process.
fn begin(cage: &Cage) -> Result<(Child, UnixStream), Fault> {
    let sockets = sockets();
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if cage.network == Network::Loopback {
        flags |= UnshareFlags::NEWNET;
    }
    raw::leave(flags).map_err(Fault::at("namespaces of its own"))?;
    let write = |file: &str, text: String| {
        std::fs::write(Path::new("/proc/self").join(file), text).map_err(Fault::at(format!("/proc/self/{file}")))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))?;
    // An exec as another user than 0 loses what is not inheritable and ambient.
    let caps = Fault::at::<rustix::io::Errno>;
    let own = capabilities(None).map_err(caps("capabilities"))?;
    set_capabilities(None, CapabilitySets { inheritable: own.permitted, ..own }).map_err(caps("capabilities"))?;
    for one in own.permitted.iter() {
        configure_capability_in_ambient_set(one, true).map_err(caps("ambient capabilities"))?;
    }
    if cage.network == Network::Loopback {
        super::loopback::up().map_err(caps("the loopback device"))?;
    }
    let start = Fault::at::<std::io::Error>;
    let (inside, theirs) = UnixStream::pair().map_err(start("a socket pair"))?;
    let child = Command::new("/proc/self/exe")
        .arg0("planwright")
        .args([super::WORD, super::FIRST])
        .env_clear()
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .spawn()
        .map_err(start("the first process"))?;
    let birth = Birth { cage: cage.clone(), sockets };
    wire::send(&inside, &birth).map_err(start("the first process"))?;
    Ok((child, inside))
}

/// Sockets with a path that somebody listens on now. What a socket does is not bound by a read-only mount.
fn sockets() -> Vec<PathBuf> {
    // Bytes, because a name is whatever its owner chose, and one that is no text must not hide the others.
    let table = std::fs::read("/proc/net/unix").unwrap_or_default();
    let mut holders = None;
    named(&table, |inode| holders.get_or_insert_with(holders_of_sockets).get(inode).cloned().unwrap_or_default())
}

/// The paths in the kernel's table. One that does not begin at the root is relative to the folder in which it was
/// bound; the nearest that can be known is where its holder is now.
fn named(table: &[u8], mut folders: impl FnMut(&str) -> Vec<PathBuf>) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for row in table.split(|byte| *byte == b'\n').skip(1) {
        // Numbers are padded with blanks, and a name may begin with one.
        let rest = (0..6).try_fold(row, |rest, _| Some(field(rest)?.1));
        let Some((inode, name)) = rest.and_then(field) else { continue };
        let path = Path::new(OsStr::from_bytes(name));
        // What begins with `@` has no path.
        match name.first() {
            None | Some(b'@') => {}
            Some(b'/') => paths.push(path.to_owned()),
            Some(_) => {
                let inode = std::str::from_utf8(inode).unwrap_or_default();
                paths.extend(folders(inode).into_iter().map(|folder| folder.join(path)));
            }
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// The next word of a row and what follows the blank behind it.
fn field(row: &[u8]) -> Option<(&[u8], &[u8])> {
    let row = row.trim_ascii_start();
    let end = row.iter().position(|byte| *byte == b' ')?;
    Some((row.get(..end)?, row.get(end + 1..)?))
}

/// The folders of the processes that hold each socket, by its number; of those that may be looked at.
fn holders_of_sockets() -> HashMap<String, Vec<PathBuf>> {
    let mut found: HashMap<String, Vec<PathBuf>> = HashMap::new();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    for process in processes {
        let Ok(folder) = std::fs::read_link(process.join("cwd")) else { continue };
        for open in std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
            let Ok(target) = std::fs::read_link(open.path()) else { continue };
            let number = target.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']'));
            if let Some(number) = number {
                found.entry(number.to_owned()).or_default().push(folder.clone());
            }
        }
    }
    found
}

struct Watch<'a> {
    cage: &'a Cage,
    host: &'a UnixStream,
    child: Child,
    inside: UnixStream,
    disk: Disk,
    deadline: Instant,
    /// What the wrapper itself ended the command for.
    ended: Option<End>,
}

impl<'a> Watch<'a> {
    fn new(cage: &'a Cage, host: &'a UnixStream, child: Child, inside: UnixStream) -> Self {
        let disk = Disk::new(cage);
        Self { cage, host, child, inside, disk, deadline: Instant::now() + cage.limits.wall, ended: None }
    }

    /// `None`: nobody is left to be told.
    fn see_out(mut self) -> Option<Told> {
        let mut told = None;
        loop {
            match self.turn() {
                Turn::Idle => {}
                Turn::Inside => match wire::receive::<Told>(&self.inside) {
                    Ok(Told::Started) => wire::send(self.host, &Told::Started).ok()?,
                    Ok(end) => told = Some(end),
                    Err(_) => break,
                },
                Turn::HostGone => {
                    self.kill();
                    return None;
                }
            }
            self.mind_the_clock();
            if self.ended.is_none() && self.disk.is_over() {
                self.ended = Some(End::Disk);
                let _ = self.child.kill();
            }
        }
        self.kill();
        let died = Fault::Refused { what: "the first process of the cage".to_owned(), why: "it died".to_owned() };
        Some(match (self.ended, told) {
            (Some(end), _) => Told::Ended(end),
            (None, Some(told)) => told,
            (None, None) => Told::Fault(died),
        })
    }

    fn turn(&self) -> Turn {
        let left = self.deadline.saturating_duration_since(Instant::now()).min(TICK);
        let timeout = left.try_into().ok();
        let mut fds = [PollFd::new(self.host, PollFlags::IN), PollFd::new(&self.inside, PollFlags::IN)];
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return Turn::Idle;
        }
        let [host, inside] = fds.map(|fd| !fd.revents().is_empty());
        match (host, inside) {
            // The host sends nothing after the cage, so whatever stirs is its end.
            (true, _) => Turn::HostGone,
            (false, true) => Turn::Inside,
            (false, false) => Turn::Idle,
        }
    }

    fn mind_the_clock(&mut self) {
        if Instant::now() < self.deadline {
            return;
        }
        self.deadline = Instant::now() + self.cage.limits.grace;
        match self.ended {
            None => {
                self.ended = Some(End::Timeout);
                let asked = wire::pack(&Order::Terminate).and_then(|order| (&self.inside).write_all(&order));
                if asked.is_err() {
                    let _ = self.child.kill();
                }
            }
            Some(_) => drop(self.child.kill()),
        }
    }

    /// Returns when nothing of the cage is alive: the kernel hands out the first process of a namespace last.
    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

enum Turn {
    Idle,
    Inside,
    HostGone,
}

/// Bytes that a command leaves free on the disk.
const SPARE: u64 = 1 << 30;

/// What is written to disk. Counting is slow, so it is done only when the file system has lost that much. What has no
/// name is counted by nobody, so what is free has the last word, also when others write at the same time.
struct Disk {
    room: Room,
    folders: Vec<PathBuf>,
    /// A bound folder is warm from earlier runs; only what changed since is this command's.
    since: i64,
    /// Free bytes below which it is worth counting.
    suspicious: u64,
}

impl Disk {
    fn new(cage: &Cage) -> Self {
        let bound = cage.bound.iter().map(|bound| bound.from.clone());
        let folders: Vec<PathBuf> = std::iter::once(cage.upper.clone()).chain(bound).collect();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let since = now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(0));
        let free = free(&cage.upper);
        let room = Room::of(cage.limits.disk, free);
        Self { folders, since, suspicious: free.saturating_sub(room.limit), room }
    }

    fn is_over(&mut self) -> bool {
        let Some(upper) = self.folders.first() else { return false };
        let now = free(upper);
        if self.room.is_spent(now) {
            return true;
        }
        if now > self.suspicious {
            return false;
        }
        let written = self.folders.iter().map(|folder| self.written_below(folder)).fold(0, u64::saturating_add);
        self.suspicious = now.saturating_sub(self.room.limit.saturating_sub(written).max(1 << 20));
        written > self.room.limit
    }

    fn written_below(&self, folder: &Path) -> u64 {
        let mut bytes: u64 = 0;
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                if meta.is_dir() {
                    folders.push(entry.path());
                } else if meta.ctime() >= self.since {
                    bytes = bytes.saturating_add(meta.blocks().saturating_mul(512));
                }
            }
        }
        bytes
    }
}

/// How much a command may take from a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Room {
    limit: u64,
    /// Below this nothing may fall.
    least: u64,
}

impl Room {
    /// Of a disk with so much free. Where that is little, half of it stays.
    fn of(limit: u64, free: u64) -> Self {
        let spare = SPARE.min(free / 2);
        let limit = limit.min(free.saturating_sub(spare));
        Self { limit, least: free.saturating_sub(limit) }
    }

    /// Whether a disk with so much free has lost more than the room.
    fn is_spent(self, free: u64) -> bool {
        free < self.least
    }
}

fn free(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_takes_no_more_than_its_limit_and_leaves_some_of_a_full_disk() {
        let room = |limit, free| {
            let Room { limit, least } = Room::of(limit, free);
            [limit >> 20, least >> 20]
        };
        assert_eq!(room(32 << 30, 100 << 30), [32 << 10, 68 << 10]);
        assert_eq!(room(32 << 30, 10 << 30), [9 << 10, 1 << 10]);
        assert_eq!(room(32 << 30, 100 << 20), [50, 50]);
        let narrow = Room::of(32 << 30, 10 << 30);
        assert!(!narrow.is_spent(10 << 30) && !narrow.is_spent(1 << 30) && narrow.is_spent((1 << 30) - 1));
    }

    #[test]
    fn a_socket_is_found_by_the_folder_of_whoever_holds_it() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
                     0000: 00000002 00000000 00010000 0001 01 10 @\xff\n\
                     0000: 00000002 00000000 00010000 0001 01 11 /run/a b\n\
                     0000: 00000002 00000000 00010000 0001 01 12 @abstract\n\
                     0000: 00000002 00000000 00010000 0001 01 13\n\
                     0000: 00000002 00000000 00010000 0001 01    14 sub/rel\n";
        let held = |inode: &str| if inode == "14" { vec![PathBuf::from("/home/ada")] } else { Vec::new() };
        assert_eq!(named(table, held), [PathBuf::from("/home/ada/sub/rel"), PathBuf::from("/run/a b")]);
    }
}
