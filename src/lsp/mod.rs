//! The language server: the whole job over stock LSP, for any editor that speaks it.
//!
//! Invariant: the only module that imports tower_lsp. No handler waits for a person, a model, a process, the disk or
//! the client; reads come from the desk and from open documents, decisions go to the host. Absent: any rule about
//! tasks, plans or hunks.

pub mod ground;

pub use ground::{Ground, Place};
