//! What a check costs: syntax before types before tests (F6).
//!
//! Invariant: a command that is not known costs as much as tests do, so that nothing cheap waits for it. Absent:
//! measured times.

use super::commands::started;
use crate::domain::plan::{Check, Command};

/// How long a check takes, as a class; the order is the order in which checks run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cost {
    /// A look at files: no program starts.
    Look,
    /// Every file is read.
    Search,
    /// Parsers and formatters: a second.
    Syntax,
    /// Compilers, type checks, linters.
    Types,
    /// Tests, and whatever is not known.
    Tests,
}

/// The class of a check.
pub fn cost(check: &Check) -> Cost {
    match check {
        Check::Syntax | Check::Exists(_) | Check::Missing(_) | Check::Changed(_) | Check::Unchanged(_) => Cost::Look,
        Check::Search(_) => Cost::Search,
        Check::Command(command) => of_command(&started(command)),
    }
}

fn of_command(command: &Command) -> Cost {
    let mut words = command.argv.iter().map(|word| word.rsplit('/').next().unwrap_or(word));
    let program = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    let sub = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or_default();
    let has = |flag: &str| rest.contains(&flag);
    let module = rest.windows(2).find_map(|pair| if let ["-m", module] = pair { Some(*module) } else { None });
    let tool = if program.starts_with("python") { module.unwrap_or(program) } else { program };
    let tool = if matches!(tool, "npx" | "bunx" | "pnpx" | "uvx") { sub } else { tool };
    match (tool, sub) {
        ("cargo", "fmt") | ("ruff", "format") | ("go", "fmt") => Cost::Syntax,
        ("cargo", "check" | "c" | "clippy" | "build" | "b" | "doc") | ("go", "vet" | "build") => Cost::Types,
        ("rustfmt" | "gofmt" | "prettier" | "black" | "isort" | "clang-format" | "compileall" | "py_compile", _) => {
            Cost::Syntax
        }
        ("node", _) if has("--check") => Cost::Syntax,
        ("gcc" | "g++" | "cc" | "c++" | "clang" | "clang++", _) if has("-fsyntax-only") => Cost::Syntax,
        (
            "tsc" | "eslint" | "biome" | "mypy" | "pyright" | "ruff" | "flake8" | "pylint" | "gcc" | "g++" | "cc"
            | "c++" | "clang" | "clang++" | "clang-tidy" | "golangci-lint" | "staticcheck" | "ninja",
            _,
        ) => Cost::Types,
        ("cmake", _) if has("--build") => Cost::Types,
        ("npm" | "pnpm" | "yarn" | "bun" | "make" | "gmake" | "just", _) => {
            let job = rest.iter().rfind(|word| !word.starts_with('-')).copied().unwrap_or_default();
            match job.split([':', '-', '_']).next().unwrap_or(job) {
                "fmt" | "format" => Cost::Syntax,
                "lint" | "typecheck" | "type" | "types" | "tsc" | "vet" | "clippy" | "build" | "compile" => Cost::Types,
                // `check-types`; `check` alone is mostly everything
                "check" if job.contains("type") => Cost::Types,
                _ => Cost::Tests,
            }
        }
        _ => Cost::Tests,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expect: Cost, lines: &[&str]) {
        for line in lines {
            let argv = line.split(' ').map(str::to_owned).collect();
            let check = Check::Command(Command { argv, dir: None, env: Vec::new() });
            assert_eq!(cost(&check), expect, "{line}");
        }
    }

    #[test]
    fn cheap_before_expensive() {
        assert!(cost(&Check::Syntax) < cost(&Check::Exists("a".to_owned())).max(Cost::Search));
        check(Cost::Syntax, &["cargo fmt --check", "ruff format --check", "npm run format", "node --check a.js"]);
        let types =
            ["cargo +nightly check", "cargo clippy", "npx tsc", "python3 -m mypy .", "ruff check .", "go vet ./..."];
        check(Cost::Types, &types);
        check(Cost::Types, &["timeout 60 cargo check", "nice -n 10 npx tsc", "env CI=1 timeout -k 5 60 go vet ./..."]);
        check(Cost::Types, &["pnpm run check-types", "make lint", "cmake --build build", "gcc -c a.c"]);
        check(Cost::Tests, &["cargo test", "npm test", "make check", "make", "python3 -m pytest -q", "./odd", "ctest"]);
    }
}
