//! A workspace of a thousand Rust files or more, as old as a real one: a file changed just now is read again by whoever
//! remembers it.

use std::path::Path;
use std::time::{Duration, SystemTime};

pub const FILES: usize = 1_000;

/// Writes the files below `root`, fifty to a folder.
pub fn write(root: &Path) {
    write_many(root, FILES);
}

/// So many of them.
pub fn write_many(root: &Path, files: usize) {
    let yesterday = SystemTime::now() - Duration::from_secs(86_400);
    for n in 0..files {
        let folder = root.join(format!("src/part{}", n / 50));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("file{n}.rs"));
        std::fs::write(&path, source(n)).unwrap();
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(yesterday).unwrap();
    }
}

/// About a hundred lines.
pub fn source(n: usize) -> String {
    let mut text = format!("//! Part {n}.\n\nuse std::collections::BTreeMap;\n\n");
    for k in 0..12 {
        text.push_str(&format!(
            "/// Adds up what `load_{n}_{k}` gave.\npub fn total_{n}_{k}(values: &BTreeMap<String, u64>) -> u64 {{\n    \
             let mut sum = 0;\n    for value in values.values() {{\n        sum += value;\n    }}\n    sum\n}}\n\n"
        ));
    }
    text
}
