//! From a command to the first request that reaches a model's server (L2), with the index warm: the real binary, on a
//! workspace of a thousand files.

use crate::harness::{Guide, Row, in_turn};
use crate::project;
use planwright::testing::script::{Script, Turn};
use planwright::testing::scripted_model::{MODEL, ScriptedModel};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How this program is told to be the floor: a process that sends one request and ends.
pub const BARE: &str = "bare-request=";

pub fn rows() -> Vec<Row> {
    let keep = tempfile::tempdir().unwrap();
    let base = keep.path().canonicalize().unwrap();
    let (root, state, cache) = (base.join("work"), base.join("state"), base.join("cache"));
    project::write(&root);
    std::fs::write(base.join("config.toml"), "").unwrap();
    let git = Command::new("git").args(["init", "-q"]).current_dir(&root).status().unwrap();
    assert!(git.success());
    let born = Instant::now();
    let server = ScriptedModel::start(Script::default().otherwise(Turn::text("no"))).unwrap();
    let url = server.base_url();
    let first_call = |command: &mut Command| {
        let before = server.calls().len();
        let spawned = born.elapsed();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let at = loop {
            if let Some(call) = server.calls().get(before) {
                break call.at;
            }
            assert!(Instant::now() < deadline, "no request came");
            std::thread::sleep(Duration::from_millis(1));
        };
        child.kill().unwrap();
        child.wait().unwrap();
        at.saturating_sub(spawned)
    };
    let program = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
        command.args(words).current_dir(&root);
        command.env("PLANWRIGHT_STATE_DIR", &state).env("PLANWRIGHT_CACHE_DIR", &cache);
        command.env("PLANWRIGHT_CONFIG", base.join("config.toml"));
        command.env("OPENAI_BASE_URL", &url).env("OPENAI_MODEL", MODEL);
        command.env_remove("OPENAI_API_KEY").env_remove("ANTHROPIC_API_KEY");
        command
    };
    // Makes the index and an empty database; each run then plans the first task of this workspace.
    assert!(program(&["tasks"]).stdout(Stdio::null()).status().unwrap().success());
    let empty = base.join("empty");
    copy(&state, &empty);
    let ours = || {
        std::fs::remove_dir_all(&state).unwrap();
        copy(&empty, &state);
        first_call(&mut program(&["plan", "Make the totals saturate"]))
    };
    let address = url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let own = std::env::current_exe().unwrap();
    let floor = || first_call(Command::new(&own).arg(format!("{BARE}{address}")).current_dir(Path::new("/")));
    vec![Row::of(
        "command to first model request, 1,000 files, warm",
        "a bare process that sends one request",
        Guide::Within(Duration::from_millis(30)),
        in_turn(15, ours, floor),
    )]
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

/// The floor.
pub fn bare(address: &str) {
    let body = format!(r#"{{"model":"{MODEL}","messages":[{{"role":"user","content":"hello"}}],"stream":true}}"#);
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
}
