//! The names things go by. Each is a type of its own, so that a step is never taken for a hunk.
//!
//! Invariant: a value of one of these types is well formed; it can only be made through its checking constructor
//! or read back from the journal. Absent: making fresh ids (randomness comes in from the shell).

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the text as it stands; callers pass what a parser or a digest made.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text a person reads and types.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// One goal of the user, from the goal to the last decision on a hunk: four to six lower-case letters and digits.
    TaskId
);
name!(
    /// A node of the plan's graph: the word before `: ` in its heading.
    StepId
);
name!(
    /// `h` and eight hex digits made from path, old text, new text and occurrence: the same change has the same id.
    HunkId
);
name!(
    /// `g` and a number, counted within the task in the order of opening.
    GateId
);
name!(
    /// 32 hex digits: the W3C trace id that every event, request and command of a task carries.
    TraceId
);

impl TaskId {
    /// A word that has the shape of one: four to six small letters and digits, a letter first.
    pub fn read(word: &str) -> Option<Self> {
        let is_one = (4..=6).contains(&word.len())
            && word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        is_one.then(|| Self::new(word))
    }
}

impl HunkId {
    /// A word that has the shape of one.
    pub fn read(word: &str) -> Option<Self> {
        let digits = word.strip_prefix('h')?;
        let is_one = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_one.then(|| Self::new(word))
    }
}

impl GateId {
    /// A word that has the shape of one.
    pub fn read(word: &str) -> Option<Self> {
        word.strip_prefix('g').is_some_and(is_number).then(|| Self::new(word))
    }
}

/// Nothing but digits.
pub fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Milliseconds since the Unix epoch, UTC. Always handed in; the domain owns no clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// Milliseconds from `earlier` to `self`; zero when the clock went back in between.
    pub fn since(self, earlier: Time) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// The blake3 hash of some bytes, 64 hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// The hash of these bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(blake3::hash(bytes.as_ref()).to_hex().to_string())
    }

    /// A text that has the shape of one.
    pub fn read(text: &str) -> Option<Self> {
        let is_one = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_one.then(|| Self(text.to_ascii_lowercase()))
    }

    /// All 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits: what a person compares (`r3-9f2c81d04a7e`).
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.short())
    }
}

/// A revision as a person names it: its number and the digest of its meaning, `r3-9f2c81d04a7e`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RevisionRef {
    /// Counted from 1 within the task.
    pub number: u32,
    /// The first twelve digits of the digest.
    pub digest: String,
}

impl RevisionRef {
    /// The number in `r2` or `r2-9f2c81d04a7e`.
    pub fn number_in(word: &str) -> Option<u32> {
        match word.parse::<RevisionRef>() {
            Ok(revision) => Some(revision.number),
            Err(()) => word.strip_prefix('r').filter(|digits| is_number(digits))?.parse().ok(),
        }
    }
}

impl fmt::Display for RevisionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}-{}", self.number, self.digest)
    }
}

impl std::str::FromStr for RevisionRef {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (number, digest) = text.strip_prefix('r').and_then(|t| t.split_once('-')).ok_or(())?;
        let number = number.parse().map_err(|_| ())?;
        if digest.len() != 12 || !digest.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(());
        }
        Ok(Self { number, digest: digest.to_owned() })
    }
}

/// A path below the root, with forward slashes, no `.`, no `..`, never absolute, never empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(transparent)]
pub struct WorkspacePath(String);

/// Why some text is no path of the workspace.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathProblem {
    /// Nothing is left after cleaning.
    #[error("an empty path names nothing")]
    Empty,
    /// `/etc`, `C:\x`, `~/x`.
    #[error("`{0}` is absolute; write it relative to the workspace")]
    Absolute(String),
    /// `..` leads above the root.
    #[error("`{0}` leads out of the workspace")]
    Outside(String),
    /// NUL, control characters.
    #[error("a path holds a control character")]
    Control,
}

impl WorkspacePath {
    /// Cleans `./` and doubled slashes and `a/../b`, and refuses what leaves the root.
    pub fn new(text: &str) -> Result<Self, PathProblem> {
        if text.chars().any(char::is_control) {
            return Err(PathProblem::Control);
        }
        let drive =
            text.as_bytes().get(1) == Some(&b':') && text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
        if text.starts_with('/') || text.starts_with('~') || text.starts_with('\\') || drive {
            return Err(PathProblem::Absolute(text.to_owned()));
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        return Err(PathProblem::Outside(text.to_owned()));
                    }
                }
                part => parts.push(part),
            }
        }
        if parts.is_empty() { Err(PathProblem::Empty) } else { Ok(Self(parts.join("/"))) }
    }

    /// Relative to the root, with `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// What follows the last dot of the file name, if there is one that is not the first character.
    pub fn extension(&self) -> Option<&str> {
        let (stem, extension) = self.file_name().rsplit_once('.')?;
        (!stem.is_empty()).then_some(extension)
    }
}

impl<'de> Deserialize<'de> for WorkspacePath {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What in a task an effect belongs to. A step of the plan, or one of the task's own four stretches of work.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Making or revising the plan: step 0.
    Planning,
    /// The checks of an approved plan, before any change.
    Baseline,
    /// A step of the approved plan.
    Step(StepId),
    /// The acceptance checks of the whole task.
    Acceptance,
    /// Carrying out decisions on hunks.
    Review,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Planning => f.write_str("planning"),
            Work::Baseline => f.write_str("baseline"),
            Work::Step(id) => id.fmt(f),
            Work::Acceptance => f.write_str("acceptance"),
            Work::Review => f.write_str("review"),
        }
    }
}

/// The journal id of an effect (invariant 4): the n-th effect of an attempt at some work. Unique within its task.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct EffectId {
    /// Whose effect it is.
    pub work: Work,
    /// Counted from 1.
    pub attempt: u32,
    /// Counted from 1 within the attempt.
    pub n: u32,
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.work, self.attempt, self.n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let got = match WorkspacePath::new(text) {
            Ok(path) => path.to_string(),
            Err(problem) => format!("! {problem}"),
        };
        assert_eq!(got, expect);
    }

    #[test]
    fn paths_are_cleaned_or_refused() {
        check("src//./net/../lib.rs", "src/lib.rs");
        check("a/../../b", "! `a/../../b` leads out of the workspace");
        check("/etc/passwd", "! `/etc/passwd` is absolute; write it relative to the workspace");
        check("c:/x", "! `c:/x` is absolute; write it relative to the workspace");
        check("./", "! an empty path names nothing");
        check("a\u{0}b", "! a path holds a control character");
    }

    #[test]
    fn a_word_is_known_by_its_shape() {
        let shape = |word: &str| match (HunkId::read(word), GateId::read(word), RevisionRef::number_in(word)) {
            (Some(hunk), None, None) => format!("hunk {hunk}"),
            (None, Some(gate), None) => format!("gate {gate}"),
            (None, None, Some(number)) => format!("revision {number}"),
            (None, None, None) => "no id".to_owned(),
            several => format!("{several:?}"),
        };
        let words = ["h1a2b3c4d", "h1a2b3c4", "h1a2b3c4g", "g12", "g", "gx", "r3", "r3-9f2c81d04a7e", "r3-9f", "12"];
        let shapes: Vec<String> = words.iter().map(|word| format!("{word}: {}", shape(word))).collect();
        insta::assert_snapshot!(shapes.join("\n"), @r"
        h1a2b3c4d: hunk h1a2b3c4d
        h1a2b3c4: no id
        h1a2b3c4g: no id
        g12: gate g12
        g: no id
        gx: no id
        r3: revision 3
        r3-9f2c81d04a7e: revision 3
        r3-9f: no id
        12: no id
        ");
    }

    #[test]
    fn a_revision_is_read_as_it_is_written() {
        let written = RevisionRef { number: 3, digest: "9f2c81d04a7e".to_owned() };
        assert_eq!(written.to_string().parse(), Ok(written));
        assert!("r3".parse::<RevisionRef>().is_err());
        assert!("r3-xyz".parse::<RevisionRef>().is_err());
    }
}
