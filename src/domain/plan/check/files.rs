//! Paths: readable, there or created earlier, inside the scope; and files that a check measures by.
//!
//! **Invariant:** every write that the enforcement would allow lies in the scope, or is an error here. **Absent:**
//! reading files.

use super::Findings;
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::globs::{self, Globs};
use crate::domain::plan::graph::Graph;
use crate::domain::plan::parse::scan::{Part, fix, ticked};
use crate::domain::plan::{Check, EditTarget, Rule, StepKind, StepLayout, normal};
use crate::domain::policy::measures;
use std::ops::Range;

pub(super) fn check(on: &mut Findings<'_>) {
    let graph = Graph::new(normal::explicit_order(on.plan));
    let scope = Globs::folders(&on.plan.contract.scope);
    scope_itself(on, &scope);
    for (n, step, layout) in on.steps() {
        match &step.kind {
            StepKind::Edit(targets) => {
                for (m, target) in targets.iter().enumerate().filter(|(_, target)| !target.path.starts_with('@')) {
                    let Some(part) = layout.part("edit", m) else { continue };
                    if readable(on, part) {
                        present(on, &graph, n, target, part);
                        inside(on, &scope, &target.path, part);
                        measured(on, &target.path, part);
                    }
                }
                if targets.is_empty() && layout.settings_of("edit").next().is_some() {
                    on.error(
                        "empty-value",
                        layout.key_range("edit"),
                        "`edit` names no file; name those it may change",
                        None,
                    );
                }
            }
            StepKind::Transform(Rule::Template { source, to, .. }) => {
                if let Some(part) = layout.part("transform", 0).filter(|_| !on.exists(source)) {
                    let message = format!("`{source}` is not there; name an existing file as the template");
                    on.error("missing-file", part.range.clone(), message, None);
                }
                if let Some(part) = layout.part("transform", 1)
                    && readable(on, part)
                {
                    inside(on, &scope, to, part);
                }
            }
            StepKind::Transform(_)
            | StepKind::Run(_)
            | StepKind::Fetch(_)
            | StepKind::Explore(_)
            | StepKind::Check(_)
            | StepKind::Ask(_)
            | StepKind::Recipe(_) => {}
        }
        for part in parts(layout, "write") {
            if readable(on, part) {
                inside(on, &scope, &part.text, part);
                measured(on, &part.text, part);
            }
        }
        for part in parts(layout, "read").chain(parts(layout, "explore")) {
            readable(on, part);
        }
    }
    checked_paths(on);
}

fn parts<'a>(layout: &'a StepLayout, key: &'a str) -> impl Iterator<Item = &'a Part> {
    layout.settings_of(key).flat_map(|setting| &setting.parts)
}

/// A path or glob that can be read and stays in the workspace.
fn readable(on: &mut Findings<'_>, part: &Part) -> bool {
    if part.text == "." {
        let mend = fix("write `**`", part.range.clone(), "**");
        on.error("bad-path", part.range.clone(), "the whole workspace is written `**`", mend);
        return false;
    }
    match WorkspacePath::new(&part.text) {
        Err(problem) => {
            on.error("bad-path", part.range.clone(), format!("{problem}; write a path inside the workspace"), None);
            return false;
        }
        // The enforcement compares paths as they are written.
        Ok(clean) if clean.as_str() != part.text => {
            let mend = fix(format!("write `{clean}`"), part.range.clone(), clean.as_str());
            on.error("bad-path", part.range.clone(), format!("write this path as `{clean}`"), mend);
            return false;
        }
        Ok(_) => {}
    }
    if let Some(fault) = globs::fault(&part.text).filter(|_| !on.exists(&part.text)) {
        on.error("bad-glob", part.range.clone(), format!("this glob cannot be read ({fault}); mend it"), None);
        return false;
    }
    if part.text.starts_with(".git/") || part.text == ".git" || part.text.starts_with(".planwright/") {
        let message = "`.git` and `.planwright` are never written by a step; take it out";
        on.error("bad-path", part.range.clone(), message, None);
        return false;
    }
    true
}

fn present(on: &mut Findings<'_>, graph: &Graph, n: usize, target: &EditTarget, part: &Part) {
    let path = &target.path;
    let there = on.exists(path);
    let behind = part.outer.end..part.outer.end;
    if there {
        if target.new {
            let message = format!("`{path}` is there already, so the step will change it; take `(new)` out");
            on.warning("file-exists", part.range.clone(), message, None);
        }
        return;
    }
    if target.new {
        return;
    }
    if globs::is_glob(path) {
        let matcher = Globs::files(std::slice::from_ref(path));
        if !on.facts.files.iter().any(|file| matcher.matches(file.as_str())) {
            on.warning(
                "matches-nothing",
                part.range.clone(),
                format!("no file matches `{path}`; check the glob"),
                None,
            );
        }
        return;
    }
    let tables = &on.normal.tables.steps;
    let made = |(m, rules): (usize, &crate::domain::plan::StepRules)| {
        graph.precedes(m, n) && rules.write.iter().any(|rule| rule.new && rule.matches(path))
    };
    if tables.iter().enumerate().any(made) {
        return;
    }
    let folder = format!("{path}/");
    if on.facts.files.iter().any(|file| file.as_str().starts_with(&folder)) {
        let mend = fix(format!("write `{path}/**`"), part.range.clone(), format!("{path}/**"));
        on.error("folder", part.range.clone(), format!("`{path}` is a folder; name files, or `{path}/**`"), mend);
        return;
    }
    let later = tables.iter().any(|rules| rules.write.iter().any(|rule| rule.new && rule.pattern == *path));
    let message = if later {
        format!("`{path}` is made by a step that does not come before this one; name it in `after`")
    } else {
        format!("`{path}` is not there; mark it `(new)` if the step makes it, else mend the path")
    };
    let mend = if later { None } else { fix("mark it `(new)`", behind, " (new)") };
    on.error("missing-file", part.range.clone(), message, mend);
}

fn scope_itself(on: &mut Findings<'_>, scope: &Globs) {
    let contract = on.contract_key("scope");
    let writes = on.normal.tables.steps.iter().any(|rules| !rules.write.is_empty())
        || on.plan.steps.iter().any(|step| matches!(step.kind, StepKind::Transform(_)));
    if scope.is_empty() {
        if writes && on.layout.contract.is_some() {
            let message = "the contract has no `scope`, so nothing may be written; name the globs that writes stay in";
            on.error("empty-scope", contract, message, None);
        }
        return;
    }
    let parts: Vec<Part> = on
        .layout
        .contract
        .iter()
        .flat_map(|contract| &contract.settings)
        .filter(|setting| setting.name == "scope")
        .flat_map(|setting| setting.parts.clone())
        .collect();
    for part in parts {
        if !readable(on, &part) {
            continue;
        }
        let one = Globs::folders(std::slice::from_ref(&part.text));
        let found = on.facts.files.iter().any(|file| one.matches(file.as_str()));
        let made = on.normal.tables.steps.iter().flat_map(|rules| &rules.write).any(|rule| one.matches(&rule.pattern));
        if !found && !made {
            let message = format!("no file matches `{}`, and no step makes one there; check the glob", part.text);
            on.warning("matches-nothing", part.range.clone(), message, None);
        }
    }
}

fn inside(on: &mut Findings<'_>, scope: &Globs, pattern: &str, part: &Part) {
    if scope.is_empty() || scope.patterns().iter().any(|glob| glob == pattern) {
        return;
    }
    let strays = if globs::is_glob(pattern) && !on.exists(pattern) {
        let matcher = Globs::files(&[pattern.to_owned()]);
        let outside =
            on.facts.files.iter().find(|file| matcher.matches(file.as_str()) && !scope.matches(file.as_str()));
        // Files that are not there yet: what the pattern would mean with its stars filled in.
        let filled = pattern.replace("**", "x").replace(['*', '?'], "x");
        outside.map(ToString::to_string).or_else(|| (!scope.matches(&filled)).then(|| pattern.to_owned()))
    } else {
        (!scope.matches(pattern)).then(|| pattern.to_owned())
    };
    if let Some(stray) = strays {
        let end = last_scope(on);
        let mend =
            end.and_then(|end| fix(format!("add `{pattern}` to the scope"), end, format!(", {}", ticked(pattern))));
        let message = format!("`{stray}` lies outside the contract's scope; add it there, or take it out here");
        on.error("outside-scope", part.range.clone(), message, mend);
    }
}

/// Behind the last value of the scope.
fn last_scope(on: &Findings<'_>) -> Option<Range<usize>> {
    let settings = &on.layout.contract.as_ref()?.settings;
    let last = settings.iter().rfind(|setting| setting.name == "scope")?.parts.last()?;
    Some(last.outer.end..last.outer.end)
}

/// Files that checks measure by (F8): named ones are marked, those that only a glob reaches are doubted.
fn measured(on: &mut Findings<'_>, pattern: &str, part: &Part) {
    if globs::is_glob(pattern) && !on.exists(pattern) && !measures::names_measures(pattern) {
        let matcher = Globs::files(&[pattern.to_owned()]);
        if let Some(file) =
            on.facts.files.iter().find(|file| matcher.matches(file.as_str()) && measures::measure(file).is_some())
        {
            let message =
                format!("this glob reaches `{file}`, by which checks measure; name such files if they are meant");
            on.warning("measure", part.range.clone(), message, None);
        }
    } else if measures::names_measures(pattern) {
        let message = format!("checks measure by `{pattern}`; hunks in it are marked");
        on.hint("measure", part.range.clone(), message, None);
    }
}

fn checked_paths(on: &mut Findings<'_>) {
    for (_, step, layout) in on.steps() {
        for check in &step.checks {
            let (Check::Changed(path) | Check::Unchanged(path)) = check else { continue };
            if !on.exists(path) && !on.normal.tables.steps.iter().any(|rules| rules.write_rule(path).is_some()) {
                let message = format!("`{path}` is not there and no step makes it; mend the path");
                on.error("missing-file", layout.key_range("check"), message, None);
            }
        }
    }
}
