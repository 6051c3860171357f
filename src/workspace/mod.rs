//! The user's files below one root.
//!
//! Invariant: a write replaces exactly the bytes that its caller decided on, or touches nothing; a path never leads
//! out of the root, whatever links say. Nothing here writes outside `.planwright/` unless a caller hands in an entry
//! before and an entry after.
//! Absent: every reason to write. Open documents ([`Buffers`]) are text in memory and never reach the disk from here.
//!
//! Blocking file work runs on tokio's blocking threads, so no handler waits for a disk.

mod binding;
mod buffers;
mod disk;
mod mend;
mod pages;
mod place;
mod temporary;
mod torn;
mod watch;
mod write;

pub use binding::root_of;
pub use buffers::Buffers;
pub use disk::{Disk, LIMIT, OpenError};
pub use watch::{Burst, Changes, watch};

#[cfg(test)]
mod tests;
