//! What a person sees before they approve (A6): the contract in words, made from the normal form.
//!
//! Invariant: nothing that is enforced is left out, and nothing that is not enforced is shown as if it were. Absent:
//! layout; a line is a line.

use super::normal::Normal;
use super::{Check, Command, EffectSetting, Enforce, Measure, Plan, Rule, Step, StepKind};
use crate::domain::agent::dialogue::ModelInfo;
use crate::domain::policy::commands;
use crate::domain::task::facts::Rung;

/// One line each: what will change, in which order, with what, what is risky, how it is verified, where the plan
/// stops, what it may cost.
pub fn lines(plan: &Plan, normal: &Normal, rung: Rung, model: Option<&ModelInfo>) -> Vec<String> {
    let mut lines = Vec::new();
    let contract = &plan.contract;
    lines.push(format!("writes only within: {}", list(&contract.scope)));
    for step in &plan.steps {
        lines.push(step_line(step, normal));
    }
    for step in &plan.steps {
        for command in commands_of(step) {
            lines.push(command_line(&step.id.to_string(), command, step, rung));
        }
    }
    for check in &contract.accept {
        lines.push(format!("accepted when {} holds", check_words(check)));
        if let Check::Command(command) = check {
            lines.push(command_words("acceptance", command, rung));
        }
    }
    lines.extend(contract.enforce.iter().map(|rule| format!("enforced: {}", enforce_words(rule))));
    lines.extend(contract.advice.iter().map(|advice| format!("advice (not enforced): {advice}")));
    for assumption in &contract.assume {
        let how = if assumption.test.is_some() { "tested by a search" } else { "not tested" };
        lines.push(format!("assumes ({how}): {}", assumption.text));
    }
    for rule in &contract.stop {
        let what = match rule.measure {
            Measure::Files => "files",
            Measure::Lines => "lines",
            Measure::Tokens => "tokens",
            Measure::Money => "money (not enforced: no price is known)",
            Measure::Time => "time (enforced as the budget's wall time only)",
        };
        lines.push(format!("stops and asks above {} {what}", rule.above));
    }
    lines.push(cost(plan, model));
    lines
}

fn step_line(step: &Step, normal: &Normal) -> String {
    let table = normal.tables.steps.iter().find(|rules| rules.id == step.id);
    let after = match table.map(|table| (&table.predecessors, table.waits_review)) {
        Some((before, review)) if !before.is_empty() || review => {
            let mut names: Vec<String> = before.iter().map(ToString::to_string).collect();
            if review {
                names.push("the last decision on a hunk".to_owned());
            }
            format!("after {}", names.join(", "))
        }
        Some(_) | None => "from the start".to_owned(),
    };
    let checks = table.map(|table| table.checks.iter().map(check_words).collect::<Vec<_>>()).unwrap_or_default();
    let judged = if checks.is_empty() { String::new() } else { format!("; judged by {}", checks.join(", ")) };
    let written: Vec<String> =
        table.map(|rules| rules.write.iter().map(|rule| rule.pattern.clone()).collect()).unwrap_or_default();
    format!("{} ({}): {}, {after}{judged}", step.id, step.kind.key(), what(step, &written))
}

fn what(step: &Step, written: &[String]) -> String {
    match &step.kind {
        StepKind::Edit(targets) => {
            let named: Vec<String> = targets
                .iter()
                .map(|target| {
                    let focus = target.focus.as_ref().map(|focus| format!(" at {focus}")).unwrap_or_default();
                    format!("{}{}{focus}", target.path, if target.new { " (new)" } else { "" })
                })
                .collect();
            format!("a model changes {}", named.join(", "))
        }
        StepKind::Explore(_) => "a model reads and reports, changes nothing".to_owned(),
        StepKind::Transform(Rule::Rename { symbol, to }) => {
            format!("renames {symbol} to {to} in {}, without a model", list(written))
        }
        StepKind::Transform(Rule::Rewrite { pattern, to }) => {
            format!("rewrites {pattern} to {to} in {}, without a model", list(written))
        }
        StepKind::Transform(Rule::Template { source, to, .. }) => format!("makes {to} from {source}, without a model"),
        StepKind::Run(_) if step.effect == EffectSetting::Outside => "reaches outside, once, behind a gate".to_owned(),
        StepKind::Run(_) => format!("runs a command whose changes in {} become hunks", list(&step.write)),
        StepKind::Check(check) => format!("judges {}", check_words(check)),
        StepKind::Ask(who) => format!("stops and asks {who}"),
        StepKind::Fetch(_) | StepKind::Recipe(_) => "not in this release".to_owned(),
    }
}

/// Every command that the plan names, in the order of the document.
pub fn commands(plan: &Plan) -> Vec<&Command> {
    let accept = plan.contract.accept.iter();
    let judged = accept.filter_map(|check| if let Check::Command(command) = check { Some(command) } else { None });
    plan.steps.iter().flat_map(commands_of).chain(judged).collect()
}

fn commands_of(step: &Step) -> Vec<&Command> {
    let own = match &step.kind {
        StepKind::Run(command) | StepKind::Fetch(command) | StepKind::Check(Check::Command(command)) => Some(command),
        StepKind::Edit(_)
        | StepKind::Explore(_)
        | StepKind::Transform(_)
        | StepKind::Check(_)
        | StepKind::Ask(_)
        | StepKind::Recipe(_) => None,
    };
    let checks =
        step.checks.iter().filter_map(|check| if let Check::Command(command) = check { Some(command) } else { None });
    own.into_iter().chain(checks).chain(step.probe.as_ref()).collect()
}

fn command_line(who: &str, command: &Command, step: &Step, rung: Rung) -> String {
    if step.effect == EffectSetting::Outside {
        let risk =
            commands::risk(command).map(|risk| format!("; risky ({}): {}", risk.rule, risk.why)).unwrap_or_default();
        return format!("command of {who}: `{}` in the workspace itself{risk}", shell_words::join(&command.argv));
    }
    command_words(who, command, rung)
}

fn command_words(who: &str, command: &Command, rung: Rung) -> String {
    let risk = commands::risk(command).map(|risk| format!("; risky ({}): {}", risk.rule, risk.why)).unwrap_or_default();
    let gate = if commands::asks(command, rung) {
        "asks at a gate each time, or once for the plan"
    } else {
        "runs without asking"
    };
    format!("command of {who}: `{}` {}, {gate}{risk}", shell_words::join(&command.argv), rung.remark())
}

fn check_words(check: &Check) -> String {
    match check {
        Check::Command(command) => format!("`{}`", shell_words::join(&command.argv)),
        Check::Syntax => "no new syntax error".to_owned(),
        Check::Search(search) if search.present => format!("a match of `{}`", search.regex),
        Check::Search(search) => format!("no match of `{}`", search.regex),
        Check::Exists(path) => format!("`{path}` exists"),
        Check::Missing(path) => format!("`{path}` does not exist"),
        Check::Changed(path) => format!("`{path}` changed"),
        Check::Unchanged(path) => format!("`{path}` did not change"),
    }
}

fn enforce_words(rule: &Enforce) -> String {
    match rule {
        Enforce::PublicApiUnchanged => "the public API does not change".to_owned(),
        Enforce::NoNewDependencies => "no new dependencies".to_owned(),
        Enforce::TestsNotDeleted => "no test goes away".to_owned(),
        Enforce::FilesAtMost(most) => format!("at most {most} files change"),
        Enforce::LinesAtMost(most) => format!("at most {most} lines change"),
    }
}

fn cost(plan: &Plan, model: Option<&ModelInfo>) -> String {
    let asks = plan.steps.iter().filter(|step| matches!(step.kind, StepKind::Edit(_) | StepKind::Explore(_))).count();
    if asks == 0 {
        return "cost: no model is asked, no token".to_owned();
    }
    let budget = &plan.contract.budget;
    let tokens = budget.tokens.map_or("no bound on tokens".to_owned(), |most| format!("at most {most} tokens"));
    let time = budget.seconds.map_or(String::new(), |most| format!(", at most {most} s"));
    let turns = budget.turns.map_or(String::new(), |most| format!(", at most {most} turns"));
    let money = match (budget.money, model.and_then(|model| model.prices)) {
        (Some(_), None) => "; money: not enforced, no price is known",
        (Some(_), Some(_)) => "; money: not enforced in this release",
        (None, _) => "",
    };
    format!(
        "cost: {}; {tokens}{time}{turns}{money}",
        match asks {
            1 => "1 step asks a model".to_owned(),
            more => format!("{more} steps ask a model"),
        }
    )
}

fn list(globs: &[String]) -> String {
    if globs.is_empty() { "(nothing)".to_owned() } else { globs.join(", ") }
}
