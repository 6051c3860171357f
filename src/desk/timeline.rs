//! What happened to a task, row by row: what, why, and what recovery was tried (H2).
//!
//! Invariant: made from the journal alone; every event is in a row of the full timeline, an effect's end in the row of
//! its beginning. Absent: payloads; the heads that events carry are enough to see what went on.

use super::Dossier;
use super::query::Mode;
use super::status::verdict;
use super::view::{Row, RowClass, TimelineView, by};
use super::words;
use crate::domain::change::Decision;
use crate::domain::ids::*;
use crate::domain::task::Journal;
use crate::domain::task::action::GateAnswer;
use crate::domain::task::event::*;
use crate::domain::task::facts;
use crate::domain::task::standing::asked;
use crate::domain::task::state::Gate;
use crate::domain::text::counted;
use std::collections::BTreeMap;

/// The rows of one mode.
pub fn view(dossier: &Dossier, mode: Mode) -> TimelineView {
    let rows = rows(&dossier.journal).into_iter().filter(|row| match (mode, row.class) {
        (Mode::Full, _) => true,
        (Mode::States, RowClass::State | RowClass::Both) => true,
        (Mode::Tools, RowClass::Tool | RowClass::Both) => true,
        (Mode::States, RowClass::Tool | RowClass::Note) | (Mode::Tools, RowClass::State | RowClass::Note) => false,
    });
    TimelineView {
        task: dossier.task.id.clone(),
        goal: dossier.task.goal.words.clone(),
        words: super::status::words_of(dossier),
        opened: dossier.task.opened,
        rows: rows.collect(),
    }
}

/// What earlier events tell about later ones.
#[derive(Default)]
struct Memory {
    /// Where the row of an effect's intent is.
    intents: BTreeMap<EffectId, usize>,
    /// What the model said last in each work.
    said: BTreeMap<Work, Said>,
}

/// The words a model gave beside its calls: that is why it calls a tool.
struct Said {
    words: String,
    /// It called for a command; otherwise a command that follows is the plan's own.
    command: bool,
}

fn rows(journal: &Journal) -> Vec<Row> {
    let mut memory = Memory::default();
    let mut rows: Vec<Row> = Vec::new();
    for recorded in journal.iter() {
        if let Event::Intended { effect, what, .. } = &recorded.event {
            memory.intents.insert(effect.clone(), rows.len());
            let why = memory.why(&effect.work, what);
            rows.push(Row { why, ..row(recorded, &effect.work, words::intent(what), RowClass::Tool) });
        } else if let Event::Settled { effect, result } = &recorded.event {
            let found_out = settle(&mut rows, &mut memory, recorded, effect, result);
            rows.extend(found_out);
        } else {
            rows.extend(plain(recorded));
        }
    }
    for index in memory.intents.into_values() {
        if let Some(row) = rows.get_mut(index) {
            row.what.push_str(" — no result");
        }
    }
    rows
}

/// What was decided on one hunk, in the order of the journal.
pub(super) fn decisions(dossier: &Dossier, hunk: &HunkId) -> Vec<Row> {
    let its = |recorded: &&Recorded| matches!(&recorded.event, Event::HunkDecided { hunk: of, .. } if of == hunk);
    dossier.journal.iter().filter(its).filter_map(plain).collect()
}

impl Memory {
    /// Why an effect was started: what the model said when it called for it.
    fn why(&self, work: &Work, what: &Intent) -> Option<String> {
        let said = self.said.get(work)?;
        let called = match what {
            Intent::Tool { .. } => true,
            Intent::Command { .. } => said.command,
            Intent::Model { .. }
            | Intent::Snapshot
            | Intent::Transform
            | Intent::Format
            | Intent::Outside { .. }
            | Intent::Write { .. } => false,
        };
        called.then(|| said.words.clone())
    }
}

fn row(recorded: &Recorded, work: &Work, what: String, class: RowClass) -> Row {
    Row { work: Some(work.to_string()), ..of_task(recorded, what, class) }
}

fn of_task(recorded: &Recorded, what: String, class: RowClass) -> Row {
    Row { seq: recorded.seq, at: recorded.at, took: None, work: None, what, why: None, recovery: None, class }
}

/// Puts a result into the row of its intent. What a later process found out about a lost effect is recovery and gets
/// a row of its own, at its own time.
fn settle(
    rows: &mut [Row],
    memory: &mut Memory,
    recorded: &Recorded,
    effect: &EffectId,
    result: &Settlement,
) -> Option<Row> {
    let index = memory.intents.remove(effect)?;
    let begun = rows.get_mut(index)?;
    let is_model = begun.what.starts_with("asks ");
    begun.took = Some(recorded.at.since(begun.at));
    let (ending, recovery) = match result {
        Settlement::Returned { result, usage } => {
            let used = usage.map(|usage| format!("{} tokens in, {} out", usage.input, usage.output));
            if is_model {
                match said(result) {
                    Some(said) => memory.said.insert(effect.work.clone(), said),
                    None => memory.said.remove(&effect.work),
                };
            }
            (used.map_or_else(String::new, |used| format!(" — answered, {used}")), None)
        }
        Settlement::Failed { cause, message, .. } => {
            (format!(" — failed ({}): {}", cause.words(), words::head(message)), None)
        }
        Settlement::Cancelled => (" — cancelled".to_owned(), None),
        Settlement::Lost => (" — lost with the process".to_owned(), Some("it may run again".to_owned())),
        Settlement::Happened { by } => {
            (" — in doubt after a crash".to_owned(), Some(format!("it had happened ({by}); not run again")))
        }
        Settlement::DidNotHappen { by } => {
            (" — in doubt after a crash".to_owned(), Some(format!("it had not happened ({by}); it runs again")))
        }
    };
    begun.what.push_str(&ending);
    let recovery = recovery?;
    begun.took = None;
    let what = format!("found again: {}", begun.what.split(" — ").next().unwrap_or_default());
    Some(Row { recovery: Some(recovery), ..row(recorded, &effect.work, what, RowClass::Tool) })
}

/// What a model said, where its result is short enough to stand in the event.
fn said(result: &Payload) -> Option<Said> {
    let reply: serde_json::Value = serde_json::from_str(result.head()).ok()?;
    let text = reply.get("text")?.as_str()?.trim();
    let calls = reply.get("calls").and_then(serde_json::Value::as_array).into_iter().flatten();
    let mut names = calls.filter_map(|call| call.get("name")?.as_str());
    let command = names.any(|name| name == "run" || name == "check");
    (!text.is_empty()).then(|| Said { words: words::head(text), command })
}

/// The row of an event that is no effect's.
fn plain(recorded: &Recorded) -> Option<Row> {
    use RowClass::{Both, Note, State};
    let task = |what: String| of_task(recorded, what, State);
    let step = |id: &StepId, what: String| row(recorded, &Work::Step(id.clone()), what, State);
    Some(match &recorded.event {
        Event::Intended { .. } | Event::Settled { .. } => return None,
        Event::Opened { goal, actor, .. } => task(format!("goal of {}: {}", by(actor), words::goal(goal))),
        Event::Revised { revision, author, reason, errors, .. } => Row {
            why: Some(reason.clone()).filter(|reason| !reason.is_empty()),
            ..row(recorded, &Work::Planning, revised(revision, author, *errors), State)
        },
        Event::Approved { revision, upto, steps, actor, .. } => task(match upto {
            Some(upto) => format!("{revision} approved up to {upto} by {}", by(actor)),
            None => format!("{revision} approved by {}, {}", by(actor), counted(steps.len(), "step")),
        }),
        Event::Began { work, attempt, because } => Row {
            recovery: because.as_ref().map(|because| format!("another attempt, because {because}")),
            ..row(recorded, work, format!("attempt {attempt} begins"), State)
        },
        Event::GateOpened { gate, work, ask } => row(recorded, work, opened(recorded, gate, work, ask), State),
        Event::GateDecided { gate, answer, comment, actor } => {
            Row { why: comment.clone(), ..task(format!("gate {gate}: {} by {}", answered(*answer), by(actor))) }
        }
        Event::Proposed { step: id, generation, paths, hunks, lines, .. } => {
            let again = if *generation > 1 { format!(", generation {generation}") } else { String::new() };
            let (hunks, files) = (counted(*hunks, "hunk"), counted(paths.len(), "file"));
            step(id, format!("proposes {hunks} in {files}, {}{again}", counted(*lines, "line")))
        }
        Event::Withdrawn { step: id, reason } => {
            Row { why: Some(reason.clone()), ..step(id, "its proposal is withdrawn".to_owned()) }
        }
        Event::Judged { work, check, verdict: judged, evidence, rung, remark, .. } => {
            let (passed, said) = verdict(judged);
            let remark =
                facts::beside(*rung, remark.as_deref()).map(|remark| format!(" ({remark})")).unwrap_or_default();
            Row {
                why: (!passed && !evidence.head().trim().is_empty()).then(|| words::head(evidence.head())),
                ..row(recorded, work, format!("check {} {said}{remark}", words::check(check)), Both)
            }
        }
        Event::BaselineRun { check, found, .. } => {
            let said = found.as_deref().unwrap_or("does not fail before any change");
            row(recorded, &Work::Baseline, format!("check {} {said}", words::check(check)), Both)
        }
        Event::Repairing { step: id, round } => Row {
            recovery: Some("the errors go back to the agent".to_owned()),
            ..step(id, format!("repair round {round}"))
        },
        Event::Ended { work, outcome, .. } => ended(recorded, work, outcome),
        Event::StepSet { step: id, to, actor, reason } => {
            let what = match to {
                HandSet::Skipped => "skipped",
                HandSet::DoneByHand => "marked done by hand",
            };
            Row { why: reason.clone(), ..step(id, format!("{what} by {}", by(actor))) }
        }
        Event::TakenOver { step: id, actor } => step(id, format!("taken over by {}", by(actor))),
        Event::RetryAsked { work, actor } => Row {
            work: Some(work.to_string()),
            recovery: Some("another attempt".to_owned()),
            ..of_task(recorded, format!("retry asked for by {}", by(actor)), Note)
        },
        Event::PlanAsked { words, from: _, actor } => {
            Row { why: words.clone(), ..of_task(recorded, format!("a plan asked for by {}", by(actor)), Note) }
        }
        Event::Paused { actor, cancelled: true } => task(format!("cancelled what ran and paused, by {}", by(actor))),
        Event::Paused { actor, cancelled: false } => task(format!("paused by {}", by(actor))),
        Event::Resumed { actor } => task(format!("resumed by {}", by(actor))),
        Event::Said { words, step: of, actor } => Row {
            work: of.as_ref().map(ToString::to_string),
            ..of_task(recorded, format!("{} says: {words}", by(actor)), Note)
        },
        Event::Strayed { digest } => Row {
            why: Some(
                match digest {
                    Some(_) => "its meaning is not what was approved; no new step starts",
                    None => "it does not compile; no new step starts",
                }
                .to_owned(),
            ),
            ..task("the plan document was edited".to_owned())
        },
        Event::Restored => task("the plan document says again what was approved".to_owned()),
        Event::Offered { revision } => task(format!("{revision} is offered; an editor has the document open")),
        Event::OfferEnded { revision, taken: true, .. } => task(format!("the document says {revision}")),
        Event::OfferEnded { revision, taken: false, actor } => {
            let who = actor.as_ref().map(|actor| format!(" by {}", by(actor))).unwrap_or_default();
            task(format!("{revision} declined{who}"))
        }
        Event::HunkDecided { hunk, path, decision, stood, actor, .. } => {
            let (what, why) = match decision {
                Decision::Accept if stood.is_some() => ("accepted in place of what stood there", None),
                Decision::Accept => ("accepted", None),
                Decision::Reject(reason) => ("rejected", reason.clone()),
                Decision::Undo => ("taken back", None),
            };
            Row { why, ..row(recorded, &Work::Review, format!("{hunk} in {path} {what} by {}", by(actor)), Note) }
        }
        Event::Closed { ending } => closed(recorded, ending),
    })
}

fn revised(revision: &RevisionRef, author: &Author, errors: u32) -> String {
    let author = match author {
        Author::Planner => "the planner".to_owned(),
        Author::Skeleton => "nobody: a skeleton to be filled".to_owned(),
        Author::Action => "the action itself".to_owned(),
        Author::Person(actor) => by(actor),
    };
    match errors {
        0 => format!("plan {revision} by {author}"),
        1 => format!("plan {revision} by {author}, with 1 error"),
        more => format!("plan {revision} by {author}, with {more} errors"),
    }
}

fn opened(recorded: &Recorded, id: &GateId, work: &Work, ask: &Ask) -> String {
    let gate = Gate {
        id: id.clone(),
        work: work.clone(),
        attempt: 0,
        ask: ask.clone(),
        at: recorded.at,
        seq: recorded.seq,
        decided: None,
        spent: false,
    };
    format!("gate {id} — {}", asked(&gate))
}

fn answered(answer: GateAnswer) -> &'static str {
    match answer {
        GateAnswer::Allow => "allowed",
        GateAnswer::AllowForPlan => "allowed for this plan",
        GateAnswer::Deny => "denied",
        GateAnswer::Happened => "said to have happened",
    }
}

fn ended(recorded: &Recorded, work: &Work, outcome: &Outcome) -> Row {
    let (what, why) = match outcome {
        Outcome::Done { summary, .. } if *work == Work::Baseline => ("done".to_owned(), words::head(summary.head())),
        Outcome::Done { verified, summary } => {
            (if *verified { "done (verified)" } else { "done (not verified)" }.to_owned(), words::head(summary.head()))
        }
        Outcome::Failed { cause, message, .. } => (format!("failed ({})", cause.words()), message.clone()),
        Outcome::Blocked { cause, message } => (format!("blocked ({})", cause.words()), message.clone()),
        Outcome::Interrupted => ("interrupted".to_owned(), "it goes on where its journal ends".to_owned()),
    };
    Row { why: Some(why).filter(|why| !why.is_empty()), ..row(recorded, work, what, RowClass::State) }
}

fn closed(recorded: &Recorded, ending: &Ending) -> Row {
    let (what, why) = match ending {
        Ending::Verified => {
            ("done (verified)".to_owned(), Some("the acceptance checks pass on what was kept".to_owned()))
        }
        Ending::NotVerified { why } => ("done (not verified)".to_owned(), Some(why.clone())),
        Ending::CheckFails { why } => ("done (check fails on what was kept)".to_owned(), Some(why.clone())),
        Ending::NothingKept => ("done (nothing kept)".to_owned(), Some("every hunk was rejected".to_owned())),
        Ending::Failed { why } => ("failed".to_owned(), Some(why.clone())),
        Ending::Abandoned { actor } => (format!("abandoned by {}", by(actor)), None),
    };
    Row { why, ..of_task(recorded, what, RowClass::State) }
}

/// Since the opening: minutes, seconds and tenths; from an hour on hours too.
pub fn clock(millis: u64) -> String {
    let (hours, minutes) = (millis / 3_600_000, millis / 60_000 % 60);
    let (seconds, tenths) = (millis / 1_000 % 60, millis / 100 % 10);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}.{tenths}")
    } else {
        format!("{minutes}:{seconds:02}.{tenths}")
    }
}

/// How long something took.
pub fn span(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis / 100 % 10),
        _ => clock(millis),
    }
}
