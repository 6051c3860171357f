//! From the start of the language server to its first answer (L1).

use crate::ground::Ground;
use crate::harness::{Guide, Row, in_turn, time};
use crate::project;
use crate::wire::Wire;
use std::process::Stdio;
use std::time::{Duration, Instant};

pub fn rows() -> Vec<Row> {
    let ground = Ground::new("", "http://127.0.0.1:9/v1", project::write);
    let ours = || {
        let from = Instant::now();
        let mut wire = Wire::start(ground.command(&["lsp", "--stdio"]), &ground.root);
        wire.initialize();
        let took = from.elapsed();
        drop(wire);
        took
    };
    let floor = || {
        let mut command = ground.command(&["--version"]);
        time(|| command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap())
    };
    vec![Row::of(
        "editor: start to `initialize` answered",
        "the same binary says its version",
        Guide::Within(Duration::from_millis(20)),
        in_turn(31, ours, floor),
    )]
}
