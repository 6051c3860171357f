//! What the tests of the whole program share.

pub mod project;

pub use project::{Project, Said};
