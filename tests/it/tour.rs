//! The tour: it runs to its end by itself, and what it prints can be typed.

use crate::support::Project;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a slow machine may take for one command; each of them compiles two small files at most.
const PATIENCE: Duration = Duration::from_secs(120);

/// The tour, without a person: what it printed, and the folder that it left.
fn tour(temporary: &Path) -> (String, PathBuf) {
    let output = Command::new(env!("CARGO_BIN_EXE_planwright"))
        .arg("tour")
        .env("TMPDIR", temporary)
        // Not even a model that the machine offers is asked.
        .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .env("HOME", temporary)
        .envs(toolchain())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{out}\n{}", String::from_utf8_lossy(&output.stderr));
    let folder = std::fs::read_dir(temporary)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("planwright-tour-")))
        .unwrap();
    (out, folder)
}

/// Where the machine's Rust is, for a home folder that is not the user's.
fn toolchain() -> Vec<(&'static str, PathBuf)> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")]
        .into_iter()
        .map(|(name, below)| (name, std::env::var_os(name).map_or_else(|| home.join(below), PathBuf::from)))
        .collect()
}

/// A fresh copy of the sample, as the tour makes it.
fn unpacked() -> Project {
    let mut project = Project::without_git(&[]);
    // As the tour does it.
    project.env.push(("PLANWRIGHT_ISOLATION".to_owned(), "on".to_owned()));
    let root = project.root.with_file_name("till");
    project.run(&["tour", "--unpack", "../till"]).exits(0);
    project.root = root;
    project
}

/// The project's own files: not what planwright keeps there, and nothing that is built.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(root).unwrap().to_path_buf();
            if below == Path::new(".planwright") {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((below, std::fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_commands_that_the_tour_prints_give_the_same_files_by_themselves() {
    let temporary = tempfile::tempdir().unwrap();
    let (out, folder) = tour(&temporary.path().canonicalize().unwrap());
    let toured = files(&folder.join("till"));
    let text = |path: &str| {
        let file = toured.iter().find(|(known, _)| known == Path::new(path)).unwrap_or_else(|| panic!("no {path}"));
        String::from_utf8(file.1.clone()).unwrap()
    };
    assert!(text("src/price.rs").contains("pub fn sum_of("), "{out}");
    assert!(text("src/bill.rs").contains("super::price::sum_of("), "{out}");
    assert!(text("src/discount.rs").contains(".unwrap_or(0)"), "{out}");
    assert!(out.contains("done (verified)") && out.contains("recovery:"), "{out}");
    assert!(!out.contains('\u{1b}'), "no colours for a file: {out}");

    let project = unpacked();
    let lines: Vec<&str> = out.lines().collect();
    let mut done = 0;
    for (index, line) in lines.iter().enumerate() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let words = shell_words::split(command).unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["touch", name] => project.write(name, ""),
            ["planwright", words @ ..] if lines.get(index + 1).is_some_and(|next| next.starts_with("# kill -9 ")) => {
                killed_while_it_waits(&project, words);
            }
            ["planwright", words @ ..] => {
                let said = lines.iter().skip(index).find_map(|line| line.strip_prefix("→ exit ")).unwrap();
                let code = said.split(':').next().unwrap().parse().unwrap();
                project.run(words).exits(code);
            }
            other => panic!("the tour prints a command that it does not run: {other:?}"),
        }
        done += 1;
    }
    assert!(done >= 10, "only {done} commands were found in {out}");
    assert_eq!(files(&project.root), toured);
}

/// Runs it until the check says that it waits, and kills it as the remark says.
fn killed_while_it_waits(project: &Project, words: &[&str]) {
    let mut child = project.command(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let begun = Instant::now();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        said.push_str(&line.unwrap());
        said.push('\n');
        if said.contains("waiting for the drawer to open") {
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().code(), None, "a signal ended it");
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{said}");
    }
    let _ended = child.wait();
    panic!("it ended before its check had begun: {said}");
}

/// The hunks that are kept, and whether the check passes on what they give.
fn check(name: &str, keeps: impl Fn(&str) -> bool, passes: bool) {
    let project = unpacked();
    project.write("drawer.open", "");
    let changes = [
        ("src/bill.rs", "price::total(", "price::sum_of("),
        ("src/price.rs", "fn total(", "fn sum_of("),
        ("src/discount.rs", ".unwrap_or(0)", ".unwrap_or_default()"),
    ];
    for (path, old, new) in changes.into_iter().filter(|(path, _, _)| keeps(path)) {
        let text = project.read(path);
        assert_eq!(text.matches(old).count(), 1, "{path}");
        project.write(path, text.replace(old, new));
    }
    let output = Command::new("cargo")
        .args(["test", "--offline"])
        .current_dir(&project.root)
        .env("CARGO_TARGET_DIR", project.root.join("target"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.success(), passes, "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_check_holds_exactly_when_the_rename_is_whole() {
    check("before", |_| false, false);
    check("the first hunk alone", |path| path == "src/bill.rs", false);
    check("the definition alone", |path| path == "src/price.rs", false);
    check("all three", |_| true, true);
    check("the two that are kept", |path| path != "src/discount.rs", true);
}

#[test]
fn the_sample_is_never_written_over_something() {
    let project = unpacked();
    let before = files(&project.root);
    let said = project.run(&["tour", "--unpack", project.root.to_str().unwrap()]).exits(2);
    assert!(said.err.contains("a folder that does not exist yet"), "{said:?}");
    assert_eq!(files(&project.root), before);
}
