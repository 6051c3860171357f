//! Commands in the view at rung 1: what the cage costs, what keeping the layer in step costs, and how warm a build is.

use crate::harness::{Guide, Row, Samples, in_turn, time};
use planwright::arena::cage::probe;
use planwright::arena::{CagedArena, CopyArena, Limits};
use planwright::domain::change::Entry;
use planwright::domain::ids::{EffectId, TaskId, TraceId, Work, WorkspacePath};
use planwright::domain::plan::Command;
use planwright::domain::task::facts::Ended;
use planwright::ports::{Arena, RunOrder, Stage};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Files of the large tree.
const FILES: usize = 10_000;
const ROUNDS: usize = 11;

pub fn rows() -> Vec<Row> {
    let Some(small) = Place::new(|root| std::fs::write(root.join("a.txt"), "a").unwrap()) else { return Vec::new() };
    let bare = |words: &[&str], root: &Path| {
        time(|| {
            assert!(
                std::process::Command::new(words[0])
                    .args(&words[1..])
                    .current_dir(root)
                    .output()
                    .unwrap()
                    .status
                    .success()
            )
        })
    };
    let mut rows = vec![Row::of(
        "`true` in the view",
        "`true` bare",
        Guide::Free,
        in_turn(ROUNDS, || small.run(&["true"], &[]), || bare(&["true"], &small.root)),
    )];

    let large = Place::new(|root| {
        for n in 0..FILES {
            let folder = root.join(format!("src/part{}", n / 50));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("file{n}.txt")), format!("{n}\n").repeat(20)).unwrap();
        }
    });
    if let Some(large) = large {
        let mut round = 0;
        let ours = || {
            round += 1;
            large.run(&["true"], &[("src/part7/file357.txt", &format!("{round}\n"))])
        };
        rows.push(Row::of(
            "`true` after one change of 10,000 files",
            "a walk of them",
            Guide::Free,
            in_turn(ROUNDS, ours, || time(|| walk(&large.root))),
        ));
    }

    let check = ["cargo", "check", "--offline", "--quiet"];
    let package = Place::new(|root| {
        std::fs::create_dir(root.join("src")).unwrap();
        std::fs::write(root.join(".gitignore"), "/target\n").unwrap();
        std::fs::write(root.join("Cargo.toml"), "[package]\nname = \"x\"\nedition = \"2024\"\n[workspace]\n").unwrap();
        std::fs::write(root.join("src/lib.rs"), "mod v;\npub use v::V;\n").unwrap();
        std::fs::write(root.join("src/v.rs"), "pub const V: u32 = 0;\n").unwrap();
    });
    if let Some(package) = package {
        bare(&check, &package.root);
        let mut samples = Samples::default();
        for n in 0..ROUNDS {
            let text = format!("pub const V: u32 = {n};\n");
            // The floor changes the user's file, so it comes after the view has seen another text.
            let ours = package.run(&check, &[("src/v.rs", &format!("{text}// in the view\n"))]);
            std::fs::write(package.root.join("src/v.rs"), &text).unwrap();
            let floor = bare(&check, &package.root);
            if n > 0 {
                samples.ours.push(ours);
                samples.floor.push(floor);
            }
        }
        rows.push(Row::of("warm `cargo check` in the view", "in the user's tree", Guide::Free, samples));
    }
    rows
}

/// A workspace with an arena that cages.
struct Place {
    _keep: tempfile::TempDir,
    root: std::path::PathBuf,
    runtime: tokio::runtime::Runtime,
    arena: CagedArena,
}

impl Place {
    /// None where this machine cannot cage, which is said.
    fn new(fill: impl FnOnce(&Path)) -> Option<Place> {
        let keep = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let base = keep.path().canonicalize().unwrap();
        let (root, cache) = (base.join("ws"), base.join("cache"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&cache).unwrap();
        fill(&root);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let rung = match runtime.block_on(probe(Path::new(env!("CARGO_BIN_EXE_planwright")), &cache)) {
            Ok(rung) => rung,
            Err(why) => {
                println!("no cage on this machine: {why}");
                return None;
            }
        };
        let copy = CopyArena::new(&root, &cache, Vec::new(), Limits::default()).unwrap();
        Some(Place { arena: CagedArena::new(copy, rung, &[]), _keep: keep, root, runtime })
    }

    fn run(&self, words: &[&str], proposed: &[(&str, &str)]) -> Duration {
        let entry = |text: &str| Entry::File { text: text.into(), mode: 0o644 };
        let laid = proposed.iter().map(|(path, text)| (WorkspacePath::new(path).unwrap(), entry(text)));
        let order = RunOrder {
            task: TaskId::new("t"),
            effect: EffectId { work: Work::Acceptance, attempt: 1, n: 1 },
            command: Command {
                argv: words.iter().map(|word| (*word).to_owned()).collect(),
                dir: None,
                env: Vec::new(),
            },
            stage: Stage::View(laid.collect()),
            timeout: Duration::from_secs(120),
            keeps: true,
            key: None,
            trace: TraceId::new("0af7651916cd43dd8448eb211c80319c"),
        };
        time(|| {
            let outcome = self.runtime.block_on(self.arena.run(order, Arc::new(|_: &str| {}))).unwrap();
            assert_eq!(outcome.ended, Ended::Exit(0), "{}", outcome.output);
        })
    }
}

/// Looks at each file once.
fn walk(folder: &Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let meta = entry.metadata().unwrap();
        count += 1;
        if meta.is_dir() {
            count += walk(&entry.path());
        }
    }
    count
}
