//! What happened, as rows of time, work, what, why and recovery.
//!
//! Invariant: one row of the view is one line, with at most one line each for why and recovery. Absent: time zones;
//! the head names the opening in GMT, the rows count from it.

use super::{Paper, Tone};
use crate::desk::timeline::{clock, span};
use crate::desk::{RowClass, TimelineView};
use std::time::{Duration, UNIX_EPOCH};

/// The rows.
pub fn timeline(paper: &mut Paper, view: &TimelineView) {
    paper.put(Tone::Strong, view.task.as_str()).put(Tone::Plain, &format!("  {}  {}", view.words, view.goal)).end();
    let opened = u64::try_from(view.opened.0).ok().and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
    if let Some(opened) = opened {
        paper.put(Tone::Faint, &format!("opened {}", httpdate::fmt_http_date(opened))).end();
    }
    let width =
        view.rows.iter().filter_map(|row| row.work.as_ref()).map(|work| work.chars().count()).max().unwrap_or(0);
    let indent = " ".repeat(11 + width + 2);
    for row in &view.rows {
        let at = clock(row.at.since(view.opened));
        paper.put(Tone::Faint, &format!("{at:>9}  "));
        paper.put(Tone::Plain, &format!("{:<width$}  ", row.work.as_deref().unwrap_or("")));
        let took = row.took.map(|took| format!(" ({})", span(took))).unwrap_or_default();
        let tone = match row.class {
            RowClass::State => Tone::Strong,
            RowClass::Tool | RowClass::Both | RowClass::Note => Tone::Plain,
        };
        paper.put(tone, &row.what).put(Tone::Faint, &took).end();
        if let Some(why) = &row.why {
            paper.put(Tone::Plain, &indent).put(Tone::Faint, &format!("why: {why}")).end();
        }
        if let Some(recovery) = &row.recovery {
            paper.put(Tone::Plain, &indent).put(Tone::Warn, &format!("recovery: {recovery}")).end();
        }
    }
}
