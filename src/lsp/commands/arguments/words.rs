//! Words and numbers of a command, told apart by shape.
//!
//! Invariant: a word that could be the id of a task, where there are more words than the command takes, is never taken
//! for anything else. Absent: named fields.

use super::{Given, Known, Piece, cut, file, once, put_place, put_words, span};
use crate::actions::{Row, Verb, Word};
use crate::domain::ids::*;
use crate::domain::task::action::{GateAnswer, Place, Side};
use serde_json::{Map, Value};

/// Takes words in.
pub(super) fn take(pieces: Vec<Piece>, row: &Row, known: &Known<'_>, given: &mut Given) -> Result<(), String> {
    let words = flat_place(pieces, row, known, given)?;
    let words = switches(words, row, known, given)?;
    told_apart(words, row, known, given)
}

/// Commands that are about a place, or about what stands there.
fn takes_place(row: &Row) -> bool {
    use Verb::{Accept, Ask, Change, Fix, NextHunk, Plan, PreviousHunk, Reject, Resolve, Undo, Why};
    matches!(row.verb, Plan | Change | Fix | Ask | Accept | Reject | Resolve | Undo | Why | NextHunk | PreviousHunk)
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
                super::fields::named(&fields, known, given)?;
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
        } else if has(Word::MaybeGate) && given.gate.is_none() && GateId::read(&word).is_some() {
            given.gate = GateId::read(&word);
        } else if let Some(answer) = GateAnswer::read(&word).filter(|_| has(Word::Verdict)) {
            once(&mut given.answer, answer, "the answer")?;
        } else if let Some(side) = Side::read(&word).filter(|_| has(Word::Side)) {
            once(&mut given.side, side, "the side")?;
        } else if let Some(shown) = ContentHash::read(&word).filter(|_| has(Word::Side)) {
            once(&mut given.shown, shown, "what was shown")?;
        } else if let Some(hunk) = HunkId::read(&word).filter(|_| has(Word::Hunks)) {
            given.hunks.push(hunk);
        } else if let Some(revision) = RevisionRef::number_in(&word).filter(|_| has(Word::Revisions)) {
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
        && (leads && has(Word::Task) && given.task.is_none() && others.len() > room && TaskId::read(first).is_some())
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
