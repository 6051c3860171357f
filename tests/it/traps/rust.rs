//! Cargo: time and place.

use super::{Trap, bare, cp, passes};

const MANIFEST: &str = "[package]\nname = \"x\"\nedition = \"2024\"\n[lib]\ndoctest = false\n[workspace]\n";
const TEST: [&str; 3] = ["cargo", "test", "--offline"];

#[test]
fn a_hunk_rejected_after_a_build_that_passed_is_built_again() {
    let Some(trap) = Trap::new(&[
        ("ws/Cargo.toml", MANIFEST),
        ("ws/.gitignore", "/target\n"),
        ("ws/src/lib.rs", "mod v;\n#[test]\nfn answers() {\n    assert_eq!(v::V, 42)\n}\n"),
        ("ws/src/v.rs", "pub const V: u8 = 41;\n"),
    ]) else {
        return;
    };
    let answer = "pub const V: u8 = 42;\n";

    let copy = trap.copied();
    assert!(!copy.run(&TEST).0);
    copy.write("src/v.rs", answer);
    assert!(copy.run(&TEST).0);
    cp(&trap.ws().join("src/v.rs"), &copy.root.join("src/v.rs"));
    assert!(copy.run(&TEST).0, "a plain copy was expected to lie: the text says 41 again");

    let accepted = [("src/v.rs", Some(answer))];
    let outcomes = [&accepted[..], &accepted, &[], &accepted].map(|proposed| trap.view(&TEST, proposed));
    let seen = outcomes.each_ref().map(|outcome| (passes(outcome), outcome.output.contains("Compiling x")));
    let text: String = outcomes.iter().map(|outcome| outcome.output.as_str()).collect();
    // As `(passed, built)`: the second run is warm.
    assert_eq!(seen, [(true, true), (true, false), (false, true), (true, true)], "{text}");
    assert!(outcomes.iter().all(|outcome| outcome.wrote.iter().all(|(path, _)| path.as_str() == "Cargo.lock")));
}

#[test]
fn what_the_user_built_is_warm_and_what_the_view_changed_is_built() {
    let Some(trap) = Trap::new(&[
        ("ws/Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"3\"\n"),
        ("ws/.gitignore", "/target\n"),
        ("ws/a/Cargo.toml", "[package]\nname = \"a\"\nedition = \"2024\"\n"),
        ("ws/a/src/lib.rs", "pub const A: u8 = 1;\n"),
        ("ws/b/Cargo.toml", "[package]\nname = \"b\"\nedition = \"2024\"\n[dependencies]\na = { path = \"../a\" }\n"),
        ("ws/b/src/lib.rs", "pub const B: u8 = a::A;\n"),
    ]) else {
        return;
    };
    let build = ["cargo", "build", "--offline"];
    assert!(bare(&trap.ws(), &build).0);
    let outcome = trap.view(&build, &[("b/src/lib.rs", Some("pub const B: u8 = a::A + 1;\n"))]);
    let built = ["Compiling a", "Compiling b"].map(|line| outcome.output.contains(line));
    assert_eq!((passes(&outcome), built), (true, [false, true]), "{}", outcome.output);

    // The same in a plain copy with the build folder along: warm too, but at another path.
    let copy = trap.copied();
    copy.write("b/src/lib.rs", "pub const B: u8 = a::A + 1;\n");
    assert!(copy.run(&build).0);
}

#[test]
fn a_dependency_beside_the_workspace_is_found() {
    let Some(trap) = Trap::new(&[
        ("lib/Cargo.toml", "[package]\nname = \"lib\"\nedition = \"2024\"\n[workspace]\n"),
        ("lib/src/lib.rs", "pub const L: u8 = 42;\n"),
        ("ws/Cargo.toml", &format!("{MANIFEST}[dependencies]\nlib = {{ path = \"../lib\" }}\n")),
        ("ws/.gitignore", "/target\n"),
        ("ws/src/lib.rs", "#[test]\nfn answers() {\n    assert_eq!(lib::L, 41)\n}\n"),
    ]) else {
        return;
    };
    let proposed = "#[test]\nfn answers() {\n    assert_eq!(lib::L, 42)\n}\n";
    let copy = trap.copied();
    copy.write("src/lib.rs", proposed);
    let (passed, said) = copy.run(&TEST);
    assert!(!passed && said.contains("../lib") || said.contains("lib/Cargo.toml"), "{said}");

    let outcome = trap.view(&TEST, &[("src/lib.rs", Some(proposed))]);
    assert!(passes(&outcome), "{}", outcome.output);
    assert!(!passes(&trap.view(&TEST, &[])));
}
