//! Patches against git itself, and diffs for people.

use super::samples::*;
use super::*;
use crate::domain::change::unified::{diff, hunk_diff, patch};
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn a_patch_counts_lines_for_the_kept_hunks_alone() {
    let change = change(&program("a\n1\n2\n3\nb\n4\n5\n6\nc"), &file("a\nA\nA\n1\n2\n3\n4\n5\n6\nC\n"));
    let all = patch(std::slice::from_ref(&change), |_| true);
    assert_eq!(
        all,
        "diff --git a/src/a.rs b/src/a.rs\nold mode 100755\nnew mode 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
         @@ -1,0 +2,2 @@\n+A\n+A\n@@ -5,1 +6,0 @@\n-b\n@@ -9,1 +10,1 @@\n-c\n\\ No newline at end of file\n+C\n"
    );
    let last = change.hunks[2].id.clone();
    assert_eq!(
        patch(&[change], |id| *id == last),
        "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -9,1 +9,1 @@\n-c\n\\ No newline at end of file\n+C\n"
    );
}

#[test]
fn a_diff_shows_context_and_joins_what_meets() {
    assert_eq!(diff("a\n", "a\n", 3), "");
    assert_eq!(
        diff("1\n2\n3\n4\n5\n6\n7\n", "1\n2\nX\n4\n5\nY\n7\n", 1),
        "@@ -2,6 +2,6 @@\n 2\n-3\n+X\n 4\n 5\n-6\n+Y\n 7\n"
    );
    assert_eq!(diff("", "x", 3), "@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n");
    let change = change(&file("1\na\n2\n3\n4\nb\n"), &file("1\nA\n2\n3\n4\nB\n"));
    assert_eq!(hunk_diff(&change, &change.hunks[1].id, 1), "@@ -5,2 +5,2 @@\n 4\n-b\n+B\n");
}

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
        eprintln!("SKIPPED: no git");
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
