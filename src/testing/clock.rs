//! A clock that stands still until told.
//!
//! Invariant: the same calls give the same times and ids; nobody who sleeps on it waits in real time. Absent: real
//! time, except in `drive`, which must give other threads a chance to work.

use crate::domain::ids::Time;
use crate::ports::{Clock, Fut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long `drive` lets real work go on before it moves the time.
const BREATH: Duration = Duration::from_millis(25);

/// Starts at a fixed time; `fresh` counts through a mixed sequence. Cloning shares the clock.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Since the start.
    passed: Duration,
    ids: u64,
    /// Sleeps up to this long end at once, moving the time.
    auto: Option<Duration>,
    sleepers: Vec<(Duration, oneshot::Sender<()>)>,
    slept: Vec<Duration>,
}

impl ManualClock {
    /// 2026-01-01, standing still.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on sleeps of at most `up_to` end at once and move the time by their span. Longer ones (limits) wait
    /// for `advance`.
    #[must_use]
    pub fn auto_advance(self, up_to: Duration) -> Self {
        self.inner().auto = Some(up_to);
        self
    }

    /// Moves the time and wakes those whose sleep is over.
    pub fn advance(&self, span: Duration) {
        let mut inner = self.inner();
        inner.passed += span;
        let now = inner.passed;
        let (due, rest) = std::mem::take(&mut inner.sleepers).into_iter().partition(|(until, _)| *until <= now);
        inner.sleepers = rest;
        drop(inner);
        for (_, wake) in Vec::from_iter::<Vec<(Duration, oneshot::Sender<()>)>>(due) {
            // Whoever has gone need not be woken.
            let _ = wake.send(());
        }
    }

    /// Polls `work` to its end, moving the time by `step` whenever it has not ended after a short real moment.
    pub async fn drive<T>(&self, step: Duration, work: impl Future<Output = T>) -> T {
        self.drive_when(|| true, step, work).await
    }

    /// The same, but the time moves only while `ready` says so: once a request is at the server, for instance.
    pub async fn drive_when<T>(&self, ready: impl Fn() -> bool, step: Duration, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            match tokio::time::timeout(BREATH, &mut work).await {
                Ok(done) => return done,
                Err(_) if ready() => self.advance(step),
                Err(_) => {}
            }
        }
    }

    /// Spans of the sleeps that ended at once, in order: the pauses a test wants to see.
    pub fn slept(&self) -> Vec<Duration> {
        self.inner().slept.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        const START: i64 = 1_767_225_600_000;
        Time(START.saturating_add(i64::try_from(self.inner().passed.as_millis()).unwrap_or(i64::MAX)))
    }

    fn fresh(&self) -> u128 {
        let mut inner = self.inner();
        inner.ids += 1;
        // SplitMix64: neighbours differ in all digits, so that short ids cut from them differ too.
        let mix = |seed: u64| {
            let z = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let seed = inner.ids.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (u128::from(mix(seed)) << 64) | u128::from(mix(!seed))
    }

    fn sleep(&self, span: Duration) -> Fut<'static, ()> {
        let mut inner = self.inner();
        if span.is_zero() || inner.auto.is_some_and(|most| span <= most) {
            inner.slept.push(span);
            drop(inner);
            self.advance(span);
            return Box::pin(std::future::ready(()));
        }
        let (wake, woken) = oneshot::channel();
        let until = inner.passed + span;
        inner.sleepers.retain(|(_, waiting)| !waiting.is_closed());
        inner.sleepers.push((until, wake));
        Box::pin(async move {
            if woken.await.is_err() {
                // The clock itself is gone: nobody will ever wake us, and nobody can be waiting for the time.
                std::future::pending::<()>().await;
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn time_moves_only_when_told() {
        let clock = ManualClock::new();
        let start = clock.now();
        let mut sleep = clock.sleep(Duration::from_secs(2));
        clock.advance(Duration::from_secs(1));
        assert!((&mut sleep).now_or_never().is_none());
        clock.advance(Duration::from_secs(1));
        assert!(sleep.now_or_never().is_some());
        assert_eq!(clock.now().since(start), 2_000);
    }

    #[test]
    fn short_sleeps_end_at_once_if_wished() {
        let clock = ManualClock::new().auto_advance(Duration::from_secs(5));
        assert!(clock.sleep(Duration::from_secs(5)).now_or_never().is_some());
        assert!(clock.sleep(Duration::from_secs(6)).now_or_never().is_none());
        assert_eq!(clock.slept(), [Duration::from_secs(5)]);
    }

    #[test]
    fn ids_are_the_same_each_time_and_differ() {
        let (a, b) = (ManualClock::new(), ManualClock::new());
        let ids: Vec<u128> = (0..100).map(|_| a.fresh()).collect();
        assert_eq!(ids, (0..100).map(|_| b.fresh()).collect::<Vec<_>>());
        assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 100);
    }
}
