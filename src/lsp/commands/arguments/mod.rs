//! What a client sent with a command, told apart.
//!
//! Invariant: a pure function of the row, the values and the known tasks; nothing that is sent makes it fail otherwise
//! than by saying what is wrong. What cannot be understood is refused and never left out: a target that was lost on the
//! way must not widen a decision. Absent: what a command comes to.

mod fields;
mod words;

use crate::actions::Row;
use crate::domain::ids::*;
use crate::domain::task::action::{Comment, GateAnswer, Place, Side};
use fields::named;
use serde_json::Value;

/// Bytes of one text at most: more is no goal that a person wrote.
const LONGEST: usize = 100_000;

/// How arguments refer to what exists.
pub struct Known<'a> {
    /// The tasks of the workspace.
    pub tasks: &'a [TaskId],
    /// The file that a path or a URI names, if it lies in the workspace.
    pub file: &'a dyn Fn(&str) -> Option<WorkspacePath>,
}

/// A problem that the client showed, in the words of whoever reported it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reported {
    /// What it says.
    pub message: String,
    /// Its code.
    pub code: Option<String>,
    /// Who says it.
    pub source: Option<String>,
}

/// The arguments of a command.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// Which task.
    pub task: Option<TaskId>,
    /// Which step, or which work.
    pub step: Option<StepId>,
    /// Which hunks.
    pub hunks: Vec<HunkId>,
    /// All hunks of this file.
    pub file: Option<WorkspacePath>,
    /// All hunks.
    pub all: bool,
    /// Which gate.
    pub gate: Option<GateId>,
    /// What is decided there.
    pub answer: Option<GateAnswer>,
    /// Whose text stays.
    pub side: Option<Side>,
    /// The hash of both sides as they were shown.
    pub shown: Option<ContentHash>,
    /// The words are still to be asked for.
    pub ask: bool,
    /// What is allowed there is allowed for the whole plan.
    pub for_plan: bool,
    /// Which revision.
    pub revision: Option<RevisionRef>,
    /// Which revisions, by number.
    pub revisions: Vec<u32>,
    /// Up to and with this step.
    pub upto: Option<StepId>,
    /// Which question.
    pub number: Option<u32>,
    /// Where.
    pub place: Option<Place>,
    /// Files to keep with a task.
    pub references: Vec<WorkspacePath>,
    /// A problem to be fixed.
    pub problem: Option<Reported>,
    /// Only states, of a timeline.
    pub states: bool,
    /// Only tools, of a timeline.
    pub tools: bool,
    /// The hunks are changes that are offered for a plan document.
    pub plan: bool,
    /// The comment that the words were taken from.
    pub comment: Option<Comment>,
    /// What is offered is not wanted.
    pub decline: bool,
    /// Words.
    pub words: Option<String>,
}

impl Given {
    /// Something of it by name, if there is any. What a command has no use for was meant for something, most likely to
    /// narrow it.
    pub fn something(&self) -> Option<&'static str> {
        let Self { task, step, hunks, file, all, gate, answer, for_plan, revision, revisions, upto, .. } = self;
        let Self { number, place, references, problem, states, tools, plan, comment, decline, words, .. } = self;
        let Self { side, shown, ask, .. } = self;
        let all = [
            (task.is_some(), "a task"),
            (step.is_some(), "a step"),
            (!hunks.is_empty(), "a hunk"),
            (file.is_some(), "`file`"),
            (*all, "`all`"),
            (gate.is_some(), "a gate"),
            (answer.is_some(), "`answer`"),
            (side.is_some(), "`side`"),
            (shown.is_some(), "`shown`"),
            (*ask, "`ask`"),
            (*for_plan, "`for-plan`"),
            (revision.is_some(), "`revision`"),
            (!revisions.is_empty(), "`from` or `to`"),
            (upto.is_some(), "`upto`"),
            (number.is_some(), "a number"),
            (place.is_some(), "a place"),
            (!references.is_empty(), "a reference"),
            (problem.is_some(), "a problem"),
            (*states, "`states`"),
            (*tools, "`tools`"),
            (*plan, "`plan`"),
            (comment.is_some(), "a comment"),
            (*decline, "`decline`"),
            (words.is_some(), "a word"),
        ];
        all.into_iter().find_map(|(is_there, name)| is_there.then_some(name))
    }

    /// It says already what is decided, or on what.
    fn has_target(&self) -> bool {
        let named = self.gate.is_some()
            || self.answer.is_some()
            || self.side.is_some()
            || self.file.is_some()
            || self.step.is_some();
        named || self.all || !self.hunks.is_empty() || self.place.is_some()
    }
}

/// Tells arguments apart.
///
/// # Errors
/// What is wrong, in one sentence.
pub fn given(row: &Row, arguments: &[Value], known: &Known<'_>) -> Result<Given, String> {
    let mut given = Given::default();
    let mut strings = Vec::new();
    for argument in arguments {
        match argument {
            Value::Null => {}
            Value::Object(fields) => named(fields, known, &mut given)?,
            Value::String(text) => strings.push(Piece::Word(short(text)?)),
            Value::Number(_) => strings.push(Piece::Number(number(argument, "a number")?)),
            Value::Array(values) => array(values, known, &mut given, &mut strings)?,
            Value::Bool(_) => return Err("`true` and `false` mean nothing here; name what is meant".to_owned()),
        }
    }
    words::take(strings, row, known, &mut given)?;
    Ok(given)
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Word(String),
    Number(u32),
}

fn short(text: &str) -> Result<String, String> {
    if text.len() > LONGEST {
        return Err(format!("a text has {} bytes; at most {LONGEST} are taken", text.len()));
    }
    Ok(text.to_owned())
}

fn number(value: &Value, name: &str) -> Result<u32, String> {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).ok_or_else(|| format!("`{name}` is no whole number"))
}

fn file(text: &str, known: &Known<'_>) -> Result<WorkspacePath, String> {
    (known.file)(text).ok_or_else(|| format!("`{}` is no file of this workspace", cut(text)))
}

/// For messages.
fn cut(text: &str) -> String {
    let shown: String = text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(60).is_some() { format!("{shown}…") } else { shown }
}

/// `[path, line, start, end]` as Helix writes it, or words.
fn array(values: &[Value], known: &Known<'_>, given: &mut Given, strings: &mut Vec<Piece>) -> Result<(), String> {
    if let [Value::String(path), lines @ ..] = values
        && !lines.is_empty()
        && lines.iter().all(Value::is_number)
    {
        let lines = lines.iter().map(|line| number(line, "a line")).collect::<Result<Vec<_>, _>>()?;
        return put_place(given, Place { path: file(&short(path)?, known)?, lines: span(&lines)? });
    }
    for value in values {
        match value {
            Value::Null => {}
            Value::String(text) => strings.push(Piece::Word(short(text)?)),
            Value::Number(_) => strings.push(Piece::Number(number(value, "a number")?)),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Err("a list holds words, or a file and its lines".to_owned());
            }
        }
    }
    Ok(())
}

/// The lines of a selection: one, first and last, or the cursor's before them.
fn span(lines: &[u32]) -> Result<Option<(u32, u32)>, String> {
    let (one, other) = match lines {
        [] => return Ok(None),
        [line] => (*line, *line),
        [first, last] | [_, first, last] => (*first, *last),
        [..] => return Err("a place is a file, the cursor's line, and the selection's first and last".to_owned()),
    };
    if one == 0 || other == 0 {
        return Err("lines count from 1".to_owned());
    }
    Ok(Some((one.min(other), one.max(other))))
}

/// Of two values one would be taken, and the other was meant.
fn once<T: PartialEq>(slot: &mut Option<T>, value: T, name: &str) -> Result<(), String> {
    match slot {
        Some(former) if *former != value => Err(format!("{name} is given twice")),
        Some(_) | None => {
            *slot = Some(value);
            Ok(())
        }
    }
}

fn put_place(given: &mut Given, place: Place) -> Result<(), String> {
    match given.place.replace(place) {
        None => Ok(()),
        Some(_) => Err("there are two places; one is taken".to_owned()),
    }
}

fn put_words(given: &mut Given, words: String) -> Result<(), String> {
    let words = match given.words.take() {
        Some(former) => format!("{former} {words}"),
        None => words,
    };
    given.words = Some(short(&words)?);
    Ok(())
}
