//! The plan as JSON: what a planner answers in, and the full projection for programs.
//!
//! The planner's form is flat and small, for weak models: strings where the document has its own grammar for a value,
//! so that a model needs no second notation. It is read through the same table of keys as a document.
//!
//! **Invariant:** nothing of an answer is dropped in silence; what cannot be used is named. **Absent:** judging the
//! plan (`check`), and asking again (the planner).

use super::model::*;
use super::parse::scan::ticked;
use super::parse::{goal_prose, parse, prose, slug};
use super::render::render;
use crate::domain::ids::StepId;
use crate::domain::problem::{Problem, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Changes with every release that alters the planner's form.
pub const VERSION: u32 = 1;

/// What a planner answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Answer {
    /// A few words: what will be done.
    pub title: String,
    /// Globs that every change stays in, for example "src/net/**".
    pub scope: Vec<String>,
    /// Commands that must succeed at the end, for example "cargo test".
    pub accept: Vec<String>,
    /// The steps in the order of work.
    pub steps: Vec<AnswerStep>,
    /// What you take for granted, one sentence each.
    pub assumptions: Vec<String>,
    /// What only the person can decide, at most three. Leave empty if you can choose yourself.
    pub questions: Vec<String>,
    /// Wishes for the work that no program can check, one sentence each.
    pub advice: Vec<String>,
}

/// One step of the answer.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AnswerStep {
    /// One short word in lower case, different for each step.
    pub id: String,
    /// A few words: what this step does.
    pub title: String,
    /// What kind of step it is.
    pub kind: AnswerKind,
    /// For edit: the files to change or create. For explore: the files or globs to read. Else empty.
    pub files: Vec<AnswerFile>,
    /// For run: the command, without pipes, variables or `&&`. Else "".
    pub command: String,
    /// For transform: "rename `old` to `new`" or "rewrite `pattern` to `pattern`". Else "".
    pub rule: String,
    /// Ids of steps that must be done before this one. Empty: the step above.
    pub after: Vec<String>,
    /// A command that must succeed after this step, for example "cargo check"; "" for none. For kind check: the check.
    pub check: String,
    /// What to do, in full sentences, for whoever does the step.
    pub instruction: String,
}

/// Kinds of steps that a planner may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnswerKind {
    /// A model changes files.
    #[default]
    Edit,
    /// A model reads files and reports.
    Explore,
    /// A rename or rewrite without a model.
    Transform,
    /// A command that changes files.
    Run,
    /// A command that only judges.
    Check,
    /// A person decides.
    Ask,
}

/// A file of a step.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AnswerFile {
    /// Relative to the workspace.
    pub path: String,
    /// True if the step creates it.
    pub new: bool,
    /// The function or type to change, for example "Client::send"; "" for the whole file.
    pub focus: String,
}

/// The schema of [`Answer`]: draft 2020-12, without references, every field required and none besides, as strict
/// modes of providers want it.
pub fn schema() -> Value {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<Answer>().to_value();
    strict(&mut schema);
    if let Value::Object(map) = &mut schema {
        map.insert("$id".to_owned(), json!(format!("planwright:plan-answer:{VERSION}")));
        map.insert("title".to_owned(), json!("Plan"));
    }
    schema
}

fn strict(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            // With defaults a strict mode would have to guess; every field is asked for instead.
            map.remove("default");
            if let Some(Value::Object(fields)) = map.get("properties") {
                let names: Vec<_> = fields.keys().cloned().collect();
                map.insert("required".to_owned(), json!(names));
                map.insert("additionalProperties".to_owned(), json!(false));
            }
            map.values_mut().for_each(strict);
        }
        Value::Array(items) => items.iter_mut().for_each(strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A plan from a planner's answer, its questions, and what of the answer could not be used (for the repair round).
///
/// The answer is written as a document and read again, so that a value means the same in both.
pub fn from_json(value: &Value) -> (Plan, Vec<String>, Vec<String>) {
    let answer: Answer = match serde_json::from_value(value.clone()) {
        Ok(answer) => answer,
        Err(fault) => return (Plan::default(), vec![], vec![format!("the answer does not fit the schema: {fault}")]),
    };
    let mut plan = Plan { title: line(&answer.title), ..Plan::default() };
    let mut problems = Vec::new();
    contract(&answer, &mut plan, &mut problems);
    for (n, from) in answer.steps.iter().enumerate() {
        let step = step(from, n + 1, &mut problems);
        plan.steps.push(step);
    }
    let ids: Vec<StepId> = plan.steps.iter().map(|step| step.id.clone()).collect();
    for (from, step) in answer.steps.iter().zip(&mut plan.steps) {
        let after: Vec<StepId> = from.after.iter().map(|id| clean_id(id, 0)).filter(|id| *id != step.id).collect();
        if after.iter().any(|id| id.as_str() == "none") {
            step.after = After::Nothing;
        } else if !after.is_empty() {
            for unknown in after.iter().filter(|id| !ids.contains(id) && id.as_str() != "review") {
                problems.push(format!("steps.{}.after: no step is called `{unknown}`", step.id));
            }
            let review = after.iter().any(|id| id.as_str() == "review");
            let steps = after.into_iter().filter(|id| id.as_str() != "review").collect();
            step.after = After::Steps { steps, review };
        }
    }
    let questions = answer.questions.iter().map(|words| line(words)).filter(|words| !words.is_empty()).collect();
    (plan.tidy(), questions, problems)
}

fn contract(answer: &Answer, plan: &mut Plan, problems: &mut Vec<String>) {
    let contract = &mut plan.contract;
    contract.scope = answer.scope.iter().map(|glob| line(glob)).filter(|glob| !glob.is_empty()).collect();
    for (n, text) in answer.accept.iter().enumerate() {
        match value("accept", text) {
            Ok(read) => contract.accept.extend(read.contract.accept),
            Err(why) => problems.push(format!("accept[{n}]: {why}")),
        }
    }
    contract.advice = answer.advice.iter().map(|words| line(words)).collect();
    contract.assume = answer.assumptions.iter().map(|words| Assumption { text: line(words), test: None }).collect();
}

fn step(from: &AnswerStep, n: usize, problems: &mut Vec<String>) -> Step {
    let id = clean_id(if from.id.trim().is_empty() { &from.title } else { &from.id }, n);
    let mut fault = |field: &str, why: String| problems.push(format!("steps.{id}.{field}: {why}"));
    let mut step = super::parse::values::empty_step(id.clone());
    step.title = line(if from.title.trim().is_empty() { &from.id } else { &from.title });
    step.instruction = prose(&visible(&from.instruction));
    let paths = || from.files.iter().map(|file| line(&file.path)).filter(|path| !path.is_empty());
    let mut unread = Vec::new();
    let mut read = |key: &str, field: &str, text: &str| match value(key, text) {
        Ok(read) => read.steps.into_iter().next(),
        Err(why) => {
            fault(field, why);
            if !line(text).is_empty() {
                unread.push(format!("The planner wrote as {field}: {}", ticked(&line(text))));
            }
            None
        }
    };
    let check = from.check.trim();
    if !check.is_empty()
        && let Some(read) = read("check", "check", check)
    {
        step.checks = match read.kind {
            StepKind::Check(first) => std::iter::once(first).chain(read.checks).collect(),
            _ => read.checks,
        };
    }
    let kind = match from.kind {
        AnswerKind::Edit => {
            Some(StepKind::Edit(from.files.iter().filter(|file| !line(&file.path).is_empty()).map(target).collect()))
        }
        AnswerKind::Explore => Some(StepKind::Explore(paths().collect())),
        AnswerKind::Transform => read("transform", "rule", &from.rule).map(|read| read.kind),
        AnswerKind::Run => read("run", "command", &from.command).map(|read| read.kind),
        // A model that put the check into `command` meant the same.
        AnswerKind::Check if check.is_empty() => read("check", "check", &from.command).map(|read| read.kind),
        AnswerKind::Check if step.checks.is_empty() => None,
        AnswerKind::Check => Some(StepKind::Check(step.checks.remove(0))),
        AnswerKind::Ask => Some(StepKind::Ask("anyone".to_owned())),
    };
    if matches!(from.kind, AnswerKind::Run | AnswerKind::Transform) {
        step.write = paths().collect();
    }
    if let Some(kind) = kind {
        step.kind = kind;
    }
    // A draft that could not be repaired still shows the person what was meant.
    unread.insert(0, std::mem::take(&mut step.instruction));
    unread.retain(|part| !part.is_empty());
    step.instruction = prose(&unread.join("\n\n"));
    if matches!(&step.kind, StepKind::Edit(targets) if targets.is_empty()) && from.kind == AnswerKind::Edit {
        problems.push(format!("steps.{id}.files: an edit step names the files it may change"));
    }
    step
}

fn target(file: &AnswerFile) -> EditTarget {
    EditTarget {
        path: line(&file.path),
        new: file.new,
        focus: Some(line(&file.focus)).filter(|focus| !focus.is_empty()),
    }
}

/// Reads one value with the document's grammar.
fn value(key: &str, text: &str) -> Result<Plan, String> {
    let text = line(text);
    if text.is_empty() {
        return Err("it is empty, and this kind of step needs it".to_owned());
    }
    let text = if key == "transform" || text.contains('`') || is_word_check(&text) { text } else { ticked(&text) };
    let document = match key {
        "accept" => format!("# x\n\n## Contract\n\n- {key}: {text}\n"),
        _ => format!("# x\n\n## Contract\n\n## Steps\n\n### x: x\n\n- {key}: {text}\n"),
    };
    let mut parsed = parse(&document);
    // What a model often writes and what can mean one thing only is mended without asking it again.
    let harmless = |problem: &&Problem| matches!(problem.code.as_str(), "two-commands" | "leading-variable");
    let mut document = document;
    for _ in 0..8 {
        let fix = parsed.problems.iter().find(harmless).and_then(|problem| problem.fix.as_ref());
        let Some(fix) = fix else { break };
        document = super::edit::apply(&document, &fix.edits);
        parsed = parse(&document);
    }
    let mut errors = parsed.problems.iter().filter(|problem| problem.severity == Severity::Error);
    match errors.find(|problem| problem.code != "no-steps") {
        Some(problem) => Err(problem.message.clone()),
        None => Ok(parsed.plan),
    }
}

/// A check in words of the grammar, not a command.
fn is_word_check(text: &str) -> bool {
    text == "syntax"
        || ["absent:", "present:", "exists ", "missing ", "changed ", "unchanged "]
            .iter()
            .any(|word| text.starts_with(word))
}

fn clean_id(text: &str, n: usize) -> StepId {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let text = text.trim();
    if !text.is_empty() && text.chars().all(plain) { StepId::new(text) } else { slug(text, n) }
}

/// Without characters that cannot be seen.
fn visible(text: &str) -> String {
    text.replace("\r\n", "\n").chars().filter(|c| !super::parse::hidden(*c)).collect()
}

/// On one line.
fn line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The whole plan for programs.
pub fn to_json(plan: &Plan) -> Value {
    json!({ "version": VERSION, "plan": plan })
}

impl Plan {
    /// The plan as a document can say it: prose in normal form, values on one line, nothing invisible, free text cut
    /// where the document's grammar cuts it. Every plan that parsing made without an error is tidy already.
    #[must_use]
    pub fn tidy(mut self) -> Self {
        self.goal = goal_prose(&visible(&self.goal));
        for step in &mut self.steps {
            step.instruction = prose(&visible(&step.instruction));
        }
        // What rendering and reading again make of it is by definition what a document can say. Usually one round.
        for _ in 0..4 {
            let read = parse(&render(&self)).plan;
            if read == self {
                break;
            }
            self = read;
        }
        self
    }
}
