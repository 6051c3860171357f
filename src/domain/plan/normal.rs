//! The one function that makes normal form, digest, prompt text and enforcement tables from a plan.
//!
//! The normal form is the document that [`super::render`] writes, behind the versions in force. Reading it again gives
//! the plan, so equal digests are equal plans; and the prompt's texts are cut out of it.
//!
//! **Invariant:** each text of the prompt stands in the normal text, byte for byte; the enforcement is made from the
//! plan that the text says and from nothing else. **Absent:** the workspace: no table depends on which files exist.

use super::globs::{self, Globs};
use super::graph::Graph;
use super::model::*;
use super::parse::MOST_STEPS;
use super::render;
use crate::domain::ids::{ContentHash, StepId};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds inside an attempt, where the plan says nothing (F4).
const REPAIR_ROUNDS: u32 = 2;
/// New attempts, where the plan says nothing (B5).
const RETRIES: u32 = 2;

/// What is in force besides the plan, and is approved with it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Versions {
    /// Of the policy.
    pub policy: String,
    /// Of recipes.
    pub recipe: String,
    /// Of grammars and queries.
    pub grammar: String,
}

/// What a model is told of a plan. Made by [`normal`] alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanPrompt {
    /// Title, goal and Contract.
    pub contract: String,
    /// Heading, settings and instruction of each step, in document order.
    pub steps: Vec<(StepId, String)>,
}

/// What the runtime enforces. Made by [`normal`] alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enforcement {
    /// For the plan as a whole.
    pub contract: ContractRules,
    /// In document order.
    pub steps: Vec<StepRules>,
}

/// The contract's rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContractRules {
    /// Every write lies in it.
    pub scope: Globs,
    /// Judges what was kept.
    pub accept: Vec<Check>,
    /// What the task may cost.
    pub budget: Budget,
    /// Checked at each step's end.
    pub enforce: Vec<Enforce>,
    /// Where the runtime stops and asks.
    pub stop: Vec<StopRule>,
}

/// A path or glob that a step may write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteRule {
    /// As written.
    pub pattern: String,
    /// Files may be created under it.
    pub new: bool,
    /// The symbol outside which a hunk is flagged.
    pub focus: Option<String>,
    /// It may mean several files.
    wide: bool,
    globs: Globs,
}

impl WriteRule {
    fn new(pattern: &str, new: bool, focus: Option<String>) -> Self {
        let globs = Globs::files(&[pattern.to_owned()]);
        Self { pattern: pattern.to_owned(), new, focus, wide: globs::is_glob(pattern), globs }
    }

    fn folder(pattern: &str) -> Self {
        let globs = Globs::folders(&[pattern.to_owned()]);
        Self { pattern: pattern.to_owned(), new: false, focus: None, wide: true, globs }
    }

    /// Whether both may mean one file. Errs on the side of yes: it decides what may *not* run at once.
    fn meets(&self, other: &Self) -> bool {
        if self.pattern == other.pattern {
            return true;
        }
        if self.wide && other.wide {
            let (a, b) = (globs::literal(&self.pattern), globs::literal(&other.pattern));
            return a.starts_with(b) || b.starts_with(a);
        }
        (self.wide && self.matches(&other.pattern)) || (other.wide && other.matches(&self.pattern))
    }

    /// Whether it means this path.
    pub fn matches(&self, path: &str) -> bool {
        self.globs.matches(path)
    }
}

/// A step's rules with all defaults filled in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepRules {
    /// Which step.
    pub id: StepId,
    /// What it may write; empty = nothing.
    pub write: Vec<WriteRule>,
    /// What it may read beyond that; empty = all unignored files.
    pub read: Globs,
    /// What its model may start.
    pub commands: Vec<CommandPattern>,
    /// Its model's tools; empty = the kind's.
    pub tools: Vec<String>,
    /// Which steps end before it starts: as written or by default, and those above it that write the same file.
    pub predecessors: Vec<StepId>,
    /// Of these, the ones that no word of the plan asks for: they write the same files.
    pub ordered: Vec<StepId>,
    /// It waits for the last decision on a hunk.
    pub waits_review: bool,
    /// How its result is judged, cheapest first; the kind's default where the plan says nothing.
    pub checks: Vec<Check>,
    /// Rounds inside an attempt after a failed check.
    pub repair: u32,
    /// New attempts after a failure.
    pub retry: Retry,
    /// Seconds a command of it may take; `None` = the configured limit.
    pub timeout: Option<u64>,
    /// What a failure does to the task.
    pub on_failure: OnFailure,
    /// It reaches outside: own gate, own key.
    pub outside: bool,
    /// It may run again after a crash without asking.
    pub repeatable: bool,
    /// Tells whether its outside effect happened.
    pub probe: Option<Command>,
}

impl StepRules {
    /// The rule that lets it write this path, if one does. An exact path before a glob.
    pub fn write_rule(&self, path: &str) -> Option<&WriteRule> {
        let exact = self.write.iter().find(|rule| rule.pattern == path);
        exact.or_else(|| self.write.iter().find(|rule| rule.matches(path)))
    }
}

impl CommandPattern {
    /// Whether an argument vector is what the pattern says.
    pub fn matches(&self, argv: &[String]) -> bool {
        if self.open { argv.starts_with(&self.argv) && !argv.is_empty() } else { argv == self.argv }
    }
}

/// A plan in normal form with everything that is made from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Normal {
    /// What is digested.
    pub text: String,
    /// Of `text`.
    pub digest: ContentHash,
    /// What a model is told.
    pub prompt: PlanPrompt,
    /// What the runtime enforces.
    pub tables: Enforcement,
    versions: String,
}

impl Normal {
    /// Whether it was made from this plan.
    pub(super) fn says(&self, plan: &Plan) -> bool {
        self.text == format!("{}\n{}", self.versions, render::render(plan))
    }
}

/// Makes normal form, digest, prompt text and enforcement tables.
pub fn normal(plan: &Plan, versions: &Versions) -> Normal {
    let line = |name: &str, version: &str| format!("{name} {}\n", version.escape_debug());
    let versions =
        [line("policy", &versions.policy), line("recipe", &versions.recipe), line("grammar", &versions.grammar)]
            .concat();
    let contract = render::head(plan);
    let steps: Vec<_> = plan.steps.iter().map(|step| (step.id.clone(), render::step(step))).collect();
    let text = format!("{versions}\n{}", render::render(plan));
    let digest = ContentHash::of(&text);
    Normal { digest, text, prompt: PlanPrompt { contract, steps }, tables: tables(plan), versions }
}

/// The digest of each step's definition, rights and inputs, in document order. The rights are the resolved ones, so
/// that a narrower scope reaches what relied on the wider; the inputs are the steps before it. What the task may cost
/// is none of these: a larger budget makes no finished step run again.
pub fn step_digests(normal: &Normal) -> Vec<(StepId, ContentHash)> {
    let rules: BTreeMap<_, _> = normal.tables.steps.iter().map(|rules| (&rules.id, rules)).collect();
    let texts: BTreeMap<_, _> = normal.prompt.steps.iter().map(|(id, text)| (id, text)).collect();
    let mut known: BTreeMap<&StepId, ContentHash> = BTreeMap::new();
    // Steps may depend on later ones: go round until no more can be said. What hangs in a cycle gets no inputs.
    let mut stuck = false;
    while known.len() < rules.len() {
        let before = known.len();
        for (id, rules) in &rules {
            if known.contains_key(id) {
                continue;
            }
            let inputs: Vec<_> = rules.predecessors.iter().map(|before| known.get(before)).collect();
            if !stuck && inputs.iter().any(Option::is_none) {
                continue;
            }
            let inputs: Vec<_> = inputs.into_iter().flatten().map(ContentHash::as_str).collect();
            let text = texts.get(id).map_or("", |text| text.as_str());
            let rights = rights(rules);
            known.insert(id, ContentHash::of(format!("{}\0{}\0{rights}\0{text}", normal.versions, inputs.join(" "))));
        }
        stuck = known.len() == before;
    }
    let steps = normal.prompt.steps.iter();
    steps.filter_map(|(id, _)| known.get(id).map(|digest| (id.clone(), digest.clone()))).collect()
}

/// What a step may write and what its model may start, with the contract's share, one rule a line. The order in which
/// rules are written gives no other right.
fn rights(rules: &StepRules) -> String {
    let writes = rules.write.iter().map(|rule| format!("write {:?} {} {:?}\n", rule.pattern, rule.new, rule.focus));
    let starts = rules.commands.iter().map(|pattern| format!("start {:?} {}\n", pattern.argv, pattern.open));
    writes.chain(starts).collect::<BTreeSet<_>>().into_iter().collect()
}

fn tables(plan: &Plan) -> Enforcement {
    let contract = &plan.contract;
    let mut steps: Vec<StepRules> = plan.steps.iter().map(|step| rules(step, contract)).collect();
    if steps.len() > MOST_STEPS {
        // Such a plan is never approved; its order would take memory by the square of its steps.
        return Enforcement { contract: contract_rules(contract), steps };
    }
    let written = explicit_order(plan);
    let mut graph = Graph::new(written.clone());
    for later in 0..steps.len() {
        // The nearest first: what comes before that one then comes before this one too.
        for earlier in (0..later).rev() {
            let meets = match (steps.get(earlier), steps.get(later)) {
                (Some(a), Some(b)) => {
                    !graph.precedes(earlier, later) && !graph.precedes(later, earlier) && overlap(a, b)
                }
                _ => false,
            };
            if meets {
                graph.order(earlier, later);
            }
        }
    }
    let id = |n: &usize| plan.steps.get(*n).map(|step| step.id.clone());
    for (n, (rules, written)) in steps.iter_mut().zip(&written).enumerate() {
        rules.predecessors = graph.before(n).iter().filter_map(id).collect();
        rules.ordered = graph.before(n).iter().filter(|before| !written.contains(before)).filter_map(id).collect();
    }
    Enforcement { contract: contract_rules(contract), steps }
}

fn contract_rules(contract: &Contract) -> ContractRules {
    ContractRules {
        scope: Globs::folders(&contract.scope),
        accept: contract.accept.clone(),
        budget: contract.budget.clone(),
        enforce: contract.enforce.clone(),
        stop: contract.stop.clone(),
    }
}

/// Direct predecessors as the plan has them, by number; unknown names are left out. `after: review` alone waits for
/// all steps above: before they ran there is no hunk to decide on, and it would start at once.
pub(super) fn explicit_order(plan: &Plan) -> Vec<Vec<usize>> {
    let mut numbers = BTreeMap::new();
    for (n, step) in plan.steps.iter().enumerate() {
        numbers.entry(&step.id).or_insert(n);
    }
    let before = |(n, step): (usize, &Step)| match &step.after {
        After::Above => n.checked_sub(1).into_iter().collect(),
        After::Nothing => vec![],
        After::Steps { steps, review: true } if steps.is_empty() => (0..n).collect(),
        After::Steps { steps, .. } => {
            let mut found: Vec<usize> = steps.iter().filter_map(|id| numbers.get(id).copied()).collect();
            found.dedup();
            found
        }
    };
    plan.steps.iter().enumerate().map(before).collect()
}

fn overlap(a: &StepRules, b: &StepRules) -> bool {
    a.write.iter().any(|a| b.write.iter().any(|b| a.meets(b)))
}

fn rules(step: &Step, contract: &Contract) -> StepRules {
    let globs = |patterns: &[String], new| patterns.iter().map(|glob| WriteRule::new(glob, new, None)).collect();
    let write: Vec<WriteRule> = match &step.kind {
        StepKind::Edit(targets) => {
            targets.iter().map(|target| WriteRule::new(&target.path, target.new, target.focus.clone())).collect()
        }
        StepKind::Transform(Rule::Template { to, .. }) => vec![WriteRule::new(to, true, None)],
        StepKind::Transform(Rule::Rename { .. } | Rule::Rewrite { .. }) if step.write.is_empty() => {
            contract.scope.iter().map(|glob| WriteRule::folder(glob)).collect()
        }
        StepKind::Transform(Rule::Rename { .. } | Rule::Rewrite { .. }) => globs(&step.write, false),
        StepKind::Run(_) | StepKind::Fetch(_) => globs(&step.write, true),
        StepKind::Explore(_) | StepKind::Check(_) | StepKind::Ask(_) | StepKind::Recipe(_) => vec![],
    };
    let mut read = step.read.clone();
    if let StepKind::Explore(globs) = &step.kind {
        read.extend(globs.iter().cloned());
    }
    let mut checks = step.checks.clone();
    match &step.kind {
        StepKind::Check(check) => checks.insert(0, check.clone()),
        StepKind::Edit(_) | StepKind::Transform(_) if checks.is_empty() => checks.push(Check::Syntax),
        StepKind::Edit(_)
        | StepKind::Transform(_)
        | StepKind::Explore(_)
        | StepKind::Run(_)
        | StepKind::Fetch(_)
        | StepKind::Ask(_)
        | StepKind::Recipe(_) => {}
    }
    let mut commands = step.allow.clone();
    if commands.is_empty() {
        commands.extend(checks.iter().filter_map(|check| match check {
            Check::Command(command) => Some(CommandPattern { argv: command.argv.clone(), open: false }),
            Check::Syntax
            | Check::Search(_)
            | Check::Exists(_)
            | Check::Missing(_)
            | Check::Changed(_)
            | Check::Unchanged(_) => None,
        }));
    }
    if matches!(step.kind, StepKind::Edit(_) | StepKind::Explore(_)) {
        // Elsewhere is no model that could start one, and a step that ran must not run again for what it never had.
        commands.extend(contract.allow.iter().cloned());
    }
    let outside = step.effect == EffectSetting::Outside;
    let by_kind = !matches!(step.kind, StepKind::Run(_) | StepKind::Fetch(_) | StepKind::Ask(_));
    StepRules {
        id: step.id.clone(),
        write,
        read: Globs::folders(&read),
        commands,
        tools: step.tools.clone(),
        predecessors: vec![],
        ordered: vec![],
        waits_review: matches!(step.after, After::Steps { review: true, .. }),
        checks,
        repair: step.repair.unwrap_or(REPAIR_ROUNDS),
        retry: step.retry.clone().unwrap_or(Retry { times: RETRIES, every: None }),
        timeout: step.timeout,
        on_failure: step.on_failure,
        outside,
        repeatable: !outside && (by_kind || step.effect == EffectSetting::Repeatable),
        probe: step.probe.clone(),
    }
}
