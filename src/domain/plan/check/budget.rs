//! Bounds that contradict the plan or each other.
//!
//! **Invariant:** only what can be told without running is told. **Absent:** estimates of cost.

use super::Findings;
use crate::domain::plan::{Enforce, Measure, StepKind, globs};
use std::collections::BTreeSet;

pub(super) fn check(on: &mut Findings<'_>) {
    let budget = on.plan.contract.budget.clone();
    let range = on.contract_key("budget");
    let zero =
        budget.tokens == Some(0) || budget.money == Some(0) || budget.seconds == Some(0) || budget.turns == Some(0);
    if zero {
        on.error("budget", range.clone(), "a budget of nothing lets nothing run; raise it or take it out", None);
    }
    let models = |kind: &StepKind| matches!(kind, StepKind::Edit(_) | StepKind::Explore(_));
    let by_model = on.plan.steps.iter().filter(|step| models(&step.kind)).count();
    if budget.turns.is_some_and(|turns| turns > 0 && (turns as usize) < by_model) {
        let message = format!("{by_model} steps need a model and the budget has fewer turns; raise it");
        on.error("budget", range.clone(), message, None);
    }
    if let Some(seconds) = budget.seconds {
        for (_, step, layout) in on.steps() {
            if step.timeout.is_some_and(|timeout| timeout > seconds) {
                let message = "this step may take longer than the whole budget; lower one or raise the other";
                on.error("budget", layout.key_range("timeout"), message, None);
            }
        }
    }
    rules(on);
}

fn rules(on: &mut Findings<'_>) {
    let budget = on.plan.contract.budget.clone();
    let range = on.contract_key("stop");
    let named = named_files(on);
    for rule in &on.plan.contract.stop {
        let over = match rule.measure {
            Measure::Tokens => budget.tokens.is_some_and(|most| rule.above >= most),
            Measure::Money => budget.money.is_some_and(|most| rule.above >= most),
            Measure::Time => budget.seconds.is_some_and(|most| rule.above >= most),
            Measure::Files if (rule.above as usize) < named => {
                let message =
                    format!("the steps name {named} files, so this plan would stop on its own rule; raise it");
                on.warning("stops-itself", range.clone(), message, None);
                false
            }
            Measure::Files | Measure::Lines => false,
        };
        if over {
            on.warning("never-stops", range.clone(), "the budget ends before this rule asks; lower it", None);
        }
    }
    for enforce in &on.plan.contract.enforce {
        if let Enforce::FilesAtMost(most) = enforce
            && (*most as usize) < named
        {
            let message = format!("the steps name {named} files and at most {most} may change; raise it or name fewer");
            on.warning("stops-itself", on.contract_key("enforce"), message, None);
        }
    }
}

fn named_files(on: &Findings<'_>) -> usize {
    let rules = on.normal.tables.steps.iter().flat_map(|rules| &rules.write);
    rules.map(|rule| rule.pattern.as_str()).filter(|path| !globs::is_glob(path)).collect::<BTreeSet<_>>().len()
}
