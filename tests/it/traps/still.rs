//! While a check runs, its view stands still, and nobody is in anybody's way.

use super::{Trap, bare, passes};
use planwright::ports::Arena;

#[test]
fn edits_during_a_check_do_not_show_in_it() {
    let Some(trap) = Trap::new(&[
        ("ws/.gitignore", "*.log\n"),
        ("ws/a.txt", "a\n"),
        ("ws/b.txt", "b\n"),
        ("ws/signal.log", "wait\n"),
    ]) else {
        return;
    };
    // What is ignored is seen as it is at the moment; by that it learns that the user has been at work.
    let script = "cat a.txt b.txt; until grep -q go signal.log; do sleep 0.02; done; cat a.txt b.txt";
    let ws = trap.ws();
    let edits = move |_: &str| {
        std::fs::write(ws.join("a.txt"), "edited\n").unwrap();
        std::fs::rename(ws.join("b.txt"), ws.join("c.txt")).ok();
        std::fs::write(ws.join("signal.log"), "go\n").unwrap();
    };
    let outcome = trap.run("t", &["sh", "-c", script], &[], edits);
    assert_eq!(outcome.output, "a\nb\na\nb\n");
    assert!(outcome.wrote.is_empty());
    assert_eq!(trap.view(&["cat", "a.txt", "c.txt"], &[]).output, "edited\nb\n");
    assert!(!passes(&trap.view(&["cat", "b.txt"], &[])));
}

#[test]
fn two_checks_and_the_users_own_build_at_once() {
    let Some(trap) = Trap::new(&[
        ("ws/Cargo.toml", "[package]\nname = \"x\"\nedition = \"2024\"\n[lib]\ndoctest = false\n[workspace]\n"),
        ("ws/.gitignore", "/target\nCargo.lock\n"),
        ("ws/src/lib.rs", "mod v;\n#[test]\nfn answers() {\n    assert_eq!(v::V, 42)\n}\n"),
        ("ws/src/v.rs", "pub const V: u8 = 41;\n"),
    ]) else {
        return;
    };
    let test = ["cargo", "test", "--offline"];
    let check = |task: &str, text: &str| passes(&trap.run(task, &test, &[("src/v.rs", Some(text))], |_| {}));
    for _ in 0..2 {
        let (right, wrong, users) = std::thread::scope(|scope| {
            let right = scope.spawn(|| check("right", "pub const V: u8 = 42;\n"));
            let wrong = scope.spawn(|| check("wrong", "pub const V: u8 = 43;\n"));
            let users = bare(&trap.ws(), &test);
            (right.join().unwrap(), wrong.join().unwrap(), users)
        });
        assert!(right && !wrong);
        assert!(!users.0 && users.1.contains("left: 41"), "{}", users.1);
    }
}

#[test]
fn a_message_names_files_as_the_workspace_does() {
    let Some(trap) = Trap::new(&[("ws/src/a.txt", "a\n")]) else { return };
    let said = trap.view(&["sh", "-c", "echo $PWD/src/a.txt:1: wrong; echo $PWD-other/a.txt"], &[]).output;
    let beside = format!("{}-other/a.txt", trap.ws().display());
    assert_eq!(said, format!("src/a.txt:1: wrong\n{beside}\n"));
}

/// A verdict's hash can be told without running anything, and it is that of what a command was given.
#[test]
fn the_hash_of_a_view_is_the_same_told_and_run() {
    let Some(trap) = Trap::new(&[("ws/a.txt", "a\n"), ("ws/b.txt", "b\n"), ("ws/.gitignore", "*.log\n")]) else {
        return;
    };
    std::os::unix::fs::symlink("/etc/hostname", trap.ws().join("out")).unwrap();
    std::fs::write(trap.ws().join("seen.log"), "x").unwrap();
    let told = |proposed| trap.runtime.block_on(trap.arena.view(super::laid(proposed))).unwrap();
    let proposed = [("a.txt", Some("proposed\n")), ("b.txt", None)];
    assert_eq!(trap.view(&["true"], &proposed).view, told(&proposed));
    assert_eq!(trap.view(&["true"], &[]).view, told(&[]));
    assert_ne!(told(&proposed), told(&[]));
    std::fs::write(trap.ws().join("seen.log"), "y").unwrap();
    assert_eq!(trap.view(&["true"], &[]).view, told(&[]));
}
