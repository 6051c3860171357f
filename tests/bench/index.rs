//! The symbol index at a start where nothing has changed (L5).

use crate::harness::{Guide, Row, in_turn, time};
use crate::project;
use planwright::domain::ids::WorkspacePath;
use planwright::syntax::{Index, Stamped};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

pub fn rows() -> Vec<Row> {
    let keep = tempfile::tempdir().unwrap();
    let (root, cache) = (keep.path().join("work"), keep.path().join("symbols"));
    project::write(&root);
    let paths: Vec<PathBuf> = ignore::Walk::new(&root)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(ignore::DirEntry::into_path)
        .collect();
    assert_eq!(paths.len(), project::FILES);
    Index::open(cache.clone()).refresh(&stamped(&root, &paths));
    let samples = in_turn(
        21,
        || {
            time(|| {
                let index = Index::open(cache.clone());
                let refreshed = index.refresh(&stamped(&root, &paths));
                assert_eq!(refreshed.kept, project::FILES);
                index
            })
        },
        || time(|| (std::fs::read(&cache).unwrap(), stamped(&root, &paths))),
    );
    vec![Row::of(
        "symbol index of 1,000 files, warm start",
        "reading the cache file, stat of each file",
        Guide::Within(Duration::from_millis(50)),
        samples,
    )]
}

fn stamped(root: &Path, paths: &[PathBuf]) -> Vec<Stamped> {
    paths
        .iter()
        .map(|path| {
            let meta = path.metadata().unwrap();
            let modified = meta.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            Stamped {
                path: WorkspacePath::new(name).unwrap(),
                absolute: path.clone(),
                modified: i64::try_from(modified).unwrap(),
                size: meta.len(),
            }
        })
        .collect()
}
