//! Accepted hunks against git: whatever is kept, the files are what `git apply --unidiff-zero` makes of one patch with
//! the kept hunks in file order.
//!
//! The patch is written here, from nothing but `review --json`: paths, lines, old and new text. So the test knows
//! nothing of how planwright applies a hunk or makes a patch. Invariant: files are compared byte for byte after every
//! decision. Absent: other people's edits between decisions; those are the business of the tests of spots.

use crate::support::Project;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A hunk as `review --json` shows it while nothing is accepted.
#[derive(Clone, Debug)]
struct Hunk {
    id: String,
    path: String,
    kind: String,
    /// 1-based line of the untouched file.
    line: usize,
    old: String,
    new: String,
}

/// A proposal under test.
struct Oracle<'p> {
    project: &'p Project,
    task: String,
    hunks: Vec<Hunk>,
    /// The files before any decision; `None` = not there.
    before: BTreeMap<String, Option<Vec<u8>>>,
    /// What the last decision left accepted.
    kept: BTreeSet<String>,
}

impl<'p> Oracle<'p> {
    fn of(project: &'p Project, task: &str) -> Self {
        let review = project.run(&["review", task, "--all", "--json"]).exits(0).json();
        let text = |hunk: &Value, key: &str| hunk[key].as_str().unwrap().to_owned();
        let hunks: Vec<Hunk> = review["hunks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hunk| Hunk {
                id: text(hunk, "id"),
                path: text(hunk, "path"),
                kind: text(hunk, "kind"),
                line: usize::try_from(hunk["line"].as_u64().unwrap()).unwrap(),
                old: text(hunk, "old"),
                new: text(hunk, "new"),
            })
            .collect();
        assert!(hunks.len() > 1, "a proposal with hunks to choose from: {review}");
        let before =
            hunks.iter().map(|hunk| (hunk.path.clone(), std::fs::read(project.path(&hunk.path)).ok())).collect();
        Self { project, task: task.to_owned(), hunks, before, kept: BTreeSet::new() }
    }

    /// Says `accept` or `undo` for these, and compares.
    #[track_caller]
    fn decide(&mut self, word: &str, ids: &[String]) {
        if ids.is_empty() {
            return;
        }
        let mut line = vec![word, self.task.as_str()];
        line.extend(ids.iter().map(String::as_str));
        let said = self.project.run(&line);
        // The last decision ends the task, or has its checks ask; both are codes of their own.
        assert!(matches!(said.code, Some(0 | 1 | 3)), "{said:?}");
        assert!(!said.err.contains("error ("), "{said:?}");
        for id in ids {
            let _was = if word == "accept" { self.kept.insert(id.clone()) } else { self.kept.remove(id) };
        }
        self.compare();
    }

    /// Puts the files back behind planwright's back, as `git checkout` would.
    fn put_back(&mut self) {
        for (path, bytes) in &self.before {
            match bytes {
                Some(bytes) => self.project.write(path, bytes),
                None => {
                    let _not_made = std::fs::remove_file(self.project.path(path));
                }
            }
        }
        self.kept.clear();
    }

    #[track_caller]
    fn compare(&self) {
        let (expect, patch) = self.applied_by_git();
        for (path, expect) in expect {
            let found = std::fs::read(self.project.path(&path)).ok();
            if found != expect {
                let text = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|b| String::from_utf8_lossy(b).into_owned());
                panic!("{path}: kept {:?}\n{patch}\nfound {:?}\ngit {:?}", self.kept, text(&found), text(&expect));
            }
        }
    }

    fn applied_by_git(&self) -> (BTreeMap<String, Option<Vec<u8>>>, String) {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        for (path, bytes) in &self.before {
            let Some(bytes) = bytes else { continue };
            let at = tree.join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, bytes).unwrap();
        }
        let patch = self.patch();
        if !patch.is_empty() {
            std::fs::write(dir.path().join("kept.patch"), &patch).unwrap();
            let output = Command::new("git")
                .args(["apply", "--unidiff-zero", "--whitespace=nowarn", "../kept.patch"])
                .current_dir(&tree)
                .env("GIT_CEILING_DIRECTORIES", dir.path())
                .output()
                .unwrap();
            assert!(output.status.success(), "{}\n{patch}", String::from_utf8_lossy(&output.stderr));
        }
        let after = self.before.keys().map(|path| (path.clone(), std::fs::read(tree.join(path)).ok())).collect();
        (after, patch)
    }

    /// One patch with the kept hunks in file order, its line numbers counted for these alone.
    fn patch(&self) -> String {
        let mut patch = String::new();
        for path in self.before.keys() {
            let mut kept: Vec<&Hunk> =
                self.hunks.iter().filter(|hunk| &hunk.path == path && self.kept.contains(&hunk.id)).collect();
            kept.sort_by_key(|hunk| hunk.line);
            let Some(first) = kept.first() else { continue };
            let (from, to) = (format!("a/{path}"), format!("b/{path}"));
            writeln!(patch, "diff --git {from} {to}").unwrap();
            let (old_name, new_name) = match first.kind.as_str() {
                "create" => {
                    patch.push_str("new file mode 100644\n");
                    ("/dev/null", to.as_str())
                }
                "delete" => {
                    patch.push_str("deleted file mode 100644\n");
                    (from.as_str(), "/dev/null")
                }
                "lines" => (from.as_str(), to.as_str()),
                other => panic!("a hunk of a kind that this patch cannot say: {other}"),
            };
            writeln!(patch, "--- {old_name}\n+++ {new_name}").unwrap();
            let mut shift: i64 = 0;
            for hunk in kept {
                let (old, new) = (lines(&hunk.old), lines(&hunk.new));
                // Where nothing is taken or put, git counts the line before.
                let line = i64::try_from(hunk.line).unwrap();
                let start = |count: usize, line: i64| if count == 0 { line - 1 } else { line };
                let (old_at, new_at) = (start(old.len(), line), start(new.len(), line + shift));
                writeln!(patch, "@@ -{old_at},{} +{new_at},{} @@", old.len(), new.len()).unwrap();
                for (mark, all) in [('-', &old), ('+', &new)] {
                    for line in all {
                        write!(patch, "{mark}{line}").unwrap();
                        if !line.ends_with('\n') {
                            patch.push_str("\n\\ No newline at end of file\n");
                        }
                    }
                }
                shift += i64::try_from(new.len()).unwrap() - i64::try_from(old.len()).unwrap();
            }
        }
        patch
    }

    fn ids(&self) -> Vec<String> {
        self.hunks.iter().map(|hunk| hunk.id.clone()).collect()
    }

    /// All, none, each alone, and so many random subsets, in random order and with undo mixed in.
    fn walk(&mut self, random: usize, mut dice: Dice) {
        self.compare();
        let all = self.ids();
        for id in &all {
            self.decide("accept", std::slice::from_ref(id));
            self.put_back();
        }
        // Never all of them: the last decision would end the task.
        for _ in 0..random {
            let mut order = all.clone();
            dice.shuffle(&mut order);
            order.truncate(dice.below(order.len()));
            while !order.is_empty() {
                let some: Vec<String> = order.drain(..=dice.below(order.len())).collect();
                self.decide("accept", &some);
                if dice.below(3) == 0 {
                    let mut back: Vec<String> = self.kept.iter().cloned().collect();
                    dice.shuffle(&mut back);
                    back.truncate(dice.below(back.len()) + 1);
                    self.decide("undo", &back);
                }
            }
            if dice.below(2) == 0 {
                let kept: Vec<String> = self.kept.iter().cloned().collect();
                self.decide("undo", &kept);
            } else {
                self.put_back();
            }
        }
        assert!(self.kept.is_empty());
        self.compare();
        self.decide("accept", &all);
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A generator whose seed is part of every failure: the same numbers each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }

    fn shuffle(&mut self, items: &mut [String]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// Long enough that hunks stand apart, repeat each other, touch the first and the last line, and have no final newline.
fn small_project() -> Project {
    let calls: String = (0..6)
        .map(|n| format!("pub fn step_{n}() -> u32 {{\n    // same\n    // lines\n    total(&[1])\n}}\n\n"))
        .collect();
    let dos = "use crate::total;\r\n\r\n// one\r\n// two\r\n\r\npub fn dos() -> u32 {\r\n    total(&[2])\r\n}\r\n";
    Project::new(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("src/lib.rs", "pub mod dos;\npub mod many;\n\npub fn total(xs: &[u32]) -> u32 {\n    xs.iter().sum()\n}\n"),
        ("src/many.rs", &format!("use crate::total;\n\n{calls}pub fn last() -> u32 {{ total(&[3]) }}")),
        ("src/dos.rs", dos),
    ])
}

fn rename(symbol: &str, to: &str, scope: &str) -> String {
    format!(
        "# Rename {symbol}\n\nA better name.\n\n## Contract\n\n- scope: {scope}\n- accept: absent: `no such text`, in `src`\n\n## Steps\n\n### rename: Rename it\n\n- transform: rename `{symbol}` to `{to}`\n- write: {scope}\n"
    )
}

#[test]
fn accepted_subsets_are_what_git_makes_of_them() {
    let project = small_project();
    let task = project.approved("Rename total", &rename("total", "sum_of", "`src/**`"));
    project.run(&["run", &task]).exits(3);
    Oracle::of(&project, &task).walk(8, Dice(7));
}

/// On a repository of your own: `PLANWRIGHT_REPO=path cargo test --test it oracle -- --ignored`. It is cloned first.
/// `PLANWRIGHT_RENAME=old=new` names what is renamed, `PLANWRIGHT_SCOPE` where (`**/*.rs`).
#[test]
#[ignore = "needs a local clone; run with PLANWRIGHT_REPO=path cargo test --test it oracle -- --ignored"]
fn accepted_subsets_of_a_real_repository_are_what_git_makes_of_them() {
    let variable = |name: &str, or: &str| std::env::var(name).unwrap_or_else(|_| or.to_owned());
    let repository = std::env::var("PLANWRIGHT_REPO").expect("PLANWRIGHT_REPO names a local clone");
    let names = variable("PLANWRIGHT_RENAME", "SearcherBuilder=SearchBuilder");
    let (symbol, to) = names.split_once('=').expect("PLANWRIGHT_RENAME is old=new");
    let scope = format!("`{}`", variable("PLANWRIGHT_SCOPE", "**/*.rs"));
    let project = Project::cloned(Path::new(&repository));
    let task = project.approved("Rename it", &rename(symbol, to, &scope));
    project.run(&["run", &task]).exits(3);
    Oracle::of(&project, &task).walk(30, Dice(11));
}
