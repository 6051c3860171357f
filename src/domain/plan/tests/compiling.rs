//! Findings of the compiler, each with the text it is about.

use super::*;
use crate::domain::ids::{ContentHash, WorkspacePath};
use crate::domain::symbols::{FileSymbols, Symbol, SymbolKind, SymbolTable};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) struct World {
    files: BTreeSet<WorkspacePath>,
    symbols: SymbolTable,
}

impl World {
    pub(super) fn new() -> Self {
        let files =
            ["Cargo.toml", "src/lib.rs", "src/net/mod.rs", "src/net/client.rs", "tests/net.rs", "tools/announce"];
        let files: BTreeSet<_> = files.iter().map(|path| WorkspacePath::new(path).unwrap()).collect();
        let symbol = |path: &str, kind| Symbol {
            path: path.to_owned(),
            name: path.rsplit("::").next().unwrap().to_owned(),
            kind,
            range: 0..0,
            name_range: 0..0,
            signature: String::new(),
            public: true,
            body: ContentHash::of(""),
        };
        let client = vec![
            symbol("Client", SymbolKind::Struct),
            symbol("Client", SymbolKind::Impl),
            symbol("Client::send", SymbolKind::Method),
            symbol("Server::send", SymbolKind::Method),
        ];
        let table = BTreeMap::from([(
            WorkspacePath::new("src/net/client.rs").unwrap(),
            Arc::new(FileSymbols { content: ContentHash::of(""), symbols: client, mentions: vec![] }),
        )]);
        Self { files, symbols: SymbolTable { files: Arc::new(table) } }
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        Facts { files: &self.files, symbols: &self.symbols, tools: &["read", "edit", "run"], allowed: None }
    }
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let parsed = super::parse(text);
    let world = World::new();
    let got = problems(text, &compile(&parsed, &world.facts()));
    assert_eq!(got.trim(), expect.trim(), "\n--- got ---\n{got}");
}

/// Steps under a contract that is in order.
#[track_caller]
fn steps(steps: &str, expect: &str) {
    check(&format!("# T\n\n## Contract\n\n- scope: `src/**`\n- accept: `cargo test`\n\n## Steps\n\n{steps}"), expect);
}

#[test]
fn the_sample_has_only_remarks() {
    check(
        SAMPLE,
        r####"
hint measure "tests/net.rs": checks measure by `tests/net.rs`; hunks in it are marked
"####,
    );
}

#[test]
fn an_empty_plan_says_what_it_needs() {
    check(
        "",
        r####"
error missing-title "": the plan has no title; begin with `# ` and a few words
error missing-contract "": the plan has no contract; add a section `## Contract`
error no-steps "": the plan has no step; add `### id: title` under `## Steps`
"####,
    );
    check(
        "# T\n\n## Contract\n\n## Steps\n\n### a: make it so\n- edit: `src/lib.rs`\n",
        r####"
error empty-scope "## Contract": the contract has no `scope`, so nothing may be written; name the globs that writes stay in
error missing-acceptance "## Contract": nothing judges what you keep; add `accept:` with a command or another check
"####,
    );
}

#[test]
fn ids_and_order() {
    steps(
        "### a: x y\n- ask: anyone\n### a: x y\n- ask: anyone\n- after: b1\n### b: x y\n- ask: anyone\n- after: c\n### c: x y\n- ask: anyone\n- after: b\n### none: x\n- ask: anyone\n",
        r####"
error duplicate-id "a": the id `a` is taken by a step above; choose another
  fix: name it `a-2`
error unknown-after "b1": no step is called `b1`; name a step of this plan, or write `none`
  fix: write `b`
error cycle "- after: c": `b` and `c` wait for each other; take one out of `after`
error cycle "- after: b": `c` and `b` wait for each other; take one out of `after`
error reserved-id "none": `none` means something else in a plan; give the step another id
"####,
    );
}

#[test]
fn files_are_there_or_made_before() {
    steps(
        "### a: make it so\n- edit: `src/net/retry.rs` (new), `src/lib.rs` (new), `src/gone.rs`, `src/net`, `/etc/x`, `docs/a.md` (new)\n### b: and go on\n- edit: `src/net/retry.rs`\n### c: beside it\n- edit: `src/late.rs`\n- after: none\n### d: make late\n- edit: `src/late.rs` (new)\n",
        r####"
hint companion "src/net/retry.rs": will also need `src/net/mod.rs` for its `mod` line; add it to this step
  fix: add `src/net/mod.rs`
warning file-exists "src/lib.rs": `src/lib.rs` is there already, so the step will change it; take `(new)` out
error missing-file "src/gone.rs": `src/gone.rs` is not there; mark it `(new)` if the step makes it, else mend the path
  fix: mark it `(new)`
error folder "src/net": `src/net` is a folder; name files, or `src/net/**`
  fix: write `src/net/**`
error bad-path "/etc/x": `/etc/x` is absolute; write it relative to the workspace; write a path inside the workspace
error outside-scope "docs/a.md": `docs/a.md` lies outside the contract's scope; add it there, or take it out here
  fix: add `docs/a.md` to the scope
error missing-file "src/late.rs": `src/late.rs` is made by a step that does not come before this one; name it in `after`
"####,
    );
}

#[test]
fn symbols_resolve() {
    steps(
        "### a: change them all\n- edit: `src/net/client.rs` (focus `Client::sent`)\n### b: and these\n- edit: `src/net/client.rs` (focus `Client`)\n### c: both sends\n- edit: `src/net/client.rs` (focus `send`)\n",
        r####"
error missing-symbol "`src/net/client.rs`": `src/net/client.rs` has no symbol `Client::sent`; is `Client::send` meant?
warning ambiguous-symbol "`src/net/client.rs`": `send` means several symbols of `src/net/client.rs`: `Client::send`, `Server::send`; write the longer path
"####,
    );
    steps(
        "### a: b\n- transform: rename `Client::sned` to `x`\n### b: c\n- transform: rename `send` to `a::b`\n### c: d\n- transform: rename `Client::send` to `transmit`\n### d: e\n- transform: rewrite `$A.x()` to `$B`\n",
        r####"
error unknown-symbol "Client::sned": no symbol `Client::sned` was found; write its path as in `Client::send`, or `src/net.rs#send`
  fix: write `Client::send`
error ambiguous-symbol "send": `send` is ambiguous; write one of `src/net/client.rs#Client::send`, `src/net/client.rs#Server::send`
  fix: write `src/net/client.rs#Client::send`
error bad-name "a::b": `a::b` is no identifier; a rename keeps the place, so give the last part alone
error unknown-metavariable "$B": `$B` is not in the first pattern, so nothing fills it; use one that is
"####,
    );
}

#[test]
fn writes_that_meet_are_ordered_and_told() {
    steps(
        "### a: one two\n- edit: `src/lib.rs`\n- after: none\n### b: one two\n- edit: `src/lib.rs`\n- after: none\n### c: d\n- run: x\n- write: `src/**`\n- after: none\n",
        r####"
hint ordered "- edit: `src/lib.rs`": runs after `a`, as both write `src/lib.rs`
warning ordered-by-globs "- run: x": runs after `b`, as their globs may mean the same files; name the files to let both run at once
"####,
    );
}

#[test]
fn later_stages_and_unfit_settings() {
    steps(
        "### a: b\n- recipe: x\n### b: c\n- fetch: `y`\n### c: d e\n- edit: @calls within `src/net/**`\n- route: fast\n- tools: script, raed\n### d: e\n- ask: anyone\n- effect: outside\n- write: `src/lib.rs`\n### e: f\n- run: x\n- effect: outside\n",
        r####"
error later-release "- recipe: x": `recipe` is not in this release; take it out
error later-release "- fetch: `y`": `fetch` is not in this release; take it out
error later-release "@calls within `src/net/**`": files bound later (`@…`) are not in this release; name the files, or explore first
error later-release "- route: fast": `route` is not in this release; take it out
error later-release "script": the tool `script` is not in this release; take it out
error unknown-tool "raed": no tool is called `raed`; there are read, edit, run
  fix: write `read`
error effect-unfit "- effect: outside": an outside effect is a `run` step of its own, so that its gate shows the exact command
hint no-probe "- effect: outside": without `probe` a crash in the middle means that you will be asked whether it happened
error write-unfit "- write: `src/lib.rs`": a step of kind `ask` writes nothing; take `write` out
error effect-unfit "- write: `src/lib.rs`": an outside effect runs in the workspace itself and makes no hunks; take `write` out or make two steps
hint no-probe "- effect: outside": without `probe` a crash in the middle means that you will be asked whether it happened
"####,
    );
}

#[test]
fn commands_and_measures() {
    steps(
        "### a: b\n- run: `bash -c 'x'`, in `crates`\n- write: `src/**`, `Cargo.*`\n- allow: `*`\n",
        r####"
error missing-folder "- run: `bash -c 'x'`, in `crates`": there is no folder `crates` to run in; mend the path
warning risky-command "- run: `bash -c 'x'`, in `crates`": `bash -c x` is risky (shell): `bash` runs the text it is given; its gate will show the whole command
error outside-scope "Cargo.*": `Cargo.toml` lies outside the contract's scope; add it there, or take it out here
  fix: add `Cargo.*` to the scope
warning measure "Cargo.*": this glob reaches `Cargo.toml`, by which checks measure; name such files if they are meant
error allow-all "- allow: `*`": this would let the model start any program; name the program before the `*`
"####,
    );
    steps(
        "### a: do it\n- edit: `src/lib.rs`\n- check: `timeout 60 cargo test`\n- allow: `cargo check *`, `npx tool *`\n### b: and this\n- run: `sudo make`\n- write: `src/**`\n",
        r####"
warning risky-command "- allow: `cargo check *`, `npx tool *`": `npx tool` is risky (installs): `npx` fetches and runs code of others; its gate will show the whole command
error denied-command "- run: `sudo make`": `sudo make` is never started: `sudo` runs with other rights; do it yourself, and take it out here
"####,
    );
    let text = SAMPLE;
    let world = World::new();
    let cargo = [CommandPattern { argv: vec!["cargo".into(), "test".into()], open: true }];
    let facts = Facts { allowed: Some(&cargo), ..world.facts() };
    let found = compile(&super::parse(text), &facts);
    let refused: Vec<_> = found.iter().filter(|p| p.code == "not-allowed").map(|p| &text[p.range.clone()]).collect();
    assert_eq!(
        refused,
        ["- check: `cargo check -p net`", "- run: `tools/announce note.md`", "- probe: `tools/announce --was-sent`"]
    );
}

#[test]
fn bounds_add_up() {
    check(
        "# T\n\n## Contract\n\n- scope: `src`\n- accept: syntax\n- budget: 1 turns; 1 min; 10k tokens\n- stop: files > 0; tokens > 20k\n\n## Steps\n\n### a: b c\n- edit: `src/lib.rs`\n- timeout: 1 h\n### b: c d\n- edit: `src/net/mod.rs`\n",
        r####"
error budget "- budget: 1 turns; 1 min; 10k tokens": 2 steps need a model and the budget has fewer turns; raise it
warning stops-itself "- stop: files > 0; tokens > 20k": the steps name 2 files, so this plan would stop on its own rule; raise it
warning never-stops "- stop: files > 0; tokens > 20k": the budget ends before this rule asks; lower it
error budget "- timeout: 1 h": this step may take longer than the whole budget; lower one or raise the other
"####,
    );
}

#[test]
fn a_done_step_keeps_its_id() {
    let approved = super::parse(SAMPLE).plan;
    let text = SAMPLE.replace("### policy:", "### rules:").replace("after: policy", "after: rules");
    let done = [crate::domain::ids::StepId::new("policy")];
    let found = super::check::renamed(&super::parse(&text), &approved, &done);
    assert_eq!(
        problems(&text, &found),
        "error renamed-done \"rules\": `policy` is done and goes by that id; call it `policy` again, not `rules`\n  fix: write `policy`\n"
    );
    assert!(super::check::renamed(&super::parse(&text), &approved, &[]).is_empty());
}

/// Texts that would take time or memory by the square of their length.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test may look at the clock")]
fn hostile_texts_are_read_in_time() {
    let world = World::new();
    let texts = [
        format!("# T\n{}", "`a` ".repeat(100_000)),
        format!("# T\n{}", "a <!-- --> ".repeat(60_000)),
        format!("# T\n## Contract\n- advice: {}", "` `` ".repeat(100_000)),
        format!("# T\n## Steps\n{}", "### a\n".repeat(30_000)),
        format!("# T\n{}", "* ".repeat(100_000)),
        format!("# T\n{}", "[".repeat(300_000)),
    ];
    for text in texts {
        let started = std::time::Instant::now();
        let parsed = super::parse(&text);
        compile(&parsed, &world.facts());
        assert!(started.elapsed() < std::time::Duration::from_secs(8), "{:?} {}", started.elapsed(), &text[..30]);
    }
}

/// Applying a fix mends its finding.
#[test]
fn fixes_mend() {
    let world = World::new();
    let text = "# T\n\n## Contract\n\n- scope: `src/**`\n- accept: `a && b`\n\n## Steps\n\n### Do a thing\n- eidt: x\n- edit: `src/net/retry.rs`, `docs/x.md` (new)\n### b: c d\n- run: x\n- after: d-a-thing\n";
    for problem in compile(&super::parse(text), &world.facts()) {
        let Some(fix) = &problem.fix else { continue };
        let mended = super::edit::apply(text, &fix.edits);
        let about =
            |found: &crate::domain::problem::Problem| found.code == problem.code && found.message == problem.message;
        assert!(!compile(&super::parse(&mended), &world.facts()).iter().any(about), "{}: {mended}", fix.title);
    }
}

/// The limit is 50 ms for an optimised build (L7); this one is not optimised and shares its machine.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test may look at the clock")]
fn two_hundred_steps_compile_quickly() {
    let steps: String = (0..200)
        .map(|n| format!("### s{n}: change a file\n- edit: `src/m{n}.rs` (new), `src/net/client.rs` (focus `Client::send`)\n- after: none\n- check: `cargo check -p m{n}`\n\nSay what to do, with `code` and words.\n\n"))
        .collect();
    let text = format!("# T\n\n## Contract\n\n- scope: `src/**`\n- accept: `cargo test`\n\n## Steps\n\n{steps}");
    let world = World::new();
    let started = std::time::Instant::now();
    let parsed = super::parse(&text);
    let found = compile(&parsed, &world.facts());
    assert!(found.iter().all(|problem| problem.code == "ordered" || problem.code == "companion"), "{found:?}");
    assert!(started.elapsed() < std::time::Duration::from_secs(3));
}
