//! Edits of a plan document that touch no byte outside their ranges.
//!
//! **Invariant:** the text around an edit stays as the person wrote it, line endings included. **Absent:** applying
//! them; and rendering a whole plan anew, which is for plans that no person has touched.

use super::parse::{Parsed, Remark, RemarkKind, hidden};
use super::render;
use crate::domain::ids::{RevisionRef, StepId};
use crate::domain::problem::Replacement;

/// A question of the planner in the document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// Counted from 1 in the document.
    pub number: u32,
    /// What is asked.
    pub words: String,
    /// What the person answered, if they did.
    pub answer: Option<String>,
    /// The step under which it stands.
    pub step: Option<StepId>,
    /// Its lines, and those of its answer.
    pub range: std::ops::Range<usize>,
}

/// The document's questions in order.
pub fn questions(parsed: &Parsed) -> Vec<Question> {
    let mut out: Vec<Question> = Vec::new();
    for Remark { kind, range, words } in &parsed.layout.remarks {
        match kind {
            RemarkKind::Question => {
                let step = parsed.layout.steps.iter().find(|step| step.range.contains(&range.start));
                out.push(Question {
                    number: u32::try_from(out.len() + 1).unwrap_or(u32::MAX),
                    words: words.clone(),
                    answer: None,
                    step: step.map(|step| step.step.clone()),
                    range: range.clone(),
                });
            }
            RemarkKind::Answer => {
                if let Some(last) = out.last_mut().filter(|last| last.answer.is_none() && !words.is_empty()) {
                    last.answer = Some(words.clone());
                    last.range.end = range.end;
                }
            }
            RemarkKind::Note => {}
        }
    }
    out
}

/// The line ending that the document uses.
fn ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Words on one line, without what could end it or hide in it.
fn one_line(words: &str) -> String {
    let plain: String = words.chars().map(|c| if hidden(c) { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Inserts whole lines behind a place that ends a line, or makes it end one.
fn below(text: &str, at: usize, lines: &str) -> Replacement {
    let line_end = text.get(at..).and_then(|rest| rest.find('\n')).map(|found| at + found + 1);
    let ended = at > 0 && text.get(..at).is_some_and(|before| before.ends_with('\n'));
    let ending = ending(text);
    match line_end {
        _ if ended => Replacement { range: at..at, text: format!("{lines}{ending}") },
        Some(at) => Replacement { range: at..at, text: format!("{lines}{ending}") },
        None => Replacement { range: text.len()..text.len(), text: format!("{ending}{lines}{ending}") },
    }
}

/// The edit that answers a question.
///
/// # Errors
/// A sentence for the person: no such question, it has an answer, or the answer is empty.
pub fn answer(text: &str, number: u32, words: &str) -> Result<Replacement, String> {
    let questions = questions(&super::parse(text));
    let count = questions.len();
    let question = questions.into_iter().find(|question| question.number == number);
    let question = question.ok_or_else(|| match count {
        0 => "the plan asks nothing".to_owned(),
        count => format!("the plan has no question {number}; it has {count}"),
    })?;
    if let Some(answer) = question.answer {
        return Err(format!("question {number} is answered already ({answer}); change the answer in the document"));
    }
    let words = one_line(words);
    if words.is_empty() {
        return Err("the answer is empty; say something".to_owned());
    }
    Ok(below(text, question.range.end, &format!("> answer: {words}")))
}

/// The edit that asks a question: behind a step's settings and instruction, or behind the goal.
pub fn ask(text: &str, step: Option<&StepId>, words: &str) -> Replacement {
    let parsed = super::parse(text);
    let layout = &parsed.layout;
    let ending = ending(text);
    let at = match step.and_then(|id| layout.step(id)) {
        Some(step) => step.range.end,
        None => layout.contract.as_ref().map_or(text.len(), |contract| contract.heading.start),
    };
    let before = text.get(..at).unwrap_or("");
    let gap = match before {
        "" => String::new(),
        text if text.ends_with("\n\n") || text.ends_with("\n\r\n") => String::new(),
        text if text.ends_with('\n') => ending.to_owned(),
        _ => format!("{ending}{ending}"),
    };
    Replacement { range: at..at, text: format!("{gap}> question: {}{ending}{ending}", one_line(words)) }
}

/// The edit that makes assumptions of the questions that nobody answered, and takes these questions out. In document
/// order; empty when all are answered.
pub fn assume_unanswered(text: &str) -> Vec<Replacement> {
    let parsed = super::parse(text);
    let open: Vec<Question> = questions(&parsed).into_iter().filter(|question| question.answer.is_none()).collect();
    let Some(contract) = parsed.layout.contract.as_ref().filter(|_| !open.is_empty()) else { return vec![] };
    let items: Vec<String> = open
        .iter()
        .map(|question| format!("- assume: the planner's choice where it asked: {}", free(&question.words)))
        .collect();
    let mut out = vec![add_item(text, contract.end, contract.settings.is_empty(), &items.join(ending(text)))];
    out.extend(open.into_iter().map(|question| Replacement { range: question.range, text: String::new() }));
    out.sort_by_key(|edit| edit.range.start);
    out
}

/// Free text that stays one value.
fn free(words: &str) -> String {
    one_line(words).replace("; ", ", ").trim_end_matches(';').to_owned()
}

/// Adds items to the Contract. Without any item yet a blank line comes first.
fn add_item(text: &str, at: usize, first: bool, items: &str) -> Replacement {
    let mut edit = below(text, at, items);
    if first {
        edit.text = format!("{}{}", ending(text), edit.text);
    }
    edit
}

/// The edit that writes the text-only approval as the last item of the Contract, in place of an older one.
///
/// # Errors
/// A sentence for the person when the document has no contract.
pub fn approve(text: &str, revision: &RevisionRef) -> Result<Replacement, String> {
    let parsed = super::parse(text);
    let item = format!("- approved: {revision}");
    if let Some((_, range)) = parsed.layout.approved {
        return Ok(Replacement { range, text: item });
    }
    let contract = parsed.layout.contract.ok_or("the plan has no contract to approve; add `## Contract`")?;
    Ok(add_item(text, contract.end, contract.settings.is_empty(), &item))
}

/// The edit that takes a step out, with its notes and everything else under its heading.
///
/// # Errors
/// A sentence for the person when there is no such step, or others wait for it.
pub fn delete_step(text: &str, id: &StepId) -> Result<Replacement, String> {
    let parsed = super::parse(text);
    let step = parsed.layout.step(id).ok_or_else(|| format!("the plan has no step `{id}`"))?;
    let waits = |step: &&super::Step| matches!(&step.after, super::After::Steps { steps, .. } if steps.contains(id));
    if let Some(waiting) = parsed.plan.steps.iter().find(waits) {
        return Err(format!("step `{}` comes after `{id}`; change its `after` first", waiting.id));
    }
    Ok(Replacement { range: step.range.clone(), text: String::new() })
}

/// The edit that adds a step at the end of the Steps section.
///
/// # Errors
/// A sentence for the person when the document has no Steps section.
pub fn add_step(text: &str, step: &super::Step) -> Result<Replacement, String> {
    let parsed = super::parse(text);
    let heading = parsed.layout.steps_heading.as_ref().ok_or("the plan has no `## Steps`; add it")?;
    let at = parsed.layout.steps.last().map_or(heading.end, |step| step.range.end);
    let ending = ending(text);
    let before = text.get(..at).unwrap_or("");
    let gap = if before.ends_with("\n\n") || before.ends_with("\n\r\n") {
        String::new()
    } else if before.ends_with('\n') {
        ending.to_owned()
    } else {
        format!("{ending}{ending}")
    };
    let words = render::step(step).replace('\n', ending);
    let tail = if at < text.len() { ending } else { "" };
    Ok(Replacement { range: at..at, text: format!("{gap}{words}{tail}") })
}

/// Applies edits that do not overlap, given in document order.
pub fn apply(text: &str, edits: &[Replacement]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.range.start).unwrap_or(""));
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    out
}
