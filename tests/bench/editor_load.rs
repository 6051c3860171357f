//! What an editor asks while much goes on (L1): code actions, hover and completion over the real wire, in a workspace of
//! 10,000 files, while four steps stream 200 tokens a second each, a file of 3 MB is typed in, and results of 10 MB are
//! stored. The floor is a second server on a workspace like it, where nothing goes on.

use crate::ground::{Ground, until};
use crate::harness::{Guide, Row, Samples};
use crate::project;
use crate::wire::Wire;
use planwright::testing::script::{Script, Turn};
use planwright::testing::scripted_model::ScriptedModel;
use serde_json::{Value, json};
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

const FILES: usize = 10_000;
/// Of the file that is typed in: 3 MB.
const LINES: usize = 75_000;
/// The line that is typed in: a comment inside a function.
const TYPED: usize = LINES / 2 + 5;
/// Of the same file.
const HUNKS: usize = 50;
const STREAMS: usize = 4;
const RESULTS: usize = 3;
/// From one letter to the next: a person types no faster.
const TYPING: Duration = Duration::from_millis(80);
const ROUNDS: usize = 200;
const QUICKLY: Guide = Guide::Within(Duration::from_millis(20));
const AGAINST: &str = "the same of a server where nothing goes on";

const BIG: &str = "src/big.rs";

/// Ten million bytes, printed and put into a file that no other run has made.
const RESULT: &str = "#!/bin/sh
mkdir -p made
yes 'a result of ten million bytes, one line of it, and the next one' | head -c 10000000 > made/result-$$.txt
cat made/result-$$.txt
";

pub fn rows() -> Vec<Row> {
    let server = ScriptedModel::start(Script::by(streamed)).unwrap();
    let (mut busy, mut idle) = std::thread::scope(|scope| {
        let other = scope.spawn(|| Desk::new(&server));
        (Desk::new(&server), other.join().unwrap())
    });
    let task = busy.task.clone();
    busy.wire.command("planwright.run", json!([{"task": task}]));
    let page = busy.ground.root.join(format!(".planwright/tasks/{task}/task.md"));
    until("a command waits at its gate", || std::fs::read_to_string(&page).is_ok_and(|text| text.contains("## Gate")));
    until("four steps stream", || streaming(&server) == STREAMS);
    let allowed = json!([{"task": task, "answer": "allow_for_plan"}]);
    busy.wire.command("planwright.gate", allowed);
    let mut took = [(); 3].map(|()| Samples::default());
    for _ in 0..ROUNDS {
        let from = Instant::now();
        busy.types();
        for (samples, (ours, floor)) in took.iter_mut().zip(busy.asks().into_iter().zip(idle.asks())) {
            samples.ours.push(ours);
            samples.floor.push(floor);
        }
        std::thread::sleep(TYPING.saturating_sub(from.elapsed()));
    }
    assert_eq!(streaming(&server), STREAMS, "the steps ended too soon");
    let stored = large_files(&busy.ground.state());
    assert!(stored >= RESULTS, "{stored} large results were stored");
    let [actions, hover, completion] = &took;
    let row = |percent, name, samples| {
        Row::at(percent, name, AGAINST, if percent == 50 { Guide::Free } else { QUICKLY }, samples)
    };
    vec![
        row(50, "editor under load: codeAction, p50", actions),
        row(99, "editor under load: codeAction, p99", actions),
        row(50, "editor under load: hover, p50", hover),
        row(99, "editor under load: hover, p99", hover),
        row(50, "editor under load: completion, p50", completion),
        row(99, "editor under load: completion, p99", completion),
    ]
}

/// Two seconds of words, then one more look at the code.
fn streamed(_: &Value, n: u32) -> Turn {
    let from = 1 + (n % 60);
    let call = Turn::call("read", json!({"path": "src/part0/file0.rs", "from": from, "to": from + 4}));
    Turn { text: "and ".repeat(400), delta: 4, pace: Duration::from_millis(5), ..call }
}

fn streaming(server: &ScriptedModel) -> usize {
    server.calls().iter().filter(|call| !call.answered && !call.left).count()
}

fn large_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => large_files(&entry.path()),
            Ok(meta) => usize::from(meta.len() > 9_000_000),
            Err(_) => 0,
        })
        .sum()
}

/// A workspace, its server, and what a person has open there.
struct Desk {
    ground: Ground,
    wire: Wire,
    task: String,
    plan: String,
    /// Where a hunk of the large file is.
    hunk: usize,
    /// Where a symbol and a file are named in the plan.
    symbol: (usize, usize),
    file: (usize, usize),
    typed: usize,
}

impl Desk {
    fn new(server: &ScriptedModel) -> Desk {
        let config = "[limits]\nparallel = 5\nturns = 500\n";
        let ground = Ground::new(config, &server.base_url(), fill);
        let hunks = ground.task(&one_run("tools/rename", BIG));
        ground.run(&["approve", &hunks, "--yes"], &[0]);
        ground.run(&["run", &hunks], &[3]);
        ground.run(&["gate", &hunks, "allow", "--for-plan"], &[0]);
        ground.run(&["resume", &hunks], &[0, 3]);
        let task = ground.task(&work());
        ground.run(&["approve", &task, "--yes"], &[0]);
        let plan = ground.document(&task);
        let (text, big) = (ground.read(&plan), ground.read(BIG));
        let find = |what: &str| {
            let at = |(n, line): (usize, &str)| Some((n, line.find(what)? + what.len() - 2));
            text.lines().enumerate().find_map(at).unwrap()
        };
        let (symbol, file) = (find("focus `total_0_0"), find("edit: `src/part1"));
        let hunk = big.lines().position(|line| line.contains("former_39001")).unwrap();
        let mut wire = Wire::ready(ground.command(&["lsp", "--stdio"]), &ground.root);
        wire.open(BIG, "rust", &big);
        wire.open(&plan, "markdown", &text);
        let uri = wire.uri(BIG);
        wire.hear(|said| {
            let params = &said["params"];
            let about = said["method"] == "textDocument/publishDiagnostics" && params["uri"] == uri.as_str();
            about && params["diagnostics"].as_array().is_some_and(|all| all.len() == HUNKS)
        });
        let mut desk = Desk { ground, wire, task, plan, hunk, symbol, file, typed: 0 };
        until("all is answered", || desk.answers());
        desk
    }

    /// A letter in the middle of the large file.
    fn types(&mut self) {
        self.typed += 1;
        self.wire.types(BIG, i64::try_from(self.typed).unwrap(), TYPED, "//".len());
    }

    fn place(&self, path: &str, (line, character): (usize, usize)) -> Value {
        json!({"textDocument": {"uri": self.wire.uri(path)}, "position": {"line": line, "character": character}})
    }

    fn questions(&self) -> [(&'static str, Value); 3] {
        let at = json!({"line": self.hunk, "character": 0});
        let actions = json!({
            "textDocument": {"uri": self.wire.uri(BIG)},
            "range": {"start": at, "end": at},
            "context": {"diagnostics": [], "triggerKind": 1},
        });
        [
            ("textDocument/codeAction", actions),
            ("textDocument/hover", self.place(&self.plan, self.symbol)),
            ("textDocument/completion", self.place(&self.plan, self.file)),
        ]
    }

    /// A question that the server gave up counts with the time that took.
    fn asks(&mut self) -> [Duration; 3] {
        self.questions().map(|(method, params)| self.wire.request(method, params).0)
    }

    /// Each of the three says what it is to say.
    fn answers(&mut self) -> bool {
        let [actions, hover, completion] =
            self.questions().map(|(method, params)| self.wire.request(method, params).1.to_string());
        actions.contains("accept hunk") && hover.contains("pub fn total_0_0") && completion.contains("src/part1/file")
    }
}

fn fill(root: &Path) {
    project::write_many(root, FILES);
    std::fs::write(root.join(BIG), big()).unwrap();
    std::fs::create_dir(root.join("tools")).unwrap();
    let rename = "#!/bin/sh\nsed -i 's/former_/later_/' src/big.rs\n";
    for (name, text) in [("rename", rename), ("result", RESULT)] {
        let at = root.join("tools").join(name);
        std::fs::write(&at, text).unwrap();
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Short functions; a comment to type in at its middle line.
fn big() -> String {
    let line = |n: usize| match n % 10 {
        TYPED => "//\n".to_owned(),
        0 => format!("pub fn item_{n}() {{\n"),
        9 => "}\n".to_owned(),
        _ if n % (LINES / HUNKS) == 1 => format!("    former_{n}(\"a line as wide as others\");\n"),
        _ => format!("    line_{n}(\"a line as wide as others\");\n"),
    };
    (0..LINES).map(line).collect()
}

const CONTRACT: &str = "# Do it\n\nAs the steps say.\n\n## Contract\n\n- scope: `src/**`, `made/**`\n\
                        - accept: present: `fn`, in `src/part0`\n- budget: 900000k tokens; 600 min\n\n## Steps\n";

fn one_run(command: &str, write: &str) -> String {
    format!("{CONTRACT}\n### once: Run it\n\n- run: `{command}`\n- write: `{write}`\n- effect: repeatable\n")
}

/// Steps that stream, steps that leave large results, and one that is only read.
fn work() -> String {
    let mut text = CONTRACT.to_owned();
    for n in 0..STREAMS {
        let _ = write!(text, "\n### look-{n}: Read on\n\n- explore: `src/**`\n- after: none\n\nRead in pieces.\n");
    }
    for n in 0..RESULTS {
        let after = n.checked_sub(1).map_or_else(|| "none".to_owned(), |before| format!("result-{before}"));
        let _ = write!(
            text,
            "\n### result-{n}: Make a result\n\n- run: `tools/result`\n- write: `made/**`\n- effect: repeatable\n- after: {after}\n"
        );
    }
    text.push_str(
        "\n### later: Change it\n\n- edit: `src/part1/file50.rs`, `src/part0/file0.rs` (focus `total_0_0`)\n\
         - check: syntax\n- after: review\n\nSay why.\n",
    );
    text
}
