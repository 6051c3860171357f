//! What a person is told about a place of a plan document.
//!
//! Invariant: what is enforced and what is only said are told apart wherever a rule is shown; text that is not ours
//! stands in a fence that it cannot close. Absent: the code of a file or symbol; this says which is wanted.

use super::cursor::{self, At};
use super::moment::Moment;
use super::token::{Role, Token};
use crate::desk::CodeView;
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::{Normal, StepKind, Versions, globs, keys, normal};
use crate::domain::text::counted;
use std::collections::BTreeSet;
use std::ops::Range;

/// Lines of code that are shown.
const LINES: usize = 30;

/// What there is to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hovered {
    /// This, in Markdown.
    Said {
        /// About what.
        range: Range<usize>,
        /// In words.
        markdown: String,
    },
    /// The code there: to be asked, and handed to [`code`].
    Code {
        /// About what.
        range: Range<usize>,
        /// Which file; absent where only a symbol is named.
        path: Option<WorkspacePath>,
        /// Which symbol; absent means the file's head.
        symbol: Option<String>,
    },
}

/// What there is to say about a byte.
pub fn wanted(moment: &Moment<'_>, offset: usize) -> Option<Hovered> {
    match cursor::at(moment, offset) {
        At::Title(range) | At::Contract(range) => Some(Hovered::Said { range, markdown: whole(moment) }),
        At::Step(n, range) => Some(Hovered::Said { range, markdown: step(moment, n)? }),
        At::Key { name, contract, range } => Some(Hovered::Said { range, markdown: key(name, contract)? }),
        At::Value { token, .. } => value(moment, token),
        At::Question(number, range) => {
            let markdown = format!(
                "Question {number} of the planner. Write `> answer: …` below it, or choose \"Agent: answer question \
                 {number}…\"; then revise the plan."
            );
            Some(Hovered::Said { range, markdown })
        }
        At::Nothing => None,
    }
}

fn value(moment: &Moment<'_>, token: Token) -> Option<Hovered> {
    let text = token.text(moment.text).to_owned();
    let range = token.range;
    match token.role {
        Role::File | Role::Glob if !globs::is_glob(&text) => {
            let path = WorkspacePath::new(&text).ok()?;
            Some(Hovered::Code { range, path: Some(path), symbol: None })
        }
        Role::Symbol(path) if !text.is_empty() => {
            let path = path.and_then(|path| WorkspacePath::new(&path).ok());
            Some(Hovered::Code { range, path, symbol: Some(text) })
        }
        Role::Step => {
            let n = moment.parsed.plan.steps.iter().position(|step| step.id.as_str() == text)?;
            Some(Hovered::Said { range, markdown: step(moment, n)? })
        }
        Role::File
        | Role::Glob
        | Role::Symbol(_)
        | Role::Command
        | Role::Attribute
        | Role::Word(_)
        | Role::Tool
        | Role::Revision
        | Role::Free => None,
    }
}

/// The whole plan: its revision, what it binds to, and how it is approved.
fn whole(moment: &Moment<'_>) -> String {
    let mut out = match (moment.compiled, moment.dossier) {
        (Some(compiled), Some(dossier)) => format!("**{}** of task `{}`", compiled.revision, dossier.task.id),
        (Some(compiled), None) => format!("**{}**, of no task", compiled.revision),
        (None, _) => "**not compiled yet**".to_owned(),
    };
    if let Some(dossier) = moment.dossier {
        out.push_str(&format!(": {}", dossier.state.words()));
    }
    out.push_str("\n\n");
    out.push_str(&fenced("text", &moment.contract().join("\n")));
    out.push_str("\n\n");
    out.push_str(&match (moment.errors(), moment.approvable()) {
        (None, _) => String::new(),
        (Some(0), Some(revision)) => format!(
            "To approve exactly this: the action \"Agent: approve {revision} and run it\", or write `- approved: {revision}` \
             as the Contract's last item and save."
        ),
        (Some(0), None) if moment.dossier.is_some_and(|dossier| dossier.task.is_over()) => "The task is over.".to_owned(),
        (Some(0), None) if moment.dossier.is_some() => "This is what was approved.".to_owned(),
        (Some(0), None) => "It lies outside the task folders, so it is no task's plan.".to_owned(),
        (Some(errors), _) => format!("It cannot be approved: {}.", counted(errors, "error")),
    });
    out.trim_end().to_owned()
}

/// A step: what it changes, in which order, beside what, how it is judged, what it may cost, where it stands.
fn step(moment: &Moment<'_>, n: usize) -> Option<String> {
    let step = moment.parsed.plan.steps.get(n)?;
    let id = &step.id;
    let mut lines: Vec<String> = Vec::new();
    let (own, commands) = (format!("{id} ("), format!("command of {id}: "));
    lines.extend(moment.contract().into_iter().filter(|line| line.starts_with(&own) || line.starts_with(&commands)));
    let normal = normal(&moment.parsed.plan, &Versions::default());
    let beside = beside(&normal, n);
    lines.push(match beside.as_slice() {
        [] => "runs alone".to_owned(),
        beside => format!("may run at the same time as {}", beside.join(", ")),
    });
    let rules = normal.tables.steps.get(n);
    let ordered = rules.map(|rules| rules.ordered.iter().map(ToString::to_string).collect::<Vec<_>>());
    if let Some(ordered) = ordered.filter(|ordered| !ordered.is_empty()) {
        lines.push(format!("comes after {} because both write the same file", ordered.join(", ")));
    }
    lines.push(cost(&step.kind, rules.map_or(2, |rules| rules.repair), rules.map_or(2, |rules| rules.retry.times)));
    let state = moment.state(id).unwrap_or("not approved yet");
    Some(format!("**{id}**: {state}\n\n{}", fenced("text", &lines.join("\n"))))
}

fn cost(kind: &StepKind, repairs: u32, retries: u32) -> String {
    match kind {
        StepKind::Edit(_) | StepKind::Explore(_) => format!(
            "cost: asks a model; at most {} and {} in each attempt",
            counted(retries.saturating_add(1), "attempt"),
            counted(repairs, "repair round")
        ),
        StepKind::Transform(_)
        | StepKind::Run(_)
        | StepKind::Fetch(_)
        | StepKind::Check(_)
        | StepKind::Ask(_)
        | StepKind::Recipe(_) => "cost: no model is asked".to_owned(),
    }
}

/// The steps that neither come before a step nor after it.
fn beside(normal: &Normal, n: usize) -> Vec<String> {
    let steps = &normal.tables.steps;
    let Some(own) = steps.get(n) else { return vec![] };
    let place = |id| steps.iter().position(|step| &step.id == id);
    let before = |from: usize| {
        let mut seen = BTreeSet::from([from]);
        let mut next = vec![from];
        while let Some(step) = next.pop().and_then(|n| steps.get(n)) {
            next.extend(step.predecessors.iter().filter_map(place).filter(|n| seen.insert(*n)));
        }
        seen
    };
    let earlier = before(n);
    // Whoever comes before a later step is found by going forward once, not by going back from every step.
    let mut later = BTreeSet::from([n]);
    loop {
        let more: Vec<usize> = (0..steps.len())
            .filter(|m| !later.contains(m))
            .filter(|m| {
                steps.get(*m).is_some_and(|step| step.predecessors.iter().filter_map(place).any(|p| later.contains(&p)))
            })
            .collect();
        if more.is_empty() {
            break;
        }
        later.extend(more);
    }
    let waits = |n: usize| steps.get(n).is_some_and(|step| step.waits_review);
    let free = (0..steps.len()).filter(|m| !earlier.contains(m) && !later.contains(m));
    free.filter(|m| !waits(*m) && !own.waits_review)
        .filter_map(|m| steps.get(m))
        .map(|step| step.id.to_string())
        .collect()
}

/// A key: what it does, what it takes, and whether anything holds anybody to it.
fn key(name: &str, contract: bool) -> Option<String> {
    let key = keys::find(name, contract)?;
    let bound = bound(name, contract);
    Some(format!("**{name}**: {}\n\n{}\n\n{bound}", key.doc, fenced("text", key.grammar)).trim_end().to_owned())
}

/// Who is held to a key, and by whom.
fn bound(name: &str, contract: bool) -> &'static str {
    match (name, contract) {
        ("scope" | "edit" | "write", _) => {
            "*Enforced*: a change elsewhere is refused. A `focus` is not: a hunk outside it is flagged."
        }
        ("accept" | "check", _) => "*Enforced*: what it says decides, and nobody's word replaces it.",
        ("budget", _) => "*Enforced* for tokens, turns and time. Money is not, in this release.",
        ("enforce", _) => "*Enforced*: checked by code at each step's end.",
        ("advice", _) => "*Advice*: the model is told, and nothing checks it.",
        ("assume", _) => "*Tested* where a search follows (`absent:`, `present:`); else *advice*.",
        ("stop", _) => "*Enforced* for files, lines and tokens; time as the budget's; money is not.",
        ("allow" | "tools" | "read", _) => "*Enforced*: the model has nothing else.",
        ("approved", _) => "Counts only when it is written here and saved, and names exactly this text.",
        ("fetch" | "recipe" | "route", _) => "Not in this release: a plan that says it cannot be approved.",
        (_, true) => "",
        (_, false) => "*Enforced* by the runtime.",
    }
}

/// What stands there, cut and fenced.
pub fn code(view: &CodeView) -> String {
    let lines: Vec<&str> = view.text.lines().collect();
    let shown = lines.get(..LINES.min(lines.len())).unwrap_or_default().join("\n");
    let rest = lines.len().saturating_sub(LINES);
    let more = if rest > 0 { format!("\n\n… {} more", counted(rest, "line")) } else { String::new() };
    let language = match view.path.extension() {
        Some("rs") => "rust",
        Some("py") => "python",
        Some("js" | "mjs") => "javascript",
        Some("ts") => "typescript",
        Some("md") => "markdown",
        Some("toml") => "toml",
        Some("go") => "go",
        Some(_) | None => "text",
    };
    let place = format!("{}:{}", view.path, view.line.saturating_add(1));
    format!("`{}`\n\n{}{more}", place.replace('`', "'"), fenced(language, &shown))
}

/// Text between fences that it cannot close.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}
