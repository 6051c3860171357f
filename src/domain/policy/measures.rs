//! What a check measures by: tests, snapshots, configuration, scripts (F8).
//!
//! Invariant: nothing judges itself. What a step's own check measures by is written by the step only where the plan
//! names it; what any check may measure by is marked for the reviewer. Absent: sections of a file; a manifest is a
//! measure as a whole.

use super::commands::started;
use super::paths::rows;
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::{Check, Command};
use globset::GlobSet;
use std::sync::LazyLock;

/// What a file is to a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Code and data that a test runner runs.
    Test,
    /// What a type check or a build is told by: manifests, compiler settings, build scripts.
    Build,
    /// What a linter is told by.
    Lint,
    /// What a formatter is told by.
    Format,
    /// What says which commands there are: package scripts, Makefiles.
    Script,
    /// What other machines run.
    Machine,
}

/// Which tools read a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Rust,
    Node,
    Python,
    Go,
    Native,
    Any,
}

use Family::{Any, Go, Native, Node, Python, Rust};
use Kind::{Build, Format, Lint, Machine, Script, Test};

/// By convention of each language; the first row that fits counts.
const MEASURES: &[(&str, Family, Kind, &str)] = &[
    ("**/*.snap", Any, Test, "a snapshot of a test"),
    ("**/{__snapshots__,snapshots}/**", Any, Test, "a snapshot of a test"),
    ("**/conftest.py", Python, Test, "configuration of the tests"),
    ("**/{pytest,.pytest,tox,noxfile}.{ini,toml,py}", Python, Test, "configuration of the tests"),
    ("**/{jest,vitest,playwright,cypress,karma}.config.*", Node, Test, "configuration of the tests"),
    ("**/.mocharc*", Node, Test, "configuration of the tests"),
    ("**/nextest.toml", Rust, Test, "configuration of the tests"),
    ("**/build.rs", Rust, Build, "a build script"),
    ("**/tests.rs", Rust, Test, "a test"),
    ("**/*_test.rs", Rust, Test, "a test"),
    ("**/*_test.go", Go, Test, "a test"),
    ("**/testdata/**", Go, Test, "what a test reads"),
    ("**/{test_*,*_test}.py", Python, Test, "a test"),
    ("**/*.{test,spec}.*", Node, Test, "a test"),
    ("**/__tests__/**", Node, Test, "a test"),
    ("**/*_test.*", Any, Test, "a test"),
    ("**/{tests,test,spec}/**", Any, Test, "a test"),
    ("**/{clippy,.clippy}.toml", Rust, Lint, "configuration of the checks"),
    ("**/deny.toml", Rust, Lint, "configuration of the checks"),
    ("**/{rustfmt,.rustfmt}.toml", Rust, Format, "configuration of the checks"),
    ("**/{Cargo.toml,Cargo.lock,rust-toolchain,rust-toolchain.toml}", Rust, Build, "configuration of the checks"),
    ("**/.cargo/**", Rust, Build, "configuration of the checks"),
    ("**/package.json", Node, Script, "the scripts of the checks"),
    ("**/{tsconfig,jsconfig}.json", Node, Build, "configuration of the checks"),
    ("**/tsconfig.*.json", Node, Build, "configuration of the checks"),
    ("**/{.babelrc*,babel.config.*,vite.config.*}", Node, Build, "configuration of the checks"),
    (
        "**/{.eslintrc,.eslintrc.*,eslint.config.*,.eslintignore,biome.json,biome.jsonc}",
        Node,
        Lint,
        "configuration of the checks",
    ),
    ("**/{.prettierrc,.prettierrc.*,prettier.config.*,.prettierignore}", Node, Format, "configuration of the checks"),
    ("**/{pyproject.toml,setup.cfg,setup.py}", Python, Script, "configuration of the checks"),
    ("**/{mypy.ini,.mypy.ini,pyrightconfig.json}", Python, Build, "configuration of the checks"),
    ("**/{ruff.toml,.ruff.toml,.flake8,.pylintrc}", Python, Lint, "configuration of the checks"),
    ("**/{go.mod,go.work}", Go, Build, "configuration of the checks"),
    ("**/{.golangci.yml,.golangci.yaml,.golangci.toml}", Go, Lint, "configuration of the checks"),
    ("**/{CMakeLists.txt,meson.build}", Native, Build, "a build script"),
    ("**/*.cmake", Native, Build, "a build script"),
    ("**/{Makefile,makefile,GNUmakefile,justfile,Justfile}", Native, Script, "the scripts of the checks"),
    ("**/*.mk", Native, Script, "the scripts of the checks"),
    ("**/.github/{workflows,actions}/**", Any, Machine, "what the build server runs"),
    ("**/{.gitlab-ci.yml,.travis.yml,azure-pipelines.yml,Jenkinsfile}", Any, Machine, "what the build server runs"),
    ("**/.circleci/**", Any, Machine, "what the build server runs"),
];

fn row(path: &str) -> Option<&'static (&'static str, Family, Kind, &'static str)> {
    static SET: LazyLock<GlobSet> = LazyLock::new(|| rows(MEASURES.iter().map(|row| row.0)));
    MEASURES.get(SET.matches(path).into_iter().min()?)
}

/// Why a change of this path may change what some check measures by; `None` for an ordinary one.
pub fn measure(path: &WorkspacePath) -> Option<&'static str> {
    row(path.as_str()).map(|row| row.3)
}

/// The same for a path or glob of a plan: whatever a glob meets is a measure.
pub fn names_measures(pattern: &str) -> bool {
    // A folder of tests stays one whatever stands for the stars.
    row(&pattern.replace("**", "x").replace(['*', '?'], "x")).is_some()
}

/// Why this check measures by this path; `None` where it does not.
pub fn measures(check: &Check, path: &WorkspacePath) -> Option<&'static str> {
    let command = match check {
        Check::Command(command) => &started(command),
        Check::Syntax
        | Check::Search(_)
        | Check::Exists(_)
        | Check::Missing(_)
        | Check::Changed(_)
        | Check::Unchanged(_) => return None,
    };
    // A script of the workspace is what its check measures by, wherever it lies.
    if command.argv.iter().any(|word| word.trim_start_matches("./") == path.as_str()) && is_program(command, path) {
        return Some("the program of the check");
    }
    let (_, family, kind, why) = row(path.as_str())?;
    let (families, kinds) = reads(command);
    let fits = (families.contains(family) || *family == Any || families.contains(&Any)) && kinds.contains(kind);
    fits.then_some(why)
}

/// The program itself, or the script of an interpreter; other words may be what is judged.
fn is_program(command: &Command, path: &WorkspacePath) -> bool {
    let own = |word: &String| word.trim_start_matches("./") == path.as_str();
    let interpreter = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or(word);
        matches!(name, "sh" | "bash" | "node" | "ruby" | "perl") || name.starts_with("python")
    };
    match command.argv.as_slice() {
        [program, ..] if own(program) => true,
        [program, rest @ ..] => {
            interpreter(program) && rest.iter().find(|word| !word.starts_with('-')).is_some_and(own)
        }
        [] => false,
    }
}

const ALL: &[Kind] = &[Test, Build, Lint, Format, Script];

/// Whose files a command reads, and which. A script may start anything.
fn reads(command: &Command) -> (&'static [Family], &'static [Kind]) {
    let mut words = command.argv.iter().map(String::as_str);
    let program = words.next().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
    let rest: Vec<&str> = words.collect();
    let sub = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or_default();
    let module = rest.windows(2).find_map(|pair| if let ["-m", module] = pair { Some(*module) } else { None });
    let tool = if program.starts_with("python") { module.unwrap_or("python") } else { program };
    let tool = if matches!(tool, "npx" | "bunx" | "pnpx" | "uvx") { sub } else { tool };
    match tool {
        "cargo" => (&[Rust], cargo(sub)),
        "rustc" => (&[], &[]),
        "rustfmt" => (&[Rust], &[Format]),
        "tsc" => (&[Node], &[Build]),
        "eslint" | "biome" => (&[Node], &[Lint, Build]),
        "prettier" => (&[Node], &[Format]),
        "jest" | "vitest" | "mocha" | "node" | "deno" => (&[Node], &[Test, Build, Script]),
        "npm" | "pnpm" | "yarn" | "bun" => (&[Node, Python], ALL),
        "pytest" | "unittest" | "tox" | "nox" => (&[Python], &[Test, Script]),
        "mypy" | "pyright" => (&[Python], &[Build, Script]),
        "ruff" | "flake8" | "pylint" | "black" => (&[Python], &[Lint, Script]),
        "go" if matches!(sub, "test") => (&[Go], &[Test, Build]),
        "go" => (&[Go], &[Build]),
        "golangci-lint" => (&[Go], &[Lint, Build]),
        "cmake" | "ninja" | "ctest" | "meson" => (&[Native], &[Test, Build, Script]),
        "gcc" | "g++" | "clang" | "clang++" | "cc" => (&[], &[]),
        _ => (&[Any], ALL),
    }
}

fn cargo(sub: &str) -> &'static [Kind] {
    match sub {
        "check" | "c" | "build" | "b" | "doc" | "run" | "r" => &[Build],
        "clippy" | "deny" => &[Build, Lint],
        "fmt" => &[Format],
        _ => &[Test, Build],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is the test's finding")]

    use super::*;

    const PATHS: &[&str] = &[
        "src/lib.rs",
        "src/net/tests.rs",
        "tests/net.rs",
        "tests/data/a.json",
        "Cargo.toml",
        "clippy.toml",
        "rustfmt.toml",
        "build.rs",
        ".cargo/config.toml",
        "src/__snapshots__/a.snap",
        "web/a.test.ts",
        "package.json",
        "tsconfig.json",
        "eslint.config.mjs",
        "pkg/test_a.py",
        "conftest.py",
        "pyproject.toml",
        "calc_test.go",
        "go.mod",
        "Makefile",
        "CMakeLists.txt",
        ".github/workflows/ci.yml",
        "tools/check.sh",
    ];

    #[track_caller]
    fn check(line: &str) -> String {
        let argv = line.split(' ').map(str::to_owned).collect();
        let check = Check::Command(Command { argv, dir: None, env: Vec::new() });
        let told = |path: &&&str| measures(&check, &WorkspacePath::new(path).unwrap()).is_some();
        let (by, not): (Vec<&&str>, Vec<&&str>) = PATHS.iter().partition(told);
        let words = |all: Vec<&&str>| all.into_iter().copied().collect::<Vec<_>>().join(" ");
        if by.len() > not.len() { format!("all but {}", words(not)) } else { words(by) }
    }

    #[test]
    fn a_check_measures_by_what_its_tool_reads() {
        let told: String = [
            "cargo check",
            "cargo +nightly test -p net",
            "cargo clippy -- -D warnings",
            "cargo fmt --check",
            "tsc --noEmit",
            "npx eslint src",
            "npm test",
            "python3 -m pytest -q",
            "mypy .",
            "go test ./...",
            "go vet ./...",
            "ctest",
            "gcc -c a.c",
            "make test",
            "tools/check.sh src/lib.rs",
            "bash ./tools/check.sh",
            "timeout 60 cargo check",
            "env CI=1 nice -n 10 bash ./tools/check.sh",
        ]
        .iter()
        .map(|line| format!("{line}: {}\n", check(line)))
        .collect();
        insta::assert_snapshot!(told, @r"
        cargo check: Cargo.toml build.rs .cargo/config.toml
        cargo +nightly test -p net: src/net/tests.rs tests/net.rs tests/data/a.json Cargo.toml build.rs .cargo/config.toml src/__snapshots__/a.snap
        cargo clippy -- -D warnings: Cargo.toml clippy.toml build.rs .cargo/config.toml
        cargo fmt --check: rustfmt.toml
        tsc --noEmit: tsconfig.json
        npx eslint src: tsconfig.json eslint.config.mjs
        npm test: tests/net.rs tests/data/a.json src/__snapshots__/a.snap web/a.test.ts package.json tsconfig.json eslint.config.mjs pkg/test_a.py conftest.py pyproject.toml
        python3 -m pytest -q: tests/net.rs tests/data/a.json src/__snapshots__/a.snap pkg/test_a.py conftest.py pyproject.toml
        mypy .: pyproject.toml
        go test ./...: tests/net.rs tests/data/a.json src/__snapshots__/a.snap calc_test.go go.mod
        go vet ./...: go.mod
        ctest: tests/net.rs tests/data/a.json src/__snapshots__/a.snap Makefile CMakeLists.txt
        gcc -c a.c: 
        make test: all but src/lib.rs .github/workflows/ci.yml tools/check.sh
        tools/check.sh src/lib.rs: all but src/lib.rs .github/workflows/ci.yml
        bash ./tools/check.sh: all but src/lib.rs .github/workflows/ci.yml
        timeout 60 cargo check: Cargo.toml build.rs .cargo/config.toml
        env CI=1 nice -n 10 bash ./tools/check.sh: all but src/lib.rs .github/workflows/ci.yml
        ");
        assert_eq!(measures(&Check::Syntax, &WorkspacePath::new("tests/a.rs").unwrap()), None);
    }

    #[test]
    fn marks_are_for_every_check() {
        let told: String = PATHS
            .iter()
            .map(|path| format!("{path}: {}\n", measure(&WorkspacePath::new(path).unwrap()).unwrap_or("-")))
            .collect();
        insta::assert_snapshot!(told, @r"
        src/lib.rs: -
        src/net/tests.rs: a test
        tests/net.rs: a test
        tests/data/a.json: a test
        Cargo.toml: configuration of the checks
        clippy.toml: configuration of the checks
        rustfmt.toml: configuration of the checks
        build.rs: a build script
        .cargo/config.toml: configuration of the checks
        src/__snapshots__/a.snap: a snapshot of a test
        web/a.test.ts: a test
        package.json: the scripts of the checks
        tsconfig.json: configuration of the checks
        eslint.config.mjs: configuration of the checks
        pkg/test_a.py: a test
        conftest.py: configuration of the tests
        pyproject.toml: configuration of the checks
        calc_test.go: a test
        go.mod: configuration of the checks
        Makefile: the scripts of the checks
        CMakeLists.txt: a build script
        .github/workflows/ci.yml: what the build server runs
        tools/check.sh: -
        ");
    }

    #[test]
    fn a_glob_names_measures_where_it_meets_nothing_else() {
        for (pattern, expect) in [
            ("tests/**", true),
            ("tests/*.rs", true),
            ("src/**", false),
            ("**", false),
            ("Cargo.*", false),
            ("**/*.snap", true),
            ("src/**/tests.rs", true),
        ] {
            assert_eq!(names_measures(pattern), expect, "{pattern}");
        }
    }
}
