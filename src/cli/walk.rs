//! Going through the hunks one by one, in the manner of `git add -p`.
//!
//! Invariant: each answer is one decision, sent at once; a hunk that nobody answered for stays undecided. Absent:
//! editing a hunk and asking for another; their turn comes with the editor.

use super::render::{Paper, Tone, review};
use super::wait::unexpected;
use super::{Port, Terminal};
use crate::desk::{Query, ReviewHunk, ReviewView, View};
use crate::domain::change::{Flag, HunkState};
use crate::domain::ids::{HunkId, TaskId};
use crate::domain::task::action::{Action, Refusal, Side, Target, Which};
use std::collections::BTreeSet;

const HELP: &str = "\
y  accept this hunk
n  reject it; words after the n are the reason
a  accept this and all later ones of the file, but for uncertain ones
d  reject this and all later ones of the file; words after the d are the reason
m  where something else stands: keep mine, and leave the hunk out
t  there: take theirs; the hunk takes the place of exactly what stands there
s  skip it: decide later
q  quit; what is left stays undecided
?  this help";

/// Walks until the hunks, the input or the person's patience end. Gives the number of decisions.
///
/// # Errors
/// The engine's refusal.
pub async fn walk(port: &dyn Port, io: &mut Terminal, task: &TaskId, all: bool) -> Result<usize, Refusal> {
    let mut seen: BTreeSet<HunkId> = BTreeSet::new();
    let mut decisions = 0;
    loop {
        let view = hunks(port, task, all).await?;
        let open =
            |hunk: &&ReviewHunk| (hunk.pending || all && hunk.state == HunkState::Open) && !seen.contains(&hunk.id);
        let Some(hunk) = view.hunks.iter().find(open).cloned() else {
            return Ok(decisions);
        };
        let left = view.hunks.iter().filter(open).count();
        let mut paper = Paper::new();
        review::hunk(&mut paper, &hunk);
        let fits = hunk.state != HunkState::Touched;
        paper.put(
            Tone::Strong,
            &match fits {
                true => format!("accept this hunk? [y,n,a,d,s,q,?] ({left} left) "),
                false => format!("keep mine, or take theirs? [m,t,s,q,?] ({left} left) "),
            },
        );
        io.print(paper.text());
        let Some(line) = io.line().await else {
            io.print("\n");
            return Ok(decisions);
        };
        let (word, reason) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        let later = || -> Vec<HunkId> {
            let same = view.hunks.iter().filter(|other| other.path == hunk.path && other.pending);
            same.filter(|other| !seen.contains(&other.id)).map(|other| other.id.clone()).collect()
        };
        let which = Which::Task(task.clone());
        let (ids, action) = match word {
            "m" if !fits => (vec![hunk.id.clone()], Some(settle(which, &hunk, Side::Mine))),
            "t" if !fits && hunk.exact => (vec![hunk.id.clone()], Some(settle(which, &hunk, Side::Theirs))),
            "t" if !fits => {
                io.print("where it belongs is not known exactly: edit that place in an editor, then keep mine\n");
                continue;
            }
            "y" if fits => {
                let ids = vec![hunk.id.clone()];
                (ids.clone(), Some(Action::Accept { task: which, target: Target::Hunks(ids) }))
            }
            "n" if fits => {
                let ids = vec![hunk.id.clone()];
                (ids.clone(), Some(Action::Reject { task: which, target: Target::Hunks(ids), reason }))
            }
            "a" if fits => {
                let doubtful = |id: &HunkId| view.hunks.iter().any(|h| &h.id == id && is_uncertain(h));
                let mut ids = later();
                ids.retain(|id| id == &hunk.id || !doubtful(id));
                (ids.clone(), Some(Action::Accept { task: which, target: Target::Hunks(ids) }))
            }
            "d" if fits => {
                let ids = later();
                (ids.clone(), Some(Action::Reject { task: which, target: Target::Hunks(ids), reason }))
            }
            "s" => (vec![hunk.id.clone()], None),
            "q" => return Ok(decisions),
            _ => {
                io.print(&format!("{HELP}\n"));
                continue;
            }
        };
        if let Some(action) = action {
            port.act(io.actor.clone(), action).await?;
            decisions += ids.len();
        }
        seen.extend(ids);
    }
}

/// As it was shown: where something else stands by now, nothing is done.
fn settle(task: Which, hunk: &ReviewHunk, side: Side) -> Action {
    Action::Resolve { task, hunk: Some(hunk.id.clone()), side, shown: Some(hunk.shown.clone()) }
}

async fn hunks(port: &dyn Port, task: &TaskId, all: bool) -> Result<ReviewView, Refusal> {
    match port.ask(Query::Review { task: Which::Task(task.clone()), all }).await? {
        View::Review(view) => Ok(view),
        other => Err(unexpected(&other)),
    }
}

fn is_uncertain(hunk: &ReviewHunk) -> bool {
    hunk.flags.iter().any(|flag| matches!(flag, Flag::Uncertain(_)))
}
