//! Which reads there are, which task one is about, and who answers it.
//!
//! Invariant: a read names its task or means the only one it can mean; where several would do, they are listed and
//! nothing is guessed. Absent: the making of each view; every larger one has its file.

use super::view::*;
use super::{Desk, Dossier, compare, page, preview, review, show, status, timeline};
use crate::domain::ids::{HunkId, TaskId, WorkspacePath};
use crate::domain::task::action::{Place, Refusal, RefusalKind, Which};
use crate::ports::LoosePage;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "read")]
pub enum Query {
    /// All tasks.
    Tasks,
    /// Where a task stands and what it waits for.
    Status {
        /// Which task.
        task: Which,
    },
    /// The plan document with what must be seen before an approval (A6).
    Show {
        /// Which task.
        task: Which,
    },
    /// The hunks.
    Review {
        /// Which task.
        task: Which,
        /// Rejected ones too.
        all: bool,
    },
    /// One hunk and its story.
    Why {
        /// Which task.
        task: Which,
        /// Which hunk; absent = the only one that waits for a decision.
        hunk: Option<HunkId>,
    },
    /// What happened.
    Timeline {
        /// Which task.
        task: Which,
        /// Which part of it.
        mode: Mode,
    },
    /// What the model was sent last.
    Preview {
        /// Which task.
        task: Which,
        /// `planning`, `acceptance` or a step; absent = the work that asked last.
        work: Option<String>,
    },
    /// Two revisions of the plan side by side.
    Compare {
        /// Which task.
        task: Which,
        /// The number of the older one; absent = the approved one, or the one before `to`.
        from: Option<u32>,
        /// The number of the newer one; absent = the newest.
        to: Option<u32>,
    },
    /// What holds for all tasks.
    Surroundings,
    /// What the compiler says of a plan text that nobody has stored: one that is being typed.
    Compile {
        /// Whose plan it is; absent = of no task.
        task: Option<TaskId>,
        /// The whole text.
        text: String,
    },
    /// What could stand at a place of a plan: at most [`CANDIDATES`], the best first.
    Candidates {
        /// Of which kind.
        of: Candidates,
        /// As typed so far.
        prefix: String,
    },
    /// The text of a definition, or the head of a file.
    Code {
        /// Which file.
        path: WorkspacePath,
        /// Which definition of it; absent = the file's head.
        symbol: Option<String>,
    },
    /// The item around a place, and what would check a change of it.
    Item {
        /// Which place.
        place: Place,
    },
    /// A page for people. The engine writes it before it answers.
    Page {
        /// Which task.
        task: Which,
        /// Which page.
        page: PageKind,
    },
    /// A page that belongs to no task.
    Loose {
        /// Which.
        page: LoosePage,
        /// The engine writes this before it answers; absent = it reads what stands there.
        text: Option<String>,
    },
}

/// Candidates that one answer has at most: more than anybody reads.
pub const CANDIDATES: usize = 200;

/// What could stand at a place of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Candidates {
    /// Files of the workspace.
    Files,
    /// Definitions.
    Symbols {
        /// Of this file; absent = of all.
        path: Option<WorkspacePath>,
    },
    /// The checks that the project suggests, and commands that plans name already.
    Commands,
}

/// A page for people.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// `task.md`: what is wanted, where it stands, what it waits for.
    Task,
    /// `review.md`: every hunk.
    Review,
    /// `timeline.md`: what happened.
    Timeline(Mode),
    /// `log/preview-WORK.md`: what the model was sent; absent = for the work that asked last.
    Preview(Option<String>),
}

/// Which rows of a timeline are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All.
    #[default]
    Full,
    /// Those at which the state of the task or of a step changed.
    States,
    /// Calls, commands, checks and writes.
    Tools,
}

impl Desk {
    /// Answers a query.
    ///
    /// # Errors
    /// The refusal names what was not found, or lists what could be meant.
    pub fn answer(&self, query: &Query) -> Result<View, Refusal> {
        match query {
            Query::Tasks => {
                Ok(View::Tasks(TasksView { tasks: self.tasks.iter().map(|task| status::line(task)).collect() }))
            }
            Query::Status { task } => Ok(View::Status(Box::new(status::view(self.find(task)?)))),
            Query::Show { task } => Ok(View::Show(Box::new(show::view(self.find(task)?)))),
            Query::Review { task, all } => Ok(View::Review(review::view(self.find(task)?, *all))),
            Query::Why { task, hunk } => {
                review::why(self.find(task)?, hunk.as_ref()).map(|why| View::Why(Box::new(why)))
            }
            Query::Timeline { task, mode } => Ok(View::Timeline(timeline::view(self.find(task)?, *mode))),
            Query::Preview { task, work } => preview::view(self.find(task)?, work.as_deref()).map(View::Preview),
            Query::Compare { task, from, to } => compare::view(self.find(task)?, *from, *to).map(View::Compare),
            Query::Surroundings => Ok(View::Surroundings(self.place.clone())),
            Query::Page { task, page } => page::view(self.find(task)?, page).map(View::Page),
            Query::Compile { .. }
            | Query::Candidates { .. }
            | Query::Code { .. }
            | Query::Item { .. }
            | Query::Loose { .. } => Err(Refusal {
                kind: RefusalKind::Broken,
                message: "a snapshot has no files; the engine is asked for this".to_owned(),
                next: "run the command again".to_owned(),
            }),
        }
    }

    /// The task that is meant: the named one; else the only one that is not over; else the only one there is.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn find(&self, which: &Which) -> Result<&Arc<Dossier>, Refusal> {
        match which {
            Which::Task(id) => self.tasks.iter().find(|dossier| &dossier.task.id == id).ok_or_else(|| Refusal {
                kind: RefusalKind::NotFound,
                message: format!("there is no task `{id}` here"),
                next: "planwright tasks".to_owned(),
            }),
            Which::TheOnlyOne => {
                let going: Vec<&Arc<Dossier>> = self.tasks.iter().filter(|dossier| !dossier.task.is_over()).collect();
                match (going.as_slice(), self.tasks.as_slice()) {
                    ([one], _) => Ok(one),
                    ([], [one]) => Ok(one),
                    ([], []) => Err(Refusal {
                        kind: RefusalKind::NotFound,
                        message: "there is no task here yet".to_owned(),
                        next: "planwright plan \"GOAL\"".to_owned(),
                    }),
                    ([], over) => Err(several(&over.iter().collect::<Vec<_>>())),
                    (going, _) => Err(several(going)),
                }
            }
        }
    }
}

fn several(candidates: &[&Arc<Dossier>]) -> Refusal {
    let lines: Vec<String> = candidates
        .iter()
        .map(|dossier| format!("  {}  {}  ({})", dossier.task.id, dossier.task.goal.words, dossier.state.words()))
        .collect();
    Refusal {
        kind: RefusalKind::SeveralCandidates,
        message: format!("several tasks could be meant:\n{}", lines.join("\n")),
        next: "name the task, as the first word after the action".to_owned(),
    }
}
