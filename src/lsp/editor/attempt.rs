//! One decision in one document, until its text shows it.
//!
//! **Invariant:** the edit is made for the text of the moment and nothing is sent on top of an edit whose fate is not
//! known. An edit whose text was there for a moment has landed, whoever changed that text next. **Absent:** the protocol
//! (`Wire` has it).

use super::heard::Heard;
use super::{Asked, Said, Wire};
use crate::domain::change::{Conflict, FileChange, HunkKind, HunkState, edits_at};
use crate::domain::ids::{HunkId, WorkspacePath};
use crate::domain::problem::Replacement;
use crate::domain::text;
use crate::ports::{Document, DocumentChange, Documents, EditorFault, EditorOrder, Standings};
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};

/// Edits sent for one decision. A version that is stale three times in a row is one that somebody types into.
const ATTEMPTS: usize = 3;

/// How long what is waited for.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// For an answer, and after it for the text. Neovim tells of a change up to 150 ms after it answered.
    pub seen: Duration,
    /// After the last change of the text, until what it shows is believed: a client that sends its changes one by one
    /// may have the user's before ours.
    pub quiet: Duration,
    /// For the answer to an edit that was given up, before the next may be sent.
    pub stuck: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { seen: Duration::from_secs(2), quiet: Duration::from_millis(400), stuck: Duration::from_secs(30) }
    }
}

/// The edits of one document.
#[derive(Default)]
pub(super) struct Attempts {
    /// Also where whoever ordered it waits no more.
    stuck: Option<Stuck>,
}

/// An edit that is not answered yet.
struct Stuck {
    answer: oneshot::Receiver<Said>,
    /// When it was sent.
    since: Instant,
    order: EditorOrder,
    /// The text that it makes.
    expected: String,
}

impl Stuck {
    /// It was made, whether that is ever answered or not.
    fn is_shown(&self, documents: &dyn Documents, heard: &Heard) -> bool {
        standings(documents, heard, &self.order.change)
            .is_ok_and(|now| *now.document.text == *self.expected || shown(&self.order, &now))
    }
}

/// What became of one attempt.
enum Outcome {
    Shown,
    /// The text moved under the edit, which did not reach it.
    Again,
    Fault(EditorFault),
}

impl Attempts {
    pub(super) async fn carry_out(
        &mut self,
        documents: &dyn Documents,
        heard: &Heard,
        wire: &dyn Wire,
        order: &EditorOrder,
        patience: Patience,
    ) -> Result<(), EditorFault> {
        let path = &order.change.path;
        let _record = heard.record(path);
        for _ in 0..ATTEMPTS {
            self.unstick(documents, heard, wire, path, patience).await?;
            let mut events = heard.begin(path);
            events.mark_unchanged();
            let before = standings(documents, heard, &order.change)?;
            let edits = edits(order, &before)?;
            if edits.is_empty() {
                return Ok(());
            }
            let document = before.document.clone();
            let Ok(expected) = text::apply(&document.text, &edits) else {
                return Err(EditorFault::Conflict(overlap(order)));
            };
            if order.until.is_some_and(|until| SystemTime::now() >= until) {
                // Whoever decided has been told so, and may have decided otherwise.
                break;
            }
            let (path, sent) = (path.clone(), edits.clone());
            let asked = Asked { path, document: document.clone(), edits: sent, label: order.label.clone() };
            documents.announce(heard.session, order);
            let (answer, since) = (wire.ask(asked), Instant::now());
            self.stuck = Some(Stuck { answer, since, order: order.clone(), expected: expected.clone() });
            let flight = Flight { documents, heard, wire, order, document, edits, expected, patience };
            match flight.land(&mut events, &mut self.stuck).await {
                Outcome::Shown => {
                    self.stuck = None;
                    return Ok(());
                }
                Outcome::Again => {}
                Outcome::Fault(fault) => return Err(fault),
            }
        }
        Err(EditorFault::NotSeen { path: path.clone() })
    }

    /// An edit that was sent and never answered may still be made: Neovim holds it back while it shows a prompt. Whoever
    /// decides again is told so at once, except where the text shows that it was made.
    async fn unstick(
        &mut self,
        documents: &dyn Documents,
        heard: &Heard,
        wire: &dyn Wire,
        path: &WorkspacePath,
        patience: Patience,
    ) -> Result<(), EditorFault> {
        let Some(mut stuck) = self.stuck.take() else { return Ok(()) };
        if stuck.is_shown(documents, heard) {
            return Ok(());
        }
        let waits = matches!(stuck.answer.try_recv(), Err(TryRecvError::Empty));
        if waits && stuck.since.elapsed() < patience.stuck {
            let fault = unanswered(wire, path, stuck.since, patience);
            self.stuck = Some(stuck);
            return Err(fault);
        }
        // it is answered now; its change may be told a moment later
        let mut events = heard.begin(path);
        let quiet = Instant::now() + patience.quiet;
        while !stuck.is_shown(documents, heard)
            && timeout_at(quiet, events.changed()).await.is_ok_and(|changed| changed.is_ok())
        {}
        Ok(())
    }
}

fn unanswered(wire: &dyn Wire, path: &WorkspacePath, since: Instant, patience: Patience) -> EditorFault {
    let waited = since.elapsed();
    let left = patience.stuck.saturating_sub(waited).as_secs().max(1);
    EditorFault::Unanswered { path: path.clone(), editor: wire.name(), waited: waited.as_secs(), left }
}

fn standings(documents: &dyn Documents, heard: &Heard, change: &FileChange) -> Result<Standings, EditorFault> {
    documents.standings_of(heard.session, change).ok_or_else(|| EditorFault::NotOpen(change.path.clone()))
}

/// Two hunks stand in one place: the text is not what either was made for.
fn overlap(order: &EditorOrder) -> Conflict {
    let hunk = order.put.iter().chain(&order.take).next().cloned().unwrap_or_else(|| HunkId::new(""));
    Conflict::Touched { path: order.change.path.clone(), hunk, found: String::new() }
}

fn edits(order: &EditorOrder, now: &Standings) -> Result<Vec<Replacement>, EditorFault> {
    let text = &now.document.text;
    let unmarked = order.change.as_shown(text);
    let change = unmarked.as_ref().unwrap_or(&order.change);
    edits_at(change, text, &now.hunks, &order.put, &order.take).map_err(EditorFault::Conflict)
}

/// Every hunk of the order that a document can show is as decided.
fn shown(order: &EditorOrder, now: &Standings) -> bool {
    order.change.hunks.iter().zip(&now.hunks).all(|(hunk, standing)| match hunk.kind {
        HunkKind::Lines { .. } | HunkKind::Create => match wanted(order, &hunk.id) {
            Some(state) => standing.state == state,
            None => true,
        },
        HunkKind::Delete | HunkKind::Mode => true,
    })
}

fn wanted(order: &EditorOrder, id: &HunkId) -> Option<HunkState> {
    if order.put.contains(id) { Some(HunkState::Accepted) } else { order.take.contains(id).then_some(HunkState::Open) }
}

/// What the client says to the edit on its way.
async fn answered(stuck: &mut Option<Stuck>) -> Said {
    match stuck {
        Some(stuck) => (&mut stuck.answer).await.unwrap_or(Said::Nothing),
        None => std::future::pending().await,
    }
}

/// An edit on its way.
struct Flight<'a> {
    documents: &'a dyn Documents,
    heard: &'a Heard,
    wire: &'a dyn Wire,
    order: &'a EditorOrder,
    /// What it was made for.
    document: Document,
    edits: Vec<Replacement>,
    /// What they make of it.
    expected: String,
    patience: Patience,
}

impl Flight<'_> {
    /// `stuck` is this edit, until it is answered.
    async fn land(&self, events: &mut watch::Receiver<u64>, stuck: &mut Option<Stuck>) -> Outcome {
        let sent = Instant::now();
        let mut said: Option<Said> = None;
        let mut end = sent + self.patience.seen;
        let mut quiet = end;
        loop {
            let now = match standings(self.documents, self.heard, &self.order.change) {
                Ok(now) => now,
                Err(fault) => return Outcome::Fault(fault),
            };
            if *now.document.text == *self.expected || self.landed() {
                return Outcome::Shown;
            }
            if shown(self.order, &now) {
                let path = self.order.change.path.clone();
                let altered = self.altered(&now.document.text);
                return if altered { Outcome::Fault(EditorFault::Misapplied { path }) } else { Outcome::Shown };
            }
            let moved = now.document != self.document;
            let until = match &said {
                Some(Said::Applied | Said::Nothing) if moved => quiet.min(end),
                Some(Said::Refused(_)) => quiet.min(end),
                Some(Said::Applied | Said::Nothing) | None => end,
            };
            tokio::select! {
                found = answered(stuck), if said.is_none() => {
                    *stuck = None;
                    said = Some(found);
                    end = Instant::now() + self.patience.seen;
                    quiet = Instant::now() + self.patience.quiet;
                }
                changed = events.changed() => {
                    if changed.is_err() {
                        return Outcome::Fault(EditorFault::NotOpen(self.order.change.path.clone()));
                    }
                    quiet = Instant::now() + self.patience.quiet;
                }
                () = tokio::time::sleep_until(until) => return self.verdict(said, moved, &now, sent),
            }
        }
    }

    /// The text does not show it, and nothing more is waited for.
    fn verdict(&self, said: Option<Said>, moved: bool, now: &Standings, sent: Instant) -> Outcome {
        let path = self.order.change.path.clone();
        if moved && self.misplaced(now) {
            return Outcome::Fault(EditorFault::Misapplied { path });
        }
        // Changed, and changed back: whoever undoes an edit the moment it came is not given it again.
        if moved && now.document.text == self.document.text && now.document.version != self.document.version {
            return match self.heard.put(&path).is_empty() {
                true => Outcome::Fault(EditorFault::NotSeen { path }),
                false => Outcome::Shown,
            };
        }
        match said {
            // on top of an edit that may still be made nothing is sent
            None => Outcome::Fault(unanswered(self.wire, &path, sent, self.patience)),
            Some(_) if moved => match edits(self.order, now) {
                Ok(_) => Outcome::Again,
                Err(fault) => Outcome::Fault(fault),
            },
            Some(Said::Refused(reason)) => Outcome::Fault(EditorFault::Refused { path, reason }),
            Some(Said::Applied | Said::Nothing) => Outcome::Fault(EditorFault::NotSeen { path }),
        }
    }

    /// At some point of what the client told, the text was what the edit makes of it. Whatever came after is somebody
    /// else's: the user's, or a formatter's that ran at the save.
    fn landed(&self) -> bool {
        let mut text = self.document.text.to_string();
        let told = self.heard.since(&self.order.change.path);
        // what was told before the edit was made up is in the text already
        let later = told.into_iter().filter(|told| told.version > self.document.version);
        for change in later.flat_map(|told| told.changes) {
            match change {
                DocumentChange::Edit(edit) if text.get(edit.range.clone()).is_some() => {
                    text.replace_range(edit.range, &edit.text);
                }
                DocumentChange::Edit(_) => return false,
                DocumentChange::Whole(whole) => text = whole,
            }
            if text == self.expected {
                return true;
            }
        }
        false
    }

    /// The change came alone, and with it bytes outside of the hunks that nobody types in the same moment: white space
    /// put in or taken out all over, or an edit beside ours. What was typed meanwhile is one edit with ours in it.
    fn altered(&self, text: &str) -> bool {
        let path = &self.order.change.path;
        let (events, put) = (self.heard.since(path).len(), self.heard.put(path));
        let blank = || {
            let letters = |text: &'_ str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            letters(text) == letters(&self.expected)
        };
        let ours = |text: &String| self.edits.iter().any(|edit| edit.text == *text);
        let beside = || {
            put.len() > self.edits.len()
                && self.edits.iter().all(|edit| put.contains(&edit.text))
                && !put.iter().all(ours)
        };
        events == 1 && (beside() || blank())
    }

    /// What was asked for came in, and is not where it belongs. Lines of braces come in with much else, and say nothing.
    fn misplaced(&self, now: &Standings) -> bool {
        let put = self.heard.put(&self.order.change.path);
        self.order.change.hunks.iter().zip(&now.hunks).any(|(hunk, standing)| {
            let side = match wanted(self.order, &hunk.id) {
                Some(HunkState::Accepted) => self.order.change.new_text(hunk),
                Some(HunkState::Open) => self.order.change.old_text(hunk),
                Some(HunkState::Touched) | None => return false,
            };
            let side = side.trim();
            let tells = side.chars().filter(|c| c.is_alphanumeric()).take(3).count() == 3;
            let right = wanted(self.order, &hunk.id) == Some(standing.state);
            tells && !right && put.iter().any(|put| put.contains(side))
        })
    }
}
