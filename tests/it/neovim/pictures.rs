//! The README's pictures, from a real run: `editors/record`.

use super::FILE;
use super::driver::{Neovim, Setup};
use super::svg::picture;
use crate::support::in_time;
use crate::support::model::{Modelled, finish};
use crate::support::source::repository;
use planwright::testing::script::{Script, Turn};
use serde_json::{Value, json};

const SIZE: (usize, usize) = (100, 30);

const CLIENT: &str = "//! Talks to the server.

use crate::wire::{self, Answer, Fault};

/// How often a request is tried.
const TRIES: u32 = 3;

/// A connection.
pub struct Client {
    base: String,
}

impl Client {
    // agent: let callers say how often a request is tried
    pub fn new(base: &str) -> Client {
        Client { base: base.to_owned() }
    }

    /// Sends a request until it is answered.
    pub fn send(&self, path: &str) -> Result<Answer, Fault> {
        for _ in 1..TRIES {
            if let Ok(answer) = wire::send(&self.base, path) {
                return Ok(answer);
            }
        }
        wire::send(&self.base, path)
    }
}
";

fn script() -> Script {
    let plan = json!({
        "title": "Callers say how often a request is tried",
        "scope": [FILE],
        "accept": ["absent: `const TRIES`, in `src`"],
        "steps": [{ "id": "tries", "title": "Add `tries` to the client", "kind": "edit",
            "files": [{ "path": FILE, "new": false, "focus": "Client" }], "command": "", "rule": "", "after": [],
            "check": "", "instruction": "Keep three as the default. Zero is read as one." }],
        "assumptions": ["every retry goes through `Client::send`"], "questions": [],
        "advice": ["keep the builder style"],
    });
    let pair = |search: &str, replace: &str| json!({ "search": search, "replace": replace });
    let change = json!({ "path": FILE, "pairs": [
        pair("/// How often a request is tried.\nconst TRIES: u32 = 3;\n\n", ""),
        pair("    base: String,\n", "    base: String,\n    tries: u32,\n"),
        pair("        Client { base: base.to_owned() }\n    }\n",
             "        Client { base: base.to_owned(), tries: 3 }\n    }\n\n    /// Tries so often.\n    \
              pub fn tries(self, tries: u32) -> Client {\n        Client { tries: tries.max(1), ..self }\n    }\n"),
        pair("1..TRIES", "1..self.tries"),
    ]});
    Script::by(move |request: &Value, _| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        match messages.iter().filter(|message| message["role"] == "assistant").count() {
            _ if request.get("tools").is_none() => Turn::text(&plan.to_string()),
            0 => Turn::call("replace", change.clone()),
            _ => finish("callers say how often"),
        }
    })
}

/// Waits until the screen shows each of these, and keeps it.
#[track_caller]
fn keep(editor: &Neovim, name: &str, means: &str, parts: &[&str]) {
    editor.lua("vim.api.nvim_echo({ { '' } }, false, {})");
    let plain = || {
        let screen = editor.screen();
        regex::Regex::new("\u{1b}\\[[0-9;:]*m").unwrap().replace_all(&screen, "").into_owned()
    };
    let shown = in_time(|| {
        let screen = plain();
        parts.iter().all(|part| screen.contains(part))
    });
    assert!(shown, "{name} does not show {parts:?}:\n{}", plain());
    let file = repository().join("editors/pictures").join(name);
    std::fs::write(file, picture(&editor.screen(), SIZE.0, means)).unwrap();
}

#[test]
#[ignore = "makes the README's pictures; `editors/record` runs it"]
fn the_job_in_pictures() {
    let wire = "pub struct Answer;\npub struct Fault;\npub fn send(_: &str, _: &str) -> Result<Answer, Fault> {\n    \
                Err(Fault)\n}\n";
    let work = Modelled::new(&[(FILE, CLIENT), ("src/wire.rs", wire)], script());
    let Some(editor) = Neovim::shown(&work, Setup::Plugin, FILE, SIZE) else { return };
    editor.lua(
        "vim.o.laststatus = 2
         vim.o.statusline = [[ %t %m%=%{v:lua.require'planwright'.status()} ]]
         vim.o.signcolumn = 'yes'
         vim.o.number = true
         vim.o.termguicolors = true
         vim.o.ruler, vim.o.showcmd = false, false",
    );
    editor.until("#T.servers() == 1");
    editor.act("// agent:", "Agent: plan this comment");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'task.md')");
    editor.until("T.text('task.md'):find('awaiting approval', 1, true) ~= nil");
    keep(
        &editor,
        "page.svg",
        "A task's page in Neovim, with the plan to approve",
        &["awaiting approval", "cost: 1 step"],
    );
    editor.ex("Planwright openPlan");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), '.plan.md')");
    editor.until("T.at('- edit:')");
    editor.typed(&["w", "c", "w", "e", "i", "d", "t", "Escape"]);
    editor.until("#T.diagnostics('.plan.md') > 0");
    editor.lua("vim.diagnostic.config({ virtual_lines = { current_line = true } })");
    keep(&editor, "plan.svg", "A plan in Neovim, with a problem under the line that has it", &["was `edit` meant?"]);
    editor.typed(&["u"]);
    editor.until("T.text('.plan.md'):find('- edit:', 1, true) ~= nil");
    editor.lua("vim.diagnostic.config({ virtual_lines = false })");
    editor.ex("Planwright approve");
    editor.edit(FILE);
    editor.until("#T.drawn() > 8");
    editor.until("T.at('/// A connection')");
    editor.typed(&["z", "t"]);
    editor.until("T.at('Client { base')");
    keep(
        &editor,
        "hunks.svg",
        "Hunks in Neovim, at the places where they would go",
        &["tries.max(1)", "1..self.tries"],
    );
    editor.typed(&["g", "a"]);
    editor.until(&format!("T.text('{FILE}'):find('tries.max', 1, true) ~= nil"));
    keep(&editor, "accepted.svg", "One hunk accepted, not saved yet", &["accepted, not saved"]);
    editor.leave("qa!");
}
