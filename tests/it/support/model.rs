//! A project whose model is a script on a real socket, and the shapes in which scripts answer.

use super::Project;
use planwright::testing::script::{Script, Turn};
use planwright::testing::scripted_model::ScriptedModel;
use serde_json::{Value, json};

/// A project and its model. The model ends with it.
pub struct Modelled {
    /// The workspace, with the model's address in its environment.
    pub project: Project,
    /// What was asked.
    pub model: ScriptedModel,
}

impl std::ops::Deref for Modelled {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}

impl Modelled {
    /// A git repository with these files, and a model that plays this script.
    pub fn new(files: &[(&str, &str)], script: Script) -> Modelled {
        let model = ScriptedModel::start(script).unwrap();
        let mut project = Project::new(files);
        project.env.push(("OPENAI_BASE_URL".to_owned(), model.base_url()));
        Modelled { project, model }
    }

    /// The messages of the n-th call, from 0, as one text.
    #[track_caller]
    pub fn asked(&self, n: usize) -> String {
        let calls = self.model.calls();
        let call = calls.get(n).unwrap_or_else(|| panic!("only {} calls", calls.len()));
        let messages = call.body["messages"].as_array().unwrap();
        messages.iter().map(|message| format!("{}\n", words(message))).collect()
    }

    /// The status as JSON.
    #[track_caller]
    pub fn status(&self, task: &str) -> Value {
        self.run(&["status", task, "--json"]).json()
    }

    /// The timeline as text.
    #[track_caller]
    pub fn timeline(&self, task: &str) -> String {
        self.run(&["timeline", task]).out
    }

    /// Allows every gate that opens, for the plan, until the task comes to rest; the last exit code.
    #[track_caller]
    pub fn run_through(&self, task: &str) -> i32 {
        for _ in 0..8 {
            let said = self.run(&["run", task]);
            let gates = self.status(task)["gates"].as_array().map_or(0, Vec::len);
            if gates == 0 {
                return said.code.unwrap();
            }
            self.run(&["gate", task, "allow", "--for-plan"]).exits(0);
        }
        panic!("gate after gate: {}", self.timeline(task));
    }
}

fn words(message: &Value) -> String {
    let calls: Vec<String> = message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| format!("{} {}", call["function"]["name"], call["function"]["arguments"]))
        .collect();
    format!("{} {}", message["content"].as_str().unwrap_or_default(), calls.join(" "))
}

/// A call of `edit` with its code in the same message.
pub fn edit(path: &str, symbol: &str, code: &str) -> Turn {
    let call = Turn::call("edit", json!({ "path": path, "symbol": symbol }));
    Turn { text: format!("```rust\n{code}\n```\n"), ..call }
}

/// A call of `finish`.
pub fn finish(summary: &str) -> Turn {
    Turn::call("finish", json!({ "summary": summary }))
}

/// What a planner answers: an `edit` step for each pair of id and path.
pub fn plan(scope: &[&str], accept: &[&str], steps: &[(&str, &str)], questions: &[&str]) -> Value {
    let steps: Vec<Value> = steps
        .iter()
        .map(|(id, path)| {
            json!({ "id": id, "title": format!("Do {id}"), "kind": "edit",
                "files": [{ "path": path, "new": false, "focus": "" }], "command": "", "rule": "", "after": [],
                "check": "", "instruction": format!("Change what {id} needs.") })
        })
        .collect();
    json!({ "title": "A plan", "scope": scope, "accept": accept, "steps": steps, "assumptions": [],
        "questions": questions, "advice": [] })
}

/// The same as an answer.
pub fn planned(plan: &Value) -> Turn {
    Turn::text(&plan.to_string())
}
