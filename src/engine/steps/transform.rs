//! A `transform` step: a rule over the workspace, without a model and without a token.
//!
//! Invariant: certain and uncertain places are kept apart as hunks of their own (I2); a rename is judged over the whole
//! workspace, whatever the step may write, and is not begun where it could not be finished. Absent: the rules
//! themselves; they are `syntax`'s.

use super::proposal::{self, Fault, Made};
use super::{Setting, dropped_measures, finish};
use crate::domain::change::Entry;
use crate::domain::ids::*;
use crate::domain::plan::{ApprovedPlan, Rule, Step};
use crate::domain::policy::paths;
use crate::domain::task::event::{Cause, Intent, Outcome};
use crate::domain::text;
use crate::engine::overlay::{Laid, overlay};
use crate::engine::work::{Came, EffectFault, Halt, Run};
use crate::engine::world::World;
use crate::ports::{FileEdits, ReadRefusal, Source};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a rule gave, with the texts it was given: the journal has all of it, so that going through the step again
/// needs no file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Transformed {
    files: Vec<TransformedFile>,
    /// Why files that may be text were not looked at.
    #[serde(default)]
    unread: Vec<String>,
    /// Files with uncertain places that the step may not write.
    #[serde(default)]
    left: Vec<WorkspacePath>,
    /// Files that a rewrite fits and the step's own check measures by.
    #[serde(default)]
    measures: Vec<WorkspacePath>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct TransformedFile {
    path: WorkspacePath,
    user: Entry,
    base: Entry,
    after: Entry,
    doubts: Vec<(u32, String)>,
}

/// Applies the rule and proposes what it gives.
pub(super) async fn run(run: &mut Run, step: &Step, rule: &Rule, setting: &Setting) -> Result<Outcome, Halt> {
    let request = ContentHash::of(format!("transform {rule:?} {:?}", step.write));
    let (world, merged, rule_now) = (run.world.clone(), setting.now().without(&step.id), rule.clone());
    let (plan, id) = (setting.plan.clone(), step.id.clone());
    run.line(format!("{}: {}", step.id, step.title));
    let came = run
        .effect(Intent::Transform, request, 0, |_| async move {
            let laid = overlay(&world, &merged).await.map_err(|refusal| fault(Cause::Conflict, refusal.to_string()))?;
            let done = transform(&world, laid, rule_now, &plan, &id).await?;
            for file in &done.files {
                let reached = world.workspace.resolved(&file.path).await;
                if reached != file.path && !plan.may_write(&id, reached.as_str()) {
                    let message = format!("`{}` leads to `{reached}`, which this step may not write", file.path);
                    return Err(fault(Cause::Policy, message));
                }
            }
            Ok((done, None))
        })
        .await?;
    let transformed: Transformed = match came {
        Came::Back(transformed) => transformed,
        Came::Failed(fault) => {
            return Ok(Outcome::Failed { cause: fault.cause, message: fault.message, ended: None });
        }
        Came::Happened(_) => return Err(Halt::Diverged),
    };
    let Transformed { files, unread, left, measures } = transformed;
    let made: Vec<Made> = files
        .into_iter()
        .map(|f| Made { path: f.path, user: f.user, base: f.base, after: f.after, doubts: f.doubts })
        .collect();
    let proposal = match proposal::propose(run, step, setting, 1, made).await {
        Ok(proposal) => proposal,
        Err(Fault::Halt(halt)) => return Err(halt),
        Err(Fault::Breaks(broken)) => {
            return Ok(Outcome::Failed { cause: Cause::Policy, message: broken.join("; "), ended: None });
        }
        Err(Fault::Stopped(message)) => return Ok(Outcome::Blocked { cause: Cause::Policy, message }),
    };
    let hunks: usize = proposal.files.iter().map(|file| file.hunks.len()).sum();
    let (hunks, files) = (text::counted(hunks, "hunk"), text::counted(proposal.files.len(), "file"));
    let mut summary = format!("{hunks} in {files}");
    if !unread.is_empty() {
        let said = format!("not looked at: {}", unread.join("; "));
        run.line(format!("{}: {said}", step.id));
        summary.push_str(&format!("; {said}"));
    }
    if !left.is_empty() {
        summary.push_str(&format!("; uncertain places also in {}, which the step may not write", some_of(&left)));
    }
    summary.push_str(&dropped_measures(&measures));
    finish(run, step, setting, summary).await
}

fn fault(cause: Cause, message: String) -> EffectFault {
    EffectFault { cause, message, usage: None }
}

async fn transform(
    world: &Arc<World>,
    laid: Laid,
    rule: Rule,
    plan: &ApprovedPlan,
    id: &StepId,
) -> Result<Transformed, EffectFault> {
    if let Rule::Template { source, to, values } = &rule {
        return template(world, &laid, source, to, values).await;
    }
    let listed = world.workspace.list().await.into_iter().map(|file| file.path);
    // No disk lists what earlier steps make.
    let all: BTreeSet<WorkspacePath> = listed.chain(laid.over.keys().cloned()).collect();
    let (mut sources, mut unread) = (Vec::new(), Vec::new());
    let mut entries = Vec::new();
    // What a name means in one file is said in others, and crates are named in their manifests. A rewrite needs no more
    // than the texts it changes.
    let whole = matches!(rule, Rule::Rename { .. });
    let rights = plan.rights(id, Vec::new());
    for path in all {
        let own = plan.may_write(id, path.as_str());
        if !(whole || own) || paths::is_secret(&path) {
            continue;
        }
        // Where hunks are laid over a file, what the user has is what they were laid over.
        let read = match laid.user.get(&path) {
            Some(user) => Ok(user.clone()),
            None => world.workspace.read(&path).await,
        };
        let user = match read {
            Ok(user) => user,
            // What is no text is not what a rule could change.
            Err(ReadRefusal::Binary(_) | ReadRefusal::NotAFile(_)) => continue,
            Err(refusal) => {
                unread.extend(own.then(|| refusal.to_string()));
                continue;
            }
        };
        let base = laid.over.get(&path).cloned().unwrap_or_else(|| user.clone());
        if let Entry::File { text, .. } = &base {
            sources.push(Source { path: path.clone(), text: text.clone() });
            entries.push((path, user, base));
        }
    }
    let syntax = world.clone();
    let edits = tokio::task::spawn_blocking(move || syntax.syntax.transform(&sources, &rule))
        .await
        .map_err(|error| fault(Cause::ToolFault, error.to_string()))?
        .map_err(|refusal| {
            let candidates = if refusal.candidates.is_empty() {
                String::new()
            } else {
                format!(" (did you mean {}?)", refusal.candidates.join(", "))
            };
            fault(Cause::MissingArtifact, format!("{}{candidates}", refusal.message))
        })?;
    let (edits, beyond): (Vec<FileEdits>, Vec<FileEdits>) =
        edits.into_iter().partition(|file| plan.may_write(id, file.path.as_str()));
    let (measured, edits): (Vec<FileEdits>, Vec<FileEdits>) =
        edits.into_iter().partition(|file| rights.judged_by(&file.path).is_some());
    // A rename without its tests would not compile, so it is not begun; a rewrite stands by itself in each file.
    let (mut beyond, mut measures) = (beyond, Vec::new());
    if whole {
        beyond.extend(measured);
    } else {
        measures.extend(measured.into_iter().map(|file| file.path));
    }
    let certain = |file: &&FileEdits| file.edits.iter().any(|marked| marked.doubt.is_none());
    let unfinished: Vec<WorkspacePath> = beyond.iter().filter(certain).map(|file| file.path.clone()).collect();
    if !unfinished.is_empty() {
        return Err(fault(
            Cause::Policy,
            format!(
                "the name is used in {} too, which this step may not write; name {} in its `write` and in the scope",
                some_of(&unfinished),
                if unfinished.len() == 1 { "it" } else { "them" }
            ),
        ));
    }
    let left = beyond.into_iter().map(|file| file.path).collect();
    let mut files = Vec::new();
    for FileEdits { path, edits } in edits {
        let Some((_, user, base)) = entries.iter().find(|(known, _, _)| known == &path) else { continue };
        let Entry::File { text, mode } = base else { continue };
        let plain: Vec<_> = edits.iter().map(|marked| marked.edit.clone()).collect();
        let after = text::apply(text, &plain).map_err(|error| fault(Cause::ToolFault, error.to_string()))?;
        let doubts = doubts(text, &edits);
        files.push(TransformedFile {
            path,
            user: user.clone(),
            base: base.clone(),
            after: Entry::File { text: Arc::from(after), mode: *mode },
            doubts,
        });
    }
    if files.is_empty() {
        let message = format!("the rule matches nothing in the step's files{}", dropped_measures(&measures));
        return Err(fault(Cause::MissingArtifact, message));
    }
    Ok(Transformed { files, unread, left, measures })
}

/// Names of files that a message shows; the rest is counted.
const NAMED: usize = 5;

fn some_of(paths: &[WorkspacePath]) -> String {
    let mut names = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    if paths.len() > NAMED {
        names.push_str(&format!(" and {} more", paths.len() - NAMED));
    }
    names
}

/// The lines of the new text that hold an uncertain place. Rules replace within lines, so that lines keep their count.
fn doubts(before: &str, edits: &[crate::ports::MarkedEdit]) -> Vec<(u32, String)> {
    let mut doubts: Vec<(u32, String)> = Vec::new();
    for marked in edits {
        let Some(why) = &marked.doubt else { continue };
        let line = before.get(..marked.edit.range.start).map_or(0, |head| head.matches('\n').count());
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        match doubts.last_mut() {
            Some((known, reasons)) if *known == line => {
                if !reasons.contains(why.as_str()) {
                    reasons.push_str("; ");
                    reasons.push_str(why);
                }
            }
            _ => doubts.push((line, why.clone())),
        }
    }
    doubts
}

async fn template(
    world: &World,
    laid: &Laid,
    source: &str,
    to: &str,
    values: &[(String, String)],
) -> Result<Transformed, EffectFault> {
    let path = |text: &str| WorkspacePath::new(text).map_err(|problem| fault(Cause::Policy, problem.to_string()));
    let (from, to) = (path(source)?, path(to)?);
    let read = |path: WorkspacePath| async move {
        world.workspace.read(&path).await.map_err(|refusal| fault(Cause::MissingArtifact, refusal.to_string()))
    };
    let pattern = match laid.at(&from) {
        Some(entry) => entry.clone(),
        None => read(from.clone()).await?,
    };
    let Entry::File { text, mode } = pattern else {
        return Err(fault(Cause::MissingArtifact, format!("the template {from} is not there")));
    };
    let user = match laid.user.get(&to) {
        Some(user) => user.clone(),
        None => read(to.clone()).await?,
    };
    let base = laid.over.get(&to).cloned().unwrap_or_else(|| user.clone());
    if base != Entry::Absent {
        return Err(fault(Cause::Conflict, format!("{to} exists already; a template makes a new file")));
    }
    let filled =
        values.iter().fold(text.to_string(), |text, (key, value)| text.replace(&format!("{{{{{key}}}}}"), value));
    if let Some(left) = filled.split("{{").nth(1).and_then(|rest| rest.split("}}").next()) {
        return Err(fault(
            Cause::MissingArtifact,
            format!("the template asks for `{left}`, which the plan does not give"),
        ));
    }
    let after = Entry::File { text: Arc::from(filled), mode };
    Ok(Transformed {
        files: vec![TransformedFile { path: to, user, base, after, doubts: Vec::new() }],
        unread: Vec::new(),
        left: Vec::new(),
        measures: Vec::new(),
    })
}
