//! Where a name in a plan document, or in a task's page, leads.
//!
//! Invariant: a jump within the document goes to a step's heading as it stands now. Absent: finding the code; this says
//! which is wanted.

use super::cursor::{self, At};
use super::moment::{Moment, line_around};
use super::token::{Role, Token};
use crate::desk::Dossier;
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::{StepKind, globs};
use std::ops::Range;

/// Where it leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// To a place of this document.
    Here(Range<usize>),
    /// To code: to be asked.
    Code {
        /// Which file; absent where only a symbol is named.
        path: Option<WorkspacePath>,
        /// Which symbol.
        symbol: Option<String>,
    },
}

/// Where the byte leads.
pub fn wanted(moment: &Moment<'_>, offset: usize) -> Option<Destination> {
    match cursor::at(moment, offset) {
        At::Value { token, .. } => value(moment, &token),
        // A step's heading leads to the first thing that it changes.
        At::Step(n, _) => match &moment.parsed.plan.steps.get(n)?.kind {
            StepKind::Edit(targets) => {
                let target = targets.iter().find(|target| !globs::is_glob(&target.path))?;
                Some(Destination::Code { path: WorkspacePath::new(&target.path).ok(), symbol: target.focus.clone() })
            }
            StepKind::Explore(_)
            | StepKind::Transform(_)
            | StepKind::Run(_)
            | StepKind::Fetch(_)
            | StepKind::Check(_)
            | StepKind::Ask(_)
            | StepKind::Recipe(_) => None,
        },
        At::Title(_) | At::Contract(_) | At::Key { .. } | At::Question(..) | At::Nothing => None,
    }
}

fn value(moment: &Moment<'_>, token: &Token) -> Option<Destination> {
    let text = token.text(moment.text);
    match &token.role {
        Role::File | Role::Glob if !globs::is_glob(text) => {
            Some(Destination::Code { path: Some(WorkspacePath::new(text).ok()?), symbol: None })
        }
        Role::Symbol(path) if !text.is_empty() => {
            let path = path.as_ref().and_then(|path| WorkspacePath::new(path).ok());
            Some(Destination::Code { path, symbol: Some(text.to_owned()) })
        }
        Role::Step => {
            let step = moment.parsed.layout.steps.iter().find(|step| step.step.as_str() == text)?;
            Some(Destination::Here(step.heading.clone()))
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

/// Where a place of a task's page leads: to the step that its line names, else to the plan's first line (0-based).
pub fn from_page(page: &str, offset: usize, dossier: &Dossier) -> Option<u32> {
    let plan = dossier.page.as_ref()?;
    let line = page.get(line_around(page, offset))?;
    let word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let words: Vec<&str> = line.split(|c| !word(c)).map(|word| word.trim_end_matches('.')).collect();
    let named = plan.plan.steps.iter().find(|step| words.contains(&step.id.as_str()));
    Some(named.and_then(|step| heading_line(&plan.text, step.id.as_str())).unwrap_or(0))
}

/// The 0-based line of a step's heading, without parsing the document.
pub fn heading_line(text: &str, step: &str) -> Option<u32> {
    let is_heading = |line: &str| {
        let rest = line.strip_prefix("###").map(str::trim_start).unwrap_or("");
        rest.strip_prefix(step).is_some_and(|rest| rest.starts_with(':'))
    };
    let line = text.lines().position(is_heading)?;
    u32::try_from(line).ok()
}
