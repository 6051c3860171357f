//! Editors in memory at the real language server: the binary over its pipes, the engine in it, a scripted model on the
//! wire.
//!
//! The clients have the capabilities and the quirks of the versions that they are named after. Invariant: a message of
//! the server's that neither a view takes in nor the test takes fails the test. Absent: an editor's screen; the real
//! Neovim has one.

mod job;
mod lies;
mod two;

use crate::support::Project;
use crate::support::model::{Modelled, finish, plan, planned};
use planwright::testing::editor::{Editor, Profile};
use planwright::testing::script::{Script, Turn};
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::process::{Child, Command};

/// An editor with the process at its other end, which ends with it.
struct Seat {
    editor: Editor,
    child: Child,
}

impl std::ops::Deref for Seat {
    type Target = Editor;

    fn deref(&self) -> &Editor {
        &self.editor
    }
}

impl Seat {
    /// Starts the server in the project and introduces the editor to it.
    async fn take(profile: Profile, project: &Project) -> Seat {
        let mut command = Command::from(project.command(&["lsp"]));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut editor = Editor::over(profile.clone(), &project.root, output, input);
        editor.look();
        let said = profile.initialize(&format!("file://{}", project.root.display()));
        editor.initialize(said).await;
        Seat { editor, child }
    }

    /// Opens a file as it is on disk.
    fn edit(&self, project: &Project, path: &str) {
        let language = if path.ends_with(".md") { "markdown" } else { "rust" };
        self.open(path, language, &project.read(path));
    }

    /// Writes the file as an editor does, and says so.
    fn write(&self, project: &Project, path: &str) {
        project.write(path, self.text(path).unwrap());
        self.save(path);
    }

    /// The file of the workspace that the server had shown last.
    async fn shown_at(&self, project: &Project, ending: &str) -> String {
        let root = format!("file://{}/", project.root.display());
        let find = || {
            let all = self.shown();
            let last = all.last()?["uri"].as_str()?.strip_prefix(&root)?.to_owned();
            last.ends_with(ending).then_some(last)
        };
        let found = self.until(&format!("{ending} is shown"), find).await;
        self.expect("window/showDocument").await;
        found
    }

    /// A hunk of a file: its id and what is said of it, by a line that it brings.
    fn hunk(&self, path: &str, line: &str) -> Option<(String, String)> {
        self.diagnostics(path).iter().find_map(|one| {
            let (id, said) = (one["code"].as_str()?, one["message"].as_str()?);
            (is_hunk(id) && said.contains(line)).then(|| (id.to_owned(), said.to_owned()))
        })
    }

    /// The hunks of a file with their states, from the top.
    fn hunks(&self, path: &str) -> Vec<(String, String)> {
        let all = self.diagnostics(path);
        let mut found: Vec<(u64, String, String)> = all
            .iter()
            .filter_map(|one| {
                let (id, said) = (one["code"].as_str()?, one["message"].as_str()?);
                let first = said.lines().next()?;
                let state = first.rsplit_once('(')?.1.trim_end_matches(')').to_owned();
                is_hunk(id).then_some((one["range"]["start"]["line"].as_u64()?, id.to_owned(), state))
            })
            .collect();
        found.sort();
        found.into_iter().map(|(_, id, state)| (id, state)).collect()
    }

    /// Leaves in order.
    async fn leave(mut self) {
        self.request("shutdown", Value::Null).await.unwrap();
        self.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
        let ended = tokio::time::timeout(std::time::Duration::from_secs(30), self.child.wait()).await;
        assert!(ended.expect("the server does not end").unwrap().success());
    }
}

fn is_hunk(code: &str) -> bool {
    code.len() == 9 && code.starts_with('h')
}

/// A step: its id, its file, and what is replaced there.
type Step<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

/// A model that plans a step for each file, and makes these replacements in it.
fn script(files: &[Step<'_>], accept: &[&str]) -> Script {
    let steps: Vec<(&str, &str)> = files.iter().map(|(step, path, _)| (*step, *path)).collect();
    let plan = plan(&["src/**"], accept, &steps, &[]);
    let changes: Vec<(String, Turn)> = files
        .iter()
        .map(|(step, path, pairs)| {
            let pairs: Vec<Value> =
                pairs.iter().map(|(search, replace)| json!({ "search": search, "replace": replace })).collect();
            let change = Turn::call("replace", json!({ "path": path, "pairs": pairs }));
            (format!("Change what {step} needs."), change)
        })
        .collect();
    Script::by(move |request, _| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let turns = messages.iter().filter(|message| message["role"] == "assistant").count();
        let said = request["messages"].to_string();
        let change = changes.iter().find(|(instruction, _)| said.contains(instruction));
        match (turns, change) {
            _ if request.get("tools").is_none() => planned(&plan),
            (0, Some((_, change))) => change.clone(),
            _ => finish("changed"),
        }
    })
}

/// A task that waits for a review of these changes, made from a terminal.
fn proposed(sources: &[(&str, &str)], files: &[Step<'_>]) -> (Modelled, String) {
    let work = Modelled::new(sources, script(files, &["absent: `no such text`, in `src`"]));
    work.run(&["plan", "Raise them", "--at", files[0].1]).exits(0);
    let task = work.only_task();
    work.run(&["approve", &task, "--yes"]);
    work.run(&["run", &task]).exits(3);
    (work, task)
}
