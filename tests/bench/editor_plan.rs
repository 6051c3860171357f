//! Findings of a plan of 200 steps on their way to the screen (L7): the real binary, a letter typed in the document.

use crate::ground::Ground;
use crate::harness::{Guide, Row, in_turn};
use crate::wire::Wire;
use crate::{plan, project};
use std::time::{Duration, Instant};

pub fn rows() -> Vec<Row> {
    let ground = Ground::new("", "http://127.0.0.1:9/v1", project::write);
    let task = ground.task(&plan::text());
    let path = ground.document(&task);
    let text = ground.read(&path);
    let mut wire = Wire::ready(ground.command(&["lsp", "--stdio"]), &ground.root);
    wire.open(&path, "markdown", &text);
    let uri = wire.uri(&path);
    let shown = |wire: &mut Wire, version: i64| {
        let (at, said) = wire.hear(|said| {
            let params = &said["params"];
            let about = said["method"] == "textDocument/publishDiagnostics" && params["uri"] == uri.as_str();
            about && params["version"] == version
        });
        let found = said["params"]["diagnostics"].as_array().unwrap();
        assert!(found.iter().any(|one| one["code"] == "missing-file"), "{} findings", found.len());
        at
    };
    shown(&mut wire, 0);
    let line = text.lines().position(|line| line.starts_with("Make `total_100`")).unwrap();
    let (mut version, files) = (0, plan::files());
    let ours = || {
        version += 1;
        let from = Instant::now();
        wire.types(&path, version, line, 0);
        shown(&mut wire, version) - from
    };
    let samples = in_turn(31, ours, || plan::compiled(&text, &files));
    vec![Row::of(
        "editor: a letter in a plan of 200 steps to its findings",
        "parse and compile of the same text",
        Guide::Within(Duration::from_millis(50)),
        samples,
    )]
}
