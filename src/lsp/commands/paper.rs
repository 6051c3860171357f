//! `.planwright/goal.md` and `.planwright/words.md`: where a goal, a reason, an instruction is written by whoever has no
//! other place to write it.
//!
//! Invariant: reading one never fails; a page without words asks for nothing, nor does one whose head does not say whose
//! words they are. The same page saved again asks for nothing
//! new. A file is written only below the root's own `.planwright`, and no link is followed there. Absent: what becomes
//! of the words.

use super::errand::Wanted;
use crate::domain::ids::{ContentHash, HunkId, StepId, TaskId, WorkspacePath};
use crate::domain::task::action::Place;
use std::io::{Read, Result, Write};
use std::path::{Path, PathBuf};

/// Where goals are written, below the root.
pub const PAGE: &str = ".planwright/goal.md";

/// Where all other words are.
pub const WORDS: &str = ".planwright/words.md";

/// Bytes that are read of a page; words of a person are found in the first of them.
const READ: u64 = 1 << 20;

/// Everything but recipes and configuration stays out of git; the same as for the folders of tasks.
const IGNORED: &str = "/*\n!/recipes/\n!/config.toml\n";

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
}

/// An empty page.
pub fn blank(wanted: &Wanted, place: Option<&Place>) -> String {
    let (head, help) = match wanted {
        Wanted::Plan => {
            ("plan".to_owned(), "Write below what you want, then save: it becomes a task and is planned.".to_owned())
        }
        Wanted::Change => (
            "change".to_owned(),
            "Write below what to change there, then save: it is done at once, as one step.".to_owned(),
        ),
        Wanted::Ask => (
            "ask".to_owned(),
            "Write your question below, then save: the code is read, and nothing changes.".to_owned(),
        ),
        Wanted::Reject { task, hunk } => (
            format!("reject\ntask: {task}\nhunk: {hunk}"),
            format!("Write below why, then save: {hunk} is rejected, and the reason reaches the next request."),
        ),
        Wanted::Say { task, step } => {
            let step = step.as_ref().map(|step| format!("\nstep: {step}")).unwrap_or_default();
            (
                format!("say\ntask: {task}{step}"),
                "Write below what to mind, then save: it reaches the next request.".to_owned(),
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

/// Such a page on disk; nothing where it is no file of the root's own `.planwright`. Blocks.
pub fn stored(root: &Path, page: &str) -> Option<String> {
    let path = root.join(page);
    let own = |path: &Path| path.symlink_metadata().ok();
    own(path.parent()?)?.is_dir().then_some(())?;
    own(&path)?.is_file().then_some(())?;
    let mut bytes = Vec::new();
    std::fs::File::open(&path).ok()?.take(READ).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a page of the root's `.planwright`, whatever stands there. Blocks.
///
/// # Errors
/// The disk's; also where `.planwright` is a link or no folder.
pub fn write(root: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let folder = root.join(".planwright");
    if !folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        // Fails on anything else that has the name.
        std::fs::create_dir(&folder)?;
    }
    let ignored = folder.join(".gitignore");
    if ignored.symlink_metadata().is_err() {
        std::fs::write(ignored, IGNORED)?;
    }
    let mut file = tempfile::Builder::new().prefix(".page").tempfile_in(&folder)?;
    file.write_all(text.as_bytes())?;
    let path = folder.join(name);
    // Replaces a link that has the name, and does not follow it.
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}
