//! What a caged command sees of the file system.
//!
//! Invariant: after `make` a path can be written only if it lies in the view, in a bound folder, in a private temporary
//! folder or is a device that keeps nothing. That also holds for root: it is the mounts that refuse, not the modes.
//! Nothing is made in the user's folders for a mount to stand on.
//! Absent: pipes with a name, which can be written to through a read-only mount, and locks, which can be taken on what
//! can be read; a secret that the host shows a second time under a path that nobody named, or whose file its owner
//! replaces meanwhile: a cover falls off with the file it stands on.

use super::raw::{self, NO_DEVICES, NO_SUID, READ_ONLY};
use super::wire::Fault;
use super::{Cage, Network, volumes};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind, mount_change,
    mount_remount, move_mount, open_tree, unmount,
};
use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};

/// Where the parts stand for a moment. It is there on every Linux, and gets a new `proc` at the end anyway.
const STAGE: &str = "/proc";

/// Each command has its own, empty.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// Devices that keep nothing.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Folders that tools are read from, wherever they lie.
const TOOLS: [&str; 13] = [
    "HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "JAVA_HOME",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "ASDF_DATA_DIR",
    "SSL_CERT_DIR",
];

/// Makes them. The caller has a mount namespace of its own and power over it.
///
/// # Errors
/// The system refused a mount.
pub(super) fn make(cage: &Cage, sockets: &[PathBuf]) -> Result<(), Fault> {
    let apart = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", apart).map_err(Fault::at("mounts that nobody else sees"))?;
    let (private, shut) = private(cage);
    let view = view(cage)?;
    let devices = devices()?;
    let kept = kept(cage, &private)?;
    let bound = bound(cage)?;
    // There NixOS has its whole system.
    let system = Path::new("/run/current-system");
    let nix = fs::read_link(system).ok();

    let all = open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC).map_err(Fault::at("/"))?;
    raw::set_mount_attributes(all.as_fd(), READ_ONLY | NO_SUID | NO_DEVICES)
        .map_err(Fault::at("read-only mounts (Linux 5.12 or newer)"))?;

    // It is memory, of which nobody would be seen to have it.
    let room = cage.limits.disk.min(cage.limits.memory / 3);
    for folder in &private {
        temporary(folder, if folder.ends_with("tmp") { room } else { room / 4 })?;
    }
    dev(devices, room / 4)?;
    let (inside, kept): (Vec<Part>, Vec<Part>) =
        kept.into_iter().partition(|part| shut.iter().any(|folder| part.at.starts_with(folder)));
    for part in kept {
        part.attach(&private)?;
    }
    for folder in shut.iter().filter(|folder| folder.is_dir()) {
        temporary(folder, room / 4)?;
    }
    for part in inside.into_iter().chain([view]) {
        part.attach(&private)?;
    }
    if let Some(target) = nix {
        symlink(target, system).map_err(Fault::at("/run/current-system"))?;
    }
    hide(cage, sockets)?;
    for part in bound {
        if part.at.starts_with(&cage.root) {
            fs::create_dir_all(&part.at).map_err(Fault::at(part.at.display().to_string()))?;
        }
        part.attach(&private)?;
    }
    unmount(STAGE, UnmountFlags::DETACH).map_err(Fault::at("the stage"))?;
    proc(cage.limits.processes)
}

/// A tree that stands nowhere yet.
struct Part {
    tree: OwnedFd,
    at: PathBuf,
    folder: bool,
}

impl Part {
    fn of(from: &Path, at: &Path) -> Result<Part, Fault> {
        let name = || Fault::at::<rustix::io::Errno>(from.display().to_string());
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
        Ok(Part { tree: open_tree(CWD, from, flags).map_err(name())?, at: at.to_owned(), folder: from.is_dir() })
    }

    fn with(self, attributes: u64) -> Result<Part, Fault> {
        raw::set_mount_attributes(self.tree.as_fd(), attributes)
            .map_err(Fault::at(format!("attributes of {}", self.at.display())))?;
        Ok(self)
    }

    /// Puts it where it belongs. A place is made only in folders that are private.
    fn attach(self, private: &BTreeSet<PathBuf>) -> Result<(), Fault> {
        let failed = || Fault::at::<io::Error>(self.at.display().to_string());
        if private.iter().any(|folder| self.at.starts_with(folder)) && !self.at.exists() {
            match (self.folder, self.at.parent()) {
                (true, _) => fs::create_dir_all(&self.at).map_err(failed())?,
                (false, Some(above)) => {
                    fs::create_dir_all(above).map_err(failed())?;
                    fs::File::create(&self.at).map_err(failed())?;
                }
                (false, None) => {}
            }
        }
        if !self.at.exists() {
            return Ok(());
        }
        self.place(&self.at)
    }

    fn place(&self, at: &Path) -> Result<(), Fault> {
        move_mount(&self.tree, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
            .map_err(Fault::at(at.display().to_string()))
    }
}

/// The overlay, made on the stage.
fn view(cage: &Cage) -> Result<Part, Fault> {
    let overlay = |why: &str| Fault::Refused { what: "the overlay".to_owned(), why: why.to_owned() };
    if cage.root.parent().is_none() {
        return Err(overlay("the workspace is the root of the file system"));
    }
    if let Some(why) = volumes::unfit(&cage.root) {
        return Err(overlay(&why.to_string()));
    }
    let plain = |path: &Path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let good = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        good.then(|| name.to_owned())
    };
    let (Some(upper), Some(work), Some(top)) = (plain(&cage.upper), plain(&cage.work), cage.upper.parent()) else {
        return Err(overlay("its folders have no plain names"));
    };
    if cage.work.parent() != Some(top) {
        return Err(overlay("its work folder does not lie beside the upper one"));
    }
    let mut parts = vec![("top".to_owned(), Part::of(top, top)?)];
    let mut lower = Vec::new();
    for (n, layer) in cage.layers.iter().chain([&cage.root]).enumerate() {
        lower.push(format!("{STAGE}/{n}"));
        parts.push((n.to_string(), Part::of(layer, layer)?));
    }
    tmpfs(Path::new(STAGE), "mode=0755,size=1m")?;
    let stage = |name: &str| Path::new(STAGE).join(name);
    let failed = |name: &str| Fault::at::<io::Error>(format!("the stage's {name}"));
    for (name, part) in parts {
        fs::create_dir(stage(&name)).map_err(failed(&name))?;
        part.place(&stage(&name))?;
    }
    for name in ["view", "void"] {
        fs::create_dir(stage(name)).map_err(failed(name))?;
    }
    fs::write(stage("empty"), "").map_err(failed("empty"))?;
    // `volatile`: nothing here has to survive a power cut, and a command that syncs need not wait for the disk.
    let options = format!(
        "userxattr,volatile,lowerdir={},upperdir={STAGE}/top/{upper},workdir={STAGE}/top/{work}",
        lower.join(":")
    );
    let options = CString::new(options).map_err(Fault::at("the overlay"))?;
    let at = stage("view");
    mount("overlay", &at, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .map_err(Fault::at("the overlay (Linux 5.11 or newer)"))?;
    Part::of(&at, &cage.root)
}

/// Which folders are private. A hidden folder with the workspace or a bound folder below it is one too: it is empty but
/// for the way down. Second, such ones that lie in a private folder, where what is kept could show them again.
fn private(cage: &Cage) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let fixed = PRIVATE.iter().filter_map(|path| fs::canonicalize(path).ok());
    let above = cage.hidden.iter().filter_map(|path| fs::canonicalize(path).ok());
    let above = above.filter(|path| is_above(cage, path));
    let all: BTreeSet<PathBuf> = fixed.chain(above).filter(|path| path.is_dir() && *path != cage.root).collect();
    let every = all.clone();
    // One in another would hide what was put into it.
    let outer = |path: &PathBuf| !every.iter().any(|other| path != other && path.starts_with(other));
    all.into_iter().partition(|path| outer(path))
}

fn is_above(cage: &Cage, hidden: &Path) -> bool {
    cage.root.starts_with(hidden) || cage.bound.iter().any(|bound| bound.at.starts_with(hidden))
}

/// What lies in a private folder and is needed all the same, read-only.
fn kept(cage: &Cage, private: &BTreeSet<PathBuf>) -> Result<Vec<Part>, Fault> {
    let mut wanted = BTreeSet::new();
    for (name, value) in &cage.env {
        if name == "PATH" {
            wanted.extend(std::env::split_paths(value));
        } else if TOOLS.iter().any(|tool| name == tool) {
            wanted.insert(PathBuf::from(value));
        }
    }
    if cage.network == Network::Host {
        wanted.insert(PathBuf::from("/etc/resolv.conf"));
    }
    let real: BTreeSet<PathBuf> = wanted.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let below = |path: &&PathBuf| private.iter().any(|folder| path.starts_with(folder) && *path != folder);
    let needed = |path: &&PathBuf| {
        !path.starts_with(&cage.root) && !real.iter().any(|other| other != *path && path.starts_with(other))
    };
    real.iter()
        .filter(below)
        .filter(needed)
        .map(|path| Part::of(path, path)?.with(READ_ONLY | NO_SUID | NO_DEVICES))
        .collect()
}

fn bound(cage: &Cage) -> Result<Vec<Part>, Fault> {
    cage.bound.iter().map(|bound| Part::of(&bound.from, &bound.at)?.with(NO_SUID | NO_DEVICES)).collect()
}

fn devices() -> Result<Vec<Part>, Fault> {
    let there = DEVICES.iter().map(|name| Path::new("/dev").join(name)).filter(|at| at.exists());
    // Read-only concerns their modes and times, which a root would own; a device can be written all the same.
    there.map(|at| Part::of(&at, &at)?.with(READ_ONLY | NO_SUID)).collect()
}

fn dev(devices: Vec<Part>, size: u64) -> Result<(), Fault> {
    let failed = |at: &Path| Fault::at::<io::Error>(at.display().to_string());
    let at = Path::new("/dev");
    tmpfs(at, "mode=0755,size=1m")?;
    for device in devices {
        fs::File::create(&device.at).map_err(failed(&device.at))?;
        device.place(&device.at)?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, at.join(name)).map_err(failed(&at.join(name)))?;
    }
    for name in ["shm", "pts"] {
        fs::create_dir(at.join(name)).map_err(failed(&at.join(name)))?;
    }
    temporary(&at.join("shm"), size)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    // A terminal of its own is a convenience; where it is refused, tests that want one say so.
    let _ = mount("devpts", at.join("pts"), "devpts", flags, c"newinstance,ptmxmode=0666,mode=620");
    mount_remount(at, MountFlags::BIND | MountFlags::RDONLY | flags, c"").map_err(Fault::at("/dev"))
}

fn temporary(at: &Path, size: u64) -> Result<(), Fault> {
    tmpfs(at, &format!("mode=1777,size={size}"))
}

fn tmpfs(at: &Path, options: &str) -> Result<(), Fault> {
    let options = CString::new(options).map_err(Fault::at("a private folder"))?;
    mount("tmpfs", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .map_err(Fault::at(format!("a private {}", at.display())))
}

/// Puts emptiness over secrets, and over sockets that somebody listens on.
fn hide(cage: &Cage, sockets: &[PathBuf]) -> Result<(), Fault> {
    let real: BTreeSet<PathBuf> = cage.hidden.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let secrets = real.iter().filter(|path| !is_above(cage, path));
    let is_socket = |path: &&PathBuf| fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    for path in secrets.chain(sockets.iter().filter(is_socket)) {
        let Ok(meta) = fs::symlink_metadata(path) else { continue };
        let cover = Path::new(STAGE).join(if meta.is_dir() { "void" } else { "empty" });
        match mount_bind(cover, path) {
            // It is gone since: nothing is there to be seen.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(Fault::at(format!("a cover for {}", path.display()))(error)),
        }
    }
    Ok(())
}

/// A `proc` that knows the cage's processes alone. Read-only, because a part of its files belongs to the whole kernel,
/// and a root would own them.
fn proc(processes: u64) -> Result<(), Fault> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", STAGE, "proc", flags, None).map_err(Fault::at("a /proc of its own"))?;
    // Since Linux 6.14 each namespace has its own limit. The kernel reserves 300 numbers.
    let most = processes.saturating_add(300).to_string();
    if own_pid_limit() {
        let _ = fs::write("/proc/sys/kernel/pid_max", most);
    }
    mount_remount(STAGE, MountFlags::BIND | MountFlags::RDONLY | flags, c"").map_err(Fault::at("a read-only /proc"))
}

/// Whether the number written is the cage's own: before, it was the whole machine's.
fn own_pid_limit() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 14)
}
