//! Whether and when to try again.
//!
//! Invariant: a pure function of the failure, the number of failures so far and a random number; what waits is only
//! the caller. A fault that trying again cannot mend is never tried again. Absent: sending, sleeping.

use super::faults::{Failure, Site, explain, is_quota, is_too_long};
use crate::domain::agent::dialogue::ModelFault;
use std::time::{Duration, SystemTime};

/// Tries in all, for failures that pass by themselves.
const TRIES: u32 = 4;
/// Tries in all, for answers that are wrong in themselves (empty, no JSON): once more, then a person must know.
const TRIES_OF_NONSENSE: u32 = 2;
/// The first pause may be so long, the next twice that, up to `LONGEST_PAUSE`. Full jitter: any pause below the bound
/// is equally likely, which spreads the herd best.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// A server that asks for more patience than this is not waited for: the task is better blocked with its reason. Limits
/// by the minute fit in.
const LONGEST_WAIT_ASKED_FOR: Duration = Duration::from_secs(120);

/// What to do after a failure.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// Send again after this pause.
    Retry(Duration),
    /// Tell a person.
    GiveUp(ModelFault),
}

/// Decides after the `failures`-th failure (counted from 1). `random` is any fresh number.
pub fn decide(failure: &Failure, failures: u32, random: u128, site: &Site<'_>) -> Verdict {
    let allowed = match failure {
        Failure::Status { code: 408 | 409 | 425 | 429 | 500 | 502..=504 | 506..=599, body, .. } if !is_quota(body) => {
            TRIES
        }
        Failure::Reported(body) if !is_quota(body) && !is_too_long(body) => TRIES,
        Failure::Reset(_) | Failure::Stalled(_) | Failure::Truncated => TRIES,
        Failure::Empty | Failure::Nonsense(_) => TRIES_OF_NONSENSE,
        // A server that is not there yet may be starting; a name that does not resolve or a bad certificate stays so.
        Failure::Refused(_) => TRIES_OF_NONSENSE,
        Failure::Status { .. }
        | Failure::Reported(_)
        | Failure::Dns(_)
        | Failure::Tls(_)
        | Failure::Page(_)
        | Failure::Setup(_) => 1,
    };
    if failures >= allowed {
        return Verdict::GiveUp(explain(failure, site));
    }
    if let Failure::Status { retry_after: Some(asked), .. } = failure {
        if *asked > LONGEST_WAIT_ASKED_FOR {
            return Verdict::GiveUp(explain(failure, site));
        }
        return Verdict::Retry(*asked);
    }
    let bound = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_PAUSE);
    let millis = random % (bound.as_millis() + 1);
    Verdict::Retry(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

/// The pause a server asks for: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub fn retry_after(millis: Option<&str>, plain: Option<&str>, now: SystemTime) -> Option<Duration> {
    if let Some(millis) = millis.and_then(|text| text.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let plain = plain?.trim();
    if let Ok(seconds) = plain.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    // A date in the past means: now.
    httpdate::parse_http_date(plain).ok().map(|date| date.duration_since(now).unwrap_or_default())
}
