//! What a command comes to: an action for the engine, a page to be shown, or a choice that is still to be made.
//!
//! Invariant: a pure function of the row and its arguments. A decision names its target, or says that it is to be the
//! only one there is; nothing is guessed. Absent: looking for that one; whoever carries the errand out has the desk.

use super::arguments::{Given, Reported};
use crate::actions::{Row, Verb};
use crate::desk::{Mode, PageKind};
use crate::domain::ids::*;
use crate::domain::task::action::*;

/// What a command comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Errand {
    /// Hand this to the engine.
    Act(Action),
    /// The same, and show the page of the task that it makes.
    Begin(Action),
    /// A change of one item, whose name is still to be found.
    Small {
        /// Where.
        place: Place,
        /// What to change; absent for what the project's check reports.
        words: Option<String>,
        /// It is about a problem.
        fix: bool,
    },
    /// Approve what the plan document says now, if that compiles.
    Approve {
        /// Which task.
        task: Which,
        /// Up to and with this step.
        upto: Option<StepId>,
    },
    /// A decision whose hunk was not named: it acts if there is exactly one.
    Decide {
        /// What.
        decision: Decide,
        /// Of which task.
        task: Option<TaskId>,
        /// At this place.
        place: Option<Place>,
    },
    /// Take over, or decline, changes that are offered for a plan document: these, or all.
    Offered {
        /// Take them over.
        accept: bool,
        /// Whose plan.
        task: TaskId,
        /// Which changes.
        hunks: Vec<HunkId>,
    },
    /// Ask for words on a page.
    Words {
        /// For what.
        wanted: Wanted,
        /// The place that they are about.
        place: Option<Place>,
    },
    /// Show something.
    Show(Shown),
    /// Go to a hunk.
    Walk {
        /// To the next, or to the one before.
        forward: bool,
        /// From here.
        place: Option<Place>,
        /// Of which task.
        task: Option<TaskId>,
    },
}

/// A decision on a hunk that is still to be found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decide {
    /// Put it into the text.
    Accept,
    /// Leave it out.
    Reject(Option<String>),
    /// Take the decision back.
    Undo,
}

/// What words are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// A goal to plan.
    Plan,
    /// A change of one item.
    Change,
    /// A question.
    Ask,
}

/// What is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shown {
    /// The plan document; where there is none yet, the page of the task.
    Plan(Which),
    /// A page that the engine writes.
    Page(Which, PageKind),
    /// Two revisions side by side.
    Compare(Which, Option<u32>, Option<u32>),
    /// All tasks.
    Tasks,
}

/// What a command comes to.
///
/// # Errors
/// What is missing or too much, in one sentence, and how it is written.
pub fn errand(row: &Row, given: Given) -> Result<Errand, (String, String)> {
    let usage = || format!("{} {}", row.command_id().unwrap_or_default(), row.usage()).trim_end().to_owned();
    let misuse = |what: &str| (what.to_owned(), usage());
    let which = given.task.clone().map_or(Which::TheOnlyOne, Which::Task);
    let words = given.words.clone().filter(|words| !words.trim().is_empty());
    let said = |what: &str| words.clone().ok_or_else(|| misuse(&format!("{what} is missing")));
    let step = || given.step.clone().ok_or_else(|| misuse("the step is missing"));
    let act = |action: Action| Ok(Errand::Act(action));
    match row.verb {
        Verb::Plan => match words {
            Some(words) => {
                let goal = Goal { words, place: given.place, references: given.references, comment: given.comment };
                Ok(Errand::Begin(Action::Plan { goal, document: None }))
            }
            None => Ok(Errand::Words { wanted: Wanted::Plan, place: given.place }),
        },
        Verb::Ask => match words {
            Some(words) => {
                let goal = Goal { words, place: given.place, references: given.references, comment: given.comment };
                Ok(Errand::Begin(Action::AskQuestion { goal }))
            }
            None => Ok(Errand::Words { wanted: Wanted::Ask, place: given.place }),
        },
        Verb::Change | Verb::Fix => {
            let fix = row.verb == Verb::Fix;
            let words = given.problem.as_ref().map(in_words).or(words);
            match given.place {
                Some(place) if place.lines.is_some() => match words {
                    None if !fix => Ok(Errand::Words { wanted: Wanted::Change, place: Some(place) }),
                    words => Ok(Errand::Small { place, words, fix }),
                },
                Some(_) => Err(misuse("the line is missing")),
                None => Err(misuse("the place is missing")),
            }
        }
        Verb::Show => Ok(Errand::Show(Shown::Plan(which))),
        Verb::Approve => match given.revision {
            Some(revision) => act(Action::Approve { task: which, revision, upto: given.upto }),
            None => Ok(Errand::Approve { task: which, upto: given.upto }),
        },
        Verb::Run => act(Action::Run { task: which }),
        Verb::Pause => act(Action::Pause { task: which }),
        Verb::Resume => act(Action::Resume { task: which }),
        Verb::Cancel => act(Action::Cancel { task: which }),
        Verb::Abandon => act(Action::Abandon { task: which }),
        Verb::Retry => act(Action::Retry { task: which, step: given.step }),
        Verb::Skip => act(Action::Skip { task: which, step: step()? }),
        Verb::TakeOver => act(Action::TakeOver { task: which, step: step()? }),
        Verb::MarkDone => act(Action::MarkDone { task: which, step: step()? }),
        Verb::Say => act(Action::Say { task: which, words: said("what to say")?, step: given.step }),
        Verb::Revise => act(Action::Revise { task: which, words: said("what to change")? }),
        Verb::Replan => act(Action::Replan { task: which, words }),
        Verb::TakeRevision => act(Action::Offer { task: which, take: !given.decline }),
        Verb::Gate => match given.answer {
            Some(answer) => act(Action::Gate { task: which, gate: given.gate, answer, comment: words }),
            None => Err(misuse("allow, deny or happened is missing")),
        },
        // A question that a step asks waits at a gate; one of the planner stands in the document.
        Verb::Answer => match given.gate {
            Some(gate) => {
                let (answer, comment) = (GateAnswer::Allow, Some(said("the answer")?));
                act(Action::Gate { task: which, gate: Some(gate), answer, comment })
            }
            None => act(Action::Answer { task: which, question: given.number, words: said("the answer")? }),
        },
        Verb::Accept | Verb::Reject if given.plan => {
            let task = given.task.ok_or_else(|| misuse("the task is missing"))?;
            Ok(Errand::Offered { accept: row.verb == Verb::Accept, task, hunks: given.hunks })
        }
        Verb::Accept => match target(&given).map_err(misuse)? {
            Some(target) => act(Action::Accept { task: which, target }),
            None => Ok(Errand::Decide { decision: Decide::Accept, task: given.task, place: given.place }),
        },
        Verb::Reject => match target(&given).map_err(misuse)? {
            Some(target) => act(Action::Reject { task: which, target, reason: words }),
            None => Ok(Errand::Decide { decision: Decide::Reject(words), task: given.task, place: given.place }),
        },
        Verb::Undo => match (target(&given).map_err(misuse)?, &given.place) {
            (Some(target), _) => act(Action::Undo { task: which, target }),
            (None, None) => act(Action::Undo { task: which, target: Target::All }),
            (None, Some(_)) => Ok(Errand::Decide { decision: Decide::Undo, task: given.task, place: given.place }),
        },
        Verb::Review => Ok(Errand::Show(Shown::Page(which, PageKind::Review))),
        Verb::NextHunk => Ok(Errand::Walk { forward: true, place: given.place, task: given.task }),
        Verb::PreviousHunk => Ok(Errand::Walk { forward: false, place: given.place, task: given.task }),
        Verb::Tasks => Ok(Errand::Show(Shown::Tasks)),
        Verb::Status => Ok(Errand::Show(Shown::Page(which, PageKind::Task))),
        Verb::Timeline => {
            let mode = match (given.states, given.tools) {
                (false, false) => Mode::Full,
                (true, false) => Mode::States,
                (false, true) => Mode::Tools,
                (true, true) => return Err(misuse("states and tools exclude each other")),
            };
            Ok(Errand::Show(Shown::Page(which, PageKind::Timeline(mode))))
        }
        Verb::Preview => {
            let work = given.step.map(|work| work.to_string());
            Ok(Errand::Show(Shown::Page(which, PageKind::Preview(work))))
        }
        Verb::Compare => match given.revisions.as_slice() {
            [] => Ok(Errand::Show(Shown::Compare(which, None, None))),
            [from] => Ok(Errand::Show(Shown::Compare(which, Some(*from), None))),
            [from, to] => Ok(Errand::Show(Shown::Compare(which, Some(*from), Some(*to)))),
            [..] => Err(misuse("two revisions at most")),
        },
        Verb::Schema | Verb::Doctor | Verb::Clean | Verb::Tour | Verb::Lsp => {
            let word = row.terminal.unwrap_or_default();
            Err(("this is done in a terminal".to_owned(), format!("planwright {word}")))
        }
    }
}

/// Which hunks are named; none where none are.
fn target(given: &Given) -> Result<Option<Target>, &'static str> {
    let mut targets = Vec::new();
    if !given.hunks.is_empty() {
        targets.push(Target::Hunks(given.hunks.clone()));
    }
    targets.extend(given.file.clone().map(Target::File));
    targets.extend(given.step.clone().map(Target::Step));
    if given.all {
        targets.push(Target::All);
    }
    match targets.len() {
        0 | 1 => Ok(targets.pop()),
        _ => Err("hunks, file, step and all exclude each other"),
    }
}

/// A problem as a goal says it.
fn in_words(problem: &Reported) -> String {
    let by: Vec<&str> = [&problem.source, &problem.code].into_iter().flatten().map(String::as_str).collect();
    let message = problem.message.trim();
    if by.is_empty() { message.to_owned() } else { format!("{message} ({})", by.join(" ")) }
}
