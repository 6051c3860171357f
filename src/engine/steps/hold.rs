//! What an approved step rests on, compared with what stands there when it starts (A10).
//!
//! Invariant: a step whose named symbol changed since the approval does not start until a person says so; changes that
//! the task itself made by accepted hunks do not count. Absent: other changes of what it reads; those are read again.

use super::Setting;
use crate::domain::change::{Entry, HunkState, accept, spot, unified};
use crate::domain::ids::*;
use crate::domain::plan::{Rule, Step, StepKind};
use crate::domain::symbols::{Symbol, SymbolKind};
use crate::domain::task::action::GateAnswer;
use crate::domain::task::event::{Ask, Baseline, Cause, Intent, Outcome};
use crate::engine::case::Merged;
use crate::engine::work::{Came, Halt, Run};
use crate::engine::world::World;
use crate::ports::Source;
use std::sync::Arc;

/// Holds the step at a gate if need be. `Some` = it ends here.
pub(super) async fn hold(run: &mut Run, step: &Step, setting: &Setting) -> Result<Option<Outcome>, Halt> {
    let rests_on: Vec<Baseline> = match &run.task.approval {
        Some(approval) => approval.baselines.iter().filter(|baseline| concerns(step, baseline)).cloned().collect(),
        None => Vec::new(),
    };
    if rests_on.is_empty() {
        return Ok(None);
    }
    let request = ContentHash::of(format!("hold {rests_on:?}"));
    let (world, merged) = (run.world.clone(), setting.now());
    let came =
        run.effect(Intent::Snapshot, request, 0, |_| async move {
            Ok((difference(&world, &merged, &rests_on).await, None))
        })
        .await?;
    let difference = match came {
        Came::Back(text) => text,
        Came::Failed(fault) => Some(fault.message),
        Came::Happened(_) => None,
    };
    let Some(difference) = difference else { return Ok(None) };
    let difference = run.payload(difference).await?;
    let (answer, comment) = run.gate(Ask::Changed { difference }).await?;
    Ok(match answer {
        GateAnswer::Allow | GateAnswer::AllowForPlan | GateAnswer::Happened => None,
        GateAnswer::Deny => Some(Outcome::Blocked {
            cause: Cause::Conflict,
            message: format!(
                "what the step rests on has changed since the approval, and going on was refused{}",
                comment.map(|comment| format!(": {comment}")).unwrap_or_default()
            ),
        }),
    })
}

/// Named symbols hold; whole files are read again.
fn concerns(step: &Step, baseline: &Baseline) -> bool {
    let Some(symbol) = &baseline.symbol else { return false };
    match &step.kind {
        StepKind::Edit(targets) => {
            targets.iter().any(|target| target.path == baseline.path.as_str() && target.focus.as_ref() == Some(symbol))
        }
        StepKind::Transform(Rule::Rename { symbol: named, .. }) => {
            named == symbol
                || named.split_once('#').is_some_and(|(path, name)| path == baseline.path.as_str() && name == symbol)
        }
        StepKind::Transform(Rule::Rewrite { .. } | Rule::Template { .. })
        | StepKind::Explore(_)
        | StepKind::Run(_)
        | StepKind::Fetch(_)
        | StepKind::Check(_)
        | StepKind::Ask(_)
        | StepKind::Recipe(_) => false,
    }
}

/// The differences as a diff, or nothing.
async fn difference(world: &World, merged: &Merged, rests_on: &[Baseline]) -> Option<String> {
    let mut all = String::new();
    for baseline in rests_on {
        let Some(symbol) = &baseline.symbol else { continue };
        let entry = match world.workspace.read(&baseline.path).await {
            Ok(entry) => without_own(merged, &baseline.path, entry),
            Err(refusal) => {
                all.push_str(&format!("{refusal}\n"));
                continue;
            }
        };
        let now = item(world, &baseline.path, &entry, symbol);
        if now.as_ref().map(ContentHash::of).as_ref() == Some(&baseline.content) {
            continue;
        }
        let before = match world.store.blob(&baseline.content).await {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => String::new(),
        };
        let title = format!("{} `{symbol}`, as approved and as it is now:\n", baseline.path);
        all.push_str(&title);
        all.push_str(&match now {
            Some(now) => unified::diff(&before, &now, 3),
            None => format!("`{symbol}` is no longer there\n"),
        });
    }
    (!all.is_empty()).then_some(all)
}

/// The user's text without the hunks of this task that they accepted.
fn without_own(merged: &Merged, path: &WorkspacePath, entry: Entry) -> Entry {
    let changes = merged.changes();
    let Some(change) = changes.get(path) else { return entry };
    let accepted: Vec<HunkId> = spot::derive(change, &entry)
        .into_iter()
        .filter(|standing| standing.state == HunkState::Accepted)
        .map(|standing| standing.id)
        .collect();
    accept::plan_undo(change, &entry, &accepted).unwrap_or(entry)
}

/// The text of the definition that goes by this name; of twins under `cfg` all of them. A type's `impl` blocks go by its
/// name too and are not its definition.
pub(in crate::engine) fn item(world: &World, path: &WorkspacePath, entry: &Entry, symbol: &str) -> Option<String> {
    let Entry::File { text, .. } = entry else { return None };
    let outline = world.syntax.outline(&Source { path: path.clone(), text: Arc::clone(text) });
    let defines = |found: &&Symbol| found.kind != SymbolKind::Impl;
    let texts: Vec<&str> =
        outline.named(symbol).filter(defines).filter_map(|found| text.get(found.range.clone())).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
