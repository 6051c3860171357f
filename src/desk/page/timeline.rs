//! The page of what happened to a task.
//!
//! Invariant: a row of the view is an item, with why and recovery beneath. Absent: time zones; the head names the
//! opening in GMT, the rows count from it.

use super::markdown::{code, line};
use crate::desk::{Dossier, Mode, timeline as rows};
use crate::domain::plan::small;
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

/// The whole page.
pub fn timeline(dossier: &Dossier, mode: Mode) -> String {
    let view = rows::view(dossier, mode);
    let mut page = format!("# Timeline: {}\n\n", line(&small::title(&view.goal)));
    let opened = u64::try_from(view.opened.0).ok().and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
    let opened = opened.map_or_else(String::new, |opened| format!(" · opened {}", httpdate::fmt_http_date(opened)));
    let _ = write!(page, "**{}** · task {}{opened}\n\n", view.words, code(view.task.as_str()));
    for row in &view.rows {
        let at = rows::clock(row.at.since(view.opened));
        let work = row.work.as_ref().map(|work| format!(" {}", code(work))).unwrap_or_default();
        let took = row.took.map(|took| format!(" ({})", rows::span(took))).unwrap_or_default();
        let _ = writeln!(page, "- {at}{work} {}{took}", line(&row.what));
        if let Some(why) = &row.why {
            let _ = writeln!(page, "  - why: {}", line(why));
        }
        if let Some(recovery) = &row.recovery {
            let _ = writeln!(page, "  - recovery: {}", line(recovery));
        }
    }
    page
}
