//! Which commands are admitted, which ask, and by which rule of the table.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is the test's finding"
)]

use super::*;

/// `K=V` words in front are the command's `with`.
fn command(line: &str) -> Command {
    let words = shell_words::split(line).unwrap();
    let at = words.iter().position(|word| !word.contains('=')).unwrap_or(words.len());
    let (env, argv) = words.split_at(at);
    let pair = |word: &String| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    Command { argv: argv.to_vec(), dir: None, env: env.iter().map(pair).collect() }
}

fn pattern(line: &str) -> CommandPattern {
    let mut argv = shell_words::split(line).unwrap();
    let open = argv.last().is_some_and(|word| word == "*");
    if open {
        argv.pop();
    }
    CommandPattern { argv, open }
}

#[track_caller]
fn check(rule: &str, lines: &[&str]) {
    for line in lines {
        let found = risk(&command(line)).map_or("none", |risk| risk.rule);
        assert_eq!(found, rule, "{line}");
    }
}

#[test]
fn each_rule_fits_its_commands() {
    check(
        "none",
        &[
            "cargo test -p net -- --nocapture -c",
            "cargo +nightly check",
            "cargo clippy --all-targets -- -D warnings",
            "git status",
            "git -C src diff --stat HEAD~1",
            "git log --oneline ..main",
            "python3 -m pytest -q tests",
            "python tool.py -c x",
            "npm test",
            "npm run build",
            "go test ./...",
            "make test",
            "find . -name *.rs",
            "RUST_LOG=off cargo test",
            "rg -n pattern src",
            "ls",
            "sed -n 1,5p a.txt",
            "node build.js -e x",
            "pytest -q",
            "tsc --noEmit",
            "/usr/bin/true",
        ],
    );
    check("privilege", &["sudo rm -rf x", "/usr/bin/sudo true", "env -i sudo true", "timeout 5 sudo x"]);
    check("shell", &["sh -c 'x | y'", "bash -lc x", "/bin/dash script", "xargs -0 sh -c x", "env A=b bash"]);
    check(
        "inline-code",
        &[
            "python3.12 -c x",
            "python -Bc x",
            "node --eval=x",
            "node -p 1",
            "perl -ne x",
            "ruby -e x",
            "deno eval x",
            "awk 1 f",
            "php -r x",
        ],
    );
    check(
        "loads-code",
        &[
            "cargo test --config build.rustc-wrapper='x'",
            "make -f other",
            "make -fother",
            "node --require=x a.js",
            "node -r x a.js",
            "perl -MEvil a.pl",
            "go test -exec x ./...",
            "pytest -p plugin",
            "python -m pytest -p plugin",
            "tar --to-command=x -xf a",
            "rg --pre x y",
            "git grep -Oless x",
            "git diff --output=/x",
            "LD_PRELOAD=x ls",
            "RUSTC_WRAPPER=x cargo check",
            "CARGO_TARGET_X86_RUNNER=x cargo test",
            "PLANWRIGHT_IDEMPOTENCY_KEY=x tools/a",
            "GIT_EXTERNAL_DIFF=x git diff",
            "cmake -DCMAKE_C_COMPILER=x -B build",
            "cmake -D CMAKE_TOOLCHAIN_FILE:PATH=x .",
            "make SHELL=x test",
            "cargo build --target odd.json",
            "cargo test -Z script",
            "npm test --script-shell x",
            "gcc -fplugin=x a.c",
            "gcc @options a.c",
            "node --test --test-reporter ./x.js",
            "cargo doc --open",
            "clang -Xclang -load a.c",
            "go build -toolexec x ./...",
            "go build -ldflags=-extld=x",
            "jest --runner x",
        ],
    );
    check("wrapper", &["env FOO=1 ls", "xargs ls", "find . -exec ls {} ;", "fd -x ls", "nohup ls", "vim a"]);
    check("git-config", &["git -c core.pager=x log", "git config alias.x !y", "git st", "git --exec-path=/x log"]);
    check("git-history", &["git reset --hard", "git checkout -- .", "git clean -fdx", "git branch -D x", "git stash"]);
    check("git-hooks", &["git commit -m x", "git bisect run x"]);
    check("network", &["git push", "curl x", "wget x", "ssh host", "python -m http.server", "rsync a b:"]);
    check("removes", &["rm -rf target", "find . -delete", "truncate -s 0 a"]);
    check("machine", &["mkfs.ext4 x", "shutdown now"]);
    check("rewrites", &["mv a b", "chmod -R 777 ."]);
    check("publishes", &["cargo publish", "npm publish", "twine upload x", "gem push x", "python -m twine upload x"]);
    check(
        "installs",
        &[
            "npm install",
            "npx tool",
            "pip3 install x",
            "python3 -m pip install x",
            "cargo install x",
            "go get x",
            "apt-get install x",
            "yarn",
            "uv sync",
        ],
    );
    check("containers", &["docker run x"]);
    check("remote-system", &["gh pr create", "kubectl apply -f x", "terraform apply", "psql -c x"]);
    check(
        "outside-path",
        &["cat /etc/passwd", "cargo test --manifest-path=../other/Cargo.toml", "cat ~/.ssh/id", "ls src/../../x"],
    );
    check("workspace-program", &["tools/announce note.md", "./run"]);
}

#[track_caller]
fn allow(line: &str, patterns: &[&str], expect: &str) {
    let patterns: Vec<CommandPattern> = patterns.iter().map(|line| pattern(line)).collect();
    assert_eq!(allowed(&command(line), &patterns).err().unwrap_or("allowed".to_owned()), expect);
}

#[test]
fn a_pattern_admits_its_words_and_no_further_risk() {
    allow("cargo test -p net", &["cargo check", "cargo test *"], "allowed");
    allow("cargo test", &["cargo test *"], "allowed");
    allow("RUST_LOG=off cargo test", &["cargo test"], "allowed");
    allow("tools/announce note.md", &["tools/announce *"], "allowed");
    allow("cargo publish", &["cargo publish"], "allowed");
    allow(
        "cargo test -p net",
        &["cargo test"],
        "`cargo test -p net` is not in the plan's allow-list; allowed: `cargo test`",
    );
    allow(
        "cargo testx",
        &["cargo test *", "a 'b c'"],
        "`cargo testx` is not in the plan's allow-list; allowed: `cargo test *`, `a 'b c'`",
    );
    allow("ls", &[], "`ls` is not in the plan's allow-list; allowed: no command is");
    allow("ls", &["*"], "`ls` is not in the plan's allow-list; allowed: `*`");
    allow(
        "cargo test --config x=1",
        &["cargo test *"],
        "`cargo test --config 'x=1'` is refused: the `*` of `cargo test *` admits further words, not further risk: \
         `cargo --config` makes it load or start other code (loads-code); allowed: `cargo test *`",
    );
    allow(
        "LD_PRELOAD=x cargo test",
        &["cargo test"],
        "`cargo test` is refused: the variable `LD_PRELOAD` makes the program load or start other code (loads-code); \
         run it without that variable",
    );
}

#[test]
fn where_nothing_holds_a_command_each_asks() {
    for (line, rung, expected) in [
        ("cargo test", Rung::Copy, true),
        ("cargo test", Rung::Cage, false),
        ("sh -c 'cargo test'", Rung::Cage, true),
        ("python3 -c x", Rung::Cage, true),
    ] {
        assert_eq!(asks(&command(line), rung), expected, "{line} {rung:?}");
    }
}

#[track_caller]
fn verdict(expect: &str, lines: &[&str]) {
    for line in lines {
        let found = match judge(&command(line)) {
            Judgement::Allow => "allow".to_owned(),
            Judgement::Ask(risk) => format!("ask {}", risk.rule),
            Judgement::Deny(risk) => format!("deny {}", risk.rule),
        };
        assert_eq!(found, expect, "{line}");
    }
}

#[test]
fn only_listed_shapes_run_without_a_question() {
    verdict(
        "allow",
        &[
            "cargo check",
            "cargo --locked test -p net -- --nocapture",
            "cargo clippy --all-targets -- -D warnings",
            "cargo fmt --check",
            "cargo nextest run",
            "RUST_LOG=off cargo test",
            "timeout 60 cargo test",
            "timeout -k 5 --signal=INT 1m nice -n 10 cargo test",
            "env RUST_LOG=off cargo test",
            "npm test",
            "pnpm run typecheck",
            "yarn run test:unit",
            "bun test",
            "tsc --noEmit",
            "npm run lint-all -- --max-warnings 0",
            "node --test test/a.test.js",
            "python3 -m pytest -q tests",
            "python -B -m mypy .",
            "ruff check .",
            "pytest -q",
            "go vet ./...",
            "go test -run TestA ./...",
            "gcc -Wall -c a.c -o a.o",
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
            "cmake --build build",
            "ctest --output-on-failure",
            "make",
            "make -j 4 test lint",
            "just check",
            "git status",
            "git --no-pager diff --stat HEAD~1",
            "ls -la src",
            "rg -n pattern src",
        ],
    );
    verdict(
        "ask unknown",
        &[
            "cargo run",
            "cargo fix --allow-dirty",
            "cargo --color always test",
            "cargo testx",
            "npm run deploy",
            "npm run test-and-publish",
            "yarn anything",
            "node build.js",
            "node evil.js --test",
            "python3 tool.py",
            "python3 -W x -m pytest",
            "python3 -m timeit",
            "go run .",
            "go generate ./...",
            "make release",
            "make -C other test",
            "cmake -G Ninja .",
            "cp a b",
            "sed -n 1p a",
            "announce",
            "Cargo check",
        ],
    );
    verdict("ask toolchain", &["cargo +nightly check"]);
    verdict("ask path-program", &["/usr/bin/true", "/tmp/cargo check", "env /usr/bin/cargo check"]);
    verdict("ask workspace-program", &["./cargo check", "tools/cargo test", "timeout 5 ./run"]);
    verdict(
        "ask wrapper",
        &["env -i ls", "env", "timeout --odd 5 ls", "nohup cargo test", "xargs cargo test", "time cargo test"],
    );
    verdict(
        "ask loads-code",
        &["env RUSTC_WRAPPER=x cargo check", "timeout 5 cargo test --config x=1", "RUSTFLAGS=-Clinker=x cargo check"],
    );
    verdict(
        "ask installs",
        &["npx tool", "npm ci", "pip install x", "cargo install x", "go mod download", "python3 -m pip install x"],
    );
    verdict("ask network", &["git push", "curl x", "env A=b ssh host"]);
    verdict("ask git-config", &["git -c core.fsmonitor=x status", "git config core.hooksPath x"]);
    verdict("ask outside-path", &["cat /etc/passwd", "cargo test --manifest-path=../other/Cargo.toml"]);
    verdict(
        "deny privilege",
        &["sudo true", "/usr/bin/sudo true", "timeout 5 sudo x", "env A=b doas x", "xargs sudo rm"],
    );
    verdict("deny machine", &["shutdown now", "mkfs.ext4 /dev/sda"]);
}

#[test]
fn what_is_denied_is_on_no_list() {
    allow("sudo make", &["sudo make"], "`sudo make` is never started: `sudo` runs with other rights (privilege)");
}

/// A word for each level of a nest would be a level of the stack, and a copy of the rest.
#[test]
fn nests_are_judged_in_time() {
    let deep = Command { argv: vec!["env".to_owned(); 200_000], dir: None, env: vec![] };
    assert_eq!(risk(&deep).map(|risk| risk.rule), Some("wrapper"));
    assert!(matches!(judge(&deep), Judgement::Ask(_)));
}

mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Whatever stands behind a program, a path to it is not allowed, and a risk is not either.
        #[test]
        fn nothing_risky_and_no_path_is_allowed(
            program in prop::sample::select(vec!["cargo", "git", "npm", "make", "ls", "timeout", "env", "python3", "x"]),
            words in proptest::collection::vec("(test|run|check|-[a-zA-Z]|--[a-z]{1,8}|--|[a-z./=~ -]{0,9}|/[a-z]{1,3}|\\PC{0,4})", 0..5),
        ) {
            let argv: Vec<String> = std::iter::once(program.to_owned()).chain(words).collect();
            let written = Command { argv: argv.clone(), dir: None, env: vec![] };
            if judge(&written) == Judgement::Allow && !matches!(program, "timeout" | "env") {
                prop_assert_eq!(risk(&written), None);
            }
            let path = Command { argv: std::iter::once(format!("/tmp/{program}")).chain(argv.into_iter().skip(1)).collect(), ..written };
            prop_assert_ne!(judge(&path), Judgement::Allow);
        }
    }
}
