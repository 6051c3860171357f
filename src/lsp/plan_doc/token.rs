//! What stands under the cursor inside the value of a setting, also where the value is not finished.
//!
//! The parser reads whole values; someone who types has half of one. So this reads only as far as the cursor, and says
//! what belongs there.
//!
//! Invariant: a token lies on one line and its range is cut on character boundaries; the cursor is in it or at its edge.
//! Absent: whether what stands there exists; the compiler says that.

use crate::domain::plan::parse::Setting;
use std::ops::Range;

/// What belongs at a place of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// A path of the workspace.
    File,
    /// A path or pattern.
    Glob,
    /// A symbol, of this file if one is named.
    Symbol(Option<String>),
    /// The id of another step.
    Step,
    /// A command.
    Command,
    /// `(new)` or `(focus …)`, behind a path.
    Attribute,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A tool of the model.
    Tool,
    /// The name of this revision.
    Revision,
    /// Something that nobody can guess.
    Free,
}

/// A part of a value with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// What belongs there.
    pub role: Role,
    /// The part itself, without backticks.
    pub range: Range<usize>,
    /// A backtick stands before it.
    pub opened: bool,
    /// A backtick stands behind it.
    pub closed: bool,
}

impl Token {
    /// As written.
    pub fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.range.clone()).unwrap_or("")
    }
}

const ON_FAILURE: &[&str] = &["stop", "ask", "skip", "undo"];
const EFFECT: &[&str] = &["repeatable", "outside"];
const RULES: &[&str] = &["rename", "rewrite", "template"];
const WHO: &[&str] = &["anyone"];
const ENFORCE: &[&str] =
    &["public-api unchanged", "no new dependencies", "tests not deleted", "files at most 8", "lines at most 200"];
const STOP: &[&str] = &["files > 8", "lines > 200", "tokens > 60k", "time > 15 min"];

/// The setting whose value the cursor is in, blanks at the line's end included.
pub fn setting_at<'a>(settings: &'a [Setting], text: &str, offset: usize) -> Option<&'a Setting> {
    let line = super::moment::line_around(text, offset);
    settings.iter().find(|setting| {
        let behind_colon = offset > setting.key.end;
        behind_colon && setting.item.start <= offset && (offset <= setting.item.end || setting.item.end >= line.start)
    })
}

/// The token at the cursor in the value of `key`, which begins behind the colon at `start`.
pub fn under(key: &str, text: &str, start: usize, offset: usize) -> Option<Token> {
    let before = text.get(start..offset)?;
    let place = Reached::read(before);
    let head = before.get(place.segment..)?.trim_start();
    let (role, skipped) = role(key, head, before, &place);
    // Where the token may begin at the earliest.
    let floor = match (place.tick, place.paren) {
        (Some(tick), _) => tick,
        (None, Some(paren)) => paren.max(place.segment),
        (None, None) => place.segment,
    };
    let floor = start + floor.max((before.len() - head.len() + skipped).min(before.len()));
    // A value may go on over several lines; a token does not.
    let floor = floor.max(super::moment::line_around(text, offset).start);
    Some(cut(text, floor, offset, role, place.tick.is_some()))
}

/// How far a reader has come in a value.
struct Reached {
    /// Behind the last separator.
    segment: usize,
    /// Behind the backtick that is open.
    tick: Option<usize>,
    /// Behind the parenthesis that is open.
    paren: Option<usize>,
}

impl Reached {
    fn read(before: &str) -> Self {
        let mut place = Self { segment: 0, tick: None, paren: None };
        for (at, c) in before.char_indices() {
            match c {
                '`' => place.tick = if place.tick.is_some() { None } else { Some(at + 1) },
                _ if place.tick.is_some() => {}
                '(' => place.paren = place.paren.or(Some(at + 1)),
                ')' => place.paren = None,
                ',' | ';' if place.paren.is_none() => place.segment = at + 1,
                _ => {}
            }
        }
        place
    }
}

/// What belongs behind `head`, the part of the value since the last separator, and how much of it is not the token.
fn role(key: &str, head: &str, before: &str, place: &Reached) -> (Role, usize) {
    match key {
        "edit" => match place.paren {
            Some(paren) => attribute(head, before.get(paren..).unwrap_or("")),
            None => (Role::File, 0),
        },
        "scope" | "write" | "read" | "explore" => (Role::Glob, 0),
        "after" => (Role::Step, 0),
        "check" | "accept" => check(head),
        "assume" => clause(head).unwrap_or((Role::Free, 0)),
        "run" | "fetch" | "probe" => clause(head).unwrap_or((Role::Command, 0)),
        "allow" => (Role::Command, 0),
        "transform" => transform(head),
        "effect" => (Role::Word(EFFECT), 0),
        "on-failure" => (Role::Word(ON_FAILURE), 0),
        "ask" => (Role::Word(WHO), 0),
        "enforce" => (Role::Word(ENFORCE), 0),
        "stop" => (Role::Word(STOP), 0),
        "tools" => (Role::Tool, 0),
        "approved" => (Role::Revision, 0),
        _ => (Role::Free, 0),
    }
}

fn attribute(segment: &str, inside: &str) -> (Role, usize) {
    let last = inside.rsplit(',').next().unwrap_or("").trim_start();
    if last.strip_prefix("focus").is_some_and(|rest| rest.starts_with([' ', '\t', '`'])) {
        let path = segment.split('(').next().unwrap_or("").trim().trim_matches('`').to_owned();
        let at = segment.len() - last.len() + "focus".len();
        return (Role::Symbol((!path.is_empty()).then_some(path)), at + blanks(segment, at));
    }
    (Role::Attribute, segment.len() - last.len())
}

fn check(head: &str) -> (Role, usize) {
    for word in ["exists", "missing", "changed", "unchanged"] {
        if head.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '\t'])) {
            return (Role::File, word.len() + blanks(head, word.len()));
        }
    }
    clause(head).unwrap_or((Role::Command, 0))
}

/// `in`, `except` and `with`, behind a separator or behind the first value; and the pattern of a search.
fn clause(head: &str) -> Option<(Role, usize)> {
    let ticks: Vec<usize> = head.match_indices('`').map(|(at, _)| at).collect();
    // The last stretch outside backticks: up to the cursor, or up to the backtick that is open.
    let (from, to) = match (ticks.len() % 2, ticks.as_slice()) {
        (0, ticks) => (ticks.last().map_or(0, |at| at + 1), head.len()),
        (_, [.., closed, open]) => (closed + 1, *open),
        (_, ticks) => (0, ticks.last().copied().unwrap_or(0)),
    };
    let outside = head.get(from..to).unwrap_or("");
    let said = outside.trim_start();
    for (word, role) in [("in", Role::Glob), ("except", Role::Glob), ("with", Role::Free)] {
        if said.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '\t'])) {
            let at = to - said.len() + word.len();
            return Some((role, at + blanks(head, at)));
        }
    }
    (head.starts_with("absent:") || head.starts_with("present:")).then_some((Role::Free, 0))
}

fn transform(head: &str) -> (Role, usize) {
    let Some((word, _)) = head.split_once([' ', '\t']) else { return (Role::Word(RULES), 0) };
    let at = word.len() + blanks(head, word.len());
    let to = head.find(" to ").map(|at| at + " to ".len());
    match (word, to) {
        ("rename", None) => {
            let value = head.get(at..).unwrap_or("").trim_start_matches('`');
            match value.split_once('#') {
                Some((path, symbol)) => (Role::Symbol(Some(path.to_owned())), head.len() - symbol.len()),
                None => (Role::Symbol(None), at),
            }
        }
        ("template", None) => (Role::File, at),
        ("template", Some(to)) => (Role::File, to + blanks(head, to)),
        _ => (Role::Free, at),
    }
}

fn blanks(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or("");
    rest.len() - rest.trim_start_matches([' ', '\t']).len()
}

/// The token around the cursor, not before `floor`.
fn cut(text: &str, floor: usize, offset: usize, role: Role, in_ticks: bool) -> Token {
    let stops: &[char] = match role {
        Role::File | Role::Glob | Role::Attribute => &[' ', '\t', '`', ',', ';', '(', ')'],
        Role::Step | Role::Tool | Role::Revision => &[' ', '\t', '`', ',', ';'],
        Role::Symbol(_) => &['`', ',', ')'],
        Role::Command | Role::Word(_) | Role::Free => &['`', ',', ';'],
    };
    let line_end = super::moment::line_around(text, offset).end.max(offset);
    let behind = text.get(offset..line_end).unwrap_or("");
    let before = text.get(floor..offset).unwrap_or("");
    if in_ticks {
        let start = before.rfind('`').map_or(floor, |at| floor + at + 1);
        let tick = behind.find('`');
        // A backtick behind a separator opens the next value: this one is not closed yet.
        let closes = tick.filter(|at| {
            let between = behind.get(..*at).unwrap_or("");
            matches!(role, Role::Command | Role::Free) || !(between.contains(", ") || between.contains("; "))
        });
        return match closes {
            Some(at) => Token { role, range: start..offset + at, opened: true, closed: true },
            None => {
                let end = behind.find(stops).unwrap_or(behind.len());
                let end = offset + behind.get(..end).unwrap_or("").trim_end().len();
                Token { role, range: start..end, opened: true, closed: false }
            }
        };
    }
    let lead = before
        .rfind(stops)
        .map_or(0, |at| at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    let start = floor + lead;
    let start = (start + blanks(text, start)).min(offset);
    let end = behind.find(stops).unwrap_or(behind.len());
    let end = offset + behind.get(..end).unwrap_or("").trim_end().len();
    let tick = |at: Option<char>| at == Some('`');
    let opened = tick(text.get(..start).and_then(|before| before.chars().next_back()));
    let closed = opened && tick(text.get(end..).and_then(|rest| rest.chars().next()));
    Token { role, range: start..end, opened: opened && closed, closed }
}
