//! The environment of a command: a short allow-list of the host's, what the plan gives, and our own marks.
//!
//! Invariant: a variable that is not listed here does not reach a command; tokens and keys are not listed. Nothing the
//! plan gives can replace our marks. Absent: `CARGO_TARGET_DIR` and its like, which would lead a build out of its
//! copy; `VIRTUAL_ENV` and `PYTHONPATH`, which would lead imports back to the user's tree.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names one command's processes, whatever groups and sessions they make.
pub(super) const COMMAND_MARK: &str = "PLANWRIGHT_COMMAND";
/// Names the host they belong to: process id and start time.
pub(super) const HOST_MARK: &str = "PLANWRIGHT_HOST";

pub(super) const PASSED: [&str; 24] = [
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "JAVA_HOME",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "ASDF_DATA_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Programs talk to a file: no colours, no progress bars, no pagers, no questions.
pub(super) const QUIET: [(&str, &str); 7] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("CARGO_TERM_COLOR", "never"),
    ("CARGO_TERM_PROGRESS_WHEN", "never"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Name to value.
pub(super) type Environment = BTreeMap<OsString, OsString>;

/// The part of `host` that a command may see. Folders of `PATH` below the user's tree become the copy's: their
/// programs would judge the user's files.
pub(super) fn scrubbed(host: impl Iterator<Item = (OsString, OsString)>, user: &Path, base: &Path) -> Environment {
    let mut env = Environment::new();
    for (name, value) in host {
        let Some(known) = name.to_str() else { continue };
        if known == "PATH" {
            let folders = std::env::split_paths(&value).filter(|folder| folder.is_absolute());
            let moved = folders.map(|folder| match folder.strip_prefix(user) {
                Ok(below) => base.join(below),
                Err(_) => folder,
            });
            if let Ok(path) = std::env::join_paths(moved) {
                env.insert(name, path);
            }
        } else if PASSED.contains(&known) || known.starts_with("LC_") {
            env.insert(name, value);
        }
    }
    for (name, value) in QUIET {
        env.insert(name.into(), value.into());
    }
    // The copy has no `.git`: git must not find a repository above it instead.
    if let Some(above) = base.parent().filter(|_| user != base) {
        env.insert("GIT_CEILING_DIRECTORIES".into(), above.into());
    }
    env
}

/// Adds the marks by which the processes of a command are found again, and returns the command's.
pub(super) fn mark(env: &mut Environment) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let token = format!("{}:{}", host_marker(), COUNT.fetch_add(1, Ordering::Relaxed));
    // A planwright that runs inside a command of another one adds its mark, so that the outer one finds them too.
    let join = |name: &str, own: &str| match std::env::var(name) {
        Ok(outer) if !outer.is_empty() => format!("{outer} {own}"),
        _ => own.to_owned(),
    };
    env.insert(COMMAND_MARK.into(), join(COMMAND_MARK, &token).into());
    env.insert(HOST_MARK.into(), join(HOST_MARK, host_marker()).into());
    token
}

/// Names this process for as long as the machine is up: `pid:start`, the start in clock ticks since boot. Kept by
/// whoever holds the lock, so that the next host can end what a killed one left (`end_leftovers`).
pub fn host_marker() -> &'static str {
    static MARKER: OnceLock<String> = OnceLock::new();
    MARKER.get_or_init(|| {
        let pid = std::process::id();
        format!("{pid}:{}", super::process::start_of(pid).unwrap_or(0))
    })
}

/// The program that a word names, as the command's own `PATH` and folder have it.
pub(super) fn find_program(word: &str, env: &Environment, dir: &Path) -> Option<PathBuf> {
    let runs =
        |at: &Path| std::fs::metadata(at).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    if word.contains('/') {
        return Some(dir.join(word)).filter(|at| runs(at));
    }
    let path = env.get(OsStr::new("PATH"))?;
    std::env::split_paths(path).map(|folder| folder.join(word)).find(|at| runs(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_list_passes_and_paths_of_the_users_tree_become_the_copys() {
        let host = [
            ("PATH", "/ws/node_modules/.bin:relative:/usr/bin"),
            ("HOME", "/home/u"),
            ("LC_ALL", "C"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("CARGO_TARGET_DIR", "/shared"),
            ("VIRTUAL_ENV", "/ws/.venv"),
            ("TERM", "xterm"),
        ];
        let host = host.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let env = scrubbed(host, Path::new("/ws"), Path::new("/cache/tree"));
        let text: Vec<String> = env.iter().map(|(name, value)| format!("{name:?}={value:?}")).collect();
        insta::assert_snapshot!(text.join("\n").replace('"', ""), @r"
        CARGO_TERM_COLOR=never
        CARGO_TERM_PROGRESS_WHEN=never
        GIT_CEILING_DIRECTORIES=/cache
        GIT_PAGER=cat
        GIT_TERMINAL_PROMPT=0
        HOME=/home/u
        LC_ALL=C
        NO_COLOR=1
        PAGER=cat
        PATH=/cache/tree/node_modules/.bin:/usr/bin
        TERM=dumb
        ");
    }
}
