//! What a journal says beside how often its process died: the same for a task that ran in one go and for one that was
//! killed on the way.
//!
//! Left out, because a crash may change them: times, numbers and ids (of events, attempts, effects, gates), the
//! person's `Resumed`, what an intent asked for in hashes that take in the trace, and the recovery itself — an intent
//! that was lost or did not happen with the permission it used up, the gate that asked what had happened, a repeated
//! decision on a hunk. One loss is told as its opposite: the result of a command that is known only by a probe's or a
//! person's word counts as "it happened", and the summary that would have quoted its output is not compared.
//!
//! Everything else is kept in order for each work: what was begun and how it ended, each model answer and tool result,
//! every command and write that took effect, facts, gates with their answers. Works are compared apart, because steps
//! without an order between them may come in either.
//!
//! Invariant: pure. Absent: the files; a test compares those itself.

use crate::domain::ids::{EffectId, GateId, HunkId, Work};
use crate::domain::plan::Command;
use crate::domain::task::action::GateAnswer;
use crate::domain::task::event::*;
use std::collections::BTreeMap;

/// The projection as text, one thing a line.
pub fn projection<'a>(journal: impl IntoIterator<Item = &'a Event>) -> String {
    let mut fold = Fold::default();
    for event in journal {
        fold.take(event);
    }
    fold.render()
}

#[derive(Default)]
struct Fold {
    lines: BTreeMap<String, Vec<Line>>,
    intents: BTreeMap<EffectId, Intent>,
    /// Gates with whose they are and what they ask.
    gates: BTreeMap<GateId, (Work, Ask)>,
    decisions: BTreeMap<HunkId, String>,
    /// Works with a command whose output a crash may lose.
    losing: Vec<Work>,
}

struct Line {
    text: String,
    effect: Option<EffectId>,
    /// The command that a person's "once" permits here.
    permits: Option<Command>,
}

impl Fold {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Opened { goal, .. } => self.say("task", format!("opened: {}", goal.words)),
            Event::Revised { revision, errors, .. } => self.say("task", format!("revised {revision}, {errors} errors")),
            Event::PlanAsked { words, from, .. } => self.say("task", format!("plan asked {words:?} {from:?}")),
            Event::Approved { revision, upto, .. } => self.say("task", format!("approved {revision} {upto:?}")),
            Event::Began { work, because, .. } => self.say(work, format!("began {because:?}")),
            Event::Intended { effect, what, .. } => self.intended(effect, what),
            Event::Settled { effect, result } => self.settled(effect, result),
            Event::GateOpened { gate, work, ask } => {
                self.gates.insert(gate.clone(), (work.clone(), ask.clone()));
            }
            Event::GateDecided { gate, answer, comment, .. } => self.decided(gate, *answer, comment.as_deref()),
            Event::Proposed { step, generation, proposal, hunks, lines, .. } => self.say(
                Work::Step(step.clone()),
                format!("proposed {generation}: {hunks} hunks, {lines} lines, {}", proposal.short()),
            ),
            Event::Withdrawn { step, reason } => self.say(Work::Step(step.clone()), format!("withdrawn: {reason}")),
            Event::Judged { work, check, verdict, evidence, view, rung, remark } => {
                let remark = remark.as_ref().map(|remark| format!(" ({remark})")).unwrap_or_default();
                let on = format!("{} {rung:?} {:?}", view.short(), text(evidence));
                self.say(work, format!("judged {check:?}: {verdict:?} on {on}{remark}"));
            }
            Event::BaselineRun { check, found, view, .. } => {
                self.say(Work::Baseline, format!("before any change {check:?}: {found:?} on {}", view.short()));
            }
            Event::Repairing { step, round } => self.say(Work::Step(step.clone()), format!("repair round {round}")),
            Event::Ended { work, outcome, .. } => {
                let outcome = match outcome {
                    Outcome::Done { verified, .. } if self.losing.contains(work) => format!("done {verified}"),
                    Outcome::Done { verified, summary } => format!("done {verified}: {}", text(summary)),
                    Outcome::Failed { .. } | Outcome::Blocked { .. } | Outcome::Interrupted => format!("{outcome:?}"),
                };
                self.say(work, outcome);
            }
            Event::StepSet { step, to, .. } => self.say(Work::Step(step.clone()), format!("set {to:?}")),
            Event::TakenOver { step, .. } => self.say(Work::Step(step.clone()), "taken over".to_owned()),
            Event::RetryAsked { work, .. } => self.say(work, "retry asked".to_owned()),
            Event::Paused { cancelled, .. } => self.say("task", format!("paused, cancelled: {cancelled}")),
            Event::Resumed { .. } => {}
            Event::Said { words, step, .. } => self.say("task", format!("said to {step:?}: {words}")),
            Event::Strayed { .. } => self.say("task", "strayed".to_owned()),
            Event::Restored => self.say("task", "restored".to_owned()),
            Event::Offered { .. } => self.say("task", "offered".to_owned()),
            Event::OfferEnded { taken, .. } => self.say("task", format!("offer ended, taken: {taken}")),
            Event::HunkDecided { hunk, path, shown, decision, .. } => {
                self.decisions.insert(hunk.clone(), format!("{hunk} in {path} as {}: {decision:?}", shown.short()));
            }
            Event::Closed { ending } => self.say("task", format!("closed: {ending:?}")),
        }
    }

    fn say(&mut self, of: impl ToString, text: String) {
        self.push(of, Line { text, effect: None, permits: None });
    }

    fn push(&mut self, of: impl ToString, line: Line) {
        self.lines.entry(of.to_string()).or_default().push(line);
    }

    fn intended(&mut self, effect: &EffectId, what: &Intent) {
        let text = match what {
            // The answer says which model gave it; a name that the server chooses is not known before the first one.
            Intent::Model { .. } => "asked a model".to_owned(),
            Intent::Tool { tool, arguments } => format!("tool {tool} {arguments}"),
            Intent::Snapshot => "looked".to_owned(),
            Intent::Transform => "transformed".to_owned(),
            Intent::Format => "formatted".to_owned(),
            Intent::Command { command, repeatable } => format!("ran {:?}, repeatable: {repeatable}", command.argv),
            Intent::Outside { command, .. } => format!("ran {:?} outside", command.argv),
            Intent::Write { path, before, after, .. } => format!("wrote {path} {} → {}", before.short(), after.short()),
        };
        if matches!(what, Intent::Outside { .. } | Intent::Command { repeatable: false, .. }) {
            self.losing.push(effect.work.clone());
        }
        self.intents.insert(effect.clone(), what.clone());
        self.push(&effect.work, Line { text, effect: Some(effect.clone()), permits: None });
    }

    fn settled(&mut self, effect: &EffectId, result: &Settlement) {
        let lines = self.lines.entry(effect.work.to_string()).or_default();
        let Some(at) = lines.iter().position(|line| line.effect.as_ref() == Some(effect)) else { return };
        let intent = self.intents.get(effect);
        match result {
            Settlement::Lost | Settlement::DidNotHappen { .. } => {
                lines.remove(at);
                let command = match intent {
                    Some(Intent::Command { command, .. } | Intent::Outside { command, .. }) => command,
                    Some(_) | None => return,
                };
                // The permission that this intent used up went with it.
                if let Some(used) = lines.iter().rposition(|line| line.permits.as_ref() == Some(command)) {
                    lines.remove(used);
                }
            }
            Settlement::Returned { result, .. } => {
                let told = match intent {
                    Some(Intent::Model { .. } | Intent::Tool { .. } | Intent::Transform | Intent::Format) => {
                        format!(": {}", text(result))
                    }
                    // Their results stand in the facts and endings that follow from them.
                    Some(_) | None => String::new(),
                };
                if let Some(line) = lines.get_mut(at) {
                    line.text.push_str(&told);
                }
            }
            Settlement::Happened { .. } => {}
            Settlement::Failed { .. } | Settlement::Cancelled => {
                if let Some(line) = lines.get_mut(at) {
                    line.text.push_str(&format!(": {result:?}"));
                }
            }
        }
    }

    fn decided(&mut self, gate: &GateId, answer: GateAnswer, comment: Option<&str>) {
        let Some((work, ask)) = self.gates.get(gate).cloned() else { return };
        let comment = comment.map(|comment| format!(" ({comment})")).unwrap_or_default();
        let once = answer == GateAnswer::Allow;
        let (text, permits) = match &ask {
            Ask::Command { command, .. } => {
                (format!("may {:?} run? {answer:?}{comment}", command.argv), once.then(|| command.clone()))
            }
            Ask::Ambiguous { effect, command } => {
                if !once {
                    return;
                }
                // "It did not happen, run it again": the lost intent goes, and this word stands for the permission
                // that went with it.
                let said = Settlement::DidNotHappen { by: String::new() };
                self.settled(effect, &said);
                (format!("may {:?} run? {answer:?}{comment}", command.argv), Some(command.clone()))
            }
            Ask::Person { .. }
            | Ask::Changed { .. }
            | Ask::Exceeds { .. }
            | Ask::Failed { .. }
            | Ask::Question { .. } => (format!("{ask:?} {answer:?}{comment}"), None),
        };
        self.push(work, Line { text, effect: None, permits });
    }

    fn render(&self) -> String {
        let mut out = String::new();
        for (of, lines) in &self.lines {
            for line in lines {
                out.push_str(&format!("{of}: {}\n", line.text));
            }
        }
        for line in self.decisions.values() {
            out.push_str(&format!("hunk: {line}\n"));
        }
        out
    }
}

/// A payload as far as it can be compared without the store: short ones by their text, long ones by their hash.
fn text(payload: &Payload) -> String {
    match payload {
        Payload::Inline(text) => text.clone(),
        Payload::Blob { hash, bytes, .. } => format!("{} ({bytes} bytes)", hash.short()),
    }
}
