//! Planted errors: whether a check looks at what was changed at all (F1).
//!
//! Invariant: what is planted makes every compiler or loader of its language fail, whatever the file holds, and only
//! files are planted that the check's tool reads as code; without one nothing is said. Absent: running the check.

use crate::domain::ids::WorkspacePath;
use crate::domain::plan::Command;
use crate::domain::policy::commands::started;
use crate::domain::task::facts::Ended;

/// What a check makes of the planted error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// It fails by it.
    Sees,
    /// It passes in spite of it: its pass says nothing about the change.
    Blind,
    /// Nothing was planted, or the run does not tell.
    NotJudged,
}

/// Texts with an error each, of the files that the check's tool reads as code and the step may write. All are planted
/// at once: a check that sees one of them looks at the change. Empty = not judged.
pub fn plant_all<'a>(
    command: &Command,
    files: impl IntoIterator<Item = (&'a WorkspacePath, &'a str)>,
    may_write: impl Fn(&WorkspacePath) -> bool,
) -> Vec<(WorkspacePath, String)> {
    let judged = files.into_iter().filter(|(path, _)| may_write(path) && reads(command, path));
    judged.filter_map(|(path, text)| Some((path.clone(), plant(path, text)?))).collect()
}

/// The text with an error behind its end, where every language is outside of all items. `None`: not a language of
/// which that is certain.
pub fn plant(path: &WorkspacePath, text: &str) -> Option<String> {
    let error = match Language::of(path)? {
        // An unmatched bracket fails before anything is resolved, configured away or expanded.
        Language::Rust | Language::Script | Language::Typed | Language::Python | Language::Go => {
            ") planted_by_planwright"
        }
        // A header may stand anywhere in another file; the preprocessor fails wherever it does.
        Language::C => "#error planted_by_planwright",
    };
    // The blank line ends a line that goes on behind a backslash.
    Some(format!("{text}\n\n{error}\n"))
}

/// What two runs say, without the planted error and with it. A check that fails anyway shows nothing.
pub fn sight(without: &Ended, with: &Ended) -> Sight {
    match (without, with) {
        (Ended::Exit(0), Ended::Exit(0)) => Sight::Blind,
        (Ended::Exit(0), Ended::Exit(126 | 127)) => Sight::NotJudged,
        (Ended::Exit(0), Ended::Exit(_)) => Sight::Sees,
        (
            Ended::Exit(_)
            | Ended::Signal(_)
            | Ended::Timeout
            | Ended::OutputLimit
            | Ended::Cancelled
            | Ended::MemoryLimit
            | Ended::ProcessLimit
            | Ended::DiskLimit
            | Ended::CpuLimit,
            _,
        ) => Sight::NotJudged,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Language {
    Rust,
    Script,
    Typed,
    Python,
    Go,
    C,
}

impl Language {
    fn of(path: &WorkspacePath) -> Option<Self> {
        // Declarations may be skipped by the compiler's settings.
        if [".d.ts", ".d.mts", ".d.cts"].iter().any(|end| path.file_name().ends_with(end)) {
            return None;
        }
        match path.extension()? {
            "rs" => Some(Self::Rust),
            "js" | "mjs" | "cjs" | "jsx" => Some(Self::Script),
            "ts" | "mts" | "cts" | "tsx" => Some(Self::Typed),
            "py" => Some(Self::Python),
            "go" => Some(Self::Go),
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => Some(Self::C),
            _ => None,
        }
    }
}

/// Whether the check's tool reads this file as code. Where that is not certain the answer is no.
fn reads(command: &Command, path: &WorkspacePath) -> bool {
    let Some(language) = Language::of(path) else { return false };
    let command = started(command);
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let Some((program, rest)) = words.split_first() else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    let sub = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or_default();
    let named = rest.contains(&path.as_str());
    let has = |flag: &str| rest.contains(&flag);
    match (program, language) {
        ("cargo", Language::Rust) => {
            let all = has("--all-targets");
            let target = path.as_str().split('/').rev().skip(1).find_map(|folder| match folder {
                "tests" => Some(matches!(sub, "test" | "t" | "nextest") || all || has("--tests")),
                "examples" => Some(matches!(sub, "test" | "t") || all || has("--examples")),
                "benches" => Some(sub == "bench" || all || has("--benches")),
                "src" => Some(true),
                _ => None,
            });
            let builds =
                ["check", "c", "build", "b", "test", "t", "clippy", "nextest", "bench", "run", "r", "doc", "fmt"];
            builds.contains(&sub) && target.unwrap_or(true)
        }
        ("tsc", Language::Typed) => true,
        ("npx" | "bunx" | "pnpx", Language::Typed) => matches!(sub, "tsc" | "jest" | "vitest" | "eslint"),
        ("npx" | "bunx" | "pnpx", Language::Script) => matches!(sub, "jest" | "vitest" | "eslint"),
        ("jest" | "vitest" | "eslint", Language::Script | Language::Typed) => true,
        ("npm" | "pnpm" | "yarn" | "bun", Language::Script | Language::Typed) => {
            let script =
                rest.iter().find(|word| !word.starts_with('-') && **word != "run").copied().unwrap_or_default();
            ["test", "t", "build", "typecheck", "type-check", "check-types", "types", "tsc", "lint"].contains(&script)
        }
        ("node", Language::Script) => named || has("--test"),
        ("pytest" | "mypy" | "ruff" | "pyright", Language::Python) => true,
        (python, Language::Python) if python.starts_with("python") => {
            named || rest.windows(2).any(|pair| matches!(pair, ["-m", "pytest" | "unittest" | "mypy" | "ruff"]))
        }
        ("go", Language::Go) => {
            let tests = path.file_name().ends_with("_test.go");
            matches!(sub, "test" | "vet") || (matches!(sub, "build" | "run" | "install") && !tests)
        }
        ("gofmt", Language::Go) => true,
        ("make" | "gmake" | "ninja" | "meson", Language::C) => true,
        ("cmake", Language::C) => has("--build"),
        ("gcc" | "g++" | "cc" | "c++" | "clang" | "clang++", Language::C) => named,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is the test's finding")]

    use super::*;

    fn command(line: &str) -> Command {
        Command { argv: line.split(' ').map(str::to_owned).collect(), dir: None, env: Vec::new() }
    }

    #[track_caller]
    fn check(line: &str, files: &[&str], expect: &[&str]) {
        let paths: Vec<WorkspacePath> = files.iter().map(|path| WorkspacePath::new(path).unwrap()).collect();
        let all = paths.iter().map(|path| (path, "x\n"));
        let planted = plant_all(&command(line), all, |path| !path.as_str().starts_with("closed/"));
        let names: Vec<&str> = planted.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(names, expect, "{line}");
    }

    #[test]
    fn only_what_the_tool_reads_is_planted() {
        let rust =
            ["src/a.rs", "tests/b.rs", "crates/n/benches/c.rs", "closed/d.rs", "README.md", "Cargo.toml", "e.py"];
        check("cargo check", &rust, &["src/a.rs"]);
        check("cargo test -p n", &rust, &["src/a.rs", "tests/b.rs"]);
        check("cargo clippy --all-targets", &rust, &["src/a.rs", "tests/b.rs", "crates/n/benches/c.rs"]);
        check("timeout 60 cargo check", &rust, &["src/a.rs"]);
        check("env CI=1 nice -n 5 cargo test", &rust, &["src/a.rs", "tests/b.rs"]);
        check("cargo metadata", &rust, &[]);
        check("grep x src/a.rs", &rust, &[]);
        let web = ["a.ts", "b.d.ts", "c.js", "d.vue"];
        check("tsc --noEmit", &web, &["a.ts"]);
        check("npm run -s test", &web, &["a.ts", "c.js"]);
        check("npm run deploy", &web, &[]);
        check("npx tsc", &web, &["a.ts"]);
        check("python3 -m pytest -q", &["a.py", "b.pyi", "c.rs"], &["a.py"]);
        check("python3 a.py", &["a.py", "b.py"], &["a.py"]);
        check("go build ./...", &["a.go", "a_test.go"], &["a.go"]);
        check("go test ./...", &["a.go", "a_test.go"], &["a.go", "a_test.go"]);
        check("make test", &["a.c", "b.hpp", "c.rs"], &["a.c", "b.hpp"]);
        check("gcc -c a.c", &["a.c", "b.c"], &["a.c"]);
    }

    #[test]
    fn two_runs_tell_whether_a_check_sees() {
        let [pass, fail] = [Ended::Exit(0), Ended::Exit(1)];
        assert_eq!(sight(&pass, &pass), Sight::Blind);
        assert_eq!(sight(&pass, &fail), Sight::Sees);
        assert_eq!(sight(&fail, &fail), Sight::NotJudged);
        assert_eq!(sight(&pass, &Ended::Timeout), Sight::NotJudged);
        assert_eq!(sight(&pass, &Ended::Exit(127)), Sight::NotJudged);
    }

    /// The compilers at hand are asked. A host without one of them proves nothing about that language.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "the real compilers say whether an error is one")]
    fn what_is_planted_fails() {
        let dir = tempfile::tempdir().unwrap();
        let fine = [
            ("a.rs", "#![cfg(any())]\nfn f() {} // odd \\", "rustc --crate-type lib --emit metadata"),
            ("b.rs", "pub fn f() -> &'static str { r#\"x\"# }", "rustc --crate-type lib --emit metadata"),
            ("a.py", "x = 1 + \\\n    2", "python3 -m py_compile"),
            ("b.py", "def f():\n    '''doc'''", "python3 -m py_compile"),
            ("a.js", "#!/usr/bin/env node\nlet a = `x`", "node --check"),
            ("a.c", "#ifndef A\n#define A\nint a;\n#endif // b \\", "gcc -fsyntax-only"),
            ("b.h", "#ifndef A\n#define A\nint a;\n#endif", "gcc -fsyntax-only"),
        ];
        for (name, text, line) in fine {
            let path = WorkspacePath::new(name).unwrap();
            let file = dir.path().join(name);
            std::fs::write(&file, text).unwrap();
            let asked = || {
                let mut words = line.split(' ');
                let mut asked = std::process::Command::new(words.next().unwrap_or_default());
                asked.args(words).arg(&file).current_dir(dir.path()).output()
            };
            let Ok(output) = asked() else {
                crate::testing::skipped(&format!("{name}: no {}", line.split(' ').next().unwrap_or_default()));
                continue;
            };
            assert!(output.status.success(), "{name} is fine without");
            std::fs::write(&file, plant(&path, text).unwrap()).unwrap();
            assert!(!asked().unwrap().status.success(), "{name}");
        }
    }
}
