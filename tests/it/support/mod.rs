//! What the tests of the whole program share.

pub mod model;
pub mod project;
pub mod running;
pub mod server;
pub mod source;

pub use project::{Project, Said};
pub use running::{Beside, in_time, until};
