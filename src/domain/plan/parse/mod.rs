//! From a plan document to a plan.
//!
//! Only `#` headings have structure, and only outside of lists and quotes: prose above a line of dashes makes a
//! heading in CommonMark, and would make a step vanish or appear here.
//!
//! **Invariant:** parsing never fails and never loses text; whatever cannot be read is a problem with a range.
//! **Absent:** anything that needs the workspace (`check`).

pub(crate) mod blocks;
pub(crate) mod command;
pub mod layout;
pub mod notes;
pub(crate) mod prose;
pub(crate) mod scan;
mod screen;
mod settings;
pub(crate) mod terms;
pub(crate) mod values;

pub use layout::{ContractLayout, Layout, Piece, Setting, StepLayout};
pub use notes::{Remark, RemarkKind};
pub use prose::{goal_prose, prose};
pub use scan::Part;
pub(crate) use screen::hidden;

use self::blocks::{Block, Kind, blocks};
use self::prose::Headings;
use self::scan::fix;
use super::model::*;
use crate::domain::ids::StepId;
use crate::domain::problem::{Problem, Severity};
use settings::Settings;
use std::ops::Range;

/// Bytes of a document; more is not read.
pub const LONGEST: usize = 1_000_000;
/// Steps of a plan; more is an error.
pub const MOST_STEPS: usize = 200;

/// What a document says, what is wrong with it, and where everything stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// The meaning.
    pub plan: Plan,
    /// In document order.
    pub problems: Vec<Problem>,
    /// The places.
    pub layout: Layout,
}

/// Where the walk stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Region {
    Goal,
    Contract,
    Steps,
    Step,
    /// Prose for people.
    Other,
}

/// Reads a document. Never fails: what cannot be understood is a problem.
pub fn parse(text: &str) -> Parsed {
    let mut walk = Walk {
        text,
        plan: Plan::default(),
        problems: vec![],
        layout: Layout { length: text.len(), ..Layout::default() },
        region: Region::Other,
        before_list: false,
        goal: vec![],
        open: None,
    };
    if text.len() > LONGEST {
        let message =
            format!("the document has {} bytes and the limit is {LONGEST}; move prose into other files", text.len());
        walk.problem("too-long", Severity::Error, 0..0, message);
        return Parsed { plan: walk.plan, problems: walk.problems, layout: walk.layout };
    }
    walk.problems.extend(screen::findings(text));
    let blocks = blocks(text);
    for block in &blocks {
        walk.block(block);
    }
    walk.finish_step(text.len());
    walk.plan.goal = prose::settled(&walk.goal.join("\n\n"), Headings::None);
    walk.whole();
    walk.problems.sort_by_key(|problem| (problem.range.start, problem.range.end));
    Parsed { plan: walk.plan, problems: walk.problems, layout: walk.layout }
}

struct OpenStep<'a> {
    settings: Settings<'a>,
    layout: StepLayout,
    title: String,
    prose: Vec<String>,
}

struct Walk<'a> {
    text: &'a str,
    plan: Plan,
    problems: Vec<Problem>,
    layout: Layout,
    region: Region,
    /// The next list is one of settings.
    before_list: bool,
    goal: Vec<String>,
    open: Option<OpenStep<'a>>,
}

impl<'a> Walk<'a> {
    fn problem(&mut self, code: &str, severity: Severity, range: Range<usize>, message: impl Into<String>) {
        self.problems.push(Problem { code: code.to_owned(), range, severity, message: message.into(), fix: None });
    }

    fn mark(&mut self, range: Range<usize>, piece: Piece) {
        self.layout.marks.push((range, piece));
    }

    fn block(&mut self, block: &Block) {
        if let Kind::Heading { level, atx: true } = block.kind {
            if level < 4 {
                self.heading(block, level);
                self.comments(block);
                return;
            }
            if self.region == Region::Goal || self.region == Region::Contract {
                self.region = Region::Other;
            }
        }
        match self.region {
            Region::Contract if self.before_list => self.contract_block(block),
            Region::Step => {
                if !(self.before_list && self.step_settings(block)) {
                    self.instruction(block);
                }
            }
            Region::Goal => {
                self.mark(block.range.clone(), Piece::Meaning);
                self.layout.goal.push(block.range.clone());
                self.goal.push(prose::write(self.text, std::slice::from_ref(block), Headings::None));
            }
            Region::Contract => self.problems.extend(settings::late(self.text, block, true)),
            Region::Steps | Region::Other => {}
        }
        self.remarks(block);
        self.comments(block);
    }

    fn heading(&mut self, block: &Block, level: u8) {
        let words = prose::heading(self.text, block);
        match level {
            1 if self.layout.title.is_none() => {
                self.finish_step(block.range.start);
                self.layout.title = Some(words.source(0..words.text.len()));
                self.plan.title = words.text;
                self.mark(block.range.clone(), Piece::Meaning);
                self.region = Region::Goal;
            }
            1 => {
                self.finish_step(block.range.start);
                self.region = Region::Other;
                self.problem("second-title", Severity::Warning, block.range.clone(),
                    "a plan has one first-level heading; what stands under this one is prose for people and is not sent");
            }
            2 => {
                self.finish_step(block.range.start);
                self.section(block, &words);
            }
            _ if matches!(self.region, Region::Steps | Region::Step) => {
                self.finish_step(block.range.start);
                self.start_step(block, &words);
            }
            _ => self.region = Region::Other,
        }
    }

    fn section(&mut self, block: &Block, words: &prose::Line) {
        let range = block.range.clone();
        let at = words.source(0..words.text.len());
        self.region = match words.text.as_str() {
            "Contract" => Region::Contract,
            "Steps" => Region::Steps,
            other => {
                if let Some(meant) = ["Contract", "Steps"].into_iter().find(|name| {
                    let plain = |text: &str| text.trim_end_matches([':', 's', 'S']).to_lowercase();
                    plain(name) == plain(other)
                }) {
                    let message = format!("this section is read as prose; the plan's section is `## {meant}`");
                    let code = "near-section".to_owned();
                    let fix = fix(format!("write `{meant}`"), at, meant);
                    self.problems.push(Problem { code, range, severity: Severity::Warning, message, fix });
                }
                self.region = Region::Other;
                return;
            }
        };
        self.mark(range.clone(), Piece::Meaning);
        let twice = match self.region {
            Region::Contract => self.layout.contract.is_some(),
            _ => self.layout.steps_heading.is_some(),
        };
        if twice {
            let message = format!("`## {}` stands twice; make it one section", words.text);
            self.problem("duplicate-section", Severity::Error, range.clone(), message);
        }
        if self.region == Region::Contract {
            self.before_list = true;
            let end = range.end;
            let layout = ContractLayout { heading: range, settings: vec![], end };
            self.layout.contract.get_or_insert(layout);
        } else {
            self.layout.steps_heading.get_or_insert(range);
        }
    }

    /// The first list under the heading, if only comments and notes stand before it.
    fn is_settings(&mut self, block: &Block) -> bool {
        match &block.kind {
            Kind::List { start: None } => {
                self.before_list = false;
                true
            }
            Kind::Html => false,
            Kind::Quote if notes::split(self.text, block).is_some() => false,
            Kind::Quote
            | Kind::List { start: Some(_) }
            | Kind::Paragraph
            | Kind::Heading { .. }
            | Kind::Code { .. }
            | Kind::Item
            | Kind::Rule => {
                self.before_list = false;
                false
            }
        }
    }

    fn contract_block(&mut self, block: &Block) {
        if !self.is_settings(block) {
            return;
        }
        self.mark(block.range.clone(), Piece::Meaning);
        let mut settings = Settings::contract(self.text);
        for item in &block.children {
            settings.contract_item(item, &mut self.plan.contract);
        }
        for (revision, range) in settings.approved {
            self.mark(range.clone(), Piece::Note);
            if self.layout.approved.replace((revision, range.clone())).is_some() {
                self.problem("said-twice", Severity::Error, range, "the approval stands twice; keep one");
            }
        }
        self.problems.append(&mut settings.problems);
        if let Some(layout) = &mut self.layout.contract {
            layout.settings.append(&mut settings.found);
            layout.end = layout.end.max(block.range.end);
        }
    }

    fn step_settings(&mut self, block: &Block) -> bool {
        if !self.is_settings(block) {
            return false;
        }
        let Some(open) = &mut self.open else { return false };
        let mut words = Vec::new();
        for item in &block.children {
            if !open.settings.step_item(item) {
                words.push(item.clone());
            }
        }
        if !words.is_empty() {
            open.layout.instruction.extend(words.iter().map(|item| item.range.clone()));
            let list = Block { children: words, ..block.clone() };
            open.prose.push(prose::write(self.text, std::slice::from_ref(&list), Headings::Fourth));
        }
        self.mark(block.range.clone(), Piece::Meaning);
        true
    }

    fn instruction(&mut self, block: &Block) {
        self.problems.extend(settings::late(self.text, block, false));
        if let Some(open) = &mut self.open {
            open.layout.instruction.push(block.range.clone());
            open.prose.push(prose::write(self.text, std::slice::from_ref(block), Headings::Fourth));
        }
        self.mark(block.range.clone(), Piece::Meaning);
    }

    fn start_step(&mut self, block: &Block, words: &prose::Line) {
        let range = block.range.clone();
        self.mark(range.clone(), Piece::Meaning);
        let text = &words.text;
        let word = |id: &str| !id.is_empty() && id.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        let split =
            text.split_once(':').filter(|(id, rest)| word(id) && (rest.is_empty() || rest.starts_with([' ', '\t'])));
        let (id, title, at) = match split {
            Some((id, rest)) => {
                let title = rest.trim_start();
                (StepId::new(id), title.to_owned(), Some(words.source(0..id.len())))
            }
            None => (slug(text, self.plan.steps.len() + 1), text.clone(), None),
        };
        let title_at = words.source(text.len() - title.len()..text.len());
        if at.is_none() {
            let place = if text.is_empty() { range.end..range.end } else { title_at.start..title_at.start };
            let put = if text.is_empty() { format!(" {id}: ") } else { format!("{id}: ") };
            self.problems.push(Problem {
                code: "missing-id".to_owned(),
                range: range.clone(),
                severity: Severity::Warning,
                message: format!(
                    "this step has no id, so it goes by `{id}`, and renaming it would make it another step; write one"
                ),
                fix: fix(format!("name it `{id}`"), place, put),
            });
        }
        self.region = Region::Step;
        self.before_list = true;
        self.open = Some(OpenStep {
            settings: Settings::step(self.text),
            title,
            prose: vec![],
            layout: StepLayout {
                step: id,
                range: range.clone(),
                heading: range,
                id: at,
                title: title_at,
                settings: vec![],
                instruction: vec![],
                remarks: vec![],
            },
        });
    }

    fn finish_step(&mut self, end: usize) {
        let Some(mut open) = self.open.take() else { return };
        open.layout.range.end = end;
        let (mut step, mut problems, found) = open.settings.into_step(open.layout.step.clone(), &open.layout.heading);
        open.layout.settings = found;
        self.problems.append(&mut problems);
        step.title = open.title;
        open.prose.retain(|prose| !prose.is_empty());
        step.instruction = prose::prose(&open.prose.join("\n\n"));
        self.plan.steps.push(step);
        self.layout.steps.push(open.layout);
    }

    fn remarks(&mut self, block: &Block) {
        if block.kind != Kind::Quote {
            return;
        }
        let Some(split) = notes::split(self.text, block) else { return };
        for remark in split.remarks {
            self.mark(remark.range.clone(), Piece::Note);
            if let Some(open) = &mut self.open {
                open.layout.remarks.push(remark.clone());
            }
            self.layout.remarks.push(remark);
        }
    }

    fn comments(&mut self, block: &Block) {
        let found = if block.kind == Kind::Html { prose::comments(self.text, block) } else { block.comments.clone() };
        for comment in found {
            let closed = self.text.get(comment.clone()).is_some_and(|cut| cut.ends_with("-->"));
            if !closed {
                let message = "this comment is never closed, so the rest is not read; write `-->` where it ends";
                self.problem("unclosed-comment", Severity::Error, comment.start..comment.start + 4, message);
            }
            self.mark(comment.clone(), Piece::Comment);
            self.layout.comments.push(comment);
        }
        for child in &block.children {
            self.comments(child);
        }
    }

    fn whole(&mut self) {
        if self.plan.title.is_empty() {
            let range = self.layout.title.clone().unwrap_or(0..0);
            self.problem(
                "missing-title",
                Severity::Error,
                range,
                "the plan has no title; begin with `# ` and a few words",
            );
        }
        if self.layout.contract.is_none() {
            self.problem(
                "missing-contract",
                Severity::Error,
                0..0,
                "the plan has no contract; add a section `## Contract`",
            );
        }
        if self.plan.steps.is_empty() {
            let range = self.layout.steps_heading.clone().unwrap_or(0..0);
            let message = "the plan has no step; add `### id: title` under `## Steps`";
            self.problem("no-steps", Severity::Error, range, message);
        }
        if let Some(over) = self.layout.steps.get(MOST_STEPS) {
            let range = over.heading.clone();
            let message = format!("a plan has at most {MOST_STEPS} steps; make several plans");
            self.problem("too-many-steps", Severity::Error, range, message);
        }
    }
}

/// The id that a title gives: its words in lower case.
pub fn slug(title: &str, n: usize) -> StepId {
    let words: Vec<String> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(6)
        .map(str::to_lowercase)
        .collect();
    StepId::new(if words.is_empty() { format!("step-{n}") } else { words.join("-") })
}
