//! The one table of keys: contract, kind and step settings, each with its reader, writer and words for people.
//!
//! **Invariant:** reader, writer, grammar and words of a key stand nowhere else, and the table's order is the order of
//! the normal form. **Absent:** what
//! a value means for the runtime (`normal`), and which keys belong to a later release (`check`).

use super::model::*;
use super::parse::command;
use super::parse::scan::{Scan, ticked, worded};
use super::parse::terms;
use super::parse::values::{self as read, Draft};
use super::render as write;
use std::fmt::Write as _;

/// Where a key may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the first list of the Contract section.
    Contract,
    /// Under a step's heading, exactly one of them.
    Kind,
    /// Under a step's heading.
    Step,
}

/// A key of the plan document.
pub struct Key {
    /// As written before the colon.
    pub name: &'static str,
    /// Where it may stand.
    pub place: Place,
    /// What follows the colon.
    pub grammar: &'static str,
    /// What it does, one sentence.
    pub doc: &'static str,
    /// What a completion inserts behind the colon.
    pub hint: &'static str,
    pub(super) codec: Codec,
}

impl Key {
    /// Whether several items of the key in one place add up. A second kind has a finding of its own.
    pub fn repeats(&self) -> bool {
        const ADD_UP: [&str; 7] = ["check", "write", "read", "allow", "tools", "in", "out"];
        self.place != Place::Step || ADD_UP.contains(&self.name)
    }
}

/// How a key's value becomes part of the plan, and is written again. A writer returns one text an item.
pub(super) enum Codec {
    /// Of the contract.
    Contract(fn(&mut Contract, &mut Scan<'_>), fn(&Contract) -> Vec<String>),
    /// Of a step.
    Step(fn(&mut Draft, &mut Scan<'_>), fn(&Step) -> Vec<String>),
    /// The text-only approval; no part of the plan.
    Approval,
}

macro_rules! key {
    ($place:ident $name:literal $grammar:literal $hint:literal $doc:literal $codec:expr) => {
        Key { name: $name, place: Place::$place, grammar: $grammar, hint: $hint, doc: $doc, codec: $codec }
    };
}

/// All keys, in the order of the normal form.
pub static KEYS: &[Key] = &[
    key!(Contract "scope" "GLOB, GLOB…" "`src/**`" "Every write of every step must lie in one of these."
        Codec::Contract(|c, s| c.scope.extend(read::list(s)), |c| write::one_list(&c.scope))),
    key!(Contract "accept" "CHECK; CHECK…" "`cargo test`" "Judges what was kept, after the last decision."
        Codec::Contract(|c, s| c.accept.extend(read::checks(s)), |c| c.accept.iter().map(write::check).collect())),
    key!(Contract "budget" "N tokens; N min; $N; N turns" "60k tokens; 15 min"
        "What the task may cost; at 100 % it stops."
        Codec::Contract(terms::budget, |c| write::budget(&c.budget))),
    key!(Contract "enforce"
        "public-api unchanged; no new dependencies; tests not deleted; files at most N; lines at most N"
        "public-api unchanged; no new dependencies" "Constraints that code checks at each step's end."
        Codec::Contract(terms::enforce, |c| write::one_joined(c.enforce.iter().map(write::enforce), "; "))),
    key!(Contract "advice" "free text; free text…" "" "Wishes that no code checks; the model is told."
        Codec::Contract(terms::advice, |c| c.advice.clone())),
    key!(Contract "assume" "free text[; absent: REGEX[, in GLOB][, except GLOB]]" ""
        "What the plan takes for granted, with a search that tests it (`absent:` or `present:`)."
        Codec::Contract(terms::assume, |c| c.assume.iter().map(write::assumption).collect())),
    key!(Contract "stop" "files > N; lines > N; tokens > N; money > $N; time > N min" "files > 8"
        "Where the runtime stops and asks."
        Codec::Contract(terms::stop, |c| write::one_joined(c.stop.iter().map(write::stop), "; "))),
    key!(Contract "allow" "COMMAND PATTERN, …" "`cargo test *`"
        "Commands that every step's model may start; the last word may be `*`."
        Codec::Contract(|c, s| c.allow.extend(read::patterns(s)), |c| write::one_joined(c.allow.iter().map(write::pattern), ", "))),
    key!(Contract "approved" "rN-DIGEST" ""
        "Approves the revision with this digest; any other change of the text voids it."
        Codec::Approval),
    key!(Kind "edit" "PATH [(new)] [(focus SYMBOL)], …" "`src/lib.rs`"
        "A model changes these files; the file is the unit of permission."
        Codec::Step(read::edit, write::edit)),
    key!(Kind "explore" "GLOB, …" "`src/**`" "A model reads and reports; nothing is written."
        Codec::Step(read::explore, write::explore)),
    key!(Kind "transform" "rename SYMBOL to NAME | rewrite PATTERN to PATTERN | template FILE to FILE[, with K=V…]"
        "rename `old` to `new`" "A rewrite without a model."
        Codec::Step(read::transform, write::transform)),
    key!(Kind "run" "COMMAND[, in DIR][, with K=V…]" "`cargo fmt`"
        "A command; what it changes inside `write` becomes hunks."
        Codec::Step(read::run, write::run)),
    key!(Kind "fetch" "COMMAND" "" "A command that needs the network. Not in this release."
        Codec::Step(read::fetch, write::fetch)),
    key!(Kind "ask" "anyone | USER" "anyone" "A person decides."
        Codec::Step(read::ask, write::ask)),
    key!(Kind "recipe" "NAME K=V…" "" "A saved plan. Not in this release."
        Codec::Step(read::recipe, write::recipe)),
    key!(Step "check"
        "COMMAND | syntax | absent: REGEX… | present: REGEX… | exists PATH | missing PATH | changed PATH | unchanged PATH, separated by `; `"
        "`cargo check`" "How the step's result is judged. The kind, where no other kind stands."
        Codec::Step(|d, s| d.checks.extend(read::checks(s)), write::checks)),
    key!(Step "after" "STEP, … | none | review" "none"
        "What comes before it; without it the step above. `review` waits for the last decision on a hunk."
        Codec::Step(read::after, write::after)),
    key!(Step "write" "GLOB, …" "`src/**`" "What a `run` or `transform` may write."
        Codec::Step(|d, s| { let more = read::list(s); d.step().write.extend(more) }, |s| write::one_list(&s.write))),
    key!(Step "read" "GLOB, …" "`src/**`" "What it may read beyond what it writes; without it all unignored files."
        Codec::Step(|d, s| { let more = read::list(s); d.step().read.extend(more) }, |s| write::one_list(&s.read))),
    key!(Step "allow" "COMMAND PATTERN, …" "`cargo test *`"
        "Commands the step's model may start; without it the step's checks."
        Codec::Step(|d, s| { let more = read::patterns(s); d.step().allow.extend(more) },
            |s| write::one_joined(s.allow.iter().map(write::pattern), ", "))),
    key!(Step "tools" "TOOL, …" "read, search" "The model's tools; without it the kind's."
        Codec::Step(|d, s| { let more = read::list(s); d.step().tools.extend(more) }, |s| write::one_joined(s.tools.iter().map(|tool| worded(tool)), ", "))),
    key!(Step "in" "NAME: TYPE, …" "notes: text" "Artifacts it needs: text, files, symbols or data."
        Codec::Step(|d, s| { let more = read::ports(s); d.step().inputs.extend(more) },
            |s| write::one_joined(s.inputs.iter().map(write::port), ", "))),
    key!(Step "out" "NAME: TYPE, …" "notes: text" "Artifacts it makes."
        Codec::Step(|d, s| { let more = read::ports(s); d.step().outputs.extend(more) },
            |s| write::one_joined(s.outputs.iter().map(write::port), ", "))),
    key!(Step "repair" "N" "2" "Rounds inside an attempt after a failed check; 2 without it."
        Codec::Step(|d, s| d.step().repair = read::count(s), |s| s.repair.iter().map(u32::to_string).collect())),
    key!(Step "retry" "N[, every T]" "2" "New attempts after a failure; 2 without it."
        Codec::Step(read::retry, write::retry)),
    key!(Step "timeout" "N s | N min | N h" "10 min" "When the step's commands are killed; 10 min without it."
        Codec::Step(|d, s| d.step().timeout = read::duration(s), |s| s.timeout.iter().map(|t| write::duration(*t)).collect())),
    key!(Step "on-failure" "stop | ask | skip | undo" "ask" "What a failure does to the task; `stop` without it."
        Codec::Step(|d, s| {
            let known = [("stop", OnFailure::Stop), ("ask", OnFailure::Ask), ("skip", OnFailure::Skip), ("undo", OnFailure::Undo)];
            if let Some((_, found)) = known.into_iter().find(|(word, _)| s.eat_word(word)) { d.step().on_failure = found }
        }, write::on_failure)),
    key!(Step "effect" "repeatable | outside" "outside"
        "`repeatable`: may run again after a crash. `outside`: reaches the world, has its own gate and key."
        Codec::Step(|d, s| {
            if s.eat_word("repeatable") { d.step().effect = EffectSetting::Repeatable }
            else if s.eat_word("outside") { d.step().effect = EffectSetting::Outside }
        }, write::effect)),
    key!(Step "probe" "COMMAND" "" "Tells after a crash whether the effect happened: exit 0 = it did, 1 = it did not."
        Codec::Step(|d, s| d.step().probe = read::command(s, false), |s| s.probe.iter().map(write::command).collect())),
    key!(Step "route" "fast | strong" "" "A model tier. Not in this release."
        Codec::Step(|d, s| d.step().route = Some(s.all().text), |s| s.route.iter().cloned().collect())),
];

/// The key of that name that may stand there.
pub fn find(name: &str, contract: bool) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name && (key.place == Place::Contract) == contract)
}

/// The known key that was probably meant by an unknown word.
pub fn near(name: &str, contract: bool) -> Option<&'static Key> {
    let lower = name.to_lowercase();
    let allowed = |key: &Key| match key.name.len() {
        0..=3 => 0,
        4..=5 => 1,
        _ => 2,
    };
    let keys = KEYS.iter().filter(|key| (key.place == Place::Contract) == contract);
    keys.map(|key| (distance(&lower, key.name), key))
        .filter(|(far, key)| *far <= allowed(key))
        .min_by_key(|(far, _)| *far)
        .map(|(_, key)| key)
}

/// Insertions, deletions, substitutions and swaps of neighbours that lead from one word to the other.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(24).collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let at = |row: &[usize], n: usize| row.get(n).copied().unwrap_or(usize::MAX / 2);
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (at(&row, j) + usize::from(x != y)).min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped = j > 0 && i > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    at(&row, b.len())
}

/// The table as Markdown, for the README.
pub fn documentation() -> String {
    let mut out = String::new();
    for (place, title) in
        [(Place::Contract, "Contract"), (Place::Kind, "Kinds of steps"), (Place::Step, "Other settings of steps")]
    {
        let _ = writeln!(out, "**{title}**\n\n| key | value | meaning |\n|---|---|---|");
        for key in KEYS.iter().filter(|key| key.place == place) {
            let grammar = key.grammar.replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {grammar} | {} |", key.name, key.doc);
        }
        out.push('\n');
    }
    out.push_str(GRAMMAR);
    out
}

const GRAMMAR: &str = "\
Backticks delimit a value; without them it ends at `, ` or `; `. A key may stand in several items; lists add up.
COMMAND is POSIX words without expansion; `in DIR` and `with K=V` may follow. GLOB: `*` and `?` stay inside a folder, \
`**` crosses folders; in `scope`, `read`, `in` and `except` a folder stands for all below it. REGEX is the syntax of \
Rust's `regex` crate.
";

/// `ticked` values in one item, or none.
pub(super) fn ticked_list(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| values.iter().map(|value| ticked(value)).collect::<Vec<_>>().join(", "))
}

/// A command's words between backticks.
pub(super) fn ticked_words(argv: &[String]) -> String {
    ticked(&command::join(argv))
}
