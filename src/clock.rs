//! The real clock: the system's time and randomness.
//!
//! Invariant: the only place beside `config` and `host` that asks the system for the time of day. Absent: time zones;
//! planwright shows UTC.

use crate::domain::ids::Time;
use crate::ports::{Clock, Fut};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn fresh(&self) -> u128 {
        // `RandomState` is seeded by the system once a process and counted on; with the time of day hashed in, two
        // processes and two calls differ. Ids need to be distinct, not secret.
        use std::hash::{BuildHasher, Hasher};
        let half = |salt: u8| {
            let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
            hasher.write_u8(salt);
            hasher.write_i64(self.now().0);
            u128::from(hasher.finish())
        };
        (half(0) << 64) | half(1)
    }

    fn sleep(&self, span: Duration) -> Fut<'static, ()> {
        Box::pin(tokio::time::sleep(span))
    }
}
