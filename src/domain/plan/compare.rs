//! The difference of two plans by meaning, and what a new revision makes run again.
//!
//! **Invariant:** two plans without a change are equal. **Absent:** layout, notes, the text's lines.

use super::keys::Key;
use super::model::*;
use super::render;
use crate::domain::ids::{ContentHash, StepId};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Change {
    /// Another title.
    Title {
        /// Was.
        before: String,
        /// Is.
        after: String,
    },
    /// Another goal.
    Goal {
        /// Was.
        before: String,
        /// Is.
        after: String,
    },
    /// A value of the contract came or went.
    Contract {
        /// Its key.
        key: &'static str,
        /// What is no longer said.
        removed: Vec<String>,
        /// What is new.
        added: Vec<String>,
    },
    /// A new step.
    StepAdded {
        /// Which.
        step: StepId,
        /// Its title.
        title: String,
    },
    /// A step is gone.
    StepRemoved {
        /// Which.
        step: StepId,
        /// Its title.
        title: String,
    },
    /// A step stands elsewhere among those that both plans have.
    StepMoved {
        /// Which.
        step: StepId,
        /// Behind which it stands now; absent means first.
        behind: Option<StepId>,
    },
    /// Another title of a step.
    StepTitle {
        /// Which.
        step: StepId,
        /// Was.
        before: String,
        /// Is.
        after: String,
    },
    /// A setting of a step.
    Setting {
        /// Which.
        step: StepId,
        /// Its key.
        key: &'static str,
        /// What is no longer said.
        removed: Vec<String>,
        /// What is new.
        added: Vec<String>,
    },
    /// Another instruction.
    Instruction {
        /// Which.
        step: StepId,
        /// Lines, each led by `-` or `+`.
        lines: Vec<String>,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = |f: &mut fmt::Formatter<'_>, removed: &[String], added: &[String]| {
            removed.iter().try_for_each(|value| write!(f, "\n  - {value}"))?;
            added.iter().try_for_each(|value| write!(f, "\n  + {value}"))
        };
        match self {
            Change::Title { before, after } => write!(f, "title: {before} → {after}"),
            Change::Goal { before, after } => {
                write!(f, "goal:")?;
                values(f, &[before.replace('\n', "\n    ")], &[after.replace('\n', "\n    ")])
            }
            Change::Contract { key, removed, added } => {
                write!(f, "contract, {key}:")?;
                values(f, removed, added)
            }
            Change::StepAdded { step, title } => write!(f, "step {step} is new: {title}"),
            Change::StepRemoved { step, title } => write!(f, "step {step} is gone: {title}"),
            Change::StepMoved { step, behind: Some(behind) } => write!(f, "step {step} stands behind {behind} now"),
            Change::StepMoved { step, behind: None } => write!(f, "step {step} stands first now"),
            Change::StepTitle { step, before, after } => write!(f, "step {step}, title: {before} → {after}"),
            Change::Setting { step, key, removed, added } => {
                write!(f, "step {step}, {key}:")?;
                values(f, removed, added)
            }
            Change::Instruction { step, lines } => {
                write!(f, "step {step}, instruction:")?;
                lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
            }
        }
    }
}

/// What differs, in the order of the new plan; steps that are gone come last.
pub fn compare(old: &Plan, new: &Plan) -> Vec<Change> {
    let mut out = Vec::new();
    if old.title != new.title {
        out.push(Change::Title { before: old.title.clone(), after: new.title.clone() });
    }
    if old.goal != new.goal {
        out.push(Change::Goal { before: old.goal.clone(), after: new.goal.clone() });
    }
    let (a, b) = (render::contract_settings(&old.contract), render::contract_settings(&new.contract));
    out.extend(settings(a, b).map(|(key, removed, added)| Change::Contract { key, removed, added }));
    let steps: BTreeMap<_, _> = old.steps.iter().map(|step| (&step.id, step)).collect();
    let moved = moved(old, new);
    for (n, step) in new.steps.iter().enumerate() {
        match steps.get(&step.id) {
            None => out.push(Change::StepAdded { step: step.id.clone(), title: step.title.clone() }),
            Some(before) => {
                if moved.contains(&step.id) {
                    let behind = n.checked_sub(1).and_then(|n| new.steps.get(n)).map(|step| step.id.clone());
                    out.push(Change::StepMoved { step: step.id.clone(), behind });
                }
                one(before, step, &mut out);
            }
        }
    }
    let gone = old.steps.iter().filter(|step| new.steps.iter().all(|other| other.id != step.id));
    out.extend(gone.map(|step| Change::StepRemoved { step: step.id.clone(), title: step.title.clone() }));
    out
}

/// The changes as text, one a paragraph line; empty when the plans mean the same.
pub fn describe(changes: &[Change]) -> String {
    changes.iter().map(|change| format!("{change}\n")).collect()
}

fn one(before: &Step, after: &Step, out: &mut Vec<Change>) {
    let step = &after.id;
    if before.title != after.title {
        out.push(Change::StepTitle { step: step.clone(), before: before.title.clone(), after: after.title.clone() });
    }
    let (a, b) = (render::step_settings(before), render::step_settings(after));
    out.extend(settings(a, b).map(|(key, removed, added)| Change::Setting { step: step.clone(), key, removed, added }));
    if before.instruction != after.instruction {
        let diff = similar::TextDiff::from_lines(before.instruction.as_str(), after.instruction.as_str());
        let lines = diff.iter_all_changes().filter_map(|change| match change.tag() {
            similar::ChangeTag::Delete => Some(format!("- {}", change.value().trim_end())),
            similar::ChangeTag::Insert => Some(format!("+ {}", change.value().trim_end())),
            similar::ChangeTag::Equal => None,
        });
        out.push(Change::Instruction { step: step.clone(), lines: lines.collect() });
    }
}

type Settings = Vec<(&'static Key, Vec<String>)>;

fn settings(old: Settings, new: Settings) -> impl Iterator<Item = (&'static str, Vec<String>, Vec<String>)> {
    old.into_iter().zip(new).filter(|((_, old), (_, new))| old != new).map(|((key, old), (_, new))| {
        let without = |values: &[String], others: &[String]| -> Vec<String> {
            values.iter().filter(|value| !others.contains(value)).cloned().collect()
        };
        let (removed, added) = (without(&old, &new), without(&new, &old));
        // The same values in another order: all are shown.
        if removed.is_empty() && added.is_empty() { (key.name, old, new) } else { (key.name, removed, added) }
    })
}

/// Steps that are not in the longest run that kept its order.
fn moved(old: &Plan, new: &Plan) -> Vec<StepId> {
    let ids = |plan: &Plan, other: &Plan| -> Vec<StepId> {
        let known = |step: &&Step| other.steps.iter().any(|theirs| theirs.id == step.id);
        plan.steps.iter().filter(known).map(|step| step.id.clone()).collect()
    };
    let (a, b) = (ids(old, new), ids(new, old));
    let kept = similar::capture_diff_slices(similar::Algorithm::Lcs, &a, &b);
    let kept: Vec<StepId> = kept
        .iter()
        .filter(|op| op.tag() == similar::DiffTag::Equal)
        .flat_map(|op| b.get(op.new_range()).unwrap_or(&[]).to_vec())
        .collect();
    b.into_iter().filter(|id| !kept.contains(id)).collect()
}

/// What becomes of steps that are done when a new revision is approved.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Rerun {
    /// Definition and inputs are as they were: what is done stays done.
    pub kept: Vec<StepId>,
    /// They differ: to run again.
    pub again: Vec<StepId>,
    /// Not in the old revision.
    pub new: Vec<StepId>,
    /// No longer in the plan.
    pub gone: Vec<StepId>,
}

/// Compares the step digests of two revisions.
pub fn rerun(old: &[(StepId, ContentHash)], new: &[(StepId, ContentHash)]) -> Rerun {
    let before: BTreeMap<_, _> = old.iter().map(|(id, digest)| (id, digest)).collect();
    let mut out = Rerun::default();
    for (id, digest) in new {
        match before.get(id) {
            Some(was) if *was == digest => out.kept.push(id.clone()),
            Some(_) => out.again.push(id.clone()),
            None => out.new.push(id.clone()),
        }
    }
    out.gone =
        old.iter().filter(|(id, _)| new.iter().all(|(other, _)| other != id)).map(|(id, _)| id.clone()).collect();
    out
}
