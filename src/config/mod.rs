//! Configuration: `RawConfig` as written becomes `Config`, checked, each value with its origin.
//!
//! Invariant: later wins: defaults, user file, environment, arguments (K2). Unknown keys are errors that name the
//! nearest known one; all problems are told at once, with file and line; nothing is ever written. The process
//! environment is read in one place, `Environment::of_process`. Deliberately absent: any file of a workspace (a clone
//! must not configure anything; trusted workspace files come later), keys themselves: only where to find them.

mod checked;
mod doctor;
mod documentation;
mod environment;
mod raw;
mod read;

pub use checked::{Config, KeyFrom, Limits, ModelConfig, Provider};
pub use doctor::Row;
pub use documentation::documentation;
pub use environment::{Dirs, Environment};
pub use raw::{RawConfig, RawLimits, RawModel, RawModels, RawPrices, RawTimeouts, schema};

use std::fmt;
use std::path::PathBuf;

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Built in.
    Default,
    /// The user's file.
    File {
        /// Which.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// This variable.
    Environment(String),
    /// The command line.
    Argument(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment(variable) => write!(f, "${variable}"),
            Origin::Argument(argument) => write!(f, "argument {argument}"),
        }
    }
}

/// A value and its origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Valued<T> {
    /// What.
    pub value: T,
    /// Whence.
    pub origin: Origin,
}

impl<T> Valued<T> {
    /// Built in.
    pub fn default(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }
}

/// What the command line says about configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Arguments {
    /// `--config FILE`.
    pub config: Option<PathBuf>,
    /// `--set KEY=VALUE`, the key dotted (`limits.turns`), the value as TOML or, if it is none, as plain text.
    pub set: Vec<(String, String)>,
}

/// One thing wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigProblem {
    /// Where; `None` when it concerns no single place.
    pub at: Option<Origin>,
    /// What.
    pub message: String,
    /// What to do.
    pub next: String,
}

/// All that is wrong. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigFault {
    /// Never empty.
    pub problems: Vec<ConfigProblem>,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            if let Some(at) = &problem.at {
                write!(f, "{at}: ")?;
            }
            write!(f, "{}; {}", problem.message, problem.next)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigFault {}

impl From<ConfigProblem> for ConfigFault {
    fn from(problem: ConfigProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

/// Reads everything once, at start.
///
/// # Errors
/// All problems of the file, the variables and the arguments together.
pub fn load(environment: &Environment, arguments: &Arguments) -> Result<Config, ConfigFault> {
    let dirs = environment.dirs(arguments)?;
    let layers = read::layers(&dirs.config_file, arguments)?;
    checked::check(layers, dirs, environment)
}

#[cfg(test)]
mod tests;
