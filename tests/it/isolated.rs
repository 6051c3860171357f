//! Isolation through the whole program: a plan whose checks run in a cage, and what its user sees of that.

use crate::support::Project;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

const PLAN: &str = "# Rename total\n\n## Contract\n\n- scope: `src/**`\n- accept: `make check`\n\n## Steps\n\n### rename: Rename total\n\n- transform: rename `total` to `sum_of`\n- check: `make check`\n";

/// Passes only if it sees the change at the project's own path; tries on the way to leave traces.
const MAKEFILE: &str = "check:\n\tgrep -q sum_of $(ROOT)/src/lib.rs\n\techo stray > stray.txt\n\techo evil > build.rs\n\t-echo evil > $(ROOT)/../beside\n\t! grep -rqs elsewhere $(STATE) $(CACHE)\n";

/// All that a command could have touched.
fn seen(project: &Project) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut left = vec![project.root.clone(), project.root.with_file_name("beside")];
    while let Some(path) = left.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        if path.ends_with(".planwright") {
            continue;
        }
        if meta.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let bytes = if meta.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        // A folder's own time changes with the task folder in it.
        let time = if meta.is_dir() { 0 } else { meta.mtime_nsec() };
        found.insert(path, (meta.mode(), time, meta.mtime(), bytes));
    }
    found
        .into_iter()
        .map(|(path, (mode, nano, time, bytes))| (path, (mode, nano, if nano == 0 { 0 } else { time }, bytes)))
        .collect()
}

/// `None` where no cage can be made.
fn project() -> Option<(Project, tempfile::TempDir)> {
    let mut project = Project::without_git(&[
        ("src/lib.rs", "pub fn total(x: u32) -> u32 {\n    x\n}\n"),
        ("build.rs", "fn main() {}\n"),
    ]);
    let root = project.root.to_str().unwrap().to_owned();
    // Not below `/tmp`: nothing of that is seen anyway.
    let keep = crate::support::ground();
    let base = keep.path().canonicalize().unwrap();
    (project.state, project.cache) = (base.join("state"), base.join("cache"));
    for of_another_root in [project.state.join("other/journal"), project.cache.join("other/layers/t/layer/a.txt")] {
        std::fs::create_dir_all(of_another_root.parent().unwrap()).unwrap();
        std::fs::write(of_another_root, "elsewhere\n").unwrap();
    }
    std::fs::set_permissions(project.cache.join("other"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let makefile = MAKEFILE.replace("$(ROOT)", &root).replace("$(STATE)", project.state.to_str().unwrap());
    project.write("Makefile", makefile.replace("$(CACHE)", project.cache.to_str().unwrap()));
    std::fs::write(project.root.with_file_name("beside"), "precious\n").unwrap();
    std::fs::write(project.root.with_file_name("given.plan.md"), PLAN).unwrap();
    project.env.push(("PLANWRIGHT_ISOLATION".to_owned(), "on".to_owned()));
    let doctor = project.run(&["doctor", "--json"]).exits(0).json();
    if doctor["surroundings"]["rung"] == "cage" {
        return Some((project, keep));
    }
    crate::support::uncaged(&format!("no cage here: {}", doctor["remarks"]));
    None
}

#[test]
fn checks_run_without_a_gate_and_leave_no_trace() {
    let Some((project, _keep)) = project() else { return };
    let given = project.root.with_file_name("given.plan.md");
    project
        .run(&["plan", "Rename total", "--document", given.to_str().unwrap()])
        .exits(0)
        .says(&["isolated, runs without asking"]);
    let before = seen(&project);
    project.run(&["approve", "--yes"]).exits(0);
    // Three: the hunks wait for a decision, and nothing else does.
    project.run(&["run"]).exits(3);
    let status = project.run(&["status", "--json"]).exits(0).json();
    assert_eq!(status["words"], "awaiting review", "{status}");
    assert_eq!(seen(&project), before);
    let caches = std::fs::read_dir(&project.cache).unwrap().map(|entry| entry.unwrap().metadata().unwrap().mode());
    assert!(caches.into_iter().all(|mode| mode & 0o077 == 0), "others can reach what a command left");
    project.run(&["timeline"]).exits(0).says(&["passed (isolated)"]);
    project.run(&["accept", "--all"]).exits(0).says(&["verified"]);
    assert_eq!(project.read("src/lib.rs"), "pub fn sum_of(x: u32) -> u32 {\n    x\n}\n");
    assert_eq!(project.read("build.rs"), "fn main() {}\n");
    assert!(!project.path("stray.txt").exists());
}

#[test]
fn what_is_switched_off_is_said() {
    let project = Project::without_git(&[]);
    project.run(&["doctor"]).exits(0).says(&["each is a gate", "switched off ($PLANWRIGHT_ISOLATION)"]);
}
