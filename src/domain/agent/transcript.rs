//! What was said in a step so far, and how it is put into messages.
//!
//! Invariant: an item, once rendered into a request, is rendered to the same bytes in every later one, until results
//! are dropped to make room (G4). Absent: the frozen start and the state of the moment; `prompt::step` makes them.

use super::cut;
use super::dialogue::{Message, ToolCall};
use super::order::ToolResult;
use crate::domain::prompt::data::data;

/// Items in order.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    items: Vec<Item>,
}

#[derive(Clone, Debug)]
enum Item {
    /// The model's.
    Reply { text: String, calls: Vec<Called>, native: bool },
    /// Ours: a person's words, a remark of the runtime.
    Word { text: String },
    /// The result of a call whose code came in a message of its own.
    Late { name: String, answer: Body },
}

#[derive(Clone, Debug)]
struct Called {
    call: ToolCall,
    answer: Option<Body>,
}

/// An answer to a call; its body can be dropped, its last line stays.
#[derive(Clone, Debug)]
struct Body {
    text: String,
    dropped: bool,
}

/// Where the answer to a call goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// To this call of the last reply that has calls.
    Call(usize),
    /// Behind the last item.
    Late,
}

/// Replies whose results are kept when older ones are dropped.
const KEPT: usize = 2;

impl Transcript {
    /// The model said something.
    pub fn reply(&mut self, text: &str, calls: Vec<ToolCall>, native: bool) {
        let calls = calls.into_iter().map(|call| Called { call, answer: None }).collect();
        self.items.push(Item::Reply { text: text.to_owned(), calls, native });
    }

    /// We say something.
    pub fn word(&mut self, text: impl Into<String>) {
        self.items.push(Item::Word { text: text.into() });
    }

    /// A call is answered with text of the runtime or a person.
    pub fn answer(&mut self, slot: Slot, name: &str, text: String) {
        let body = Body { text, dropped: false };
        match slot {
            Slot::Late => self.items.push(Item::Late { name: name.to_owned(), answer: body }),
            Slot::Call(n) => {
                let last = self.items.iter_mut().rev().find_map(|item| match item {
                    Item::Reply { calls, .. } if !calls.is_empty() => Some(calls),
                    Item::Reply { .. } | Item::Word { .. } | Item::Late { .. } => None,
                });
                if let Some(called) = last.and_then(|calls| calls.get_mut(n)) {
                    called.answer = Some(body);
                }
            }
        }
    }

    /// Drops the bodies of all results but those of the last replies. Returns the bytes that are gone.
    pub fn shrink(&mut self) -> usize {
        let replies = self.items.iter().filter(|item| matches!(item, Item::Reply { .. })).count();
        let mut seen = 0;
        let mut gone = 0;
        for item in &mut self.items {
            seen += usize::from(matches!(item, Item::Reply { .. }));
            if seen + KEPT > replies {
                break;
            }
            match item {
                Item::Reply { calls, .. } => {
                    gone += calls.iter_mut().filter_map(|called| called.answer.as_mut()).map(Body::drop).sum::<usize>();
                }
                Item::Late { answer, .. } => gone += answer.drop(),
                Item::Word { .. } => {}
            }
        }
        gone
    }

    /// As messages, with neighbours of the same speaker joined: some chat templates demand strict turns.
    pub fn render(&self, into: &mut Vec<Message>) {
        for item in &self.items {
            match item {
                Item::Reply { text, calls, native: true } => {
                    let sent = calls.iter().map(|called| called.call.clone()).collect();
                    into.push(Message::Assistant { text: text.clone(), calls: sent });
                    into.extend(calls.iter().map(|called| Message::Tool {
                        call: called.call.id.clone(),
                        name: called.call.name.clone(),
                        text: called.answer.as_ref().map_or_else(String::new, |body| body.text.clone()),
                    }));
                }
                Item::Reply { text, calls, native: false } => {
                    into.push(Message::Assistant { text: text.clone(), calls: Vec::new() });
                    for called in calls {
                        if let Some(body) = &called.answer {
                            say(into, &format!("Result of `{}`:\n{}", called.call.name, body.text));
                        }
                    }
                }
                Item::Word { text } => say(into, text),
                Item::Late { name, answer } => say(into, &format!("Result of `{name}`:\n{}", answer.text)),
            }
        }
    }
}

impl Body {
    fn drop(&mut self) -> usize {
        let note = format!("[{} bytes dropped to make room; make the call again if you need them]", self.text.len());
        if self.dropped || note.len() >= self.text.len() {
            return 0;
        }
        let gone = self.text.len() - note.len();
        (self.text, self.dropped) = (note, true);
        gone
    }
}

/// Adds our words; to the last message, if it is ours.
pub fn say(into: &mut Vec<Message>, words: &str) {
    match into.last_mut() {
        Some(Message::User { text }) => {
            text.push_str("\n\n");
            text.push_str(words);
        }
        Some(Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. }) | None => {
            into.push(Message::User { text: words.to_owned() });
        }
    }
}

/// A tool's result as the model reads it: what came from files and programs is marked as data, the structure of an
/// error is ours.
pub fn rendered(name: &str, result: &ToolResult) -> String {
    match result {
        ToolResult::Ok { text, .. } => data(name, &shortened(text)),
        ToolResult::Err(error) => format!(
            "error: not done\n{}\nretry the same call: {}\ninstead: {}",
            data(name, &shortened(&error.what)),
            if error.retry { "yes" } else { "no" },
            error.instead
        ),
    }
}

fn shortened(text: &str) -> String {
    let more = "call again with a narrower range for more";
    cut::cut(text, cut::RESULT, more).unwrap_or_else(|| text.to_owned())
}
