//! What of a plan document a byte of it is.
//!
//! Invariant: an answer names ranges of the moment's own text. Absent: what is done with it.

use super::moment::Moment;
use super::token::{self, Token};
use crate::domain::plan::edit;
use crate::domain::plan::parse::Setting;
use std::ops::Range;

/// What stands at a place.
#[derive(Clone, PartialEq, Debug)]
pub enum At {
    /// The title.
    Title(Range<usize>),
    /// `## Contract`.
    Contract(Range<usize>),
    /// A step's heading: which, counted from 0.
    Step(usize, Range<usize>),
    /// A key of the contract or of a step.
    Key {
        /// Its name.
        name: &'static str,
        /// Of the contract.
        contract: bool,
        /// The word.
        range: Range<usize>,
    },
    /// A part of a value.
    Value {
        /// Whose.
        key: &'static str,
        /// Which part.
        token: Token,
    },
    /// A question of the planner: its number.
    Question(u32, Range<usize>),
    /// Anything else.
    Nothing,
}

/// What stands at a byte.
pub fn at(moment: &Moment<'_>, offset: usize) -> At {
    let layout = &moment.parsed.layout;
    let touches = |range: &Range<usize>| range.start <= offset && offset <= range.end;
    let line = moment.line(offset);
    if let Some(title) = layout.title.as_ref().filter(|title| line.start <= title.start && title.start <= line.end) {
        return At::Title(title.clone());
    }
    if let Some(contract) = &layout.contract {
        if touches(&trimmed(moment, &contract.heading)) {
            return At::Contract(trimmed(moment, &contract.heading));
        }
        if let Some(found) = in_settings(moment, &contract.settings, true, offset) {
            return found;
        }
    }
    if let Some((_, item)) = layout.approved.as_ref().filter(|(_, item)| touches(item)) {
        return At::Key { name: "approved", contract: true, range: item.clone() };
    }
    if let Some((n, step)) = moment.step_at(offset) {
        let heading = trimmed(moment, &step.heading);
        if touches(&heading) {
            return At::Step(n, heading);
        }
        if let Some(found) = in_settings(moment, &step.settings, false, offset) {
            return found;
        }
    }
    let questions = edit::questions(moment.parsed);
    let question = questions.into_iter().find(|question| question.range.contains(&offset));
    question.map_or(At::Nothing, |question| At::Question(question.number, question.range))
}

fn in_settings(moment: &Moment<'_>, settings: &[Setting], contract: bool, offset: usize) -> Option<At> {
    if let Some(setting) = settings.iter().find(|setting| setting.item.start <= offset && offset <= setting.key.end) {
        return Some(At::Key { name: setting.name, contract, range: setting.key.clone() });
    }
    let setting = token::setting_at(settings, moment.text, offset)?;
    let token = token::under(setting.name, moment.text, setting.key.end + 1, offset)?;
    Some(At::Value { key: setting.name, token })
}

/// A heading's range without the line ending.
pub fn trimmed(moment: &Moment<'_>, range: &Range<usize>) -> Range<usize> {
    let text = moment.text.get(range.clone()).unwrap_or("");
    range.start..range.start + text.trim_end().len()
}
