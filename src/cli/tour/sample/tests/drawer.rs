//! A slow test: it waits until somebody opens the drawer, that is, makes the file `drawer.open`.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn the_drawer_opens() {
    let patience = Instant::now();
    while !Path::new("drawer.open").exists() {
        assert!(patience.elapsed() < Duration::from_secs(120), "nobody opened the drawer");
        // Past the test harness, which would keep the line to itself until the end.
        let _ = writeln!(std::io::stderr(), "waiting for the drawer to open");
        std::thread::sleep(Duration::from_millis(250));
    }
}
