//! What a command comes to: an action for the engine, a page to be shown, or a choice that is still to be made.
//!
//! Invariant: a pure function of the row and its arguments. A decision names its target, or says that it is to be the
//! only one there is; nothing is guessed, and nothing that was given is left out. Absent: looking for that one; whoever
//! carries the errand out has the desk.

use super::arguments::{Given, Reported};
use crate::actions::{Row, Verb};
use crate::desk::{Mode, PageKind};
use crate::domain::ids::*;
use crate::domain::task::action::*;
use std::mem::take;

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
    /// Leave it out, for a reason that is still to be asked for.
    RejectFor,
    /// Settle it, where something else stands.
    Resolve(Side),
    /// Take the decision back.
    Undo,
    /// Decide nothing: explain it.
    Why,
}

/// What words are for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// A goal to plan.
    Plan,
    /// A change of one item.
    Change,
    /// A question.
    Ask,
    /// A reason why a hunk is left out.
    Reject {
        /// Of which task.
        task: TaskId,
        /// Which.
        hunk: HunkId,
    },
    /// An instruction for a task that runs.
    Say {
        /// Which task.
        task: TaskId,
        /// For this step only.
        step: Option<StepId>,
    },
}

/// What is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shown {
    /// The plan document; where there is none yet, the page of the task.
    Plan(Which),
    /// A page that the engine writes.
    Page(Which, PageKind),
    /// The review, at a hunk.
    Review(Which, Option<HunkId>),
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
    let mut given = given;
    let in_terminal = matches!(row.verb, Verb::Schema | Verb::Doctor | Verb::Clean | Verb::Tour | Verb::Lsp);
    let usage = || match (in_terminal, row.terminal, row.command_id()) {
        (true, Some(word), _) => format!("planwright {word}"),
        (_, _, id) => format!("{} {}", id.unwrap_or_default(), row.usage()).trim_end().to_owned(),
    };
    let errand = taken(row, &mut given).map_err(|what| (what, usage()))?;
    match given.something() {
        None => Ok(errand),
        Some(name) => Err((format!("{name} means nothing here"), usage())),
    }
}

/// The same, with what it uses taken out.
fn taken(row: &Row, given: &mut Given) -> Result<Errand, String> {
    let act = |action: Action| Ok(Errand::Act(action));
    match row.verb {
        Verb::Plan => Ok(match said(given) {
            Some(words) => Errand::Begin(Action::Plan { goal: goal(given, words), document: None }),
            None => Errand::Words { wanted: Wanted::Plan, place: given.place.take() },
        }),
        Verb::Ask => Ok(match said(given) {
            Some(words) => Errand::Begin(Action::AskQuestion { goal: goal(given, words) }),
            None => Errand::Words { wanted: Wanted::Ask, place: given.place.take() },
        }),
        Verb::Change | Verb::Fix => {
            let fix = row.verb == Verb::Fix;
            let words = given.problem.take().as_ref().map(in_words).or_else(|| said(given));
            match given.place.take() {
                Some(place) if place.lines.is_some() => Ok(match words {
                    None if !fix => Errand::Words { wanted: Wanted::Change, place: Some(place) },
                    words => Errand::Small { place, words, fix },
                }),
                Some(_) => Err(missing("the line")),
                None => Err(missing("the place")),
            }
        }
        Verb::Show => Ok(Errand::Show(Shown::Plan(which(given)))),
        Verb::Approve => {
            let (task, upto) = (which(given), given.upto.take());
            match given.revision.take() {
                Some(revision) => act(Action::Approve { task, revision, upto }),
                None => Ok(Errand::Approve { task, upto }),
            }
        }
        Verb::Run => act(Action::Run { task: which(given) }),
        Verb::Pause => act(Action::Pause { task: which(given) }),
        Verb::Resume => act(Action::Resume { task: which(given) }),
        Verb::Cancel => act(Action::Cancel { task: which(given) }),
        Verb::Abandon => act(Action::Abandon { task: which(given) }),
        Verb::Retry => act(Action::Retry { task: which(given), step: given.step.take() }),
        Verb::Skip => act(Action::Skip { task: which(given), step: step(given)? }),
        Verb::TakeOver => act(Action::TakeOver { task: which(given), step: step(given)? }),
        Verb::MarkDone => act(Action::MarkDone { task: which(given), step: step(given)? }),
        Verb::Say => {
            let Some(words) = said(given) else {
                // Where nobody can be asked in a box there is a page; it names its task.
                let task = given.task.take().ok_or_else(|| missing("what to say"))?;
                return Ok(Errand::Words { wanted: Wanted::Say { task, step: given.step.take() }, place: None });
            };
            act(Action::Say { task: which(given), words, step: given.step.take() })
        }
        Verb::Revise => act(Action::Revise { task: which(given), words: needed(given, "what to change")? }),
        Verb::Replan => act(Action::Replan { task: which(given), words: said(given) }),
        Verb::TakeRevision => act(Action::Offer { task: which(given), take: !take(&mut given.decline) }),
        Verb::Gate => {
            let answer = match (given.answer.take(), take(&mut given.for_plan)) {
                (Some(answer), false) => answer,
                (Some(GateAnswer::Allow | GateAnswer::AllowForPlan), true) => GateAnswer::AllowForPlan,
                (Some(GateAnswer::Deny | GateAnswer::Happened), true) => {
                    return Err("`for-plan` goes with allow".to_owned());
                }
                (None, _) => return Err(missing("allow, deny or happened")),
            };
            act(Action::Gate { task: which(given), gate: given.gate.take(), answer, comment: said(given) })
        }
        // A question that a step asks waits at a gate; one of the planner stands in the document.
        Verb::Answer => {
            let (task, words) = (which(given), needed(given, "the answer")?);
            match given.gate.take() {
                Some(gate) => {
                    let (answer, comment) = (GateAnswer::Allow, Some(words));
                    act(Action::Gate { task, gate: Some(gate), answer, comment })
                }
                None => act(Action::Answer { task, question: given.number.take(), words }),
            }
        }
        Verb::Accept | Verb::Reject if take(&mut given.plan) => {
            let task = given.task.take().ok_or_else(|| missing("the task"))?;
            let hunks = match target(given)? {
                Some(Target::Hunks(hunks)) => hunks,
                Some(Target::All) => Vec::new(),
                Some(Target::File(_) | Target::Step(_)) => {
                    return Err("changes of a plan are hunks, or all".to_owned());
                }
                None => return Err(missing("the hunk")),
            };
            Ok(Errand::Offered { accept: row.verb == Verb::Accept, task, hunks })
        }
        Verb::Accept => Ok(match target(given)? {
            Some(target) => Errand::Act(Action::Accept { task: which(given), target }),
            None => decide(given, Decide::Accept),
        }),
        Verb::Reject if take(&mut given.ask) => match (target(given)?, given.task.take()) {
            (None, task) => Ok(Errand::Decide { decision: Decide::RejectFor, task, place: given.place.take() }),
            (Some(Target::Hunks(hunks)), Some(task)) if hunks.len() == 1 => {
                let hunk = hunks.into_iter().next().ok_or_else(|| missing("the hunk"))?;
                Ok(Errand::Words { wanted: Wanted::Reject { task, hunk }, place: None })
            }
            (Some(_), _) => Err("words are asked for of one hunk of a task".to_owned()),
        },
        Verb::Reject => {
            let reason = said(given);
            Ok(match target(given)? {
                Some(target) => Errand::Act(Action::Reject { task: which(given), target, reason }),
                None => decide(given, Decide::Reject(reason)),
            })
        }
        Verb::Resolve => {
            let side = given.side.take().ok_or_else(|| missing("mine or theirs"))?;
            match one_hunk(given)? {
                Some(hunk) => {
                    let shown = given.shown.take();
                    act(Action::Resolve { task: which(given), hunk: Some(hunk), side, shown })
                }
                None => Ok(decide(given, Decide::Resolve(side))),
            }
        }
        Verb::Why => match one_hunk(given)? {
            Some(hunk) => Ok(Errand::Show(Shown::Review(which(given), Some(hunk)))),
            None => Ok(decide(given, Decide::Why)),
        },
        Verb::Undo => Ok(match (target(given)?, &given.place) {
            (Some(target), _) => Errand::Act(Action::Undo { task: which(given), target }),
            (None, None) => Errand::Act(Action::Undo { task: which(given), target: Target::All }),
            (None, Some(_)) => decide(given, Decide::Undo),
        }),
        Verb::Review => {
            // The page has the rejected hunks in any case.
            take(&mut given.all);
            let hunk = take(&mut given.hunks).into_iter().next();
            Ok(Errand::Show(Shown::Review(which(given), hunk)))
        }
        Verb::NextHunk => Ok(Errand::Walk { forward: true, place: given.place.take(), task: given.task.take() }),
        Verb::PreviousHunk => Ok(Errand::Walk { forward: false, place: given.place.take(), task: given.task.take() }),
        Verb::Tasks => Ok(Errand::Show(Shown::Tasks)),
        Verb::Status => Ok(Errand::Show(Shown::Page(which(given), PageKind::Task))),
        Verb::Timeline => {
            let mode = match (take(&mut given.states), take(&mut given.tools)) {
                (false, false) => Mode::Full,
                (true, false) => Mode::States,
                (false, true) => Mode::Tools,
                (true, true) => return Err("states and tools exclude each other".to_owned()),
            };
            Ok(Errand::Show(Shown::Page(which(given), PageKind::Timeline(mode))))
        }
        Verb::Preview => {
            let work = given.step.take().map(|work| work.to_string());
            Ok(Errand::Show(Shown::Page(which(given), PageKind::Preview(work))))
        }
        Verb::Compare => {
            let task = which(given);
            match take(&mut given.revisions).as_slice() {
                [] => Ok(Errand::Show(Shown::Compare(task, None, None))),
                [from] => Ok(Errand::Show(Shown::Compare(task, Some(*from), None))),
                [from, to] => Ok(Errand::Show(Shown::Compare(task, Some(*from), Some(*to)))),
                [..] => Err("two revisions at most".to_owned()),
            }
        }
        Verb::Schema | Verb::Doctor | Verb::Clean | Verb::Tour | Verb::Lsp => {
            Err("this is done in a terminal".to_owned())
        }
    }
}

fn missing(what: &str) -> String {
    format!("{what} is missing")
}

fn which(given: &mut Given) -> Which {
    given.task.take().map_or(Which::TheOnlyOne, Which::Task)
}

fn said(given: &mut Given) -> Option<String> {
    given.words.take().filter(|words| !words.trim().is_empty())
}

fn needed(given: &mut Given, what: &str) -> Result<String, String> {
    said(given).ok_or_else(|| missing(what))
}

fn step(given: &mut Given) -> Result<StepId, String> {
    given.step.take().ok_or_else(|| missing("the step"))
}

fn goal(given: &mut Given, words: String) -> Goal {
    let references = take(&mut given.references);
    Goal { words, place: given.place.take(), references, comment: given.comment.take() }
}

fn decide(given: &mut Given, decision: Decide) -> Errand {
    Errand::Decide { decision, task: given.task.take(), place: given.place.take() }
}

/// The hunk that is named; none where none is.
fn one_hunk(given: &mut Given) -> Result<Option<HunkId>, String> {
    let mut hunks = take(&mut given.hunks).into_iter();
    match (hunks.next(), hunks.next()) {
        (hunk, None) => Ok(hunk),
        (_, Some(_)) => Err("one hunk at a time".to_owned()),
    }
}

/// Which hunks are named; none where none are.
fn target(given: &mut Given) -> Result<Option<Target>, String> {
    let mut targets = Vec::new();
    if !given.hunks.is_empty() {
        targets.push(Target::Hunks(take(&mut given.hunks)));
    }
    targets.extend(given.file.take().map(Target::File));
    targets.extend(given.step.take().map(Target::Step));
    if take(&mut given.all) {
        targets.push(Target::All);
    }
    match targets.len() {
        0 | 1 => Ok(targets.pop()),
        _ => Err("hunks, file, step and all exclude each other".to_owned()),
    }
}

/// A problem as a goal says it.
fn in_words(problem: &Reported) -> String {
    let by: Vec<&str> = [&problem.source, &problem.code].into_iter().flatten().map(String::as_str).collect();
    let message = problem.message.trim();
    if by.is_empty() { message.to_owned() } else { format!("{message} ({})", by.join(" ")) }
}
