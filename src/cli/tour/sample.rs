//! The sample project that the binary carries.
//!
//! It is a till in Rust: a rename that a test asks for, a rewrite that nothing asks for, and a slow test that waits for
//! a file, so that there is a moment to kill the program in. Invariant: the check fails before the change and with
//! either hunk of the rename alone, and passes with the rename, with and without the rewrite; a test runs all of these.
//! Absent: dependencies, so that `cargo` needs no network; the sample's manifest has another name here, because a
//! folder with a `Cargo.toml` would be left out of a package.

use std::io;
use std::path::Path;

/// What the task is called.
pub(super) const GOAL: &str = "Say what the sum is";
/// The plan, below the project.
pub(super) const PLAN: &str = "tour.plan.md";
/// The slow test goes on when this file exists.
pub(super) const MARKER: &str = "drawer.open";
/// What the slow test says while it waits.
pub(super) const WAITING: &str = "waiting for the drawer to open";
/// The step whose hunks are kept.
pub(super) const KEPT: &str = "rename";
/// The step whose hunk is not.
pub(super) const LEFT_OUT: &str = "defaults";
/// Why not.
pub(super) const REASON: &str = "a saving of nothing is said as 0";

/// Path and text.
pub(super) const FILES: &[(&str, &str)] = &[
    (".gitignore", "/target\n"),
    ("Cargo.toml", include_str!("sample/manifest.toml")),
    ("src/bill.rs", include_str!("sample/src/bill.rs")),
    ("src/discount.rs", include_str!("sample/src/discount.rs")),
    ("src/lib.rs", include_str!("sample/src/lib.rs")),
    ("src/price.rs", include_str!("sample/src/price.rs")),
    ("tests/bill.rs", include_str!("sample/tests/bill.rs")),
    ("tests/drawer.rs", include_str!("sample/tests/drawer.rs")),
    (PLAN, include_str!("sample/plan.md")),
];

/// Writes the project into a folder that does not exist yet.
///
/// # Errors
/// The folder exists, or cannot be written.
pub(super) fn lay_out(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        std::fs::create_dir_all(above)?;
    }
    std::fs::create_dir(folder)?;
    for (path, text) in FILES {
        let path = folder.join(path);
        if let Some(above) = path.parent() {
            std::fs::create_dir_all(above)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}
