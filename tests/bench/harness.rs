//! Measuring ours against a floor, and the one table at the end.
//!
//! Invariant: each sample of ours has a sample of the floor right beside it, so that a busy moment of the machine hits
//! both, and the ratio holds where the figures do not. That is why no benchmark library is used: those we know measure
//! one thing to its end before they begin the next. Absent: statistics beyond the median and one rank.

use std::fmt::Write;
use std::time::{Duration, Instant};

/// What a requirement says of a figure.
#[derive(Clone, Copy)]
pub enum Guide {
    /// It may take this long.
    Within(Duration),
    /// It may take this long beyond the floor.
    Beyond(Duration),
    /// No requirement speaks of it.
    Free,
}

/// A figure beside its floor: of both the median, or the same rank.
pub struct Row {
    pub name: &'static str,
    pub ours: Duration,
    pub floor: Duration,
    /// What the floor does.
    pub against: &'static str,
    pub guide: Guide,
}

impl Row {
    /// The medians of what was sampled.
    pub fn of(name: &'static str, against: &'static str, guide: Guide, samples: Samples) -> Row {
        Row { name, ours: median(samples.ours), floor: median(samples.floor), against, guide }
    }

    /// What this share of the samples stays at or below, in percent.
    pub fn at(percent: usize, name: &'static str, against: &'static str, guide: Guide, samples: &Samples) -> Row {
        let (ours, floor) = (rank(&samples.ours, percent), rank(&samples.floor, percent));
        Row { name, ours, floor, against, guide }
    }

    fn held(&self) -> Option<bool> {
        match self.guide {
            Guide::Within(limit) => Some(self.ours <= limit),
            Guide::Beyond(limit) => Some(self.ours.saturating_sub(self.floor) <= limit),
            Guide::Free => None,
        }
    }
}

/// Times of both sides.
#[derive(Default)]
pub struct Samples {
    pub ours: Vec<Duration>,
    pub floor: Vec<Duration>,
}

/// Takes both in turn, so many times, after one round that does not count.
pub fn in_turn(rounds: usize, mut ours: impl FnMut() -> Duration, mut floor: impl FnMut() -> Duration) -> Samples {
    let mut samples = Samples::default();
    for round in 0..=rounds {
        let (mine, bare) = (ours(), floor());
        if round > 0 {
            samples.ours.push(mine);
            samples.floor.push(bare);
        }
    }
    samples
}

/// How long some work takes; its result is kept from being optimised away, and dropped outside the time.
pub fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    let result = std::hint::black_box(work());
    let took = started.elapsed();
    drop(result);
    took
}

pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn rank(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}

/// The table.
pub fn table(rows: &[Row]) -> String {
    let mut out = String::new();
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let _ = writeln!(
        out,
        "{:width$}  {:>10}  {:>10}  {:>7}  {:<16} {:<5} floor is",
        "figure", "ours", "floor", "ratio", "guide", "held"
    );
    for row in rows {
        let ratio = row.ours.as_secs_f64() / row.floor.as_secs_f64().max(1e-9);
        let guide = match row.guide {
            Guide::Within(limit) => span(limit),
            Guide::Beyond(limit) => format!("floor + {}", span(limit)),
            Guide::Free => "-".to_owned(),
        };
        let held = row.held().map_or("-", |held| if held { "yes" } else { "NO" });
        let (ours, floor) = (span(row.ours), span(row.floor));
        let _ = writeln!(
            out,
            "{:width$}  {ours:>10}  {floor:>10}  {ratio:>6.1}x  {guide:<16} {held:<5} {}",
            row.name, row.against
        );
    }
    out
}

fn span(span: Duration) -> String {
    let micros = span.as_secs_f64() * 1e6;
    if micros < 1_000.0 { format!("{micros:.1} us") } else { format!("{:.2} ms", micros / 1_000.0) }
}
