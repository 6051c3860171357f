//! The plan document, as an editor has it open, else on disk: read at each action, when it is saved in an editor and
//! before each step starts, written when a plan is made.
//!
//! Invariant: the runtime runs the stored approved revision, never this text (invariant 1); a text whose meaning
//! differs is stored as an unapproved revision, and then no new step starts. A deleted file is no edit: it is written
//! again. Absent: approving.

use super::case::Case;
use super::owner::Owner;
use super::world::World;
use crate::desk::Page;
use crate::domain::ids::*;
use crate::domain::plan::{self, ApprovedPlan, Facts, Plan, Versions, outlook};
use crate::domain::policy::tools;
use crate::domain::problem::{Problem, Severity};
use crate::domain::task::action::{Actor, Refusal, RefusalKind};
use crate::domain::task::decide::refuse;
use crate::domain::task::event::{Author, Event};
use crate::domain::task::state::{Document, Task};
use crate::ports::{Durability, WriteRefusal};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The version of the prompts and tables in force; part of every digest (rule 10). Raised when the meaning of a plan
/// text changes.
const POLICY: &str = "1";

/// What the digest takes in beside the plan's own text.
pub(super) fn versions(world: &World) -> Versions {
    Versions { policy: POLICY.to_owned(), recipe: "none".to_owned(), grammar: world.syntax.version() }
}

/// `retries.plan.md` for a goal that begins with "Retries …".
pub(super) fn page_name(task: &Task) -> String {
    let words: Vec<String> = task
        .goal
        .words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(6)
        .map(str::to_lowercase)
        .collect();
    let slug: String = words.join("-").chars().take(48).collect();
    if slug.is_empty() { "task.plan.md".to_owned() } else { format!("{slug}.plan.md") }
}

/// Where the text is kept that this revision took the place of.
pub(super) fn beside(revision: &RevisionRef) -> String {
    format!("log/before-r{}.plan.md", revision.number)
}

/// A plan text with everything that is known of it.
pub(super) struct Studied {
    /// What it says.
    pub parsed: plan::Parsed,
    /// Its normal form.
    pub normal: plan::Normal,
    /// What the compiler found.
    pub problems: Vec<Problem>,
}

impl Studied {
    /// The same in the light of a task's work: a step that is done and unchanged is not compiled again (what it named
    /// may be gone, because it was done), and it must keep its name.
    pub fn about(self, case: &Case) -> Studied {
        self.after(&case.task, case.plan.as_deref().map(ApprovedPlan::plan))
    }

    /// The same for a task of which only the state and the approved plan are at hand.
    pub fn after(mut self, task: &Task, approved: Option<&Plan>) -> Studied {
        let digests = plan::step_digests(&self.normal);
        let over: Vec<&StepId> = task
            .steps
            .iter()
            .filter(|run| run.state.is_over())
            .filter(|run| digests.iter().any(|(id, digest)| id == &run.id && digest == &run.definition))
            .map(|run| &run.id)
            .collect();
        let settled: Vec<_> =
            over.iter().filter_map(|id| self.parsed.layout.step(id)).map(|step| step.range.clone()).collect();
        let inside = |problem: &Problem| {
            settled.iter().any(|range| range.start <= problem.range.start && problem.range.end <= range.end)
        };
        self.problems.retain(|problem| !inside(problem));
        if let Some(approved) = approved {
            let done: Vec<StepId> =
                task.steps.iter().filter(|run| run.state.is_over()).map(|run| run.id.clone()).collect();
            self.problems.extend(plan::check::renamed(&self.parsed, approved, &done));
        }
        self
    }

    /// Findings that keep it from being approved.
    pub fn errors(&self) -> u32 {
        let errors = self.problems.iter().filter(|problem| problem.severity == Severity::Error).count();
        u32::try_from(errors).unwrap_or(u32::MAX)
    }
}

/// Parses and compiles a plan text against the workspace as it is.
pub(super) async fn study(world: &World, text: &str) -> Studied {
    let files = world.workspace.list().await.into_iter().map(|file| file.path).collect();
    examine(world, text, &files)
}

/// The same against files that are known already.
pub(super) fn examine(world: &World, text: &str, files: &BTreeSet<WorkspacePath>) -> Studied {
    let parsed = plan::parse(text);
    let tools: Vec<&str> = tools::table().iter().map(|row| row.name).collect();
    let facts = Facts { files, symbols: &world.syntax.table(), tools: &tools, allowed: None };
    let problems = plan::compile(&parsed, &facts);
    let normal = plan::normal(&parsed.plan, &versions(world));
    Studied { parsed, normal, problems }
}

/// Replaces the document by a text that was made from `from`. What a person saved since stays.
///
/// # Errors
/// Why the document is as it was.
pub(super) async fn replace(world: &World, task: &Task, from: &str, text: &str) -> Result<(), Refusal> {
    let id = &task.id;
    match world.workspace.replace_page(id, &page_name(task), from, text).await {
        Ok(_) => Ok(()),
        Err(WriteRefusal::Changed { .. }) => Err(refuse(
            RefusalKind::Plan,
            "the plan document was saved in this moment; it stays as it was saved",
            format!("planwright show {id}, then run the command again"),
        )),
        Err(refusal) => Err(refuse(RefusalKind::Broken, refusal.to_string(), "planwright doctor")),
    }
}

impl Owner {
    /// Reads the plan document of a task and takes in what a person did to it.
    pub(super) async fn read_page(&mut self, id: &TaskId) {
        let world = self.world.clone();
        let Some(case) = self.cases.get(id) else { return };
        let Some(newest) = case.task.newest().cloned() else { return };
        if case.task.is_over() && case.page.is_some() {
            return;
        }
        let name = page_name(&case.task);
        let text = match world.workspace.read_page(id, &name).await {
            Ok(Some(text)) => text,
            Ok(None) => {
                let Some(text) = self.wanted_text(id) else { return };
                if let Err(refusal) = world.workspace.write_page(id, &name, &text).await {
                    tracing::warn!(task = %id, %refusal, "the plan document could not be written again");
                }
                text.to_string()
            }
            // A document that cannot be read is an edit that nobody can judge: no new step starts on it.
            Err(refusal) => {
                tracing::warn!(task = %id, %refusal, "the plan document cannot be read");
                self.stray(id, None).await;
                return;
            }
        };
        let Some(case) = self.cases.get(id) else { return };
        if let Some(page) = &case.page
            && *page.text == *text
            && case.task.revisions.iter().any(|known| known.name == page.revision)
        {
            self.settle_offer(id).await;
            return;
        }
        let studied = study(&world, &text).await.about(case);
        let digest = studied.normal.digest.clone();
        let known = case.task.revisions.iter().rev().find(|known| known.name.digest == digest.short()).cloned();
        let revision = match known {
            Some(known) => known.name,
            // What is over is only read; its document says what it said, in whatever way this release reads it.
            None if case.task.is_over() => newest.name,
            None => {
                let number = newest.name.number.saturating_add(1);
                let name = RevisionRef { number, digest: digest.short().to_owned() };
                let same = case.lapsed.is_some() && self.wanted_text(id).is_some_and(|wanted| *wanted == *text);
                let reason =
                    if same { "this release reads the document differently" } else { "the document was edited" };
                let by = Actor { user: case.task.by.user.clone(), client: "the plan file".to_owned() };
                let Ok(hash) = world.store.put_blob(text.clone().into_bytes()).await else { return };
                let revised = Event::Revised {
                    revision: name.clone(),
                    text: hash,
                    author: Author::Person(by),
                    reason: reason.to_owned(),
                    errors: studied.errors(),
                };
                if let Err(fault) = self.append(id, vec![revised], Durability::Process).await {
                    self.stuck(id, &fault);
                    return;
                }
                name
            }
        };
        let page = Page {
            path: world.workspace.page_path(id, &name),
            text: Arc::from(text),
            contract: outlook::lines(
                &studied.parsed.plan,
                &studied.normal,
                world.arena.rung(),
                world.model.info().as_ref(),
            ),
            plan: Arc::new(studied.parsed.plan),
            problems: studied.problems,
            revision,
        };
        if let Some(case) = self.cases.get_mut(id) {
            case.page = Some(Arc::new(page));
        }
        self.settle_offer(id).await;
        self.stray(id, Some(digest)).await;
    }

    /// Notes whether the document still says what was approved.
    async fn stray(&mut self, id: &TaskId, digest: Option<ContentHash>) {
        let Some(case) = self.cases.get(id) else { return };
        let Some(approval) = case.task.approval.as_ref().filter(|_| !case.task.is_over()) else { return };
        let same = digest.as_ref() == Some(&approval.digest);
        let event = match (&case.task.document, same) {
            (Document::Same, true) => return,
            (Document::Strayed { .. }, true) => Event::Restored,
            (Document::Strayed { digest: known }, false) if known == &digest => return,
            (Document::Same | Document::Strayed { .. }, false) => Event::Strayed { digest },
        };
        if let Err(fault) = self.append(id, vec![event], Durability::Process).await {
            self.stuck(id, &fault);
        }
    }

    /// What a lost document is written again from: the approved text, else the newest.
    fn wanted_text(&self, id: &TaskId) -> Option<Arc<str>> {
        let case = self.cases.get(id)?;
        let name = match &case.task.approval {
            Some(approval) => &approval.revision,
            None => &case.task.newest()?.name,
        };
        case.revisions.iter().rev().find(|(known, _)| known == name).map(|(_, text)| text.clone())
    }
}
