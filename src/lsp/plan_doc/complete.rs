//! What can be written at a place of a plan document.
//!
//! Invariant: a proposal replaces exactly the token under the cursor, in plain text, and what it writes reads as one
//! value. Absent: the workspace's files, symbols and commands; this says which are wanted, and takes them in.

use super::moment::Moment;
use super::token::{self, Role, Token};
use crate::desk::Candidates;
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::globs;
use crate::domain::plan::keys::{KEYS, Key, Place};
use crate::domain::plan::parse::Setting;
use crate::domain::policy::tools;
use crate::domain::problem::Replacement;
use std::collections::BTreeSet;
use std::ops::Range;

/// Folders that are proposed as patterns, at most.
const FOLDERS: usize = 20;

/// What a proposal is, for the client's icon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// A key.
    Key,
    /// A word of the grammar.
    Word,
    /// Another step.
    Step,
    /// A file.
    File,
    /// A pattern for a folder.
    Folder,
    /// A symbol.
    Symbol,
    /// A command.
    Command,
}

/// Something to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// As listed; also what the client compares with what was typed.
    pub label: String,
    /// What it is.
    pub sort: Sort,
    /// Beside the label.
    pub detail: Option<String>,
    /// Below it, Markdown.
    pub documentation: Option<String>,
    /// What it does to the text.
    pub edit: Replacement,
}

/// What there is to propose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Completed {
    /// These.
    Ready(Vec<Proposal>),
    /// What the workspace has: to be asked, and handed to [`Slot::fill`].
    Ask {
        /// What.
        of: Candidates,
        /// As far as typed.
        prefix: String,
        /// Where it goes.
        slot: Slot,
    },
}

/// Where a candidate goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    token: Token,
    /// Words of the grammar that may stand here too.
    words: Vec<Proposal>,
    prefix: String,
}

/// What can be written at a byte.
pub fn wanted(moment: &Moment<'_>, offset: usize) -> Completed {
    let layout = &moment.parsed.layout;
    let contract = layout.contract.as_ref().filter(|contract| contract.heading.end <= offset);
    let of_step = moment.step_at(offset).filter(|(_, step)| step.heading.end <= offset).map(|(_, step)| step);
    let (settings, is_contract) = match (of_step, contract) {
        (Some(step), _) => (step.settings.as_slice(), false),
        (None, Some(contract)) if in_section(moment, contract.heading.end, offset) => {
            (contract.settings.as_slice(), true)
        }
        (None, _) => return Completed::Ready(vec![]),
    };
    let approved =
        layout.approved.as_ref().filter(|(_, item)| moment.line(offset).start <= item.start && item.start <= offset);
    if let Some((_, item)) = approved {
        return value(moment, "approved", item.start + colon(moment, item.start), offset);
    }
    if let Some(setting) = token::setting_at(settings, moment.text, offset) {
        return value(moment, setting.name, setting.key.end + 1, offset);
    }
    let Some(word) = key_word(moment, offset) else { return Completed::Ready(vec![]) };
    match word {
        // `approved:` without a value is no setting yet.
        Word::Valued { name, value_at } if is_contract && name == "approved" => {
            value(moment, "approved", value_at, offset)
        }
        Word::Valued { .. } => Completed::Ready(vec![]),
        Word::Key { range, bullet } => Completed::Ready(keys(moment, settings, is_contract, &range, bullet)),
    }
}

/// Bytes from an item's start to behind its colon.
fn colon(moment: &Moment<'_>, item: usize) -> usize {
    moment.text.get(item..).and_then(|rest| rest.find(':')).map_or(0, |at| at + 1)
}

/// No heading stands between.
fn in_section(moment: &Moment<'_>, from: usize, offset: usize) -> bool {
    let between = moment.text.get(from..offset).unwrap_or("");
    !between.lines().any(|line| line.starts_with('#'))
}

enum Word {
    /// The cursor is in the word where a key belongs.
    Key {
        /// The word, perhaps empty.
        range: Range<usize>,
        /// The item has its bullet.
        bullet: bool,
    },
    /// The cursor is behind a colon.
    Valued { name: String, value_at: usize },
}

/// The word at the cursor, where its line is an item of the first list under a heading or may become one.
fn key_word(moment: &Moment<'_>, offset: usize) -> Option<Word> {
    let line = moment.line(offset);
    for above in moment.text.get(..line.start)?.lines().rev() {
        if above.starts_with('#') {
            break;
        }
        let item = above.trim_start().starts_with(['-', '*', '+', '>']) || above.trim_start().starts_with("<!--");
        if !(item || above.trim().is_empty() || above.starts_with("  ")) {
            return None;
        }
    }
    let text = moment.text.get(line.clone())?;
    let indent = text.len() - text.trim_start_matches(' ').len();
    let rest = text.get(indent..)?;
    let bullet = rest.starts_with(['-', '*', '+']);
    let lead = if bullet { 1 + rest.get(1..)?.len() - rest.get(1..)?.trim_start_matches([' ', '\t']).len() } else { 0 };
    let start = line.start + indent + lead;
    if indent > 3 || offset < start || (!bullet && !rest.is_empty()) {
        return None;
    }
    let item = moment.text.get(start..line.end)?;
    let name = item.len() - item.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_').len();
    if offset <= start + name {
        return Some(Word::Key { range: start..start + name, bullet });
    }
    let colon = start + item.find(':')?;
    (offset > colon).then(|| Word::Valued { name: item.get(..name).unwrap_or("").to_owned(), value_at: colon + 1 })
}

fn keys(
    moment: &Moment<'_>,
    settings: &[Setting],
    contract: bool,
    range: &Range<usize>,
    bullet: bool,
) -> Vec<Proposal> {
    let others: BTreeSet<&str> =
        settings.iter().filter(|setting| setting.key.start != range.start).map(|setting| setting.name).collect();
    let kinded = KEYS.iter().any(|key| key.place == Place::Kind && others.contains(key.name));
    let fits = |key: &&Key| match key.place {
        Place::Contract => contract && !(key.name == "approved" && moment.parsed.layout.approved.is_some()),
        Place::Kind => !contract && !kinded,
        Place::Step => !contract && (key.repeats() || !others.contains(key.name)),
    };
    let colon = moment.text.get(range.end..).is_some_and(|rest| rest.starts_with(':'));
    let spaced = moment.text.get(..range.start).is_some_and(|before| before.ends_with([' ', '\t']));
    let lead = match (bullet, spaced) {
        (false, _) => "- ",
        (true, false) => " ",
        (true, true) => "",
    };
    KEYS.iter()
        .filter(fits)
        .filter(|key| !later(key))
        .map(|key| Proposal {
            label: key.name.to_owned(),
            sort: Sort::Key,
            detail: Some(key.grammar.to_owned()),
            documentation: Some(documentation(key)),
            edit: Replacement {
                range: range.clone(),
                text: format!("{lead}{}{}", key.name, if colon { "" } else { ": " }),
            },
        })
        .collect()
}

/// The compiler refuses it in this release.
fn later(key: &Key) -> bool {
    key.doc.ends_with("Not in this release.")
}

fn documentation(key: &Key) -> String {
    let example = if key.hint.is_empty() { String::new() } else { format!("\n\n- {}: {}", key.name, key.hint) };
    format!("{}{example}", key.doc)
}

fn value(moment: &Moment<'_>, key: &str, start: usize, offset: usize) -> Completed {
    let Some(token) = token::under(key, moment.text, start, offset) else { return Completed::Ready(vec![]) };
    let typed = moment.text.get(token.range.start..offset).unwrap_or("").to_owned();
    let word = |word: &str, detail: Option<String>, sort| Proposal {
        label: word.trim_end().to_owned(),
        sort,
        detail,
        documentation: None,
        edit: Replacement { range: token.range.clone(), text: word.to_owned() },
    };
    let ask = |of, words: Vec<Proposal>| {
        let prefix = typed.clone();
        Completed::Ask { of, prefix: typed.clone(), slot: Slot { token: token.clone(), words, prefix } }
    };
    match &token.role {
        Role::File | Role::Glob => ask(Candidates::Files, vec![]),
        Role::Symbol(path) => {
            let path = path.as_ref().and_then(|path| WorkspacePath::new(path).ok());
            ask(Candidates::Symbols { path }, vec![])
        }
        Role::Command => {
            let checks = matches!(key, "check" | "accept") && !token.opened;
            let words = ["syntax", "exists ", "missing ", "changed ", "unchanged ", "absent: ", "present: "];
            let words = words.into_iter().filter(|_| checks).map(|said| word(said, None, Sort::Word));
            ask(Candidates::Commands, words.collect())
        }
        Role::Step => Completed::Ready(steps(moment, start, offset, &word)),
        Role::Attribute => Completed::Ready(vec![
            word("new", Some("the file may be created".to_owned()), Sort::Word),
            word("focus ", Some("the symbol where the change belongs".to_owned()), Sort::Word),
        ]),
        Role::Word(words) => Completed::Ready(words.iter().map(|said| word(said, None, Sort::Word)).collect()),
        Role::Tool => {
            let rows = tools::table().iter();
            Completed::Ready(rows.map(|row| word(row.name, Some(row.description.to_owned()), Sort::Word)).collect())
        }
        Role::Revision => {
            let line = moment.line(offset);
            let found = moment.approvable_but_for(line.start..line.end + 1).map(ToString::to_string);
            let detail = Some("approves this text and runs it when it is saved".to_owned());
            Completed::Ready(found.iter().map(|name| word(name, detail.clone(), Sort::Word)).collect())
        }
        Role::Free => Completed::Ready(vec![]),
    }
}

/// The other steps that are not named yet, and the two words.
fn steps(
    moment: &Moment<'_>,
    start: usize,
    offset: usize,
    word: &dyn Fn(&str, Option<String>, Sort) -> Proposal,
) -> Vec<Proposal> {
    let own = moment.step_at(offset).map(|(n, _)| n);
    let line = moment.line(offset);
    let value = moment.text.get(start..line.end).unwrap_or("");
    let cursor = offset.saturating_sub(start);
    let mut at = 0;
    let mut named = BTreeSet::new();
    for part in value.split(',') {
        let holds_cursor = at <= cursor && cursor <= at + part.len();
        if !holds_cursor {
            named.insert(part.trim().trim_matches('`'));
        }
        at += part.len() + 1;
    }
    let others = moment.parsed.plan.steps.iter().enumerate();
    let mut out: Vec<Proposal> = others
        .filter(|(n, step)| Some(*n) != own && !named.contains(step.id.as_str()))
        .map(|(_, step)| word(step.id.as_str(), Some(step.title.clone()), Sort::Step))
        .collect();
    if named.is_empty() {
        out.push(word("none", Some("nothing comes before it".to_owned()), Sort::Word));
    }
    if !named.contains("review") {
        out.push(word("review", Some("waits for the last decision on a hunk".to_owned()), Sort::Word));
    }
    out
}

impl Slot {
    /// The proposals that candidates make.
    pub fn fill(&self, candidates: &[String]) -> Vec<Proposal> {
        let mut out: Vec<Proposal> = match self.token.role {
            Role::Glob => self.folders(candidates),
            _ => vec![],
        };
        let sort = match self.token.role {
            Role::Symbol(_) => Sort::Symbol,
            Role::Command => Sort::Command,
            _ => Sort::File,
        };
        out.extend(self.words.iter().cloned());
        out.extend(candidates.iter().map(|candidate| self.proposal(candidate, sort)));
        out
    }

    fn proposal(&self, candidate: &str, sort: Sort) -> Proposal {
        let (before, after) = match (self.token.opened, self.token.closed) {
            (true, true) => ("", ""),
            (true, false) => ("", "`"),
            (false, _) => ("`", "`"),
        };
        Proposal {
            label: candidate.to_owned(),
            sort,
            detail: None,
            documentation: None,
            edit: Replacement { range: self.token.range.clone(), text: format!("{before}{candidate}{after}") },
        }
    }

    /// The folders right below what was typed, each as a pattern for all in it.
    fn folders(&self, files: &[String]) -> Vec<Proposal> {
        let typed = self.prefix.rfind('/').map_or(0, |at| at + 1);
        let folders: BTreeSet<String> = files
            .iter()
            .filter(|file| !globs::is_glob(file))
            .filter_map(|file| {
                let below = file.get(typed..)?.find('/')?;
                Some(format!("{}/**", file.get(..typed + below)?))
            })
            .collect();
        folders.iter().take(FOLDERS).map(|folder| self.proposal(folder, Sort::Folder)).collect()
    }
}
