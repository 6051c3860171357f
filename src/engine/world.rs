//! The ports and settings that the engine works with, in one value.
//!
//! Invariant: nothing in the engine reaches the world but through it. Absent: which implementations stand behind it;
//! `app` knows.

use super::sound::Sound;
use crate::ports::*;
use std::sync::Arc;
use std::time::Duration;

/// Everything outside the engine.
pub struct World {
    /// The journal.
    pub store: Arc<dyn Store>,
    /// The user's files as they are now: what an editor has open, else the disk.
    pub workspace: Arc<dyn Workspace>,
    /// The disk alone.
    pub disk: Arc<dyn Workspace>,
    /// What editors have open.
    pub documents: Arc<dyn Documents>,
    /// Syntax trees.
    pub syntax: Arc<dyn Syntax>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Commands.
    pub arena: Arc<dyn Arena>,
    /// Time and randomness.
    pub clock: Arc<dyn Clock>,
    /// Numbers that a user may set.
    pub limits: Limits,
    /// What a person should know of this start.
    pub remarks: Vec<String>,
    /// What stands in for open documents that somebody is in the middle of.
    pub sound: Sound,
}

/// Numbers that a user may set. The defaults are those of requirement B5.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Steps of one task at once.
    pub parallel: usize,
    /// Exchanges with a model in one step.
    pub turns: u32,
    /// Wall time of a command.
    pub command: Duration,
    /// Tokens of scoped context in a request.
    pub context: u64,
    /// Tokens of one answer.
    pub answer: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { parallel: 2, turns: 15, command: Duration::from_secs(600), context: 6_000, answer: 4_096 }
    }
}
