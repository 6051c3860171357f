//! SIGKILLs of a language server between a decision in an open document, its edit, and the edit's result.
//!
//! The decision is the journal's, the text is the editor's. Whatever was cut short: the next server takes each hunk for
//! what the text says, nothing stands there twice, and saving is enough to end a task that waits for nothing else.

use crate::support::server::Server;
use crate::support::{Project, until};
use planwright::testing::failpoint;
use serde_json::{Value, json};

const FILE: &str = "src/lib.rs";

const OLD: &str = "pub fn total(xs: &[u32]) -> u32 {\n    xs.iter().sum()\n}\n\n\n\n\n\n\npub fn bill(xs: &[u32]) -> u32 {\n    total(xs)\n}\n";

const PLAN: &str = "# Rename total

A better name.

## Contract

- scope: `src/**`
- accept: absent: `\\btotal\\b`, in `src`

## Steps

### rename: Rename total

- transform: rename `total` to `sum_of`
- write: `src/**`
";

fn new() -> String {
    OLD.replace("total", "sum_of")
}

/// An editor with one file open, that outlives its servers.
struct Editor {
    project: Project,
    task: String,
    text: String,
    version: i32,
    server: Server,
    asked: i32,
}

impl Editor {
    /// Hunks wait in the open file; this server dies there.
    fn new(cell: &str) -> Editor {
        let project = Project::new(&[(FILE, OLD)]);
        let task = project.approved("Rename total", PLAN);
        project.run(&["run", &task]).exits(3);
        let server = Server::start_with(&project, &[], Some((failpoint::VARIABLE, &format!("{cell}:write:1"))));
        let mut editor = Editor { project, task, text: OLD.to_owned(), version: 0, server, asked: 1 };
        editor.opens();
        editor
    }

    /// Another server, and the document as the editor has it.
    fn again(&mut self) {
        self.server = Server::start(&self.project, &[]);
        self.opens();
    }

    fn opens(&mut self) {
        self.server.read();
        let root = format!("file://{}", self.project.root.display());
        let can = json!({"workspace": {"applyEdit": true, "workspaceEdit": {"documentChanges": true}}});
        self.server.request(1, "initialize", json!({"processId": null, "rootUri": root, "capabilities": can}));
        self.server.answer(1);
        self.server.notify("initialized", json!({}));
        self.version += 1;
        let document = json!({"uri": self.uri(), "languageId": "rust", "version": self.version, "text": self.text});
        self.server.notify("textDocument/didOpen", json!({"textDocument": document}));
        until("the root is open and the hunks are seen", || self.hunks().len() == 2);
    }

    fn uri(&self) -> String {
        format!("file://{}", self.project.path(FILE).display())
    }

    /// As another process sees them: state, whether it is on disk, whether it waits.
    fn hunks(&self) -> Vec<String> {
        let seen = self.project.run(&["review", &self.task, "--all", "--json"]);
        let seen: Value = serde_json::from_str(&seen.out).unwrap_or_default();
        let hunks = seen["hunks"].as_array().cloned().unwrap_or_default();
        hunks.iter().map(|hunk| format!("{} {} {}", hunk["state"], hunk["on_disk"], hunk["pending"])).collect()
    }

    #[track_caller]
    fn all_are(&self, wanted: &str) {
        until(&format!("all hunks are {wanted}: {:?}", self.hunks()), || self.hunks() == [wanted, wanted]);
    }

    fn accepts(&mut self) {
        self.asked += 1;
        let arguments = json!([{"task": self.task, "all": true}]);
        let command = json!({"command": "planwright.accept", "arguments": arguments});
        self.server.request(self.asked, "workspace/executeCommand", command);
    }

    /// Makes the edit that it is asked for, tells of it and answers. False when the server dies before it asks.
    fn makes_the_edit(&mut self) -> bool {
        let Some(asked) = self.server.next(|said| said["method"] == "workspace/applyEdit") else { return false };
        let change = &asked["params"]["edit"]["documentChanges"][0];
        assert_eq!(change["textDocument"]["version"], self.version);
        let mut edits = change["edits"].as_array().unwrap().clone();
        edits.sort_by_key(|edit| self.at(&edit["range"]["start"]));
        for edit in edits.iter().rev() {
            let range = self.at(&edit["range"]["start"])..self.at(&edit["range"]["end"]);
            self.text.replace_range(range, edit["newText"].as_str().unwrap());
        }
        self.version += 1;
        let document = json!({"uri": self.uri(), "version": self.version});
        let changed = json!({"textDocument": document, "contentChanges": [{"text": self.text}]});
        self.server.notify("textDocument/didChange", changed);
        let answer = json!({"applied": true});
        self.server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
        true
    }

    /// A byte of the text, which is ASCII.
    fn at(&self, position: &Value) -> usize {
        let line = usize::try_from(position["line"].as_u64().unwrap()).unwrap();
        let before: usize = self.text.split_inclusive('\n').take(line).map(str::len).sum();
        before + usize::try_from(position["character"].as_u64().unwrap()).unwrap()
    }

    fn saves(&mut self) {
        self.project.write(FILE, &self.text);
        self.server.notify("textDocument/didSave", json!({"textDocument": {"uri": self.uri()}}));
    }

    #[track_caller]
    fn task_ends(&self) {
        let state = || self.project.run(&["tasks", "--json"]).json()["tasks"][0]["state"]["state"].clone();
        until(&format!("the task is done: {}", state()), || state() == "done");
        assert_eq!(self.project.read(FILE), new());
    }
}

#[test]
fn between_the_decision_and_the_edit() {
    let mut editor = Editor::new("before-start");
    editor.accepts();
    assert!(!editor.makes_the_edit(), "the edit was asked for before its intent was on record");
    editor.server.was_killed();
    editor.again();
    editor.all_are("\"open\" true true");
    editor.accepts();
    assert!(editor.makes_the_edit());
    assert_eq!(editor.text, new());
    editor.all_are("\"accepted\" false true");
    assert_eq!(editor.project.read(FILE), OLD, "the person saves");
    editor.saves();
    editor.task_ends();
}

#[test]
fn between_the_edit_and_its_result_with_the_text_kept() {
    let mut editor = Editor::new("before-result");
    editor.accepts();
    assert!(editor.makes_the_edit());
    editor.server.was_killed();
    assert_eq!(editor.text, new());
    editor.again();
    editor.all_are("\"accepted\" false true");
    assert_eq!(editor.project.read(FILE), OLD, "the person saves");
    // Nothing but the saving: no command, no key.
    editor.saves();
    editor.task_ends();
    assert_eq!(editor.text, new(), "nothing was done twice");
}

#[test]
fn between_the_edit_and_its_result_with_the_text_lost() {
    let mut editor = Editor::new("before-result");
    editor.accepts();
    assert!(editor.makes_the_edit());
    editor.server.was_killed();
    editor.text = OLD.to_owned();
    editor.again();
    editor.all_are("\"open\" true true");
    editor.accepts();
    assert!(editor.makes_the_edit());
    assert_eq!(editor.text, new());
    editor.saves();
    editor.task_ends();
}

#[test]
fn a_file_saved_while_no_server_lived_ends_its_task_when_it_is_saved_again() {
    let mut editor = Editor::new("after-result");
    editor.accepts();
    assert!(editor.makes_the_edit());
    editor.server.was_killed();
    editor.project.write(FILE, &editor.text);
    editor.again();
    editor.all_are("\"accepted\" true false");
    editor.saves();
    editor.task_ends();
}
