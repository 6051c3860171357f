//! Patches and diffs as text; `testing::git_oracle` has git read them.

use super::*;
use crate::domain::change::unified::{diff, hunk_diff, patch};

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
