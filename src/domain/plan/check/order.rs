//! Ids and order: twice the same, unknown, in a circle, and what is ordered because it writes the same file.
//!
//! **Invariant:** a cycle is told once, at each of its steps. **Absent:** the order itself; `normal` makes it.

use super::{Findings, meant};
use crate::domain::plan::graph::Graph;
use crate::domain::plan::parse::scan::fix;
use crate::domain::plan::{After, normal};
use std::collections::BTreeMap;

/// Words that an id must not be: they mean something where ids stand.
const RESERVED: [&str; 4] = ["none", "review", "planning", "acceptance"];

pub(super) fn check(on: &mut Findings<'_>) {
    ids(on);
    names(on);
    cycles(on);
    shared(on);
}

fn ids(on: &mut Findings<'_>) {
    let mut seen = BTreeMap::new();
    for (_, step, layout) in on.steps() {
        let range = layout.id.clone().unwrap_or_else(|| layout.heading.clone());
        if RESERVED.contains(&step.id.as_str()) {
            let message = format!("`{}` means something else in a plan; give the step another id", step.id);
            on.error("reserved-id", range.clone(), message, None);
        }
        let times = seen.entry(step.id.clone()).or_insert(0u32);
        *times += 1;
        if *times > 1 {
            let other = format!("{}-{times}", step.id);
            let mend = layout.id.clone().and_then(|at| fix(format!("name it `{other}`"), at, other.clone()));
            on.error(
                "duplicate-id",
                range,
                format!("the id `{}` is taken by a step above; choose another", step.id),
                mend,
            );
        }
    }
}

fn names(on: &mut Findings<'_>) {
    for (n, step, layout) in on.steps() {
        let After::Steps { steps, review } = &step.after else { continue };
        for id in steps {
            if on.plan.steps.iter().any(|step| step.id == *id) {
                continue;
            }
            let part =
                layout.settings_of("after").flat_map(|setting| &setting.parts).find(|part| part.text == id.as_str());
            let range = part.map_or_else(|| layout.key_range("after"), |part| part.range.clone());
            let known = on.plan.steps.iter().map(|step| step.id.as_str());
            let mend =
                meant(id.as_str(), known).and_then(|meant| fix(format!("write `{meant}`"), range.clone(), meant));
            let message = format!("no step is called `{id}`; name a step of this plan, or write `none`");
            on.error("unknown-after", range, message, mend);
        }
        if *review && n == 0 {
            let message = "nothing comes before this step, so there is no hunk to wait for; name steps beside `review`";
            on.warning("review-of-nothing", layout.key_range("after"), message, None);
        }
    }
}

fn cycles(on: &mut Findings<'_>) {
    let graph = Graph::new(normal::explicit_order(on.plan));
    let ring: Vec<usize> = (0..on.plan.steps.len()).filter(|n| graph.precedes(*n, *n)).collect();
    for (n, step, layout) in on.steps() {
        if !ring.contains(&n) {
            continue;
        }
        let with: Vec<String> = on
            .steps()
            .filter(|(m, _, _)| *m != n && graph.precedes(*m, n) && graph.precedes(n, *m))
            .map(|(_, step, _)| format!("`{}`", step.id))
            .take(5)
            .collect();
        let message = if with.is_empty() {
            format!("`{}` waits for itself; take it out of `after`", step.id)
        } else {
            format!("`{}` and {} wait for each other; take one out of `after`", step.id, with.join(", "))
        };
        on.error("cycle", layout.key_range("after"), message, None);
    }
}

/// Steps that nothing orders but the files they write.
fn shared(on: &mut Findings<'_>) {
    let tables = on.normal.tables.steps.clone();
    for ((_, step, layout), rules) in on.steps().zip(&tables) {
        for before in &rules.ordered {
            let other = tables.iter().find(|rules| rules.id == *before);
            let same = other.and_then(|other| {
                rules.write.iter().find(|rule| other.write.iter().any(|theirs| theirs.pattern == rule.pattern))
            });
            let range = layout.key_range(step.kind.key());
            match same {
                Some(rule) => {
                    let message = format!("runs after `{before}`, as both write `{}`", rule.pattern);
                    on.hint("ordered", range, message, None);
                }
                None => {
                    let message = format!(
                        "runs after `{before}`, as their globs may mean the same files; name the files to let both run at once"
                    );
                    on.warning("ordered-by-globs", range, message, None);
                }
            }
        }
    }
}
