//! What makes a check in a copied tree lie. Each trap is sprung in a plain copy first, as any tool makes one, and must
//! give the wrong answer there; then the view must give the right one.
//!
//! Invariant: after every command in the view the user's tree is the same to the byte, the mode and both times. Where
//! this machine cannot cage, that is said aloud: nothing here proves anything then. Absent: escapes.

mod buffer;
mod make;
mod node;
mod python;
mod rust;
mod still;
mod wrote;

use planwright::arena::cage::probe;
use planwright::arena::{CagedArena, CopyArena, Limits};
use planwright::domain::change::Entry;
use planwright::domain::ids::{EffectId, TaskId, TraceId, Work, WorkspacePath};
use planwright::domain::plan::Command;
use planwright::domain::task::facts::{Ended, RunOutcome, Rung};
use planwright::ports::{Arena, RunOrder, Stage};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A user's folder with a workspace in it. Not below `/tmp`: what lies there beside a workspace is no part of a view.
struct Trap {
    home: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    arena: CagedArena,
}

/// The relative path, and the proposed text or its absence.
type Proposed<'a> = &'a [(&'a str, Option<&'a str>)];

impl Trap {
    /// Files beside the workspace `ws/` and in it, all an hour old. None where no cage can be made.
    fn new(files: &[(&str, &str)]) -> Option<Trap> {
        let home = crate::support::ground();
        let hour = SystemTime::now() - Duration::from_secs(3_600);
        std::fs::create_dir(home.path().join("ws")).unwrap();
        for (path, text) in files {
            let at = home.path().join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(&at, text).unwrap();
            std::fs::File::options().write(true).open(&at).unwrap().set_modified(hour).unwrap();
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let cache = home.path().join("cache");
        std::fs::create_dir(&cache).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_planwright"));
        let rung = match runtime.block_on(probe(program, &cache)) {
            Ok(rung) => rung,
            Err(why) => {
                crate::support::uncaged(&format!("no cage here: {why}"));
                return None;
            }
        };
        let copy = CopyArena::new(&home.path().join("ws"), &cache, Vec::new(), Limits::default()).unwrap();
        Some(Trap { arena: CagedArena::new(copy, rung, &[]), home, runtime })
    }

    fn ws(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap().join("ws")
    }

    /// Runs words in the view, and sees to it that the user's folder stays as it is.
    fn view(&self, words: &[&str], proposed: Proposed<'_>) -> RunOutcome {
        let before = self.facts();
        let outcome = self.run("t", words, proposed, |_| {});
        let after = self.facts();
        let changed: Vec<_> = before.iter().filter(|(at, fact)| after.get(*at) != Some(fact)).collect();
        assert!(changed.is_empty() && before.len() == after.len(), "the user's folder changed: {changed:?}");
        outcome
    }

    /// Runs words in a task's view, whatever else happens meanwhile.
    fn run(
        &self,
        task: &str,
        words: &[&str],
        proposed: Proposed<'_>,
        said: impl Fn(&str) + Send + Sync + 'static,
    ) -> RunOutcome {
        let order = RunOrder {
            task: TaskId::new(task),
            effect: EffectId { work: Work::Acceptance, attempt: 1, n: 1 },
            command: Command {
                argv: words.iter().map(|word| (*word).to_owned()).collect(),
                dir: None,
                env: Vec::new(),
            },
            stage: Stage::View(laid(proposed)),
            timeout: Duration::from_secs(120),
            keeps: true,
            key: None,
            trace: TraceId::new("0af7651916cd43dd8448eb211c80319c"),
        };
        let outcome = self.runtime.block_on(self.arena.run(order, Arc::new(said))).unwrap();
        assert_eq!(outcome.rung, Rung::Cage);
        outcome
    }

    /// Everything of the user's but the cache: bytes, modes, and the two times that writing changes.
    fn facts(&self) -> BTreeMap<PathBuf, (Vec<u8>, u32, [i64; 4])> {
        let mut facts = BTreeMap::new();
        let mut waiting = vec![self.home.path().to_owned()];
        while let Some(at) = waiting.pop() {
            let meta = at.symlink_metadata().unwrap();
            let bytes = if meta.is_file() { std::fs::read(&at).unwrap() } else { Vec::new() };
            let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
            facts.insert(at.clone(), (bytes, meta.mode(), times));
            if meta.is_dir() {
                let inside = std::fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path());
                waiting.extend(inside.filter(|at| !at.ends_with("cache")));
            }
        }
        facts
    }

    /// A copy of the workspace at another path, times kept.
    fn copied(&self) -> Copied {
        let keep = crate::support::ground();
        let root = keep.path().join("copy");
        cp(&self.ws(), &root);
        Copied { keep, root }
    }
}

/// A plain copy.
struct Copied {
    #[allow(dead_code, reason = "it holds the folder")]
    keep: tempfile::TempDir,
    root: PathBuf,
}

impl Copied {
    fn run(&self, words: &[&str]) -> (bool, String) {
        bare(&self.root, words)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.root.join(path), text).unwrap();
    }
}

/// Runs words without any isolation: whether they succeeded, and what they printed.
fn bare(folder: &Path, words: &[&str]) -> (bool, String) {
    let mut command = std::process::Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder);
    // Of these a command of a view has its own, or none.
    for name in ["CARGO_TARGET_DIR", "CARGO_INCREMENTAL", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

/// What an engine lays over the user's files.
fn laid(proposed: Proposed<'_>) -> Vec<(WorkspacePath, Entry)> {
    let entry = |text: &Option<&str>| match text {
        Some(text) => Entry::File { text: (*text).into(), mode: 0o644 },
        None => Entry::Absent,
    };
    proposed.iter().map(|(path, text)| (WorkspacePath::new(path).unwrap(), entry(text))).collect()
}

/// As `cp -a`.
fn cp(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(status.success());
}

fn passes(outcome: &RunOutcome) -> bool {
    outcome.ended == Ended::Exit(0)
}
