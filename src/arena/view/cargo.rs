//! Where Cargo's configuration leads its output.
//!
//! Invariant: reading only, and no program is started. Absent: everything else of Cargo's configuration; it holds in a
//! view as it does for the user.

use std::path::{Path, PathBuf};

/// Whether some configuration that holds at this root sends build output out of it, where a view cannot be written.
pub(super) fn builds_elsewhere(root: &Path) -> bool {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    leads_out(root, home.as_deref())
}

/// As Cargo reads it: the nearest folder's first, the home's last.
fn leads_out(root: &Path, home: Option<&Path>) -> bool {
    let near = root.ancestors().map(|folder| (folder.to_owned(), folder.join(".cargo")));
    let far = home.map(|home| (home.parent().unwrap_or(home).to_owned(), home.to_owned()));
    let files = near
        .chain(far)
        .flat_map(|(base, folder)| ["config", "config.toml"].map(|name| (base.clone(), folder.join(name))));
    let mut named = files.filter_map(|(base, file)| Some(base.join(target(&std::fs::read_to_string(file).ok()?)?)));
    named.next().is_some_and(|target| !plain(&target).starts_with(root))
}

fn target(text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    Some(table.get("build")?.get("target-dir")?.as_str()?.to_owned())
}

/// Without `.` and `..`, by the text alone: it need not exist.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::CurDir => {}
            std::path::Component::Normal(_) | std::path::Component::RootDir | std::path::Component::Prefix(_) => {
                plain.push(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is the test's finding")]

    use super::*;

    #[test]
    fn the_nearest_configuration_counts() {
        let place = tempfile::tempdir().unwrap();
        let (root, home) = (place.path().join("ws"), place.path().join("home/.cargo"));
        let write = |folder: &Path, text: &str| {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("config.toml"), text).unwrap();
        };
        let own = root.join(".cargo");
        let out = |text: &str| format!("[build]\ntarget-dir = {text:?}\n");
        write(&own, "[net]\noffline = true\n");
        assert!(!leads_out(&root, Some(&home)));
        write(&home, &out("/shared/target"));
        assert!(leads_out(&root, Some(&home)));
        for (text, leads) in [("build/target", false), ("../target", true), ("a/../../t", true), ("./t", false)] {
            write(&own, &out(text));
            assert_eq!(leads_out(&root, Some(&home)), leads, "{text}");
        }
        write(&own, &out(root.join("t").to_str().unwrap()));
        assert!(!leads_out(&root, Some(&home)));
    }
}
