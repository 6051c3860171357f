//! Named fields of a command.
//!
//! Invariant: a name means the same in every command; one that is not known is refused. Absent: words without names.

use super::Reported;
use super::{Given, Known, cut, file, number, once, put_place, put_words, short, span};
use crate::domain::ids::*;
use crate::domain::task::action::{Comment, GateAnswer, Place, Side};
use serde_json::{Map, Value};

/// The comment that asked for it, as the menu of the language server writes it.
fn asked_in(value: &Value) -> Result<Comment, String> {
    let text = value.get("text").and_then(Value::as_str).ok_or("`comment` has no text")?;
    let line = value.get("line").map(|line| number(line, "line")).transpose()?.ok_or("`comment` has no line")?;
    Ok(Comment { line, text: short(text)? })
}

/// Named fields, each of which has one meaning in every command.
pub(super) fn named(fields: &Map<String, Value>, known: &Known<'_>, given: &mut Given) -> Result<(), String> {
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
                    let read = HunkId::read(&hunk);
                    let none = || format!("`{}` is no hunk; one looks like h1a2b3c4d", cut(&hunk));
                    given.hunks.push(read.ok_or_else(none)?);
                }
                if given.hunks.is_empty() {
                    return Err(format!("`{name}` is empty"));
                }
            }
            "file" => once(&mut given.file, file(&text()?, known)?, "the file")?,
            "all" => given.all = flag()?,
            "gate" => once(&mut given.gate, GateId::new(text()?), "the gate")?,
            "answer" => match GateAnswer::read(&text()?) {
                Some(answer) => once(&mut given.answer, answer, "the answer")?,
                None => put_words(given, text()?)?,
            },
            "side" => {
                let side = text()?;
                let read = Side::read(&side).ok_or_else(|| format!("`{}` is neither mine nor theirs", cut(&side)))?;
                once(&mut given.side, read, "the side")?;
            }
            "shown" => {
                let hash = text()?;
                given.shown = Some(ContentHash::read(&hash).ok_or_else(|| format!("`{}` is no hash", cut(&hash)))?);
            }
            "ask" => given.ask = flag()?,
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
                    Value::String(text) => {
                        RevisionRef::number_in(text).ok_or_else(|| format!("`{name}` is no revision"))?
                    }
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
