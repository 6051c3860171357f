//! Which repository, commit and branch the root stands at.
//!
//! Invariant: read from git's own files, so that it costs no process, works without a git and is not refused for
//! another owner's repository. Absent: object data. A repository in the reftable format keeps its references in a
//! form of its own; only there git is asked.

use crate::domain::task::facts::Binding;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// How long git may take to answer for a reftable repository.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a lock on the index counts. A checkout of a large tree takes a few seconds; `git commit -a` holds the lock as
/// long as the message is written, and a git that was killed leaves it for good.
const CHECKOUT: Duration = Duration::from_secs(10);

/// Whether git is in the middle of changing files: it holds the lock on its index, and has not held it for long.
pub(super) fn moving(root: &Path) -> bool {
    let Some(lock) = git_dir(root).map(|own| own.join("index.lock")) else { return false };
    let taken = lock.metadata().and_then(|meta| meta.modified());
    taken.is_ok_and(|taken| SystemTime::now().duration_since(taken).unwrap_or_default() < CHECKOUT)
}

/// The top of the git worktree around a folder, else the folder.
pub fn root_of(dir: &Path) -> PathBuf {
    dir.ancestors().find(|dir| git_dir(dir).is_some()).unwrap_or(dir).to_owned()
}

/// The git directory of a worktree's top: `.git`, or what the file `.git` names.
fn git_dir(top: &Path) -> Option<PathBuf> {
    let dot = top.join(".git");
    if dot.join("HEAD").symlink_metadata().is_ok() {
        return dot.canonicalize().ok();
    }
    let text = std::fs::read_to_string(&dot).ok()?;
    let named = top.join(text.strip_prefix("gitdir:")?.trim());
    named.join("HEAD").symlink_metadata().ok()?;
    named.canonicalize().ok()
}

pub(super) fn binding(root: &Path) -> Binding {
    let unbound = Binding { root: root.to_owned(), git: None, head: None, branch: None };
    let Some(own) = git_dir(root) else { return unbound };
    let common = std::fs::read_to_string(own.join("commondir"))
        .ok()
        .and_then(|text| own.join(text.trim()).canonicalize().ok())
        .unwrap_or_else(|| own.clone());
    let (head, branch) = if common.join("reftable").is_dir() { ask_git(root) } else { read_head(&own, &common) };
    Binding { git: Some(common), head, branch, ..unbound }
}

fn read_head(own: &Path, common: &Path) -> (Option<String>, Option<String>) {
    let Ok(text) = std::fs::read_to_string(own.join("HEAD")) else { return (None, None) };
    let text = text.trim();
    let Some(branch) = text.strip_prefix("ref:").map(str::trim) else { return (Some(text.to_owned()), None) };
    let loose = [own, common].iter().find_map(|dir| std::fs::read_to_string(dir.join(branch)).ok());
    let head = loose.map(|text| text.trim().to_owned()).or_else(|| {
        let packed = std::fs::read_to_string(common.join("packed-refs")).ok()?;
        let line = packed.lines().find(|line| line.split_once(' ').is_some_and(|(_, name)| name == branch))?;
        line.split_once(' ').map(|(commit, _)| commit.to_owned())
    });
    (head, Some(branch.to_owned()))
}

fn ask_git(root: &Path) -> (Option<String>, Option<String>) {
    let ask = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(root).args(arguments).env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let started = Instant::now();
        while child.try_wait().ok()?.is_none() {
            if started.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    (ask(&["rev-parse", "--verify", "HEAD"]), ask(&["symbolic-ref", "--quiet", "HEAD"]))
}
