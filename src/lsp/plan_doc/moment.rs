//! A plan document at one moment: its text, what it says, and what is known around it.
//!
//! Invariant: everything in a moment is about the same text; a compiled view of an older text is left out, not stretched.
//! Absent: where any of it came from.

use crate::desk::{CompiledView, Dossier, Surroundings};
use crate::domain::ids::{RevisionRef, StepId};
use crate::domain::plan::{Parsed, StepLayout, Versions, normal, outlook};
use crate::domain::problem::{Problem, Severity};
use crate::domain::task::facts::Rung;
use std::ops::Range;

/// What all questions about a plan document are asked of.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// As the editor has it.
    pub text: &'a str,
    /// What it says, and where.
    pub parsed: &'a Parsed,
    /// What the engine finds on this very text; absent until it has answered.
    pub compiled: Option<&'a CompiledView>,
    /// Its task; absent for a plan that lies outside the task folders, or whose task is gone.
    pub dossier: Option<&'a Dossier>,
    /// What holds for all tasks.
    pub place: &'a Surroundings,
}

impl<'a> Moment<'a> {
    /// What an approval of this text would mean, a line each (A6).
    pub fn contract(&self) -> Vec<String> {
        match self.compiled {
            Some(compiled) => compiled.contract.clone(),
            None => {
                let normal = normal(&self.parsed.plan, &Versions::default());
                let rung = self.place.rung.unwrap_or(Rung::Copy);
                outlook::lines(&self.parsed.plan, &normal, rung, self.place.model.as_ref())
            }
        }
    }

    /// Findings that keep it from being approved; `None` until it is compiled.
    pub fn errors(&self) -> Option<usize> {
        let errors = |compiled: &CompiledView| {
            compiled.problems.iter().filter(|problem| problem.severity == Severity::Error).count()
        };
        self.compiled.map(errors)
    }

    /// The revision that this text is, if it compiles and its task is not over.
    pub fn approvable(&self) -> Option<&'a RevisionRef> {
        self.approvable_but_for(0..0)
    }

    /// The same where what stands in these bytes is about to be replaced.
    pub fn approvable_but_for(&self, range: Range<usize>) -> Option<&'a RevisionRef> {
        let dossier = self.dossier.filter(|dossier| !dossier.task.is_over())?;
        let compiled = self.compiled?;
        let inside = |problem: &Problem| range.start <= problem.range.start && problem.range.end <= range.end;
        let counts = |problem: &&Problem| problem.severity == Severity::Error && (range.is_empty() || !inside(problem));
        let revision = compiled.problems.iter().find(counts).is_none().then_some(&compiled.revision)?;
        let whole =
            dossier.task.approval.as_ref().is_some_and(|known| &known.revision == revision && known.upto.is_none());
        (!whole).then_some(revision)
    }

    /// Where a step stands, in the words of the vocabulary; absent before an approval.
    pub fn state(&self, step: &StepId) -> Option<&'a str> {
        let steps = &self.dossier?.steps;
        steps.iter().find(|(id, _)| id == step).map(|(_, words)| words.as_str())
    }

    /// The step whose heading, settings or instruction a byte lies in.
    pub fn step_at(&self, offset: usize) -> Option<(usize, &'a StepLayout)> {
        let steps = self.parsed.layout.steps.iter().enumerate();
        let inside =
            |range: &Range<usize>| range.contains(&offset) || (offset == range.end && offset == self.text.len());
        steps.into_iter().find(|(_, step)| inside(&step.range))
    }

    /// Bytes of the line around a byte, without its ending.
    pub fn line(&self, offset: usize) -> Range<usize> {
        line_around(self.text, offset)
    }
}

/// Bytes of the line around a byte, without its ending.
pub fn line_around(text: &str, offset: usize) -> Range<usize> {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let rest = text.get(start..).unwrap_or("");
    let line = rest.split('\n').next().unwrap_or("");
    start..start + line.trim_end_matches('\r').len()
}
