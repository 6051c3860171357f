//! Patches of subsets against `git apply` itself. It stands here because the domain starts no process.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may stop at the first surprise and says what it skips"
)]

use crate::domain::change::tests::samples::{changes, chosen, subset};
use crate::domain::change::tests::{file, path, program};
use crate::domain::change::unified::patch;
use crate::domain::change::{Entry, FileChange, file_change};
use crate::domain::ids::{HunkId, StepId, WorkspacePath};
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn put(root: &Path, path: &WorkspacePath, entry: &Entry) {
    let full = root.join(path.as_str());
    if let Entry::File { text, mode } = entry {
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(&full, text.as_bytes()).unwrap();
        std::fs::set_permissions(&full, std::fs::Permissions::from_mode(*mode)).unwrap();
    }
}

fn take(root: &Path, path: &WorkspacePath) -> Entry {
    let full = root.join(path.as_str());
    let Ok(bytes) = std::fs::read(&full) else { return Entry::Absent };
    let mode = std::fs::metadata(full).unwrap().permissions().mode();
    Entry::File { text: String::from_utf8(bytes).unwrap().into(), mode: if mode & 0o100 == 0 { 0o644 } else { 0o755 } }
}

/// Applies the kept hunks with git to a fresh folder and compares every file.
fn check_git(changes: &[FileChange], kept: &[HunkId]) -> Result<(), TestCaseError> {
    let text = patch(changes, |id| kept.contains(id));
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tree");
    std::fs::create_dir(&root).unwrap();
    for change in changes {
        put(&root, &change.path, &change.before);
    }
    if !text.is_empty() {
        std::fs::write(dir.path().join("p.patch"), &text).unwrap();
        let output = Command::new("git")
            .args(["apply", "--unidiff-zero", "--whitespace=nowarn", "../p.patch"])
            .current_dir(&root)
            .env("GIT_CEILING_DIRECTORIES", dir.path())
            .output()
            .unwrap();
        prop_assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    }
    for change in changes {
        prop_assert_eq!(take(&root, &change.path), subset(change, kept), "{}", text);
    }
    Ok(())
}

fn has_git() -> bool {
    let found = Command::new("git").arg("--version").output().is_ok();
    if !found {
        super::skipped("no git");
    }
    found
}

#[test]
fn git_reads_file_operations_and_names() {
    if !has_git() {
        return;
    }
    let one = StepId::new("one");
    let make = |name: &str, before: &Entry, after: &Entry| file_change(path(name), before, after, &one, None);
    let changes = [
        make("made", &Entry::Absent, &program("x\ny")),
        make("empty made", &Entry::Absent, &file("")),
        make("gone", &file("x\ny\n"), &Entry::Absent),
        make("empty gone", &file(""), &Entry::Absent),
        make("with blank/é🦀 name", &file("x\n"), &file("y\n")),
        make("quote\"d\\name", &file("x\n"), &program("y\n")),
        make("mode", &file("x\n"), &program("x\n")),
        make("filled", &file(""), &file("x")),
        make("emptied", &file("x"), &file("")),
    ];
    let all: Vec<HunkId> = changes.iter().flat_map(|change| &change.hunks).map(|hunk| hunk.id.clone()).collect();
    check_git(&changes, &all).unwrap();
    check_git(&changes, &[]).unwrap();
    for id in &all {
        check_git(&changes, std::slice::from_ref(id)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_gives_the_same_subset(change in changes(), bits in any::<u32>()) {
        if has_git() {
            let kept = chosen(&change, bits);
            check_git(&[change], &kept)?;
        }
    }
}
