//! Which views a change touches, and laying them anew.
//!
//! Invariant: a keystroke lays its own document only; a desk lays what differs from the desk before it. Absent: when,
//! and sending.

use super::sheets::{Section, Sheets};
use super::{Texts, hunks, tasks};
use crate::desk::{Desk, Dossier};
use crate::domain::change::FileChange;
use crate::domain::ids::{TaskId, WorkspacePath};
use crate::domain::text::Encoding;
use std::collections::BTreeSet;
use std::sync::Arc;
use tower_lsp::lsp_types::{Diagnostic, Range};

/// What may look other than it did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Files with hunks.
    pub files: BTreeSet<WorkspacePath>,
    /// Tasks.
    pub tasks: BTreeSet<TaskId>,
    /// Lenses and hints differ, which a client asks for only when it is called.
    pub lenses: bool,
}

impl Changes {
    /// What a document's change may alter: its hunks; of a page or a plan, what is said of its task there.
    pub fn of_document(path: &WorkspacePath) -> Self {
        Self { files: [path.clone()].into(), tasks: tasks::task_of(path).into_iter().collect(), lenses: false }
    }

    /// Both.
    pub fn add(&mut self, other: Changes) {
        self.files.extend(other.files);
        self.tasks.extend(other.tasks);
        self.lenses |= other.lenses;
    }
}

/// The desk that is shown.
#[derive(Debug, Default)]
pub struct Board {
    desk: Arc<Desk>,
    /// Plans of which something was said.
    plans: Vec<(TaskId, WorkspacePath)>,
}

impl Board {
    /// The desk that is shown.
    pub fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    /// Takes a newer desk, and says what may look other than before.
    pub fn take(&mut self, desk: Arc<Desk>) -> Changes {
        let mut changes = Changes::default();
        let known = |desk: &Desk, id: &TaskId| desk.tasks.iter().find(|dossier| dossier.task.id == *id).cloned();
        for (at, dossier) in desk.tasks.iter().enumerate() {
            let id = &dossier.task.id;
            let former = self.desk.tasks.get(at).filter(|former| former.task.id == *id).cloned();
            let former = former.or_else(|| known(&self.desk, id));
            if let Some(former) = &former {
                if Arc::ptr_eq(former, dossier) {
                    continue;
                }
                if !looks_the_same(former, dossier) {
                    changes.files.extend(paths(former));
                    changes.files.extend(paths(dossier));
                }
                changes.lenses |= former.state != dossier.state
                    || former.steps != dossier.steps
                    || !former.task.open_gates().eq(dossier.task.open_gates());
            } else {
                changes.files.extend(paths(dossier));
                changes.lenses = true;
            }
            changes.tasks.insert(id.clone());
        }
        for gone in self.desk.tasks.iter().filter(|former| known(&desk, &former.task.id).is_none()) {
            changes.files.extend(paths(gone));
            changes.tasks.insert(gone.task.id.clone());
        }
        changes.lenses |= !changes.files.is_empty();
        self.desk = desk;
        changes
    }

    /// Lays these views anew.
    pub fn lay(&mut self, changes: &Changes, texts: &dyn Texts, encoding: Encoding, sheets: &mut Sheets) {
        for path in &changes.files {
            let shown = hunks::diagnostics(&hunks::placed(&self.desk, path, texts, encoding));
            // the page of a task shows the hunks of no line, and is laid with its task
            if !is_page(path) {
                sheets.put(path, Section::Hunks, shown);
            }
            sheets.touch(path);
        }
        for task in &changes.tasks {
            self.lay_task(task, texts, encoding, sheets);
        }
    }

    fn lay_task(&mut self, task: &TaskId, texts: &dyn Texts, encoding: Encoding, sheets: &mut Sheets) {
        let desk = self.desk.clone();
        let dossier = desk.tasks.iter().find(|dossier| dossier.task.id == *task);
        let Some(page) = tasks::page_of(task) else { return };
        let plan = dossier.and_then(|dossier| tasks::plan_of(&desk.place.root, dossier));
        let is_open = texts.of(&page).is_some();
        let over = dossier.is_none_or(|dossier| dossier.task.is_over());
        let status = dossier.filter(|_| !over || is_open).and_then(|dossier| tasks::status(&desk, &dossier.task.id));
        let (state, gates) = match &status {
            Some(status) => (tasks::state(status, is_open), tasks::gates_on_page(status)),
            None => (Vec::new(), Vec::new()),
        };
        sheets.put(&page, Section::State, state);
        sheets.put(&page, Section::Gates, gates);
        let placeless = dossier.filter(|_| !over).map(|dossier| placeless(&desk, dossier, texts, encoding));
        sheets.put(&page, Section::Hunks, placeless.unwrap_or_default());
        for (_, former) in self.plans.iter().filter(|(of, path)| of == task && Some(path) != plan.as_ref()) {
            sheets.put(former, Section::Gates, Vec::new());
        }
        self.plans.retain(|(of, _)| of != task);
        if let Some(plan) = plan {
            let at_steps = match (dossier, &status) {
                (Some(dossier), Some(status)) => tasks::gates_in_plan(dossier, status, &plan, texts, encoding),
                _ => Vec::new(),
            };
            sheets.put(&plan, Section::Gates, at_steps);
            self.plans.push((task.clone(), plan));
        }
    }

    /// The changes whose spots are to be carried through a document's edits.
    pub fn watched(&self, path: &WorkspacePath) -> Vec<Arc<FileChange>> {
        let going = self.desk.tasks.iter().filter(|dossier| !dossier.task.is_over());
        going.flat_map(|dossier| dossier.changes.iter().filter(|change| change.path == *path).cloned()).collect()
    }
}

/// A page that the engine writes.
fn is_page(path: &WorkspacePath) -> bool {
    tasks::task_of(path).and_then(|task| tasks::page_of(&task)).as_ref() == Some(path)
}

/// New files, on the first line of the task's page: they have no line of their own that could be looked at.
fn placeless(desk: &Desk, dossier: &Arc<Dossier>, texts: &dyn Texts, encoding: Encoding) -> Vec<Diagnostic> {
    let new = dossier.hunks.iter().filter(|hunk| hunk.kind == "create");
    let paths: BTreeSet<&WorkspacePath> = new.map(|hunk| &hunk.path).collect();
    let mut shown = Vec::new();
    for path in paths {
        let placed = hunks::placed(desk, path, texts, encoding);
        let ours = placed.iter().filter(|placed| {
            Arc::ptr_eq(placed.dossier, dossier) && placed.hunk.kind == "create" && placed.is_undecided()
        });
        shown.extend(ours.map(|placed| {
            let said = hunks::one(placed);
            Diagnostic { range: Range::default(), message: format!("{path}\n{}", said.message), ..said }
        }));
    }
    shown
}

/// Its hunks are shown as they were.
fn looks_the_same(former: &Dossier, dossier: &Dossier) -> bool {
    let same_page = match (&former.page, &dossier.page) {
        (Some(former), Some(page)) => Arc::ptr_eq(former, page) || former.text == page.text,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    same_page
        && former.task.is_over() == dossier.task.is_over()
        && (Arc::ptr_eq(&former.hunks, &dossier.hunks) || former.hunks == dossier.hunks)
        && (Arc::ptr_eq(&former.changes, &dossier.changes) || former.changes == dossier.changes)
}

fn paths(dossier: &Dossier) -> BTreeSet<WorkspacePath> {
    dossier.hunks.iter().map(|hunk| hunk.path.clone()).collect()
}
