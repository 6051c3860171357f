//! The figures that requirements L name, each against its floor in the same run: `cargo bench`, or
//! `cargo bench -- hunks` for those whose name holds the word.
//!
//! Invariant: a figure is printed with what it is compared to; nothing fails here, because a figure depends on the
//! machine. Absent: peers; they are measured elsewhere.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    reason = "a measurement that cannot be made must stop and say where; nobody builds on this"
)]

mod editor_load;
mod editor_plan;
mod editor_start;
mod first_request;
mod ground;
mod harness;
mod hunks;
mod index;
mod journal;
mod long_task;
mod plan;
mod project;
mod screen;
mod view;
mod wire;

use harness::Row;

/// A word that a figure is chosen by, and what measures it.
type Figure = (&'static str, fn() -> Vec<Row>);

const FIGURES: [Figure; 11] = [
    ("editor start", editor_start::rows),
    ("editor load", editor_load::rows),
    ("editor plan", editor_plan::rows),
    ("first request", first_request::rows),
    ("long task", long_task::rows),
    ("journal", journal::rows),
    ("hunks", hunks::rows),
    ("screen", screen::rows),
    ("plan", plan::rows),
    ("index", index::rows),
    ("view", view::rows),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let Some(address) = arguments.first().and_then(|first| first.strip_prefix(first_request::BARE)) {
        first_request::bare(address);
        return;
    }
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|word| name.contains(word.as_str()));
    let mut rows = Vec::new();
    for (name, measure) in FIGURES.into_iter().filter(|(name, _)| wanted(name)) {
        println!("measuring: {name}");
        rows.extend(measure());
    }
    println!("\n{}", harness::table(&rows));
}
