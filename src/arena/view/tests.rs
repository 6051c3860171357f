//! A task's view on real folders: what stands in it, what is taken over, and what is told of what a command wrote.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is the test's finding"
)]

use super::*;
use crate::arena::sources::Links;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::time::{Duration, SystemTime};

/// A workspace and a cache in temporary folders.
struct Place {
    ws: tempfile::TempDir,
    cache: tempfile::TempDir,
    sources: Sources,
    caps: Caps,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let (ws, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let sources = Sources::new(ws.path().canonicalize().unwrap(), Links::Kept);
        let place = Self { ws, cache, sources, caps: Caps { spare: 0, ..Caps::default() } };
        files.iter().for_each(|(path, text)| place.write(path, text));
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.ws.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), text).unwrap();
    }

    fn open(&self) -> TaskView {
        TaskView::open(self.cache.path(), &TaskId::new("t"), self.caps).unwrap()
    }

    /// As another process would.
    fn prepare(&self, overlay: &[(&str, Option<&str>)]) -> Ready {
        self.open().prepare(&self.sources, &laid(overlay)).unwrap()
    }

    fn layer(&self, path: &str) -> PathBuf {
        self.cache.path().join("layers/t/layer").join(path)
    }

    /// The own folder that stands at a path.
    fn own(&self, path: &str) -> PathBuf {
        caches::folder_at(&self.cache.path().join("layers/t/caches"), path)
    }
}

fn laid(files: &[(&str, Option<&str>)]) -> Vec<(WorkspacePath, Entry)> {
    let entry = |text: &Option<&str>| match text {
        Some(text) => Entry::File { text: (*text).into(), mode: 0o644 },
        None => Entry::Absent,
    };
    files.iter().map(|(path, text)| (WorkspacePath::new(path).unwrap(), entry(text))).collect()
}

/// A tree as a test reads it: `-` for a device 0:0.
fn tree(root: &Path) -> String {
    let mut lines = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let at = entry.unwrap().path();
            let meta = at.symlink_metadata().unwrap();
            let name = at.strip_prefix(root).unwrap().display().to_string();
            lines.push(match meta.file_type() {
                kind if kind.is_char_device() => format!("{name} -"),
                kind if kind.is_symlink() => format!("{name} -> {}", at.read_link().unwrap().display()),
                kind if kind.is_dir() => format!("{name}/"),
                _ => format!("{name} {:o} {:?}", meta.mode() & 0o777, std::fs::read_to_string(&at).unwrap()),
            });
            if meta.is_dir() {
                waiting.push(at);
            }
        }
    }
    lines.sort();
    lines.join("\n")
}

/// What must not change by anything: content, mode and both times.
fn facts(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, [i64; 4])> {
    let mut facts = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(at) = waiting.pop() {
        let meta = at.symlink_metadata().unwrap();
        let bytes = if meta.is_file() { std::fs::read(&at).unwrap() } else { Vec::new() };
        let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
        facts.insert(at.clone(), (bytes, meta.mode(), times));
        if meta.is_dir() {
            waiting.extend(std::fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    facts
}

fn modified(at: &Path) -> SystemTime {
    at.symlink_metadata().unwrap().modified().unwrap()
}

fn age(at: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    File::options().write(true).open(at).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_layer_shows_every_unignored_file_and_removes_what_the_view_lacks() {
    let place = Place::new(&[
        (".gitignore", "*.log\n/target\n/secret.pem\n"),
        (".git/config", "x"),
        (".planwright/page.md", "x"),
        (".env", "tracked"),
        ("a.txt", "user"),
        ("b.txt", "goes"),
        ("gone/deep/c.txt", "goes with its folders"),
        ("half/d.txt", "goes"),
        ("half/run.log", "stays"),
        ("run.log", "x"),
        ("secret.pem", "x"),
        ("target/built", "x"),
        ("was-file", "x"),
        ("tool", "#!/bin/sh"),
    ]);
    std::fs::set_permissions(place.at("tool"), Permissions::from_mode(0o754)).unwrap();
    std::fs::create_dir(place.at("private")).unwrap();
    place.write("private/e.txt", "e");
    std::fs::set_permissions(place.at("private"), Permissions::from_mode(0o710)).unwrap();
    symlink("/etc/hostname", place.at("out")).unwrap();
    let before = facts(place.ws.path());
    let overlay = [
        ("a.txt", Some("proposed")),
        ("b.txt", None),
        ("gone/deep/c.txt", None),
        ("half/d.txt", None),
        ("was-file", None),
        ("was-file/now/in", Some("deep")),
        ("never.txt", None),
    ];
    place.prepare(&overlay);
    let shown = tree(&place.layer(""));
    insta::assert_snapshot!(shown, @r##"
    .env 644 "tracked"
    .gitignore 644 "*.log\n/target\n/secret.pem\n"
    .planwright -
    a.txt 644 "proposed"
    b.txt -
    gone -
    half/
    half/d.txt -
    out -> /etc/hostname
    private/
    private/e.txt 644 "e"
    secret.pem -
    target/
    tool 754 "#!/bin/sh"
    was-file/
    was-file/now/
    was-file/now/in 644 "deep"
    "##);
    assert_eq!(place.layer("private").symlink_metadata().unwrap().mode() & 0o777, 0o710);
    assert_eq!(before, facts(place.ws.path()), "the user's tree");
    // A hidden path that comes back is shown again, and nothing is left of what was shown.
    place.prepare(&[]);
    assert!(tree(&place.layer("")).contains("b.txt 644 \"goes\""));
    assert!(!place.layer("gone/deep/c.txt").symlink_metadata().unwrap().file_type().is_char_device());
    assert!(!place.layer("was-file").is_dir());
}

/// A plain copy that keeps times (`cp -a`, rsync) gives the old time again: what was built of the other text is newer.
#[test]
fn content_that_comes_back_is_newer_than_ever_and_what_stays_keeps_its_time() {
    let place = Place::new(&[("a.txt", "41"), ("b.txt", "same")]);
    age(&place.at("a.txt"), 500);
    age(&place.at("b.txt"), 500);
    let mut seen: Vec<SystemTime> = Vec::new();
    let mut kept = None;
    for overlay in [&[][..], &[("a.txt", Some("42"))], &[], &[("a.txt", None)], &[]] {
        place.prepare(overlay);
        assert_eq!(*kept.get_or_insert(modified(&place.layer("b.txt"))), modified(&place.layer("b.txt")));
        if overlay.iter().any(|(_, text)| text.is_none()) {
            continue;
        }
        let second = |time: &SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let now = modified(&place.layer("a.txt"));
        assert!(seen.iter().all(|before| second(before) < second(&now)), "{now:?} after {seen:?}");
        seen.push(now);
    }
    // The control: the time a copy would have kept.
    assert!(modified(&place.at("a.txt")) < seen[1]);
}

#[test]
fn an_old_time_on_new_content_is_not_believed() {
    let place = Place::new(&[("a.txt", "41")]);
    let begun = SystemTime::now() - Duration::from_secs(1);
    age(&place.at("a.txt"), 500);
    place.prepare(&[]);
    let first = modified(&place.layer("a.txt"));
    assert!(first > begun, "its content is as new as the change of its time, which nobody can set");
    // And one whose size and time are the old ones is seen.
    let time = modified(&place.at("a.txt"));
    place.write("a.txt", "42");
    File::options().write(true).open(place.at("a.txt")).unwrap().set_modified(time).unwrap();
    place.prepare(&[]);
    assert_eq!(std::fs::read_to_string(place.layer("a.txt")).unwrap(), "42");
    assert!(modified(&place.layer("a.txt")) > first);
}

#[test]
fn modes_follow_without_a_new_time_for_the_text() {
    let place = Place::new(&[("a.txt", "a")]);
    let first = place.prepare(&[]).hash;
    std::fs::set_permissions(place.at("a.txt"), Permissions::from_mode(0o600)).unwrap();
    let second = place.prepare(&[]).hash;
    assert_eq!(place.layer("a.txt").metadata().unwrap().mode() & 0o777, 0o600);
    std::fs::set_permissions(place.at("a.txt"), Permissions::from_mode(0o700)).unwrap();
    let third = place.prepare(&[]).hash;
    assert_eq!(first, second, "who else may read it is no part of a view");
    assert_ne!(second, third, "a program is another file");
}

#[test]
fn only_what_differs_is_written() {
    let files: Vec<(String, String)> = (0..50).map(|n| (format!("src/{n}.txt"), n.to_string())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let place = Place::new(&files);
    let mut view = place.open();
    let mut written = |overlay: &[(&str, Option<&str>)]| {
        let inputs = place.sources.scan(&laid(overlay)).unwrap();
        view.layer.sync(&place.sources, inputs, &Shown::default()).unwrap().written
    };
    assert_eq!([written(&[]), written(&[]), written(&[("src/7.txt", Some("x"))]), written(&[])], [50, 0, 1, 1]);
    std::fs::write(place.layer("src/9.txt"), "damaged").unwrap();
    assert_eq!(written(&[]), 1);
}

#[test]
fn a_hash_is_that_of_paths_and_content_alone() {
    let one = Place::new(&[("a.txt", "1"), ("d/b.txt", "2")]);
    let other = Place::new(&[("d/b.txt", "0"), ("a.txt", "1")]);
    age(&other.at("a.txt"), 900);
    let first = one.prepare(&[]).hash;
    assert_eq!(first, other.prepare(&[("d/b.txt", Some("2"))]).hash);
    assert_eq!(first, one.sources.scan(&[]).unwrap().hash(), "as told without a layer");
    assert_ne!(first, other.prepare(&[]).hash);
    assert_ne!(first, one.prepare(&[("c.txt", Some(""))]).hash);
}

#[test]
fn a_build_folder_is_filled_once_and_never_shared() {
    let place = Place::new(&[
        ("Cargo.toml", ""),
        (".gitignore", "/target\nnode_modules\n"),
        ("target/debug/dep.rlib", "built"),
        ("target/debug/.fingerprint/x", "x"),
        ("target/doc/index.html", "not worth it"),
        ("web/package.json", "{}"),
        ("web/node_modules/lib/index.js", "seen, not copied"),
    ]);
    std::fs::hard_link(place.at("target/debug/dep.rlib"), place.at("target/debug/dep2.rlib")).unwrap();
    symlink("dep.rlib", place.at("target/debug/latest")).unwrap();
    age(&place.at("target/debug/dep.rlib"), 700);
    age(&place.at("target/debug/.fingerprint/x"), 600);
    let before = facts(place.ws.path());
    let ready = place.prepare(&[]);
    let mut at: Vec<String> = ready
        .bound
        .iter()
        .filter_map(|(_, at)| Some(at.strip_prefix(place.sources.root()).ok()?.display().to_string()))
        .collect();
    at.sort();
    assert_eq!(at, ["target", "web/node_modules/.cache", "web/node_modules/.vite"]);
    let own = place.own("target");
    insta::assert_snapshot!(tree(&own), @r#"
    debug/
    debug/.fingerprint/
    debug/.fingerprint/x 644 "x"
    debug/dep.rlib 644 "built"
    debug/dep2.rlib 644 "built"
    debug/latest -> dep.rlib
    "#);
    for name in ["debug/dep.rlib", "debug/.fingerprint/x", "debug"] {
        assert_eq!(modified(&own.join(name)), modified(&place.at("target").join(name)), "{name}");
    }
    std::fs::write(own.join("debug/dep.rlib"), "theirs").unwrap();
    assert_eq!(std::fs::read_to_string(own.join("debug/dep2.rlib")).unwrap(), "theirs", "one file of ours, two names");
    assert_eq!(before, facts(place.ws.path()), "the user's tree");
    place.write("target/debug/dep.rlib", "built again");
    place.prepare(&[]);
    assert_eq!(std::fs::read_to_string(own.join("debug/dep.rlib")).unwrap(), "theirs", "filled once");
}

#[test]
fn an_installation_behind_a_link_stays_behind_it() {
    let place = Place::new(&[(".gitignore", "node_modules\n"), ("package.json", "{}")]);
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), place.at("node_modules")).unwrap();
    let ready = place.prepare(&[]);
    assert!(ready.bound.iter().all(|(own, at)| own == at), "{:?}", ready.bound);
    assert!(place.layer("node_modules").symlink_metadata().is_err());
}

#[test]
fn too_large_a_folder_starts_empty_and_says_so() {
    let mut place = Place::new(&[(".gitignore", "/target\n"), ("target/big", &"x".repeat(100_000))]);
    place.caps.seed = 50_000;
    let ready = place.prepare(&[]);
    insta::assert_snapshot!(ready.notes.join("\n"), @"target starts empty: the workspace's has 0 MB, more than the 0 MB taken over");
    assert_eq!(tree(&place.own("target")), "");
    assert!(ready.bound.iter().any(|(own, at)| *own == place.own("target") && at.ends_with("target")));
    let mut place = Place::new(&[(".gitignore", "/target\n"), ("target/a", ""), ("target/b", "")]);
    place.caps.entries = 1;
    insta::assert_snapshot!(place.prepare(&[]).notes.join("\n"), @"target starts empty: the workspace's has more than 1 entries");
}

#[test]
fn a_tools_cache_that_is_not_taken_over_is_told() {
    let mut place = Place::new(&[("go.mod", "module x\n")]);
    let users = tempfile::tempdir().unwrap();
    std::fs::write(users.path().join("a"), "").unwrap();
    std::fs::write(users.path().join("b"), "").unwrap();
    place.caps.entries = 1;
    let view = place.open();
    let notes = || view.tools(place.ws.path(), &BTreeSet::new(), Some(users.path().to_owned())).unwrap().notes;
    assert_eq!(notes(), ["GOCACHE starts empty: the user's has more than 1 entries"]);
    assert!(notes().is_empty(), "told once, when the folder is made");
}

/// A folder taken over late was filled by builds of the user's text; what the view has instead must be newer.
#[test]
fn what_a_filled_folder_was_not_built_from_is_newer_than_it() {
    let place = Place::new(&[("Cargo.toml", ""), (".gitignore", "/dist\n"), ("a.txt", "a"), ("b.txt", "b")]);
    place.prepare(&[("a.txt", Some("proposed"))]);
    let times = || ["a.txt", "b.txt"].map(|name| modified(&place.layer(name)));
    let first = times();
    place.prepare(&[("a.txt", Some("proposed"))]);
    assert_eq!(times(), first);
    place.write("dist/built", "of the user's a.txt");
    place.prepare(&[("a.txt", Some("proposed"))]);
    let second = times();
    assert!(second[0] > modified(&place.own("dist").join("built")), "a build would take the folder's for its own");
    assert_eq!(second[1], first[1], "what the user has too stays as old as it is");
    // Changed, built and changed back between two checks: only the change time tells.
    std::fs::remove_dir_all(place.own("dist")).unwrap();
    place.write("b.txt", "other");
    place.write("dist/built", "of the other b.txt");
    place.write("b.txt", "b");
    place.prepare(&[("a.txt", Some("proposed"))]);
    assert!(times()[1] >= modified(&place.at("b.txt")));
}

/// An in-tree build leaves its objects beside the sources, where the view shows them.
#[test]
fn what_the_users_own_build_left_beside_the_sources_is_older_than_what_the_view_has_instead() {
    let place = Place::new(&[(".gitignore", "*.o\n"), ("a.c", "a"), ("b.c", "b")]);
    place.prepare(&[("a.c", Some("proposed"))]);
    let unbuilt = modified(&place.layer("b.c"));
    place.write("a.o", "of the user's a.c");
    age(&place.at("a.c"), 100);
    place.prepare(&[("a.c", Some("proposed"))]);
    assert!(modified(&place.layer("a.c")) > modified(&place.at("a.o")));
    assert_eq!(modified(&place.layer("b.c")), unbuilt);
    // Nothing was built since: nothing is new.
    let settled = modified(&place.layer("a.c"));
    place.prepare(&[("a.c", Some("proposed"))]);
    assert_eq!(modified(&place.layer("a.c")), settled);
}

#[test]
fn without_its_record_nothing_of_a_layer_is_trusted() {
    let place = Place::new(&[("Cargo.toml", ""), ("a.txt", "a")]);
    place.prepare(&[]);
    std::fs::write(place.own("target").join("built"), "x").unwrap();
    std::fs::write(place.layer("a.txt"), "other").unwrap();
    std::fs::write(place.cache.path().join("layers/t/layer.json"), "{").unwrap();
    place.prepare(&[]);
    assert_eq!(std::fs::read_to_string(place.layer("a.txt")).unwrap(), "a");
    assert!(!place.own("target").join("built").exists());
}

#[test]
fn the_folders_used_longest_ago_go_first_and_none_that_is_held() {
    let place = Place::new(&[("a.txt", &"x".repeat(40_000))]);
    for (task, seconds) in [("old", 300), ("held", 400), ("new", 100)] {
        let mut view = TaskView::open(place.cache.path(), &TaskId::new(task), place.caps).unwrap();
        view.prepare(&place.sources, &[]).unwrap();
        drop(view);
        age(&place.cache.path().join("layers").join(task).join("lock"), seconds);
    }
    let held = TaskView::open(place.cache.path(), &TaskId::new("held"), place.caps).unwrap();
    age(&place.cache.path().join("layers/held/lock"), 400);
    let size = caches::size(&place.cache.path().join("layers/new"));
    let left = || {
        let mut left: Vec<String> = std::fs::read_dir(place.cache.path().join("layers"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        left
    };
    let tasks = place.cache.path().join(TASKS);
    assert_eq!(shrink(&tasks, Caps { total: 3 * size + size / 2, ..place.caps }), 0);
    assert_eq!(left(), ["held", "new", "old"]);
    assert_eq!(shrink(&tasks, Caps { total: 2 * size + size / 2, ..place.caps }), 1);
    assert_eq!(left(), ["held", "new"]);
    drop(held);
    // A task that takes over a build folder makes room for it at once, and stays itself.
    place.write(".gitignore", "/target\n");
    place.write("target/built", "x");
    let caps = Caps { total: size, ..place.caps };
    let mut view = TaskView::open(place.cache.path(), &TaskId::new("next"), caps).unwrap();
    view.prepare(&place.sources, &[]).unwrap();
    assert_eq!(left(), ["next"]);
    drop(view);
    assert_eq!(shrink(&tasks, Caps { total: 0, ..place.caps }), 1);
}

#[test]
fn what_a_command_wrote_is_read_from_the_upper_folder() {
    let place = Place::new(&[
        (".gitignore", "*.o\n/gen/**\n!/gen/kept.txt\n"),
        ("src/a.txt", "a"),
        ("src/b.txt", "b"),
        ("src/touched.txt", "c"),
        ("whole/d.txt", "d"),
        ("whole/e.txt", "e"),
        ("removed/f.txt", "f"),
        ("to-folder", "g"),
        ("to-file/h.txt", "h"),
    ]);
    symlink("src", place.at("link")).unwrap();
    symlink("src", place.at("link2")).unwrap();
    let mut view = place.open();
    let ready = view.prepare(&place.sources, &[]).unwrap();
    let write = |path: &str, text: &str| {
        let at = ready.upper.join(path);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, text).unwrap();
    };
    let whiteout = |path: &str| {
        use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
        let at = ready.upper.join(path);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        mknodat(CWD, &at, FileType::CharacterDevice, Mode::empty(), makedev(0, 0)).unwrap();
    };
    write("src/a.txt", "A");
    whiteout("src/b.txt");
    write("src/touched.txt", "c");
    write("whole/d.txt", "new d");
    rustix::fs::setxattr(ready.upper.join("whole"), "user.overlay.opaque", b"y", rustix::fs::XattrFlags::empty())
        .unwrap();
    whiteout("removed");
    write("to-folder/in.txt", "in");
    write("to-file", "now a file");
    write("a.o", "ignored");
    write("gen/dropped.txt", "ignored");
    write("gen/kept.txt", "kept");
    write("tool/.gitignore", "*\n");
    write("tool/state.txt", "ignored by the tool's own rules");
    write("target/built", "a build folder");
    write(".git/index", "git's");
    write("bin.dat", "a\0b");
    symlink("src", ready.upper.join("link")).unwrap();
    write("link2", "no link any more");
    let wrote = view.ended(place.sources.root(), true);
    let lines = wrote.entries.iter().map(|(path, entry)| match entry {
        Entry::Absent => format!("- {path}"),
        Entry::File { text, mode } => format!("+ {path} {mode:o} {text:?}"),
    });
    let text: Vec<String> = lines.chain(wrote.notes.iter().cloned()).collect();
    insta::assert_snapshot!(text.join("\n"), @r#"
    + gen/kept.txt 644 "kept"
    - removed/f.txt
    + src/a.txt 644 "A"
    - src/b.txt
    + to-file 644 "now a file"
    - to-file/h.txt
    - to-folder
    + to-folder/in.txt 644 "in"
    + whole/d.txt 644 "new d"
    - whole/e.txt
    dropped: bin.dat was made, but is binary
    dropped: the link link2 was replaced
    "#);
}
