//! The README is true: its tables are the program's, its commands exist, what it says can be run runs, and what it
//! shows as recorded is what the program says today.
//!
//! Blocks: `sh` marked `runnable` are run in order in one empty folder; a `console` block is a recording of the lines
//! behind `$`, run in the same folder, with `…` for what was cut; a `toml` block is a configuration; a `markdown` block
//! is a plan document. Commands that only a whole build can try (`tests/all`, the tour) are run by `tests/all` itself.

use crate::support::Project;
use crate::support::source::repository;
use planwright::config::{self, Arguments, Environment};
use std::ffi::OsString;
use std::process::{Command, Stdio};

fn readme() -> String {
    std::fs::read_to_string(repository().join("README.md")).unwrap()
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Block {
    info: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some(Block { info: info.to_owned(), text: String::new() }),
            (None, None) => {}
            (Some(_), Some("")) => found.extend(open.take()),
            (Some(block), _) => block.text.push_str(&format!("{line}\n")),
        }
    }
    assert_eq!(open, None, "a block is not closed");
    found
}

fn of_kind<'a>(blocks: &'a [Block], kind: &'a str) -> impl Iterator<Item = &'a Block> {
    blocks.iter().filter(move |block| block.info.split_whitespace().next() == Some(kind))
}

/// The text between `<!-- NAME -->` and `<!-- /NAME -->`.
fn between<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("<!-- {name} -->\n"))?;
    rest.split_once(&format!("\n<!-- /{name} -->")).map(|(inside, _)| inside.trim())
}

/// Every table in the README that the program makes, with what it makes today.
fn tables() -> [(&'static str, String); 4] {
    [
        ("actions", planwright::actions::documentation()),
        ("keys", planwright::domain::plan::keys::documentation()),
        ("config", config::documentation()),
        ("commands", planwright::domain::policy::commands::shapes::documentation()),
    ]
}

fn stale(page: &str) -> Vec<String> {
    let differs = |(name, made): &(&str, String)| between(page, name) != Some(made.trim());
    tables().into_iter().filter(differs).map(|(name, made)| format!("<!-- {name} -->:\n{made}")).collect()
}

/// Command lines of a block: comments, documents behind `<<` and prompts taken away.
fn lines(block: &Block) -> Vec<String> {
    let console = block.info.starts_with("console");
    let mut found: Vec<String> = Vec::new();
    let mut until: Option<String> = None;
    let mut goes_on = false;
    for line in block.text.lines() {
        if let Some(end) = &until {
            if line == end {
                until = None;
            }
            continue;
        }
        let line = match (console, line.strip_prefix("$ ")) {
            (true, Some(line)) => line,
            (true, None) => continue,
            (false, _) => line,
        };
        until = line.split_once("<<").map(|(_, end)| end.trim().trim_matches('\'').to_owned());
        let (text, more) = line.strip_suffix('\\').map_or((line, false), |text| (text, true));
        match found.last_mut() {
            Some(last) if goes_on => last.push_str(text),
            Some(_) | None => found.push(text.to_owned()),
        }
        goes_on = more;
    }
    found.retain(|line| !line.is_empty() && !line.starts_with('#'));
    found
}

/// Commands to our program in a line, without its name.
fn ours(line: &str) -> Vec<Vec<String>> {
    let line = line.split(" #").next().unwrap_or_default();
    let words = shell_words::split(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let commands = words.split(|word| matches!(word.as_str(), "&&" | "||" | ";" | "|" | ">"));
    commands
        .filter_map(|words| {
            let set = words.iter().take_while(|word| word.contains('=')).count();
            match words.get(set..)? {
                [first, rest @ ..] if first == "planwright" => Some(rest.to_vec()),
                [first, second, rest @ ..] if first == "cargo" && second == "run" => {
                    rest.iter().position(|word| word == "--").map(|at| rest[at + 1..].to_vec())
                }
                [..] => None,
            }
        })
        .collect()
}

/// Command lines of our program that it does not take.
fn unknown(blocks: &[Block]) -> Vec<String> {
    let lines = of_kind(blocks, "sh").chain(of_kind(blocks, "console")).flat_map(lines);
    let refused = |words: Vec<String>| {
        let given = ["planwright".to_owned()].into_iter().chain(words.clone()).map(OsString::from);
        planwright::cli::parse(given).err().map(|_| words.join(" "))
    };
    lines.flat_map(|line| ours(&line)).filter_map(refused).collect()
}

/// A folder in which `planwright` is the program under test.
fn shell(project: &Project, script: &str) -> (String, i32) {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_planwright"));
    let found = std::env::var_os("PATH").unwrap_or_default();
    let path = [binary.parent().unwrap().to_path_buf()].into_iter().chain(std::env::split_paths(&found));
    let given = project.command(&[]);
    let mut command = Command::new("bash");
    command.args(["-c", &format!("exec 2>&1\n{script}")]).current_dir(&project.root).stdin(Stdio::null());
    for (name, value) in given.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env_remove("PLANWRIGHT_CONFIG").env("XDG_CONFIG_HOME", &project.state);
    command.env("PATH", std::env::join_paths(path).unwrap());
    for (name, value) in [("NAME", "you"), ("EMAIL", "you@example.org")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let said = command.output().unwrap();
    (String::from_utf8_lossy(&said.stdout).into_owned(), said.status.code().unwrap_or(-1))
}

/// Whether a recorded line is a line that was said: `…` stands for anything, `k3xf` for the task's id, which is new
/// each time, `by you` for whoever runs this, and a revision's digest for any, because it covers the versions in force.
fn same(recorded: &str, said: &str) -> bool {
    let exact = regex::escape(recorded.trim_end()).replace('…', ".*").replace("k3xf", "[a-z0-9]{4}");
    let exact = exact.replace(" by you ", " by [^ ]+ ");
    let digest = regex::Regex::new("(r[0-9]+)\\\\-[0-9a-f]{12}").unwrap();
    let pattern = digest.replace_all(&exact, "$1-[0-9a-f]{12}");
    regex::Regex::new(&format!("^{pattern}$")).unwrap().is_match(said.trim_end())
}

/// Paths of this repository that a page names and that do not exist.
fn gone(page: &str) -> Vec<&str> {
    let ticked = page.split('`').skip(1).step_by(2);
    let ours = ticked.filter(|text| ["src/", "tests/", ".ci/"].iter().any(|top| text.starts_with(top)));
    ours.filter(|path| path.ends_with(".rs") && !repository().join(path).exists()).collect()
}

/// Files that a page links to and that do not exist.
fn dead(page: &str) -> Vec<&str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    files.filter(|file| !repository().join(file).exists()).collect()
}

/// Commands of the server that an editor's file binds and that do not exist.
fn unbound(text: &str) -> Vec<&str> {
    let named = text.split("lsp-workspace-command planwright.").skip(1);
    let names = named.filter_map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next());
    names.filter(|name| !planwright::actions::ACTIONS.iter().any(|row| row.lsp == Some(*name))).collect()
}

/// The first recorded line that was not said in its place.
fn missing<'a>(recorded: &[&'a str], said: &str) -> Option<&'a str> {
    let mut said = said.lines();
    let mut cut = false;
    for line in recorded {
        if line.trim() == "…" {
            cut = true;
            continue;
        }
        let found = if cut { said.any(|other| same(line, other)) } else { said.next().is_some_and(|o| same(line, o)) };
        if !found {
            return Some(line);
        }
        cut = false;
    }
    None
}

#[test]
fn its_tables_are_the_programs() {
    let stale = stale(&readme());
    assert!(stale.is_empty(), "the README should hold:\n{}", stale.join("\n"));
}

#[test]
fn its_commands_exist() {
    let blocks = blocks(&readme());
    let unknown = unknown(&blocks);
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    let all = |text: &str| of_kind(&blocks, "sh").any(|block| block.text.contains(text));
    assert!(all("cargo run --release -- tour") && all("tests/all"), "the two first commands are gone");
    let script = std::fs::read_to_string(repository().join("tests/all")).unwrap();
    assert!(script.contains("cargo run --release -- tour"), "nothing runs the tour as the README has it");
    let ci = std::fs::read_to_string(repository().join(".ci/run")).unwrap();
    assert!(ci.contains("tests/all"), "CI does not run the README's test command");
}

#[test]
fn the_files_it_names_exist() {
    let page = readme();
    assert_eq!(gone(&page), Vec::<&str>::new());
    assert!(page.contains("`tests/it/"), "it names no test");
    assert_eq!(dead(&page), Vec::<&str>::new());
    assert!(page.contains("](editors/pictures/"), "it shows no editor");
}

#[test]
fn what_editors_are_given_is_sound() {
    let read = |name: &str| std::fs::read_to_string(repository().join("editors").join(name)).unwrap();
    for name in ["helix/languages.toml", "helix/config.toml"] {
        let text = read(name);
        assert!(text.parse::<toml::Table>().is_ok(), "{name}");
        assert_eq!(unbound(&text), Vec::<&str>::new(), "{name}");
    }
    assert!(read("helix/config.toml").contains("lsp-workspace-command planwright.accept"));
    // The commands by which the extension is built are those that `tests/all` runs.
    let script = std::fs::read_to_string(repository().join("tests/all")).unwrap();
    assert!(script.contains("npm ci") && script.contains("npm run --silent package"));
}

#[test]
fn its_plans_and_configurations_are_accepted() {
    let blocks = blocks(&readme());
    let mut seen = 0;
    for block in of_kind(&blocks, "markdown") {
        let problems = planwright::domain::plan::parse(&block.text).problems;
        assert_eq!(format!("{problems:?}"), "[]", "{}", block.text);
        seen += 1;
    }
    for block in of_kind(&blocks, "toml") {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, &block.text).unwrap();
        let arguments = Arguments { config: Some(file), ..Arguments::default() };
        let home = folder.path().to_string_lossy().into_owned();
        let loaded = config::load(&Environment::of([("HOME", home.as_str())]), &arguments);
        assert!(loaded.is_ok(), "{}\n{}", block.text, loaded.unwrap_err());
        seen += 1;
    }
    assert!(seen >= 2, "only {seen} were found");
}

#[test]
fn what_it_shows_is_what_happens() {
    let blocks = blocks(&readme());
    let project = Project::without_git(&[]);
    let mut ran = 0;
    for block in &blocks {
        let (runnable, console) = (block.info == "sh runnable", block.info == "console");
        if runnable {
            let (said, code) = shell(&project, &format!("set -euo pipefail\n{}", block.text));
            assert_eq!(code, 0, "{}\n{said}", block.text);
            ran += 1;
        }
        let mut rest = block.text.lines().peekable();
        while let Some(command) = rest.next().filter(|_| console) {
            let command = command.strip_prefix("$ ").unwrap_or_else(|| panic!("no command: {command}"));
            let mut recorded = Vec::new();
            while let Some(line) = rest.next_if(|line| !line.starts_with("$ ")) {
                recorded.push(line);
            }
            let (said, _) = shell(&project, command);
            assert_eq!(missing(&recorded, &said), None, "$ {command}\n{said}");
            ran += 1;
        }
    }
    assert!(ran > 5, "only {ran} commands were found");
}

#[test]
fn each_rule_sees_what_it_is_for() {
    let page = "a\n```sh runnable\nplanwright taks\nplanwright plan \"x\" \\\n  --at a.rs # why\ncargo run --release -- tuor\nX=1 planwright tasks && Y=2 planwright stats | cat\ncat > a <<'END'\nplanwright no\nEND\n```\n```console\n$ planwright nope\nplanwright said\n```\n";
    let found = blocks(page);
    assert_eq!(found.len(), 2);
    let unknown = unknown(&found);
    assert_eq!(unknown, ["taks", "tuor", "stats", "nope"]);

    let right: String =
        tables().iter().map(|(name, made)| format!("<!-- {name} -->\n{made}\n<!-- /{name} -->\n")).collect();
    assert_eq!(stale(&right), Vec::<String>::new());
    assert_eq!(stale(&right.replace("| `tasks`", "| `taks`")).len(), 1);
    assert_eq!(stale(&right.replace("| `scope`", "| `scop`")).len(), 1);
    assert_eq!(stale(&right.replace("`limits.turns`", "`limits.turn`")).len(), 1);
    assert_eq!(stale(&right.replace("| `rustfmt`", "| `rustfm`")).len(), 1);
    assert_eq!(stale("").len(), 4);

    let paths = "see `tests/it/readme.rs`, `tests/it/no.rs` and `src/no/such.rs`";
    assert_eq!(gone(paths), ["tests/it/no.rs", "src/no/such.rs"]);

    assert_eq!(dead("[a](README.md) ![b](no.svg) [c](https://x.y/z) [d](#e)"), ["no.svg"]);
    assert_eq!(
        unbound("\":lsp-workspace-command planwright.accept \\\"x\\\"\" :lsp-workspace-command planwright.acept"),
        ["acept"]
    );

    let said = "task ab12 is open\nrename: done\nnext: planwright run ab12 r2-0123456789ab\n";
    assert_eq!(missing(&["task k3xf is open", "…", "next: planwright run k3xf r2-ba9876543210"], said), None);
    assert_eq!(missing(&["task k3xf is open", "next: …"], said), Some("next: …"));
    assert_eq!(missing(&["task k3xf was open"], said), Some("task k3xf was open"));
    assert_eq!(missing(&["task … open"], said), None);
    assert_eq!(missing(&["task … shut"], said), Some("task … shut"));
    assert_eq!(missing(&["…", "never said"], said), Some("never said"));
}
