//! What the tests of the whole program share.

pub mod model;
pub mod project;
pub mod running;
pub mod server;
pub mod source;

pub use project::{Project, Said};
pub use running::{Beside, in_time, until};

/// A folder for a home with a workspace in it. Not below one that each cage has for itself, where nothing beside the
/// workspace is part of a view; and other users can enter it, because root plays its games again as one of them.
pub fn ground() -> tempfile::TempDir {
    use std::os::unix::fs::MetadataExt;
    let private = ["/tmp", "/var/tmp", "/run", "/dev"];
    let home = std::env::var_os("HOME").unwrap_or_default();
    let places = [env!("CARGO_TARGET_TMPDIR").into(), "/srv".into(), "/opt".into(), home];
    let fits = |place: &std::path::Path| {
        let shut = |above: &std::path::Path| above.metadata().is_ok_and(|meta| meta.mode() & 0o001 == 0);
        let is_shut = rustix::process::geteuid().is_root() && place.ancestors().any(shut);
        let is_private = private.iter().any(|private| place.starts_with(private));
        !is_shut && !is_private
    };
    let places = places.iter().filter_map(|place| std::path::Path::new(place).canonicalize().ok());
    let made = places.filter(|place| fits(place)).find_map(|place| tempfile::tempdir_in(place).ok());
    made.expect("a folder outside /tmp that other users can enter: the clone's, /srv, /opt or the home")
}

/// Says that nothing is proved here, because no cage can be made. A failure where one is demanded: `tests/all` does so
/// on Linux with `PLANWRIGHT_TEST_CAGE=required`.
#[track_caller]
pub fn uncaged(why: &str) {
    assert_ne!(std::env::var("PLANWRIGHT_TEST_CAGE").as_deref(), Ok("required"), "{why}");
    planwright::testing::skipped(why);
}
