//! The menu at a place: which actions a client is given, in which order.
//!
//! Invariant: what decides about hunks comes first, then what the page at hand asks, then new work. A client that asks
//! on its own, to show a light, is offered neither new work nor the way to other tasks (J4). Actions of a kind that was not asked for are left out.
//! Absent: plan documents' own actions; whoever has them adds them.

use super::hunks::{Placed, placed};
use super::offers::{self, Offer};
use super::{SOURCE, Texts, comment, tasks, words};
use crate::desk::{Desk, Dossier, ItemView};
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::small;
use crate::domain::text::Encoding;
use serde_json::{Value, json};
use std::sync::Arc;
use tower_lsp::lsp_types::{CodeAction, CodeActionKind, CodeLens, Diagnostic, NumberOrString, Position, Range};

/// Problems of others that are each offered to be fixed.
const PROBLEMS: usize = 3;

/// Where a menu is opened.
#[derive(Clone, Debug)]
pub struct Here<'a> {
    /// In which file.
    pub path: &'a WorkspacePath,
    /// The cursor or the selection.
    pub range: Range,
    /// In what its columns are counted.
    pub encoding: Encoding,
    /// A person opened it.
    pub asked: bool,
    /// What the client shows there, from everybody.
    pub problems: &'a [Diagnostic],
    /// The item there, where it is known.
    pub item: Option<&'a ItemView>,
}

impl Here<'_> {
    /// 0-based first and last line; a selection that ends where a line begins does not reach into it.
    pub fn lines(&self) -> (u32, u32) {
        lines_of(self.range)
    }
}

fn lines_of(range: Range) -> (u32, u32) {
    let Range { start, end } = range;
    let last = if end.character == 0 && end.line > start.line { end.line - 1 } else { end.line };
    (start.line, last.max(start.line))
}

/// What can be done there.
pub fn actions(desk: &Desk, texts: &dyn Texts, here: &Here<'_>) -> Vec<CodeAction> {
    let (first, last) = here.lines();
    let all = placed(desk, here.path, texts, here.encoding);
    let at: Vec<Placed<'_>> = all.into_iter().filter(|placed| placed.meets(first, last)).collect();
    let mut offers = offers::at_hunks(&at, here.asked);
    if let Some(dossier) = page(desk, here.path) {
        offers.extend(at_page(desk, dossier, texts, here.encoding));
    }
    let decisions = in_review(desk, texts, here.path, here.encoding).into_iter();
    offers.extend(decisions.filter(|one| one.rows.start <= last && first < one.rows.end).flat_map(|one| one.offers));
    if here.asked {
        offers.extend(offers::to_waiting(desk, tasks::task_of(here.path).as_ref()));
    }
    let mut actions: Vec<CodeAction> = offers.iter().map(Offer::to_action).collect();
    if here.asked && !here.path.as_str().starts_with(".planwright/") {
        actions.extend(new_work(texts, here, (first, last)));
    }
    actions
}

/// The task whose page this file is.
fn page<'a>(desk: &'a Desk, path: &WorkspacePath) -> Option<&'a Arc<Dossier>> {
    let task = tasks::task_of(path)?;
    (tasks::page_of(&task).as_ref() == Some(path)).then_some(())?;
    desk.tasks.iter().find(|dossier| dossier.task.id == task)
}

/// What the page of a task offers: its gates first, then files that are not there yet, then the task as a whole.
fn at_page(desk: &Desk, dossier: &Arc<Dossier>, texts: &dyn Texts, encoding: Encoding) -> Vec<Offer> {
    let mut all = offers::at_gates(dossier);
    if !dossier.task.is_over() {
        let new: Vec<WorkspacePath> =
            dossier.hunks.iter().filter(|hunk| hunk.kind == "create").map(|hunk| hunk.path.clone()).collect();
        for path in &new {
            let placed = placed(desk, path, texts, encoding);
            let ours = placed.iter().filter(|placed| Arc::ptr_eq(placed.dossier, dossier) && placed.is_undecided());
            all.extend(ours.flat_map(|placed| offers::decide(placed, false)));
        }
    }
    all.extend(offers::at_task(desk, dossier));
    all
}

/// A hunk's part of the page that lists them.
struct Section {
    /// 0-based, the heading first.
    rows: std::ops::Range<u32>,
    offers: Vec<Offer>,
}

/// What decides the hunks of a task where its open page of hunks tells of them.
fn in_review(desk: &Desk, texts: &dyn Texts, path: &WorkspacePath, encoding: Encoding) -> Vec<Section> {
    let task = tasks::task_of(path).filter(|_| path.file_name() == "review.md");
    let dossier = task.and_then(|task| desk.tasks.iter().find(|dossier| dossier.task.id == task));
    let (Some(dossier), Some(document)) = (dossier, texts.of(path)) else { return Vec::new() };
    let offers = |id: &str| {
        let hunk = dossier.hunks.iter().find(|hunk| hunk.id.as_str() == id)?;
        let all = placed(desk, &hunk.path, texts, encoding);
        let ours = all.iter().find(|placed| Arc::ptr_eq(placed.dossier, dossier) && placed.hunk.id == hunk.id)?;
        Some(if ours.is_undecided() { offers::decide(ours, false) } else { Vec::new() })
    };
    headings(&document.text).into_iter().filter_map(|(id, rows)| Some(Section { rows, offers: offers(id)? })).collect()
}

/// Second-level headings by their first word, each with the rows down to the next; what is fenced has none.
fn headings(text: &str) -> Vec<(&str, std::ops::Range<u32>)> {
    let mut found: Vec<(&str, std::ops::Range<u32>)> = Vec::new();
    let mut fence: Option<&str> = None;
    for (row, line) in (0..).zip(text.split('\n')) {
        let line = line.trim_end();
        let ticks = line.get(..line.len() - line.trim_start_matches('`').len()).filter(|ticks| ticks.len() >= 3);
        match (fence, ticks) {
            (Some(open), Some(ticks)) if ticks == line && ticks.len() >= open.len() => fence = None,
            (None, Some(ticks)) => fence = Some(ticks),
            (Some(_), _) => {}
            (None, None) => {
                if let Some(title) = line.strip_prefix("## ") {
                    found.push((title.split(' ').next().unwrap_or(""), row..row));
                }
            }
        }
        if let Some((_, rows)) = found.last_mut() {
            rows.end = row + 1;
        }
    }
    found
}

/// A goal in a comment, a problem of somebody else, a change or a question in words.
fn new_work(texts: &dyn Texts, here: &Here<'_>, (first, last): (u32, u32)) -> Vec<CodeAction> {
    let path = here.path;
    let mut offers = Vec::new();
    if let Some(document) = texts.of(path)
        && let Some(found) = comment::at(&document.text, first)
    {
        let arguments = json!({
            "goal": found.goal,
            "path": path,
            "line": found.lines.0 + 1,
            "last": found.lines.1 + 1,
            "comment": {"line": found.lines.0 + 1, "text": found.text},
        });
        offers.extend(Offer::new("plan", "plan this comment", arguments));
    }
    let theirs = here.problems.iter().filter(|problem| problem.source.as_deref() != Some(SOURCE));
    for problem in theirs.take(PROBLEMS) {
        let title = format!("fix this problem: {}; {}", words::title(&problem.message), contract(path, None));
        let offer = Offer::new("fixProblem", title, problem_arguments(path, problem));
        offers.extend(offer.map(|offer| Offer { fixes: Some(problem.clone()), ..offer }));
    }
    let place = json!({"path": path, "line": first.saturating_add(1), "last": last.saturating_add(1)});
    offers.extend(Offer::new("plan", "plan change…", place.clone()));
    offers.extend(Offer::new("changeItem", format!("{}…", contract(path, here.item)), place.clone()));
    offers.extend(Offer::new("ask", "ask…", place));
    offers.iter().map(Offer::to_action).collect()
}

/// The whole contract of a small task, which one confirmation approves and runs; as much of it as is known here.
fn contract(path: &WorkspacePath, item: Option<&ItemView>) -> String {
    match item {
        Some(item) => small::contract(item.symbol.as_deref(), path, item.check.as_deref()),
        None => format!("change {path} (writes only that file; checked as the project is)"),
    }
}

fn problem_arguments(path: &WorkspacePath, problem: &Diagnostic) -> Value {
    let code = match &problem.code {
        Some(NumberOrString::Number(code)) => json!(code.to_string()),
        Some(NumberOrString::String(code)) => json!(code),
        None => Value::Null,
    };
    let (first, last) = lines_of(problem.range);
    json!({
        "path": path,
        "line": first.saturating_add(1),
        "last": last.saturating_add(1),
        "problem": {"message": problem.message, "code": code, "source": problem.source, "range": problem.range},
    })
}

/// An action of this kind is wanted: no kinds are named, or one of them is its own or one above it.
pub fn is_wanted(action: &CodeAction, only: Option<&[CodeActionKind]>) -> bool {
    let Some(only) = only else { return true };
    let kind = action.kind.as_ref().map_or("", CodeActionKind::as_str);
    only.iter().any(|wanted| {
        let wanted = wanted.as_str();
        wanted.is_empty() || kind == wanted || kind.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
    })
}

/// Tasks that wait for a person, where their goals were given and none of their hunks says so: 0-based rows, the newest
/// task first.
fn about(desk: &Desk, texts: &dyn Texts, path: &WorkspacePath) -> Vec<(u32, Offer)> {
    let Some(document) = texts.of(path) else { return Vec::new() };
    let rows = u32::try_from(document.text.lines().count()).unwrap_or(u32::MAX);
    let here = |dossier: &Arc<Dossier>| {
        let place = dossier.task.goal.place.as_ref().filter(|place| place.path == *path)?;
        if dossier.hunks.iter().any(|hunk| hunk.pending && hunk.path == *path) {
            return None;
        }
        // The text may be shorter than when the goal was given.
        let row = place.lines.map_or(0, |(first, _)| first.saturating_sub(1)).min(rows.saturating_sub(1));
        Some((row, offers::to_page(dossier)?))
    };
    desk.tasks.iter().rev().filter_map(here).collect()
}

/// Lenses: at each undecided hunk what decides it, at the place of a goal the way to a task that waits, on a task's page
/// what it offers.
pub fn lenses(desk: &Desk, texts: &dyn Texts, path: &WorkspacePath, encoding: Encoding) -> Vec<CodeLens> {
    let mut lenses = Vec::new();
    let mut add = |at: Position, title: String, offer: &Offer| {
        let command = tower_lsp::lsp_types::Command { title, ..offer.to_command() };
        lenses.push(CodeLens { range: Range { start: at, end: at }, command: Some(command), data: None });
    };
    for placed in placed(desk, path, texts, encoding).iter().filter(|placed| placed.is_undecided()) {
        for (n, offer) in offers::decide(placed, false).iter().enumerate() {
            let short = offer.short.unwrap_or(&offer.title);
            let title = match n {
                0 => format!("Agent: {short} {} ({})", placed.hunk.id, placed.hunk.step),
                _ => short.to_owned(),
            };
            add(placed.range.start, title, offer);
        }
    }
    if let Some(dossier) = page(desk, path) {
        for offer in at_page(desk, dossier, texts, encoding) {
            add(Position::default(), format!("Agent: {}", offer.title), &offer);
        }
    }
    for (row, offer) in about(desk, texts, path) {
        add(Position { line: row, character: 0 }, format!("Agent: {}", offer.title), &offer);
    }
    for Section { rows, offers } in in_review(desk, texts, path, encoding) {
        for offer in offers {
            add(Position { line: rows.start, character: 0 }, format!("Agent: {}", offer.title), &offer);
        }
    }
    lenses
}
