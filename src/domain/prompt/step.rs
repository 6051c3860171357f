//! What the model of a step is told: rules, the frozen start, the state of the moment.
//!
//! Invariant: `system` and `start` depend on the brief and the call form alone, so that the head of every request of a
//! step is the same byte for byte (G4); `code` alone stands apart. Absent: the transcript between start and now.

use super::data::{RULE, data};
use crate::domain::agent::brief::{AgentKind, Brief};
use crate::domain::agent::cut::one_line;
use crate::domain::agent::dialogue::{Message, ToolSpec};
use crate::domain::agent::forms::{self, CallForm};

/// The rules of the house, with the fixed examples (C11).
pub fn system(kind: AgentKind, form: CallForm, tools: &[ToolSpec]) -> String {
    let task = match kind {
        AgentKind::Edit => {
            "You do one step of an approved plan: you change code with tools, and a program checks the result.\n\n\
             - Do what the step says and nothing else. What the plan does not allow is refused by the tools.\n\
             - Look before you change: `outline` a file, then `read` the items you need.\n\
             - Change code with `edit`, one item at a time. The complete new item goes into a code fence after the \
             call, never into JSON. Leave nothing out with `...`; keep what need not change.\n\
             - If the step cannot be done within its files, call `ask` with `scope`. Do not work around it.\n\
             - When it is done, call `finish`. If the check then fails, you get its errors to mend.\n"
        }
        AgentKind::Explore => {
            "You do one step of an approved plan: you read code with tools and report. Nothing can be changed.\n\n\
             - Answer what the step asks and nothing else.\n\
             - Look at little first: `search` and `outline`, then `read` the items you need.\n\
             - Keep each finding with `note`, with file and line. What is not noted is lost to later steps.\n\
             - When you know enough, call `finish` with the answer in a few sentences.\n"
        }
    };
    format!("{task}- {RULE}\n\n{}", calling(kind, form, tools))
}

fn calling(kind: AgentKind, form: CallForm, tools: &[ToolSpec]) -> String {
    let list = forms::listed(tools, form);
    match (form, kind) {
        (CallForm::Native, AgentKind::Edit) => {
            "Example: to change the constant `LIMIT`, call `edit` with {\"path\": \"src/net.rs\", \"symbol\": \
             \"LIMIT\"} and write in the text of the same message:\n\n\
             ```rust\npub const LIMIT: u32 = 3;\n```\n"
                .to_owned()
        }
        (CallForm::Native, AgentKind::Explore) => String::new(),
        (CallForm::Text, AgentKind::Edit) => format!(
            "Tools (`?` = may be left out):\n{list}\nA call is a JSON fence. Examples:\n\n\
             ```json\n{{\"name\": \"outline\", \"arguments\": {{\"path\": \"src/net.rs\"}}}}\n```\n\n\
             ```json\n{{\"name\": \"edit\", \"arguments\": {{\"path\": \"src/net.rs\", \"symbol\": \"LIMIT\"}}}}\n```\n\
             ```rust\npub const LIMIT: u32 = 3;\n```\n"
        ),
        (CallForm::Text, AgentKind::Explore) => format!(
            "Tools (`?` = may be left out):\n{list}\nA call is a JSON fence. Example:\n\n\
             ```json\n{{\"name\": \"outline\", \"arguments\": {{\"path\": \"src/net.rs\"}}}}\n```\n"
        ),
        (CallForm::Schema, AgentKind::Edit) => format!(
            "Tools (`?` = may be left out):\n{list}\nAnswer with one action, a JSON object. After `edit` and `create` \
             you are asked for the code. Examples:\n\n\
             {{\"tool\": \"outline\", \"path\": \"src/net.rs\"}}\n\
             {{\"tool\": \"edit\", \"path\": \"src/net.rs\", \"symbol\": \"LIMIT\"}}\n"
        ),
        (CallForm::Schema, AgentKind::Explore) => format!(
            "Tools (`?` = may be left out):\n{list}\nAnswer with one action, a JSON object. Example:\n\n\
             {{\"tool\": \"outline\", \"path\": \"src/net.rs\"}}\n"
        ),
    }
}

/// The frozen start, and what finished steps say of themselves. The plan's own words stand as they are, since a person
/// approved them; everything else is data.
pub fn start(brief: &Brief) -> String {
    let mut out = format!("# Goal\n\n{}\n", brief.goal.trim());
    let mut part = |title: &str, text: &str| {
        if !text.trim().is_empty() {
            out.push_str(&format!("\n# {title}\n\n{}\n", text.trim_end()));
        }
    };
    part("Contract", &brief.contract);
    part("Your step", &brief.step);
    let outside = |label: &str, text: &str| if text.trim().is_empty() { String::new() } else { data(label, text) };
    part("Index of artifacts, references and logs", &outside("index", &brief.index));
    part("Code", &outside("context", &brief.context));
    part("Progress when this step began", &outside("progress", &brief.progress));
    part("Finished steps", &outside("summaries", &brief.summaries.join("\n\n")));
    if let Some(learnt) = &brief.learnt {
        part("The attempt before this one failed", &outside("failure", learnt));
    }
    if !brief.said.is_empty() {
        part("The person says", &brief.said.join("\n"));
    }
    out
}

/// Where the step stands, at the end of every request (C6).
#[derive(Clone, Debug)]
pub struct Now<'a> {
    /// This one, from 1.
    pub turn: u32,
    /// Of so many.
    pub turns: u32,
    /// Paths changed so far.
    pub changed: Vec<&'a str>,
    /// Repair rounds used and allowed.
    pub repairs: (u32, u32),
    /// What is expected of this answer.
    pub want: String,
}

/// Goal, constraints and progress of the moment.
pub fn now(brief: &Brief, now: &Now<'_>) -> String {
    let changed = if now.changed.is_empty() { "nothing".to_owned() } else { now.changed.join(", ") };
    let mut out = format!("# Now\n\nGoal: {}\n", one_line(&brief.goal, 300));
    if !brief.contract.trim().is_empty() {
        out.push_str(&format!("Constraints: {}\n", one_line(&brief.contract, 400)));
    }
    if brief.kind == AgentKind::Edit {
        let files: Vec<&str> = brief.rights.write.iter().map(|right| right.glob.as_str()).collect();
        out.push_str(&format!("Write only: {}. Changed so far: {changed}.\n", files.join(", ")));
        if !now.changed.is_empty() {
            // small models make the same edit again and again when nobody says that it may be enough
            out.push_str("If that is all the step asks, call `finish`.\n");
        }
    }
    if now.repairs.0 > 0 {
        out.push_str(&format!("Repair round {} of {}.\n", now.repairs.0, now.repairs.1));
    }
    out.push_str(&format!("Turn {} of {}. {}", now.turn, now.turns, now.want));
    out
}

/// A request for one piece of code and nothing else, for models that write calls by schema only: in the midst of JSON
/// actions they answer with one more of them. What a 1.5B model gets right is one item, shown, asked for in a fence.
pub fn code(brief: &Brief, shown: Option<&str>, failure: Option<&str>, words: &str) -> Vec<Message> {
    let system = format!(
        "You write one piece of code for a step of an approved plan. Answer with one code fence that holds this piece \
         and nothing else: write it again from its first line to its last, with the change made and the rest kept. \
         {RULE}"
    );
    let mut text = format!("# Goal\n\n{}\n\n# Your step\n\n{}\n", brief.goal.trim(), brief.step.trim());
    let mut part = |title: &str, part: Option<&str>| {
        if let Some(part) = part {
            text.push_str(&format!("\n# {title}\n\n{part}\n"));
        }
    };
    part("As it stands", shown);
    part("The check failed", failure);
    text.push_str(&format!("\n{words}"));
    vec![Message::System { text: system }, Message::User { text }]
}

/// What is expected of an ordinary answer.
pub fn want(form: CallForm) -> &'static str {
    match form {
        CallForm::Native => "Call a tool, or `finish`.",
        CallForm::Text => "Answer with the next call as a JSON fence; `finish` when the step is done.",
        CallForm::Schema => "Answer with the next action as one JSON object; `finish` when the step is done.",
    }
}
