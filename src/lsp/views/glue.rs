//! What plugins of ours are told, if they opted in: tasks, hunks and questions as data.
//!
//! Invariant: the same truth as the diagnostics, from the same places; nothing is told twice. Each notification replaces
//! what it said before: `planwright/tasks` and `planwright/ask` all of it, `planwright/hunks` all of a file.
//! Absent: whether the client wants it; the client's end of the wire knows.

use super::hunks::{self, Placed};
use super::{offers, tasks};
use crate::desk::{Desk, Query, View};
use crate::domain::ids::WorkspacePath;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tower_lsp::lsp_types::Url;
use tower_lsp::lsp_types::notification::Notification;

/// `planwright/tasks`.
pub enum Tasks {}
/// `planwright/hunks`.
pub enum Hunks {}
/// `planwright/ask`.
pub enum Ask {}

impl Notification for Tasks {
    type Params = Value;
    const METHOD: &'static str = "planwright/tasks";
}

impl Notification for Hunks {
    type Params = Value;
    const METHOD: &'static str = "planwright/hunks";
}

impl Notification for Ask {
    type Params = Value;
    const METHOD: &'static str = "planwright/ask";
}

/// What was told last.
#[derive(Debug, Default)]
pub struct Told {
    tasks: Value,
    ask: Value,
    hunks: BTreeMap<WorkspacePath, Value>,
}

impl Told {
    /// The list of tasks, if it differs.
    pub fn tasks(&mut self, desk: &Desk, name: impl Fn(&WorkspacePath) -> Option<Url>) -> Option<Value> {
        let Ok(View::Tasks(list)) = desk.answer(&Query::Tasks) else { return None };
        let each = list.tasks.iter().zip(&desk.tasks).map(|(line, dossier)| {
            let page = tasks::page_of(&line.task).and_then(|path| name(&path));
            let plan = tasks::plan_of(&desk.place.root, dossier).and_then(|path| name(&path));
            let mut row = serde_json::to_value(line).unwrap_or_default();
            if let Some(fields) = row.as_object_mut() {
                fields.insert("page".to_owned(), json!(page));
                fields.insert("plan".to_owned(), json!(plan));
                fields.insert("waits".to_owned(), json!(tasks::is_waiting(&line.state)));
            }
            row
        });
        differs(&mut self.tasks, json!({"tasks": each.collect::<Vec<Value>>()}))
    }

    /// Gates and questions with their answers, if they differ.
    pub fn ask(&mut self, desk: &Desk) -> Option<Value> {
        let mut gates = Vec::new();
        for dossier in desk.tasks.iter().filter(|dossier| !dossier.task.is_over()) {
            let task = &dossier.task.id;
            if dossier.task.open_gates().next().is_some() {
                let status = tasks::status(desk, task);
                let views = status.iter().flat_map(|status| &status.gates);
                gates.extend(views.map(|gate| {
                    let answers = offers::at_gate(dossier, &gate.gate);
                    json!({
                        "task": task,
                        "gate": gate.gate,
                        "asked": gate.asked,
                        "detail": gate.detail,
                        "answers": answers.iter().map(button).collect::<Vec<Value>>(),
                    })
                }));
            }
            gates.extend(questions(desk, dossier));
        }
        differs(&mut self.ask, json!({"gates": gates}))
    }

    /// The hunks of a file, if they differ.
    pub fn hunks(
        &mut self,
        path: &WorkspacePath,
        uri: &Url,
        version: Option<i32>,
        placed: &[Placed<'_>],
    ) -> Option<Value> {
        let shown: Vec<Value> = placed.iter().filter(|placed| placed.is_pending()).map(hunk).collect();
        let empty = shown.is_empty();
        let told = json!({"uri": uri, "version": version, "hunks": shown});
        let known = self.hunks.get(path);
        if known == Some(&told) || (empty && known.is_none()) {
            return None;
        }
        if empty {
            self.hunks.remove(path);
        } else {
            self.hunks.insert(path.clone(), told.clone());
        }
        Some(told)
    }
}

fn differs(told: &mut Value, now: Value) -> Option<Value> {
    (*told != now).then(|| {
        *told = now.clone();
        now
    })
}

/// Questions in the plan document that nobody has answered. The words come from the glue's own input.
fn questions(desk: &Desk, dossier: &crate::desk::Dossier) -> Vec<Value> {
    use crate::domain::task::action::Which;
    let task = &dossier.task.id;
    if dossier.state != crate::domain::task::standing::TaskState::AwaitingApproval {
        return Vec::new();
    }
    let Ok(View::Show(show)) = desk.answer(&Query::Show { task: Which::Task(task.clone()) }) else {
        return Vec::new();
    };
    let each = show.questions.iter().map(|open| {
        let answer = offers::Offer::new("answer", "answer…", json!({"task": task, "number": open.number}));
        json!({
            "task": task,
            "question": open.number,
            "asked": open.question,
            "detail": null,
            "answers": answer.iter().map(button).collect::<Vec<Value>>(),
        })
    });
    each.collect()
}

fn button(offer: &offers::Offer) -> Value {
    let command = offer.to_command();
    json!({"title": offer.title, "command": command.command, "arguments": command.arguments})
}

fn hunk(placed: &Placed<'_>) -> Value {
    let hunk = placed.hunk;
    json!({
        "id": hunk.id,
        "task": placed.dossier.task.id,
        "range": placed.range,
        "kind": hunk.kind,
        "old": hunk.old,
        "new": hunk.new,
        "here": placed.touching,
        "step": hunk.step,
        "reason": hunks::step_title(placed.dossier, &hunk.step),
        "flags": hunk.flags.iter().map(hunks::flag).collect::<Vec<String>>(),
        "verdict": hunk.verdict,
        "state": placed.state_words(),
    })
}
