//! Findings of a plan of 200 steps (L7), as after each keystroke in the document.

use crate::harness::{Guide, Row, in_turn, time};
use planwright::domain::ids::WorkspacePath;
use planwright::domain::plan::{self, Facts};
use planwright::domain::policy::tools;
use planwright::domain::symbols::SymbolTable;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

pub const STEPS: usize = 200;

/// The files that the plan may name.
pub fn files() -> BTreeSet<WorkspacePath> {
    (0..1_000).map(|n| WorkspacePath::new(&format!("src/part{}/file{n}.rs", n / 50)).unwrap()).collect()
}

/// How long the findings of a text take.
pub fn compiled(text: &str, files: &BTreeSet<WorkspacePath>) -> Duration {
    let names: Vec<&str> = tools::table().iter().map(|row| row.name).collect();
    let symbols = SymbolTable::default();
    let facts = Facts { files, symbols: &symbols, tools: &names, allowed: None };
    time(|| plan::compile(&plan::parse(text), &facts))
}

pub fn rows() -> Vec<Row> {
    let text = text();
    let files = files();
    let names: Vec<&str> = tools::table().iter().map(|row| row.name).collect();
    let symbols = SymbolTable::default();
    let facts = Facts { files: &files, symbols: &symbols, tools: &names, allowed: None };
    let found = plan::compile(&plan::parse(&text), &facts);
    assert!(found.iter().any(|problem| problem.code == "missing-file"), "{found:?}");
    assert_eq!(plan::parse(&text).plan.steps.len(), STEPS);
    let samples = in_turn(
        21,
        || compiled(&text, &files),
        || time(|| pulldown_cmark::Parser::new(&text).into_offset_iter().count()),
    );
    vec![Row::of(
        "findings of a plan of 200 steps",
        "pulldown-cmark over the same text",
        Guide::Within(Duration::from_millis(50)),
        samples,
    )]
}

/// Each step edits two files, one of which is not there, and checks.
pub fn text() -> String {
    let mut text = "# A long plan\n\nMany small steps.\n\n## Contract\n\n- scope: `src/**`\n\
                    - accept: `cargo test`\n- budget: 900k tokens\n\n## Steps\n"
        .to_owned();
    for n in 0..STEPS {
        let part = n / 50;
        let _ = write!(
            text,
            "\n### step-{n}: Change file {n}\n\n\
             - edit: `src/part{part}/file{n}.rs`, `src/part{part}/gone{n}.rs`\n- check: `cargo check -p part{part}`\n\
             - repair: 2\n\nMake `total_{n}` take a **reference** and say why; see [the notes](notes.md).\n\n\
             - zero is allowed\n- nothing else changes\n"
        );
    }
    text
}
