//! Tests of the plan: data in, rendered text out; properties for what must hold for any text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by failing")]

mod approving;
mod compiling;
mod properties;
mod reading;

use super::*;
use std::fmt::Write as _;

/// The plan of the README.
pub(super) const SAMPLE: &str = r#"# Make retries configurable

The goal in the user's words: any prose
up to the next heading.

## Contract

- scope: `src/net/**`, `tests/net.rs`
- accept: `cargo test -p net`
- budget: 60k tokens; 15 min; $0.50
- enforce: public-api unchanged; no new dependencies
- advice: keep the builder style
- assume: all retries go through `Client::send`; absent: `fn retry`, in `src`, except `src/net/**`
- stop: files > 8

## Steps

### policy: Add RetryPolicy

- edit: `src/net/retry.rs` (new), `src/net/client.rs` (focus `Client::send`), `src/net/mod.rs`
- check: `cargo check -p net`
- repair: 2

Put the policy beside the client; default to three attempts.

- zero attempts means: no retry
- jitter is out of scope

> note: the last try was too clever

### tests: Cover the policy

- edit: `tests/net.rs`
- after: policy
- check: `cargo test -p net`, with `RUST_LOG=off`

### look: Is the new API right?

- ask: anyone
- after: tests

### announce: Post the release note

- run: `tools/announce note.md`
- after: look, review
- effect: outside
- probe: `tools/announce --was-sent`

## Notes

Why, alternatives, open questions: anything. <!-- hidden -->
"#;

/// Problems as lines: severity, code, the text they are about, the message.
pub(super) fn problems(text: &str, problems: &[crate::domain::problem::Problem]) -> String {
    let mut out = String::new();
    for problem in problems {
        let about = text.get(problem.range.clone()).expect("a range within the text").replace('\n', "⏎");
        let severity = format!("{:?}", problem.severity).to_lowercase();
        let _ = writeln!(out, "{severity} {} {about:?}: {}", problem.code, problem.message);
        if let Some(fix) = &problem.fix {
            let _ = writeln!(out, "  fix: {}", fix.title);
        }
    }
    out
}
