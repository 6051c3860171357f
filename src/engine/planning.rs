//! Planning: step 0. Goal, place and scoped context become a plan document; with no model, a skeleton for the person.
//!
//! Invariant: what a planner cannot mend within its rounds becomes a draft with its problems; nothing is thrown away,
//! and nothing of it runs. Absent: the prompts and rounds themselves (`domain::prompt::planner`).

use super::page::{beside, page_name, study};
use super::start;
use super::steps::ask_model;
use super::work::{Came, Halt, Run};
use super::world::World;
use crate::desk::Page;
use crate::domain::change::Entry;
use crate::domain::connect;
use crate::domain::ids::*;
use crate::domain::plan::parse::RemarkKind;
use crate::domain::plan::{self, Check, Contract, Plan, edit, json, render};
use crate::domain::problem::Severity;
use crate::domain::prompt::planner::{Planner, PlannerBrief, PlannerMove, PlannerTask};
use crate::domain::task::event::*;
use crate::domain::text;
use crate::ports::{Durability, WriteRefusal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What planning starts from, journaled once.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Gathered {
    context: String,
    references: Vec<(String, String)>,
    checks: Vec<Check>,
    because: String,
    files: String,
}

/// Files named to the planner at most; the rest is counted.
const FILES_NAMED: usize = 400;

/// Makes the plan and writes its document.
///
/// # Errors
/// The work must stop.
pub(super) async fn run(mut run: Run, page: Option<Arc<Page>>) -> Result<Outcome, Halt> {
    let gathered = match gather(&mut run).await? {
        Ok(gathered) => gathered,
        Err(message) => return Ok(Outcome::Failed { cause: Cause::ToolFault, message, ended: None }),
    };
    if run.world.model.info().is_none() {
        return skeleton(&mut run, page, gathered).await;
    }
    let mut planner = Planner::start(brief(&run, page.as_deref(), &gathered));
    loop {
        match planner.next() {
            PlannerMove::Model(request) => {
                let reply = ask_model(&mut run, request).await?;
                planner.take_reply(reply);
            }
            PlannerMove::Done(value) => {
                let (plan, questions, mut findings) = json::from_json(&value);
                let text = document(&titled(&run, plan), &questions);
                findings.extend(compile(&mut run, &text).await?);
                if findings.is_empty() {
                    return store(&mut run, page, text, Author::Planner, "the planner's plan".to_owned(), 0).await;
                }
                planner.take_findings(findings);
            }
            PlannerMove::Draft { plan, text, problems } => {
                let text = match plan {
                    Some(value) => {
                        let (plan, questions, _) = json::from_json(&value);
                        document(&titled(&run, plan), &questions)
                    }
                    None => noted(&run, &text),
                };
                let reason = format!("a draft; not mended: {}", problems.join("; "));
                let errors = u32::try_from(problems.len()).unwrap_or(u32::MAX).max(1);
                return store(&mut run, page, text, Author::Planner, reason, errors).await;
            }
            PlannerMove::Failed(fault) => {
                return Ok(Outcome::Failed {
                    cause: Cause::Transport,
                    message: format!("{} — {}", fault.message, fault.next),
                    ended: None,
                });
            }
        }
    }
}

async fn gather(run: &mut Run) -> Result<Result<Gathered, String>, Halt> {
    let request = ContentHash::of(format!("gather {}", run.attempt));
    let (world, goal) = (run.world.clone(), run.task.goal.clone());
    let came = run
        .effect(Intent::Snapshot, request, 0, |_| async move {
            let context = start::context(&world, &goal, &[], &Default::default()).await;
            let listed = world.workspace.list().await;
            let detected = start::detected(&world, &goal, &listed).await;
            let mut references = Vec::new();
            for path in &goal.references {
                if let Ok(Entry::File { text, .. }) = world.workspace.read(path).await {
                    references.push((path.to_string(), text.to_string()));
                }
            }
            let mut files: Vec<String> = listed.iter().take(FILES_NAMED).map(|file| file.path.to_string()).collect();
            if listed.len() > FILES_NAMED {
                files.push(format!("… and {} more", listed.len() - FILES_NAMED));
            }
            let checks = detected.quick.into_iter().chain(detected.full).collect();
            Ok((Gathered { context, references, checks, because: detected.because, files: files.join("\n") }, None))
        })
        .await?;
    match came {
        Came::Back(gathered) => Ok(Ok(gathered)),
        Came::Failed(fault) => Ok(Err(fault.message)),
        Came::Happened(_) => Err(Halt::Diverged),
    }
}

fn brief(run: &Run, page: Option<&Page>, gathered: &Gathered) -> PlannerBrief {
    let asked = run.task.asked.as_ref();
    let words = asked.and_then(|asked| asked.words.clone()).unwrap_or_default();
    let from_plan = asked.is_some_and(|asked| asked.from == PlanFrom::Plan);
    let done = run.task.steps.iter().filter(|step| step.state.is_over()).map(|step| step.id.to_string()).collect();
    let task = match page.filter(|_| from_plan) {
        Some(page) => PlannerTask::Revise { plan: json::to_json(&page.plan), words, notes: remarks(&page.text), done },
        None => PlannerTask::New,
    };
    let mut goal = run.task.goal.clone();
    if let (PlannerTask::New, Some(more)) = (&task, asked.and_then(|asked| asked.words.as_ref())) {
        goal.words = format!("{}\n\nMind: {more}", goal.words);
    }
    PlannerBrief {
        goal,
        context: gathered.context.clone(),
        references: gathered.references.clone(),
        checks: gathered.checks.iter().map(super::checks::name).collect(),
        files: gathered.files.clone(),
        schema: json::schema(),
        task,
        max_tokens: run.world.limits.answer,
    }
}

/// The compiler's errors for a text, journaled, because they depend on the workspace of the moment.
async fn compile(run: &mut Run, text: &str) -> Result<Vec<String>, Halt> {
    let request = ContentHash::of(format!("compile {text}"));
    let (world, text) = (run.world.clone(), text.to_owned());
    let came =
        run.effect(Intent::Snapshot, request, 0, |_| async move { Ok((errors(&world, &text).await, None)) }).await?;
    match came {
        Came::Back(findings) => Ok(findings),
        Came::Failed(fault) => Ok(vec![fault.message]),
        Came::Happened(_) => Err(Halt::Diverged),
    }
}

async fn errors(world: &World, text: &str) -> Vec<String> {
    let studied = study(world, text).await;
    let errors = studied.problems.into_iter().filter(|problem| problem.severity == Severity::Error);
    errors
        .map(|problem| {
            let place = text.get(problem.range.clone()).unwrap_or_default().lines().next().unwrap_or_default();
            format!("{}: {} (at `{place}`)", problem.code, problem.message)
        })
        .collect()
}

/// The plan with the goal as the user worded it: a planner answers neither.
fn titled(run: &Run, mut plan: Plan) -> Plan {
    if plan.title.is_empty() {
        plan.title = title(run);
    }
    plan.goal.clone_from(&run.task.goal.words);
    plan.tidy()
}

fn document(plan: &Plan, questions: &[String]) -> String {
    let mut text = render(plan);
    for question in questions {
        let edit = edit::ask(&text, None, question);
        // A span that the document's own parser gave always applies; the text stays as it is otherwise.
        text = text::apply(&text, &[edit]).unwrap_or(text);
    }
    text
}

/// Notes and answered questions of a person, for the next revision.
fn remarks(text: &str) -> Vec<String> {
    let parsed = plan::parse(text);
    let notes = parsed.layout.remarks.iter().filter(|remark| remark.kind == RemarkKind::Note);
    let mut all: Vec<String> = notes.map(|note| note.words.clone()).collect();
    for question in edit::questions(&parsed) {
        if let Some(answer) = question.answer {
            all.push(format!("asked: {} — answered: {answer}", question.words));
        }
    }
    all
}

/// A document for an answer that was no plan: the goal, and the answer as a note.
fn noted(run: &Run, answer: &str) -> String {
    let plan = Plan { title: title(run), goal: run.task.goal.words.clone(), ..Plan::default() };
    let quoted: String = answer.lines().map(|line| format!("    {line}\n")).collect();
    format!("{}\n## Notes\n\nThe planner answered this, which is no plan:\n\n{quoted}", render(&plan))
}

fn title(run: &Run) -> String {
    let first = run.task.goal.words.lines().next().unwrap_or_default();
    first.chars().take(80).collect()
}

/// Scope and detected checks, for the person to fill in (G6).
async fn skeleton(run: &mut Run, page: Option<Arc<Page>>, gathered: Gathered) -> Result<Outcome, Halt> {
    let scope = match &run.task.goal.place {
        Some(place) => vec![place.path.to_string()],
        None => source_folders(&run.world),
    };
    let contract =
        Contract { scope, accept: gathered.checks.last().cloned().into_iter().collect(), ..Contract::default() };
    let plan = Plan { title: title(run), goal: run.task.goal.words.clone(), contract, steps: Vec::new() }.tidy();
    let seen = if gathered.because.is_empty() { String::new() } else { format!(" Seen: {}.", gathered.because) };
    let write = plan.contract.scope.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ");
    let how = run.world.model.connect();
    let text = format!(
        "{}\n## Notes\n\nNo model is configured, so this plan waits for its steps. To have them planned: {how}; then `planwright replan {}`.{seen} A step that needs no model:\n\n    ### rename: A better name\n\n    - transform: rename `OLD` to `NEW`\n    - write: {write}\n",
        render(&plan),
        run.task.id,
    );
    let errors = errors(&run.world, &text).await.len();
    let reason = format!("{}: {how}", connect::NONE);
    store(run, page, text, Author::Skeleton, reason, u32::try_from(errors).unwrap_or(u32::MAX)).await
}

/// Where the program's text lies: `src` where there is one, else the folders at the top that hold any.
fn source_folders(world: &World) -> Vec<String> {
    let table = world.syntax.table();
    let holding = table.files.iter().filter(|(_, file)| !file.symbols.is_empty()).map(|(path, _)| path.as_str());
    let folders: BTreeSet<String> = holding
        .map(|path| path.split_once('/').map_or_else(|| path.to_owned(), |(folder, _)| format!("{folder}/**")))
        .collect();
    let usual = "src/**".to_owned();
    if folders.is_empty() || folders.contains(&usual) { vec![usual] } else { folders.into_iter().collect() }
}

/// Stores the revision, then writes its document.
async fn store(
    run: &mut Run,
    page: Option<Arc<Page>>,
    text: String,
    author: Author,
    reason: String,
    errors: u32,
) -> Result<Outcome, Halt> {
    let world = run.world.clone();
    let digest = plan::normal(&plan::parse(&text).plan, &super::page::versions(&world)).digest;
    let former = run.task.offered.clone();
    // Stored before, or by this very attempt before its process died: the same text keeps its name.
    let known = run.task.revisions.iter().rev().find(|known| known.name.digest == digest.short());
    let known = known.map(|known| known.name.clone());
    let is_known = known.is_some();
    let revision = match known {
        Some(known) => known,
        None => {
            // The owner numbers it: a person may have saved another one since this attempt began.
            let revision = RevisionRef { number: 0, digest: digest.short().to_owned() };
            let hash = world.store.put_blob(text.clone().into_bytes()).await.map_err(Halt::Store)?;
            let revised = Event::Revised { revision, text: hash, author, reason: reason.clone(), errors };
            let recorded = run.append(vec![revised], Durability::Process).await?;
            let named = recorded.into_iter().find_map(|one| match one.event {
                Event::Revised { revision, .. } => Some(revision),
                _ => None,
            });
            named.ok_or(Halt::Stopped)?
        }
    };
    match put(run, page.as_deref(), &text, &revision).await {
        Ok(Put::Written) => {
            // A new revision ends an older offer by itself; one that goes back to an old revision does not.
            if let Some(revision) = former.filter(|former| is_known && *former != revision) {
                run.append(vec![Event::OfferEnded { revision, taken: false, actor: None }], Durability::Process)
                    .await?;
            }
        }
        // The person's hands are in it; they take what they want of it.
        Ok(Put::Offered) if run.task.offered.as_ref() == Some(&revision) => {}
        Ok(Put::Offered) => {
            run.append(vec![Event::Offered { revision: revision.clone() }], Durability::Process).await?;
        }
        Err(refusal @ WriteRefusal::Changed { .. }) => {
            let message = format!("{revision} stands, but its document is saved again and again meanwhile: {refusal}");
            return Ok(Outcome::Blocked { cause: Cause::Conflict, message });
        }
        Err(refusal) => {
            let message = format!("{revision} stands, but its document could not be written: {refusal}");
            return Ok(Outcome::Failed { cause: Cause::ToolFault, message, ended: None });
        }
    }
    let summary = run.payload(format!("{revision}: {reason}")).await?;
    Ok(Outcome::Done { verified: errors == 0, summary })
}

/// Where a revision is.
enum Put {
    /// In the document.
    Written,
    /// Beside it, because an editor has it open.
    Offered,
}

/// Puts a revision in the place of the document. A text there that planning did not start from is kept beside first.
async fn put(run: &Run, from: Option<&Page>, text: &str, revision: &RevisionRef) -> Result<Put, WriteRefusal> {
    let (workspace, id, name) = (&run.world.workspace, &run.task.id, page_name(&run.task));
    let beside = beside(revision);
    let mut refused = None;
    // A save can come in between once; a program that saves all the time is given up on.
    for _ in 0..3 {
        let there = workspace.read_page(id, &name).await.map_err(WriteRefusal::Unreadable)?;
        let Some(there) = there else { return workspace.write_page(id, &name, text).await.map(|_| Put::Written) };
        if there == text {
            return Ok(Put::Written);
        }
        if super::offer::open_page(&run.world, &run.task).is_some() {
            return Ok(Put::Offered);
        }
        if from.is_none_or(|page| *page.text != *there) {
            workspace.write_page(id, &beside, &there).await?;
        }
        match workspace.replace_page(id, &name, &there, text).await {
            Err(refusal @ WriteRefusal::Changed { .. }) => refused = Some(refusal),
            done => return done.map(|_| Put::Written),
        }
    }
    refused.map_or(Ok(Put::Written), Err)
}
