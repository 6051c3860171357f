//! Random games of editing, held against an oracle that gives every line an identity.
//!
//! The oracle knows which lines of the change's two texts, and which of the user's, stand in the document. It imports
//! nothing that finds hunks. A decision is right if the text it gives is one that the identities allow: the hunk's
//! lines replaced between the nearest lines above and below that were there before it, and not a byte else.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop at the first surprise, and the long run says what it played"
)]

use super::tests::{Idle, change, path};
use super::*;
use crate::domain::change::{Entry, HunkKind, HunkState, derive, edits_at};
use crate::domain::problem::Replacement;
use crate::domain::text;
use crate::ports::DocumentChange;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Whose line it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// So far down in the text before the change.
    Before(usize),
    /// This line of the new lines of a hunk.
    New(usize, usize),
    User,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Line {
    origin: Origin,
    /// With its ending.
    text: String,
}

type Text = Vec<Line>;

fn joined(lines: &[Line]) -> String {
    lines.iter().map(|line| line.text.as_str()).collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Every line once.
    Distinct,
    /// A third blank or a lone brace, many that repeat.
    Realistic,
}

fn fresh(dice: &mut Dice, kind: Kind, ending: &str) -> String {
    let number = dice.below(100_000);
    let text = match (kind, dice.below(9)) {
        (Kind::Realistic, 0..3) => (*dice.pick(&["", "}", "    }", "{", "});"])).to_owned(),
        (Kind::Realistic, 3..5) => (*dice.pick(&["    return x;", "    let x = 1;", "else {"])).to_owned(),
        _ => format!("    call_{number}(é🦀);"),
    };
    format!("{text}{ending}")
}

/// One hunk by lines: which of the text before, and what it puts there.
struct Lines {
    old: std::ops::Range<usize>,
    new: Vec<String>,
}

struct Game {
    dice: Dice,
    kind: Kind,
    ending: &'static str,
    buffers: Buffers,
    session: SessionId,
    change: Arc<FileChange>,
    before: Vec<String>,
    hunks: Vec<Lines>,
    version: i32,
    text: Text,
    saved: Text,
    undo: Vec<Text>,
    redo: Vec<Text>,
    log: String,
    played: Played,
}

/// What came of games.
#[derive(Default, Debug, Clone, Copy)]
struct Played {
    moves: usize,
    accepts: usize,
    rejects: usize,
    /// Hunks called touched of which the oracle knows that they are as they were.
    shy: usize,
    /// Touched ones of which it is said exactly what stands at their place.
    exact: usize,
    looks: usize,
}

impl Played {
    fn add(&mut self, other: Played) {
        self.moves += other.moves;
        self.accepts += other.accepts;
        self.rejects += other.rejects;
        self.shy += other.shy;
        self.exact += other.exact;
        self.looks += other.looks;
    }
}

impl Game {
    fn new(seed: u64, kind: Kind) -> Self {
        let mut dice = Dice(seed);
        let ending = if dice.chance(15) { "\r\n" } else { "\n" };
        let count = 8 + dice.below(50);
        let before: Vec<String> = (0..count).map(|_| fresh(&mut dice, kind, ending)).collect();
        let mut after = Vec::new();
        let mut at = 0;
        while at < before.len() {
            let keep = dice.below(9).min(before.len() - at);
            after.extend_from_slice(&before[at..at + keep]);
            at += keep;
            let gone = dice.below(3).min(before.len() - at);
            at += gone;
            let put = dice.below(4);
            after.extend((0..put).map(|_| fresh(&mut dice, kind, ending)));
        }
        let change = change(&before.concat(), &after.concat());
        let count_in = |range: std::ops::Range<usize>, text: &str| text[range].matches('\n').count();
        let hunks = change
            .hunks
            .iter()
            .map(|hunk| {
                let HunkKind::Lines { old, new, .. } = &hunk.kind else { panic!("a hunk of lines") };
                let start = count_in(0..old.start, change.before.text());
                let rows = count_in(old.clone(), change.before.text());
                let lines = change.after.text()[new.clone()].split_inclusive('\n').map(str::to_owned).collect();
                Lines { old: start..start + rows, new: lines }
            })
            .collect();
        let text: Text = before
            .iter()
            .enumerate()
            .map(|(at, text)| Line { origin: Origin::Before(at), text: text.clone() })
            .collect();
        let buffers = Buffers::new();
        let session = buffers.begin("Neovim", Arc::new(Idle));
        buffers.watch(&path(), std::slice::from_ref(&change));
        let mut game = Self {
            dice,
            kind,
            ending,
            buffers,
            session,
            change,
            before,
            hunks,
            version: 0,
            saved: text.clone(),
            text,
            undo: Vec::new(),
            redo: Vec::new(),
            log: String::new(),
            played: Played::default(),
        };
        game.open();
        game
    }

    fn fail(&self, what: &str) -> ! {
        let hunks = self.buffers.standings(&self.change).unwrap().hunks;
        let spots: String = hunks.iter().map(|hunk| format!("{:?} {:?}\n", hunk.state, hunk.range)).collect();
        panic!(
            "{what}\n{spots}-- before\n{}-- after\n{}-- moves\n{}-- text\n{}",
            self.change.before.text(),
            self.change.after.text(),
            self.log,
            joined(&self.text)
        );
    }

    fn open(&mut self) {
        self.version = 0;
        let text = Arc::from(joined(&self.text));
        self.buffers.tell(self.session, DocumentEvent::Opened { path: path(), version: 0, text });
    }

    /// The text becomes another; the client says so in one of many ways.
    fn become_text(&mut self, to: Text) {
        let (was, is) = (joined(&self.text), joined(&to));
        self.text = to;
        if was == is && self.dice.chance(50) {
            return;
        }
        let changes = said(&mut self.dice, &was, &is);
        let _ = writeln!(self.log, "  {changes:?}");
        self.send(changes, &is);
    }

    fn send(&mut self, changes: Vec<DocumentChange>, is: &str) {
        self.version += 1;
        self.buffers.tell(self.session, DocumentEvent::Changed { path: path(), version: self.version, changes });
        let now = self.buffers.of(self.session, &path()).unwrap();
        if *now.text != *is {
            self.fail("the document is not the client's");
        }
    }

    fn edit(&mut self, to: Text) {
        self.undo.push(self.text.clone());
        self.redo.clear();
        self.become_text(to);
    }

    /// The lines between the nearest ones above and below a hunk that belong there: where its own may stand.
    fn region(&self, text: &[Line], hunk: usize) -> Option<std::ops::Range<usize>> {
        let old = &self.hunks[hunk].old;
        let above = |line: &Line| match line.origin {
            Origin::Before(at) => at < old.start,
            Origin::New(other, _) => other < hunk,
            Origin::User => false,
        };
        let below = |line: &Line| match line.origin {
            Origin::Before(at) => at >= old.end,
            Origin::New(other, _) => other > hunk,
            Origin::User => false,
        };
        let start = text.iter().rposition(above).map_or(0, |at| at + 1);
        let end = text.iter().position(below).unwrap_or(text.len());
        (start <= end).then_some(start..end)
    }

    /// Every text in which `out` became `into` within the hunk's region.
    fn allowed(&self, hunk: usize, out: &str, into: &[Line]) -> Vec<Text> {
        let Some(region) = self.region(&self.text, hunk) else { return Vec::new() };
        let mut all = Vec::new();
        for start in region.start..=region.end {
            for end in start..=region.end {
                let here = joined(&self.text[start..end]);
                if here.len() > out.len() {
                    break;
                }
                if here == out && (end > start || out.is_empty()) {
                    let mut text = self.text[..start].to_vec();
                    text.extend_from_slice(into);
                    text.extend_from_slice(&self.text[end..]);
                    all.push(text);
                    break;
                }
            }
        }
        all
    }

    fn lines_of(&self, hunk: usize, state: HunkState) -> Vec<Line> {
        let Lines { old, new } = &self.hunks[hunk];
        match state {
            HunkState::Accepted => new
                .iter()
                .enumerate()
                .map(|(at, text)| Line { origin: Origin::New(hunk, at), text: text.clone() })
                .collect(),
            _ => old.clone().map(|at| Line { origin: Origin::Before(at), text: self.before[at].clone() }).collect(),
        }
    }

    /// Accepts or takes back what is chosen, as the language server does.
    fn decide(&mut self) {
        let standings = self.buffers.standings(&self.change).unwrap();
        let several = self.dice.chance(25);
        let start = self.dice.below(self.hunks.len());
        let mut chosen: Vec<usize> = (start..self.hunks.len())
            .chain(0..start)
            .filter(|hunk| standings.hunks[*hunk].state != HunkState::Touched)
            .take(if several { 4 } else { 1 })
            .collect();
        chosen.sort_unstable();
        if chosen.is_empty() {
            return;
        }
        let ids = |state: HunkState| {
            let of = chosen.iter().filter(|hunk| standings.hunks[**hunk].state == state);
            of.map(|hunk| self.change.hunks[*hunk].id.clone()).collect::<Vec<_>>()
        };
        let (put, take) = (ids(HunkState::Open), ids(HunkState::Accepted));
        let was = joined(&self.text);
        let Ok(edits) = edits_at(&self.change, &was, &standings.hunks, &put, &take) else { return };
        let Ok(is) = text::apply(&was, &edits) else { self.fail("edits that overlap") };
        self.undo.push(self.text.clone());
        self.redo.clear();
        let _ = writeln!(self.log, "decide on {chosen:?}: {edits:?}");
        for hunk in chosen.iter().rev() {
            let from = standings.hunks[*hunk].state;
            let to = if from == HunkState::Open { HunkState::Accepted } else { HunkState::Open };
            let out = joined(&self.lines_of(*hunk, from));
            let into = self.lines_of(*hunk, to);
            if from == HunkState::Open && out.is_empty() && self.has_all_new(*hunk) {
                self.fail(&format!("hunk {hunk} would be doubled"));
            }
            let allowed = self.allowed(*hunk, &out, &into);
            // where several places are allowed the bytes say which was taken, as those below are done already
            let edit = &edits[chosen.iter().position(|other| other == hunk).unwrap()];
            let wanted = format!("{}{}", &was[..edit.range.start], edit.text);
            let found = allowed.into_iter().find(|text| joined(text).starts_with(&wanted));
            match found {
                Some(text) => self.text = text,
                None => self.fail(&format!("hunk {hunk} at a wrong place")),
            }
        }
        if joined(&self.text) != is {
            self.fail("bytes changed outside of the hunks");
        }
        self.played.accepts += put.len();
        self.played.rejects += take.len();
        let order = EditorOrder { change: (*self.change).clone(), put, take, label: String::new(), until: None };
        self.buffers.announce(self.session, &order);
        let changes = if self.dice.chance(60) {
            edits.iter().rev().cloned().map(DocumentChange::Edit).collect()
        } else {
            said(&mut self.dice, &was, &is)
        };
        let _ = writeln!(self.log, "  {changes:?}");
        self.send(changes, &is);
        let now = self.buffers.standings(&self.change).unwrap();
        for hunk in chosen {
            if now.hunks[hunk].state == standings.hunks[hunk].state {
                self.fail(&format!("hunk {hunk} stands as it stood before the decision"));
            }
            if now.hunks[hunk].state == HunkState::Touched {
                self.fail(&format!("hunk {hunk} is touched by its own decision"));
            }
        }
    }

    /// All new lines of an insertion stand in its region as it made them.
    fn has_all_new(&self, hunk: usize) -> bool {
        let new = &self.hunks[hunk].new;
        new.iter()
            .enumerate()
            .all(|(at, text)| self.text.iter().any(|line| line.origin == Origin::New(hunk, at) && line.text == *text))
    }

    /// What is called open or accepted is checked against identities.
    fn look(&mut self) {
        let standings = self.buffers.standings(&self.change).unwrap();
        let text = joined(&self.text);
        let mut end = 0;
        for (hunk, standing) in standings.hunks.iter().enumerate() {
            self.played.looks += 1;
            if standing.state == HunkState::Touched {
                if standing.exact {
                    self.gives_way(hunk, &standing.range, "carried");
                }
                self.played.shy += usize::from(self.is_plain(hunk));
                continue;
            }
            if standing.range.start < end {
                self.fail(&format!("hunk {hunk} overlaps the one above"));
            }
            end = standing.range.end;
            let side = joined(&self.lines_of(hunk, standing.state));
            if text[standing.range.clone()] != side {
                self.fail(&format!("hunk {hunk} is said to stand where it does not"));
            }
            let above = text[..standing.range.start].matches('\n').count();
            let rows = side.matches('\n').count();
            let fits = self.region(&self.text, hunk).is_some_and(|region| {
                let to_region = |at: usize| joined(&self.text[..at]);
                // equal lines at the region's edge make other places the same text
                let same = |at: usize| {
                    let mut other = to_region(at);
                    other.push_str(&side);
                    other.push_str(&joined(&self.text[at..]));
                    let mut here = text[..standing.range.start].to_owned();
                    here.push_str(&side);
                    here.push_str(&text[standing.range.start..]);
                    other == here
                };
                (region.start <= above && above + rows <= region.end) || (region.start..=region.end).any(same)
            });
            if !fits {
                self.fail(&format!("hunk {hunk} is said to stand at another's place"));
            }
        }
    }

    /// What is said to stand at a touched hunk's place may be replaced as a whole: it takes no line of another's with it.
    fn gives_way(&mut self, hunk: usize, range: &std::ops::Range<usize>, how: &str) {
        self.played.exact += 1;
        let text = joined(&self.text);
        let left = format!("{}{}", &text[..range.start], &text[range.end..]);
        // Lines that stand in another order than the change knows belong to nobody's region.
        let Some(region) = self.region(&self.text, hunk) else { return };
        let without = |start: usize, end: usize| joined(&self.text[..start]) + &joined(&self.text[end..]);
        let fits = (region.start..=region.end).any(|start| (start..=region.end).any(|end| without(start, end) == left));
        if !fits {
            self.fail(&format!("{how}: at hunk {hunk} another's line would give way: {range:?}"));
        }
    }

    /// The same by the text alone, as for a file that nobody has open.
    fn look_at_text(&mut self) {
        let entry = Entry::File { text: joined(&self.text).into(), mode: 0o644 };
        for (hunk, standing) in derive(&Arc::clone(&self.change), &entry).into_iter().enumerate() {
            if standing.state == HunkState::Touched && standing.exact {
                self.gives_way(hunk, &standing.range, "by text");
            }
        }
    }

    /// The hunk's lines stand together, unchanged, between the lines that were around them: nobody can doubt it.
    fn is_plain(&self, hunk: usize) -> bool {
        let Some(region) = self.region(&self.text, hunk) else { return false };
        let here = &self.text[region.clone()];
        let around = |at: Option<usize>, origin: Option<usize>| match (at, origin) {
            (Some(at), Some(origin)) => {
                let line = &self.text[at];
                line.origin == Origin::Before(origin) && line.text == self.before[origin]
            }
            (None, None) => true,
            _ => false,
        };
        let old = &self.hunks[hunk].old;
        let above = around(region.start.checked_sub(1), old.start.checked_sub(1));
        let below = around(
            Some(region.end).filter(|at| *at < self.text.len()),
            Some(old.end).filter(|at| *at < self.before.len()),
        );
        above
            && below
            && (here == self.lines_of(hunk, HunkState::Open) || here == self.lines_of(hunk, HunkState::Accepted))
    }

    fn play(&mut self, moves: usize) {
        for _ in 0..moves {
            self.played.moves += 1;
            self.one_move();
            self.look();
            self.look_at_text();
        }
    }

    fn one_move(&mut self) {
        match self.dice.below(100) {
            0..30 => self.decide(),
            30..48 => self.edit_lines(),
            48..60 => self.type_letters(),
            60..66 => self.format(),
            66..80 => self.step_back(),
            80..88 => self.step_forward(),
            88..92 => {
                self.saved = self.text.clone();
                self.buffers.tell(self.session, DocumentEvent::Saved { path: path() });
            }
            92..95 => {
                let _ = writeln!(self.log, "close and reopen");
                self.buffers.tell(self.session, DocumentEvent::Closed { path: path() });
                self.text = self.saved.clone();
                (self.undo, self.redo) = (Vec::new(), Vec::new());
                self.open();
            }
            _ => self.switch_branch(),
        }
    }

    fn edit_lines(&mut self) {
        let mut to = self.text.clone();
        let at = self.dice.below(to.len() + 1);
        let gone = [0, 0, 1, 1, 2, 6][self.dice.below(6)].min(to.len() - at);
        let put = [0, 1, 1, 2][self.dice.below(4)];
        let new: Vec<Line> = (0..put)
            .map(|_| Line { origin: Origin::User, text: fresh(&mut self.dice, self.kind, self.ending) })
            .collect();
        let _ = writeln!(self.log, "line {at}: {gone} out, in {:?}", joined(&new));
        to.splice(at..at + gone, new);
        self.edit(to);
    }

    fn type_letters(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let at = self.dice.below(self.text.len());
        let _ = writeln!(self.log, "type in line {at}");
        for _ in 0..1 + self.dice.below(3) {
            let mut to = self.text.clone();
            let line = &mut to[at].text;
            let body = text::body(line).len();
            let places: Vec<usize> = (0..=body).filter(|at| line.is_char_boundary(*at)).collect();
            let place = *self.dice.pick(&places);
            if self.dice.chance(70) || place == body {
                line.insert(place, *self.dice.pick(&['x', ' ', '}', 'é']));
            } else {
                line.remove(place);
            }
            self.edit(to);
        }
    }

    /// Lines are indented anew, blank ones doubled or taken out.
    fn format(&mut self) {
        let all = self.dice.chance(30);
        let from = if all { 0 } else { self.dice.below(self.text.len() + 1) };
        let to_line = if all { self.text.len() } else { (from + 6).min(self.text.len()) };
        let deeper = self.dice.chance(50);
        let _ = writeln!(self.log, "format {from}..{to_line}");
        let mut to = self.text[..from].to_vec();
        for line in &self.text[from..to_line] {
            let mut line = line.clone();
            let blank = text::body(&line.text).is_empty();
            if blank && self.dice.chance(20) {
                continue;
            }
            if !blank && self.dice.chance(60) {
                line.text = match (deeper, line.text.strip_prefix("    ")) {
                    (false, Some(rest)) => rest.to_owned(),
                    _ => format!("    {}", line.text),
                };
            }
            to.push(line);
        }
        to.extend_from_slice(&self.text[to_line..]);
        self.edit(to);
    }

    fn step_back(&mut self) {
        for _ in 0..1 + self.dice.below(3) {
            let Some(to) = self.undo.pop() else { return };
            let _ = writeln!(self.log, "undo");
            self.redo.push(self.text.clone());
            self.become_text(to);
        }
    }

    fn step_forward(&mut self) {
        for _ in 0..1 + self.dice.below(3) {
            let Some(to) = self.redo.pop() else { return };
            let _ = writeln!(self.log, "redo");
            self.undo.push(self.text.clone());
            self.become_text(to);
        }
    }

    /// Another branch has the text without some of it, and with lines of its own; then it is switched back.
    fn switch_branch(&mut self) {
        let home = self.text.clone();
        let mut away = Vec::new();
        for line in &home {
            if self.dice.chance(85) {
                away.push(line.clone());
            }
            if self.dice.chance(10) {
                away.push(Line { origin: Origin::User, text: fresh(&mut self.dice, self.kind, self.ending) });
            }
        }
        let _ = writeln!(self.log, "branch away\n{}branch back", joined(&away));
        for to in [away, home] {
            let is = joined(&to);
            self.text = to;
            self.send(vec![DocumentChange::Whole(is.clone())], &is);
            self.look();
        }
    }
}

/// How a client says that a text became another.
fn said(dice: &mut Dice, was: &str, is: &str) -> Vec<DocumentChange> {
    let edit = |range, text: &str| DocumentChange::Edit(Replacement { range, text: text.to_owned() });
    let (a, b): (Vec<&str>, Vec<&str>) = (was.split_inclusive('\n').collect(), is.split_inclusive('\n').collect());
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let bytes = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    match dice.below(8) {
        // the whole text as one range, or without one
        0 => vec![edit(0..was.len(), is)],
        // the lines that differ, and some around them
        1 | 2 => {
            let (head, tail) = (head - head.min(dice.below(4)), tail - tail.min(dice.below(4)));
            let start = bytes(&a[..head]);
            let put = b[head..b.len() - tail].concat();
            vec![edit(start..was.len() - bytes(&a[a.len() - tail..]), &put)]
        }
        // a new line as text behind the line above
        3 | 4 if head > 0 && (a.len() == head + tail || b.len() == head + tail) => {
            let start = bytes(&a[..head]) - 1;
            let (gone, put) = (a[head..a.len() - tail].concat(), b[head..b.len() - tail].concat());
            let put = if put.is_empty() { String::new() } else { format!("\n{}", &put[..put.len() - 1]) };
            vec![edit(start..start + gone.len(), &put)]
        }
        // letter by letter what differs
        _ => {
            let chars = |x: &str, y: &str| {
                x.chars().zip(y.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>()
            };
            let head = chars(was, is);
            let (x, y) = (&was[head..], &is[head..]);
            let tail: usize =
                x.chars().rev().zip(y.chars().rev()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
            vec![edit(head..was.len() - tail, &y[..y.len() - tail])]
        }
    }
}

fn games(kind: Kind, seeds: std::ops::Range<u64>, moves: usize) -> Played {
    let mut sum = Played::default();
    for seed in seeds {
        let mut game = Game::new(seed, kind);
        if game.hunks.is_empty() {
            continue;
        }
        let _ = writeln!(game.log, "seed {seed}");
        game.play(moves);
        sum.add(game.played);
    }
    sum
}

/// No game may end with the oracle and the document parted.
#[track_caller]
fn check(kind: Kind) {
    let sum = games(kind, 0..150, 30);
    assert!(sum.accepts > 500 && sum.rejects > 100 && sum.exact > 500, "{sum:?}");
}

#[test]
fn distinct_lines() {
    check(Kind::Distinct);
}

#[test]
fn realistic_lines() {
    check(Kind::Realistic);
}

/// `PLANWRIGHT_GAMES=20000 cargo test --release --lib games::long -- --ignored --nocapture`
///
/// Games of one to sixty moves, so that what fails is short; every failure is counted.
#[test]
#[ignore = "minutes: `PLANWRIGHT_GAMES=900 cargo test --lib games::long -- --ignored --nocapture`"]
fn long() {
    let count: u64 = std::env::var("PLANWRIGHT_GAMES").ok().and_then(|count| count.parse().ok()).unwrap_or(2_000);
    let mut failed: BTreeMap<String, (usize, String)> = BTreeMap::new();
    std::panic::set_hook(Box::new(|_| {}));
    for kind in [Kind::Distinct, Kind::Realistic] {
        let mut sum = Played::default();
        for seed in 0..count {
            let moves = 1 + usize::try_from(seed % 60).unwrap();
            let game = std::panic::catch_unwind(|| games(kind, 1_000_000 + seed..1_000_001 + seed, moves));
            match game {
                Ok(played) => sum.add(played),
                Err(why) => {
                    let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                    let head: String =
                        why.lines().next().unwrap_or("").chars().filter(|c| !c.is_ascii_digit()).collect();
                    let (times, shortest) = failed.entry(format!("{kind:?}: {head}")).or_insert((0, why.clone()));
                    *times += 1;
                    if why.len() < shortest.len() {
                        *shortest = why;
                    }
                }
            }
        }
        eprintln!("{kind:?}: {sum:?}");
    }
    let _ = std::panic::take_hook();
    for (head, (times, shortest)) in &failed {
        eprintln!("==== {times} times: {head}\n{shortest}");
    }
    assert!(failed.is_empty(), "{} kinds of failures", failed.len());
}
