//! The grammar of each value: one reader a shape, used by the table of keys.
//!
//! **Invariant:** a reader takes what it understands and notes a problem for the rest; it never fails. **Absent:**
//! which key has which shape (`keys`), and whether a path exists or a step is known (`check`).

use super::command::{self, Mend, Slip};
use super::scan::{Part, Scan, fix, ticked};
use crate::domain::ids::StepId;
use crate::domain::plan::model::*;
use crate::domain::problem::{Fix, Replacement, Severity};
use std::ops::Range;

/// What stands under a step's heading before its kind is known.
#[derive(Default)]
pub(crate) struct Draft {
    /// Kinds that were named, each with its setting's key.
    pub kinds: Vec<(StepKind, Range<usize>)>,
    /// Of `check`; the first is the kind where no other stands.
    pub checks: Vec<Check>,
    /// Everything else; its own kind and checks are overwritten.
    pub rest: Option<Step>,
    /// The key of the setting being read.
    pub key: Range<usize>,
}

impl Draft {
    /// The step being filled.
    pub(crate) fn step(&mut self) -> &mut Step {
        self.rest.get_or_insert_with(|| empty_step(StepId::new("")))
    }

    fn kind(&mut self, kind: StepKind) {
        self.kinds.push((kind, self.key.clone()));
    }
}

/// A step that says nothing.
pub(crate) fn empty_step(id: StepId) -> Step {
    Step {
        id,
        title: String::new(),
        kind: StepKind::Edit(vec![]),
        after: After::Above,
        checks: vec![],
        write: vec![],
        read: vec![],
        allow: vec![],
        tools: vec![],
        inputs: vec![],
        outputs: vec![],
        repair: None,
        retry: None,
        timeout: None,
        on_failure: OnFailure::Stop,
        effect: EffectSetting::OfKind,
        probe: None,
        route: None,
        instruction: String::new(),
    }
}

/// As many values as separators say.
pub(crate) fn several(scan: &mut Scan, mut one: impl FnMut(&mut Scan) -> bool) {
    while !scan.done() && one(scan) {
        if !scan.separator() {
            break;
        }
    }
}

/// Values separated by `, ` or `; `.
pub(crate) fn list(scan: &mut Scan) -> Vec<String> {
    let mut out = Vec::new();
    several(scan, |scan| scan.value(&[]).map(|part| out.push(part.text)).is_some());
    out
}

pub(crate) fn edit(draft: &mut Draft, scan: &mut Scan) {
    let mut targets = Vec::new();
    several(scan, |scan| {
        let Some(path) = scan.value(&[" ("]) else { return false };
        let mut target = EditTarget { path: path.text, new: false, focus: None };
        while scan.eat("(") {
            loop {
                if scan.eat_word("new") {
                    target.new = true;
                } else if scan.eat_word("focus") {
                    match scan.take(&[")"]) {
                        Some(focus) => target.focus = Some(focus.text),
                        None => return false,
                    }
                } else {
                    return false;
                }
                if !scan.eat(",") {
                    break;
                }
            }
            if !scan.eat(")") {
                return false;
            }
        }
        targets.push(target);
        true
    });
    match draft.kinds.iter_mut().find_map(|(kind, _)| if let StepKind::Edit(old) = kind { Some(old) } else { None }) {
        Some(old) => old.extend(targets),
        None => draft.kind(StepKind::Edit(targets)),
    }
}

pub(crate) fn explore(draft: &mut Draft, scan: &mut Scan) {
    let globs = list(scan);
    draft.kind(StepKind::Explore(globs));
}

pub(crate) fn transform(draft: &mut Draft, scan: &mut Scan) {
    let rule = rule(scan);
    scan.bad |= rule.is_none();
    let lost = || Rule::Rename { symbol: String::new(), to: String::new() };
    draft.kind(StepKind::Transform(rule.unwrap_or_else(lost)));
}

fn rule(scan: &mut Scan) -> Option<Rule> {
    let word = ["rename", "rewrite", "template"].into_iter().find(|word| scan.eat_word(word))?;
    let from = scan.value(&[" to "])?.text;
    if !scan.eat_word("to") {
        return None;
    }
    let to = scan.value(&[])?.text;
    Some(match word {
        "rename" => Rule::Rename { symbol: from, to },
        "rewrite" => Rule::Rewrite { pattern: from, to },
        _ => Rule::Template { source: from, to, values: settings(scan) },
    })
}

pub(crate) fn run(draft: &mut Draft, scan: &mut Scan) {
    let command = command(scan, false).unwrap_or_else(no_command);
    draft.kind(StepKind::Run(command));
}

fn no_command() -> Command {
    Command { argv: vec![], dir: None, env: vec![] }
}

pub(crate) fn fetch(draft: &mut Draft, scan: &mut Scan) {
    let command = command(scan, false).unwrap_or_else(no_command);
    draft.kind(StepKind::Fetch(command));
}

pub(crate) fn ask(draft: &mut Draft, scan: &mut Scan) {
    let who = scan.value(&[]).map(|part| part.text).unwrap_or_default();
    draft.kind(StepKind::Ask(who));
}

pub(crate) fn recipe(draft: &mut Draft, scan: &mut Scan) {
    let all = scan.all().text;
    draft.kind(StepKind::Recipe(all));
}

/// Checks separated by `; `.
pub(crate) fn checks(scan: &mut Scan) -> Vec<Check> {
    let mut out = Vec::new();
    several(scan, |scan| {
        let check = check(scan);
        scan.bad |= check.is_none();
        check.map(|check| out.push(check)).is_some()
    });
    out
}

fn check(scan: &mut Scan) -> Option<Check> {
    for (word, present) in [("absent:", false), ("present:", true)] {
        if scan.eat(word) {
            return search(scan, present).map(Check::Search);
        }
    }
    let path = [
        ("exists", Check::Exists as fn(String) -> Check),
        ("missing", Check::Missing),
        ("changed", Check::Changed),
        ("unchanged", Check::Unchanged),
    ];
    for (word, make) in path {
        if scan.eat_word(word) {
            return scan.value(&[]).map(|part| make(part.text));
        }
    }
    if matches!(scan.rest().split([',', ';']).next().map(str::trim_end), Some("syntax")) {
        scan.value(&[]);
        return Some(Check::Syntax);
    }
    command(scan, true).map(Check::Command)
}

/// What follows `absent:` or `present:`.
pub(crate) fn search(scan: &mut Scan, present: bool) -> Option<Search> {
    let regex = scan.value(&[])?;
    if let Err(fault) = regex::Regex::new(&regex.text) {
        let fault = fault.to_string();
        let why = fault.lines().last().unwrap_or("").trim().to_owned();
        scan.error("bad-regex", regex.range, format!("this is no regular expression ({why}); mend the pattern"));
    }
    let mut search = Search { present, regex: regex.text, within: vec![], except: vec![] };
    loop {
        let list = if scan.eat_clause("in") {
            &mut search.within
        } else if scan.eat_clause("except") {
            &mut search.except
        } else {
            break;
        };
        list.extend(scan.take(&[" in ", " except "]).map(|part| part.text));
    }
    Some(search)
}

/// A command with `in DIR` and `with K=V`. `several`: it stands where more may follow, so `&&` can be split.
pub(crate) fn command(scan: &mut Scan, several: bool) -> Option<Command> {
    let start = scan.at();
    let part = scan.value(&[])?;
    let words = command::split(&part.text);
    let mut command = Command { argv: words.argv, dir: None, env: vec![] };
    loop {
        if scan.eat_clause("in") {
            command.dir = scan.take(&[" with "]).map(|part| part.text);
        } else if scan.eat_clause("with") {
            command.env.extend(assignments(scan));
        } else {
            break;
        }
    }
    let whole = scan.since(start);
    for slip in words.slips {
        report(scan, &part, slip, whole.clone(), several);
    }
    if words.open {
        let at = part.range.end.saturating_sub(1)..part.range.end;
        let mend = fix("quote it", at.clone(), "'*'");
        let message = "`*` is not expanded here; name the files, or quote it to pass it as it is";
        scan.problem("operator", Severity::Error, at, message, mend);
    }
    Some(command)
}

fn report(scan: &mut Scan, part: &Part, slip: Slip, whole: Range<usize>, several: bool) {
    // Inside a value the document's bytes run on without gaps, unless the value spans lines; then no fix is offered.
    let straight = part.range.len() == part.text.len();
    let here = |range: &Range<usize>| part.range.start + range.start..part.range.start + range.end;
    let range = if straight { here(&slip.range) } else { part.range.clone() };
    let mend = match &slip.mend {
        Mend::Quote(word) if straight => {
            let old = part.text.get(word.clone()).unwrap_or("");
            fix("quote the word", here(word), command::quote(old))
        }
        Mend::Split(at) if straight && several => {
            let (first, second) = (part.text.get(..at.start), part.text.get(at.end..));
            first.zip(second).map(|(first, second)| Fix {
                title: "make it two commands".to_owned(),
                edits: vec![Replacement {
                    range: whole,
                    text: format!("{}; {}", ticked(first.trim()), ticked(second.trim())),
                }],
            })
        }
        Mend::Environment(at) if straight => part.text.get(at.end..).map(|rest| {
            let set: Vec<_> = part.text.get(at.clone()).unwrap_or("").split_whitespace().map(ticked).collect();
            let text = format!("{}, with {}", ticked(rest), set.join(", "));
            Fix { title: "set it with `with`".to_owned(), edits: vec![Replacement { range: whole, text }] }
        }),
        Mend::Quote(_) | Mend::Split(_) | Mend::Environment(_) | Mend::None => None,
    };
    // Those whose fix cannot change what was meant have codes of their own.
    let code = match slip.mend {
        Mend::Split(_) => "two-commands",
        Mend::Environment(_) => "leading-variable",
        Mend::Quote(_) | Mend::None => "operator",
    };
    scan.problem(code, Severity::Error, range, slip.message, mend);
}

/// `with K=V, K=V`, if it stands there.
fn settings(scan: &mut Scan) -> Vec<(String, String)> {
    if scan.eat_clause("with") { assignments(scan) } else { vec![] }
}

fn assignments(scan: &mut Scan) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut first = true;
    loop {
        let comma = !first && scan.rest().starts_with(',');
        let ahead = scan.rest().strip_prefix(',').filter(|_| comma).unwrap_or(scan.rest());
        let more = comma && is_assignment(ahead);
        if !first && !more {
            return out;
        }
        scan.eat(",");
        first = false;
        let Some(part) = scan.take(&[" in `"]) else { return out };
        match part.text.split_once('=') {
            Some((name, value)) if !name.is_empty() && name.bytes().all(command::is_name) => {
                out.push((name.to_owned(), value.to_owned()));
            }
            _ => scan.error("unreadable-value", part.range, "after `with` stands NAME=VALUE"),
        }
    }
}

fn is_assignment(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches('`').trim_start();
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(command::is_name))
}

/// Command patterns; the last word may be `*`.
pub(crate) fn patterns(scan: &mut Scan) -> Vec<CommandPattern> {
    let mut out = Vec::new();
    several(scan, |scan| {
        let Some(part) = scan.value(&[]) else { return false };
        let words = command::split(&part.text);
        let mut argv = words.argv;
        for slip in words.slips {
            report(scan, &part, slip, part.range.clone(), false);
        }
        if words.open {
            argv.pop();
        }
        out.push(CommandPattern { argv, open: words.open });
        true
    });
    out
}

pub(crate) fn after(draft: &mut Draft, scan: &mut Scan) {
    let names = list(scan);
    let parts = scan.parts.clone();
    draft.step().after = match names.as_slice() {
        [only] if only == "none" => After::Nothing,
        _ => {
            if let Some(none) = parts.iter().find(|part| part.text == "none") {
                scan.error("unreadable-value", none.range.clone(), "`none` stands alone; name steps or write `none`");
            }
            let review = names.iter().any(|name| name == "review");
            let steps = names.into_iter().filter(|name| name != "review" && name != "none").map(StepId::new).collect();
            After::Steps { steps, review }
        }
    };
}

/// `NAME: TYPE, NAME: TYPE`.
pub(crate) fn ports(scan: &mut Scan) -> Vec<Port> {
    let mut out = Vec::new();
    several(scan, |scan| {
        let Some(part) = scan.value(&[]) else { return false };
        match part.text.split_once(':').map(|(name, kind)| (name.trim(), kind.trim())) {
            Some((name, kind)) if !name.is_empty() && matches!(kind, "text" | "files" | "symbols" | "data") => {
                out.push(Port { name: name.to_owned(), kind: kind.to_owned() });
            }
            _ => scan.error(
                "unreadable-value",
                part.range,
                "an artifact is written NAME: TYPE, with text, files, symbols or data as the type",
            ),
        }
        true
    });
    out
}

pub(crate) fn retry(draft: &mut Draft, scan: &mut Scan) {
    let Some(times) = count(scan) else { return };
    let every = if scan.eat_clause("every") { duration(scan) } else { None };
    draft.step().retry = Some(Retry { times, every });
}

/// A small whole number.
pub(crate) fn count(scan: &mut Scan) -> Option<u32> {
    let count = scan.number().and_then(|count| u32::try_from(count).ok());
    scan.bad |= count.is_none();
    count
}

/// A span in seconds: `30 s`, `10 min`, `2 h`.
pub(crate) fn duration(scan: &mut Scan) -> Option<u64> {
    let span = span(scan);
    scan.bad |= span.is_none();
    span
}

fn span(scan: &mut Scan) -> Option<u64> {
    let number = scan.number()?;
    let units =
        [("seconds", 1), ("sec", 1), ("s", 1), ("minutes", 60), ("min", 60), ("m", 60), ("hours", 3600), ("h", 3600)];
    let unit = units.iter().find(|(unit, _)| scan.eat_word(unit))?;
    number.checked_mul(unit.1)
}
