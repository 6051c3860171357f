//! Compiling a plan: what keeps it from being approved, and what its author should know.
//!
//! **Invariant:** a pure function of the parsed document and the workspace's facts; it says what to do, and gives a
//! fix where one is obvious. A plan with an error is never approved. **Absent:** running anything, and policy beyond
//! the plan's own allow-lists.

mod budget;
mod commands;
mod companions;
mod files;
mod order;
mod steps;
mod symbols;

use super::normal::{Normal, Versions, normal};
use super::parse::scan::fix;
use super::parse::{LONGEST, Layout, MOST_STEPS, Parsed, StepLayout};
use super::{CommandPattern, Plan, Step};
use crate::domain::ids::{StepId, WorkspacePath};
use crate::domain::problem::{Fix, Problem, Severity};
use crate::domain::symbols::SymbolTable;
use std::collections::BTreeSet;
use std::ops::Range;

/// What the workspace is like, as far as a plan's findings need it.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Unignored files.
    pub files: &'a BTreeSet<WorkspacePath>,
    /// Their symbols.
    pub symbols: &'a SymbolTable,
    /// Names of the tools that a step may name.
    pub tools: &'a [&'a str],
    /// Commands that policy lets a plan name; absent = any (until there is a policy, the plan's own are the list).
    pub allowed: Option<&'a [CommandPattern]>,
}

/// All findings on a document, those of parsing included, in document order.
pub fn compile(parsed: &Parsed, facts: &Facts<'_>) -> Vec<Problem> {
    let mut check = Findings {
        plan: &parsed.plan,
        layout: &parsed.layout,
        facts: *facts,
        normal: normal(&parsed.plan, &Versions::default()),
        problems: parsed.problems.clone(),
    };
    if parsed.layout.length <= LONGEST && parsed.plan.steps.len() <= MOST_STEPS {
        order::check(&mut check);
        steps::check(&mut check);
        files::check(&mut check);
        symbols::check(&mut check);
        commands::check(&mut check);
        budget::check(&mut check);
        companions::check(&mut check);
    }
    check.problems.sort_by_key(|problem| (problem.range.start, problem.range.end, problem.severity));
    check.problems
}

/// Findings on a document whose approved revision has steps that are done: none of them may go by another name, as
/// the journal knows it by the old one.
pub fn renamed(parsed: &Parsed, approved: &Plan, done: &[StepId]) -> Vec<Problem> {
    let gone = approved
        .steps
        .iter()
        .filter(|step| done.contains(&step.id) && parsed.plan.steps.iter().all(|other| other.id != step.id));
    let mut out = Vec::new();
    for old in gone {
        let pairs = parsed.plan.steps.iter().zip(&parsed.layout.steps);
        let mut fresh = pairs.filter(|(step, _)| approved.steps.iter().all(|other| other.id != step.id));
        let same = |new: &Step| new.kind == old.kind && (new.title == old.title || new.instruction == old.instruction);
        if let Some((new, layout)) = fresh.find(|(new, _)| same(new)) {
            let range = layout.id.clone().unwrap_or_else(|| layout.heading.clone());
            out.push(Problem {
                code: "renamed-done".to_owned(),
                severity: Severity::Error,
                message: format!("`{}` is done and goes by that id; call it `{0}` again, not `{}`", old.id, new.id),
                fix: layout.id.clone().and_then(|at| fix(format!("write `{}`", old.id), at, old.id.as_str())),
                range,
            });
        }
    }
    out
}

/// What the parts of the compiler share.
pub(super) struct Findings<'a> {
    plan: &'a Plan,
    layout: &'a Layout,
    facts: Facts<'a>,
    normal: Normal,
    problems: Vec<Problem>,
}

impl<'a> Findings<'a> {
    fn steps(&self) -> impl Iterator<Item = (usize, &'a Step, &'a StepLayout)> + use<'a> {
        let pairs = self.plan.steps.iter().zip(&self.layout.steps);
        pairs.enumerate().map(|(n, (step, layout))| (n, step, layout))
    }

    fn error(&mut self, code: &str, range: Range<usize>, message: impl Into<String>, fix: Option<Fix>) {
        self.put(code, Severity::Error, range, message, fix);
    }

    fn warning(&mut self, code: &str, range: Range<usize>, message: impl Into<String>, fix: Option<Fix>) {
        self.put(code, Severity::Warning, range, message, fix);
    }

    fn hint(&mut self, code: &str, range: Range<usize>, message: impl Into<String>, fix: Option<Fix>) {
        self.put(code, Severity::Hint, range, message, fix);
    }

    fn put(
        &mut self,
        code: &str,
        severity: Severity,
        range: Range<usize>,
        message: impl Into<String>,
        fix: Option<Fix>,
    ) {
        self.problems.push(Problem { code: code.to_owned(), range, severity, message: message.into(), fix });
    }

    /// The Contract's item of a key, else its heading, else the document's start.
    fn contract_key(&self, name: &str) -> Range<usize> {
        let Some(contract) = &self.layout.contract else { return 0..0 };
        let setting = contract.settings.iter().find(|setting| setting.name == name);
        setting.map_or_else(|| contract.heading.clone(), |setting| setting.item.clone())
    }

    /// Whether a file is there.
    fn exists(&self, path: &str) -> bool {
        WorkspacePath::new(path).is_ok_and(|path| self.facts.files.contains(&path))
    }
}

/// The known word that was probably meant: at most a third of its letters differ.
pub(super) fn meant<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.filter_map(|known| {
        let far = super::keys::distance(word, known);
        (far > 0 && far * 3 <= known.chars().count().max(3)).then_some((far, known))
    });
    near.min().map(|(_, known)| known)
}
