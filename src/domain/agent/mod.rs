//! The agent's loop inside a step, as a machine without IO: results come in, effects go out.
//!
//! Invariant: the same brief and the same results give the same requests, byte for byte. Absent: the wire, the tools'
//! doing, the journal.

pub mod arguments;
pub mod brief;
pub mod calls;
pub mod cut;
pub mod dialogue;
pub mod forms;
pub mod guards;
pub mod lenient;
pub mod machine;
pub mod order;
pub mod transcript;

pub use brief::{AgentKind, Brief, Limits};
pub use forms::CallForm;
pub use machine::{Agent, Answer, Move};
pub use order::{Act, ToolError, ToolOrder, ToolResult};
