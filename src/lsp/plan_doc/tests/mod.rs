//! Tests of what an editor shows in a plan document: a document with a cursor (`$0`) in, rendered text out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by failing")]

mod acting;
mod completing;
mod finding;
mod placing;
mod reading;
mod serving;
mod signing;

use super::moment::Moment;
use crate::desk::fixture::{self, anna, approved, opened, revised, revision};
use crate::desk::{CompiledView, Dossier, Surroundings};
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::{Facts, Parsed, Versions, compile, normal, outlook, parse};
use crate::domain::problem::Replacement;
use crate::domain::symbols::SymbolTable;
use crate::domain::task::event::Event;
use crate::domain::task::facts::Rung;
use crate::domain::task::standing::TaskState;

/// A small plan that compiles.
const PLAN: &str = "\
# Make retries configurable

Callers choose how often.

## Contract

- scope: `src/**`, `tests/**`
- accept: `cargo test`
- advice: keep it small

## Steps

### policy: Add RetryPolicy

- edit: `src/retry.rs` (new), `src/client.rs` (focus `Client::send`)
- check: `cargo check`

Put it beside the client.

### tests: Cover the policy

- edit: `tests/net.rs`
- after: policy

### docs: Say so

- edit: `src/lib.rs`
- after: none

## Notes

Why: anything.
";

/// The files that there are.
const FILES: [&str; 4] = ["src/client.rs", "src/lib.rs", "tests/net.rs", "README.md"];

/// The text without its cursor, and where that was.
fn cursor(text: &str) -> (String, usize) {
    let at = text.find("$0").expect("a cursor");
    (text.replacen("$0", "", 1), at)
}

/// What the engine would say of a text.
fn compiled(text: &str, number: u32, approved: bool) -> CompiledView {
    let parsed = parse(text);
    let files = FILES.iter().map(|path| WorkspacePath::new(path).unwrap()).collect();
    let symbols = SymbolTable::default();
    let facts = Facts { files: &files, symbols: &symbols, tools: &["read", "edit"], allowed: None };
    let normal = normal(&parsed.plan, &Versions::default());
    CompiledView {
        problems: compile(&parsed, &facts)
            .into_iter()
            .filter(|problem| !matches!(problem.code.as_str(), "unchecked-focus" | "measure"))
            .collect(),
        revision: crate::domain::ids::RevisionRef { number, digest: "9f2c81d04a7e".to_owned() },
        contract: outlook::lines(&parsed.plan, &normal, Rung::Copy, None),
        approved,
    }
}

/// A document with everything around it.
struct Scene {
    text: String,
    parsed: Parsed,
    compiled: Option<CompiledView>,
    dossier: Option<Dossier>,
    place: Surroundings,
}

impl Scene {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            parsed: parse(text),
            compiled: Some(compiled(text, 1, false)),
            dossier: Some(planned()),
            place: Surroundings::default(),
        }
    }

    fn of_task(mut self, dossier: Option<Dossier>) -> Self {
        self.dossier = dossier;
        self
    }

    fn moment(&self) -> Moment<'_> {
        Moment {
            text: &self.text,
            parsed: &self.parsed,
            compiled: self.compiled.as_ref(),
            dossier: self.dossier.as_ref(),
            place: &self.place,
        }
    }
}

/// A task whose plan waits for an approval.
fn planned() -> Dossier {
    fixture::dossier(
        "k3xf",
        vec![(0, opened("make retries configurable")), (10, revised(1))],
        TaskState::AwaitingApproval,
    )
}

/// The same approved, and then this.
fn running(more: Vec<Event>, state: TaskState) -> Dossier {
    let first = [opened("make retries configurable"), revised(1), approved(1)];
    let events = first.into_iter().chain(more).enumerate().map(|(n, event)| (n as i64, event));
    fixture::dossier("k3xf", events.collect(), state)
}

/// An edit as a person sees it: what goes between `[` and `]`, and what comes.
fn shown(text: &str, edits: &[Replacement]) -> String {
    let show = |edit: &Replacement| format!("[{}]→{:?}", text.get(edit.range.clone()).unwrap(), edit.text);
    edits.iter().map(show).collect::<Vec<_>>().join(" ")
}
