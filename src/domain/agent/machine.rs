//! The loop inside a step: what to do next, given everything that came back so far.
//!
//! Invariant: deterministic. A machine that is started from the same brief and takes the same answers in the same order
//! makes the same moves, byte for byte; the caller journals each move before it is done and rebuilds the machine from
//! its journal. Nothing of a partial or cut answer is executed. Absent: clocks, randomness, ports, the verdict on the
//! work (F5): `Done` is the model's word and no more.

use super::brief::{AgentKind, Brief};
use super::calls::{self, Resolved, Wanted};
use super::cut::{self, one_line};
use super::dialogue::{Finish, Message, ModelFault, ModelFaultKind, ModelReply, ModelRequest, ToolCall, ToolSpec};
use super::forms::{self, CallForm, Found, FoundCall};
use super::guards::{Misses, REPEATS, Repeats};
use super::order::{Act, ToolError, ToolOrder, ToolResult};
use super::transcript::{Slot, Transcript, rendered, say};
use crate::domain::policy::tools::{self, EffectClass, ToolRow};
use crate::domain::prompt::data::data;
use crate::domain::prompt::step;
use crate::domain::task::event::Cause;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// What the caller does next.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    /// Ask the model.
    Model(ModelRequest),
    /// Do a call.
    Tool(ToolOrder),
    /// The model says that the step is done; the verifier decides. Answer `Check` with its errors, if there are any.
    Done {
        /// In the model's words.
        summary: String,
        /// Findings it kept.
        notes: Vec<String>,
    },
    /// The attempt cannot go on.
    Stopped {
        /// Named (B16).
        cause: Cause,
        /// What was tried, what was seen.
        message: String,
    },
    /// A person must answer; answer `Person`.
    AskPerson {
        /// What.
        question: String,
    },
    /// The step needs more than its write set; answer `Person`, or end the attempt and revise the plan.
    AskScope {
        /// What it wants to write, as the model wrote it.
        paths: Vec<String>,
        /// Why.
        reason: String,
    },
}

/// What came back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To `Move::Model`.
    Model(Result<ModelReply, ModelFault>),
    /// To `Move::Tool`.
    Tool(ToolResult),
    /// To `Move::Done`: the check's errors; none means that it passed.
    Check(Vec<String>),
    /// To `Move::AskPerson` and `Move::AskScope`.
    Person(String),
    /// At any time: an instruction that reaches the next request.
    Said(String),
}

/// Where the machine stands.
#[derive(Clone, Debug)]
enum State {
    Model,
    Code(Wanted, u32),
    Tool(ToolOrder, Slot),
    /// The text that an `edit` without code is about, read for it.
    Look(ToolOrder, Slot),
    Person {
        question: String,
        slot: Slot,
    },
    Scope {
        paths: Vec<String>,
        reason: String,
        slot: Slot,
    },
    Done {
        summary: String,
        slot: Option<Slot>,
    },
    Stopped {
        cause: Cause,
        message: String,
    },
}

/// Answers in a row without a usable call, by kind, after which the attempt ends.
const PATIENCE: u32 = 2;

/// Tokens without which no useful answer fits.
const LEAST_ANSWER: u64 = 256;

/// An agent at its step.
#[derive(Clone, Debug)]
pub struct Agent {
    brief: Brief,
    form: CallForm,
    /// A call in `form` has been seen.
    proven: bool,
    transcript: Transcript,
    state: State,
    /// The request of this state was handed out: words said from now on wait for the next.
    issued: bool,
    queue: VecDeque<(usize, FoundCall)>,
    /// A call of the same message failed or waits for code.
    held: Option<&'static str>,
    wanted: Option<Wanted>,
    said: Vec<String>,
    notes: Vec<String>,
    changed: BTreeSet<String>,
    repeats: Repeats,
    misses: Misses,
    turns: u32,
    used: u64,
    repairs: u32,
    slips: u32,
    calls: u32,
    useful: bool,
    shrunk: bool,
    doubted: bool,
    /// What the last check said, marked as data.
    failure: Option<String>,
    last: String,
}

impl Agent {
    /// An attempt begins.
    pub fn start(brief: Brief) -> Self {
        let form = brief.form;
        let mut agent = Self {
            brief,
            form,
            proven: false,
            transcript: Transcript::default(),
            state: State::Model,
            issued: false,
            queue: VecDeque::new(),
            held: None,
            wanted: None,
            said: Vec::new(),
            notes: Vec::new(),
            changed: BTreeSet::new(),
            repeats: Repeats::default(),
            misses: Misses::default(),
            turns: 0,
            used: 0,
            repairs: 0,
            slips: 0,
            calls: 0,
            useful: false,
            shrunk: false,
            doubted: false,
            failure: None,
            last: String::new(),
        };
        agent.turn(State::Model);
        agent
    }

    /// The move of the moment; the same until an answer is taken. Call it right before the move is journaled: words
    /// said later wait for the next request.
    #[expect(clippy::should_implement_trait, reason = "a machine has a next move; it is no sequence of them")]
    pub fn next(&mut self) -> Move {
        if matches!(self.state, State::Model | State::Code(..)) && !self.issued {
            for words in std::mem::take(&mut self.said) {
                self.transcript.word(format!("The person says: {words}"));
            }
            self.issued = true;
        }
        match &self.state {
            State::Model | State::Code(..) => Move::Model(self.request()),
            State::Tool(order, _) | State::Look(order, _) => Move::Tool(order.clone()),
            State::Person { question, .. } => Move::AskPerson { question: question.clone() },
            State::Scope { paths, reason, .. } => Move::AskScope { paths: paths.clone(), reason: reason.clone() },
            State::Done { summary, .. } => Move::Done { summary: summary.clone(), notes: self.notes.clone() },
            State::Stopped { cause, message } => Move::Stopped { cause: *cause, message: message.clone() },
        }
    }

    /// Takes what came back. An answer to something else than the move of the moment ends the attempt: the journal
    /// does not fit.
    pub fn take(&mut self, answer: Answer) {
        match (self.state.clone(), answer) {
            (_, Answer::Said(words)) => self.said.push(words),
            (State::Model | State::Code(..), Answer::Model(Err(fault))) => self.fault(&fault),
            (State::Model, Answer::Model(Ok(reply))) => {
                if self.complete(&reply) {
                    self.reply(&reply);
                }
            }
            (State::Code(wanted, asked), Answer::Model(Ok(reply))) => {
                if self.complete(&reply) {
                    self.code(wanted, asked, &reply);
                }
            }
            (State::Tool(order, slot), Answer::Tool(result)) => self.result(&order, slot, &result),
            (State::Look(_, slot), Answer::Tool(result)) => self.looked(slot, &result),
            (State::Person { slot, .. } | State::Scope { slot, .. }, Answer::Person(words)) => {
                self.transcript.answer(slot, "ask", format!("The person answers: {words}"));
                self.advance();
            }
            (State::Done { slot, .. }, Answer::Check(errors)) => self.check(slot, &errors),
            (State::Stopped { .. }, _) => {}
            (_, Answer::Model(_) | Answer::Tool(_) | Answer::Check(_) | Answer::Person(_)) => {
                self.stop(Cause::ToolFault, "an answer came to something that was not asked; the journal does not fit");
            }
        }
    }

    /// The form of calls that works with this model, to be remembered. `None` until a call has been seen.
    pub fn form(&self) -> Option<CallForm> {
        self.proven.then_some(self.form)
    }

    /// Exchanges with the model so far.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Slips in arguments that were mended (C2).
    pub fn slips(&self) -> u32 {
        self.slips
    }

    /// Repair rounds used.
    pub fn repairs(&self) -> u32 {
        self.repairs
    }

    fn request(&self) -> ModelRequest {
        let specs = self.specs();
        let (messages, schema) = match &self.state {
            // In the midst of their own JSON calls small models answer with the same call once more.
            State::Code(wanted, asked) if self.form != CallForm::Native || *asked > 1 => {
                let words = format!("{} {}", wanted.complaint.as_deref().unwrap_or(""), wanted.words());
                let failure = self.failure.as_deref();
                (step::code(&self.brief, wanted.shown.as_deref(), failure, words.trim_start()), None)
            }
            State::Code(wanted, _) => (self.messages(&specs, wanted.words()), None),
            _ => {
                let schema = (self.form == CallForm::Schema).then(|| forms::schema(&specs));
                (self.messages(&specs, step::want(self.form).to_owned()), schema)
            }
        };
        let room = self.left().map(|left| left.saturating_sub(estimate(&messages, &specs))).unwrap_or(u64::MAX);
        let max_tokens = self.brief.limits.max_tokens.min(u32::try_from(room).unwrap_or(u32::MAX));
        let tools = if self.form == CallForm::Native { specs } else { Vec::new() };
        ModelRequest { messages, tools, schema, max_tokens, trace: None }
    }

    fn messages(&self, specs: &[ToolSpec], want: String) -> Vec<Message> {
        let mut messages = vec![Message::System { text: step::system(self.brief.kind, self.form, specs) }];
        say(&mut messages, &step::start(&self.brief));
        self.transcript.render(&mut messages);
        let now = step::Now {
            turn: self.turns + 1,
            turns: self.brief.limits.turns,
            changed: self.changed.iter().map(String::as_str).collect(),
            repairs: (self.repairs, self.brief.limits.repairs),
            want,
        };
        say(&mut messages, &step::now(&self.brief, &now));
        messages
    }

    fn specs(&self) -> Vec<ToolSpec> {
        tools::table().iter().filter(|row| self.brief.rights.has_tool(row.name)).map(ToolRow::spec).collect()
    }

    fn left(&self) -> Option<u64> {
        self.brief.limits.tokens_left.map(|left| left.saturating_sub(self.used))
    }

    /// Enters a state that asks the model, if turns and tokens allow.
    fn turn(&mut self, state: State) {
        (self.state, self.issued) = (state, false);
        if self.turns >= self.brief.limits.turns {
            let why = format!("the step used all its {} turns", self.brief.limits.turns);
            return self.stop(Cause::Guard, &why);
        }
        let request = self.request();
        let need = estimate(&request.messages, &request.tools) + LEAST_ANSWER;
        if let Some(left) = self.left().filter(|left| *left < need) {
            let why = format!("{left} tokens are left of the budget, and the next request needs about {need}");
            self.stop(Cause::Budget, &why);
        }
    }

    fn again(&mut self) {
        self.turn(self.state.clone());
    }

    fn stop(&mut self, cause: Cause, why: &str) {
        let changed = match self.changed.len() {
            0 => "nothing was changed".to_owned(),
            _ => format!("changed so far: {}", self.changed.iter().cloned().collect::<Vec<_>>().join(", ")),
        };
        let mut message = format!("{why}. After {} turns and {} repair rounds, {changed}.", self.turns, self.repairs);
        if !self.last.is_empty() {
            message.push_str(&format!(" The last result was {}.", self.last.trim_end_matches('.')));
        }
        self.state = State::Stopped { cause, message };
    }
}

fn fenced(name: &str) -> bool {
    tools::row(name).is_some_and(|row| row.fenced)
}

/// Tokens of a request, roughly: four bytes each, and a few for the frame of each message.
fn estimate(messages: &[Message], tools: &[ToolSpec]) -> u64 {
    let bytes: usize = messages
        .iter()
        .map(|message| match message {
            Message::System { text } | Message::User { text } => text.len(),
            Message::Assistant { text, calls } => {
                text.len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
            }
            Message::Tool { text, .. } => text.len(),
        })
        .sum();
    let offered: usize = tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len()).sum();
    u64::try_from((bytes + offered) / 4 + messages.len() * 8).unwrap_or(u64::MAX)
}

mod answers;
mod working;

#[cfg(test)]
mod tests;
