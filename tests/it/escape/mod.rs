//! What a caged command cannot do, each by trying it; what it must be able to do; and how it ends.
//!
//! Invariant: each way out is first taken outside, in the same test and by the same user, where it must work. Run by
//! root, everything is tried as root and again as a user without rights, who is another process of this program.
//! Absent: the view's content.

mod bounds;
mod others;
mod outside;
mod plain;
mod rows;

use outside::{Fixture, Servers};
use planwright::arena::cage::{Cage, Caged, End, Ending, Fault, probe};
use rows::{Expected, PYTHON, ROWS, Row, Shows, Who};
use rustix::process::{geteuid, getuid};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// As in `rights`.
const NOBODY: u32 = 65534;
const BASE: &str = "PLANWRIGHT_TEST_ESCAPE";

/// Where the games are played, and the program that makes cages.
pub struct Ground {
    pub base: PathBuf,
    pub binary: PathBuf,
    _keep: Option<tempfile::TempDir>,
}

impl Ground {
    /// Of this process; a user without rights is told by the one who made it.
    fn new() -> Self {
        if let Some(base) = std::env::var_os(BASE).map(PathBuf::from) {
            let binary = base.join("planwright");
            return Self { base: base.join("games"), binary, _keep: None };
        }
        let keep = crate::support::ground();
        let base = keep.path().canonicalize().unwrap();
        Self { base, binary: env!("CARGO_BIN_EXE_planwright").into(), _keep: Some(keep) }
    }

    /// Whether cages can be made here. Said aloud where they cannot: nothing below proves anything then.
    fn holds(&self) -> bool {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let who = format!("kernel {}, user {}", kernel.trim(), getuid().as_raw());
        match wait(probe(&self.binary, &self.base.join("probe"))) {
            Ok(_) => {
                println!("rung 1, {who}");
                let left = std::fs::read_dir(self.base.join("probe")).unwrap().count();
                assert_eq!(left, 0, "the probe leaves something");
                true
            }
            Err(why) => {
                crate::support::uncaged(&format!("no cage here ({who}): {why}"));
                false
            }
        }
    }
}

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn run(ground: &Ground, cage: &Cage) -> Result<Caged, Fault> {
    wait(planwright::arena::cage::run(&ground.binary, cage, 4 << 20, Arc::new(|_: &str| {}), ()))
}

/// By a process of its own: what is started here meanwhile would hold the copy open for writing, and then it is "busy".
fn copied(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

/// Plays the ignored test of this name as a user without rights, if this is root.
fn again_without_rights(name: &str) {
    if !geteuid().is_root() {
        return;
    }
    let keep = crate::support::ground();
    let base = keep.path().canonicalize().unwrap();
    let shut = base.ancestors().find(|above| above.metadata().unwrap().mode() & 0o001 == 0 && **above != base);
    assert!(shut.is_none(), "{shut:?} is shut for other users; a test that runs as root needs a place they can reach");
    let mode = |path: &Path, mode: u32| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(&base, 0o755);
    for (from, name) in
        [(env!("CARGO_BIN_EXE_planwright").into(), "planwright"), (std::env::current_exe().unwrap(), "it")]
    {
        copied(&from, &base.join(name));
        mode(&base.join(name), 0o755);
    }
    copied(Path::new("/usr/bin/id"), &base.join("suid"));
    mode(&base.join("suid"), 0o4755);
    std::fs::create_dir(base.join("games")).unwrap();
    chown(base.join("games"), Some(NOBODY), Some(NOBODY)).unwrap();
    let output = Command::new(base.join("it"))
        .args(["--exact", &format!("escape::{name}"), "--ignored", "--nocapture"])
        .current_dir(base.join("games"))
        .env(BASE, &base)
        .env("HOME", base.join("games"))
        .env("CARGO_TARGET_TMPDIR", base.join("games"))
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_way_out_is_shut() {
    ways_out(&Ground::new());
    again_without_rights("ways_out_without_rights");
}

#[test]
#[ignore = "played by `every_way_out_is_shut`"]
fn ways_out_without_rights() {
    assert!(!geteuid().is_root());
    ways_out(&Ground::new());
}

#[test]
fn a_command_ends_as_it_is_told_to() {
    bounds::all(&Ground::new());
    again_without_rights("ends_without_rights");
}

#[test]
#[ignore = "played by `a_command_ends_as_it_is_told_to`"]
fn ends_without_rights() {
    bounds::all(&Ground::new());
}

/// A host that waits for a cage, for the game in which it is killed.
#[test]
#[ignore = "played by `bounds`"]
fn a_host_that_waits() {
    bounds::host();
}

#[test]
fn what_a_project_needs_works() {
    plain::all(&Ground::new());
    again_without_rights("needs_without_rights");
}

#[test]
#[ignore = "played by `what_a_project_needs_works`"]
fn needs_without_rights() {
    plain::all(&Ground::new());
}

fn ways_out(ground: &Ground) {
    if !ground.holds() {
        return;
    }
    let servers = Servers::start(&ground.base);
    let (next, wrong) = (AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    let only = std::env::var("ESCAPE_ROW").ok();
    let wanted: Vec<&Row> =
        ROWS.iter().filter(|row| only.as_ref().is_none_or(|only| row.name.contains(only.as_str()))).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(row) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(found) = play(ground, &servers, row) {
                        wrong.lock().unwrap().push(format!("{}: {found}", row.name));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let counts = servers.counts();
    println!("{} ways out: {}", wanted.len(), counts);
    assert!(only.is_some() || servers.played() >= 60, "nearly nothing was tried: {counts}");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What is wrong with the cage, or with the row.
fn play(ground: &Ground, servers: &Servers, row: &Row) -> Option<String> {
    // What is left open reaches whatever is started meanwhile; one at a time.
    static LEAK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let leaks = row.script.contains("FD'") || row.script.contains("'/proc/self/fd'");
    let _alone = leaks.then(|| LEAK.lock().unwrap());
    if row.who == Who::Root && !geteuid().is_root() {
        return None;
    }
    let fixture = || {
        let mut made = Fixture::new(ground, servers);
        if row.script.contains("VICTIM") {
            made = made.with_victim();
        }
        if leaks {
            made = made.with_leak();
        }
        if row.script.contains("INNER") {
            made = made.with_socket();
        }
        made.with_others(row)
    };
    let outside = fixture();
    let control = outside.outside(row);
    if !control.worked {
        return match row.who {
            Who::Somewhere => {
                println!("no control here: {}", row.name);
                None
            }
            Who::Anyone | Who::Root => Some(format!("does nothing outside, so it proves nothing: {}", control.said)),
        };
    }
    servers.count(row);
    let inside = fixture();
    let tried = inside.inside(row);
    match (tried.worked, row.expected) {
        (false, Expected::Refused) | (true, Expected::Possible) => None,
        (true, Expected::Refused) => Some(format!("WORKS: {}", tried.said)),
        (false, Expected::Possible) => Some(format!("a known hole is shut; write it down as refused: {}", tried.said)),
    }
}
