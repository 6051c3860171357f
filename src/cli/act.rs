//! What a command line comes to: an action for the engine, a query for the desk, or a conversation with the person.
//!
//! Invariant: a pure function of the words, the known tasks and the working directory; nothing is asked, read or sent
//! here. Absent: waiting and printing.

use super::Here;
use super::parse::{Parsed, usage};
use crate::actions::{Verb, Word, row};
use crate::desk::{Mode, Query};
use crate::domain::ids::*;
use crate::domain::task::action::*;
use std::path::PathBuf;
use std::time::Duration;

/// What a command line comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Errand {
    /// A goal; the document is still to be read.
    Plan {
        /// What and where.
        goal: Goal,
        /// Where the plan document is.
        document: Option<PathBuf>,
        /// Go on once it is approved.
        run: bool,
        /// For the whole of it.
        timeout: Option<Duration>,
    },
    /// A change of one item, or of what is wrong there; the item is still to be found.
    Change {
        /// Where.
        place: Place,
        /// What; absent for what the project's check reports there.
        words: Option<String>,
        /// It is about a problem.
        fix: bool,
        /// Without asking.
        yes: bool,
        /// How long to stay with it.
        timeout: Option<Duration>,
    },
    /// An action that is complete.
    Act {
        /// What.
        action: Action,
        /// How long to stay with it.
        timeout: Option<Duration>,
    },
    /// An approval that has yet to see its revision.
    Approve {
        /// Which task.
        task: Which,
        /// Up to and with this step.
        upto: Option<StepId>,
        /// Without asking.
        yes: bool,
    },
    /// A decision whose hunk was not named: it acts if there is exactly one.
    DecideTheOnlyOne {
        /// Which task.
        task: Which,
        /// Accept or reject.
        accept: bool,
        /// Of a rejection.
        reason: Option<String>,
    },
    /// Going through the hunks.
    Review {
        /// Which task.
        task: Which,
        /// Rejected ones too.
        all: bool,
    },
    /// A read.
    Read(Query),
}

/// A command line that cannot be meant so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misuse {
    /// What is wrong.
    pub message: String,
    /// How it is written.
    pub next: String,
}

/// The words of a command line, told apart.
#[derive(Default)]
struct Words {
    task: Option<TaskId>,
    gate: Option<GateId>,
    answer: Option<GateAnswer>,
    side: Option<Side>,
    hunks: Vec<HunkId>,
    revisions: Vec<u32>,
    number: Option<u32>,
    others: Vec<String>,
}

impl Words {
    fn which(&self) -> Which {
        self.task.clone().map_or(Which::TheOnlyOne, Which::Task)
    }
}

/// What the command line comes to. `known` are the tasks of the workspace.
///
/// # Errors
/// A word that is missing, too much, or of no shape that fits.
pub fn errand(parsed: &Parsed, known: &[TaskId], here: &Here) -> Result<Errand, Misuse> {
    let misuse = |message: String| Misuse { message, next: usage(parsed.verb) };
    let mut words = tell_apart(parsed, known).map_err(misuse)?;
    let task = words.which();
    let text = |name: &str| parsed.value(name).map(str::to_owned);
    let step = |name: &str| parsed.value(name).map(StepId::new);
    let mut next = |what: &str| {
        if words.others.is_empty() { Err(misuse(format!("{what} is missing"))) } else { Ok(words.others.remove(0)) }
    };
    let timeout = parsed.value("timeout").map(span).transpose().map_err(misuse)?;
    let act = |action: Action| Ok(Errand::Act { action, timeout });
    match parsed.verb {
        Verb::Plan => {
            let references = parsed.switches.get("with").into_iter().flatten().map(|file| here.path(file));
            Ok(Errand::Plan {
                goal: Goal {
                    words: next("the goal")?,
                    place: parsed.value("at").map(|at| place(at, here)).transpose().map_err(misuse)?,
                    references: references.collect::<Result<_, _>>().map_err(misuse)?,
                    comment: None,
                },
                document: parsed.value("document").map(|file| here.cwd.join(file)),
                run: parsed.has("run"),
                timeout,
            })
        }
        Verb::Change | Verb::Fix => {
            let place = place(&next("the place")?, here).map_err(misuse)?;
            if place.lines.is_none() {
                return Err(misuse(format!("the line is missing: {}:LINE", place.path)));
            }
            let fix = parsed.verb == Verb::Fix;
            let words = if fix { next("").ok() } else { Some(next("what to change")?) };
            Ok(Errand::Change { place, words, fix, yes: parsed.has("yes"), timeout })
        }
        Verb::Ask => act(Action::AskQuestion {
            goal: Goal {
                words: next("the question")?,
                place: parsed.value("at").map(|at| place(at, here)).transpose().map_err(misuse)?,
                references: Vec::new(),
                comment: None,
            },
        }),
        Verb::Approve => match parsed.value("revision") {
            Some(revision) => {
                let revision = revision
                    .parse()
                    .map_err(|()| misuse(format!("`{revision}` is no revision; one looks like r1-9f2c81d04a7e")))?;
                act(Action::Approve { task, revision, upto: step("upto") })
            }
            None => Ok(Errand::Approve { task, upto: step("upto"), yes: parsed.has("yes") }),
        },
        Verb::Run => act(Action::Run { task }),
        Verb::Pause => act(Action::Pause { task }),
        Verb::Resume => act(Action::Resume { task }),
        Verb::Cancel => act(Action::Cancel { task }),
        Verb::Abandon => act(Action::Abandon { task }),
        Verb::Retry => act(Action::Retry { task, step: next("").ok().map(StepId::new) }),
        Verb::Skip => act(Action::Skip { task, step: StepId::new(next("the step")?) }),
        Verb::TakeOver => act(Action::TakeOver { task, step: StepId::new(next("the step")?) }),
        Verb::MarkDone => act(Action::MarkDone { task, step: StepId::new(next("the step")?) }),
        Verb::Say => act(Action::Say { task, words: next("what to say")?, step: step("step") }),
        Verb::Revise => act(Action::Revise { task, words: next("what to change")? }),
        Verb::Replan => act(Action::Replan { task, words: next("").ok() }),
        Verb::TakeRevision => act(Action::Offer { task, take: !parsed.has("decline") }),
        Verb::Gate => {
            let answer = match (words.answer, parsed.has("for-plan")) {
                (Some(GateAnswer::Allow), true) => GateAnswer::AllowForPlan,
                (Some(_), true) => return Err(misuse("--for-plan goes with allow only".to_owned())),
                (Some(answer), false) => answer,
                (None, _) => return Err(misuse("allow, deny or happened is missing".to_owned())),
            };
            act(Action::Gate { task, gate: words.gate, answer, comment: text("comment") })
        }
        Verb::Answer => act(Action::Answer { task, words: next("the answer")?, question: words.number }),
        Verb::Accept => match target(parsed, &words.hunks, here).map_err(misuse)? {
            Some(target) => act(Action::Accept { task, target }),
            None => Ok(Errand::DecideTheOnlyOne { task, accept: true, reason: None }),
        },
        Verb::Reject => match target(parsed, &words.hunks, here).map_err(misuse)? {
            Some(target) => act(Action::Reject { task, target, reason: text("reason") }),
            None => Ok(Errand::DecideTheOnlyOne { task, accept: false, reason: text("reason") }),
        },
        Verb::Resolve => {
            let side = words.side.ok_or_else(|| misuse("mine or theirs is missing".to_owned()))?;
            let hunk = one_hunk(&words.hunks).map_err(misuse)?;
            act(Action::Resolve { task, hunk, side, shown: None })
        }
        Verb::Why => Ok(Errand::Read(Query::Why { task, hunk: one_hunk(&words.hunks).map_err(misuse)? })),
        Verb::Undo => {
            let target = target(parsed, &words.hunks, here).map_err(misuse)?;
            act(Action::Undo { task, target: target.unwrap_or(Target::All) })
        }
        Verb::Review => Ok(Errand::Review { task, all: parsed.has("all") }),
        Verb::Tasks => Ok(Errand::Read(Query::Tasks)),
        Verb::Status => Ok(Errand::Read(Query::Status { task })),
        Verb::Show => Ok(Errand::Read(Query::Show { task })),
        Verb::Timeline => {
            let mode = match (parsed.has("states"), parsed.has("tools")) {
                (false, false) => Mode::Full,
                (true, false) => Mode::States,
                (false, true) => Mode::Tools,
                (true, true) => return Err(misuse("--states and --tools exclude each other".to_owned())),
            };
            Ok(Errand::Read(Query::Timeline { task, mode }))
        }
        Verb::Preview => Ok(Errand::Read(Query::Preview { task, work: next("").ok() })),
        Verb::Compare => match words.revisions.as_slice() {
            [] => Ok(Errand::Read(Query::Compare { task, from: None, to: None })),
            [from] => Ok(Errand::Read(Query::Compare { task, from: Some(*from), to: None })),
            [from, to] => Ok(Errand::Read(Query::Compare { task, from: Some(*from), to: Some(*to) })),
            [..] => Err(misuse("two revisions at most".to_owned())),
        },
        Verb::NextHunk | Verb::PreviousHunk => Err(misuse("only an editor has this action".to_owned())),
        Verb::Schema | Verb::Doctor | Verb::Clean | Verb::Tour | Verb::Lsp => {
            Err(misuse("this action is served without an engine".to_owned()))
        }
    }
}

/// Which word is which: by shape where a shape is its own, the task by being known or by being one word more.
fn tell_apart(parsed: &Parsed, known: &[TaskId]) -> Result<Words, String> {
    let takes: &[Word] = row(parsed.verb).map_or(&[], |row| row.words);
    let has = |word: Word| takes.contains(&word);
    let mut words = Words::default();
    for (index, word) in parsed.words.iter().enumerate() {
        let task = TaskId::new(word.as_str());
        if index == 0 && has(Word::Task) && known.contains(&task) {
            words.task = Some(task);
        } else if has(Word::MaybeGate) && words.gate.is_none() && GateId::read(word).is_some() {
            words.gate = GateId::read(word);
        } else if let Some(answer) = GateAnswer::read(word).filter(|_| has(Word::Verdict) && words.answer.is_none()) {
            words.answer = Some(answer);
        } else if let Some(side) = Side::read(word).filter(|_| has(Word::Side) && words.side.is_none()) {
            words.side = Some(side);
        } else if let Some(hunk) = HunkId::read(word).filter(|_| has(Word::Hunks)) {
            words.hunks.push(hunk);
        } else if let Some(number) = RevisionRef::number_in(word).filter(|_| has(Word::Revisions)) {
            words.revisions.push(number);
        } else {
            words.others.push(word.clone());
        }
    }
    let besides = takes
        .iter()
        .filter(|word| match word {
            Word::Place
            | Word::Step
            | Word::MaybeStep
            | Word::MaybeWork
            | Word::Words
            | Word::MaybeWords
            | Word::SchemaName => true,
            Word::Task
            | Word::MaybeGate
            | Word::Verdict
            | Word::Hunks
            | Word::Side
            | Word::MaybeNumber
            | Word::Revisions => false,
        })
        .count();
    if has(Word::Task) && words.task.is_none() && words.others.len() > besides {
        let first = words.others.first().filter(|first| !(has(Word::MaybeNumber) && is_number(first)));
        if first.is_some() {
            words.task = Some(TaskId::new(words.others.remove(0)));
        }
    }
    if has(Word::MaybeNumber) && words.others.len() > besides {
        words.number = words.others.first().and_then(|first| first.parse().ok());
        if words.number.is_some() {
            words.others.remove(0);
        }
    }
    match words.others.get(besides) {
        None => Ok(words),
        Some(extra) => Err(format!("`{extra}` is one word too many; words that belong together are put in quotes")),
    }
}

/// The one that is named; none where none is.
fn one_hunk(hunks: &[HunkId]) -> Result<Option<HunkId>, String> {
    match hunks {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [..] => Err("one hunk at a time".to_owned()),
    }
}

fn target(parsed: &Parsed, hunks: &[HunkId], here: &Here) -> Result<Option<Target>, String> {
    let mut targets = Vec::new();
    if !hunks.is_empty() {
        targets.push(Target::Hunks(hunks.to_vec()));
    }
    if let Some(file) = parsed.value("file") {
        targets.push(Target::File(here.path(file)?));
    }
    if let Some(step) = parsed.value("step") {
        targets.push(Target::Step(StepId::new(step)));
    }
    if parsed.has("all") {
        targets.push(Target::All);
    }
    match targets.len() {
        0 | 1 => Ok(targets.pop()),
        _ => Err("hunks, --file, --step and --all exclude each other".to_owned()),
    }
}

/// `FILE`, `FILE:LINE` or `FILE:LINE-LINE`.
fn place(typed: &str, here: &Here) -> Result<Place, String> {
    let lines = typed.rsplit_once(':').and_then(|(file, lines)| {
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        Some((file, first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
    });
    match lines {
        None => Ok(Place { path: here.path(typed)?, lines: None }),
        Some((_, first, last)) if first == 0 || last < first => {
            Err(format!("`{typed}`: lines count from 1, and the first comes first"))
        }
        Some((file, first, last)) => Ok(Place { path: here.path(file)?, lines: Some((first, last)) }),
    }
}

/// `90`, `90s`, `15m`, `2h`, `500ms`.
fn span(typed: &str) -> Result<Duration, String> {
    let digits = typed.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = typed.get(digits.len()..).unwrap_or_default();
    let millis = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    digits
        .parse::<u64>()
        .ok()
        .zip(millis)
        .and_then(|(count, millis)| count.checked_mul(millis))
        .map(Duration::from_millis)
        .ok_or_else(|| format!("`{typed}` is no time; one looks like 90s, 15m or 2h"))
}
