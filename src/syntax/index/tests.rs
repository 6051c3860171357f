#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use super::*;
use std::path::Path;

fn stamped(root: &Path, name: &str, text: &str, modified: i64) -> Stamped {
    let absolute = root.join(name);
    std::fs::write(&absolute, text).unwrap();
    Stamped { path: WorkspacePath::new(name).unwrap(), absolute, modified, size: text.len() as u64 }
}

fn names(index: &Index) -> String {
    let table = index.table();
    let line = |(path, file): (&WorkspacePath, &Arc<FileSymbols>)| {
        format!("{path}: {}", file.symbols.iter().map(|s| s.path.as_str()).collect::<Vec<_>>().join(" "))
    };
    table.files.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_second_start_reads_nothing_that_has_not_changed() {
    let root = tempfile::tempdir().unwrap();
    let cache = root.path().join("cache/index");
    let mut files = vec![
        stamped(root.path(), "a.rs", "fn one() {}", 1),
        stamped(root.path(), "b.rs", "struct Two { x: u8 }", 1),
        stamped(root.path(), "c.txt", "three", 1),
    ];
    let first = Index::open(cache.clone());
    assert_eq!(first.refresh(&files), Refreshed { parsed: 3, ..Refreshed::default() });
    insta::assert_snapshot!(names(&first), @r"
    a.rs: one
    b.rs: Two Two::x
    c.txt: 
    ");

    let second = Index::open(cache.clone());
    assert_eq!(second.table(), first.table());
    assert_eq!(second.refresh(&files), Refreshed { kept: 3, ..Refreshed::default() });

    files[0] = stamped(root.path(), "a.rs", "fn other() {}", 2);
    files[1].modified = 2;
    files.pop();
    let third = Index::open(cache);
    assert_eq!(third.refresh(&files), Refreshed { parsed: 1, unchanged: 1, kept: 0, removed: 1 });
    insta::assert_snapshot!(names(&third), @r"
    a.rs: other
    b.rs: Two Two::x
    ");
}

#[test]
fn a_file_just_written_is_read_again() {
    let root = tempfile::tempdir().unwrap();
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap();
    let index = Index::in_memory();
    let file = stamped(root.path(), "a.rs", "fn one() {}", now);
    index.refresh(std::slice::from_ref(&file));
    std::fs::write(&file.absolute, "fn two() {}").unwrap();
    index.refresh(std::slice::from_ref(&file));
    assert_eq!(names(&index), "a.rs: two");
}

#[test]
fn a_broken_cache_is_made_anew() {
    let root = tempfile::tempdir().unwrap();
    let cache = root.path().join("index");
    let files = [stamped(root.path(), "a.rs", "fn one() {}", 1)];
    Index::open(cache.clone()).refresh(&files);
    let whole = std::fs::read(&cache).unwrap();
    for broken in [&whole[..whole.len() / 2], b"", b"nonsense", &[&whole[..], b"x"].concat()] {
        std::fs::write(&cache, broken).unwrap();
        let index = Index::open(cache.clone());
        assert_eq!(index.table(), SymbolTable::default());
        assert_eq!(index.refresh(&files).parsed, 1);
    }
    assert!(codec::read(&whole, "another grammar").is_none());
    assert!(codec::read(&whole, &version()).is_some());
}

#[test]
fn a_buffer_is_the_truth_until_it_is_gone() {
    let index = Index::in_memory();
    let path = WorkspacePath::new("a.rs").unwrap();
    index.update(&path, Some("fn typed() {}"));
    let before = index.table();
    index.update(&path, Some("fn retyped() {}"));
    assert_eq!(names(&index), "a.rs: retyped");
    assert_eq!(before.files.get(&path).unwrap().symbols[0].name, "typed");
    index.update(&path, None);
    assert_eq!(names(&index), "");
}

#[test]
fn what_is_no_text_has_no_symbols() {
    let root = tempfile::tempdir().unwrap();
    let mut file = stamped(root.path(), "a.rs", "", 1);
    std::fs::write(&file.absolute, b"fn x() {}\xff").unwrap();
    file.size = 10;
    let index = Index::in_memory();
    index.refresh(&[file]);
    assert_eq!(names(&index), "a.rs: ");
}
