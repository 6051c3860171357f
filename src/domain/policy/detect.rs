//! Which checks a project has, read off its files.
//!
//! Invariant: a check is offered only if a file says that the project has it; nothing is installed and nothing is
//! fetched by one. Absent: reading files (names and the few needed texts come in), and trying whether a check works.

use crate::domain::ids::WorkspacePath;
use crate::domain::plan::{Check, Command};
use crate::domain::policy::cost::cost;

/// The checks a plan without any is given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Detected {
    /// Types or lints: seconds.
    pub quick: Option<Check>,
    /// Tests.
    pub full: Option<Check>,
    /// Which file says so, for the person who reads the plan.
    pub because: String,
}

impl Detected {
    /// All of them, the cheapest first.
    pub fn in_order(&self) -> Vec<&Check> {
        let mut all: Vec<&Check> = self.quick.iter().chain(&self.full).collect();
        all.sort_by_key(|check| cost(check));
        all
    }
}

/// Names whose text `detect` wants to see; of other files the name is enough.
pub const MANIFESTS: [&str; 10] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
];

/// The checks of the project nearest to the root. `files` are the workspace's, with the texts of `MANIFESTS`.
pub fn detect(files: &[(WorkspacePath, Option<&str>)]) -> Detected {
    let found = projects(files);
    found.into_iter().min_by_key(|project| (project.depth(), project.rank)).map(Project::checks).unwrap_or_default()
}

/// The checks of the innermost project around `place`, of its package alone where the tool can do that.
pub fn detect_at(files: &[(WorkspacePath, Option<&str>)], place: &WorkspacePath) -> Detected {
    let mut around: Vec<Project> =
        projects(files).into_iter().filter(|project| project.holds(place.as_str())).collect();
    let innermost = around.iter().map(Project::depth).max();
    let suits = |project: &Project| place.extension().is_some_and(|extension| project.extensions.contains(&extension));
    around.sort_by_key(|project| (!suits(project), Some(project.depth()) != innermost, project.rank));
    around.into_iter().next().map(Project::checks).unwrap_or_else(|| detect(files))
}

/// One manifest that knows a check.
struct Project {
    folder: String,
    /// Of two in one folder the lower wins.
    rank: u8,
    extensions: &'static [&'static str],
    quick: Option<Vec<String>>,
    full: Option<Vec<String>>,
    /// Where the commands run; a package of a Cargo workspace is built at its root.
    dir: String,
    because: String,
}

impl Project {
    fn depth(&self) -> usize {
        if self.folder.is_empty() { 0 } else { self.folder.split('/').count() }
    }

    fn holds(&self, path: &str) -> bool {
        self.folder.is_empty() || path.strip_prefix(&self.folder).is_some_and(|rest| rest.starts_with('/'))
    }

    fn checks(self) -> Detected {
        let dir = (!self.dir.is_empty()).then_some(self.dir);
        let check = |argv: Option<Vec<String>>| {
            Some(Check::Command(Command { argv: argv?, dir: dir.clone(), env: Vec::new() }))
        };
        Detected { quick: check(self.quick), full: check(self.full), because: self.because }
    }
}

fn words(line: &str) -> Option<Vec<String>> {
    Some(line.split(' ').map(str::to_owned).collect())
}

/// The files of one folder.
struct Folder<'a> {
    path: &'a str,
    files: &'a [(WorkspacePath, Option<&'a str>)],
}

impl<'a> Folder<'a> {
    fn at(&self, name: &str) -> Option<&'a (WorkspacePath, Option<&'a str>)> {
        let full = join(self.path, name);
        self.files.iter().find(|(path, _)| path.as_str() == full)
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.at(name)?.1
    }

    fn has(&self, name: &str) -> bool {
        self.at(name).is_some()
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn projects(files: &[(WorkspacePath, Option<&str>)]) -> Vec<Project> {
    let manifest = |(path, _): &&(WorkspacePath, Option<&str>)| {
        let name = path.file_name();
        MANIFESTS.contains(&name) || matches!(name, "go.mod" | "pytest.ini" | "conftest.py")
    };
    let read = |(path, text): &(WorkspacePath, Option<&str>)| {
        let folder = Folder { path: parent(path.as_str()), files };
        let project = match path.file_name() {
            "Cargo.toml" => cargo(&folder, text.unwrap_or_default()),
            "go.mod" => Some(go()),
            "package.json" => node(&folder, text.unwrap_or_default()),
            "pyproject.toml" | "setup.cfg" | "tox.ini" | "pytest.ini" | "conftest.py" => {
                python(&folder, path, text.unwrap_or_default())
            }
            "justfile" | "Justfile" => make("just", text.unwrap_or_default()),
            _ => make("make", text.unwrap_or_default()),
        }?;
        let dir = if project.dir.is_empty() { folder.path.to_owned() } else { project.dir };
        // A leading slash stands for the root itself; see `cargo`.
        let dir = dir.trim_start_matches('/').to_owned();
        let because = format!("{path}{}", project.because);
        Some(Project { folder: folder.path.to_owned(), dir, because, ..project })
    };
    files.iter().filter(manifest).filter_map(read).collect()
}

fn cargo(folder: &Folder<'_>, text: &str) -> Option<Project> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let name = table.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let project = |quick, full, dir, because| Project {
        folder: String::new(),
        rank: 0,
        extensions: &["rs", "toml"],
        quick,
        full,
        dir,
        because,
    };
    if table.contains_key("workspace") {
        // With a package beside it, cargo would take the package alone.
        let quick = words("cargo check --workspace");
        return Some(project(quick, words("cargo test --workspace"), String::new(), ": a Cargo workspace".to_owned()));
    }
    let name = name?;
    let because = format!(": package `{name}`");
    let mut above = folder.path;
    while !above.is_empty() {
        above = parent(above);
        let root = Folder { path: above, files: folder.files }.text("Cargo.toml").unwrap_or_default();
        if toml::from_str::<toml::Table>(root).is_ok_and(|root| root.contains_key("workspace")) {
            let (quick, full) = (format!("cargo check -p {name}"), format!("cargo test -p {name}"));
            return Some(project(words(&quick), words(&full), format!("/{above}"), because));
        }
    }
    Some(project(words("cargo check"), words("cargo test"), String::new(), because))
}

fn go() -> Project {
    Project {
        folder: String::new(),
        rank: 1,
        extensions: &["go"],
        quick: words("go vet ./..."),
        full: words("go test ./..."),
        dir: String::new(),
        because: ": a Go module".to_owned(),
    }
}

fn node(folder: &Folder<'_>, text: &str) -> Option<Project> {
    let manifest: serde_json::Value = serde_json::from_str(text).ok()?;
    let script = |name: &str| manifest.get("scripts")?.get(name)?.as_str();
    // What `npm init` writes where there is no test.
    let tests = script("test").filter(|script| !script.contains("no test specified"));
    let types = ["typecheck", "type-check", "check-types", "types", "tsc", "lint"];
    let quick = types.into_iter().find(|name| script(name).is_some());
    let managers = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
    // A package of a workspace has its lock file above it.
    let above = std::iter::successors(Some(folder.path), |path| (!path.is_empty()).then(|| parent(path)));
    let locked = |path: &str| {
        let folder = Folder { path, files: folder.files };
        managers.into_iter().find(|(lock, _)| folder.has(lock)).map(|(_, manager)| manager)
    };
    let manager = above.into_iter().find_map(locked).unwrap_or("npm");
    if tests.is_none() && quick.is_none() {
        return None;
    }
    // `bun test` is bun's own runner, not the script.
    let run = if manager == "bun" { "bun run test".to_owned() } else { format!("{manager} test") };
    let named: Vec<String> = quick.into_iter().chain(tests.map(|_| "test")).map(|name| format!("`{name}`")).collect();
    Some(Project {
        folder: String::new(),
        rank: 2,
        extensions: &["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "json", "vue", "svelte"],
        quick: quick.and_then(|name| words(&format!("{manager} run {name}"))),
        full: tests.and_then(|_| words(&run)),
        dir: String::new(),
        because: format!(": {}", if named.len() == 1 { "script " } else { "scripts " }) + &named.join(", "),
    })
}

fn python(folder: &Folder<'_>, path: &WorkspacePath, text: &str) -> Option<Project> {
    let sure = matches!(path.file_name(), "pytest.ini" | "conftest.py");
    let beside = ["pyproject.toml", "setup.cfg", "tox.ini"].map(|name| folder.text(name).unwrap_or_default());
    let says = |section: &str| text.contains(section) || beside.iter().any(|text| text.contains(section));
    let pytest = sure || ["[tool.pytest", "[tool:pytest]", "[pytest]", "\"pytest"].into_iter().any(says);
    // A `conftest.py` mostly lies in the folder of the tests, not at the project's root.
    if path.file_name() == "conftest.py" && path.as_str() != "conftest.py" {
        return None;
    }
    let types = says("[tool.mypy]") || says("[mypy]") || folder.has("mypy.ini");
    let lints = says("[tool.ruff") || folder.has("ruff.toml") || folder.has(".ruff.toml");
    let quick = match (types, lints) {
        (true, _) => Some(("mypy", "python3 -m mypy .")),
        (false, true) => Some(("ruff", "ruff check .")),
        (false, false) => None,
    };
    if !pytest && quick.is_none() {
        return None;
    }
    let named: Vec<&str> = quick.map(|(name, _)| name).into_iter().chain(pytest.then_some("pytest")).collect();
    Some(Project {
        folder: String::new(),
        // Of two files in one folder the one that knows the tests.
        rank: if pytest { 3 } else { 5 },
        extensions: &["py", "pyi"],
        quick: quick.and_then(|(_, line)| words(line)),
        full: pytest.then(|| words("python3 -m pytest -q")).flatten(),
        dir: String::new(),
        because: format!(": {}", named.join(", ")),
    })
}

/// Targets of a Makefile or recipes of a justfile.
fn make(program: &str, text: &str) -> Option<Project> {
    let has = |target: &&str| {
        let rule = |line: &str| line.strip_prefix(*target).is_some_and(|rest| rest.trim_start().starts_with(':'));
        text.lines().any(|line| rule(line) && !line.contains(":="))
    };
    let full = ["test", "tests", "check"].into_iter().find(has);
    let quick = ["typecheck", "types", "lint", "build"].into_iter().find(has);
    let named: Vec<String> = quick.iter().chain(&full).map(|name| format!("`{name}`")).collect();
    if named.is_empty() {
        return None;
    }
    let what = if program == "make" { "target" } else { "recipe" };
    let several = if named.len() == 1 { "" } else { "s" };
    Some(Project {
        folder: String::new(),
        rank: 6,
        extensions: &[],
        quick: quick.and_then(|target| words(&format!("{program} {target}"))),
        full: full.and_then(|target| words(&format!("{program} {target}"))),
        dir: String::new(),
        because: format!(": {what}{several} {}", named.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is the test's finding")]

    use super::*;

    fn show(check: Option<Check>) -> String {
        match check {
            Some(Check::Command(command)) => {
                let dir = command.dir.map(|dir| format!(", in {dir}")).unwrap_or_default();
                format!("{}{dir}", command.argv.join(" "))
            }
            other => format!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], place: Option<&str>, expect: &str) {
        let files: Vec<_> = files.iter().map(|(path, text)| (WorkspacePath::new(path).unwrap(), Some(*text))).collect();
        let found = match place {
            Some(place) => detect_at(&files, &WorkspacePath::new(place).unwrap()),
            None => detect(&files),
        };
        assert_eq!(format!("{} | {} | {}", show(found.quick), show(found.full), found.because), expect);
    }

    #[test]
    fn cargo_knows_workspaces_and_packages() {
        let alone = [("Cargo.toml", "[package]\nname = \"x\"\n"), ("src/lib.rs", "")];
        check(&alone, None, "cargo check | cargo test | Cargo.toml: package `x`");
        let many = [
            ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
            ("crates/net/Cargo.toml", "[package]\nname = \"net\"\n"),
            ("package.json", r#"{"scripts": {"test": "jest"}}"#),
        ];
        check(&many, None, "cargo check --workspace | cargo test --workspace | Cargo.toml: a Cargo workspace");
        let net = "cargo check -p net | cargo test -p net | crates/net/Cargo.toml: package `net`";
        check(&many, Some("crates/net/src/a.rs"), net);
        check(&many, Some("web/a.ts"), "None | npm test | package.json: script `test`");
        let below = [("rust/Cargo.toml", "[package]\nname = \"x\"\n")];
        check(&below, None, "cargo check, in rust | cargo test, in rust | rust/Cargo.toml: package `x`");
        check(&[("Cargo.toml", "not toml [")], None, "None | None | ");
    }

    #[test]
    fn other_projects_are_known_by_their_files() {
        check(&[("go.mod", "module x\n")], None, "go vet ./... | go test ./... | go.mod: a Go module");
        let web = [("package.json", r#"{"scripts": {"test": "vitest", "typecheck": "tsc"}}"#), ("pnpm-lock.yaml", "")];
        check(&web, None, "pnpm run typecheck | pnpm test | package.json: scripts `typecheck`, `test`");
        let untested = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", untested)], None, "None | None | ");
        let mypy = "[tool.pytest.ini_options]\n[tool.mypy]\n";
        check(
            &[("pyproject.toml", mypy), ("tests/conftest.py", "")],
            None,
            "python3 -m mypy . | python3 -m pytest -q | pyproject.toml: mypy, pytest",
        );
        check(
            &[("pyproject.toml", "[tool.ruff.lint]\n"), ("tox.ini", "[pytest]\n")],
            None,
            "ruff check . | python3 -m pytest -q | pyproject.toml: ruff, pytest",
        );
        check(
            &[("api/setup.cfg", "[tool:pytest]\n"), ("api/mypy.ini", "")],
            Some("api/a.py"),
            "python3 -m mypy ., in api | python3 -m pytest -q, in api | api/setup.cfg: mypy, pytest",
        );
        let package = [("web/a/package.json", r#"{"scripts": {"test": "vitest"}}"#), ("yarn.lock", "")];
        check(&package, Some("web/a/x.ts"), "None | yarn test, in web/a | web/a/package.json: script `test`");
        check(
            &[("makefile", "lint:\n\ttrue\ntest: lint\n")],
            None,
            "make lint | make test | makefile: targets `lint`, `test`",
        );
        check(&[("justfile", "build:\n  true\n")], None, "just build | None | justfile: recipe `build`");
        let order = detect(&[(WorkspacePath::new("Cargo.toml").unwrap(), Some("[package]\nname = \"x\"\n"))]);
        let shown: Vec<String> = order.in_order().into_iter().map(|check| show(Some(check.clone()))).collect();
        assert_eq!(shown, ["cargo check", "cargo test"]);
        check(
            &[("Makefile", "test := x\nall:\ncheck: all\n\ttrue\n")],
            None,
            "None | make check | Makefile: target `check`",
        );
        check(&[("README.md", "")], None, "None | None | ");
    }
}
