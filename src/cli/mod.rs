//! The terminal front end: the same actions as in an editor, one process each.
//!
//! Invariant: it knows the engine only through [`Port`], and the person only through [`Terminal`]; nothing here reads
//! the environment. All text from outside passes `render::Paper`, which strips what a terminal would obey. Absent:
//! starting or joining a host, configuration, logging; `app` brings these.

pub mod act;
pub mod clean;
pub mod doctor;
pub mod exit;
pub mod parse;
pub mod render;
pub mod terminal;
pub mod tour;
pub mod wait;
pub mod walk;

mod run;
#[cfg(test)]
mod tests;

pub use exit::Exit;
pub use parse::{Needs, NotAnAction, Parsed, parse};
pub use run::{say_not_an_action, say_refusal, say_warning, serve};
pub use terminal::Terminal;

use crate::domain::ids::WorkspacePath;
pub use crate::host::Port;
use crate::host::Update;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// What `app` knows of this start and the terminal shows or needs.
#[derive(Clone, Debug, Default)]
pub struct House {
    /// Where the command was given.
    pub here: Here,
    /// The configuration in force, each value with its origin.
    pub settings: Vec<doctor::Setting>,
    /// What planwright keeps where.
    pub kept: Vec<clean::Kept>,
    /// By name: `plan`, `config`, `tools`.
    pub schemas: BTreeMap<String, serde_json::Value>,
}

/// Where the command was given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Here {
    /// The working directory, canonical.
    pub cwd: PathBuf,
    /// The root, canonical.
    pub root: PathBuf,
}

impl Here {
    /// A file as it is typed in the working directory, as a path of the workspace.
    ///
    /// # Errors
    /// Why it is none, in a sentence.
    pub fn path(&self, typed: &str) -> Result<WorkspacePath, String> {
        let mut clean = PathBuf::new();
        for part in self.cwd.join(typed).components() {
            match part {
                Component::ParentDir => {
                    clean.pop();
                }
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => clean.push(part),
            }
        }
        let below: &Path = clean
            .strip_prefix(&self.root)
            .map_err(|_| format!("`{typed}` is not in the workspace {}", self.root.display()))?;
        let text = below.to_str().ok_or_else(|| format!("`{typed}` is not UTF-8"))?;
        WorkspacePath::new(&text.replace(std::path::MAIN_SEPARATOR, "/")).map_err(|problem| problem.to_string())
    }
}
