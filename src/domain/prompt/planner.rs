//! How a plan is asked for, and what is done with an answer that is none: a machine without IO.
//!
//! Invariant: the same brief, replies and findings give the same requests; at most two repair rounds; an answer that
//! was cut is never completed. What cannot be repaired is kept as a draft with its problems. Absent: compiling a plan;
//! the findings come in as sentences.

use super::data::{RULE, data};
use crate::domain::agent::arguments::{self, Unknown};
use crate::domain::agent::cut::{self, Limit};
use crate::domain::agent::dialogue::{Finish, Message, ModelFault, ModelFaultKind, ModelReply, ModelRequest};
use crate::domain::agent::lenient;
use crate::domain::task::action::Goal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The rules of the planner.
pub const SYSTEM: &str = "You plan changes to a code base. A program compiles your plan, a person approves it, and a \
runtime then executes exactly that, step by step.\n\n\
- Answer with one JSON object of the given schema and nothing else.\n\
- A few steps, each small enough to be judged by its own check. Steps run in order unless `after` says otherwise.\n\
- Most goals need `edit` steps and nothing else: such a step reads the code itself. A `transform` renames one symbol, or \
replaces one pattern wherever it stands, and can do no more. An `explore` comes only where nobody knows yet what to \
change.\n\
- An `edit` step names every file it may write; nothing else can be written. A file that does not exist yet is marked \
new. Name only files and symbols that you were shown, or that an earlier step makes.\n\
- `scope` covers every file that any step writes. `accept` holds the commands that judge the whole; use the detected \
ones.\n\
- Commands are plain programs with arguments: no pipes, no `&&`, no redirection.\n\
- Put into a step's instruction what its reader must know: it does not see the other steps.\n\
- What you cannot know and only the person can, ask as a question. What you take for granted, state as an assumption.\n";

/// What the planner is told.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlannerBrief {
    /// What is wanted, where.
    pub goal: Goal,
    /// Scoped code, as `preview` shows it.
    pub context: String,
    /// Texts of the references that came with the goal, each with its path.
    pub references: Vec<(String, String)>,
    /// Commands that the project is checked with, as found.
    pub checks: Vec<String>,
    /// What files there are, in short.
    pub files: String,
    /// Of the answer.
    pub schema: Value,
    /// What there is already.
    pub task: PlannerTask,
    /// Upper bound of one answer, tokens.
    pub max_tokens: u32,
}

/// A first plan or another one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerTask {
    /// There is no plan yet.
    New,
    /// The plan is to be changed in words.
    Revise {
        /// As JSON.
        plan: Value,
        /// What to change.
        words: String,
        /// Why the runtime proposes it, or notes and answers of the person, a line each.
        notes: Vec<String>,
        /// Steps that are done and must stay as they are.
        done: Vec<String>,
    },
}

/// What the caller does next.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerMove {
    /// Ask the model; answer with `take_reply`.
    Model(ModelRequest),
    /// It satisfies the schema. Compile it; findings go to `take_findings`, none means that the plan stands.
    Done(Value),
    /// It cannot be repaired: what there is, and what is wrong with it.
    Draft {
        /// The last answer that was a plan by schema.
        plan: Option<Value>,
        /// The last answer as text, where there is none.
        text: String,
        /// For the person.
        problems: Vec<String>,
    },
    /// There was no answer at all.
    Failed(ModelFault),
}

/// Rounds after the first answer.
pub const REPAIRS: u32 = 2;

/// What is left of the context when the prompt was too long: about 2,000 tokens.
const TIGHT: Limit = Limit { lines: 200, bytes: 8_000 };

/// An earlier answer shown to the model again, at most.
const SHOWN: Limit = Limit { lines: 600, bytes: 24_000 };

/// A planner at work.
#[derive(Clone, Debug)]
pub struct Planner {
    brief: PlannerBrief,
    tight: bool,
    rounds: u32,
    answer: Option<String>,
    plan: Option<Value>,
    problems: Vec<String>,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Asking,
    Answered(Value),
    GivenUp,
    Failed(ModelFault),
}

impl Planner {
    /// Planning begins.
    pub fn start(brief: PlannerBrief) -> Self {
        Self { brief, tight: false, rounds: 0, answer: None, plan: None, problems: Vec::new(), state: State::Asking }
    }

    /// The move of the moment; the same until something is taken.
    pub fn next(&self) -> PlannerMove {
        match &self.state {
            State::Asking => PlannerMove::Model(self.request()),
            State::Answered(plan) => PlannerMove::Done(plan.clone()),
            State::GivenUp => PlannerMove::Draft {
                plan: self.plan.clone(),
                text: self.answer.clone().unwrap_or_default(),
                problems: self.problems.clone(),
            },
            State::Failed(fault) => PlannerMove::Failed(fault.clone()),
        }
    }

    /// Takes the model's answer. Without a request in flight it is ignored.
    pub fn take_reply(&mut self, reply: Result<ModelReply, ModelFault>) {
        if !matches!(self.state, State::Asking) {
            return;
        }
        let reply = match reply {
            Ok(reply) => reply,
            Err(fault) => return self.fault(fault),
        };
        let text = lenient::without_thinking(&reply.text).trim().to_owned();
        self.answer = Some(text.clone());
        match reply.finish {
            Finish::Length => self.repair(vec![
                "the answer was cut at its length limit; answer again, with fewer and shorter steps".to_owned(),
            ]),
            Finish::Refusal(why) => {
                self.problems = vec![format!("the model refused: {}", cut::one_line(&why, 300))];
                self.state = State::GivenUp;
            }
            Finish::Stop | Finish::Calls => match lenient::whole(&text) {
                Err(fault) => self.repair(vec![format!("expected one JSON object, received {}", fault.words())]),
                Ok(value) => match arguments::check_value(value, &self.brief.schema, Unknown::Refuse, Vec::new()) {
                    Ok(checked) => {
                        self.plan = Some(checked.value.clone());
                        self.state = State::Answered(checked.value);
                    }
                    Err(wrong) => self.repair(wrong.iter().map(ToString::to_string).collect()),
                },
            },
        }
    }

    /// Takes the compiler's findings on a plan that was `Done`.
    pub fn take_findings(&mut self, findings: Vec<String>) {
        if matches!(self.state, State::Answered(_)) && !findings.is_empty() {
            self.repair(findings);
        }
    }

    /// Repair rounds used.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    fn fault(&mut self, fault: ModelFault) {
        match fault.kind {
            ModelFaultKind::ContextTooLong if !self.tight => self.tight = true,
            ModelFaultKind::Empty => self.repair(vec!["the answer was empty".to_owned()]),
            _ if self.plan.is_some() => {
                self.problems.push(format!("the repair failed: {} ({})", fault.message, fault.next));
                self.state = State::GivenUp;
            }
            _ => self.state = State::Failed(fault),
        }
    }

    fn repair(&mut self, problems: Vec<String>) {
        self.problems = problems;
        if self.rounds >= REPAIRS {
            self.state = State::GivenUp;
        } else {
            self.rounds += 1;
            self.state = State::Asking;
        }
    }

    fn request(&self) -> ModelRequest {
        let mut messages =
            vec![Message::System { text: format!("{SYSTEM}- {RULE}\n") }, Message::User { text: self.start_text() }];
        if !self.problems.is_empty() {
            let shown = self.answer.as_deref().filter(|text| !text.is_empty()).unwrap_or("(nothing)");
            let shown = cut::cut(shown, SHOWN, "the rest is left out").unwrap_or_else(|| shown.to_owned());
            messages.push(Message::Assistant { text: shown, calls: Vec::new() });
            let problems: String = self.problems.iter().map(|problem| format!("- {problem}\n")).collect();
            messages.push(Message::User {
                text: format!(
                    "The plan cannot be used as it is. Answer with the whole plan again, as one JSON object, with these \
                     mended:\n\n{}",
                    data("findings", &problems)
                ),
            });
        }
        ModelRequest {
            messages,
            tools: Vec::new(),
            schema: Some(self.brief.schema.clone()),
            max_tokens: self.brief.max_tokens,
            trace: None,
        }
    }

    fn start_text(&self) -> String {
        let brief = &self.brief;
        let fit = |text: &str| match cut::cut(text, TIGHT, "left out, the model's window is small") {
            Some(short) if self.tight => short,
            Some(_) | None => text.to_owned(),
        };
        let mut out = format!("# Goal\n\n{}\n", brief.goal.words.trim());
        if let Some(place) = &brief.goal.place {
            let lines = place.lines.map(|(first, last)| format!(", lines {first} to {last}")).unwrap_or_default();
            out.push_str(&format!("\nPlace: `{}`{lines}\n", place.path));
        }
        let mut part = |title: &str, label: &str, text: &str| {
            if !text.trim().is_empty() {
                out.push_str(&format!("\n# {title}\n\n{}\n", data(label, &fit(text))));
            }
        };
        part("Files", "files", &brief.files);
        part("Code at the place", "context", &brief.context);
        for (path, text) in &brief.references {
            part("Reference", path, text);
        }
        part("Checks of this project, as detected", "checks", &brief.checks.join("\n"));
        if let PlannerTask::Revise { plan, words, notes, done } = &brief.task {
            let plan = serde_json::to_string_pretty(plan).unwrap_or_default();
            part("The plan as it is", "plan", &plan);
            if !done.is_empty() {
                out.push_str(&format!("\nDone, and to stay exactly as they are: {}\n", done.join(", ")));
            }
            let notes: String = notes.iter().map(|note| format!("\n- {note}")).collect();
            out.push_str(&format!("\n# What to change in it\n\n{}{notes}\n\nChange nothing else.\n", words.trim()));
        }
        // small servers enforce the schema without showing it to the model
        out.push_str(&format!("\n# Schema of the answer\n\n{}\n", brief.schema));
        out
    }
}

#[cfg(test)]
mod tests;
