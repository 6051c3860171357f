//! What the tests of the whole program share.

pub mod model;
pub mod project;
pub mod source;

pub use project::Project;
