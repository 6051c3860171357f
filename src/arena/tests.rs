//! Rung 0 with real commands in real folders: what they see, what is kept of what they write, and how they end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is the test's finding"
)]

use super::*;
use crate::domain::ids::{EffectId, TraceId, Work};
use crate::domain::plan::Command;
use crate::domain::task::facts::Ended;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::Instant;

/// A workspace and a cache in temporary folders.
struct Place {
    ws: tempfile::TempDir,
    cache: tempfile::TempDir,
    limits: Limits,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self {
            ws: tempfile::tempdir().unwrap(),
            cache: tempfile::tempdir().unwrap(),
            limits: Limits { grace: Duration::from_millis(200), ..Limits::default() },
        };
        files.iter().for_each(|(path, text)| place.write(path, text));
        place
    }

    fn write(&self, path: &str, text: &str) {
        let at = self.ws.path().join(path);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, text).unwrap();
    }

    fn arena(&self) -> CopyArena {
        CopyArena::new(self.ws.path(), self.cache.path(), Vec::new(), self.limits).unwrap()
    }

    fn tree(&self) -> PathBuf {
        self.arena().view_dir(&task())
    }
}

fn task() -> TaskId {
    TaskId::new("t1")
}

fn order(script: &str, stage: Stage) -> RunOrder {
    RunOrder {
        task: task(),
        effect: EffectId { work: Work::Acceptance, attempt: 1, n: 1 },
        command: Command { argv: vec!["sh".into(), "-c".into(), script.into()], dir: None, env: Vec::new() },
        stage,
        timeout: Duration::from_secs(20),
        keeps: true,
        key: None,
        trace: TraceId::new("0af7651916cd43dd8448eb211c80319c"),
    }
}

fn laid(files: &[(&str, Option<&str>)]) -> Stage {
    let entry = |text: &Option<&str>| match text {
        Some(text) => Entry::File { text: (*text).into(), mode: 0o644 },
        None => Entry::Absent,
    };
    Stage::View(files.iter().map(|(path, text)| (WorkspacePath::new(path).unwrap(), entry(text))).collect())
}

fn silent() -> Deltas {
    Arc::new(|_| {})
}

async fn run(arena: &CopyArena, script: &str, stage: Stage) -> RunOutcome {
    arena.run(order(script, stage), silent()).await.unwrap()
}

/// The outcome as a test reads it.
fn render(outcome: &RunOutcome) -> String {
    let mut text = format!("{:?}\n{}", outcome.ended, outcome.output.trim_end());
    for (path, entry) in &outcome.wrote {
        text.push_str(&match entry {
            Entry::Absent => format!("\n- {path}"),
            Entry::File { text, mode } => format!("\n+ {path} {mode:o} {text:?}"),
        });
    }
    text
}

/// Waits until the condition holds; 5 s at most.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(5), "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn alive(pid: &str) -> bool {
    process::start_of(pid.trim().parse().unwrap()).is_some()
}

#[tokio::test]
async fn a_view_is_the_unignored_files_under_the_change_set() {
    let place = Place::new(&[
        (".gitignore", "*.log\nsecret/\n"),
        (".planwrightignore", "private.txt\n"),
        (".git/config", "x"),
        (".planwright/tasks/t1/a.plan.md", "x"),
        (".hidden", "kept"),
        ("a.txt", "user"),
        ("b.txt", "goes"),
        ("run.log", "x"),
        ("secret/key", "x"),
        ("private.txt", "x"),
    ]);
    let overlay = laid(&[("a.txt", Some("proposed")), ("b.txt", None), ("new/c.txt", Some("made"))]);
    let outcome = run(&place.arena(), "find . -type f | sort; cat a.txt", overlay).await;
    insta::assert_snapshot!(render(&outcome), @r"
    Exit(0)
    ./.gitignore
    ./.hidden
    ./.planwrightignore
    ./a.txt
    ./new/c.txt
    proposed
    ");
    assert_eq!(std::fs::read_to_string(place.ws.path().join("a.txt")).unwrap(), "user");
}

#[tokio::test]
async fn what_git_tracks_is_in_the_view_though_a_rule_ignores_it() {
    let place = Place::new(&[
        (".gitignore", "*.lock\ndist/\n"),
        (".planwrightignore", "own.lock\n"),
        ("dist/a.js", "a"),
        ("dist/built.js", "not tracked"),
        ("own.lock", "x"),
        ("x.lock", "kept"),
        ("new.lock", "not tracked"),
    ]);
    let git = |words: &str| {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(place.ws.path()).args(words.split(' ')).output().unwrap()
    };
    git("init -q");
    place.write("moved/secret", "tracked once");
    assert!(git("add -f dist/a.js own.lock x.lock moved/secret").status.success());
    std::fs::rename(place.ws.path().join("moved"), place.cache.path().join("moved")).unwrap();
    symlink(place.cache.path().join("moved"), place.ws.path().join("moved")).unwrap();
    for version in ["2", "4"] {
        assert!(git(&format!("update-index --index-version {version}")).status.success());
        let outcome = run(&place.arena(), "find . -type f | sort", laid(&[])).await;
        let expect = "Exit(0)\n./.gitignore\n./.planwrightignore\n./dist/a.js\n./x.lock\n\n\
                      [planwright: not in the copy: moved (a link that leads out)]";
        assert_eq!(render(&outcome), expect, "index version {version}");
    }
}

#[tokio::test]
async fn the_hash_of_a_view_is_the_same_told_and_run_and_follows_content_alone() {
    let place = Place::new(&[("a.txt", "1"), ("b.txt", "2")]);
    let arena = place.arena();
    let changed = vec![(WorkspacePath::new("a.txt").unwrap(), Entry::File { text: "3".into(), mode: 0o600 })];
    let told = arena.view(changed.clone()).await.unwrap();
    assert_eq!(run(&arena, "true", Stage::View(changed)).await.view, told);
    assert_ne!(arena.view(Vec::new()).await.unwrap(), told);
    place.write("a.txt", "3");
    assert_eq!(arena.view(Vec::new()).await.unwrap(), told);
}

#[tokio::test]
async fn unchanged_files_keep_their_copy_and_changed_ones_get_a_later_second() {
    let place = Place::new(&[("a.txt", "41"), ("b.txt", "same")]);
    let stat = |name: &str| {
        let meta = std::fs::metadata(place.tree().join(name)).unwrap();
        (meta.mtime(), meta.ino())
    };
    let mut seen: Vec<i64> = Vec::new();
    let mut kept = None;
    // Each round stands for another process: the record on disk must be enough.
    for overlay in [laid(&[]), laid(&[("a.txt", Some("42"))]), laid(&[]), laid(&[("a.txt", None)]), laid(&[])] {
        let gone = matches!(&overlay, Stage::View(files) if files.iter().any(|(_, entry)| *entry == Entry::Absent));
        run(&place.arena(), "true", overlay).await;
        assert_eq!(*kept.get_or_insert(stat("b.txt")), stat("b.txt"), "an unchanged file was copied again");
        if gone {
            assert!(!place.tree().join("a.txt").exists());
        } else {
            let now = stat("a.txt").0;
            assert!(seen.iter().all(|before| *before < now), "{now} after {seen:?}");
            seen.push(now);
        }
    }
}

/// X1 and X4: a rejected hunk whose file went back with its old time made tests pass on the text of before.
#[tokio::test]
async fn a_build_by_time_notices_that_a_hunk_was_rejected() {
    let place = Place::new(&[(".gitignore", "__pycache__/\n"), ("m.py", "V = 41\n")]);
    let script = "python3 -c 'import m; print(m.V)'; ls __pycache__ | wc -l";
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let mut said = Vec::new();
    for overlay in [laid(&[]), laid(&[("m.py", Some("V = 42\n"))]), laid(&[])] {
        said.push(run(&place.arena(), script, overlay).await.output.replace('\n', " "));
    }
    assert_eq!(said, ["41 1 ", "42 1 ", "41 1 "]);
}

/// X1 with the build tool it was measured on: seconds do not help here, cargo compares to the nanosecond.
#[tokio::test]
async fn cargo_rebuilds_after_a_reject_and_only_then() {
    let place = Place::new(&[
        ("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2024\"\n[lib]\ndoctest = false\n"),
        ("src/lib.rs", "mod v;\n#[test]\nfn answers() { assert_eq!(v::V, 42) }\n"),
        ("src/v.rs", "pub const V: u8 = 41;\n"),
    ]);
    let accepted = || laid(&[("src/v.rs", Some("pub const V: u8 = 42;\n"))]);
    let mut seen = Vec::new();
    for overlay in [accepted(), accepted(), laid(&[])] {
        let outcome = run(&place.arena(), "cargo test --offline", overlay).await;
        seen.push((outcome.ended == Ended::Exit(0), outcome.output.contains("Compiling x")));
    }
    // As `(passed, built)`: the second run is warm, the third must not trust what the first two built.
    assert_eq!(seen, [(true, true), (true, false), (false, true)]);
}

#[tokio::test]
async fn a_users_change_of_the_same_size_and_time_is_seen() {
    let place = Place::new(&[("a.txt", "41")]);
    let arena = place.arena();
    assert_eq!(run(&arena, "cat a.txt", laid(&[])).await.output, "41");
    let at = place.ws.path().join("a.txt");
    let time = std::fs::metadata(&at).unwrap().modified().unwrap();
    std::fs::write(&at, "42").unwrap();
    std::fs::File::options().write(true).open(&at).unwrap().set_modified(time).unwrap();
    assert_eq!(run(&arena, "cat a.txt", laid(&[])).await.output, "42");
}

#[tokio::test]
async fn what_a_command_wrote_is_told_and_gone_before_the_next_one() {
    let place =
        Place::new(&[(".gitignore", "*.o\ntarget/\n"), ("src/a.txt", "a"), ("src/b.txt", "b"), ("src/c.txt", "c")]);
    let arena = place.arena();
    let script = "printf A > src/a.txt; rm src/b.txt; touch -d 2001-01-01 src/c.txt; mkdir -p deep/er target dist; \
                  echo n > deep/er/new.txt; chmod 700 deep/er/new.txt; echo x > a.o; echo x > target/built; echo x > dist/d; \
                  printf 'a\\0b' > bin.dat; printf '\\377' > latin.txt";
    let outcome = run(&arena, script, laid(&[])).await;
    insta::assert_snapshot!(render(&outcome), @r#"
    Exit(0)

    [planwright: dropped: bin.dat was made, but is binary]
    [planwright: dropped: latin.txt was made, but is not UTF-8]
    + deep/er/new.txt 700 "n\n"
    + src/a.txt 644 "A"
    - src/b.txt
    "#);
    let outcome = run(&arena, "find . -type f | sort; cat src/*", laid(&[])).await;
    insta::assert_snapshot!(render(&outcome), @r"
    Exit(0)
    ./.gitignore
    ./dist/d
    ./src/a.txt
    ./src/b.txt
    ./src/c.txt
    ./target/built
    abc
    ");
}

#[tokio::test]
async fn links_stay_inside_and_a_commands_link_is_no_way_out() {
    let place = Place::new(&[("src/a.txt", "user"), ("target", "a file of the user's")]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("a.txt"), "outside").unwrap();
    symlink("src/a.txt", place.ws.path().join("relative")).unwrap();
    symlink(place.ws.path().canonicalize().unwrap().join("src"), place.ws.path().join("absolute")).unwrap();
    symlink(outside.path(), place.ws.path().join("out")).unwrap();
    symlink("../../etc", place.ws.path().join("src/up")).unwrap();
    let arena = place.arena();
    let script = format!(
        "cat relative absolute/a.txt; readlink absolute; rm -r src; ln -s {0} src; rm target; ln -s {0} target",
        outside.path().display()
    );
    let outcome = run(&arena, &script, laid(&[])).await;
    insta::assert_snapshot!(render(&outcome), @r"
    Exit(0)
    userusersrc

    [planwright: not in the copy: out (a link that leads out), src/up (a link that leads out)]
    [planwright: dropped: src was made, but is no regular file]
    [planwright: dropped: src/a.txt was written, but lies behind a link that the command made]
    [planwright: dropped: target was written, but is no regular file]
    ");
    run(&arena, "echo changed > src/a.txt; cat target", laid(&[("src/a.txt", Some("proposed"))])).await;
    assert_eq!(std::fs::read_to_string(outside.path().join("a.txt")).unwrap(), "outside");
    assert_eq!(std::fs::read_to_string(place.ws.path().join("src/a.txt")).unwrap(), "user");
    let behind = arena.run(order("true", laid(&[("absolute/x.txt", Some("x"))])), silent()).await;
    insta::assert_snapshot!(behind.unwrap_err(), @"the view could not be made: `absolute/x.txt` lies behind the link `absolute`; name the file by its real path");
}

#[tokio::test]
async fn a_command_gets_a_scrubbed_environment_its_key_and_no_input() {
    let place = Place::new(&[("tools/say", "#!/bin/sh\necho said in $(basename \"$PWD\")\n")]);
    std::fs::set_permissions(place.ws.path().join("tools/say"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let arena = place.arena();
    let mut asked = order(
        "env | grep -E '^(PLANWRIGHT_IDEMPOTENCY_KEY|TRACEPARENT|MODE|TERM)=' | sort; cat; ./say; echo err >&2; echo out",
        laid(&[]),
    );
    asked.key = Some("t1/announce".to_owned());
    asked.command.dir = Some("tools".to_owned());
    asked.command.env = vec![("MODE".to_owned(), "quick".to_owned())];
    let outcome = arena.run(asked.clone(), silent()).await.unwrap();
    insta::assert_snapshot!(render(&outcome), @r"
    Exit(0)
    MODE=quick
    PLANWRIGHT_IDEMPOTENCY_KEY=t1/announce
    TERM=dumb
    TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-906e35b7802db526-01
    said in tools
    err
    out
    ");
    asked.command.argv = vec!["env".to_owned()];
    let listed = |name: &&str| {
        let quiet = environment::QUIET.iter().any(|(known, _)| known == name);
        quiet || environment::PASSED.contains(name) || *name == "PATH" || name.starts_with("LC_")
    };
    let printed = arena.run(asked.clone(), silent()).await.unwrap().output;
    let mut rest: Vec<&str> = printed.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    rest.retain(|name| !listed(name));
    rest.sort_unstable();
    insta::assert_snapshot!(rest.join(" "), @"GIT_CEILING_DIRECTORIES MODE PLANWRIGHT_COMMAND PLANWRIGHT_HOST PLANWRIGHT_IDEMPOTENCY_KEY TRACEPARENT");
    asked.command.argv = vec!["./say".to_owned()];
    assert_eq!(arena.run(asked, silent()).await.unwrap().output, "said in tools\n");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let place = Place::new(&[("a.txt", "")]);
    let arena = place.arena();
    let mut asked = order("true", laid(&[]));
    asked.command.argv = vec!["no-such-program".to_owned(), "x".to_owned()];
    assert_eq!(arena.run(asked.clone(), silent()).await, Err(ArenaFault::NoProgram("no-such-program".to_owned())));
    for (dir, why) in [("../x", "out of the workspace"), ("nowhere", "No such file"), ("a.txt", "is no folder")] {
        let mut asked = order("true", laid(&[]));
        asked.command.dir = Some(dir.to_owned());
        let fault = arena.run(asked, silent()).await.unwrap_err().to_string();
        assert!(fault.contains(why), "{dir}: {fault}");
    }
    let inside = CopyArena::new(place.ws.path(), &place.ws.path().join("cache"), Vec::new(), Limits::default());
    assert!(matches!(inside, Err(ArenaFault::View(why)) if why.contains("PLANWRIGHT_CACHE_DIR")));
}

#[tokio::test]
async fn an_outside_effect_runs_in_the_workspace_itself() {
    let place = Place::new(&[("a.txt", "a")]);
    let outcome = run(&place.arena(), "echo sent > sent.log; kill -9 $$", Stage::Workspace).await;
    assert_eq!(outcome.ended, Ended::Signal(9));
    assert!(outcome.wrote.is_empty());
    assert_eq!(std::fs::read_to_string(place.ws.path().join("sent.log")).unwrap(), "sent\n");
}

/// A grandchild in a session of its own, one with an empty environment in the group, one that ignores SIGTERM.
const BROOD: &str = "setsid sh -c 'echo $$ > setsid.pid; trap \"\" TERM HUP; sleep 60; sleep 60' & \
                     env -i sh -c 'echo $$ > plain.pid; exec sleep 60' & \
                     (sh -c 'echo $$ > double.pid; exec sleep 60' &) ; \
                     while ! [ -s setsid.pid -a -s plain.pid -a -s double.pid ]; do sleep 0.01; done; echo up;";

fn brood(place: &Place) -> Vec<String> {
    let read = |name| std::fs::read_to_string(place.tree().join(name)).unwrap_or_default();
    ["setsid.pid", "plain.pid", "double.pid"].map(read).to_vec()
}

#[tokio::test]
async fn the_whole_tree_ends_with_the_command() {
    let place = Place::new(&[]);
    let begun = Instant::now();
    let outcome = run(&place.arena(), BROOD, laid(&[])).await;
    assert_eq!((outcome.ended, outcome.output.as_str()), (Ended::Exit(0), "up\n"));
    assert!(begun.elapsed() < Duration::from_secs(10), "it waited for the grandchildren's pipe");
    for pid in brood(&place) {
        until("a grandchild ends", || !alive(&pid)).await;
    }
}

#[tokio::test]
async fn the_whole_tree_ends_at_the_time_limit() {
    let place = Place::new(&[]);
    let mut asked = order(&format!("trap 'echo bye; exit 0' TERM; {BROOD} sleep 60 & wait"), laid(&[]));
    asked.timeout = Duration::from_secs(2);
    let outcome = place.arena().run(asked, silent()).await.unwrap();
    assert_eq!((outcome.ended, outcome.output.as_str()), (Ended::Timeout, "up\nbye\n"));
    for pid in brood(&place) {
        until("a grandchild ends", || !alive(&pid)).await;
    }
}

#[tokio::test]
async fn a_command_that_ignores_the_term_signal_is_killed() {
    let place = Place::new(&[]);
    let mut asked = order("trap '' TERM; while :; do sleep 0.05; done", laid(&[]));
    asked.timeout = Duration::from_millis(100);
    let outcome = place.arena().run(asked, silent()).await.unwrap();
    assert_eq!(outcome.ended, Ended::Timeout);
    assert!(outcome.millis < 5_000, "{} ms", outcome.millis);
}

#[tokio::test]
async fn dropping_the_future_ends_the_tree() {
    let place = Place::new(&[]);
    let arena = place.arena();
    let mut running = arena.run(order(&format!("{BROOD} echo $$ > leader.pid; sleep 60"), laid(&[])), silent());
    let leader = place.tree().join("leader.pid");
    tokio::select! {
        _ = &mut running => panic!("it cannot end by itself"),
        () = until("it starts", || std::fs::read_to_string(&leader).is_ok_and(|pid| pid.ends_with('\n'))) => {}
    }
    let mut pids = brood(&place);
    pids.push(std::fs::read_to_string(&leader).unwrap());
    let begun = Instant::now();
    drop(running);
    for pid in pids {
        until("a process ends", || !alive(&pid)).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(2));
    // And the copy is free again.
    assert_eq!(run(&arena, "ls", laid(&[])).await.output, "");
}

#[tokio::test]
async fn endless_output_is_cut_and_killed() {
    let mut place = Place::new(&[]);
    place.limits.output = 1 << 20;
    let streamed = Arc::new(Mutex::new(0));
    let (count, arena) = (streamed.clone(), place.arena());
    let deltas: Deltas = Arc::new(move |part| *count.lock().unwrap() += part.len());
    let outcome = arena.run(order("yes", laid(&[])), deltas).await.unwrap();
    assert_eq!(outcome.ended, Ended::OutputLimit);
    assert!(outcome.output.len() < 140 << 10);
    assert!(outcome.bytes > 1 << 20 && outcome.output.contains("bytes left out"));
    assert!(*streamed.lock().unwrap() > 1 << 20);
}

#[tokio::test]
async fn a_new_host_ends_what_a_killed_one_left() {
    let start = || std::process::Command::new("sleep").arg("60").env("PLANWRIGHT_HOST", "1:1 77:42").spawn().unwrap();
    let mut orphan = start();
    assert_eq!(end_leftovers("77:4"), 0);
    assert_eq!(end_leftovers(host_marker()), 0);
    assert_eq!(end_leftovers("77:42"), 1);
    assert!(!orphan.wait().unwrap().success());
    // Also one that has hardly begun.
    let mut orphan = start();
    let ended = end_leftovers("77:42");
    let _ended = orphan.kill();
    orphan.wait().unwrap();
    assert_eq!(ended, 1);
}

#[tokio::test]
async fn a_formatter_gets_the_text_and_nothing_else() {
    let place = Place::new(&[("a.up", "in the workspace")]);
    let sh = |script: &str| vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()];
    let formatters = vec![
        ("up".to_owned(), sh("ls; tr a-z A-Z")),
        ("bad".to_owned(), sh("cat; exit 1")),
        ("slow".to_owned(), sh("cat; sleep 60")),
        ("gone".to_owned(), vec!["no-such-formatter".to_owned()]),
        ("void".to_owned(), sh("cat > /dev/null")),
    ];
    let limits = Limits { format: Duration::from_millis(1_500), ..Limits::default() };
    let arena = CopyArena::new(place.ws.path(), place.cache.path(), formatters, limits).unwrap();
    for (name, expect) in
        [("a.up", Some("TEXT\n")), ("a.bad", None), ("a.slow", None), ("a.gone", None), ("a.void", None), ("a", None)]
    {
        let got = arena.format(&WorkspacePath::new(name).unwrap(), "text\n").await;
        assert_eq!(got.as_deref(), expect, "{name}");
    }
}

/// Whoever may write above it could choose the program: rustup does as a file there says.
#[tokio::test]
async fn a_formatter_runs_where_no_other_user_writes() {
    let place = Place::new(&[]);
    let formatters = vec![("up".to_owned(), vec!["sh".to_owned(), "-c".to_owned(), "cat > /dev/null; pwd".to_owned()])];
    let arena = CopyArena::new(place.ws.path(), place.cache.path(), formatters, Limits::default()).unwrap();
    let folder = arena.format(&WorkspacePath::new("a.up").unwrap(), "text\n").await.unwrap();
    assert!(Path::new(folder.trim_end()).starts_with(place.cache.path().canonicalize().unwrap()), "{folder}");
}

#[tokio::test]
async fn rustfmt_is_given_the_nearest_settings() {
    let place = Place::new(&[("rustfmt.toml", "outer"), ("in/.rustfmt.toml", "inner"), ("in/deep/other.toml", "no")]);
    std::os::unix::fs::symlink("/etc/hostname", place.ws.path().join("in/deep/rustfmt.toml")).unwrap();
    let programs = tempfile::tempdir().unwrap();
    let program = programs.path().join("rustfmt");
    std::fs::write(&program, "#!/bin/sh\ncat > /dev/null; ls -A; cat .rustfmt.toml rustfmt.toml 2>/dev/null; exit 0\n")
        .unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let formatters = vec![("rs".to_owned(), vec![program.to_str().unwrap().to_owned()])];
    let arena = CopyArena::new(place.ws.path(), place.cache.path(), formatters, Limits::default()).unwrap();
    let mut said = Vec::new();
    for name in ["a.rs", "out/a.rs", "in/a.rs", "in/deep/a.rs"] {
        let got = arena.format(&WorkspacePath::new(name).unwrap(), "text\n").await;
        said.push(format!("{name}: {}", got.unwrap_or_default().replace('\n', " ")));
    }
    insta::assert_snapshot!(said.join("\n"), @"
    a.rs: rustfmt.toml outer
    out/a.rs: rustfmt.toml outer
    in/a.rs: .rustfmt.toml inner
    in/deep/a.rs: .rustfmt.toml inner
    ");
}
