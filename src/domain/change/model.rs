//! Proposals and hunks as values.
//!
//! Invariant: `hunks` of a file applied to `before` give `after`, byte for byte. Absent: decisions and states; they
//! are no part of a proposal.

use crate::domain::ids::{ContentHash, HunkId, StepId, WorkspacePath};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// What stands at a path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Nothing.
    Absent,
    /// A regular file whose bytes are UTF-8.
    File {
        /// The whole text with its line endings and BOM as they are.
        text: Arc<str>,
        /// Permission bits below 0o7777.
        mode: u32,
    },
}

impl Entry {
    /// The text; empty where nothing stands.
    pub fn text(&self) -> &str {
        match self {
            Entry::Absent => "",
            Entry::File { text, .. } => text,
        }
    }

    /// Distinguishes absent from empty and takes in the mode's executable bits.
    pub fn hash(&self) -> ContentHash {
        match self {
            Entry::Absent => ContentHash::of("absent"),
            Entry::File { text, mode } => {
                ContentHash::of(format!("{}\0{text}", if mode & 0o111 == 0 { "file" } else { "program" }))
            }
        }
    }
}

/// What a step wants to change. Written once, at the step's end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Proposal {
    /// The author.
    pub step: StepId,
    /// Counted from 1; a later one replaces the former of the same step.
    pub generation: u32,
    /// By path, sorted; each path once.
    pub files: Vec<FileChange>,
}

/// One path of a proposal.
///
/// `before` is the user's own entry when the proposal was made. Where an earlier step of the task already has a
/// proposal in force for the path, `after` contains it, and this change supersedes that one for the path: hunks that
/// are the same keep their ids (ids are made from content) and with them their decisions and authors.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileChange {
    /// Where.
    pub path: WorkspacePath,
    /// The user's entry at the time.
    pub before: Entry,
    /// The entry with all hunks accepted.
    pub after: Entry,
    /// In the order of the text.
    pub hunks: Vec<Hunk>,
}

/// The smallest part that a person accepts or rejects.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hunk {
    /// Made from path, old, new and occurrence.
    pub id: HunkId,
    /// The step that wrote these lines; an untouched hunk of an earlier step keeps its author.
    pub author: StepId,
    /// What it does.
    pub kind: HunkKind,
    /// Remarks for the reviewer: outside the focus, a measure of a check, an uncertain occurrence.
    pub flags: Vec<Flag>,
}

/// What a hunk does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HunkKind {
    /// A run of whole lines is replaced.
    Lines {
        /// Bytes of `before`, whole lines with their endings; empty for an insertion.
        old: Range<usize>,
        /// Bytes of `after`.
        new: Range<usize>,
        /// 0-based first line in `before`.
        old_line: u32,
        /// 0-based first line in `after`.
        new_line: u32,
    },
    /// The file is made, with its whole text.
    Create,
    /// The file is removed.
    Delete,
    /// Only the permission bits change.
    Mode,
}

/// A remark on a hunk that the reviewer must see.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// It lies outside the step's focus symbol.
    OutsideFocus(String),
    /// A rename could not be certain here; "accept all" leaves it out.
    Uncertain(String),
    /// It changes what a check measures by.
    Measure(String),
}

/// What the text says about a hunk (invariant 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HunkState {
    /// The old text stands at its spot.
    Open,
    /// The new text stands at its spot, on disk.
    Accepted,
    /// Something else stands there: both sides are shown.
    Touched,
}

/// What a person decided, last of all (invariant 6).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Put it into the text.
    Accept,
    /// Leave it out, with the reason given.
    Reject(Option<String>),
    /// The former decision is taken back.
    Undo,
}
