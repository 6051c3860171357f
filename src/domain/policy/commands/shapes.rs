//! The allow-list: programs and the shapes of their arguments that may run in a view without a question.
//!
//! Invariant: data only, and narrow: what is not written here asks. A row means the program that `PATH` finds under
//! this bare name; a path never matches. Absent: risks; a command of a listed shape that has one asks all the same.

/// A row of the allow-list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Of which language or use, for the table a person reads.
    pub of: &'static str,
    /// The bare names.
    pub programs: &'static [&'static str],
    /// What the arguments must be.
    pub arguments: Arguments,
}

/// What the arguments of a listed program must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arguments {
    /// Anything that is no risk.
    Any,
    /// The first word that is no option is one of these.
    First(&'static [&'static str]),
    /// Every word that is no option is the name of a job that judges or builds: `test`, `test:unit`, `lint-all`.
    Jobs,
    /// A first word of these, then a job: `run lint`.
    JobAfter(&'static [&'static str]),
    /// The very first word is one of these.
    Begins(&'static [&'static str]),
    /// `-m` and one of these modules, before anything but harmless options.
    Module(&'static [&'static str]),
}

/// What targets, package scripts and recipes are called that judge or build. A name may go on behind `:`, `-` or `_`.
pub(super) const JOBS: &[&str] = &[
    "all",
    "build",
    "check",
    "checks",
    "clippy",
    "compile",
    "doc",
    "docs",
    "fmt",
    "format",
    "lint",
    "test",
    "tests",
    "tsc",
    "type",
    "typecheck",
    "types",
    "unit",
    "validate",
    "verify",
    "vet",
];

/// Parts of a name that make it another job: `build-and-publish`.
pub(super) const NO_JOBS: &[&str] = &[
    "deploy",
    "install",
    "uninstall",
    "publish",
    "push",
    "release",
    "upload",
    "send",
    "start",
    "serve",
    "watch",
    "update",
    "upgrade",
    "clean",
    "prod",
    "production",
    "remote",
];

use Arguments::{Any, Begins, First, JobAfter, Jobs, Module};

/// All rows, in the order in which they are shown.
pub const SHAPES: &[Shape] = &[
    row(
        "Rust",
        &["cargo"],
        First(&[
            "build", "b", "check", "c", "test", "t", "clippy", "fmt", "doc", "bench", "tree", "metadata", "nextest",
            "version",
        ]),
    ),
    row("Rust", &["rustfmt"], Any),
    row("Node", &["npm", "pnpm", "yarn"], First(&["test", "t", "ls", "list", "why"])),
    row("Node", &["npm", "pnpm", "yarn", "bun"], JobAfter(&["run", "run-script"])),
    row("Node", &["bun"], First(&["test"])),
    row("Node", &["tsc", "eslint", "prettier", "biome", "jest", "vitest"], Any),
    row("Node", &["node"], Begins(&["--test", "--check", "--version"])),
    row("Python", &["pytest", "mypy", "pyright", "ruff", "black", "flake8", "isort", "pylint"], Any),
    row(
        "Python",
        &["python", "python3"],
        Module(&[
            "pytest",
            "unittest",
            "mypy",
            "ruff",
            "black",
            "flake8",
            "isort",
            "pylint",
            "compileall",
            "py_compile",
        ]),
    ),
    row("Go", &["go"], First(&["build", "vet", "test", "fmt", "list", "doc", "version"])),
    row("Go", &["gofmt", "golangci-lint", "staticcheck"], Any),
    row(
        "C and C++",
        &["gcc", "g++", "cc", "c++", "clang", "clang++", "clang-format", "clang-tidy", "ninja", "ctest"],
        Any,
    ),
    row("C and C++", &["cmake"], Begins(&["-S", "-B", "--build", "--version"])),
    row("C and C++", &["meson"], First(&["setup", "compile", "test"])),
    row("Make", &["make", "gmake", "just"], Jobs),
    row(
        "git",
        &["git"],
        First(&[
            "status",
            "diff",
            "log",
            "show",
            "ls-files",
            "ls-tree",
            "rev-parse",
            "rev-list",
            "blame",
            "grep",
            "describe",
            "cat-file",
            "shortlog",
            "merge-base",
            "check-ignore",
            "for-each-ref",
            "show-ref",
            "version",
        ]),
    ),
    row(
        "reading",
        &[
            "basename",
            "cat",
            "cmp",
            "cut",
            "date",
            "diff",
            "dirname",
            "du",
            "echo",
            "false",
            "fd",
            "file",
            "find",
            "grep",
            "head",
            "jq",
            "ls",
            "md5sum",
            "nl",
            "printf",
            "pwd",
            "rg",
            "sha256sum",
            "stat",
            "tail",
            "test",
            "tr",
            "tree",
            "true",
            "uname",
            "wc",
            "which",
        ],
        Any,
    ),
];

const fn row(of: &'static str, programs: &'static [&'static str], arguments: Arguments) -> Shape {
    Shape { of, programs, arguments }
}

/// Whether a row admits the words behind its program.
pub(super) fn fits(shape: &Shape, words: &[&str]) -> bool {
    let mut plain = words.iter().copied().take_while(|word| *word != "--").filter(|word| !word.starts_with('-'));
    match shape.arguments {
        Any => true,
        First(all) => words.first().is_some_and(|word| all.contains(word)) || options_only(words, all),
        // `make CC=x` and `make SHELL=x` change what is run.
        Jobs => plain.all(|word| job(word) || word.parse::<u32>().is_ok()),
        JobAfter(all) => plain.next().is_some_and(|word| all.contains(&word)) && plain.next().is_some_and(job),
        Begins(all) => words.first().is_some_and(|word| all.contains(word)),
        Module(all) => {
            let mut rest = words.iter().copied().skip_while(|word| HARMLESS.contains(word));
            rest.next() == Some("-m") && rest.next().is_some_and(|module| all.contains(&module))
        }
    }
}

/// Options of Python that load nothing.
const HARMLESS: &[&str] = &["-B", "-I", "-s", "-S", "-E", "-u", "-O", "-OO", "-q", "-v", "-b", "-bb"];
/// Options before a subcommand that take no value.
const BARE: &[&str] =
    &["-q", "--quiet", "-v", "--verbose", "--locked", "--offline", "--frozen", "-s", "--silent", "--no-pager", "-P"];

/// A listed subcommand behind options that take no value; any other option could take the word for its own.
fn options_only(words: &[&str], all: &[&str]) -> bool {
    words.iter().find(|word| !BARE.contains(*word)).is_some_and(|word| all.contains(word))
}

fn job(name: &str) -> bool {
    let mut parts = name.split([':', '-', '_', '.']);
    parts.next().is_some_and(|first| JOBS.contains(&first)) && !parts.any(|part| NO_JOBS.contains(&part))
}

/// The table as Markdown, for the README.
pub fn documentation() -> String {
    let ticked = |all: &[&str]| all.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
    let mut out = String::from("| for | program | arguments |\n|---|---|---|\n");
    for shape in SHAPES {
        let arguments = match shape.arguments {
            Any => "any".to_owned(),
            First(all) => ticked(all),
            Jobs => format!("a target called {}", ticked(JOBS)),
            JobAfter(all) => format!("{} and a script called as the targets of `make`", ticked(all)),
            Begins(all) => format!("first {}", ticked(all)),
            Module(all) => format!("`-m` {}", ticked(all)),
        };
        out.push_str(&format!("| {} | {} | {arguments} |\n", shape.of, ticked(shape.programs)));
    }
    out
}
