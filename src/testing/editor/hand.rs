//! What a person does in the editor: choose an action, undo, redo; and how they wait for what they see.
//!
//! Invariant: only by what clients send; an action is asked for with the diagnostics at its place, as they do. Absent:
//! what the server makes of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

use super::{DEADLINE, Editor, Screen, parts};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// Between two looks at what no message tells of, such as a file.
const LOOK: Duration = Duration::from_millis(20);

impl Editor {
    /// Takes in what is shown unasked, from now on; see [`Screen`].
    pub fn look(&self) {
        self.shared.state().screen.looks = true;
    }

    /// What is shown.
    pub fn screen<T>(&self, read: impl FnOnce(&Screen) -> T) -> T {
        read(&self.shared.state().screen)
    }

    /// What is shown in a file.
    pub fn diagnostics(&self, path: &str) -> Vec<Value> {
        let uri = self.uri(path);
        self.screen(|screen| screen.diagnostics.get(&uri).cloned().unwrap_or_default())
    }

    /// The words of what is shown in a file.
    pub fn messages(&self, path: &str) -> Vec<String> {
        let all = self.diagnostics(path);
        all.iter().map(|one| one["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits until there is something.
    pub async fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            let arrived = self.shared.arrived.notified();
            if let Some(found) = look() {
                return found;
            }
            if Instant::now() >= end {
                let state = self.shared.state();
                panic!("still not: {what}\nunread: {:#?}\n{:#?}", state.unread, state.screen);
            }
            // In vain as often as not: files say nothing when they change.
            let _either = tokio::time::timeout(LOOK, arrived).await;
        }
    }

    /// The actions that are offered at a piece of an open text.
    pub async fn actions(&self, path: &str, piece: &str) -> Vec<Value> {
        let range = self.range(path, piece);
        let line = |position: &Value| position["line"].as_u64().unwrap();
        let here = |one: &Value| {
            line(&one["range"]["start"]) <= line(&range["end"]) && line(&range["start"]) <= line(&one["range"]["end"])
        };
        let context: Vec<Value> = self.diagnostics(path).into_iter().filter(here).collect();
        let document = json!({"uri": self.uri(path)});
        let asked = json!({"textDocument": document, "range": range, "context": {"diagnostics": context}});
        let answer = self.request("textDocument/codeAction", asked).await.unwrap();
        answer.as_array().cloned().unwrap_or_default()
    }

    /// Chooses the first action whose title begins so, as soon as there is one. Gives it as it was offered.
    pub async fn act(&self, path: &str, piece: &str, title: &str) -> Value {
        let end = Instant::now() + DEADLINE;
        let action = loop {
            let all = self.actions(path, piece).await;
            let is_it = |one: &&Value| one["title"].as_str().unwrap().starts_with(title);
            if let Some(found) = all.iter().find(is_it) {
                break found.clone();
            }
            assert!(Instant::now() < end, "no action `{title}` at `{piece}`: {all:#?}");
            tokio::time::sleep(LOOK).await;
        };
        if action["edit"].is_object() {
            self.make(&action["edit"]);
        }
        let command = &action["command"];
        if command.is_object() {
            let arguments = command["arguments"].clone();
            self.command(command["command"].as_str().unwrap(), arguments).await.unwrap();
        }
        action
    }

    /// Makes the edit of an action and tells of it, as of a change of the user's.
    pub fn make(&self, edit: &Value) {
        let mut state = self.shared.state();
        for (uri, version, edits) in parts(edit) {
            let now = state.mirror.open[&uri].version;
            assert!(version.is_none_or(|version| version == i64::from(now)), "made for {version:?}, and it is {now}");
            let changes = state.mirror.edit(&uri, &edits);
            state.tell_changes(&uri, changes);
        }
    }

    /// Takes the last edit back.
    pub fn undo(&self, path: &str) {
        self.turn(path, true);
    }

    /// Makes it again.
    pub fn redo(&self, path: &str) {
        self.turn(path, false);
    }

    fn turn(&self, path: &str, back: bool) {
        let uri = self.uri(path);
        let mut state = self.shared.state();
        let changes = state.mirror.turn(&uri, back);
        state.tell_changes(&uri, changes);
    }
}
