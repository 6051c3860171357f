//! How the desk says a check, a command, a goal.
//!
//! Invariant: what is said of a check or command is what a plan document would say. Absent: parsing any of it.

use crate::domain::ids::EffectId;
use crate::domain::plan::{Check, Command, Search};
use crate::domain::task::action::{Goal, Place};
use crate::domain::task::event::Intent;

/// Characters of an outside text that a one-line summary keeps.
const HEAD: usize = 160;

/// The words of a command, with where and with what it runs.
pub fn command(command: &Command) -> String {
    let mut said = format!("`{}`", shell_words::join(&command.argv));
    if let Some(dir) = &command.dir {
        said.push_str(&format!(" in {dir}"));
    }
    if !command.env.is_empty() {
        let pairs: Vec<String> = command.env.iter().map(|(key, value)| format!("{key}={value}")).collect();
        said.push_str(&format!(" with {}", pairs.join(" ")));
    }
    said
}

/// A check as a plan says it.
pub fn check(check: &Check) -> String {
    match check {
        Check::Command(run) => command(run),
        Check::Syntax => "syntax".to_owned(),
        Check::Search(search) => of_search(search),
        Check::Exists(path) => format!("exists `{path}`"),
        Check::Missing(path) => format!("missing `{path}`"),
        Check::Changed(path) => format!("changed `{path}`"),
        Check::Unchanged(path) => format!("unchanged `{path}`"),
    }
}

fn of_search(search: &Search) -> String {
    let mut said = format!("{}: `{}`", if search.present { "present" } else { "absent" }, search.regex);
    if !search.within.is_empty() {
        said.push_str(&format!(" in {}", search.within.join(", ")));
    }
    if !search.except.is_empty() {
        said.push_str(&format!(" except {}", search.except.join(", ")));
    }
    said
}

/// What an effect does, in a few words.
pub fn intent(what: &Intent) -> String {
    match what {
        Intent::Model { model, .. } => format!("asks {model}"),
        Intent::Tool { tool, arguments } => format!("{tool} {}", head(arguments)),
        Intent::Snapshot => "reads what it starts from".to_owned(),
        Intent::Transform => "applies its rule".to_owned(),
        Intent::Format => "formats what it changed".to_owned(),
        Intent::Command { command: run, .. } => format!("runs {}", command(run)),
        Intent::Outside { command: run, .. } => format!("runs {} in the workspace itself", command(run)),
        Intent::Write { path, open: true, .. } => format!("changes {path} in the editor"),
        Intent::Write { path, open: false, .. } => format!("writes {path}"),
    }
}

/// An effect under way.
pub fn under_way(id: &EffectId, what: &Intent) -> String {
    format!("{}: {}", id.work, intent(what))
}

/// A goal with its place.
pub fn goal(goal: &Goal) -> String {
    match &goal.place {
        None => goal.words.clone(),
        Some(place) => format!("{} (at {})", goal.words, self::place(place)),
    }
}

/// A place as it is typed: `src/a.rs:4-9`.
pub fn place(place: &Place) -> String {
    match place.lines {
        None => place.path.to_string(),
        Some((first, last)) if first == last => format!("{}:{first}", place.path),
        Some((first, last)) => format!("{}:{first}-{last}", place.path),
    }
}

/// The first line, cut.
pub fn head(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("").trim_end();
    let mut cut: String = line.chars().take(HEAD).collect();
    if cut.len() < line.len() || text.trim().lines().nth(1).is_some() {
        cut.push('…');
    }
    cut
}
