//! One bar of progress a task that is at work.
//!
//! Invariant: a bar begins when something of the task is really under way, and ends when it waits for a person, is over,
//! or nothing was under way for [`LINGER`]: a task that was running when its host died shows no bar until somebody
//! carries it on. What a step does is reported at most ten times a second, its end at once.
//! Absent: tokens and sending.

use super::words;
use crate::desk::{Desk, Dossier};
use crate::domain::ids::TaskId;
use crate::domain::task::state::Task;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two reports of a task (invariant 11).
const PACE: Duration = Duration::from_millis(100);
/// Until a bar that a client did not take is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// Between two effects of a step nothing is under way for a moment.
const LINGER: Duration = Duration::from_secs(3);

/// What a task does now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AtWork {
    /// Which.
    pub task: TaskId,
    /// What its bar is called.
    pub title: String,
    /// What is done, in a few words.
    pub doing: String,
    /// Steps that are over, of all, in percent.
    pub percentage: Option<u32>,
    /// Something is under way, or will be as soon as the engine has decided.
    pub busy: bool,
    /// Something is under way right now.
    pub flying: bool,
    /// The word for where it stands.
    pub words: String,
}

/// What the tasks do that work, or did a moment ago.
pub fn at_work(desk: &Desk, bars: &Bars) -> Vec<AtWork> {
    let works =
        |dossier: &&Arc<Dossier>| !dossier.task.is_over() && (is_flying(&dossier.task) || bars.shows(&dossier.task.id));
    desk.tasks.iter().filter(works).filter_map(|dossier| of(desk, dossier)).collect()
}

/// Something is under way right now; what a crash left in doubt is not.
fn is_flying(task: &Task) -> bool {
    task.in_flight().any(|effect| !task.in_doubt(&effect.id))
}

fn of(desk: &Desk, dossier: &Dossier) -> Option<AtWork> {
    let task = &dossier.task;
    let status = super::tasks::status(desk, &task.id)?;
    let over = task.steps.iter().filter(|run| run.state.is_over()).count();
    let percentage = (over * 100).checked_div(task.steps.len()).and_then(|percent| u32::try_from(percent).ok());
    let doing = match status.in_flight.as_slice() {
        [] => status.words.clone(),
        [one] => words::line(one, words::WIDTH),
        [first, rest @ ..] => format!("{} (and {} more)", words::line(first, words::TITLE), rest.len()),
    };
    Some(AtWork {
        task: task.id.clone(),
        title: format!("Agent: {}", words::title(&task.goal.words)),
        doing,
        percentage,
        busy: status.busy,
        flying: is_flying(task),
        words: status.words.clone(),
    })
}

/// What is to be done with a bar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Move {
    /// Show it.
    Begin {
        /// Whose.
        task: TaskId,
        /// What it is called.
        title: String,
        /// What is done.
        doing: String,
    },
    /// Say what is done now.
    Report {
        /// Whose.
        task: TaskId,
        /// What is done.
        doing: String,
        /// How much is over.
        percentage: Option<u32>,
    },
    /// Take it away.
    End {
        /// Whose.
        task: TaskId,
        /// Where the task stands.
        words: String,
    },
}

/// What is done now, and how much of all is over.
type Said = (String, Option<u32>);

#[derive(Debug)]
struct Bar {
    /// With what it began; none once the client has it.
    began: Option<Said>,
    said: Said,
    at: Instant,
    flew: Instant,
    /// The newest of what is not said yet.
    owed: bool,
}

/// The bars of one session.
#[derive(Debug, Default)]
pub struct Bars {
    bars: BTreeMap<TaskId, Bar>,
    /// Not to be begun before then: the client did not take them.
    refused: BTreeMap<TaskId, Instant>,
}

impl Bars {
    /// What changes on the screen now.
    pub fn moves(&mut self, works: &[AtWork], now: Instant) -> Vec<Move> {
        let mut moves = Vec::new();
        self.refused.retain(|_, until| *until > now);
        for work in works {
            let said = (work.doing.clone(), work.percentage);
            let Some(bar) = self.bars.get_mut(&work.task) else {
                if work.busy && work.flying && !self.refused.contains_key(&work.task) {
                    let began = Some(said.clone());
                    self.bars.insert(work.task.clone(), Bar { began, said, at: now, flew: now, owed: false });
                    let (task, title) = (work.task.clone(), work.title.clone());
                    moves.push(Move::Begin { task, title, doing: work.doing.clone() });
                }
                continue;
            };
            if work.flying {
                bar.flew = now;
            }
            if !work.busy || now.duration_since(bar.flew) >= LINGER {
                self.bars.remove(&work.task);
                moves.push(Move::End { task: work.task.clone(), words: work.words.clone() });
            } else if bar.said != said && now.duration_since(bar.at) >= PACE {
                (bar.said, bar.at, bar.owed) = (said.clone(), now, false);
                moves.push(Move::Report { task: work.task.clone(), doing: said.0, percentage: said.1 });
            } else {
                bar.owed = bar.said != said;
            }
        }
        let gone: Vec<TaskId> =
            self.bars.keys().filter(|task| !works.iter().any(|work| work.task == **task)).cloned().collect();
        for task in gone {
            self.bars.remove(&task);
            moves.push(Move::End { task, words: "over".to_owned() });
        }
        moves
    }

    /// The client has the bar now: what it is to be told, where that is no longer what the bar began with.
    pub fn begun(&mut self, task: &TaskId) -> Option<Move> {
        let bar = self.bars.get_mut(task)?;
        let began = bar.began.take()?;
        let (doing, percentage) = bar.said.clone();
        (began != bar.said).then(|| Move::Report { task: task.clone(), doing, percentage })
    }

    /// The client did not take the bar. It is begun again in a while, if the task is still at work.
    pub fn refused(&mut self, task: &TaskId, now: Instant) {
        if self.bars.remove(task).is_some() {
            self.refused.insert(task.clone(), now + RETRY);
        }
    }

    /// This task has a bar.
    pub fn shows(&self, task: &TaskId) -> bool {
        self.bars.contains_key(task)
    }

    /// When to look again, though no desk came.
    pub fn due(&self) -> Option<Instant> {
        let each = self.bars.values().map(|bar| if bar.owed { bar.at + PACE } else { bar.flew + LINGER });
        each.chain(self.refused.values().copied()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(doing: &str, busy: bool, flying: bool) -> AtWork {
        AtWork {
            task: TaskId::new("k3xf"),
            title: "Agent: goal".to_owned(),
            doing: doing.to_owned(),
            percentage: Some(50),
            busy,
            flying,
            words: "awaiting review".to_owned(),
        }
    }

    /// Each row: milliseconds, what the task does, and what comes of it.
    #[track_caller]
    fn check(rows: &[(u64, Option<AtWork>, &str)]) {
        let start = Instant::now();
        let mut bars = Bars::default();
        for (at, work, expect) in rows {
            let moves = bars.moves(work.as_slice(), start + Duration::from_millis(*at));
            let said: Vec<String> = moves
                .iter()
                .map(|one| match one {
                    Move::Begin { doing, .. } => format!("begin {doing}"),
                    Move::Report { doing, percentage, .. } => format!("report {doing} {percentage:?}"),
                    Move::End { words, .. } => format!("end {words}"),
                })
                .collect();
            assert_eq!(said.join(", "), *expect, "at {at}");
        }
    }

    #[test]
    fn a_bar_lives_as_long_as_the_task_works() {
        check(&[
            (0, Some(work("a", true, true)), "begin a"),
            (10, Some(work("b", true, true)), ""),
            (120, Some(work("c", true, true)), "report c Some(50)"),
            (130, Some(work("c", true, false)), ""),
            (140, Some(work("d", false, false)), "end awaiting review"),
            (150, Some(work("d", false, false)), ""),
        ]);
    }

    #[test]
    fn a_task_that_nobody_carries_on_shows_none() {
        check(&[(0, Some(work("a", true, false)), ""), (10, Some(work("a", true, false)), "")]);
        check(&[
            (0, Some(work("a", true, true)), "begin a"),
            (2_999, Some(work("a", true, false)), ""),
            (3_000, Some(work("a", true, false)), "end awaiting review"),
        ]);
    }

    #[test]
    fn a_bar_that_was_not_taken_is_begun_again() {
        let (start, mut bars) = (Instant::now(), Bars::default());
        let task = TaskId::new("k3xf");
        let works = [work("a", true, true)];
        assert_eq!(bars.moves(&works, start).len(), 1);
        bars.refused(&task, start);
        assert_eq!(bars.moves(&works, start + Duration::from_millis(10)), []);
        let due = bars.due().map(|due| due - start);
        assert_eq!(due, Some(RETRY));
        assert!(matches!(bars.moves(&works, start + RETRY).as_slice(), [Move::Begin { .. }]));
    }

    #[test]
    fn a_bar_that_was_taken_late_says_what_is_done_by_then() {
        let (start, mut bars) = (Instant::now(), Bars::default());
        let task = TaskId::new("k3xf");
        let same = AtWork { percentage: None, ..work("a", true, true) };
        bars.moves(std::slice::from_ref(&same), start);
        assert_eq!(bars.begun(&task), None);
        let mut bars = Bars::default();
        bars.moves(&[same], start);
        bars.moves(&[work("b", true, true)], start + PACE);
        let said = Move::Report { task: task.clone(), doing: "b".to_owned(), percentage: Some(50) };
        assert_eq!(bars.begun(&task), Some(said));
        assert_eq!(bars.begun(&task), None);
    }

    #[test]
    fn a_task_that_is_over_ends_its_bar() {
        check(&[(0, Some(work("a", true, true)), "begin a"), (1, None, "end over")]);
    }
}
