#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop at the first surprise and says what it skips"
)]

use super::disk::walk;
use super::watch::{add, watch_by};
use super::write::{Circumstances, write, write_in};
use super::*;
use crate::domain::change::Entry;
use crate::domain::ids::{TaskId, WorkspacePath};
use crate::ports::{LoosePage, ReadRefusal, Workspace, WriteRefusal};
use crate::testing::memory_workspace::MemoryWorkspace;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

mod mend;

struct Ground {
    _dir: TempDir,
    root: PathBuf,
    state: PathBuf,
}

fn ground() -> Ground {
    let dir = tempfile::tempdir().unwrap();
    let (root, state) = (dir.path().canonicalize().unwrap().join("ws"), dir.path().join("state"));
    fs::create_dir(&root).unwrap();
    Ground { _dir: dir, root, state }
}

impl Ground {
    fn disk(&self) -> Disk {
        Disk::open(self.root.clone(), self.state.clone()).unwrap()
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        path
    }

    /// Nothing but these files is left in the workspace: no temporary file either.
    #[track_caller]
    fn check_files(&self, expect: &[&str]) {
        let mut names: Vec<String> =
            fs::read_dir(&self.root).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, expect);
    }
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).unwrap()
}

fn file(text: &str) -> Entry {
    Entry::File { text: Arc::from(text), mode: 0o644 }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn read(disk: &Disk, name: &str) -> Result<Entry, ReadRefusal> {
    run(disk.read(&path(name)))
}

#[test]
fn a_file_is_replaced_made_and_removed() {
    let ground = ground();
    let own = ground.put("a.rs", "\u{feff}one\r\ntwo\n");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o750)).unwrap();
    let disk = ground.disk();
    let before = read(&disk, "a.rs").unwrap();
    assert_eq!(before, Entry::File { text: Arc::from("\u{feff}one\r\ntwo\n"), mode: 0o750 });
    let after = Entry::File { text: Arc::from("\u{feff}one\r\n2\n"), mode: 0o750 };
    run(disk.write(&path("a.rs"), &before, &after)).unwrap();
    assert_eq!(read(&disk, "a.rs").unwrap(), after);
    let program = Entry::File { text: Arc::from("\u{feff}one\r\n2\n"), mode: 0o644 };
    run(disk.write(&path("a.rs"), &after, &program)).unwrap();
    assert_eq!(fs::metadata(&own).unwrap().mode() & 0o7777, 0o644);
    run(disk.write(&path("a.rs"), &program, &Entry::Absent)).unwrap();
    assert_eq!(read(&disk, "a.rs").unwrap(), Entry::Absent);
    run(disk.write(&path("x/y/b.rs"), &Entry::Absent, &file("new"))).unwrap();
    assert_eq!(fs::read_to_string(ground.root.join("x/y/b.rs")).unwrap(), "new");
    ground.check_files(&["x"]);
}

/// What somebody else does in the moment before the act, and what the write does then.
#[track_caller]
fn check_race(before: &Entry, after: &Entry, meanwhile: impl Fn(&Path), left: Option<&str>) {
    check_race_on(true, before, after, &meanwhile, left);
    check_race_on(false, before, after, &meanwhile, left);
}

#[track_caller]
fn check_race_on(exchange: bool, before: &Entry, after: &Entry, meanwhile: &dyn Fn(&Path), left: Option<&str>) {
    let ground = ground();
    let own = ground.root.join("a.rs");
    if let Entry::File { text, .. } = before {
        ground.put("a.rs", text);
    }
    let done = write_in(
        &ground.root,
        &path("a.rs"),
        before,
        after,
        Circumstances { records: None, meanwhile: &|| meanwhile(&own), exchange },
    );
    assert!(matches!(done, Err(WriteRefusal::Changed { .. })), "{done:?}");
    assert_eq!(fs::read_to_string(&own).ok().as_deref(), left);
    ground.check_files(if left.is_some() { &["a.rs"] } else { &[] });
}

fn save(own: &Path) {
    fs::write(own, "theirs").unwrap();
}

fn save_by_rename(own: &Path) {
    let other = own.with_extension("tmp");
    fs::write(&other, "theirs").unwrap();
    fs::rename(other, own).unwrap();
}

#[test]
fn a_file_system_without_exchange_is_written_too() {
    let ground = ground();
    let around = Circumstances { records: None, meanwhile: &|| {}, exchange: false };
    let mut before = Entry::Absent;
    for after in [file("one"), file("two"), Entry::Absent] {
        write_in(&ground.root, &path("a.rs"), &before, &after, around).unwrap();
        assert_eq!(read(&ground.disk(), "a.rs"), Ok(after.clone()));
        before = after;
    }
    ground.check_files(&[]);
}

#[test]
fn what_somebody_saves_in_between_stays() {
    let (old, new) = (file("old"), file("new"));
    check_race(&old, &new, save, Some("theirs"));
    check_race(&old, &new, save_by_rename, Some("theirs"));
    check_race(&old, &Entry::Absent, save, Some("theirs"));
    check_race(&old, &Entry::Absent, save_by_rename, Some("theirs"));
    check_race(&Entry::Absent, &new, save, Some("theirs"));
    // without an exchange, a save into the file after the comparison
    let moments = std::cell::Cell::new(0);
    let second = |own: &Path| {
        moments.set(moments.get() + 1);
        if moments.get() == 2 {
            save(own);
        }
    };
    check_race_on(false, &old, &new, &second, Some("theirs"));
    assert_eq!(moments.get(), 2);
    let stale = ground();
    stale.put("a.rs", "theirs");
    for after in [&new, &Entry::Absent, &file("old")] {
        let done = write(&stale.root, None, &path("a.rs"), &old, after);
        assert_eq!(done, Err(WriteRefusal::Changed { path: path("a.rs"), found: file("theirs").hash() }));
    }
}

#[test]
fn what_a_killed_write_left_is_removed_unless_it_is_somebodys_text() {
    let ground = ground();
    ground.put("a.rs", "two");
    let (one, two) = (file("one").hash(), file("two").hash());
    let left = |label: &str, text: &str| ground.put(&format!(".a.rs.planwright-{label}-0123456789abcdef"), text);
    left("new", "tw");
    let texts = format!("{}-{}", one.short(), two.short());
    left(&texts, "one");
    assert_eq!(run(ground.disk().list()).len(), 1);
    write(&ground.root, None, &path("a.rs"), &file("two"), &file("three")).unwrap();
    ground.check_files(&["a.rs"]);
    let kept = left(&texts, "saved in that moment");
    let done = write(&ground.root, None, &path("a.rs"), &file("three"), &file("four"));
    assert!(done.unwrap_err().to_string().contains(kept.to_str().unwrap()));
    assert_eq!(fs::read_to_string(ground.root.join("a.rs")).unwrap(), "three");
}

/// What every workspace promises.
#[track_caller]
fn check_promises(workspace: &dyn Workspace, change_behind: &dyn Fn(&str, &str)) {
    let a = path("a.rs");
    run(async {
        assert_eq!(workspace.read(&path("none.rs")).await, Ok(Entry::Absent));
        assert_eq!(workspace.read(&a).await, Ok(file("one")));
        workspace.write(&a, &file("one"), &file("two")).await.unwrap();
        change_behind("a.rs", "theirs");
        for after in [file("three"), Entry::Absent] {
            let done = workspace.write(&a, &file("two"), &after).await;
            assert_eq!(done, Err(WriteRefusal::Changed { path: a.clone(), found: file("theirs").hash() }));
        }
        let done = workspace.write(&a, &Entry::Absent, &file("three")).await;
        assert_eq!(done, Err(WriteRefusal::Changed { path: a.clone(), found: file("theirs").hash() }));
        workspace.write(&path("b.rs"), &Entry::Absent, &file("new")).await.unwrap();
        workspace.write(&a, &file("theirs"), &Entry::Absent).await.unwrap();
        let listed: Vec<String> = workspace.list().await.iter().map(|f| format!("{} {}", f.path, f.size)).collect();
        assert_eq!(listed, ["b.rs 3"]);
        let task = TaskId::new("k3f9");
        let page = workspace.write_page(&task, "task.md", "# page").await.unwrap();
        assert_eq!(page, workspace.page_path(&task, "task.md"));
        assert_eq!(workspace.read_page(&task, "task.md").await.unwrap().as_deref(), Some("# page"));
        assert_eq!(workspace.list().await.len(), 1);
    });
}

#[test]
fn disk_and_memory_keep_the_same_promises() {
    let ground = ground();
    ground.put("a.rs", "one");
    check_promises(&ground.disk(), &|name, text| drop(ground.put(name, text)));
    let memory = MemoryWorkspace::new([("a.rs", "one")]);
    check_promises(&memory, &|name, text| memory.change_behind(&path(name), file(text)));
    memory.change_during_next_write(&path("b.rs"), file("theirs"));
    let done = run(memory.write(&path("b.rs"), &file("new"), &file("x")));
    assert!(matches!(done, Err(WriteRefusal::Changed { .. })));
    assert_eq!(memory.entry(&path("b.rs")), file("theirs"));
}

#[test]
fn a_file_with_two_names_keeps_both() {
    let ground = ground();
    let own = ground.put("a.rs", "old text");
    fs::hard_link(&own, ground.root.join("b.rs")).unwrap();
    write(&ground.root, None, &path("a.rs"), &file("old text"), &file("new")).unwrap();
    assert_eq!(fs::read_to_string(ground.root.join("b.rs")).unwrap(), "new");
    assert_eq!(fs::metadata(&own).unwrap().nlink(), 2);
    let race = |own: &Path| fs::write(own, "theirs").unwrap();
    let done = write_in(
        &ground.root,
        &path("a.rs"),
        &file("new"),
        &file("x"),
        Circumstances { records: None, meanwhile: &|| race(&own), exchange: true },
    );
    assert!(matches!(done, Err(WriteRefusal::Changed { .. })));
    assert_eq!(fs::read_to_string(&own).unwrap(), "theirs");
}

#[test]
fn a_link_to_a_secret_or_to_git_is_neither_read_nor_written() {
    let ground = ground();
    ground.put(".env", "TOKEN=1");
    ground.put(".git/hooks/sample", "old");
    ground.put("src/a.rs", "a");
    ground.put("docs/b.md", "b");
    for (target, link) in [("../.env", "src/u.rs"), ("../.git", "src/dir"), ("../docs", "src/more")] {
        symlink(target, ground.root.join(link)).unwrap();
    }
    let disk = ground.disk();
    for name in ["src/u.rs", "src/dir/hooks/sample", "src/dir/hooks/pre-commit", "src/dir/new/hook"] {
        assert!(matches!(read(&disk, name), Err(ReadRefusal::Protected { .. })), "{name}");
        let found = match name {
            "src/u.rs" => file("TOKEN=1"),
            "src/dir/hooks/sample" => file("old"),
            _ => Entry::Absent,
        };
        for after in [file("new"), Entry::Absent] {
            let done = run(disk.write(&path(name), &found, &after));
            assert!(matches!(done, Err(WriteRefusal::Unreadable(ReadRefusal::Protected { .. }))), "{name}: {done:?}");
        }
    }
    assert!(!ground.root.join(".git/new").exists());
    let told: Vec<String> = ["src/a.rs", "src/u.rs", "src/more/b.md", "src/more/x/new.md", "none/at/all"]
        .map(|name| run(disk.resolved(&path(name))).to_string())
        .into();
    assert_eq!(told, ["src/a.rs", ".env", "docs/b.md", "docs/x/new.md", "none/at/all"]);
}

#[test]
fn a_link_inside_is_read_and_written_through_and_one_outside_is_refused() {
    let ground = ground();
    ground.put("real/a.rs", "old");
    symlink("real/a.rs", ground.root.join("link.rs")).unwrap();
    let outside = ground._dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "s").unwrap();
    symlink(outside.join("secret"), ground.root.join("out")).unwrap();
    symlink(&outside, ground.root.join("dir")).unwrap();
    symlink("nowhere", ground.root.join("dangling")).unwrap();
    let disk = ground.disk();
    assert_eq!(read(&disk, "link.rs"), Ok(file("old")));
    run(disk.write(&path("link.rs"), &file("old"), &file("new"))).unwrap();
    assert!(ground.root.join("link.rs").is_symlink());
    assert_eq!(fs::read_to_string(ground.root.join("real/a.rs")).unwrap(), "new");
    for name in ["out", "dir/secret", "dir/none/x"] {
        assert_eq!(read(&disk, name), Err(ReadRefusal::Outside(path(name))));
        let done = run(disk.write(&path(name), &Entry::Absent, &file("x")));
        assert_eq!(done, Err(WriteRefusal::Unreadable(ReadRefusal::Outside(path(name)))));
    }
    assert!(matches!(read(&disk, "dangling"), Err(ReadRefusal::Failed { .. })));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    run(disk.write(&path("link.rs"), &file("new"), &Entry::Absent)).unwrap();
    assert!(ground.root.join("real/a.rs").exists() && !ground.root.join("link.rs").is_symlink());
}

#[test]
fn what_is_no_text_is_refused() {
    let ground = ground();
    let disk = ground.disk();
    fs::write(ground.root.join("latin"), b"caf\xe9").unwrap();
    fs::write(ground.root.join("binary"), b"a\0b").unwrap();
    fs::File::create(ground.root.join("large")).unwrap().set_len(LIMIT + 1).unwrap();
    fs::create_dir(ground.root.join("folder")).unwrap();
    assert_eq!(read(&disk, "latin"), Err(ReadRefusal::NotUtf8(path("latin"))));
    assert_eq!(read(&disk, "binary"), Err(ReadRefusal::Binary(path("binary"))));
    assert_eq!(read(&disk, "large"), Err(ReadRefusal::TooLarge { path: path("large"), size: LIMIT + 1, limit: LIMIT }));
    assert_eq!(read(&disk, "folder"), Err(ReadRefusal::NotAFile(path("folder"))));
    assert_eq!(read(&disk, "latin/x"), Ok(Entry::Absent));
    let made = Command::new("mkfifo").arg(ground.root.join("pipe")).status().is_ok_and(|status| status.success());
    assert!(!made || read(&disk, "pipe") == Err(ReadRefusal::NotAFile(path("pipe"))));
    let done = run(disk.write(&path(".git/config"), &Entry::Absent, &file("x")));
    assert!(matches!(done, Err(WriteRefusal::Failed { .. })));
}

#[test]
fn attributes_and_owner_survive() {
    let ground = ground();
    let own = ground.put("a.rs", "old");
    let mark = rustix::fs::setxattr(&own, "user.mark", b"1", rustix::fs::XattrFlags::empty());
    if mark.is_err() {
        crate::testing::skipped("no extended attributes on this file system");
    }
    let root_user = rustix::process::geteuid().is_root();
    if root_user {
        std::os::unix::fs::chown(&own, Some(65534), Some(65534)).unwrap();
    }
    let before = fs::metadata(&own).unwrap();
    write(&ground.root, None, &path("a.rs"), &file("old"), &file("new")).unwrap();
    let after = fs::metadata(&own).unwrap();
    assert_eq!((after.uid(), after.gid(), after.mode()), (before.uid(), before.gid(), before.mode()));
    assert_ne!(after.ino(), before.ino());
    if mark.is_ok() {
        let mut value = [0_u8; 4];
        assert_eq!(rustix::fs::getxattr(&own, "user.mark", value.as_mut_slice()), Ok(1));
    }
}

/// Set in the child that runs as nobody: the workspace it is to write.
const AS_NOBODY: &str = "PLANWRIGHT_TEST_AS_NOBODY";

#[test]
fn a_workspace_that_cannot_be_written_says_so_and_pages_go_aside() {
    if let Some(dir) = std::env::var_os(AS_NOBODY) {
        let dir = PathBuf::from(dir);
        let disk = Disk::open(dir.join("ws"), dir.join("state")).unwrap();
        let done = run(disk.write(&path("a.rs"), &file("old"), &file("new")));
        assert!(matches!(done, Err(WriteRefusal::Failed { .. })), "{done:?}");
        let page = run(disk.write_page(&TaskId::new("k3f9"), "task.md", "# page")).unwrap();
        assert!(page.starts_with(dir.join("state")) && page == disk.page_path(&TaskId::new("k3f9"), "task.md"));
        assert_eq!(run(disk.read_page(&TaskId::new("k3f9"), "task.md")).unwrap().as_deref(), Some("# page"));
        // a foreign file that may be written is written in place and keeps its owner
        run(disk.write(&path("shared.rs"), &file("old"), &file("new"))).unwrap();
        return;
    }
    if !rustix::process::geteuid().is_root() {
        crate::testing::skipped("only root can become nobody");
        return;
    }
    let ground = ground();
    let dir = ground._dir.path();
    ground.put("a.rs", "old");
    let shared = ground.put("shared.rs", "old");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(&ground.state).unwrap();
    std::os::unix::fs::chown(&ground.state, Some(65534), Some(65534)).unwrap();
    // the test program itself may stand in a folder that nobody cannot enter
    let program = dir.join("test-program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let name = "workspace::tests::a_workspace_that_cannot_be_written_says_so_and_pages_go_aside";
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["--exact", name, "--nocapture"])
        .env(AS_NOBODY, dir.canonicalize().unwrap())
        .current_dir("/");
    let started = std::time::Instant::now();
    loop {
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => {
                crate::testing::skipped(&format!("setpriv cannot be started: {error}"));
                return;
            }
        };
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            // the child must have run this very test, not none
            assert!(said.contains("1 passed"), "{said}");
            break;
        }
        // a child that another test has just forked still holds the copy open for writing
        let busy = said.contains("Text file busy") && started.elapsed().as_secs() < 20;
        assert!(busy, "{said}");
    }
    assert_eq!(fs::read_to_string(ground.root.join("a.rs")).unwrap(), "old");
    assert_eq!(fs::read_to_string(&shared).unwrap(), "new");
    assert_eq!((fs::metadata(&shared).unwrap().uid(), fs::metadata(&shared).unwrap().mode() & 0o777), (0, 0o666));
}

#[test]
fn ignored_files_are_not_listed_and_hidden_ones_are() {
    let ground = ground();
    for name in ["b.rs", "a/x.rs", ".hidden", "target/o", "secret.txt", ".git/HEAD", ".planwright/tasks/t/p.md"] {
        ground.put(name, "x");
    }
    ground.put(".gitignore", "target/\n");
    ground.put(".planwrightignore", "secret*\n");
    let names: Vec<String> = run(ground.disk().list()).into_iter().map(|listed| listed.path.to_string()).collect();
    assert_eq!(names, [".gitignore", ".hidden", ".planwrightignore", "a/x.rs", "b.rs"]);
}

fn git(dir: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn a_root_is_the_top_of_its_worktree_and_knows_where_it_stands() {
    let ground = ground();
    let outside = run(ground.disk().binding());
    assert_eq!((outside.git, outside.head, outside.branch), (None, None, None));
    if git(&ground.root, &["init"]).is_none() {
        crate::testing::skipped("no git");
        return;
    }
    let unborn = run(ground.disk().binding());
    assert_eq!((unborn.head, unborn.branch.as_deref()), (None, Some("refs/heads/main")));
    ground.put("sub/a.rs", "x");
    git(&ground.root, &["add", "."]).unwrap();
    git(&ground.root, &["commit", "-m", "one"]).unwrap();
    let head = git(&ground.root, &["rev-parse", "HEAD"]).unwrap();
    let below = Disk::open(ground.root.join("sub"), ground.state.clone()).unwrap();
    assert_eq!(below.root(), ground.root);
    assert_eq!(run(below.binding()).head.as_deref(), Some(head.as_str()));
    git(&ground.root, &["pack-refs", "--all"]).unwrap();
    assert_eq!(run(below.binding()).head.as_deref(), Some(head.as_str()));
    let tree = ground._dir.path().join("tree");
    git(&ground.root, &["worktree", "add", "--detach", tree.to_str().unwrap()]).unwrap();
    let other = run(Disk::open(tree, ground.state.clone()).unwrap().binding());
    assert_eq!(
        (other.head.as_deref(), other.branch, other.git),
        (Some(head.as_str()), None, Some(ground.root.join(".git")))
    );
}

#[test]
fn pages_are_kept_out_of_git_and_in_their_folder() {
    let ground = ground();
    let disk = ground.disk();
    let task = TaskId::new("k3f9");
    assert_eq!(run(disk.read_page(&task, "task.md")).unwrap(), None);
    let page = run(disk.write_page(&task, "log/one.md", "x")).unwrap();
    assert_eq!(page, ground.root.join(".planwright/tasks/k3f9/log/one.md"));
    assert_eq!(
        fs::read_to_string(ground.root.join(".planwright/.gitignore")).unwrap(),
        "/*\n!/recipes/\n!/config.toml\n"
    );
    assert!(run(disk.write_page(&task, "../../../x", "x")).is_err());
    assert!(run(disk.write_page(&TaskId::new(".."), "x", "x")).is_err());
    if git(&ground.root, &["init"]).is_some() {
        assert_eq!(git(&ground.root, &["status", "--porcelain", "-uall"]).as_deref(), Some(""));
    }
}

#[test]
fn a_page_is_replaced_only_while_it_says_what_was_read() {
    let ground = ground();
    let (disk, task) = (ground.disk(), TaskId::new("k3f9"));
    let replace = |from: &str, to: &str| run(disk.replace_page(&task, "a.plan.md", from, to));
    let page = || run(disk.read_page(&task, "a.plan.md")).unwrap();
    assert!(matches!(replace("", "made"), Err(WriteRefusal::Changed { .. })), "there is no page");
    let path = run(disk.write_page(&task, "a.plan.md", "made")).unwrap();
    assert_eq!(replace("made", "made again"), Ok(path.clone()));
    fs::write(&path, "saved by a person").unwrap();
    assert!(matches!(replace("made again", "made at last"), Err(WriteRefusal::Changed { .. })));
    assert_eq!(page().as_deref(), Some("saved by a person"));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing lies beside it");
}

#[test]
fn a_planwright_folder_that_leads_out_is_not_used() {
    let ground = ground();
    let outside = ground._dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, ground.root.join(".planwright")).unwrap();
    let page = run(ground.disk().write_page(&TaskId::new("k3f9"), "task.md", "x")).unwrap();
    assert!(page.starts_with(&ground.state));
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn a_change_is_reported_also_in_a_new_folder_and_not_in_an_ignored_one() {
    let ground = ground();
    ground.put(".gitignore", "target/\n");
    ground.put("a.rs", "x");
    run(async {
        let mut changes = watch(&ground.root);
        assert_eq!(changes.incomplete(), None);
        ground.put("target/o", "x");
        ground.put("new/deep/b.rs", "x");
        ground.put("a.rs", "y");
        let mut seen = std::collections::BTreeSet::new();
        let wanted = [path("a.rs"), path("new/deep/b.rs")];
        while !wanted.iter().all(|path| seen.contains(path)) {
            let next = tokio::time::timeout(std::time::Duration::from_secs(20), changes.next()).await;
            seen.extend(next.unwrap().unwrap().paths);
        }
        assert!(!seen.contains(&path("target/o")), "{seen:?}");
    });
}

/// A change to this file is told of in time.
#[track_caller]
fn check_told(changes: &mut Changes, name: &str, change: impl Fn()) {
    run(async {
        let told = async {
            loop {
                change();
                let next = tokio::time::timeout(std::time::Duration::from_secs(2), changes.next()).await;
                if next.is_ok_and(|burst| burst.unwrap().paths.contains(&path(name))) {
                    return;
                }
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), told).await.unwrap();
    });
}

#[test]
fn changes_are_found_where_the_system_has_no_watches_left() {
    let ground = ground();
    let own = ground.put("src/a.rs", "x");
    let (_events, none) = std::sync::mpsc::channel();
    let mut changes = watch_by(&ground.root, Err(notify::Error::generic("no watches are left")), none);
    assert_eq!(changes.incomplete(), Some("no watches are left"));
    let count = std::cell::Cell::new(0);
    check_told(&mut changes, "src/a.rs", || {
        count.set(count.get() + 1);
        drop(ground.put("src/a.rs", &format!("y{}", count.get())));
    });
    check_told(&mut changes, "src/a.rs", || drop(fs::remove_file(&own)));
    check_told(&mut changes, "new/b.rs", || drop(ground.put("new/b.rs", &format!("{:?}", std::time::Instant::now()))));
}

#[test]
fn a_queue_that_ran_over_is_told_of() {
    let ground = ground();
    ground.put("a.rs", "x");
    let (events, overrun) = std::sync::mpsc::channel();
    let mut changes = watch_by(&ground.root, notify::recommended_watcher(|_| {}), overrun);
    assert_eq!(changes.incomplete(), None);
    let rescan = notify::Event::new(notify::EventKind::Other).set_flag(notify::event::Flag::Rescan);
    events.send(Ok(rescan)).unwrap();
    let burst = run(async { tokio::time::timeout(std::time::Duration::from_secs(20), changes.next()).await });
    assert_eq!(burst.unwrap(), Some(Burst { more: true, ..Burst::default() }));
}

/// A watcher that is refused one folder.
struct Refused(fn() -> notify::Error);

impl notify::Watcher for Refused {
    fn new<F: notify::EventHandler>(_: F, _: notify::Config) -> notify::Result<Self> {
        Err(notify::Error::generic("it is made by hand"))
    }

    fn watch(&mut self, path: &Path, _: notify::RecursiveMode) -> notify::Result<()> {
        if path.ends_with("closed") { Err((self.0)()) } else { Ok(()) }
    }

    fn unwatch(&mut self, _: &Path) -> notify::Result<()> {
        Ok(())
    }

    fn kind() -> notify::WatcherKind {
        notify::WatcherKind::NullWatcher
    }
}

#[test]
fn a_folder_that_may_not_be_read_has_nothing_looked_through() {
    use std::io::ErrorKind::{Other, PermissionDenied};
    let ground = ground();
    ground.put("closed/a.rs", "x");
    let refused = |error: fn() -> notify::Error| {
        add(&mut Refused(error), &mut std::collections::BTreeSet::new(), walk(&ground.root))
    };
    assert_eq!(refused(|| notify::Error::io(PermissionDenied.into())), None);
    assert!(refused(|| notify::Error::io(Other.into())).is_some());
}

#[test]
fn a_folder_that_was_moved_away_takes_its_files_with_it() {
    let ground = ground();
    ground.put("src/deep/a.rs", "x");
    run(async {
        let mut changes = watch(&ground.root);
        assert_eq!(changes.incomplete(), None);
        fs::rename(ground.root.join("src"), ground.root.join("other")).unwrap();
        let told = async { while !changes.next().await.unwrap().more {} };
        tokio::time::timeout(std::time::Duration::from_secs(10), told).await.unwrap();
    });
}

#[test]
fn git_is_at_work_while_its_lock_is_young() {
    let (ground, beside) = (self::ground(), self::ground());
    let disk = ground.disk();
    assert!(!run(disk.moving()));
    ground.put(".git/HEAD", "ref: refs/heads/main\n");
    assert!(!run(disk.moving()));
    let lock = ground.put(".git/index.lock", "");
    assert!(run(disk.moving()));
    // One that a killed git left, or that `git commit -a` holds while the message is written.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
    assert!(!run(disk.moving()));
    // A worktree's index lies in a folder of its own.
    ground.put(".git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    beside.put(".git", &format!("gitdir: {}\n", ground.root.join(".git/worktrees/w").display()));
    let disk = beside.disk();
    assert!(!run(disk.moving()));
    ground.put(".git/worktrees/w/index.lock", "");
    assert!(run(disk.moving()));
}

#[test]
fn a_page_of_no_task_lies_below_the_root_or_nowhere_and_follows_no_link() {
    let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let disk = || Disk::open(root.path().to_owned(), outside.path().join("state")).unwrap();
    assert_eq!(run(disk().read_loose(LoosePage::Goal)).unwrap(), None);
    let path = run(disk().write_loose(LoosePage::Goal, "one")).unwrap();
    assert_eq!(path, root.path().canonicalize().unwrap().join(".planwright/goal.md"));
    assert_eq!(run(disk().read_loose(LoosePage::Goal)).unwrap().as_deref(), Some("one"));
    assert!(root.path().join(".planwright/.gitignore").exists());
    let precious = outside.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    run(disk().write_loose(LoosePage::Goal, "two")).unwrap();
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");

    std::fs::remove_dir_all(root.path().join(".planwright")).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join(".planwright")).unwrap();
    assert!(run(disk().write_loose(LoosePage::Goal, "three")).is_err());
    assert_eq!(run(disk().read_loose(LoosePage::Goal)).unwrap(), None);
    assert!(!outside.path().join("goal.md").exists());
}
