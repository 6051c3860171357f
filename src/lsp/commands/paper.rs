//! `.planwright/goal.md` and `.planwright/words.md`: where a goal, a reason, an instruction is written by whoever has no
//! other place to write it.
//!
//! Invariant: reading one never fails; a page without words asks for nothing, nor does one whose head does not say whose
//! words they are. The same page saved again asks for nothing new. Absent: the disk, which is the engine's, and what
//! becomes of the words.

use super::errand::Wanted;
use crate::domain::ids::{ContentHash, HunkId, StepId, TaskId, WorkspacePath};
use crate::domain::task::action::Place;
use crate::ports::LoosePage;

/// Where goals are written, below the root.
pub const PAGE: &str = ".planwright/goal.md";

/// Where all other words are.
pub const WORDS: &str = ".planwright/words.md";

/// What a page asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// What the words are for.
    pub wanted: Wanted,
    /// The place that they are about.
    pub place: Option<Place>,
    /// The words.
    pub words: String,
}

impl Asked {
    /// The same for the same page, however it is spaced.
    pub fn key(&self) -> (&'static str, ContentHash) {
        (self.wanted.page(), self.hash())
    }

    fn hash(&self) -> ContentHash {
        ContentHash::of(format!("{:?}\0{:?}\0{}", self.wanted, self.place, self.words))
    }
}

impl Wanted {
    /// Where words for it are written, below the root.
    pub fn page(&self) -> &'static str {
        match self {
            Wanted::Plan | Wanted::Change | Wanted::Ask => PAGE,
            Wanted::Reject { .. } | Wanted::Say { .. } => WORDS,
        }
    }

    /// The same page, as the engine knows it.
    pub fn loose(&self) -> LoosePage {
        match self {
            Wanted::Plan | Wanted::Change | Wanted::Ask => LoosePage::Goal,
            Wanted::Reject { .. } | Wanted::Say { .. } => LoosePage::Words,
        }
    }
}

/// An empty page.
pub fn blank(wanted: &Wanted, place: Option<&Place>) -> String {
    let (head, help) = match wanted {
        Wanted::Plan => {
            ("plan".to_owned(), "Write below what you want and save with :w. It becomes a task and is planned; the task page opens here.".to_owned())
        }
        Wanted::Change => (
            "change".to_owned(),
            "Write below what to change there and save with :w. It is done as one step; the task page opens here.".to_owned(),
        ),
        Wanted::Ask => (
            "ask".to_owned(),
            "Write your question below and save with :w. The code is read and nothing changes; the task page opens here.".to_owned(),
        ),
        Wanted::Reject { task, hunk } => (
            format!("reject\ntask: {task}\nhunk: {hunk}"),
            format!("Write below why and save with :w: {hunk} is rejected, and the reason reaches the next request."),
        ),
        Wanted::Say { task, step } => {
            let step = step.as_ref().map(|step| format!("\nstep: {step}")).unwrap_or_default();
            (
                format!("say\ntask: {task}{step}"),
                "Write below what to mind and save with :w: it reaches the next request.".to_owned(),
            )
        }
    };
    let at = place.map_or_else(String::new, |place| format!("at: {}\n", written(place)));
    format!("do: {head}\n{at}\n<!-- {help} -->\n\n")
}

fn written(place: &Place) -> String {
    match place.lines {
        None => place.path.to_string(),
        Some((first, last)) if first == last => format!("{}:{first}", place.path),
        Some((first, last)) => format!("{}:{first}-{last}", place.path),
    }
}

/// What the head of a page says.
#[derive(Default)]
struct Head<'a> {
    what: Option<&'a str>,
    place: Option<Place>,
    task: Option<TaskId>,
    hunk: Option<HunkId>,
    step: Option<StepId>,
}

impl<'a> Head<'a> {
    /// A line of it; false for one that says nothing that a head says.
    fn take(&mut self, line: &'a str) -> bool {
        let Some((name, value)) = line.split_once(':') else { return false };
        let value = value.trim();
        // Only where they mean something: a goal may begin with any word.
        let is_of_task = matches!(self.what, Some("reject" | "say"));
        match name {
            "do" if matches!(value, "plan" | "change" | "ask" | "reject" | "say") => self.what = Some(value),
            "at" if read_place(value).is_some() => self.place = read_place(value),
            "task" if is_of_task && TaskId::read(value).is_some() => self.task = TaskId::read(value),
            "hunk" if is_of_task && HunkId::read(value).is_some() => self.hunk = HunkId::read(value),
            "step" if is_of_task && !value.is_empty() => self.step = Some(StepId::new(value)),
            _ => return false,
        }
        true
    }

    /// What words under it are for.
    fn wanted(self) -> Option<(Wanted, Option<Place>)> {
        let wanted = match self.what {
            None | Some("plan") => Wanted::Plan,
            Some("change") => Wanted::Change,
            Some("ask") => Wanted::Ask,
            Some("reject") => Wanted::Reject { task: self.task?, hunk: self.hunk? },
            Some(_) => Wanted::Say { task: self.task?, step: self.step },
        };
        Some((wanted, self.place))
    }
}

/// What a page asks for; nothing without words.
pub fn read(text: &str) -> Option<Asked> {
    let text = without_remarks(text.trim_start_matches('\u{feff}'));
    let mut head = Some(Head::default());
    let mut above = Head::default();
    let mut words = Vec::new();
    for line in text.lines() {
        // Whatever does not say what a head says are words.
        if head.as_mut().is_some_and(|head| head.take(line)) {
            continue;
        }
        // One empty line may stand in it, as people write.
        if let Some(ended) = head.take_if(|_| !line.trim().is_empty() || !words.is_empty()) {
            above = ended;
        }
        words.push(line.trim_end());
    }
    let (wanted, place) = head.unwrap_or(above).wanted()?;
    let words = words.join("\n").trim().to_owned();
    (!words.is_empty()).then_some(Asked { wanted, place, words })
}

fn without_remarks(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("<!--") {
        left.push_str(before);
        rest = inside.split_once("-->").map_or("", |(_, after)| after);
    }
    left + rest
}

fn read_place(text: &str) -> Option<Place> {
    let lines = text.rsplit_once(':').and_then(|(path, lines)| {
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        Some((path, first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?))
    });
    match lines {
        Some((path, first, last)) if first > 0 && first <= last => {
            Some(Place { path: WorkspacePath::new(path).ok()?, lines: Some((first, last)) })
        }
        Some(_) => None,
        None => Some(Place { path: WorkspacePath::new(text).ok()?, lines: None }),
    }
}

/// The 0-based line of a review at which a hunk stands.
pub fn heading(review: &str, hunk: &HunkId) -> Option<u32> {
    let is_its = |line: &str| line.strip_prefix("## ").and_then(|rest| rest.split(' ').next()) == Some(hunk.as_str());
    review.lines().position(is_its).and_then(|line| u32::try_from(line).ok())
}
