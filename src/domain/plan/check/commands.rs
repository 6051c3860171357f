//! Commands: allowed, in folders that exist, and not more than they look like; and that something judges the whole.
//!
//! **Invariant:** no command can be approved that policy does not allow. **Absent:** running them.

use super::Findings;
use crate::domain::plan::{Check, Command, CommandPattern, StepKind};
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
            StepKind::Run(command) => one(on, command, layout.key_range("run")),
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
            one(on, probe, layout.key_range("probe"));
        }
    }
}

fn one_check(on: &mut Findings<'_>, check: &Check, range: Range<usize>) {
    match check {
        Check::Command(command) => one(on, command, range),
        Check::Syntax
        | Check::Search(_)
        | Check::Exists(_)
        | Check::Missing(_)
        | Check::Changed(_)
        | Check::Unchanged(_) => {}
    }
}

fn one(on: &mut Findings<'_>, command: &Command, range: Range<usize>) {
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
    risky(on, &command.argv, range);
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
    risky(on, &pattern.argv, range);
}

/// Programs that run other text than the plan shows.
fn risky(on: &mut Findings<'_>, argv: &[String], range: Range<usize>) {
    let Some(program) = argv.first().map(|program| program.rsplit('/').next().unwrap_or(program)) else { return };
    let inline = |flags: &[&str]| argv.iter().skip(1).any(|word| flags.contains(&word.as_str()));
    let why = match program {
        "sh" | "bash" | "zsh" | "dash" | "fish" | "ksh" if inline(&["-c"]) => "a shell runs the text behind `-c`",
        "python" | "python3" | "ruby" | "perl" | "node" | "deno" | "php"
            if inline(&["-c", "-e", "--eval", "-r", "eval"]) =>
        {
            "an interpreter runs the text in its arguments"
        }
        "sudo" | "doas" | "su" => "it takes the rights of another user",
        "curl" | "wget" | "ssh" | "scp" | "rsync" => "it reaches the network",
        "env" | "xargs" | "eval" | "exec" | "nohup" => "it starts another program that the allow-list does not see",
        "rm" => "it removes files",
        _ => return,
    };
    on.warning(
        "risky-command",
        range,
        format!("`{program}` is risky: {why}; its gate will show the whole command"),
        None,
    );
}
