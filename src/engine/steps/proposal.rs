//! From what a step made to its proposal: formatted, within its rights, within the contract, stored once.
//!
//! Invariant: a proposal is stored before its event; nothing that breaks the contract is proposed; what it is held
//! against is in the journal, so that going through the step again decides the same. Absent: judging by checks.

use super::Setting;
use crate::domain::change::{Entry, FileChange, Flag, Proposal, Stats, accept, enforce, formatting, hunks};
use crate::domain::ids::*;
use crate::domain::plan::{Measure, Step};
use crate::domain::policy::{measures, paths};
use crate::domain::task::action::GateAnswer;
use crate::domain::task::event::{Ask, Event, Intent};
use crate::engine::case::{self, Merged};
use crate::engine::work::{Came, Halt, Run};
use crate::ports::Source;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A file as a step leaves it.
pub(super) struct Made {
    /// Which.
    pub path: WorkspacePath,
    /// What the user has.
    pub user: Entry,
    /// What the step started from: the user's, with the hunks of earlier steps.
    pub base: Entry,
    /// What the step wants.
    pub after: Entry,
    /// 0-based lines of `after` that a rule was not certain about, each with its reason.
    pub doubts: Vec<(u32, String)>,
}

/// Why there is no proposal.
pub(super) enum Fault {
    /// The work must stop.
    Halt(Halt),
    /// The contract forbids it: for the agent to mend, or for the person to read.
    Breaks(Vec<String>),
    /// A stop rule was reached and the person said no.
    Stopped(String),
}

impl From<Halt> for Fault {
    fn from(halt: Halt) -> Self {
        Fault::Halt(halt)
    }
}

/// Formats what was made, holds it against the contract, and stores it as this step's proposal in force.
pub(super) async fn propose(
    run: &mut Run,
    step: &Step,
    setting: &Setting,
    generation: u32,
    made: Vec<Made>,
) -> Result<Proposal, Fault> {
    let Ground { merged, tokens } = ground(run, step, setting, generation).await?;
    let mut files = Vec::new();
    for mut made in made {
        made.after = format(run, &made).await?;
        if made.after == made.base {
            continue;
        }
        files.push(change(run, step, &merged, made));
    }
    let proposal = Proposal { step: step.id.clone(), generation, files };
    let together = together(&merged, &proposal);
    let broken = contract(run, setting, &together);
    if !broken.is_empty() {
        return Err(Fault::Breaks(broken));
    }
    stop_rules(run, setting, &together, tokens).await?;
    let hunks = u32::try_from(proposal.files.iter().map(|file| file.hunks.len()).sum::<usize>()).unwrap_or(u32::MAX);
    let lines = u32::try_from(Stats::of_all(&proposal.files).lines()).unwrap_or(u32::MAX);
    let text = serde_json::to_string(&proposal).map_err(|error| broken_store(&error))?;
    let hash = run.world.store.put_blob(text.into_bytes()).await.map_err(Halt::Store)?;
    let paths = proposal.files.iter().map(|file| file.path.clone()).collect();
    run.state(Event::Proposed { step: step.id.clone(), generation, proposal: hash, paths, hunks, lines }).await?;
    Ok(proposal)
}

/// What a proposal is held against besides the plan.
struct Ground {
    /// The other steps' change set.
    merged: Merged,
    /// What the task has used.
    tokens: u64,
}

/// The same as the journal has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Named {
    proposals: Vec<ContentHash>,
    tokens: u64,
}

/// The state of the task that this proposal meets. Other steps go on meanwhile and after a crash.
async fn ground(run: &mut Run, step: &Step, setting: &Setting, generation: u32) -> Result<Ground, Halt> {
    let request = ContentHash::of(format!("ground {} {generation}", step.id));
    let (merged, tokens, own) = (setting.merged.clone(), setting.tokens.clone(), step.id.clone());
    let came = run
        .effect(Intent::Snapshot, request, 0, |_| async move {
            let others = merged.borrow().without(&own);
            let name = |proposal: &Arc<Proposal>| others.names.get(&proposal.step).cloned();
            let proposals = others.proposals.iter().filter_map(name).collect();
            Ok((Named { proposals, tokens: *tokens.borrow() }, None))
        })
        .await?;
    let Came::Back(named) = came else { return Err(Halt::Diverged) };
    let now = setting.now();
    let held = |hash: &ContentHash| now.proposals.iter().find(|held| now.names.get(&held.step) == Some(hash)).cloned();
    let mut merged = Merged::default();
    for hash in &named.proposals {
        merged.proposals.push(match held(hash) {
            Some(held) => held,
            None => case::proposal(&run.world, hash).await.map_err(Halt::Store)?,
        });
    }
    Ok(Ground { merged, tokens: named.tokens })
}

fn broken_store(error: &serde_json::Error) -> Halt {
    Halt::Store(crate::ports::StoreFault::Broken(error.to_string()))
}

/// The formatter's changes, as far as they lie inside items that the step changed. A file that the formatter would have
/// changed before the step did is not kept by it, or not with these settings; then its opinion is nobody's wish.
async fn format(run: &mut Run, made: &Made) -> Result<Entry, Halt> {
    let Entry::File { text, mode } = &made.after else { return Ok(made.after.clone()) };
    if made.after.text() == made.base.text() {
        return Ok(made.after.clone());
    }
    let (path, world) = (made.path.clone(), run.world.clone());
    let request = ContentHash::of(format!("format {path} {text}"));
    let (given, base) = (text.clone(), made.base.clone());
    let came = run
        .effect(Intent::Format, request, 0, |_| async move {
            if let Entry::File { text: base, .. } = &base
                && world.arena.format(&path, base).await.is_none_or(|formatted| *formatted != **base)
            {
                return Ok((None, None));
            }
            Ok((world.arena.format(&path, &given).await, None))
        })
        .await?;
    let Came::Back(Some(formatted)) = came else { return Ok(made.after.clone()) };
    let outline = run.world.syntax.outline(&Source { path: made.path.clone(), text: Arc::clone(text) });
    let kept = formatting::within_changed(made.base.text(), text, &formatted, &outline);
    Ok(Entry::File { text: Arc::from(kept), mode: *mode })
}

fn change(run: &Run, step: &Step, merged: &Merged, made: Made) -> FileChange {
    let changes = merged.changes();
    let earlier = changes.get(&made.path).map(|earlier| as_far_as_it_holds(earlier, &made.user));
    let (path, user, after) = (made.path.clone(), &made.user, &made.after);
    let mut change = hunks::file_change_apart(path, user, after, &step.id, earlier.as_ref(), &made.doubts);
    flag_outside_focus(run, step, &mut change);
    flag_measures(&mut change);
    change
}

/// Of a change that was made from another text of the user only the comment's removal is known again.
fn as_far_as_it_holds(earlier: &FileChange, user: &Entry) -> FileChange {
    let mut earlier = earlier.clone();
    if earlier.before != *user {
        earlier.hunks.retain(|hunk| hunk.author.as_str() == hunks::GOAL);
    }
    earlier
}

/// A hunk outside the step's focus is shown as such (A3).
fn flag_outside_focus(run: &Run, step: &Step, change: &mut FileChange) {
    use crate::domain::change::HunkKind;
    use crate::domain::plan::StepKind;
    let StepKind::Edit(targets) = &step.kind else { return };
    let foci: Vec<&String> =
        targets.iter().filter(|t| paths::covers(&t.path, &change.path)).filter_map(|t| t.focus.as_ref()).collect();
    if foci.is_empty() {
        return;
    }
    let after = change.after.clone();
    let text: Arc<str> = Arc::from(after.text());
    let outline = run.world.syntax.outline(&Source { path: change.path.clone(), text });
    for hunk in change.hunks.iter_mut().filter(|hunk| hunk.author == step.id) {
        let HunkKind::Lines { new, .. } = &hunk.kind else { continue };
        let inside = foci.iter().any(|focus| {
            outline
                .named(focus)
                .any(|symbol| symbol.range.start <= new.start && new.end <= symbol.range.end.saturating_add(1))
        });
        if !inside {
            let named = foci.iter().map(|focus| format!("`{focus}`")).collect::<Vec<_>>().join(", ");
            hunk.flags.push(Flag::OutsideFocus(named));
        }
    }
}

/// A change of what a check measures by is marked (F8).
fn flag_measures(change: &mut FileChange) {
    let Some(why) = measures::measure(&change.path) else { return };
    for hunk in &mut change.hunks {
        hunk.flags.push(Flag::Measure(why.to_owned()));
    }
}

/// A path as it is without the task's steps, and with them.
struct Changed {
    path: WorkspacePath,
    before: Entry,
    after: Entry,
}

/// What the steps change together with this proposal in force. The comment that asked for the task goes with it, but no
/// step removes it: it counts for none.
fn together(merged: &Merged, proposal: &Proposal) -> Vec<Changed> {
    let mut changes = merged.changes();
    for file in &proposal.files {
        changes.insert(file.path.clone(), file.clone());
    }
    changes.into_values().map(of_steps).filter(|changed| changed.before != changed.after).collect()
}

fn of_steps(change: FileChange) -> Changed {
    let asked: Vec<HunkId> =
        change.hunks.iter().filter(|hunk| hunk.author.as_str() == hunks::GOAL).map(|hunk| hunk.id.clone()).collect();
    // A change's own hunks always fit the text it was made from.
    let before = accept::plan_write(&change, &change.before, &asked).unwrap_or_else(|_| change.before.clone());
    Changed { path: change.path, before, after: change.after }
}

fn count(together: &[Changed]) -> Stats {
    together.iter().fold(Stats::default(), |mut sum, changed| {
        sum += Stats::of(&changed.before, &changed.after);
        sum
    })
}

/// The `enforce` items of the contract that the change set breaks.
fn contract(run: &Run, setting: &Setting, together: &[Changed]) -> Vec<String> {
    let outline = |path: &WorkspacePath, entry: &Entry| {
        run.world.syntax.outline(&Source { path: path.clone(), text: Arc::from(entry.text()) })
    };
    let outlines: Vec<_> =
        together.iter().map(|file| (outline(&file.path, &file.before), outline(&file.path, &file.after))).collect();
    let changed: Vec<enforce::ChangedFile<'_>> = together
        .iter()
        .zip(&outlines)
        .map(|(file, (before, after))| enforce::ChangedFile {
            path: &file.path,
            before: &file.before,
            after: &file.after,
            symbols_before: Some(before),
            symbols_after: Some(after),
        })
        .collect();
    setting.plan.plan().contract.enforce.iter().flat_map(|rule| enforce::violations(rule, &changed)).collect()
}

/// A stop rule asks once for each amount that passes it.
async fn stop_rules(run: &mut Run, setting: &Setting, together: &[Changed], tokens: u64) -> Result<(), Fault> {
    let lines = count(together).lines();
    for rule in &setting.plan.plan().contract.stop {
        let (count, what) = match rule.measure {
            Measure::Files => (u64::try_from(together.len()).unwrap_or(u64::MAX), "files"),
            Measure::Lines => (u64::try_from(lines).unwrap_or(u64::MAX), "lines"),
            Measure::Tokens => (tokens, "tokens"),
            // Money has no price in this release, and time is a budget; both are shown as not enforced.
            Measure::Money | Measure::Time => continue,
        };
        if count <= rule.above {
            continue;
        }
        let reason =
            format!("the plan says to stop and ask above {} {what}; this would make {count}. Go on?", rule.above);
        let (answer, comment) = run.gate(Ask::Exceeds { reason: reason.clone() }).await?;
        if answer == GateAnswer::Deny {
            return Err(Fault::Stopped(format!("{reason} — no. {}", comment.unwrap_or_default())));
        }
    }
    Ok(())
}
