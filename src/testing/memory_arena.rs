//! An arena without processes: what a command does is a closure.
//!
//! Invariant: as on the real one, a view's hash follows the content of the workspace under the overlay, an outcome
//! carries the hash of what it ran in, and a future that is dropped has no further effect. Every run is counted when
//! it *starts*, as a server outside would log it: a run that was cut off has still happened. Absent: time; a time
//! limit is an answer to script, not a wait.

use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, EffectId, TaskId, WorkspacePath};
use crate::domain::task::facts::{Ended, RunOutcome, Rung};
use crate::ports::{Arena, ArenaFault, Deltas, Fut, RunOrder, Stage};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The content of a view: path to entry, what is absent left out.
pub type Tree = BTreeMap<WorkspacePath, Entry>;

/// What a scripted command answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// How it ends.
    pub ended: Ended,
    /// What it prints.
    pub output: String,
    /// What it changes in the view.
    pub wrote: Vec<(WorkspacePath, Entry)>,
}

impl Answer {
    /// Ends with this code and prints this.
    pub fn exit(code: i32, output: impl Into<String>) -> Self {
        Self { ended: Ended::Exit(code), output: output.into(), wrote: Vec::new() }
    }

    /// The same, and a file is written.
    pub fn writes(mut self, path: WorkspacePath, text: &str) -> Self {
        self.wrote.push((path, Entry::File { text: text.into(), mode: 0o644 }));
        self
    }
}

/// One run, as a server outside would have logged it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logged {
    /// Whose.
    pub task: TaskId,
    /// Journal id.
    pub effect: EffectId,
    /// The command's words.
    pub words: Vec<String>,
    /// It ran in the workspace itself.
    pub outside: bool,
    /// Its idempotency key.
    pub key: Option<String>,
    /// It came to its end; false while it runs and when it was cut off.
    pub finished: bool,
}

type Script = Arc<dyn Fn(&RunOrder, &Tree) -> Result<Answer, ArenaFault> + Send + Sync>;
type Format = Arc<dyn Fn(&WorkspacePath, &str) -> Option<String> + Send + Sync>;
type Once = Box<dyn FnOnce() + Send>;
type Files = Arc<dyn Fn() -> Tree + Send + Sync>;

/// The scripted arena. Cheap to clone; clones share everything, as an outside world is shared by the lives of a host.
#[derive(Clone)]
pub struct MemoryArena {
    inner: Arc<Inner>,
}

struct Inner {
    files: Files,
    scripts: Mutex<Vec<(Vec<String>, Script)>>,
    format: Mutex<Option<Format>>,
    /// What happens behind the next look at the view.
    behind: Mutex<Option<Once>>,
    log: Mutex<Vec<Logged>>,
    /// First words of the commands that hang.
    held: watch::Sender<Vec<Vec<String>>>,
    rung: Mutex<Rung>,
    /// How many runs have started, for `started`.
    count: watch::Sender<usize>,
}

impl MemoryArena {
    /// `files` tells the workspace as it is at each call.
    pub fn new(files: impl Fn() -> Tree + Send + Sync + 'static) -> Self {
        let inner = Inner {
            files: Arc::new(files),
            scripts: Mutex::default(),
            format: Mutex::default(),
            behind: Mutex::default(),
            log: Mutex::default(),
            held: watch::Sender::new(Vec::new()),
            rung: Mutex::new(Rung::Copy),
            count: watch::Sender::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// From now on it says that commands are isolated.
    pub fn isolates(&self) -> &Self {
        *lock(&self.inner.rung) = Rung::Cage;
        self
    }

    /// A workspace that never changes.
    pub fn over(files: &[(&str, &str)]) -> Self {
        let entry = |text: &str| Entry::File { text: text.into(), mode: 0o644 };
        let tree: Tree =
            files.iter().filter_map(|(path, text)| Some((WorkspacePath::new(path).ok()?, entry(text)))).collect();
        Self::new(move || tree.clone())
    }

    /// What commands that begin with these words do; the longest beginning wins, then the latest. A command without
    /// a script is a program that is not there.
    pub fn on(
        &self,
        words: &str,
        script: impl Fn(&RunOrder, &Tree) -> Result<Answer, ArenaFault> + Send + Sync + 'static,
    ) -> &Self {
        lock(&self.inner.scripts).push((split(words), Arc::new(script)));
        self
    }

    /// The same answer always.
    pub fn answers(&self, words: &str, answer: Answer) -> &Self {
        self.on(words, move |_, _| Ok(answer.clone()))
    }

    /// What happens once, as soon as the hash of a view was given.
    pub fn behind_view(&self, act: impl FnOnce() + Send + 'static) -> &Self {
        *lock(&self.inner.behind) = Some(Box::new(act));
        self
    }

    /// How texts are formatted; without it there is no formatter.
    pub fn formats(&self, format: impl Fn(&WorkspacePath, &str) -> Option<String> + Send + Sync + 'static) -> &Self {
        *lock(&self.inner.format) = Some(Arc::new(format));
        self
    }

    /// Commands that begin with these words start (and are logged), then hang until `release`.
    pub fn hold(&self, words: &str) -> &Self {
        self.inner.held.send_modify(|held| held.push(split(words)));
        self
    }

    /// Lets go of every held command, and holds none from now on.
    pub fn release(&self) {
        self.inner.held.send_modify(Vec::clear);
    }

    /// Every run so far, in the order of their starts.
    pub fn log(&self) -> Vec<Logged> {
        lock(&self.inner.log).clone()
    }

    /// How many runs began with these words.
    pub fn runs(&self, words: &str) -> usize {
        let words = split(words);
        lock(&self.inner.log).iter().filter(|run| run.words.starts_with(&words)).count()
    }

    /// Waits until so many runs have started.
    pub async fn started(&self, runs: usize) {
        let mut count = self.inner.count.subscribe();
        // The sender lives in `self`.
        let _ = count.wait_for(|count| *count >= runs).await;
    }

    fn tree(&self, overlay: &[(WorkspacePath, Entry)]) -> Tree {
        let mut tree = (self.inner.files)();
        for (path, entry) in overlay {
            match entry {
                Entry::Absent => drop(tree.remove(path)),
                Entry::File { .. } => drop(tree.insert(path.clone(), entry.clone())),
            }
        }
        tree
    }

    fn script(&self, words: &[String]) -> Option<Script> {
        let scripts = lock(&self.inner.scripts);
        let fitting = scripts.iter().filter(|(head, _)| words.starts_with(head));
        fitting.max_by_key(|(head, _)| head.len()).map(|(_, script)| script.clone())
    }
}

impl Arena for MemoryArena {
    fn rung(&self) -> Rung {
        *lock(&self.inner.rung)
    }

    fn run(&self, order: RunOrder, output: Deltas) -> Fut<'_, Result<RunOutcome, ArenaFault>> {
        Box::pin(async move {
            let words = order.command.argv.clone();
            let script = self.script(&words);
            let script = script.ok_or_else(|| ArenaFault::NoProgram(words.first().cloned().unwrap_or_default()))?;
            let (outside, tree) = match &order.stage {
                Stage::View(overlay) => (false, self.tree(overlay)),
                Stage::Workspace => (true, self.tree(&[])),
            };
            let at = {
                let mut log = lock(&self.inner.log);
                let (task, effect, key) = (order.task.clone(), order.effect.clone(), order.key.clone());
                log.push(Logged { task, effect, words: words.clone(), outside, key, finished: false });
                self.inner.count.send_replace(log.len());
                log.len() - 1
            };
            let mut held = self.inner.held.subscribe();
            let _ = held.wait_for(|held| !held.iter().any(|head| words.starts_with(head))).await;
            let answer = script(&order, &tree)?;
            output(&answer.output);
            if let Some(run) = lock(&self.inner.log).get_mut(at) {
                run.finished = true;
            }
            Ok(RunOutcome {
                ended: answer.ended,
                bytes: u64::try_from(answer.output.len()).unwrap_or(u64::MAX),
                output: answer.output,
                cut: false,
                millis: 0,
                rung: self.rung(),
                view: hash(&tree),
                wrote: if outside { Vec::new() } else { answer.wrote },
            })
        })
    }

    fn format<'a>(&'a self, path: &'a WorkspacePath, text: &'a str) -> Fut<'a, Option<String>> {
        let format = lock(&self.inner.format).clone();
        Box::pin(async move { format.and_then(|format| format(path, text)) })
    }

    fn view(&self, overlay: Vec<(WorkspacePath, Entry)>) -> Fut<'_, Result<ContentHash, ArenaFault>> {
        Box::pin(async move {
            let hash = hash(&self.tree(&overlay));
            let act = lock(&self.inner.behind).take();
            if let Some(act) = act {
                act();
            }
            Ok(hash)
        })
    }
}

fn hash(tree: &Tree) -> ContentHash {
    let rows: Vec<String> = tree.iter().map(|(path, entry)| format!("{path}\0{}\n", entry.hash().as_str())).collect();
    ContentHash::of(rows.concat())
}

fn split(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a failed expectation is the test's finding")]

    use super::*;
    use crate::arena::{CopyArena, Limits};
    use crate::domain::ids::{TraceId, Work};
    use crate::domain::plan::Command;
    use std::time::Duration;

    fn order(words: &str, overlay: Vec<(WorkspacePath, Entry)>) -> RunOrder {
        RunOrder {
            task: TaskId::new("t"),
            effect: EffectId { work: Work::Acceptance, attempt: 1, n: 1 },
            command: Command { argv: split(words), dir: None, env: Vec::new() },
            stage: Stage::View(overlay),
            timeout: Duration::from_secs(1),
            keeps: true,
            key: Some("t/s".to_owned()),
            trace: TraceId::new("0"),
        }
    }

    fn laid(path: &str, text: &str) -> Vec<(WorkspacePath, Entry)> {
        vec![(WorkspacePath::new(path).unwrap(), Entry::File { text: text.into(), mode: 0o644 })]
    }

    #[tokio::test]
    async fn commands_see_the_view_and_the_longest_words_win() {
        let arena = MemoryArena::over(&[("a", "1")]);
        let tree =
            |tree: &Tree| tree.iter().map(|(path, entry)| format!("{path}={} ", entry.text())).collect::<String>();
        arena.on("cargo", move |_, view| Ok(Answer::exit(0, tree(view)))).answers("cargo test", Answer::exit(1, "no"));
        let run = async |words: &str| arena.run(order(words, laid("b", "2")), Arc::new(|_| {})).await;
        let checked = run("cargo check").await.unwrap();
        assert_eq!((checked.ended, checked.output.as_str()), (Ended::Exit(0), "a=1 b=2 "));
        assert_eq!(checked.view, arena.view(laid("b", "2")).await.unwrap());
        assert_ne!(checked.view, arena.view(Vec::new()).await.unwrap());
        assert_eq!(run("cargo test -p x").await.unwrap().ended, Ended::Exit(1));
        assert_eq!(run("make").await, Err(ArenaFault::NoProgram("make".to_owned())));
        assert_eq!((arena.runs("cargo"), arena.runs("cargo test"), arena.runs("make")), (2, 1, 0));
    }

    #[tokio::test]
    async fn a_held_run_is_logged_and_cut_off_without_an_end() {
        let arena = MemoryArena::over(&[]);
        arena.answers("send", Answer::exit(0, "sent")).hold("send");
        tokio::select! {
            _ = arena.run(order("send it", Vec::new()), Arc::new(|_| {})) => panic!("it is held"),
            () = arena.started(1) => {}
        }
        arena.release();
        arena.run(order("send it", Vec::new()), Arc::new(|_| {})).await.unwrap();
        let log: Vec<_> = arena.log().into_iter().map(|run| (run.key, run.finished)).collect();
        assert_eq!(log, [(Some("t/s".to_owned()), false), (Some("t/s".to_owned()), true)]);
    }

    #[tokio::test]
    async fn a_views_hash_is_that_of_the_real_arena() {
        let (ws, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(ws.path().join("src")).unwrap();
        std::fs::write(ws.path().join("src/a.rs"), "fn a() {}\n").unwrap();
        std::fs::write(ws.path().join("b"), "b").unwrap();
        let real = CopyArena::new(ws.path(), cache.path(), Vec::new(), Limits::default()).unwrap();
        let twin = MemoryArena::over(&[("src/a.rs", "fn a() {}\n"), ("b", "b")]);
        for overlay in [Vec::new(), laid("b", "c"), vec![(WorkspacePath::new("b").unwrap(), Entry::Absent)]] {
            assert_eq!(real.view(overlay.clone()).await.unwrap(), twin.view(overlay).await.unwrap());
        }
    }
}
