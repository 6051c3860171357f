//! Approving a revision: a person's word for exactly one digest (A7), with what it rests on (A10).
//!
//! Invariant: what is approved is what stands in the document at this moment and compiles; the approval is synced to
//! disk before it is answered. Absent: running.

use super::actions::{broken, missing};
use super::owner::Owner;
use super::page::{replace, study, versions};
use super::steps::item;
use super::world::World;
use crate::domain::change::Entry;
use crate::domain::ids::*;
use crate::domain::plan::{self, ApprovedPlan, Plan, Rule, StepKind, edit};
use crate::domain::problem::Severity;
use crate::domain::symbols::{Symbol, SymbolKind};
use crate::domain::task::action::{Actor, Refusal, RefusalKind, Reply};
use crate::domain::task::decide::refuse;
use crate::domain::task::event::{Author, Baseline, Event};
use crate::domain::task::state::Approval;
use crate::ports::{Durability, StoreFault};

/// Approves the revision if it is what the document says.
///
/// # Errors
/// Why not, with the next step.
pub(super) async fn approve(
    owner: &mut Owner,
    id: &TaskId,
    actor: Actor,
    revision: &RevisionRef,
    upto: Option<StepId>,
) -> Result<Reply, Refusal> {
    owner.read_page(id).await;
    let world = owner.world.clone();
    let Some(case) = owner.cases.get(id) else { return Err(missing(id)) };
    if case.task.is_over() {
        return Err(refuse(RefusalKind::WrongState, format!("task {id} is over"), format!("planwright status {id}")));
    }
    let Some(page) = case.page.clone() else {
        let next = format!("planwright status {id}");
        return Err(refuse(RefusalKind::WrongState, format!("task {id} has no plan yet"), next));
    };
    if &page.revision != revision {
        return Err(refuse(
            RefusalKind::Plan,
            format!("the document says {} now, not {revision}; nothing was approved", page.revision),
            format!("planwright show {id}, then planwright approve {id} --revision {}", page.revision),
        ));
    }
    assume(owner, id, &page.text, &actor).await?;
    let Some(case) = owner.cases.get(id) else { return Err(missing(id)) };
    let studied = study(&world, &page.text).await.about(case);
    let problems = studied.problems.clone();
    let plan = plan::approve::approve(studied.parsed.plan, studied.normal, revision.clone(), upto.clone(), &problems)
        .map_err(|why| {
        let first = problems.iter().find(|problem| problem.severity == Severity::Error);
        let detail = first.map(|problem| format!(" ({}: {})", problem.code, problem.message)).unwrap_or_default();
        refuse(
            RefusalKind::Plan,
            format!("{why}{detail}"),
            format!("mend it in {}, then approve it", page.path.display()),
        )
    })?;
    let same = case.task.approval.as_ref().is_some_and(|a| &a.digest == plan.digest() && a.upto == upto);
    if same && case.task.document == crate::domain::task::state::Document::Same {
        return Ok(Reply { task: id.clone(), message: format!("{revision} is approved already; planwright run {id}") });
    }
    let baselines = baselines(&world, plan.plan()).await.map_err(broken)?;
    let text = world.store.put_blob(page.text.as_bytes().to_vec()).await.map_err(broken)?;
    let event = Event::Approved {
        revision: revision.clone(),
        digest: plan.digest().clone(),
        text,
        upto: upto.clone(),
        steps: plan.step_digests(),
        baselines,
        actor,
    };
    // With the approval in one append: a comment that is left behind would ask again.
    let comment = match owner.cases.get(id) {
        Some(case) => super::comment::removal(&world, case).await.map_err(broken)?,
        None => None,
    };
    owner.end_replaced(id, &plan);
    let events = std::iter::once(event).chain(comment).collect();
    owner.append(id, events, Durability::Disk).await.map_err(broken)?;
    owner.advance(id).await;
    let scope = upto.map(|step| format!(" up to {step}")).unwrap_or_default();
    Ok(Reply { task: id.clone(), message: format!("{revision} approved{scope}") })
}

impl Owner {
    /// Steps under way whose definition changes under the new approval are ended; the others go on.
    fn end_replaced(&mut self, id: &TaskId, plan: &ApprovedPlan) {
        let Some(case) = self.cases.get(id) else { return };
        let new = plan.step_digests();
        let changed: Vec<Work> = case
            .task
            .steps
            .iter()
            .filter(|run| !new.iter().any(|(step, digest)| step == &run.id && digest == &run.definition))
            .map(|run| Work::Step(run.id.clone()))
            .collect();
        self.end_work(id, |work| changed.contains(work) || matches!(work, Work::Baseline | Work::Acceptance));
    }
}

/// Questions that nobody answered become assumptions of a new revision (A1), which is what can then be approved: what
/// the plan takes for granted must have been seen.
///
/// # Errors
/// The refusal that names the new revision, if there was an open question.
async fn assume(owner: &mut Owner, id: &TaskId, from: &str, actor: &Actor) -> Result<(), Refusal> {
    let edits = edit::assume_unanswered(from);
    if edits.is_empty() {
        return Ok(());
    }
    let open = edit::questions(&plan::parse(from)).iter().filter(|question| question.answer.is_none()).count();
    let text = edit::apply(from, &edits);
    let world = owner.world.clone();
    let Some(case) = owner.cases.get(id) else { return Err(missing(id)) };
    let studied = study(&world, &text).await;
    let digest = studied.normal.digest.short().to_owned();
    let known = case.task.revisions.iter().rev().find(|known| known.name.digest == digest);
    let newest = case.task.newest().map_or(0, |newest| newest.name.number);
    let revision = match known {
        Some(known) => known.name.clone(),
        None => RevisionRef { number: newest.saturating_add(1), digest },
    };
    let is_new = known.is_none();
    if super::offer::open_page(&world, &case.task).is_some() {
        return Err(refuse(
            RefusalKind::Plan,
            format!("{open} questions have no answer, and an editor has the document open; nothing was approved"),
            "answer them there (`> answer: …` beneath each), or word them as `assume` items; then approve it",
        ));
    }
    // Before the revision is noted: a text that cannot replace what stands there is none.
    replace(&world, &case.task, from, &text).await?;
    if is_new {
        let hash = world.store.put_blob(text.clone().into_bytes()).await.map_err(broken)?;
        let revised = Event::Revised {
            revision: revision.clone(),
            text: hash,
            author: Author::Person(actor.clone()),
            reason: "open questions became assumptions".to_owned(),
            errors: studied.errors(),
        };
        owner.append(id, vec![revised], Durability::Disk).await.map_err(broken)?;
    }
    owner.read_page(id).await;
    Err(refuse(
        RefusalKind::Plan,
        format!(
            "{open} questions had no answer; they stand as `assume` items in {revision} now, and nothing was approved"
        ),
        format!("planwright show {id}, then planwright approve {id} --revision {revision}"),
    ))
}

/// The approved plan of a stored approval.
///
/// # Errors
/// The stored text does not give the stored digest: another grammar or release would read it differently.
pub(super) fn reload(world: &World, text: &str, approval: &Approval) -> Result<ApprovedPlan, String> {
    ApprovedPlan::reload(text, &versions(world), approval.revision.clone(), &approval.digest, approval.upto.clone())
        .map_err(|why| why.to_string())
}

/// The content of what the plan names: items of foci and renames, and whole files. Items are kept as payloads, so that
/// a later difference can be shown.
async fn baselines(world: &World, plan: &Plan) -> Result<Vec<Baseline>, StoreFault> {
    let mut baselines = Vec::new();
    for step in &plan.steps {
        match &step.kind {
            StepKind::Edit(targets) => {
                for target in targets {
                    let Ok(path) = WorkspacePath::new(&target.path) else { continue };
                    baselines.extend(baseline(world, path, target.focus.as_deref()).await?);
                }
            }
            StepKind::Transform(Rule::Rename { symbol, .. }) => {
                let named = match symbol.split_once('#') {
                    Some((path, name)) => WorkspacePath::new(path).ok().map(|path| (path, name.to_owned())),
                    None => {
                        let table = world.syntax.table();
                        let defines = |found: &Symbol| found.kind != SymbolKind::Impl;
                        let mut holders = table.files.iter().filter(|(_, file)| file.named(symbol).any(defines));
                        holders.next().map(|(path, _)| (path.clone(), symbol.clone()))
                    }
                };
                if let Some((path, name)) = named {
                    baselines.extend(baseline(world, path, Some(&name)).await?);
                }
            }
            StepKind::Transform(Rule::Rewrite { .. } | Rule::Template { .. })
            | StepKind::Explore(_)
            | StepKind::Run(_)
            | StepKind::Fetch(_)
            | StepKind::Check(_)
            | StepKind::Ask(_)
            | StepKind::Recipe(_) => {}
        }
    }
    baselines.dedup();
    Ok(baselines)
}

async fn baseline(world: &World, path: WorkspacePath, symbol: Option<&str>) -> Result<Option<Baseline>, StoreFault> {
    let Ok(entry) = world.workspace.read(&path).await else { return Ok(None) };
    if entry == Entry::Absent {
        return Ok(None);
    }
    let content = match symbol {
        None => entry.hash(),
        Some(symbol) => match item(world, &path, &entry, symbol) {
            Some(text) => world.store.put_blob(text.into_bytes()).await?,
            None => return Ok(None),
        },
    };
    Ok(Some(Baseline { path, symbol: symbol.map(str::to_owned), content }))
}
