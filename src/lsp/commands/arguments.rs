//! What a client sent with a command, told apart.
//!
//! Invariant: a pure function of the row, the values and the known tasks; nothing that is sent makes it fail otherwise
//! than by saying what is wrong. What cannot be understood is refused and never left out: a target that was lost on the
//! way must not widen a decision. Absent: what a command comes to.

use crate::actions::{Row, Verb, Word};
use crate::domain::ids::*;
use crate::domain::task::action::{Comment, GateAnswer, Place};
use serde_json::{Map, Value};

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
        let all = [
            (task.is_some(), "a task"),
            (step.is_some(), "a step"),
            (!hunks.is_empty(), "a hunk"),
            (file.is_some(), "`file`"),
            (*all, "`all`"),
            (gate.is_some(), "a gate"),
            (answer.is_some(), "`answer`"),
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
        let named = self.gate.is_some() || self.answer.is_some() || self.file.is_some() || self.step.is_some();
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
    let words = flat_place(strings, row, known, &mut given)?;
    let words = switches(words, row, known, &mut given)?;
    told_apart(words, row, known, &mut given)?;
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

/// Commands that are about a place, or about what stands there.
fn takes_place(row: &Row) -> bool {
    use Verb::{Accept, Ask, Change, Fix, NextHunk, Plan, PreviousHunk, Reject, Undo};
    matches!(row.verb, Plan | Change | Fix | Ask | Accept | Reject | Undo | NextHunk | PreviousHunk)
}

/// A path with numbers behind it is a place, where a command takes one; numbers elsewhere are words again.
fn flat_place(pieces: Vec<Piece>, row: &Row, known: &Known<'_>, given: &mut Given) -> Result<Vec<String>, String> {
    if let [Piece::Word(path), rest @ ..] = pieces.as_slice()
        && let lines = rest.iter().map_while(|piece| match piece {
            Piece::Number(line) => Some(*line),
            Piece::Word(_) => None,
        })
        && let lines = lines.collect::<Vec<_>>()
        && !lines.is_empty()
        && takes_place(row)
    {
        put_place(given, Place { path: file(path, known)?, lines: span(&lines)? })?;
        return Ok(words(rest.get(lines.len()..).unwrap_or_default()));
    }
    Ok(words(&pieces))
}

fn words(pieces: &[Piece]) -> Vec<String> {
    let word = |piece: &Piece| match piece {
        Piece::Word(word) => word.clone(),
        Piece::Number(number) => number.to_string(),
    };
    pieces.iter().map(word).collect()
}

/// Takes out the options, which are written as in a terminal.
fn switches(words: Vec<String>, row: &Row, known: &Known<'_>, given: &mut Given) -> Result<Vec<String>, String> {
    let mut left = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let switch = word.strip_prefix("--").and_then(|name| row.switches.iter().find(|switch| switch.name == name));
        let Some(switch) = switch else {
            left.push(word);
            continue;
        };
        let mut fields = Map::new();
        let value = match switch.value {
            None => Value::Bool(true),
            Some(value) => Value::String(words.next().ok_or_else(|| format!("{word} takes {value}"))?),
        };
        match (switch.name, value) {
            ("at", Value::String(at)) => put_place(given, place(&at, known)?)?,
            ("with", Value::String(path)) => given.references.push(file(&path, known)?),
            ("for-plan", _) => given.for_plan = true,
            // The action in an editor is the yes; nobody stays with it there.
            ("yes" | "timeout", _) => {}
            (name, value) => {
                fields.insert(name.to_owned(), value);
                named(&fields, known, given)?;
            }
        }
    }
    Ok(left)
}

/// `FILE`, `FILE:LINE` or `FILE:LINE-LINE`.
fn place(text: &str, known: &Known<'_>) -> Result<Place, String> {
    let lines = text.rsplit_once(':').and_then(|(path, lines)| {
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        Some((path, first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
    });
    match lines {
        Some((path, first, last)) => Ok(Place { path: file(path, known)?, lines: span(&[first, last])? }),
        None => Ok(Place { path: file(text, known)?, lines: None }),
    }
}

/// Which word is which: by shape where a shape is its own; the rest are words, a step or a work, as the row has it.
///
/// A word that could be the id of a task, where there are more words than the command takes, is a task that is not
/// there: the decision is not for another one.
fn told_apart(words: Vec<String>, row: &Row, known: &Known<'_>, given: &mut Given) -> Result<(), String> {
    let has = |word: Word| row.words.contains(&word);
    let mut others = Vec::new();
    let (mut leads, mut early) = (false, false);
    for (index, word) in words.into_iter().enumerate() {
        let task = TaskId::new(word.as_str());
        if index == 0 && has(Word::Task) && known.tasks.contains(&task) {
            once(&mut given.task, task, "the task")?;
        } else if has(Word::MaybeGate) && given.gate.is_none() && is_gate(&word) {
            given.gate = Some(GateId::new(word));
        } else if let Some(answer) = answer(&word).filter(|_| has(Word::Verdict)) {
            once(&mut given.answer, answer, "the answer")?;
        } else if has(Word::Hunks) && is_hunk(&word) {
            given.hunks.push(HunkId::new(word));
        } else if let Some(revision) = revision_number(&word).filter(|_| has(Word::Revisions)) {
            given.revisions.push(revision);
        } else if has(Word::Place) && given.place.is_none() && others.is_empty() {
            put_place(given, place(&word, known)?)?;
        } else {
            leads |= index == 0;
            early |= !given.has_target();
            others.push(word);
        }
    }
    let takes = |word: &&Word| matches!(word, Word::Step | Word::MaybeStep | Word::MaybeWork);
    let takes_step = row.words.iter().any(|word| takes(&word)) && given.step.is_none();
    let takes_words = has(Word::Words) || has(Word::MaybeWords);
    let room = usize::from(takes_step) + usize::from(takes_words);
    if let [first, ..] = others.as_slice()
        && (leads && has(Word::Task) && given.task.is_none() && others.len() > room && is_like_task(first))
    {
        let quoted = if takes_words { "; several words are one text" } else { "" };
        return Err(format!("there is no task `{first}`{quoted}"));
    }
    if has(Word::MaybeNumber) && others.len() > 1 && given.number.is_none() {
        given.number = others.first().and_then(|first| first.parse().ok());
        if given.number.is_some() {
            others.remove(0);
        }
    }
    if takes_step && !others.is_empty() {
        given.step = Some(StepId::new(others.remove(0)));
    }
    if others.is_empty() {
        return Ok(());
    }
    // At a gate and behind hunks they are a remark or a reason.
    let reason = row.switches.iter().any(|switch| switch.name == "reason" || switch.name == "comment");
    if takes_words || (reason && !early) {
        return put_words(given, others.join(" "));
    }
    Err(format!("`{}` is one word too many", cut(&others.join(" "))))
}

fn put_words(given: &mut Given, words: String) -> Result<(), String> {
    let words = match given.words.take() {
        Some(former) => format!("{former} {words}"),
        None => words,
    };
    given.words = Some(short(&words)?);
    Ok(())
}

/// The comment that asked for it, as the menu of the language server writes it.
fn asked_in(value: &Value) -> Result<Comment, String> {
    let text = value.get("text").and_then(Value::as_str).ok_or("`comment` has no text")?;
    let line = value.get("line").map(|line| number(line, "line")).transpose()?.ok_or("`comment` has no line")?;
    Ok(Comment { line, text: short(text)? })
}

/// Named fields, each of which has one meaning in every command.
fn named(fields: &Map<String, Value>, known: &Known<'_>, given: &mut Given) -> Result<(), String> {
    let (mut path, mut line, mut last, mut lines) = (None, None, None, None);
    for (name, value) in fields {
        if value.is_null() {
            continue;
        }
        let text = || match value {
            Value::String(text) => short(text),
            _ => Err(format!("`{}` is no text", cut(name))),
        };
        let texts = || match value {
            Value::Array(values) => values
                .iter()
                .map(|value| value.as_str().map(str::to_owned).ok_or_else(|| format!("`{}` holds no texts", cut(name))))
                .collect::<Result<Vec<_>, _>>(),
            _ => Ok(vec![text()?]),
        };
        let flag = || value.as_bool().ok_or_else(|| format!("`{}` is neither true nor false", cut(name)));
        let whole = || match value {
            Value::String(digits) => digits.parse().map_err(|_| format!("`{}` is no whole number", cut(name))),
            _ => number(value, name),
        };
        match name.as_str() {
            "task" => once(&mut given.task, TaskId::new(text()?), "the task")?,
            "step" | "work" => once(&mut given.step, StepId::new(text()?), "the step")?,
            "hunk" | "hunks" => {
                for hunk in texts()? {
                    if !is_hunk(&hunk) {
                        return Err(format!("`{}` is no hunk; one looks like h1a2b3c4d", cut(&hunk)));
                    }
                    given.hunks.push(HunkId::new(hunk));
                }
                if given.hunks.is_empty() {
                    return Err(format!("`{name}` is empty"));
                }
            }
            "file" => once(&mut given.file, file(&text()?, known)?, "the file")?,
            "all" => given.all = flag()?,
            "gate" => once(&mut given.gate, GateId::new(text()?), "the gate")?,
            "answer" => match answer(&text()?) {
                Some(answer) => once(&mut given.answer, answer, "the answer")?,
                None => put_words(given, text()?)?,
            },
            "words" | "goal" | "reason" | "instruction" => put_words(given, text()?)?,
            // What an `agent: …` comment says is its goal; its place says where it is.
            "comment" if value.is_object() => given.comment = Some(asked_in(value)?),
            "comment" => put_words(given, text()?)?,
            "revision" => {
                let revision = text()?;
                let parsed = revision.parse();
                given.revision =
                    Some(parsed.map_err(|()| {
                        format!("`{}` is no revision; one looks like r1-9f2c81d04a7e", cut(&revision))
                    })?);
            }
            "from" | "to" => {
                let number = match value {
                    Value::String(text) => revision_number(text).ok_or_else(|| format!("`{name}` is no revision"))?,
                    _ => number(value, name)?,
                };
                let at = if name == "from" { 0 } else { given.revisions.len() };
                given.revisions.insert(at, number);
            }
            "upto" => given.upto = Some(StepId::new(text()?)),
            "number" | "question" => given.number = Some(whole()?),
            "path" | "uri" => path = Some(file(&text()?, known)?),
            "line" => line = Some(whole()?),
            "last" => last = Some(whole()?),
            "lines" => {
                let Value::Array(values) = value else { return Err("`lines` is no list".to_owned()) };
                lines = span(&values.iter().map(|value| number(value, name)).collect::<Result<Vec<_>, _>>()?)?;
            }
            "range" => lines = Some(range(value).ok_or("`range` is no range")?),
            "references" => {
                for reference in texts()? {
                    given.references.push(file(&reference, known)?);
                }
            }
            "problem" => given.problem = Some(reported(value)?),
            "problems" | "diagnostics" => {
                let first = value.as_array().and_then(|problems| problems.first());
                given.problem = first.map(reported).transpose()?;
            }
            "states" => given.states = flag()?,
            "tools" => given.tools = flag()?,
            "plan" => given.plan = flag()?,
            "decline" => given.decline = flag()?,
            _ => return Err(format!("nothing is known of `{}`", cut(name))),
        }
    }
    let lines = match (line, last) {
        (Some(line), last) => span(&[line, last.unwrap_or(line)])?,
        (None, Some(_)) => return Err("`last` goes with `line`".to_owned()),
        (None, None) => lines,
    };
    match (path, lines) {
        (Some(path), lines) => put_place(given, Place { path, lines }),
        (None, Some(_)) => Err("lines are given without a file".to_owned()),
        (None, None) => Ok(()),
    }
}

/// The 1-based lines of a range as the protocol writes it.
fn range(value: &Value) -> Option<(u32, u32)> {
    let at = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let (first, last) = (at("/start/line")?, at("/end/line")?);
    let before_it = at("/end/character") == Some(0) && last > first;
    let last = if before_it { last - 1 } else { last };
    Some((first.checked_add(1)?, last.max(first).checked_add(1)?))
}

fn reported(value: &Value) -> Result<Reported, String> {
    let text = |name: &str| match value.get(name) {
        Some(Value::String(text)) => short(text).map(Some),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) | None => Ok(None),
    };
    let message = text("message")?.filter(|message| !message.trim().is_empty()).ok_or("a problem has no message")?;
    Ok(Reported { message, code: text("code")?, source: text("source")? })
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Ids of tasks are four to six small letters and digits, a letter first.
fn is_like_task(word: &str) -> bool {
    (4..=6).contains(&word.len())
        && word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn is_gate(word: &str) -> bool {
    word.strip_prefix('g').is_some_and(is_number)
}

fn is_hunk(word: &str) -> bool {
    word.strip_prefix('h').is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn revision_number(word: &str) -> Option<u32> {
    match word.parse::<RevisionRef>() {
        Ok(revision) => Some(revision.number),
        Err(()) => word.strip_prefix('r').filter(|digits| is_number(digits))?.parse().ok(),
    }
}

fn answer(word: &str) -> Option<GateAnswer> {
    match word {
        "allow" => Some(GateAnswer::Allow),
        "allow_for_plan" | "allowForPlan" => Some(GateAnswer::AllowForPlan),
        "deny" => Some(GateAnswer::Deny),
        "happened" => Some(GateAnswer::Happened),
        _ => None,
    }
}
