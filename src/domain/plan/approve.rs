//! What a person approved: the only thing that runs (invariant 1 of the architecture).
//!
//! **Invariant:** an `ApprovedPlan` has no error, is what its own normal text says when read again, and carries the
//! digest of that text. It is made here and nowhere else. **Absent:** who approved, and when; that is the journal's.

use super::model::*;
use super::normal::{ContractRules, Normal, PlanPrompt, StepRules, Versions, normal};
use super::parse::parse;
use crate::domain::ids::{ContentHash, RevisionRef, StepId};
use crate::domain::problem::{Problem, Severity};
use std::collections::BTreeSet;

/// A revision that may run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApprovedPlan {
    plan: Plan,
    normal: Normal,
    revision: RevisionRef,
    upto: Option<StepId>,
    included: BTreeSet<StepId>,
}

/// Why a plan is not approved; each says what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ApprovalRefusal {
    /// It has errors.
    #[error("the plan has {0} error(s); mend them, then approve the new revision")]
    Errors(usize),
    /// The name does not belong to this text.
    #[error("{named} is not what the plan says now, which is r{}-{found}; look at it and approve that", .named.number)]
    OtherDigest {
        /// As asked for.
        named: RevisionRef,
        /// The first digits of the text's own digest.
        found: String,
    },
    /// No such step to go up to.
    #[error("the plan has no step `{0}`; name one of its steps")]
    UnknownStep(StepId),
    /// The normal text, read again, says something else. A fault of ours, kept from running.
    #[error("this plan cannot be written without ambiguity; simplify its prose and approve again")]
    Ambiguous,
}

impl ApprovedPlan {
    fn new(plan: Plan, normal: Normal, revision: RevisionRef, upto: Option<StepId>) -> Result<Self, ApprovalRefusal> {
        if normal.digest.short() != revision.digest {
            return Err(ApprovalRefusal::OtherDigest { found: normal.digest.short().to_owned(), named: revision });
        }
        if !normal.says(&plan) || parse(&super::render(&plan)).plan != plan {
            return Err(ApprovalRefusal::Ambiguous);
        }
        let included = match &upto {
            None => plan.steps.iter().map(|step| step.id.clone()).collect(),
            Some(last) => up_to(&plan, &normal, last)?,
        };
        Ok(Self { plan, normal, revision, upto, included })
    }

    /// The approval of a stored text again, when a journal is replayed.
    ///
    /// # Errors
    /// When the text has an error, or is not what was approved: the store was tampered with, or a reader changed.
    pub fn reload(
        text: &str,
        versions: &Versions,
        revision: RevisionRef,
        digest: &ContentHash,
        upto: Option<StepId>,
    ) -> Result<Self, ApprovalRefusal> {
        let parsed = parse(text);
        let normal = normal(&parsed.plan, versions);
        if normal.digest != *digest {
            return Err(ApprovalRefusal::OtherDigest { found: normal.digest.short().to_owned(), named: revision });
        }
        approve(parsed.plan, normal, revision, upto, &parsed.problems)
    }

    /// What was approved.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Its normal form.
    pub fn normal(&self) -> &Normal {
        &self.normal
    }

    /// What a model is told of it.
    pub fn prompt(&self) -> &PlanPrompt {
        &self.normal.prompt
    }

    /// Its name.
    pub fn revision(&self) -> &RevisionRef {
        &self.revision
    }

    /// The whole digest.
    pub fn digest(&self) -> &ContentHash {
        &self.normal.digest
    }

    /// The last step approved; absent means all.
    pub fn upto(&self) -> Option<&StepId> {
        self.upto.as_ref()
    }

    /// All steps in document order, approved or not.
    pub fn steps(&self) -> &[Step] {
        &self.plan.steps
    }

    /// A step.
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.plan.steps.iter().find(|step| step.id == *id)
    }

    /// The contract's rules.
    pub fn contract(&self) -> &ContractRules {
        &self.normal.tables.contract
    }

    /// Files that the plan names and what of them it is about, each once (A10): an approval rests on their content.
    /// A symbol without a path is one that a rename names.
    pub fn names(&self) -> BTreeSet<(Option<String>, Option<String>)> {
        let mut out = BTreeSet::new();
        for step in &self.plan.steps {
            match &step.kind {
                StepKind::Edit(targets) => {
                    let named = targets.iter().filter(|target| !super::globs::is_glob(&target.path));
                    out.extend(named.map(|target| (Some(target.path.clone()), target.focus.clone())));
                }
                StepKind::Transform(Rule::Rename { symbol, .. }) => {
                    let (path, name) =
                        symbol.split_once('#').map_or((None, symbol.as_str()), |(path, name)| (Some(path), name));
                    out.insert((path.map(str::to_owned), Some(name.to_owned())));
                }
                StepKind::Transform(Rule::Template { source, .. }) => {
                    out.insert((Some(source.clone()), None));
                }
                StepKind::Transform(Rule::Rewrite { .. })
                | StepKind::Explore(_)
                | StepKind::Run(_)
                | StepKind::Fetch(_)
                | StepKind::Check(_)
                | StepKind::Ask(_)
                | StepKind::Recipe(_) => {}
            }
        }
        out
    }

    /// A step's rules.
    pub fn enforcement(&self, id: &StepId) -> Option<&StepRules> {
        self.normal.tables.steps.iter().find(|rules| rules.id == *id)
    }

    /// The steps that must have ended before it starts.
    pub fn predecessors(&self, id: &StepId) -> &[StepId] {
        self.enforcement(id).map_or(&[], |rules| &rules.predecessors)
    }

    /// Whether the approval covers the step.
    pub fn included(&self, id: &StepId) -> bool {
        self.included.contains(id)
    }
}

/// Makes a plan one that may run.
///
/// # Errors
/// When a finding is an error, or the revision's digest is not the plan's.
pub fn approve(
    plan: Plan,
    normal: Normal,
    revision: RevisionRef,
    upto: Option<StepId>,
    findings: &[Problem],
) -> Result<ApprovedPlan, ApprovalRefusal> {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    if errors > 0 {
        return Err(ApprovalRefusal::Errors(errors));
    }
    ApprovedPlan::new(plan, normal, revision, upto)
}

/// The step, everything above it in the document, and whatever these need.
fn up_to(plan: &Plan, normal: &Normal, last: &StepId) -> Result<BTreeSet<StepId>, ApprovalRefusal> {
    let at = plan.steps.iter().position(|step| step.id == *last);
    let at = at.ok_or_else(|| ApprovalRefusal::UnknownStep(last.clone()))?;
    let mut open: Vec<StepId> = plan.steps.iter().take(at + 1).map(|step| step.id.clone()).collect();
    let mut included = BTreeSet::new();
    while let Some(id) = open.pop() {
        let rules = normal.tables.steps.iter().find(|rules| rules.id == id);
        if included.insert(id) {
            open.extend(rules.into_iter().flat_map(|rules| rules.predecessors.iter().cloned()));
        }
    }
    Ok(included)
}
