//! What the tests of the whole program share.

pub mod model;
pub mod project;
pub mod running;
pub mod server;
pub mod source;

pub use project::{Project, Said};
pub use running::{Beside, in_time, until};

/// Says that nothing is proved here, because no cage can be made. A failure where one is demanded: `tests/all` does so
/// on Linux with `PLANWRIGHT_TEST_CAGE=required`.
#[track_caller]
pub fn uncaged(why: &str) {
    assert_ne!(std::env::var("PLANWRIGHT_TEST_CAGE").as_deref(), Ok("required"), "{why}");
    planwright::testing::skipped(why);
}
