//! Plans of one step, made from words and a place without asking a model for them (A12).
//!
//! **Invariant:** the whole contract of such a plan fits into one line, which is what a person confirms: it writes one
//! file or none. **Absent:** finding the item and the check; both come in.

use super::{After, Budget, Check, Contract, EditTarget, EffectSetting, OnFailure, Plan, Step, StepKind, render};
use crate::domain::ids::{StepId, WorkspacePath};
use crate::domain::task::action::{Goal, Place};

/// Characters of a title made from a person's words.
const TITLE: usize = 80;

/// Exchanges with a model at most: a change of one item that takes more is no small one.
const TURNS: u32 = 30;

/// The plan that changes one file, at one item of it.
pub fn change(goal: &Goal, file: &WorkspacePath, focus: Option<&str>, check: Option<&Check>) -> Plan {
    let target = EditTarget { path: file.to_string(), new: false, focus: focus.map(str::to_owned) };
    let contract = Contract {
        scope: vec![file.to_string()],
        accept: vec![check.cloned().unwrap_or(Check::Syntax)],
        budget: Budget { turns: Some(TURNS), ..Budget::default() },
        ..Contract::default()
    };
    let step =
        Step { checks: check.cloned().into_iter().collect(), ..step("change", goal, StepKind::Edit(vec![target])) };
    Plan { title: title(&goal.words), goal: goal.words.clone(), contract, steps: vec![step] }.tidy()
}

/// The plan that reads and answers.
pub fn question(goal: &Goal) -> Plan {
    let contract = Contract { budget: Budget { turns: Some(TURNS), ..Budget::default() }, ..Contract::default() };
    let step = step("answer", goal, StepKind::Explore(vec!["**".to_owned()]));
    Plan { title: title(&goal.words), goal: goal.words.clone(), contract, steps: vec![step] }.tidy()
}

/// One step that reads: a plan as [`question`] makes it.
pub fn is_question(plan: &Plan) -> bool {
    matches!(plan.steps.as_slice(), [Step { kind: StepKind::Explore(_), .. }])
}

/// The title of the action that makes and runs such a change: its whole contract.
pub fn small_title(item: Option<&str>, file: &WorkspacePath, check: Option<&str>) -> String {
    format!("Agent: {}", contract(item, file, check))
}

/// The whole contract of such a change in a line.
pub fn contract(item: Option<&str>, file: &WorkspacePath, check: Option<&str>) -> String {
    let what = item.map_or_else(String::new, |item| format!("`{item}` in "));
    let judged = check.map_or_else(|| "check: syntax only".to_owned(), |check| format!("check: {check}"));
    format!("change {what}{file} (writes only that file; {judged})")
}

/// What a fix is asked for in words: the problem as somebody or something said it; without one, what the check reports.
/// None where nothing says what is wrong.
pub fn fix_words(place: &Place, problem: Option<&str>, check: Option<&str>) -> Option<String> {
    let line = place.lines.map_or_else(String::new, |(first, _)| format!(":{first}"));
    let at = format!("{}{line}", place.path);
    match (problem.map(str::trim).filter(|problem| !problem.is_empty()), check) {
        (Some(problem), _) => Some(format!("Fix this problem at {at}: {problem}")),
        (None, Some(check)) => Some(format!("Fix the problem that `{check}` reports at {at}")),
        (None, None) => None,
    }
}

/// A check as a title says it: its bare words.
pub fn check_words(check: &Check) -> String {
    match check {
        Check::Command(command) => {
            let within = command.dir.as_ref().map_or_else(String::new, |dir| format!(" in {dir}"));
            format!("{}{within}", shell_words::join(&command.argv))
        }
        Check::Syntax
        | Check::Search(_)
        | Check::Exists(_)
        | Check::Missing(_)
        | Check::Changed(_)
        | Check::Unchanged(_) => render::check(check),
    }
}

/// The first line of what a person said, cut at a word.
pub fn title(words: &str) -> String {
    let line = words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= TITLE {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE).collect();
    let whole = cut.rsplit_once(char::is_whitespace).map_or(cut.as_str(), |(head, _)| head.trim_end());
    format!("{whole} …")
}

fn step(id: &str, goal: &Goal, kind: StepKind) -> Step {
    Step {
        id: StepId::new(id),
        title: title(&goal.words),
        kind,
        after: After::Above,
        checks: Vec::new(),
        write: Vec::new(),
        read: Vec::new(),
        allow: Vec::new(),
        tools: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        repair: None,
        retry: None,
        timeout: None,
        on_failure: OnFailure::Stop,
        effect: EffectSetting::OfKind,
        probe: None,
        route: None,
        instruction: goal.words.clone(),
    }
}
