//! Settings that do not fit the step's kind, and what belongs to a later release.
//!
//! **Invariant:** nothing of a later stage can be approved. **Absent:** files and commands.

use super::{Findings, meant};
use crate::domain::plan::parse::scan::fix;
use crate::domain::plan::{EditTarget, EffectSetting, Plan, Step, StepKind};

pub(super) fn check(on: &mut Findings<'_>) {
    for (_, step, layout) in on.steps() {
        let later = |what: &str| format!("{what} is not in this release; take it out");
        match &step.kind {
            StepKind::Recipe(_) => on.error("later-release", layout.key_range("recipe"), later("`recipe`"), None),
            StepKind::Fetch(_) => on.error("later-release", layout.key_range("fetch"), later("`fetch`"), None),
            StepKind::Edit(targets) => edits(on, step, layout, targets),
            StepKind::Ask(who) if who.is_empty() || who.contains(char::is_whitespace) => {
                let message = "`ask` takes `anyone` or one user name";
                on.error("unreadable-value", layout.key_range("ask"), message, None);
            }
            StepKind::Ask(_)
            | StepKind::Explore(_)
            | StepKind::Transform(_)
            | StepKind::Run(_)
            | StepKind::Check(_) => {}
        }
        if step.route.is_some() {
            on.error("later-release", layout.key_range("route"), later("`route`"), None);
        }
        tools(on, step, layout);
        fitting(on, step, layout);
    }
}

fn edits(on: &mut Findings<'_>, step: &Step, layout: &super::StepLayout, targets: &[EditTarget]) {
    for (n, target) in targets.iter().enumerate() {
        if target.path.starts_with('@') {
            let range = layout.part("edit", n).map_or_else(|| layout.key_range("edit"), |part| part.range.clone());
            let message = "files bound later (`@…`) are not in this release; name the files, or explore first";
            on.error("later-release", range, message, None);
        }
    }
    if step.instruction.is_empty() && step.title.split_whitespace().count() < 2 {
        let message = "the model is told nothing but this title; say below the settings what to change";
        on.hint("no-instruction", layout.heading.clone(), message, None);
    }
}

fn tools(on: &mut Findings<'_>, step: &Step, layout: &super::StepLayout) {
    for (n, tool) in step.tools.iter().enumerate() {
        let range = layout.part("tools", n).map_or_else(|| layout.key_range("tools"), |part| part.range.clone());
        if tool == "script" {
            on.error("later-release", range, "the tool `script` is not in this release; take it out", None);
        } else if !on.facts.tools.contains(&tool.as_str()) {
            let known = on.facts.tools.iter().copied();
            let mend = meant(tool, known).and_then(|meant| fix(format!("write `{meant}`"), range.clone(), meant));
            let message = format!("no tool is called `{tool}`; there are {}", on.facts.tools.join(", "));
            on.error("unknown-tool", range, message, mend);
        }
    }
}

fn fitting(on: &mut Findings<'_>, step: &Step, layout: &super::StepLayout) {
    let kind = step.kind.key();
    let writes = matches!(step.kind, StepKind::Run(_) | StepKind::Transform(_) | StepKind::Fetch(_));
    if !step.write.is_empty() && !writes {
        let message = match step.kind {
            StepKind::Edit(_) => "an `edit` step names its files in `edit`; move them there".to_owned(),
            _ => format!("a step of kind `{kind}` writes nothing; take `write` out"),
        };
        on.error("write-unfit", layout.key_range("write"), message, None);
    }
    let outside = step.effect == EffectSetting::Outside;
    if outside && !matches!(step.kind, StepKind::Run(_) | StepKind::Fetch(_)) {
        let message = "an outside effect is a `run` step of its own, so that its gate shows the exact command";
        on.error("effect-unfit", layout.key_range("effect"), message, None);
    }
    if outside && !step.write.is_empty() {
        let message =
            "an outside effect runs in the workspace itself and makes no hunks; take `write` out or make two steps";
        on.error("effect-unfit", layout.key_range("write"), message, None);
    }
    if outside && step.probe.is_none() {
        let message = "without `probe` a crash in the middle means that you will be asked whether it happened";
        on.hint("no-probe", layout.key_range("effect"), message, None);
    }
    if !outside && step.probe.is_some() {
        let message = "`probe` tells whether an outside effect happened; add `effect: outside` or take it out";
        on.warning("probe-unfit", layout.key_range("probe"), message, None);
    }
    if matches!(step.kind, StepKind::Run(_)) && !outside && step.write.is_empty() {
        let message = "without `write` whatever this command changes is listed and dropped";
        on.hint("nothing-kept", layout.key_range("run"), message, None);
    }
    artifacts(on, on.plan, step, layout);
}

fn artifacts(on: &mut Findings<'_>, plan: &Plan, step: &Step, layout: &super::StepLayout) {
    for (n, needed) in step.inputs.iter().enumerate() {
        let range = layout.part("in", n).map_or_else(|| layout.key_range("in"), |part| part.range.clone());
        let makers = plan.steps.iter().filter(|other| other.id != step.id);
        let made = makers.flat_map(|other| &other.outputs).find(|made| made.name == needed.name);
        match made {
            None => {
                let message = format!("no step has `{}` in its `out`; name an artifact that one makes", needed.name);
                on.error("unknown-artifact", range, message, None);
            }
            Some(made) if made.kind != needed.kind => {
                let message =
                    format!("`{}` is made as {} and needed as {}; use one type", needed.name, made.kind, needed.kind);
                on.error("artifact-type", range, message, None);
            }
            Some(_) => {}
        }
    }
}
