//! Tasks and steps by words, wherever in the workspace the person is.
//!
//! Invariant: every word of the query is in what is found. Absent: symbols of code; language servers have those.

use super::jump::heading_line;
use crate::desk::Desk;
use std::path::PathBuf;

/// Found, at most.
const MOST: usize = 128;

/// A task or a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The goal, or the step's heading.
    pub name: String,
    /// The task with its state, for a step its state too.
    pub container: String,
    /// It is a step.
    pub step: bool,
    /// The page to open.
    pub page: PathBuf,
    /// 0-based.
    pub line: u32,
}

/// Tasks and steps that a query means; the newest task first.
pub fn find(desk: &Desk, query: &str) -> Vec<Found> {
    let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let fits = |text: &str| {
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let mut out = Vec::new();
    for dossier in desk.tasks.iter().rev() {
        let id = &dossier.task.id;
        let state = format!("{id}, {}", dossier.state.words());
        let goal = dossier.task.goal.words.lines().next().unwrap_or("").to_owned();
        let plan = dossier.page.as_ref();
        if fits(&format!("{goal} {state}")) {
            let page = desk.place.root.join(format!(".planwright/tasks/{id}/task.md"));
            out.push(Found { name: goal.clone(), container: state.clone(), step: false, page, line: 0 });
        }
        for step in plan.iter().flat_map(|plan| &plan.plan.steps) {
            let words = dossier.steps.iter().find(|(known, _)| known == &step.id).map(|(_, words)| words.as_str());
            let name = format!("{}: {}", step.id, step.title);
            let Some(plan) = plan.filter(|_| fits(&format!("{name} {} {id}", words.unwrap_or("")))) else { continue };
            out.push(Found {
                name,
                container: words.map_or_else(|| goal.clone(), |words| format!("{words}; {goal}")),
                step: true,
                page: plan.path.clone(),
                line: heading_line(&plan.text, step.id.as_str()).unwrap_or(0),
            });
        }
        if out.len() >= MOST {
            break;
        }
    }
    out.truncate(MOST);
    out
}
