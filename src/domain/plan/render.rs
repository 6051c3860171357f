//! A plan as a document.
//!
//! **Invariant:** `parse(render(p)).plan == p` for every plan that [`Plan::tidy`] leaves as it is, and every plan that
//! parsing made is such a plan. So the document is also the normal form that is digested: equal digests are equal
//! plans. **Absent:** notes, comments, other sections: they are not of the plan.

use super::keys::{Codec, KEYS, Key, ticked_list, ticked_words};
use super::model::*;
use super::parse::command;
use super::parse::scan::{ticked, worded};
use std::fmt::Write as _;

/// The document that says what the plan says.
pub fn render(plan: &Plan) -> String {
    let mut out = String::new();
    out.push_str(&head(plan));
    out.push_str("\n## Steps\n");
    for step in &plan.steps {
        out.push('\n');
        out.push_str(&self::step(step));
    }
    out
}

/// Title, goal and Contract.
pub(super) fn head(plan: &Plan) -> String {
    let mut out = format!("# {}", plan.title).trim_end().to_owned();
    out.push('\n');
    if !plan.goal.is_empty() {
        let _ = write!(out, "\n{}\n", plan.goal);
    }
    out.push_str("\n## Contract\n");
    let settings = contract_settings(&plan.contract);
    put(&mut out, settings.into_iter());
    out
}

/// A step's heading, settings and instruction.
pub(super) fn step(step: &Step) -> String {
    let mut out = format!("### {}: {}", step.id, step.title).trim_end().to_owned();
    out.push('\n');
    put(&mut out, step_settings(step).into_iter());
    if !step.instruction.is_empty() {
        let _ = write!(out, "\n{}\n", step.instruction);
    }
    out
}

fn put(out: &mut String, settings: impl Iterator<Item = (&'static Key, Vec<String>)>) {
    let mut first = true;
    for (key, values) in settings {
        for value in values {
            if std::mem::take(&mut first) {
                out.push('\n');
            }
            let _ = writeln!(out, "{}", format!("- {}: {value}", key.name).trim_end());
        }
    }
}

/// The contract's settings in table order, one text an item.
pub(super) fn contract_settings(contract: &Contract) -> Vec<(&'static Key, Vec<String>)> {
    KEYS.iter()
        .filter_map(|key| match &key.codec {
            Codec::Contract(_, write) => Some((key, write(contract))),
            Codec::Step(..) | Codec::Approval => None,
        })
        .collect()
}

/// A step's settings in table order, one text an item.
pub(super) fn step_settings(step: &Step) -> Vec<(&'static Key, Vec<String>)> {
    KEYS.iter()
        .filter_map(|key| match &key.codec {
            Codec::Step(_, write) => Some((key, write(step))),
            Codec::Contract(..) | Codec::Approval => None,
        })
        .collect()
}

pub(super) fn one_list(values: &[String]) -> Vec<String> {
    ticked_list(values).into_iter().collect()
}

pub(super) fn one_joined(values: impl Iterator<Item = String>, between: &str) -> Vec<String> {
    let values: Vec<_> = values.collect();
    if values.is_empty() { vec![] } else { vec![values.join(between)] }
}

/// A check as written in a plan.
pub fn check(check: &Check) -> String {
    match check {
        Check::Command(command) => self::command(command),
        Check::Syntax => "syntax".to_owned(),
        Check::Search(search) => self::search(search),
        Check::Exists(path) => format!("exists {}", ticked(path)),
        Check::Missing(path) => format!("missing {}", ticked(path)),
        Check::Changed(path) => format!("changed {}", ticked(path)),
        Check::Unchanged(path) => format!("unchanged {}", ticked(path)),
    }
}

fn search(search: &Search) -> String {
    let mut out = format!("{}: {}", if search.present { "present" } else { "absent" }, ticked(&search.regex));
    for glob in &search.within {
        let _ = write!(out, ", in {}", ticked(glob));
    }
    for glob in &search.except {
        let _ = write!(out, ", except {}", ticked(glob));
    }
    out
}

/// A command as written in a plan.
pub fn command(command: &Command) -> String {
    let mut out = ticked_words(&command.argv);
    if let Some(dir) = &command.dir {
        let _ = write!(out, ", in {}", ticked(dir));
    }
    out.push_str(&with(&command.env));
    out
}

fn with(values: &[(String, String)]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let values: Vec<_> = values.iter().map(|(name, value)| ticked(&format!("{name}={value}"))).collect();
    format!(", with {}", values.join(", "))
}

/// A command pattern as written in a plan.
pub fn pattern(pattern: &CommandPattern) -> String {
    let mut words = command::join(&pattern.argv);
    if pattern.open {
        words.push_str(if words.is_empty() { "*" } else { " *" });
    }
    ticked(&words)
}

pub(super) fn budget(budget: &Budget) -> Vec<String> {
    let parts = [
        budget.tokens.map(|tokens| format!("{} tokens", amount(tokens))),
        budget.seconds.map(duration),
        budget.money.map(money),
        budget.turns.map(|turns| format!("{turns} turns")),
    ];
    one_joined(parts.into_iter().flatten(), "; ")
}

fn amount(number: u64) -> String {
    if number > 0 && number.is_multiple_of(1_000) { format!("{}k", number / 1_000) } else { number.to_string() }
}

/// `$0.50` from hundredths of a cent.
pub fn money(hundredths: u64) -> String {
    let (whole, part) = (hundredths / 10_000, hundredths % 10_000);
    if part.is_multiple_of(100) { format!("${whole}.{:02}", part / 100) } else { format!("${whole}.{part:04}") }
}

/// `15 min` from seconds.
pub fn duration(seconds: u64) -> String {
    match seconds {
        0 => "0 s".to_owned(),
        s if s.is_multiple_of(3_600) => format!("{} h", s / 3_600),
        s if s.is_multiple_of(60) => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

/// A constraint as written in a plan.
pub fn enforce(enforce: &Enforce) -> String {
    match enforce {
        Enforce::PublicApiUnchanged => "public-api unchanged".to_owned(),
        Enforce::NoNewDependencies => "no new dependencies".to_owned(),
        Enforce::TestsNotDeleted => "tests not deleted".to_owned(),
        Enforce::FilesAtMost(most) => format!("files at most {most}"),
        Enforce::LinesAtMost(most) => format!("lines at most {most}"),
    }
}

pub(super) fn assumption(assumption: &Assumption) -> String {
    match (assumption.text.as_str(), &assumption.test) {
        (text, None) => text.to_owned(),
        ("", Some(test)) => search(test),
        (text, Some(test)) => format!("{text}; {}", search(test)),
    }
}

/// A stop rule as written in a plan.
pub fn stop(rule: &StopRule) -> String {
    match rule.measure {
        Measure::Files => format!("files > {}", rule.above),
        Measure::Lines => format!("lines > {}", rule.above),
        Measure::Tokens => format!("tokens > {}", amount(rule.above)),
        Measure::Money => format!("money > {}", money(rule.above)),
        Measure::Time => format!("time > {}", duration(rule.above)),
    }
}

pub(super) fn port(port: &Port) -> String {
    let plain = worded(&port.name) == port.name;
    let words = format!("{}: {}", port.name, port.kind);
    if plain { words } else { ticked(&words) }
}

pub(super) fn edit(step: &Step) -> Vec<String> {
    let StepKind::Edit(targets) = &step.kind else { return vec![] };
    let one = |target: &EditTarget| {
        let mut out = ticked(&target.path);
        if target.new {
            out.push_str(" (new)");
        }
        if let Some(focus) = &target.focus {
            let _ = write!(out, " (focus {})", ticked(focus));
        }
        out
    };
    vec![targets.iter().map(one).collect::<Vec<_>>().join(", ")]
}

pub(super) fn explore(step: &Step) -> Vec<String> {
    let StepKind::Explore(globs) = &step.kind else { return vec![] };
    vec![ticked_list(globs).unwrap_or_default()]
}

pub(super) fn transform(step: &Step) -> Vec<String> {
    let StepKind::Transform(rule) = &step.kind else { return vec![] };
    vec![self::rule(rule)]
}

/// A rule as written in a plan.
pub fn rule(rule: &Rule) -> String {
    match rule {
        Rule::Rename { symbol, to } => format!("rename {} to {}", ticked(symbol), ticked(to)),
        Rule::Rewrite { pattern, to } => format!("rewrite {} to {}", ticked(pattern), ticked(to)),
        Rule::Template { source, to, values } => {
            format!("template {} to {}{}", ticked(source), ticked(to), with(values))
        }
    }
}

pub(super) fn run(step: &Step) -> Vec<String> {
    if let StepKind::Run(command) = &step.kind { vec![self::command(command)] } else { vec![] }
}

pub(super) fn fetch(step: &Step) -> Vec<String> {
    if let StepKind::Fetch(command) = &step.kind { vec![self::command(command)] } else { vec![] }
}

pub(super) fn ask(step: &Step) -> Vec<String> {
    if let StepKind::Ask(who) = &step.kind { vec![worded(who)] } else { vec![] }
}

pub(super) fn recipe(step: &Step) -> Vec<String> {
    if let StepKind::Recipe(rest) = &step.kind { vec![rest.clone()] } else { vec![] }
}

pub(super) fn checks(step: &Step) -> Vec<String> {
    let own = if let StepKind::Check(check) = &step.kind { Some(check) } else { None };
    own.into_iter().chain(&step.checks).map(check).collect()
}

pub(super) fn after(step: &Step) -> Vec<String> {
    match &step.after {
        After::Above => vec![],
        After::Nothing => vec!["none".to_owned()],
        After::Steps { steps, review } => {
            let mut names: Vec<&str> = steps.iter().map(crate::domain::ids::StepId::as_str).collect();
            if *review {
                names.push("review");
            }
            vec![names.join(", ")]
        }
    }
}

pub(super) fn retry(step: &Step) -> Vec<String> {
    let one = |retry: &Retry| match retry.every {
        Some(every) => format!("{}, every {}", retry.times, duration(every)),
        None => retry.times.to_string(),
    };
    step.retry.iter().map(one).collect()
}

pub(super) fn on_failure(step: &Step) -> Vec<String> {
    match step.on_failure {
        OnFailure::Stop => vec![],
        OnFailure::Ask => vec!["ask".to_owned()],
        OnFailure::Skip => vec!["skip".to_owned()],
        OnFailure::Undo => vec!["undo".to_owned()],
    }
}

pub(super) fn effect(step: &Step) -> Vec<String> {
    match step.effect {
        EffectSetting::OfKind => vec![],
        EffectSetting::Repeatable => vec!["repeatable".to_owned()],
        EffectSetting::Outside => vec!["outside".to_owned()],
    }
}
