//! The agent's loop inside a step, as a machine without IO: results come in, effects go out.
//!
//! Invariant: the same brief and the same results give the same requests, byte for byte. Absent: the wire, the tools'
//! doing, the journal.

pub mod dialogue;
