//! Whether this machine can cage, found out by doing it once.
//!
//! Invariant: the answer is yes only if a command in a cage was seen to read and write its view, and was refused what a
//! cage refuses; each check is made by the caged process or on what it left, never by asking for a version.
//! Absent: a second try; the answer holds for this process.

use super::{Bound, Cage, CageLimits, End, Ending, Network, WORD, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// That it can. There is no other way to get one.
#[derive(Clone, Debug)]
pub struct Rung1 {
    wrapper: PathBuf,
}

impl Rung1 {
    /// The program that makes cages.
    pub fn wrapper(&self) -> &Path {
        &self.wrapper
    }
}

/// Why it cannot: one line for a person.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Why(pub String);

pub(super) const TRY: &str = "try";

/// Runs one command in a cage below `scratch`, a folder of ours that can be written. `wrapper` is our own program.
///
/// # Errors
/// The reason, as far as the system gives one.
pub async fn probe(wrapper: &Path, scratch: &Path) -> Result<Rung1, Why> {
    if !cfg!(target_os = "linux") {
        return Err(Why("only Linux has the namespaces that it takes".to_owned()));
    }
    let failed = |error: std::io::Error| Why(format!("{}: {error}", scratch.display()));
    fs::create_dir_all(scratch).map_err(failed)?;
    let place = tempfile::Builder::new().prefix("probe-").tempdir_in(scratch).map_err(failed)?;
    let place_path = place.path().canonicalize().map_err(failed)?;
    let at = |name: &str| place_path.join(name);
    for folder in ["ws", "layer", "upper", "work", "cache", "ws/out", "hidden"] {
        fs::create_dir(at(folder)).map_err(failed)?;
    }
    for (file, text) in [
        ("ws/given", "old"),
        ("ws/kept", "kept"),
        ("layer/given", "new"),
        ("outside", "outside"),
        ("hidden/secret", "x"),
    ] {
        fs::write(at(file), text).map_err(failed)?;
    }
    let cage = Cage {
        root: at("ws"),
        layers: vec![at("layer")],
        upper: at("upper"),
        work: at("work"),
        bound: vec![Bound { from: at("cache"), at: at("ws/out") }],
        hidden: vec![at("hidden")],
        network: Network::Loopback,
        directory: at("ws"),
        argv: ["/proc/self/exe", WORD, TRY].map(Into::into).to_vec(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        limits: CageLimits {
            cpu: 10,
            memory: 1 << 30,
            processes: 64,
            files: 256,
            file_size: 1 << 20,
            // Wide: whatever others write to this disk meanwhile counts too.
            disk: 32 << 30,
            wall: Duration::from_secs(10),
            grace: Duration::from_secs(1),
        },
    };
    let ran = run(wrapper, &cage, 1 << 20, Arc::new(|_: &str| {}), ())
        .await
        .map_err(|fault| Why(format!("{fault}{}", settings())))?;
    if ran.ending != Ending::Told(End::Exit(0)) {
        return Err(Why(format!("a trial ended with {:?}: {}", ran.ending, ran.output.trim())));
    }
    for (file, text) in [
        ("ws/given", "old"),
        ("ws/kept", "kept"),
        ("outside", "outside"),
        ("hidden/secret", "x"),
        ("upper/made", "made"),
        ("upper/given", "changed"),
        ("cache/built", "built"),
    ] {
        match fs::read_to_string(at(file)) {
            Ok(found) if found == text => {}
            Ok(_) | Err(_) => return Err(Why(format!("after a trial, `{file}` is not what it should be"))),
        }
    }
    clear_away(place);
    Ok(Rung1 { wrapper: wrapper.to_owned() })
}

/// Overlayfs leaves folders that nobody may look into, their owner included.
fn clear_away(place: tempfile::TempDir) {
    use std::os::unix::fs::PermissionsExt;
    let mut left = vec![place.path().join("work")];
    while let Some(folder) = left.pop() {
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let below = fs::read_dir(&folder).into_iter().flatten().flatten();
        left.extend(below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
    }
    let _ = place.close();
}

/// What the system's settings say to a refusal.
fn settings() -> String {
    let says = |file: &str, word: &str| {
        fs::read_to_string(Path::new("/proc/sys").join(file)).is_ok_and(|text| text.trim() == word)
    };
    let found: Vec<&str> = [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor keeps users from namespaces of their own"),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone is 0"),
        ("user/max_user_namespaces", "0", "user.max_user_namespaces is 0"),
    ]
    .iter()
    .filter(|(file, word, _)| says(file, word))
    .map(|(_, _, why)| *why)
    .collect();
    if found.is_empty() { String::new() } else { format!(" ({})", found.join("; ")) }
}

/// The trial, in the cage. Says what it could do and should not, or the other way round.
#[cfg(target_os = "linux")]
pub(super) fn attempt() -> u8 {
    use std::io::Write;
    let mut wrong = Vec::new();
    let mut check = |what: &str, good: bool| {
        if !good {
            wrong.push(what.to_owned());
        }
    };
    let reads = |path: &str, text: &str| fs::read_to_string(path).is_ok_and(|found| found == text);
    check("the view shows the layer", reads("given", "new"));
    check("the view shows the tree below", reads("kept", "kept"));
    check("the view can be written", fs::write("made", "made").is_ok() && fs::write("given", "changed").is_ok());
    check("a bound folder can be written", fs::write("out/built", "built").is_ok());
    check("/tmp can be written", fs::write("/tmp/x", "x").is_ok());
    // Where the trial lies in a private folder, neither of the two is there at all.
    let root = rustix::fs::statvfs("/").is_ok_and(|stat| stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY));
    check(
        "nothing else can be written",
        root && (fs::write("../outside", "x").is_err() || !Path::new("../layer").exists()),
    );
    check("a hidden file cannot be read", fs::read("../hidden/secret").is_err());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let says = |line: &str| status.lines().any(|found| found.split_whitespace().eq(line.split_whitespace()));
    check("no capabilities", ["CapPrm:", "CapEff:", "CapBnd:"].iter().all(|set| says(&format!("{set} {:016x}", 0))));
    check("no new privileges", says("NoNewPrivs: 1"));
    check("a system call filter", says("Seccomp: 2"));
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes =
        processes.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
    check("no other processes", processes.count() <= 2);
    let devices = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    check("no other network", devices.lines().skip(2).all(|line| line.trim_start().starts_with("lo:")));
    let _ = writeln!(
        std::io::stdout(),
        "{}",
        wrong.iter().map(|what| format!("not true: {what}")).collect::<Vec<_>>().join("; ")
    );
    u8::from(!wrong.is_empty())
}
