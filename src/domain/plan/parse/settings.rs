//! The first list under a heading: which of its items are settings, and what they say.
//!
//! **Invariant:** an item that is no setting stays text (an instruction in a step, advice in the contract).
//! **Absent:** the grammar of values (`values`) and the keys (`keys`).

use super::blocks::{Block, Kind};
use super::layout::Setting;
use super::prose::{self, Line};
use super::scan::{Scan, fix};
use super::terms;
use super::values::{Draft, empty_step};
use crate::domain::ids::{RevisionRef, StepId};
use crate::domain::plan::keys::{self, Codec, Key};
use crate::domain::plan::model::*;
use crate::domain::problem::{Problem, Severity};
use std::ops::Range;

/// Settings as they are gathered.
pub(super) struct Settings<'a> {
    text: &'a str,
    contract: bool,
    draft: Draft,
    /// What was read.
    pub found: Vec<Setting>,
    /// What could not be.
    pub problems: Vec<Problem>,
    /// Approvals, each with its item.
    pub approved: Vec<(RevisionRef, Range<usize>)>,
}

impl<'a> Settings<'a> {
    pub(super) fn contract(text: &'a str) -> Self {
        Self { text, contract: true, draft: Draft::default(), found: vec![], problems: vec![], approved: vec![] }
    }

    pub(super) fn step(text: &'a str) -> Self {
        Self { contract: false, ..Self::contract(text) }
    }

    /// Reads an item of the Contract.
    pub(super) fn contract_item(&mut self, item: &Block, contract: &mut Contract) {
        let Some((line, key, at)) = self.keyed(item) else {
            let words = prose::write(self.text, &item.children, prose::Headings::None).replace('\n', " ");
            let line = Line { map: vec![item.range.start; words.len()], end: item.range.end, text: words };
            let mut scan = Scan::new(&line, 0);
            if self.problems.last().is_none_or(|last| last.range.start < item.range.start) {
                let message = "this item has no key, so it is said as advice; no code checks it";
                self.note("no-key", Severity::Hint, item.range.clone(), message);
            }
            terms::advice(contract, &mut scan);
            return;
        };
        self.whole(item, key);
        let mut scan = Scan::new(&line, at);
        let value = scan.here();
        if let Codec::Contract(read, _) = &key.codec {
            self.filled(&scan, key);
            read(contract, &mut scan);
            scan.finish(key.name, key.grammar);
        } else {
            match scan.rest().parse::<RevisionRef>() {
                Ok(revision) => self.approved.push((revision, item.range.clone())),
                Err(()) => {
                    let message = "this is no revision; the server shows it as `r3-9f2c81d04a7e`";
                    self.note("unreadable-value", Severity::Error, value, message);
                }
            }
            return;
        }
        self.keep(item, key, &line, at, scan);
    }

    /// Reads an item under a step's heading. False: it is instruction.
    pub(super) fn step_item(&mut self, item: &Block) -> bool {
        let Some((line, key, at)) = self.keyed(item) else { return false };
        let Codec::Step(read, _) = &key.codec else { return false };
        self.whole(item, key);
        let mut scan = Scan::new(&line, at);
        self.filled(&scan, key);
        self.draft.key = item.range.clone();
        if !key.repeats() && self.found.iter().any(|setting| setting.name == key.name) {
            let message = format!("`{}` stands twice in this step; keep one", key.name);
            self.note("said-twice", Severity::Error, item.range.clone(), message);
        }
        read(&mut self.draft, &mut scan);
        scan.finish(key.name, key.grammar);
        self.keep(item, key, &line, at, scan);
        true
    }

    fn note(&mut self, code: &str, severity: Severity, range: Range<usize>, message: impl Into<String>) {
        self.problems.push(Problem { code: code.to_owned(), range, severity, message: message.into(), fix: None });
    }

    /// The item's first line, its key, and where its value begins; `None` when it is no setting.
    fn keyed(&mut self, item: &Block) -> Option<(Line, &'static Key, usize)> {
        let first = item.children.iter().find(|block| block.kind != Kind::Html)?;
        if first.kind != Kind::Paragraph {
            return None;
        }
        let line = prose::paragraph(self.text, first);
        let (name, rest) = line.text.split_once(':')?;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return None;
        }
        let at = name.len() + 1;
        if let Some(key) = keys::find(name, self.contract).filter(|_| !rest.starts_with(':')) {
            let key_at = line.source(0..name.len());
            debug_assert!(self.text.get(key_at).is_some());
            return Some((line, key, at));
        }
        if !(rest.is_empty() || rest.starts_with([' ', '`'])) {
            return None;
        }
        let range = line.source(0..name.len());
        let place = if self.contract { "advice" } else { "instruction" };
        let (severity, code, message, mend) = match keys::near(name, self.contract) {
            Some(key) => (
                Severity::Warning,
                "near-key",
                format!("`{name}` is no key, so this is {place}; was `{}` meant?", key.name),
                fix(format!("write `{}`", key.name), range.clone(), key.name),
            ),
            None => (Severity::Hint, "unknown-key", format!("`{name}` is no key, so this item is {place}"), None),
        };
        self.problems.push(Problem { code: code.to_owned(), range, severity, message, fix: mend });
        None
    }

    /// CommonMark takes an unindented line below an item into it. Whoever wrote it began the instruction.
    fn lazy(&mut self, item: &Block, key: &Key) {
        let Some(first) = item.children.iter().find(|block| block.kind == Kind::Paragraph) else { return };
        let cut = self.text.get(first.range.clone()).unwrap_or("");
        let Some(at) = cut
            .match_indices('\n')
            .map(|(at, _)| at + 1)
            .find(|at| cut.get(*at..).is_some_and(|line| !line.starts_with([' ', '\t'])))
        else {
            return;
        };
        let start = first.range.start + at;
        let end = start + cut.get(at..).and_then(|rest| rest.find(['\r', '\n'])).unwrap_or(cut.len() - at);
        self.problems.push(Problem {
            code: "lazy-line".to_owned(),
            range: start..end,
            severity: Severity::Error,
            message: format!(
                "without a blank line above, this is still the value of `{}`; put one, or indent it",
                key.name
            ),
            fix: fix("put a blank line above", start..start, "\n"),
        });
    }

    /// A setting is one line of text: what hangs below it would be lost.
    fn whole(&mut self, item: &Block, key: &Key) {
        self.lazy(item, key);
        let blocks = item.children.iter().filter(|block| block.kind != Kind::Html);
        if let Some(below) = blocks.clone().nth(1) {
            let message = format!("`{}` takes its value on one line; move this out of the item", key.name);
            self.note("nested-setting", Severity::Error, below.range.clone(), message);
        }
        for html in item.children.iter().filter(|block| block.kind == Kind::Html) {
            let plain = Block { comments: prose::comments(self.text, html), ..html.clone() };
            if !prose::paragraph(self.text, &plain).text.is_empty() {
                let message = format!("text behind a comment is no part of `{}`; move the comment out", key.name);
                self.note("nested-setting", Severity::Error, html.range.clone(), message);
            }
        }
        if self.text.get(..item.range.start).is_some_and(|before| {
            let before = before.trim_end_matches([' ', '\t']);
            let above = before.strip_suffix('\n').map(|rest| rest.trim_end_matches([' ', '\t', '\r']));
            above.is_some_and(|rest| rest.ends_with('\n')) && !self.found.is_empty()
        }) {
            let message = format!("a blank line does not end the settings: this is read as `{}`", key.name);
            self.note("loose-setting", Severity::Hint, item.range.clone(), message);
        }
    }

    fn filled(&mut self, scan: &Scan<'_>, key: &Key) {
        if scan.done() {
            let range = scan.here();
            let message = format!("`{}` has no value; it takes {}", key.name, key.grammar);
            self.note("empty-value", Severity::Error, range, message);
        }
    }

    fn keep(&mut self, item: &Block, key: &'static Key, line: &Line, at: usize, scan: Scan<'_>) {
        self.problems.extend(scan.problems);
        self.found.push(Setting {
            name: key.name,
            item: item.range.clone(),
            key: line.source(0..key.name.len()),
            value: line.source(at..line.text.len()),
            parts: scan.parts,
        });
    }

    /// The step that the settings make, with problems and places.
    pub(super) fn into_step(mut self, id: StepId, heading: &Range<usize>) -> (Step, Vec<Problem>, Vec<Setting>) {
        let mut checks = std::mem::take(&mut self.draft.checks);
        let kinds = std::mem::take(&mut self.draft.kinds);
        let mut kinds = kinds.into_iter();
        let kind = match kinds.next() {
            Some((kind, _)) => kind,
            None if !checks.is_empty() => StepKind::Check(checks.remove(0)),
            None => {
                let message = "this step has no kind; add one of edit, explore, transform, run, check, ask";
                self.note("missing-kind", Severity::Error, heading.clone(), message);
                StepKind::Edit(vec![])
            }
        };
        for (second, range) in kinds {
            let message = format!(
                "a step has one kind and this one is `{}`; make `{}` a step of its own",
                kind.key(),
                second.key()
            );
            self.note("two-kinds", Severity::Error, range, message);
        }
        let rest = self.draft.rest.take();
        let mut step = rest.unwrap_or_else(|| empty_step(id.clone()));
        (step.id, step.kind, step.checks) = (id, kind, checks);
        (step, self.problems, self.found)
    }
}

/// Items of a later list that look like settings. They are none, and whoever wrote them should know.
pub(super) fn late(text: &str, list: &Block, contract: bool) -> Vec<Problem> {
    if list.kind != (Kind::List { start: None }) {
        return vec![];
    }
    let items = list.children.iter().filter_map(|item| item.children.first());
    let found = items.filter(|first| first.kind == Kind::Paragraph).filter_map(|first| {
        let line = prose::paragraph(text, first);
        let (name, rest) = line.text.split_once(':')?;
        let key = keys::find(name, contract).filter(|_| rest.starts_with(' '))?;
        let (severity, role) = if contract {
            (Severity::Warning, "prose for people and binds nothing")
        } else {
            (Severity::Hint, "instruction")
        };
        Some(Problem {
            code: "late-setting".to_owned(),
            range: line.source(0..name.len()),
            severity,
            message: format!("`{}` is a setting only in the first list under the heading; here it is {role}", key.name),
            fix: None,
        })
    });
    found.collect()
}
