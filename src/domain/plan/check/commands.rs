//! Commands: allowed, in folders that exist, and not more than they look like; and that something judges the whole.
//!
//! **Invariant:** no command can be approved that policy does not allow. **Absent:** running them.

use super::Findings;
use crate::domain::plan::parse::command::join;
use crate::domain::plan::{Check, Command, CommandPattern, EffectSetting, StepKind};
use crate::domain::policy::commands::{self, Judgement};
use std::ops::Range;

pub(super) fn check(on: &mut Findings<'_>) {
    // What only reads and asks leaves nothing to judge.
    let reads = |kind: &StepKind| matches!(kind, StepKind::Explore(_) | StepKind::Ask(_));
    let keeps = on.plan.steps.is_empty() || !on.plan.steps.iter().all(|step| reads(&step.kind));
    if keeps && on.plan.contract.accept.is_empty() && on.layout.contract.is_some() {
        let message = "nothing judges what you keep; add `accept:` with a command or another check";
        on.error("missing-acceptance", on.contract_key("accept"), message, None);
    }
    let accept = on.contract_key("accept");
    for check in &on.plan.contract.accept {
        one_check(on, check, accept.clone());
    }
    let allow = on.contract_key("allow");
    for pattern in &on.plan.contract.allow {
        one_pattern(on, pattern, allow.clone());
    }
    for (_, step, layout) in on.steps() {
        match &step.kind {
            StepKind::Run(command) => {
                one(on, command, layout.key_range("run"), step.effect == EffectSetting::Outside);
            }
            StepKind::Check(check) => one_check(on, check, layout.key_range("check")),
            StepKind::Edit(_)
            | StepKind::Explore(_)
            | StepKind::Transform(_)
            | StepKind::Fetch(_)
            | StepKind::Ask(_)
            | StepKind::Recipe(_) => {}
        }
        for check in &step.checks {
            one_check(on, check, layout.key_range("check"));
        }
        for pattern in &step.allow {
            one_pattern(on, pattern, layout.key_range("allow"));
        }
        if let Some(probe) = &step.probe {
            one(on, probe, layout.key_range("probe"), true);
        }
    }
}

fn one_check(on: &mut Findings<'_>, check: &Check, range: Range<usize>) {
    match check {
        Check::Command(command) => one(on, command, range, false),
        Check::Syntax
        | Check::Search(_)
        | Check::Exists(_)
        | Check::Missing(_)
        | Check::Changed(_)
        | Check::Unchanged(_) => {}
    }
}

fn one(on: &mut Findings<'_>, command: &Command, range: Range<usize>, outside: bool) {
    if command.argv.is_empty() {
        return;
    }
    if on.facts.allowed.is_some_and(|allowed| !allowed.iter().any(|pattern| pattern.matches(&command.argv))) {
        let message = format!(
            "policy does not allow `{}`; use a command of its list, or have it widened",
            command.argv.join(" ")
        );
        on.error("not-allowed", range.clone(), message, None);
    }
    if let Some(dir) = command.dir.as_deref().filter(|dir| *dir != ".") {
        let folder = format!("{}/", dir.trim_end_matches('/'));
        if !on.facts.files.iter().any(|file| file.as_str().starts_with(&folder)) {
            on.error(
                "missing-folder",
                range.clone(),
                format!("there is no folder `{dir}` to run in; mend the path"),
                None,
            );
        }
    }
    risky(on, command, range, outside);
}

fn one_pattern(on: &mut Findings<'_>, pattern: &CommandPattern, range: Range<usize>) {
    if pattern.argv.is_empty() {
        if pattern.open {
            let message = "this would let the model start any program; name the program before the `*`";
            on.error("allow-all", range, message, None);
        }
        return;
    }
    let covered = |allowed: &CommandPattern| {
        if allowed.open {
            pattern.argv.starts_with(&allowed.argv)
        } else {
            !pattern.open && allowed.argv == pattern.argv
        }
    };
    if on.facts.allowed.is_some_and(|allowed| !allowed.iter().any(covered)) {
        let message = format!("policy does not allow `{}`; use a command of its list", pattern.argv.join(" "));
        on.error("not-allowed", range.clone(), message, None);
    }
    let written = Command { argv: pattern.argv.clone(), dir: None, env: Vec::new() };
    risky(on, &written, range, false);
}

/// What the table of risks says. What is only not known asks at its gate and is no finding; a file of the workspace
/// that reaches outside is behind a gate of its own.
fn risky(on: &mut Findings<'_>, command: &Command, range: Range<usize>, outside: bool) {
    let said = join(&command.argv);
    match commands::judge(command) {
        Judgement::Allow => {}
        Judgement::Deny(risk) => {
            let message = format!("`{said}` is never started: {}; do it yourself, and take it out here", risk.why);
            on.error("denied-command", range, message, None);
        }
        Judgement::Ask(risk) if commands::is_known_risk(&risk) && !(outside && risk.rule == "workspace-program") => {
            let message =
                format!("`{said}` is risky ({}): {}; its gate will show the whole command", risk.rule, risk.why);
            on.warning("risky-command", range, message, None);
        }
        Judgement::Ask(_) => {}
    }
}
