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
        ],
    );
    check("wrapper", &["env FOO=1 ls", "xargs ls", "find . -exec ls {} ;", "fd -x ls", "nohup ls", "vim a"]);
    check("git-config", &["git -c core.pager=x log", "git config alias.x !y", "git st", "git --exec-path=/x log"]);
    check("git-history", &["git reset --hard", "git checkout -- .", "git clean -fdx", "git branch -D x", "git stash"]);
    check("git-hooks", &["git commit -m x", "git bisect run x"]);
    check("network", &["git push", "curl x", "wget x", "ssh host", "python -m http.server", "rsync a b:"]);
    check("removes", &["rm -rf target", "find . -delete", "truncate -s 0 a", "mkfs.ext4 x"]);
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
